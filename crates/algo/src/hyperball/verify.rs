//! The plain serial verifier.

use std::collections::VecDeque;

use cenote_engine::{Graph, VertexId};

use super::counters::{FRACTION, GROUP, estimate_of, hash, place};
use super::{Hyperball, HyperballConfig, wrong};
use crate::plain::Lists;
use crate::ranks::Ranks;
use crate::report::Result;

/// Searches from so many vertices at most.
const SEARCHES_MAX: usize = 16;

/// Standard deviations that an estimate may be off. The counters of few registers have a long tail.
const DEVIATIONS: f64 = 8.0;

/// Rounding of sums.
const ROUNDING: f64 = 1e-3;

/// Grows plain counters of bytes one after the other, and asserts that the neighbourhood function,
/// the sums of every vertex and the number of iterations are those. Searches exactly from up to 16
/// vertices, and asserts that the number of vertices that reach them is within 8 standard
/// deviations. Takes 2 bytes a register and vertex, and 4 bytes an entry of the lists.
///
/// # Errors
/// [`AlgoError::Wrong`](crate::AlgoError::Wrong) if something does not hold; a graph that cannot be
/// read.
pub fn verify(graph: &Graph, config: &HyperballConfig, found: &Hyperball) -> Result<()> {
    let lists = match graph.is_directed() && !config.outgoing {
        true => Lists::inward(graph)?,
        false => Lists::outward(graph)?,
    };
    verify_counters(graph, &lists, config, found)?;
    if !found.converged {
        return Ok(());
    }
    let step = graph.vertices().div_ceil(SEARCHES_MAX).max(1);
    for v in (0..lists.vertices()).step_by(step).filter(|&v| !graph.is_deleted(v)) {
        let (exact, estimate) = (reached(&lists, v) as f64, found.reachable(v));
        if (estimate / exact - 1.0).abs() > DEVIATIONS * found.error {
            let fault = format!("vertex {v} is reached by {exact} vertices, not by {estimate}");
            return Err(wrong(fault));
        }
    }
    Ok(())
}

/// How many vertices a search from `v` meets.
fn reached(lists: &Lists, v: VertexId) -> u64 {
    lists.reachable_from(v).iter().map(|&reached| u64::from(reached)).sum()
}

/// One counter by the definition.
type Counter = Vec<u8>;

fn verify_counters(
    graph: &Graph,
    lists: &Lists,
    config: &HyperballConfig,
    found: &Hyperball,
) -> Result<()> {
    let ids = Ranks::load(graph)?;
    let n = lists.vertices();
    let first = (0..n).map(|v| {
        let mut counter = vec![0; config.registers as usize];
        if let Some(hash) = hash(config.seed, &ids, v) {
            let (register, value) = place(hash, config.registers);
            counter[register] = value;
        }
        counter
    });
    let mut counters: Vec<Counter> = first.collect();
    let mut sums = vec![[0.0; 3]; n as usize];
    let mut pairs = graph.live_vertices() as f64;
    let mut expected = vec![pairs];
    let mut queue: VecDeque<Counter> = VecDeque::new();
    let mut converged = false;
    while !converged && config.iterations.is_none_or(|most| expected.len() <= most as usize) {
        let distance = expected.len() as f64;
        queue.extend((0..n).map(|v| joined(lists, &counters, v)));
        converged = queue.iter().eq(counters.iter());
        for (sums, before) in sums.iter_mut().zip(&mut counters) {
            let Some(after) = queue.pop_front() else { break };
            let gain = size(&after) - size(before);
            pairs += gain;
            *sums = [sums[0] + gain, sums[1] + gain * distance, sums[2] + gain / distance];
            *before = after;
        }
        if !converged {
            expected.push(pairs);
        }
    }
    let agree = |a: f64, b: f64| (a - b).abs() <= ROUNDING * a.abs().max(1.0);
    let same = |(a, b): (&f64, &f64)| agree(*a, *b);
    let is_same = expected.len() == found.neighborhood.len();
    if !is_same || !expected.iter().zip(&found.neighborhood).all(same) {
        let fault = format!("N(t) is {:?}, not {expected:?}", found.neighborhood);
        return Err(wrong(fault));
    }
    for (v, sums) in (0..n).zip(&sums) {
        let of = [found.sums.others(v), found.sums.distances(v), found.sums.harmonic(v)];
        if !sums.iter().zip(&of).all(same) {
            return Err(wrong(format!("the sums of vertex {v} are {of:?}, not {sums:?}")));
        }
    }
    Ok(())
}

/// The counter of `v` with those of its neighbours.
fn joined(lists: &Lists, counters: &[Counter], v: VertexId) -> Counter {
    let mut counter = counters[v as usize].clone();
    for &u in lists.of_vertex(v) {
        for (register, &other) in counter.iter_mut().zip(&counters[u as usize]) {
            *register = (*register).max(other);
        }
    }
    counter
}

/// The estimate of a counter: the sum of those of its groups.
fn size(counter: &[u8]) -> f64 {
    let of_group = |group: &[u8]| {
        let zeros = group.iter().filter(|&&register| register == 0).count();
        let others = group.iter().filter(|&&register| register > 0);
        estimate_of(zeros, others.map(|&register| 0.5f64.powi(register.into())).sum()) as f64
    };
    let sum: f64 = counter.chunks(GROUP).map(of_group).sum();
    sum / f64::from(1u32 << FRACTION)
}
