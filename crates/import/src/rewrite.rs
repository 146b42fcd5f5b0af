//! Imports a stored graph again: its edges, and all of its vertices, by the ranks of their ids.
//!
//! The ranks are known, so neither the text of ids nor their table is in memory: the pairs of an
//! edge are ranks, and at the end the ids are streamed from the stored graph to the new one. Before
//! the new graph gets its name, commits give it the values of the vertices.

use std::collections::BTreeMap;
use std::sync::Arc;

use cenote_store::hub_neighbours::HubNeighboursChoice;
use cenote_store::{Graph, Id, Store, Value, VertexId};

use crate::config::{IdKind, ImportConfig, Input};
use crate::driver::{Run, check_free_space, run};
use crate::edges::Edges;
use crate::error::Result;
use crate::report::{ImportReport, Progress};
use crate::stored::{StoredEdges, StoredIds, StoredSource};
use crate::values::{self, VALUES_TOGETHER, WithValues};
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
            .weights(superblock.weights.map(|weights| weights.kind()))
            .keep_duplicates(superblock.duplicates_kept)
            .keep_self_loops(superblock.self_loops_kept)
            .ids(IdKind::Integer)
            .order(superblock.order)
            .page_bytes(superblock.page_bytes)
            .free_space(superblock.free_space())
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
    check_free_space(config)?;
    let stored = StoredIds::new(graph)?;
    let (name, vertices) = (stored.file.clone(), stored.vertices);
    let ranks = stored.ranks()?.map(Arc::from);
    let ranks_bytes = if ranks.is_some() { graph.vertices() * size_of::<VertexId>() } else { 0 };
    let held_bytes = graph.memory_bytes() + stored.ids.memory_bytes() + ranks_bytes;
    let rows = StoredEdges { graph: Arc::clone(graph), ranks };
    let set = |store: &Store| set_all(graph, store);
    let with_values = WithValues::new(workspace, &set);
    let has_values = graph.superblock().value_type.is_some();
    let inputs = [
        Input::Edges(Edges::of(&name, rows)),
        Input::Vertices(Vertices::iter(0..vertices).named(&name)),
    ];
    let workspace: &dyn Workspace = if has_values { &with_values } else { workspace };
    let mut job = Run::new(&inputs, workspace, config, progress);
    job.stored = Some(StoredSource { ids: &stored, held_bytes });
    let mut report = run(&job)?;
    if has_values {
        report.output_bytes = with_values.output_bytes()?;
    }
    Ok(report)
}

/// Sets the values of a graph in another with the same ids.
fn set_all(from: &Graph, to: &Store) -> Result<()> {
    let mut some = Vec::with_capacity(VALUES_TOGETHER);
    from.for_each_value(&mut |vertex, value| {
        some.push((vertex, value));
        if some.len() == VALUES_TOGETHER {
            set_some(from, to, &mut some)?;
        }
        Ok(())
    })?;
    set_some(from, to, &mut some)?;
    Ok(())
}

fn set_some(
    from: &Graph,
    to: &Store,
    values: &mut Vec<(VertexId, Value)>,
) -> cenote_store::Result<()> {
    let ids = from.ids()?;
    let with_ids = values.drain(..).map(|(vertex, value)| Ok((ids.id_of(vertex)?, value)));
    let with_ids: BTreeMap<Id, Value> = with_ids.collect::<cenote_store::Result<_>>()?;
    let batch = values::batch_of(to, &with_ids)?;
    let batch = batch.expect("the new graph has the ids of the old one");
    to.update(&batch).map(drop)
}
