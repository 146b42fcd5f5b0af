//! Weakly connected components straight from edges, without a graph file.
//!
//! - [`Components`]: the inputs and the options
//! - [`EdgeComponents`]: the answer, written and summed up as that of
//!   [`Graph::wcc`](crate::Graph::wcc)
//! - [`ComponentBatches`]: the answer as Arrow batches

use cenote_import::{
    Components as Sets, ComponentsConfig, ImportError, PassStats, Progress, VertexIds,
};

use crate::algorithm::WccSummary;
use crate::import::Input;
use crate::output::table::Column;
use crate::straight::{Common, EdgeAnswer, EdgeBatches, Finding, Straight, id_at};

/// The weakly connected components of edges in files, on standard input or in memory: one pass, in
/// which nothing is written to disk.
///
/// Answers are those of an import and [`Graph::wcc`](crate::Graph::wcc). The ids of all vertices
/// and their sets are in memory, 20 to 24 bytes for each integer; a graph file takes less.
///
/// ```
/// # fn main() -> cenote::Result<()> {
/// let squares = (0..1000u64).map(|i| (i, i * i % 1000));
/// let answer = cenote::Components::new().edges(squares).memory("64MiB").run()?;
/// assert_eq!((answer.ids.len(), answer.components), (1000, 8));
/// # Ok(())
/// # }
/// ```
pub type Components<'a> = Straight<'a, OfComponents>;

/// The components of edges. Dereferences to ids in ascending order and their labels.
pub type EdgeComponents = EdgeAnswer<OfComponents>;

/// The component of each vertex in batches of 65,536 rows, by ascending id: columns `vertex` and
/// `component`, of `UInt64` or `LargeUtf8`.
pub type ComponentBatches = EdgeBatches<OfComponents>;

/// Finds components.
#[derive(Clone, Copy, Debug, Default)]
pub struct OfComponents;

impl Finding for OfComponents {
    const NAME: &'static str = "wcc";
    const WORK: &'static str = "to find components without a graph file";
    type Output = Sets;
    type Summary = WccSummary;

    fn find(
        &self,
        inputs: &[Input<'_>],
        common: &Common,
        progress: &dyn Progress,
    ) -> Result<Sets, ImportError> {
        let Common { ids, memory_bytes, threads, temp_dir } = common.clone();
        let config = ComponentsConfig::default().ids(ids).memory_bytes(memory_bytes);
        let config = config.threads(threads).temp_dir(temp_dir);
        cenote_import::components(inputs, &config, progress)
    }

    fn ids(sets: &Sets) -> &VertexIds {
        &sets.ids
    }

    fn stats(sets: &Sets) -> &PassStats {
        &sets.stats
    }

    fn columns(sets: &Sets) -> Vec<Column<'_>> {
        vec![Column::vertex("component", |v| Some(sets.labels[v as usize]))]
    }

    fn summary(sets: &Sets) -> WccSummary {
        WccSummary {
            components: sets.components,
            largest: sets.largest,
            largest_label: (!sets.ids.is_empty()).then(|| id_at(&sets.ids, sets.largest_label)),
            since: None,
            everything_because: None,
        }
    }
}
