//! A batch of parsed edges, so that each step over them is a short loop of its own.

/// Edges of a batch: as many as stay in the nearest cache.
pub(crate) const BATCH: usize = 512;

/// The edges that a worker has parsed and not yet processed.
#[derive(Debug)]
pub(crate) struct Batch {
    pairs: Vec<[u64; 2]>,
    /// The ordered bits of a weight for each pair, if weights are imported.
    weights: Vec<u64>,
    weighted: bool,
}

impl Batch {
    /// An empty batch of edges, with weights or without.
    pub fn new(weighted: bool) -> Self {
        let weights = Vec::with_capacity(if weighted { BATCH } else { 0 });
        Self { pairs: Vec::with_capacity(BATCH), weights, weighted }
    }

    /// Adds an edge. Returns whether the batch is full.
    #[inline(always)]
    pub fn push(&mut self, source: u64, target: u64, weight: u64) -> bool {
        self.pairs.push([source, target]);
        if self.weighted {
            self.weights.push(weight);
        }
        self.pairs.len() >= BATCH
    }

    /// The ids of the edges: source, target, source, target and so on.
    pub fn ids(&self) -> &[u64] {
        self.pairs.as_flattened()
    }

    /// Source, target and weight of every edge.
    #[inline]
    pub fn edges(&self) -> impl Iterator<Item = (u64, u64, u64)> {
        let weights = self.weights.iter().copied().chain(std::iter::repeat(0));
        self.pairs.iter().zip(weights).map(|(&[source, target], weight)| (source, target, weight))
    }

    /// The weight of an edge, 0 unless weights are imported.
    #[inline]
    pub fn weight(&self, edge: usize) -> u64 {
        self.weights.get(edge).copied().unwrap_or(0)
    }

    pub fn clear(&mut self) {
        self.pairs.clear();
        self.weights.clear();
    }
}
