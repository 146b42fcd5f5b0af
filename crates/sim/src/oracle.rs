//! The graph in plain vectors and the answers by definition.

use std::collections::BTreeMap;

use cenote_import::ImportConfig;

use crate::shape::Naming;

/// The expected graph of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Oracle {
    /// The user's id of each vertex.
    pub names: Vec<String>,
    /// Targets of each vertex, ascending.
    pub out: Vec<Vec<u32>>,
    /// Sources of each vertex, ascending.
    pub back: Vec<Vec<u32>>,
    /// Number of edges as the user counts them.
    pub edges: u64,
}

impl Oracle {
    /// Imports in the simplest way.
    pub fn import(edges: &[(u64, u64)], naming: Naming, options: &ImportConfig) -> Self {
        let mut vertices = BTreeMap::new();
        for &number in edges.iter().flat_map(|(a, b)| [a, b]) {
            vertices.insert(naming.key(number), (number, 0u32));
        }
        let mut oracle = Self::default();
        for (vertex, (number, dense)) in (0..).zip(vertices.values_mut()) {
            *dense = vertex;
            oracle.names.push(naming.name(*number));
        }
        let dense = |number: u64| vertices[&naming.key(number)].1;
        oracle.out = vec![Vec::new(); vertices.len()];
        oracle.back = oracle.out.clone();
        let mut times = BTreeMap::new();
        for &(source, target) in edges {
            let (source, target) = (dense(source), dense(target));
            if source == target && !options.keep_self_loops {
                continue;
            }
            let turned = !options.directed && source > target;
            let pair = if turned { (target, source) } else { (source, target) };
            let seen = times.entry(pair).or_insert(0);
            *seen += 1;
            if *seen > 1 && !options.keep_duplicates {
                continue;
            }
            oracle.edges += 1;
            oracle.add(source, target);
            if !options.directed && source != target {
                oracle.add(target, source);
            }
        }
        oracle.out.iter_mut().chain(&mut oracle.back).for_each(|list| list.sort_unstable());
        oracle
    }

    /// The graph with these lists of targets.
    pub fn of_lists(lists: &[Vec<u32>]) -> Self {
        let empty = vec![Vec::new(); lists.len()];
        let names = (0..lists.len()).map(|v| v.to_string()).collect();
        let mut oracle = Self { names, out: empty.clone(), back: empty, edges: 0 };
        for (source, targets) in (0..).zip(lists) {
            targets.iter().for_each(|&target| oracle.add(source, target));
        }
        oracle
    }

    fn add(&mut self, source: u32, target: u32) {
        self.out[source as usize].push(target);
        self.back[target as usize].push(source);
    }

    /// The distance of each vertex from `source`, level by level.
    pub fn levels(&self, source: u32) -> Vec<Option<u32>> {
        let mut levels = vec![None; self.out.len()];
        levels[source as usize] = Some(0);
        let mut frontier = vec![source];
        for level in 1.. {
            let mut next = Vec::new();
            for v in frontier {
                for &target in &self.out[v as usize] {
                    if levels[target as usize].is_none() {
                        levels[target as usize] = Some(level);
                        next.push(target);
                    }
                }
            }
            if next.is_empty() {
                break;
            }
            frontier = next;
        }
        levels
    }

    /// The smallest neighbour of each vertex on the previous level; the source is its own parent.
    pub fn parents(&self, source: u32) -> Vec<Option<u32>> {
        let levels = self.levels(source);
        let mut parents = vec![None; self.out.len()];
        parents[source as usize] = Some(source);
        for (v, targets) in (0..).zip(&self.out) {
            let Some(level) = levels[v as usize] else { continue };
            for &target in targets {
                let parent = &mut parents[target as usize];
                if levels[target as usize] == Some(level + 1) && parent.is_none() {
                    *parent = Some(v);
                }
            }
        }
        parents
    }

    /// The smallest vertex of each vertex's weakly connected component.
    pub fn components(&self) -> Vec<u32> {
        let mut labels = vec![u32::MAX; self.out.len()];
        for label in 0..self.out.len() as u32 {
            let mut stack = vec![label];
            while let Some(v) = stack.pop() {
                if labels[v as usize] == u32::MAX {
                    labels[v as usize] = label;
                    stack.extend(&self.out[v as usize]);
                    stack.extend(&self.back[v as usize]);
                }
            }
        }
        labels
    }

    /// The ranks after `iterations` power iterations from 1/n.
    pub fn pagerank(&self, damping: f64, iterations: u32) -> Vec<f64> {
        let n = self.out.len() as f64;
        let mut ranks = vec![1.0 / n; self.out.len()];
        for _ in 0..iterations {
            let dangling = self.out.iter().zip(&ranks).filter(|(targets, _)| targets.is_empty());
            let lost: f64 = dangling.map(|(_, rank)| rank).sum();
            let mut next = vec![(1.0 - damping + damping * lost) / n; self.out.len()];
            for (targets, rank) in self.out.iter().zip(&ranks) {
                for &target in targets {
                    next[target as usize] += damping * rank / targets.len() as f64;
                }
            }
            ranks = next;
        }
        ranks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 0 -> 1, 0 -> 2, 1 -> 3, 2 -> 3, and 4 -> 5 apart.
    fn diamond() -> Oracle {
        Oracle::of_lists(&[vec![1, 2], vec![3], vec![3], vec![], vec![5], vec![]])
    }

    #[test]
    fn answers_on_a_diamond_are_those_worked_out_by_hand() {
        let graph = diamond();
        assert_eq!(graph.levels(0), [Some(0), Some(1), Some(1), Some(2), None, None]);
        assert_eq!(graph.parents(0), [Some(0), Some(0), Some(0), Some(1), None, None]);
        assert_eq!(graph.components(), [0, 0, 0, 0, 4, 4]);
        // Two vertices have no way out: their 2/6 are spread over six.
        let ranks = graph.pagerank(0.5, 1);
        let base = 0.5 / 6.0 + 0.5 * (2.0 / 6.0) / 6.0;
        let sixth = 1.0 / 6.0;
        let expected = [0.0, 0.25, 0.25, 1.0, 0.0, 0.5].map(|share| base + share * sixth);
        for (found, expected) in ranks.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-15, "{found} {expected}");
        }
    }

    #[test]
    fn import_drops_keeps_and_sorts_as_asked() {
        let edges = [(2, 1), (1, 2), (1, 1), (2, 1)];
        let plain = ImportConfig::default();
        let graph = Oracle::import(&edges, Naming::Dense, &plain);
        assert_eq!((graph.names, graph.edges), (vec!["1".into(), "2".into()], 1));
        assert_eq!((graph.out, graph.back), (vec![vec![1], vec![0]], vec![vec![1], vec![0]]));
        let all =
            ImportConfig::default().directed(true).keep_duplicates(true).keep_self_loops(true);
        let graph = Oracle::import(&edges, Naming::Dense, &all);
        assert_eq!((graph.out, graph.edges), (vec![vec![0, 1], vec![0, 0]], 4));
        assert_eq!(graph.back, vec![vec![0, 1, 1], vec![0]]);
    }
}
