//! The active vertices of a step: a bitmap, and a sorted list while they are few.

use std::borrow::Borrow;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use cenote_device::Result;
use cenote_store::VertexId;

use crate::bitmap::Bitmap;

/// A frontier of at most `vertices / SPARSE_SHARE` vertices keeps a list: finding the pages of each
/// vertex is then cheaper than searching every page for active vertices.
const SPARSE_SHARE: usize = 64;

/// The active vertices of one step.
#[derive(Debug)]
pub struct Frontier {
    bits: Bitmap,
    list: Option<Vec<VertexId>>,
    count: AtomicU64,
    sparse_max: usize,
}

/// What one worker adds to a frontier, merged by [`Frontier::seal`].
#[derive(Debug, Default)]
pub struct FrontierPart {
    list: Vec<VertexId>,
    count: u64,
}

impl Frontier {
    /// An empty frontier over `vertices`.
    pub fn new(vertices: usize) -> Result<Self> {
        Self::with_list_max(vertices, vertices / SPARSE_SHARE + 1)
    }

    /// An empty frontier over `vertices` that keeps a list of up to `list_max` of them, for less
    /// memory than [`Frontier::new`] takes.
    pub fn with_list_max(vertices: usize, list_max: usize) -> Result<Self> {
        let (bits, count) = (Bitmap::new(vertices)?, AtomicU64::new(0));
        Ok(Self { bits, list: Some(Vec::new()), count, sparse_max: list_max })
    }

    /// The most bytes of a frontier over `vertices` that `workers` threads fill.
    pub fn bytes_for(vertices: usize, workers: usize) -> u64 {
        Self::bytes_with_list_max(vertices, workers, vertices / SPARSE_SHARE + 1)
    }

    /// The most bytes of a frontier of [`Frontier::with_list_max`].
    pub fn bytes_with_list_max(vertices: usize, workers: usize, list_max: usize) -> u64 {
        Bitmap::bytes_for(vertices) + 4 * list_max as u64 * (workers as u64 + 1)
    }

    /// How many vertices are in it.
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// Whether no vertex is in it.
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// Whether `v` is in it.
    #[inline(always)]
    pub fn contains(&self, v: VertexId) -> bool {
        self.bits.contains(v)
    }

    /// Its bits.
    pub fn bits(&self) -> &Bitmap {
        &self.bits
    }

    /// Its vertices in ascending order, if they are few enough for a list.
    pub fn list(&self) -> Option<&[VertexId]> {
        self.list.as_deref()
    }

    /// Adds `v` from a worker; true if it was not in the frontier. Of several workers that add it,
    /// one gets true.
    #[inline(always)]
    pub fn add(&self, v: VertexId, part: &mut FrontierPart) -> bool {
        if self.bits.contains(v) || !self.bits.insert(v) {
            return false;
        }
        part.count += 1;
        if part.list.len() <= self.sparse_max {
            part.list.push(v);
        }
        true
    }

    /// Completes the frontier with the workers' parts.
    pub fn seal(&mut self, parts: impl IntoIterator<Item = FrontierPart>) {
        let mut list = Vec::new();
        let mut count = 0;
        for mut part in parts {
            count += part.count;
            if list.is_empty() {
                list = part.list;
            } else if count <= self.sparse_max as u64 {
                list.append(&mut part.list);
            }
        }
        *self.count.get_mut() = count;
        self.list = (count <= self.sparse_max as u64).then(|| {
            list.sort_unstable();
            list
        });
    }

    /// Replaces its vertices by `vertices`; duplicates count once.
    pub fn set(&mut self, vertices: impl IntoIterator<Item: Borrow<VertexId>>) {
        self.clear();
        let mut part = FrontierPart::default();
        for v in vertices {
            self.add(*v.borrow(), &mut part);
        }
        self.seal([part]);
    }

    /// Becomes the `next` frontier, completed with the workers' `parts`, and empties `next`.
    pub fn advance(&mut self, next: &mut Self, parts: impl IntoIterator<Item = FrontierPart>) {
        next.seal(parts);
        self.clear();
        std::mem::swap(self, next);
    }

    /// Empties it; cheap if it has a list.
    pub fn clear(&mut self) {
        match self.list.take() {
            Some(list) => list.iter().for_each(|&v| self.bits.remove(v)),
            None => self.bits.clear(),
        }
        self.list = Some(Vec::new());
        *self.count.get_mut() = 0;
    }
}

/// Which lists of a graph are active in a visit.
#[derive(Clone, Copy, Debug)]
pub enum ActiveSet<'a> {
    /// Every list.
    All,
    /// The lists of a frontier's vertices.
    In(&'a Frontier),
    /// The lists of vertices outside a set, such as the unvisited. The set may grow meanwhile.
    NotIn(&'a Bitmap),
    /// The lists of consecutive vertices.
    Within {
        /// The first vertex.
        from: VertexId,
        /// Behind the last one.
        to: VertexId,
    },
}

impl ActiveSet<'_> {
    /// Whether the list of `v` is in the set.
    #[inline(always)]
    pub fn contains(&self, v: VertexId) -> bool {
        match self {
            ActiveSet::All => true,
            ActiveSet::In(frontier) => frontier.contains(v),
            ActiveSet::NotIn(bits) => !bits.contains(v),
            ActiveSet::Within { from, to } => (*from..*to).contains(&v),
        }
    }

    /// The number of vertices that the set was made for; None for `All` and `Within`.
    pub(crate) fn vertices(&self) -> Option<usize> {
        match self {
            ActiveSet::All | ActiveSet::Within { .. } => None,
            ActiveSet::In(frontier) => Some(frontier.bits.len()),
            ActiveSet::NotIn(bits) => Some(bits.len()),
        }
    }

    /// Whether any list of `range` is active.
    pub fn any_in(&self, range: Range<VertexId>) -> bool {
        match self {
            ActiveSet::All => !range.is_empty(),
            ActiveSet::In(frontier) => frontier.bits.any_in(range, false),
            ActiveSet::NotIn(bits) => bits.any_in(range, true),
            ActiveSet::Within { from, to } => range.start.max(*from) < range.end.min(*to),
        }
    }

    /// The active vertices, ascending, if they are few enough for a list.
    pub fn list(&self) -> Option<&[VertexId]> {
        match self {
            ActiveSet::In(frontier) => frontier.list(),
            _ => None,
        }
    }
}
