//! Grows clusters of the nodes of a graph: of its vertices, or of smaller clusters.

use std::cmp::Reverse;
use std::collections::VecDeque;

use super::{NEIGHBOURS_MAX, Shared, check_cancelled};
use crate::error::Result;
use crate::report::Progress;

/// The nodes of a graph.
pub trait Nodes {
    /// Gives each neighbour of a node. Returns the weight of the node.
    fn visit(&mut self, node: u32, each: &mut impl FnMut(u32)) -> Result<u64>;
}

/// Nodes in clusters.
pub struct Clusters {
    /// The nodes by cluster, those of one in the order in which they joined it.
    nodes: Vec<u32>,
    /// Where the nodes of each cluster begin, and the end of the last.
    starts: Vec<u32>,
    /// The sum of the weights of each cluster's nodes.
    pub weights: Vec<u64>,
    /// The edges between clusters: each pair once, the later cluster first.
    pub shared: Vec<Shared>,
}

impl Clusters {
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    pub fn nodes_of(&self, cluster: u32) -> &[u32] {
        let at = |cluster: usize| self.starts[cluster] as usize;
        &self.nodes[at(cluster as usize)..at(cluster as usize + 1)]
    }
}

/// Puts all nodes of a graph into clusters of `capacity`, or a little more, and of at least half of
/// it unless the rest of the graph has less. `starts` gives every node, the best first ones first.
pub fn grow(
    graph: &mut impl Nodes,
    nodes: usize,
    starts: impl Iterator<Item = u32>,
    capacity: u64,
    progress: &dyn Progress,
) -> Result<Clusters> {
    let mut growth = Growth::new(nodes, capacity);
    for start in starts {
        if growth.state[start as usize] != UNSEEN {
            continue;
        }
        let mut seed = Some((start, None));
        while let Some((node, touched_by)) = seed {
            check_cancelled(progress)?;
            growth.cluster(graph, node, touched_by)?;
            seed = growth.next_seed();
        }
    }
    Ok(growth.finish())
}

/// The state of a node: its cluster; or with `TOUCHED` the cluster that touched it last, or
/// `NOWHERE`, and with `SEED` too if it is among the seeds.
type State = u32;
const TOUCHED: State = 1 << 31;
const SEED: State = 1 << 30;
const NOWHERE: State = SEED - 1;
const UNSEEN: State = TOUCHED | NOWHERE;

struct Growth {
    capacity: u64,
    state: Vec<State>,
    /// The nodes in clusters, as they joined.
    joined: Vec<u32>,
    /// Nodes that a cluster touched before it was full, those touched first in front; some are in
    /// a cluster now.
    seeds: VecDeque<u32>,
    /// Nodes that the cluster that grows has touched.
    queue: VecDeque<u32>,
    /// Clusters of the neighbours of the nodes that joined the cluster that grows.
    touching: Vec<u32>,
    weights: Vec<u64>,
    shared: Vec<Shared>,
}

impl Growth {
    fn new(nodes: usize, capacity: u64) -> Self {
        Self {
            capacity,
            state: vec![UNSEEN; nodes],
            joined: Vec::with_capacity(nodes),
            // Exact, so that they do not grow beyond what is counted.
            seeds: VecDeque::with_capacity(nodes),
            queue: VecDeque::with_capacity(nodes),
            touching: Vec::new(),
            weights: Vec::new(),
            shared: Vec::new(),
        }
    }

    /// The node in no cluster that was touched first, and the cluster that touched it last.
    fn next_seed(&mut self) -> Option<(u32, Option<u32>)> {
        while let Some(node) = self.seeds.pop_front() {
            let state = self.state[node as usize];
            if state & TOUCHED != 0 {
                return Some((node, Some(state & NOWHERE)));
            }
        }
        None
    }

    /// Grows a cluster from a seed. What is too little for one of its own joins the cluster that
    /// touched the seed; where no cluster did, the last one grows on if it has room.
    fn cluster(
        &mut self,
        graph: &mut impl Nodes,
        seed: u32,
        touched_by: Option<u32>,
    ) -> Result<()> {
        let has_room = self.weights.last().is_some_and(|&weight| weight < self.capacity);
        if touched_by.is_some() || !has_room {
            self.weights.push(0);
        }
        let number = self.weights.len() - 1;
        let first = self.joined.len();
        self.fill(graph, seed, number)?;
        let weight = self.weights[number];
        if let Some(other) = touched_by.filter(|_| weight < self.capacity / 2) {
            self.weights.pop();
            self.weights[other as usize] += weight;
            self.joined[first..].iter().for_each(|&node| self.state[node as usize] = other);
            self.touching.clear();
        } else {
            self.share(number as u32);
        }
        Ok(())
    }

    /// Has nodes join a cluster until it is full or none is left.
    fn fill(&mut self, graph: &mut impl Nodes, seed: u32, number: usize) -> Result<()> {
        let Self { capacity, state, joined, seeds, queue, touching, weights, .. } = self;
        assert!(number < NOWHERE as usize, "a cluster takes a kilobyte of lists or more");
        let cluster = number as State;
        queue.push_back(seed);
        while let Some(node) = queue.pop_front() {
            state[node as usize] = cluster;
            joined.push(node);
            weights[number] += graph.visit(node, &mut |neighbour| {
                let found = &mut state[neighbour as usize];
                if *found & TOUCHED == 0 {
                    touching.extend((*found != cluster).then_some(*found));
                } else if *found & NOWHERE != cluster {
                    *found = TOUCHED | *found & SEED | cluster;
                    queue.push_back(neighbour);
                }
            })?;
            if weights[number] >= *capacity {
                break;
            }
        }
        for node in queue.drain(..) {
            let found = &mut state[node as usize];
            if *found & SEED == 0 {
                *found |= SEED;
                seeds.push_back(node);
            }
        }
        Ok(())
    }

    /// Keeps with which clusters a new one shares most edges.
    fn share(&mut self, cluster: u32) {
        self.touching.sort_unstable();
        let first = self.shared.len();
        let edges = |same: &[u32]| u32::try_from(same.len()).unwrap_or(u32::MAX);
        let neighbours = self.touching.chunk_by(|a, b| a == b);
        self.shared.extend(neighbours.map(|same| (cluster, same[0], edges(same))));
        self.shared[first..].sort_by_key(|&(.., edges)| Reverse(edges));
        self.shared.truncate(first + NEIGHBOURS_MAX);
        self.touching.clear();
    }

    fn finish(self) -> Clusters {
        let Self { state, joined, weights, shared, seeds, queue, .. } = self;
        drop((seeds, queue));
        let mut starts = vec![0; weights.len() + 1];
        state.iter().for_each(|&cluster| starts[cluster as usize + 1] += 1);
        (1..starts.len()).for_each(|at| starts[at] += starts[at - 1]);
        let mut nodes = vec![0; joined.len()];
        let mut ends = starts.clone();
        for node in joined {
            let end = &mut ends[state[node as usize] as usize];
            nodes[*end as usize] = node;
            *end += 1;
        }
        Clusters { nodes, starts, weights, shared }
    }
}
