//! Levels in memory: nodes move one after another until none gains, communities are refined, and
//! what they are made of are the nodes of the next level.

use std::collections::VecDeque;

use cenote_engine::{Engine, HugeVec};

use super::Method;
use super::level::{CHECK_EVERY, Level, Sums, renumber, split};
use super::moves::GAIN_MIN;
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
}

impl Levels<'_> {
    /// Works on levels until each community is one node, or nothing changes. `labels` are the
    /// communities of the nodes to begin with.
    pub fn cluster(&self, mut level: Level, mut labels: HugeVec<u32>) -> Result<Clustered> {
        // From the nodes of the first level to those of this one.
        let mut node_of: HugeVec<u32> = HugeVec::zeroed(level.nodes())?;
        (0..).zip(node_of.iter_mut()).for_each(|(node, at)| *at = node);
        let mut levels = 0;
        loop {
            levels += 1;
            let mut totals = totals(&level, &labels)?;
            self.move_nodes(&level, &mut labels, &mut totals)?;
            let mut groups = HugeVec::zeroed(level.nodes())?;
            match self.method {
                Method::Leiden => self.refine_nodes(&level, &labels, &totals, &mut groups)?,
                Method::Louvain => groups.copy_from_slice(&labels),
            }
            drop(totals);
            if std::env::var_os("COMM_DEBUG").is_some() {
                eprintln!("level {levels}: {} nodes {} entries", level.nodes(), level.entries());
            }
            let nodes = level.nodes();
            renumber(&mut labels, nodes)?;
            let count = renumber(&mut groups, nodes)?;
            if count == nodes {
                break;
            }
            let mut next_labels: HugeVec<u32> = HugeVec::zeroed(count)?;
            for (&group, &label) in groups.iter().zip(labels.iter()) {
                next_labels[group as usize] = label;
            }
            node_of.iter_mut().for_each(|node| *node = groups[*node as usize]);
            level = level.aggregate(&groups, count, self.engine)?;
            labels = next_labels;
        }
        if self.method == Method::Leiden {
            connect(&level, &mut labels)?;
        }
        self.finish(&level, &labels, node_of, levels)
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
    /// neighbour has moved to another community than its own is looked at again.
    fn move_nodes(&self, level: &Level, labels: &mut [u32], totals: &mut [u64]) -> Result<()> {
        let nodes = level.nodes();
        let mut queue: VecDeque<u32> = (0..nodes as u32).collect();
        let mut is_queued: HugeVec<u8> = HugeVec::filled(nodes, 1)?;
        let mut sums = Sums::new(nodes)?;
        let mut steps = 0;
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
            let best = self.best(node, own, degree, &sums, totals);
            sums.clear();
            totals[best as usize] += degree;
            if best == own {
                continue;
            }
            labels[node] = best;
            for (target, _) in level.list(node).iter().copied().map(split) {
                if labels[target] != best && is_queued[target] == 0 {
                    is_queued[target] = 1;
                    queue.push_back(target as u32);
                }
            }
        }
        Ok(())
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
    fn refine_nodes(
        &self,
        level: &Level,
        labels: &[u32],
        totals: &[u64],
        groups: &mut [u32],
    ) -> Result<()> {
        let nodes = level.nodes();
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
        for node in 0..nodes {
            if node % CHECK_EVERY == 0 {
                self.engine.check_cancel()?;
            }
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
