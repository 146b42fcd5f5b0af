//! Batches of lists, assembled from the pieces of windows.

use cenote_store::VertexId;

use super::window::Part;

/// Lists, or pieces of long ones, one after the other. List `i` is that of `vertices[i]`, and has
/// the targets from `offsets[i]` up to `offsets[i + 1]`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ListBatch {
    /// The vertices, which ascend.
    pub vertices: Vec<VertexId>,
    /// Where each list starts, and the end of the last: one more than there are vertices.
    pub offsets: Vec<i64>,
    /// The neighbours, ascending within a list.
    pub targets: Vec<VertexId>,
    /// The weights of the edges, if they are visited with weights.
    pub weights: Option<Vec<f64>>,
}

impl ListBatch {
    fn new(weights: bool) -> Self {
        let (vertices, targets) = (Vec::new(), Vec::new());
        Self { vertices, offsets: vec![0], targets, weights: weights.then(Vec::new) }
    }

    fn append(&mut self, part: Part) {
        let before = self.targets.len() as i64;
        let mut pieces = part.vertices.into_iter().zip(part.ends).peekable();
        // The first piece may continue the last list.
        if pieces.peek().is_some_and(|(vertex, _)| self.vertices.last() == Some(vertex)) {
            self.offsets.pop();
            self.vertices.pop();
        }
        for (vertex, end) in pieces {
            self.vertices.push(vertex);
            self.offsets.push(before + i64::from(end));
        }
        self.targets.extend_from_slice(&part.targets);
        if let Some(weights) = &mut self.weights {
            weights.extend_from_slice(&part.weights);
        }
    }

    /// Takes the last list off.
    fn split_last(&mut self) -> Self {
        let vertex = self.vertices.pop().expect("there is a list");
        self.offsets.pop();
        let at = self.offsets[self.vertices.len()] as usize;
        let targets = self.targets.split_off(at);
        let weights = self.weights.as_mut().map(|weights| weights.split_off(at));
        Self { vertices: vec![vertex], offsets: vec![0, targets.len() as i64], targets, weights }
    }
}

/// Puts pieces together.
pub(super) struct Assembler {
    weights: bool,
    /// Longer lists are passed on in pieces.
    degree_max: u64,
    /// The start of a list that the last window has begun.
    carried: Option<ListBatch>,
}

impl Assembler {
    pub fn new(weights: bool, degree_max: u64) -> Self {
        Self { weights, degree_max, carried: None }
    }

    /// The batch of a window, without a last list whose other pieces are still to come.
    pub fn add(&mut self, parts: Vec<Part>) -> Option<ListBatch> {
        let (missing, degree) =
            parts.last().map_or((0, 0), |part| (part.missing, part.last_degree));
        let mut batch = self.carried.take().unwrap_or_else(|| ListBatch::new(self.weights));
        let entries = parts.iter().map(|part| part.targets.len()).sum();
        let lists = parts.iter().map(|part| part.vertices.len()).sum();
        batch.vertices.reserve_exact(lists);
        batch.offsets.reserve_exact(lists);
        batch.targets.reserve_exact(entries);
        if let Some(weights) = &mut batch.weights {
            weights.reserve_exact(entries);
        }
        parts.into_iter().for_each(|part| batch.append(part));
        if missing > 0 && degree <= self.degree_max {
            self.carried = Some(batch.split_last());
        }
        (!batch.vertices.is_empty()).then_some(batch)
    }

    /// What is left if pages contradict each other: nothing is lost.
    pub fn finish(self) -> Option<ListBatch> {
        self.carried
    }
}
