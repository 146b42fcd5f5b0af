//! Imports a stored graph again: its edges, and all of its vertices, by the ranks of their ids.
//!
//! The ranks are known, so neither the text of ids nor their table is in memory: the pairs of an
//! edge are ranks, and at the end the ids are streamed from the stored graph to the new one. Before
//! the new graph gets its name, commits give it the values of the vertices.

use std::sync::{Arc, Mutex, PoisonError};

use cenote_device::Device;
use cenote_store::hub_neighbours::HubNeighboursChoice;
use cenote_store::{Batch, Change, Graph, Id, IdRef, Op, Store, Value, VertexId};

use crate::config::{IdKind, ImportConfig, Input};
use crate::driver::{Run, run};
use crate::edges::Edges;
use crate::error::Result;
use crate::report::{ImportReport, Progress};
use crate::stored::{StoredEdges, StoredIds, StoredSource};
use crate::vertices::Vertices;
use crate::workspace::Workspace;

impl ImportConfig {
    /// The options with which a stored graph was imported, as far as it shows them. Where updates
    /// have removed hub neighbours, whether to store them is decided anew.
    pub fn of_stored(graph: &Graph) -> Self {
        let superblock = graph.superblock();
        let entries = superblock.stored_out;
        let auto = HubNeighboursChoice::Auto;
        let is_as_imported = superblock.has_imported_lists() && !graph.has_logged();
        let hub_neighbours = match superblock.has_hub_neighbours() {
            true => HubNeighboursChoice::Yes,
            // They were not asked for.
            false if is_as_imported && auto.is_made(superblock.live_vertices(), entries) => {
                HubNeighboursChoice::No
            }
            false => auto,
        };
        ImportConfig::default()
            .directed(superblock.directed)
            .in_edges(superblock.in_edges)
            .weights(superblock.weights.map(|weights| weights.kind))
            .keep_duplicates(superblock.duplicates_kept)
            .keep_self_loops(superblock.self_loops_kept)
            .ids(IdKind::Integer)
            .order(superblock.order)
            .page_bytes(superblock.page_bytes)
            .codec(superblock.codec())
            .hub_neighbours(hub_neighbours)
    }
}

/// Imports a stored graph into the output of a workspace. The new graph is that of an import of the
/// same edges and vertices, without the deleted ones. `config` is [`ImportConfig::of_stored`] with
/// another memory, order or number of threads, other hub neighbours, spill files elsewhere; the
/// budget includes what `graph` holds.
///
/// # Errors
/// As [`import_edges`](crate::import_edges), and those of reading the graph.
pub fn rewrite(
    graph: &Arc<Graph>,
    workspace: &dyn Workspace,
    config: &ImportConfig,
    progress: &dyn Progress,
) -> Result<ImportReport> {
    let stored = StoredIds::new(graph)?;
    let (name, vertices) = (stored.file.clone(), stored.vertices);
    let ranks = stored.ranks()?.map(Arc::from);
    let ranks_bytes = if ranks.is_some() { graph.vertices() * size_of::<VertexId>() } else { 0 };
    let held_bytes = graph.memory_bytes() + stored.ids.memory_bytes() + ranks_bytes;
    let rows = StoredEdges { graph: Arc::clone(graph), ranks };
    let with_values = WithValues { workspace, graph, output: Mutex::new(None) };
    let has_values = graph.superblock().value_type.is_some();
    let inputs = [
        Input::Edges(Edges::of(&name, rows)),
        Input::Vertices(Vertices::iter(0..vertices).named(&name)),
    ];
    let workspace: &dyn Workspace = if has_values { &with_values } else { workspace };
    let mut job = Run::new(&inputs, workspace, config, progress);
    job.stored = Some(StoredSource { ids: &stored, held_bytes });
    let mut report = run(&job)?;
    if let Some(output) = with_values.output.into_inner().unwrap_or_else(PoisonError::into_inner) {
        report.output_bytes = output.len_bytes()?;
    }
    Ok(report)
}

/// Values that one commit sets: some 10 MiB, with ids that are numbers.
const VALUES_TOGETHER: usize = 1 << 16;

/// The workspace of a graph that gets the values of another before it is published.
struct WithValues<'a> {
    workspace: &'a dyn Workspace,
    graph: &'a Graph,
    output: Mutex<Option<Arc<dyn Device>>>,
}

impl Workspace for WithValues<'_> {
    fn spill(&self) -> Result<Arc<dyn Device>> {
        self.workspace.spill()
    }

    fn output(&self) -> Result<Arc<dyn Device>> {
        let output = self.workspace.output()?;
        let mut kept = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        *kept = Some(Arc::clone(&output));
        Ok(output)
    }

    fn publish(&self) -> Result<()> {
        let output = self.output.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(output) = output {
            let store = Store::open(output)?;
            let mut some = Vec::with_capacity(VALUES_TOGETHER);
            self.graph.for_each_value(&mut |vertex, value| {
                some.push((vertex, value));
                if some.len() == VALUES_TOGETHER {
                    set_values(self.graph, &store, &mut some)?;
                }
                Ok(())
            })?;
            set_values(self.graph, &store, &mut some)?;
        }
        self.workspace.publish()
    }
}

/// Sets some values of a graph in another with the same ids.
fn set_values(
    from: &Graph,
    to: &Store,
    values: &mut Vec<(VertexId, Value)>,
) -> cenote_store::Result<()> {
    let ids = from.ids()?;
    let with_ids = values.drain(..).map(|(vertex, value)| Ok((ids.id_of(vertex)?, value)));
    let mut with_ids: Vec<(Id, Value)> = with_ids.collect::<cenote_store::Result<_>>()?;
    with_ids.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
    let ascending: Vec<IdRef<'_>> = with_ids.iter().map(|(id, _)| id.as_ref()).collect();
    let mut batch = Batch::default();
    for (vertex, (_, value)) in to.vertices_of(&ascending)?.into_iter().zip(&with_ids) {
        let vertex = vertex.expect("the new graph has the ids of the old one");
        batch.changes.push(Change::of_vertex(Op::SetValue, vertex));
        batch.values.push(*value);
    }
    to.update(&batch).map(drop)
}
