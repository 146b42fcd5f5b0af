//! Degrees straight from edges, without a graph file.
//!
//! - [`Degrees`]: the inputs and the options
//! - [`EdgeDegrees`]: the answer, written and summed up as that of
//!   [`Graph::count_degrees`](crate::Graph::count_degrees)

use cenote_import::{
    EdgeDegrees as Counts, EdgeDegreesConfig, ImportError, PassStats, Progress, VertexIds,
    edge_degrees,
};
use cenote_store::VertexId;

use crate::algorithm::{DegreesSummary, TOP};
use crate::import::Input;
use crate::output::table::Column;
use crate::straight::{Common, EdgeAnswer, Finding, Straight, id_at};

/// The degrees of the vertices of edges in files, on standard input or in memory: one pass, in
/// which nothing is written to disk.
///
/// Answers are those of an import that keeps repeated edges and of
/// [`Graph::count_degrees`](crate::Graph::count_degrees); without
/// [`keep_duplicates`](Straight::keep_duplicates) there is none, since one pass cannot leave out
/// repeated edges. The ids of all vertices and their degrees are in memory, 24 to 29 bytes for each
/// integer, 32 to 38 if edges are directed.
///
/// ```
/// # fn main() -> cenote::Result<()> {
/// let star = (1..1000u64).map(|leaf| (0, leaf));
/// let answer = cenote::Degrees::new().edges(star).keep_duplicates(true).memory("64MiB").run()?;
/// assert_eq!((answer.out[0], answer.out[1]), (999, 1));
/// # Ok(())
/// # }
/// ```
pub type Degrees<'a> = Straight<'a, OfDegrees>;

/// The degrees of edges. Dereferences to ids in ascending order and their degrees.
pub type EdgeDegrees = EdgeAnswer<OfDegrees>;

/// Finds degrees.
#[derive(Clone, Copy, Debug, Default)]
pub struct OfDegrees {
    directed: bool,
    keep_duplicates: bool,
    keep_self_loops: bool,
}

impl Degrees<'_> {
    /// Whether edges lead from source to target; then there are two degrees [default: no].
    pub fn directed(mut self, directed: bool) -> Self {
        self.finding.directed = directed;
        self
    }

    /// Counts repeated edges as often as they occur, as an import that keeps them does.
    pub fn keep_duplicates(mut self, keep: bool) -> Self {
        self.finding.keep_duplicates = keep;
        self
    }

    /// Counts edges from a vertex to itself [default: no].
    pub fn keep_self_loops(mut self, keep: bool) -> Self {
        self.finding.keep_self_loops = keep;
        self
    }
}

/// The degree of a vertex; of directed edges both.
fn degree(counts: &Counts, v: VertexId) -> u64 {
    counts.out[v as usize] + counts.inward.as_ref().map_or(0, |inward| inward[v as usize])
}

impl Finding for OfDegrees {
    const NAME: &'static str = "degrees";
    const WORK: &'static str = "to count degrees without a graph file";
    type Output = Counts;
    type Summary = DegreesSummary;

    fn find(
        &self,
        inputs: &[Input<'_>],
        common: &Common,
        progress: &dyn Progress,
    ) -> Result<Counts, ImportError> {
        let Common { ids, memory_bytes, threads, temp_dir } = common.clone();
        let config = EdgeDegreesConfig::default()
            .ids(ids)
            .directed(self.directed)
            .keep_duplicates(self.keep_duplicates)
            .keep_self_loops(self.keep_self_loops)
            .memory_bytes(memory_bytes)
            .threads(threads)
            .temp_dir(temp_dir);
        edge_degrees(inputs, &config, progress)
    }

    fn ids(counts: &Counts) -> &VertexIds {
        &counts.ids
    }

    fn stats(counts: &Counts) -> &PassStats {
        &counts.stats
    }

    fn columns(counts: &Counts) -> Vec<Column<'_>> {
        match &counts.inward {
            None => vec![Column::count("degree", |v| Some(counts.out[v as usize]))],
            Some(inward) => vec![
                Column::count("out_degree", |v| Some(counts.out[v as usize])),
                Column::count("in_degree", |v| Some(inward[v as usize])),
            ],
        }
    }

    fn summary(counts: &Counts) -> DegreesSummary {
        let vertices = 0..counts.ids.len() as VertexId;
        let (mut entries, mut isolated) = (0, 0);
        let mut top: Vec<(VertexId, u64)> = Vec::new();
        for v in vertices {
            let degree = degree(counts, v);
            (entries, isolated) = (entries + degree, isolated + u64::from(degree == 0));
            if top.len() < TOP || top.last().is_some_and(|&(_, least)| least < degree) {
                top.insert(top.partition_point(|&(_, other)| other >= degree), (v, degree));
                top.truncate(TOP);
            }
        }
        let top = top.into_iter().map(|(v, degree)| (id_at(&counts.ids, v), degree)).collect();
        DegreesSummary::new((entries, counts.ids.len() as u64), isolated, top)
    }
}
