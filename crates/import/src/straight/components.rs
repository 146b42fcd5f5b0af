//! Weakly connected components of edges that are not imported.
//!
//! **Returns** for every vertex the one with the smallest id in its component, as the algorithm of
//! stored graphs does.
//!
//! **Trick.** The two numbers of an edge are joined in a concurrent union-find
//! ([`forest`](super::forest)). At the end the first id of each set labels it, so the answer does
//! not depend on threads, or on the order of the edges.
//!
//! **Memory.** 20 to 24 bytes for each integer id, up to 40 below 2 million ids, and 2.25 MiB while
//! the table grows; for a name its text and about 50 bytes.

use std::path::PathBuf;

use cenote_device::setters;
use cenote_store::VertexId;

use super::answer::VertexIds;
use super::labels::Labels;
use super::run::{Answer, PassStats, find};
use crate::config::{IdKind, ImportConfig, Input};
use crate::error::Result;
use crate::report::Progress;

/// Options for the components of edges.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ComponentsConfig {
    /// Kind of the ids.
    pub ids: IdKind,
    /// Memory budget in bytes, of reading and of the answer.
    pub memory_bytes: usize,
    /// Worker threads, at most [`THREADS_MAX`](crate::THREADS_MAX); 0: one per core.
    pub threads: usize,
    /// Folder for the copy of an input that can be read only once, while its ids may turn out to be
    /// strings; `None`: that of the system.
    pub temp_dir: Option<PathBuf>,
}

impl Default for ComponentsConfig {
    fn default() -> Self {
        Self { ids: IdKind::Auto, memory_bytes: 1 << 30, threads: 0, temp_dir: None }
    }
}

impl ComponentsConfig {
    setters! {
        ids: IdKind,
        memory_bytes: usize,
        threads: usize,
        temp_dir: Option<PathBuf>,
    }
}

/// The weakly connected components of edges.
#[derive(Debug)]
#[non_exhaustive]
pub struct Components {
    /// The ids of the vertices, in ascending order.
    pub ids: VertexIds,
    /// For each vertex the place in `ids` of the smallest id in its component.
    pub labels: Vec<VertexId>,
    /// Number of components.
    pub components: u64,
    /// Vertices in the largest.
    pub largest: u64,
    /// The place of the smallest id in the largest; of components of one size that of the smallest
    /// id.
    pub largest_label: VertexId,
    /// Statistics of the pass.
    pub stats: PassStats,
}

/// Computes the weakly connected components of edges in one pass. Inputs of vertices may add some
/// without edges; a self-loop is an edge.
///
/// # Errors
/// As [`import_edges`](crate::import_edges) for the inputs and the options;
/// [`ImportError::Straight`](crate::ImportError::Straight) if the vertices do not fit the memory.
pub fn components(
    inputs: &[Input<'_>],
    config: &ComponentsConfig,
    progress: &dyn Progress,
) -> Result<Components> {
    let ComponentsConfig { ids, memory_bytes, threads, temp_dir } = config.clone();
    let as_import = ImportConfig::default().ids(ids).memory_bytes(memory_bytes);
    let as_import = as_import.threads(threads).temp_dir(temp_dir);
    let Answer { ids, found: labels, stats } = find::<Labels>(inputs, &as_import, progress)?;
    let mut sizes: Vec<VertexId> = vec![0; labels.len()];
    labels.iter().for_each(|&label| sizes[label as usize] += 1);
    let components = sizes.iter().filter(|size| **size > 0).count() as u64;
    let largest = sizes.iter().copied().max().unwrap_or(0);
    let label = sizes.iter().position(|&size| size == largest).unwrap_or(0);
    Ok(Components {
        ids,
        labels,
        components,
        largest: largest.into(),
        largest_label: label as VertexId,
        stats,
    })
}
