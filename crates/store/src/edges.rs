//! Iterates over every edge of a graph once, in the order of the lists.

use crate::error::{Result, equal};
use crate::graph::Graph;
use crate::weights::stream::WeightStream;
use crate::{Direction, VertexId, Weight};

/// The result of an export.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExportReport {
    /// Number of edges.
    pub edges: u64,
    /// Number of vertices without an edge, which a list of edges does not contain.
    pub isolated: u64,
}

/// Progress callback: pages done, pages in all.
pub type Progress<'a> = &'a mut dyn FnMut(u64, u64);

/// Calls `visit` with every edge once, with its weight if the graph has weights. An edge of an
/// undirected graph is visited from its end with the smaller vertex number.
pub fn for_each_edge(
    graph: &Graph,
    progress: Progress<'_>,
    visit: &mut dyn FnMut(VertexId, VertexId, Option<Weight>) -> Result<()>,
) -> Result<ExportReport> {
    let pages = graph.adjacency(Direction::Out).map_or(0, |adjacency| adjacency.pages());
    let mut report = ExportReport::default();
    let mut seen = vec![0u64; graph.vertices().div_ceil(64)];
    let mut see = |vertex: VertexId| seen[vertex as usize / 64] |= 1 << (vertex % 64);
    let mut weights = match graph.weights(Direction::Out) {
        Some(column) => Some((column.kind(), WeightStream::new(&graph.pages, column)?)),
        None => None,
    };
    let mut batch = Vec::new();
    graph.scan(Direction::Out, &mut |page, view| {
        if let Some((_, stream)) = &mut weights {
            stream.next_page(&mut batch, |_, _, _| Ok(()))?;
            let adjacency = graph.adjacency(Direction::Out).expect("it is being scanned");
            adjacency.merge_weights(page, &view, &mut batch)?;
            let (found, expected) = (batch.len() as u64, view.entries().len() as u64);
            equal("number of weights of a page", found, expected)
                .map_err(|fault| adjacency.fault(page, fault))?;
        }
        let mut at = 0;
        for list in view.lists() {
            if list.degree > 0 {
                see(list.vertex);
            }
            for &target in list.targets {
                let weight = weights.as_ref().map(|(kind, _)| kind.weight(batch[at]));
                at += 1;
                see(target);
                if graph.is_directed() || list.vertex <= target {
                    report.edges += 1;
                    visit(list.vertex, target, weight)?;
                }
            }
        }
        progress(page + 1, pages);
        Ok(())
    })?;
    let joined: u64 = seen.iter().map(|word| u64::from(word.count_ones())).sum();
    report.isolated = graph.live_vertices() as u64 - joined;
    Ok(report)
}
