//! Levels in memory: nodes move one after another until none gains, communities are refined, and
//! what they are made of are the nodes of the next level.

use std::collections::VecDeque;

use cenote_engine::{Engine, HugeVec};

use super::Method;
use super::level::{CHECK_EVERY, Level, Sums, renumber, split};
use super::moves::GAIN_MIN;
use crate::mix::mix;
use crate::report::Result;

/// The communities of the nodes of the first level.
pub(super) struct Clustered {
    /// Consecutive numbers.
    pub labels: HugeVec<u32>,
    /// Levels worked on.
    pub levels: u64,
    /// Weight of edges within communities, counted at both ends.
    pub within: u64,
    /// The sum of the squared weights of communities.
    pub squares: u128,
}

/// What is the same on all levels.
pub(super) struct Levels<'e> {
    pub engine: &'e Engine,
    pub method: Method,
    /// Twice the weight of all edges.
    pub total: u64,
    /// The resolution divided by that.
    pub density: f64,
    /// Another order of nodes for each.
    pub iteration: u32,
}

/// Numbers `0..count` in an order that is neither theirs nor random: every number is as far from
/// the one before as the golden section of `count`, or about that.
struct Scattered {
    count: u64,
    step: u64,
    start: u64,
}

impl Scattered {
    fn new(count: usize, iteration: u32) -> Self {
        let count = count as u64;
        let golden = (count as f64 * 0.618_033_988_749_895) as u64 + u64::from(iteration);
        let step = (golden..).find(|&step| count == 0 || gcd(step, count) == 1).unwrap_or(1);
        Self { count, step, start: mix(u64::from(iteration)) % count.max(1) }
    }

    fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.count).map(|at| {
            let at = self.start as u128 + u128::from(at) * u128::from(self.step);
            (at % u128::from(self.count)) as u32
        })
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

impl Levels<'_> {
    /// Works on levels until each community is one node, or nothing changes. `labels` are the
    /// communities of the nodes to begin with.
    pub fn cluster(&self, mut level: Level, mut labels: HugeVec<u32>) -> Result<Clustered> {
        // From the nodes of the first level to those of this one.
        let mut node_of: HugeVec<u32> = HugeVec::zeroed(level.nodes())?;
        (0..).zip(node_of.iter_mut()).for_each(|(node, at)| *at = node);
        let mut levels = 1;
        loop {
            let nodes = level.nodes();
            let moves = self.move_nodes(&level, &mut labels)?;
            if renumber(&mut labels, nodes)? == nodes {
                // A move may let another node gain that is no neighbour, so all are tried again.
                if moves > 0 {
                    continue;
                }
                return self.finish(&level, &labels, node_of, levels);
            }
            let mut groups: HugeVec<u32> = HugeVec::zeroed(nodes)?;
            let count = match self.method {
                Method::Louvain => {
                    groups.copy_from_slice(&labels);
                    renumber(&mut groups, nodes)?
                }
                Method::Leiden => self.groups(&level, &mut labels, &mut groups)?,
            };
            let mut next_labels: HugeVec<u32> = HugeVec::zeroed(count)?;
            for (&group, &label) in groups.iter().zip(labels.iter()) {
                next_labels[group as usize] = label;
            }
            node_of.iter_mut().for_each(|node| *node = groups[*node as usize]);
            level = level.aggregate(&groups, count, self.engine)?;
            labels = next_labels;
            levels += 1;
        }
    }

    /// The nodes of the next level: groups within communities, or, where no node joins another,
    /// the connected parts of communities, which are communities then. Returns how many there are.
    fn groups(&self, level: &Level, labels: &mut [u32], groups: &mut [u32]) -> Result<usize> {
        let nodes = level.nodes();
        self.refine_nodes(level, labels, groups)?;
        let count = renumber(groups, nodes)?;
        if count < nodes {
            return Ok(count);
        }
        connect(level, labels)?;
        groups.copy_from_slice(labels);
        renumber(groups, nodes)
    }

    fn finish(
        &self,
        level: &Level,
        labels: &[u32],
        mut node_of: HugeVec<u32>,
        levels: u64,
    ) -> Result<Clustered> {
        let mut within = self.total;
        for node in 0..level.nodes() {
            let across = level.list(node).iter().copied().map(split);
            let across = across.filter(|&(target, _)| labels[target] != labels[node]);
            within = within.saturating_sub(across.map(|(_, weight)| weight).sum());
        }
        let squares = totals(level, labels)?.iter().map(|&weight| u128::from(weight).pow(2)).sum();
        node_of.iter_mut().for_each(|node| *node = labels[*node as usize]);
        Ok(Clustered { labels: node_of, levels, within, squares })
    }

    /// Moves nodes, first in first out, to the community of the largest gain. A node whose
    /// neighbour has moved to another community than its own is looked at again. Returns how
    /// many moves there were.
    fn move_nodes(&self, level: &Level, labels: &mut [u32]) -> Result<u64> {
        let nodes = level.nodes();
        let mut totals = totals(level, labels)?;
        let mut queue: VecDeque<u32> = Scattered::new(nodes, self.iteration).iter().collect();
        let mut is_queued: HugeVec<u8> = HugeVec::filled(nodes, 1)?;
        let mut sums = Sums::new(nodes)?;
        let (mut steps, mut moves) = (0, 0);
        while let Some(node) = queue.pop_front() {
            steps += 1;
            if steps % CHECK_EVERY == 0 {
                self.engine.check_cancel()?;
            }
            let node = node as usize;
            is_queued[node] = 0;
            for (target, weight) in level.list(node).iter().copied().map(split) {
                sums.add(labels[target], weight);
            }
            let (own, degree) = (labels[node], level.degrees[node]);
            totals[own as usize] -= degree;
            let best = self.best(node, own, degree, &sums, &totals);
            sums.clear();
            totals[best as usize] += degree;
            if best == own {
                continue;
            }
            labels[node] = best;
            moves += 1;
            for (target, _) in level.list(node).iter().copied().map(split) {
                if labels[target] != best && is_queued[target] == 0 {
                    is_queued[target] = 1;
                    queue.push_back(target as u32);
                }
            }
        }
        Ok(moves)
    }

    /// The best community of a node, which `totals` leaves out; of equally good ones its own, then
    /// the smallest.
    #[inline]
    fn best(&self, node: usize, own: u32, degree: u64, sums: &Sums, totals: &[u64]) -> u32 {
        let share = self.density * degree as f64;
        let score = |label: u32, to: u64| to as f64 - share * totals[label as usize] as f64;
        let (mut best, mut best_score) = (own, score(own, sums.of(own)) + GAIN_MIN * degree as f64);
        for &label in &sums.touched {
            if label == own {
                continue;
            }
            let score = score(label, sums.of(label));
            if score > best_score || score == best_score && label < best && best != own {
                (best, best_score) = (label, score);
            }
        }
        let is_free = totals[node] == 0 && node as u32 != own;
        if 0.0 > best_score && is_free { node as u32 } else { best }
    }

    /// Divides communities into connected groups: a node that is well connected to its community
    /// and still alone joins the group of the largest gain of those that are, too.
    fn refine_nodes(&self, level: &Level, labels: &[u32], groups: &mut [u32]) -> Result<()> {
        let nodes = level.nodes();
        let totals = totals(level, labels)?;
        let mut weights: HugeVec<u64> = HugeVec::zeroed(nodes)?;
        // Weights of edges from groups to the other groups of their communities.
        let mut outside: HugeVec<u64> = HugeVec::zeroed(nodes)?;
        let mut is_joined: HugeVec<u8> = HugeVec::zeroed(nodes)?;
        for node in 0..nodes {
            groups[node] = node as u32;
            weights[node] = level.degrees[node];
            let inner = level.list(node).iter().copied().map(split);
            let inner = inner.filter(|&(target, _)| labels[target] == labels[node]);
            outside[node] = inner.map(|(_, weight)| weight).sum();
        }
        let mut sums = Sums::new(nodes)?;
        for (step, node) in Scattered::new(nodes, self.iteration).iter().enumerate() {
            if step % CHECK_EVERY == 0 {
                self.engine.check_cancel()?;
            }
            let node = node as usize;
            let total = totals[labels[node] as usize];
            let is_well_connected = |group: usize, weights: &[u64], outside: &[u64]| {
                let weight = weights[group];
                outside[group] as f64 >= self.density * weight as f64 * (total - weight) as f64
            };
            let alone = is_joined[node] == 0;
            if !alone || !is_well_connected(node, &weights, &outside) {
                continue;
            }
            for (target, weight) in level.list(node).iter().copied().map(split) {
                if labels[target] == labels[node] {
                    sums.add(groups[target], weight);
                }
            }
            let degree = level.degrees[node];
            let share = self.density * degree as f64;
            let (mut best, mut best_score) = (node, 0.0);
            for &group in &sums.touched {
                let group = group as usize;
                let score = sums.of(group as u32) as f64 - share * weights[group] as f64;
                let is_better = score > best_score || score == best_score && group < best;
                if score > 0.0 && is_better && is_well_connected(group, &weights, &outside) {
                    (best, best_score) = (group, score);
                }
            }
            if best != node {
                let to = sums.of(best as u32);
                groups[node] = best as u32;
                is_joined[best] = 1;
                weights[best] += degree;
                weights[node] = 0;
                outside[best] = outside[best] + outside[node] - 2 * to;
            }
            sums.clear();
        }
        Ok(())
    }
}

/// The weight of each community.
fn totals(level: &Level, labels: &[u32]) -> Result<HugeVec<u64>> {
    let mut totals: HugeVec<u64> = HugeVec::zeroed(level.nodes())?;
    for (&label, &degree) in labels.iter().zip(level.degrees.iter()) {
        totals[label as usize] += degree;
    }
    Ok(totals)
}

/// Makes communities of the connected parts of communities.
fn connect(level: &Level, labels: &mut [u32]) -> Result<()> {
    let mut parts: HugeVec<u32> = HugeVec::filled(level.nodes(), u32::MAX)?;
    let mut stack = Vec::new();
    for start in 0..level.nodes() {
        if parts[start] != u32::MAX {
            continue;
        }
        parts[start] = start as u32;
        stack.push(start);
        while let Some(node) = stack.pop() {
            for (target, _) in level.list(node).iter().copied().map(split) {
                if parts[target] == u32::MAX && labels[target] == labels[node] {
                    parts[target] = start as u32;
                    stack.push(target);
                }
            }
        }
    }
    labels.copy_from_slice(&parts);
    renumber(labels, level.nodes())?;
    Ok(())
}
