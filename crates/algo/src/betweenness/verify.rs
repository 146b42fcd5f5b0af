//! The verifier: Brandes' algorithm, serially, with all lists in memory.

use cenote_engine::{Direction, Graph, VertexId, for_each_list};

use super::{Betweenness, NAME};
use crate::report::{AlgoError, Result};

/// Computes the sums again serially and asserts that each agrees to within one part in 10^9 (10^-9
/// if it is below 1). Takes 4 bytes an entry of the stored lists and 48 bytes a vertex.
pub fn verify(graph: &Graph, betweenness: &Betweenness) -> Result<()> {
    let mut lists = vec![Vec::new(); graph.vertices()];
    for_each_list(graph, Direction::Out, |list| {
        lists[list.vertex as usize].extend_from_slice(list.targets);
    })?;
    lists.iter_mut().for_each(Vec::dedup);
    let mut sums = vec![0.0; lists.len()];
    for &source in &betweenness.sources {
        add_dependencies(&lists, source, &mut sums);
    }
    for (v, &expected) in (0..).zip(&sums) {
        let found = betweenness.sum(v);
        if (found - expected).abs() > 1e-9 * expected.max(1.0) {
            let fault = format!("the sum of vertex {v} is {found}, not {expected}");
            return Err(AlgoError::Wrong { what: NAME, fault });
        }
    }
    Ok(())
}

/// A number of paths, however large: `value` times 2^512 to the power of `exponent`.
#[derive(Clone, Copy, Default)]
struct Paths {
    value: f64,
    exponent: i32,
}

impl Paths {
    fn ratio(self, to: Self) -> f64 {
        self.value / to.value * 2f64.powi(512 * (self.exponent - to.exponent))
    }

    fn plus(self, other: Self) -> Self {
        let (large, small) =
            if self.exponent < other.exponent { (other, self) } else { (self, other) };
        let scale = 2f64.powi(512 * (small.exponent - large.exponent));
        let (value, exponent) = (large.value + small.value * scale, large.exponent);
        match value > 2f64.powi(512) {
            true => Self { value: value * 2f64.powi(-512), exponent: exponent + 1 },
            false => Self { value, exponent },
        }
    }
}

fn add_dependencies(lists: &[Vec<VertexId>], source: VertexId, sums: &mut [f64]) {
    let n = lists.len();
    let (mut levels, mut given) = (vec![usize::MAX; n], vec![0.0; n]);
    let mut paths = vec![Paths::default(); n];
    let mut order = vec![source];
    levels[source as usize] = 0;
    paths[source as usize].value = 1.0;
    let mut next = 0;
    while next < order.len() {
        let v = order[next] as usize;
        next += 1;
        for &w in &lists[v] {
            if levels[w as usize] == usize::MAX {
                levels[w as usize] = levels[v] + 1;
                order.push(w);
            }
            if levels[w as usize] == levels[v] + 1 {
                paths[w as usize] = paths[w as usize].plus(paths[v]);
            }
        }
    }
    for &v in order.iter().skip(1).rev() {
        let v = v as usize;
        for &w in lists[v].iter().filter(|&&w| levels[w as usize] == levels[v] + 1) {
            given[v] += paths[v].ratio(paths[w as usize]) * (1.0 + given[w as usize]);
        }
        sums[v] += given[v];
    }
}
