//! The passes over the lists: the giant component, and the edges outside of it.

use cenote_engine::{
    Bitmap, BlockRef, BlockWriter, Blocks, EngineError, HubNeighbours, Kernel, List, VertexId,
};

use super::plan::Layout;

/// Spreads the giant component along lists.
pub(super) struct Spread<'a> {
    pub giant: &'a Bitmap,
    /// Collects the vertices without neighbours.
    pub isolated: Option<&'a Bitmap>,
}

impl Spread<'_> {
    /// Adds all of them if one is in the giant component.
    #[inline(always)]
    fn join(&self, v: VertexId, neighbours: &[VertexId]) {
        let giant = self.giant;
        if !giant.contains(v) && !neighbours.iter().any(|&t| giant.contains(t)) {
            return;
        }
        for &member in neighbours.iter().chain([&v]) {
            if !giant.contains(member) {
                giant.insert(member);
            }
        }
    }
}

impl Kernel for Spread<'_> {
    type Local = ();

    fn local(&self) {}

    fn list(&self, (): &mut (), list: &List<'_>) {
        if let Some(isolated) = self.isolated.filter(|_| list.degree == 0) {
            isolated.insert(list.vertex);
        }
        self.join(list.vertex, list.targets);
    }

    fn hub_neighbours(&self, (): &mut (), first: VertexId, hub_neighbours: &[HubNeighbours]) {
        for (v, hubs) in (first..).zip(hub_neighbours) {
            self.join(v, hubs.neighbours());
        }
    }
}

/// Whether an edge joins two vertices outside the giant component. If one of them is in it, the
/// other one comes to it.
#[inline(always)]
pub(super) fn is_outside(giant: &Bitmap, a: VertexId, b: VertexId) -> bool {
    match (giant.contains(a), giant.contains(b)) {
        (true, false) => _ = giant.insert(b),
        (false, true) => _ = giant.insert(a),
        (is_inside, _) => return !is_inside,
    }
    false
}

/// Writes the edges outside the giant component to the blocks of their bands.
pub(super) struct Scatter<'a> {
    pub giant: &'a Bitmap,
    pub blocks: &'a Blocks<'a>,
    pub layout: &'a Layout,
    /// Whether an edge is in one list only.
    pub directed: bool,
}

/// Edges that one thread writes.
pub(super) struct Edges<'a> {
    writer: BlockWriter<'a>,
    pub result: Result<Vec<(usize, BlockRef)>, EngineError>,
}

impl<'a> Edges<'a> {
    pub fn new(blocks: &'a Blocks<'a>) -> Self {
        Self { writer: blocks.writer(), result: Ok(Vec::new()) }
    }

    /// Adds an edge to the blocks of the band of its larger end.
    #[inline]
    pub fn push(&mut self, layout: &Layout, a: VertexId, b: VertexId) {
        let (small, large) = (a.min(b), a.max(b));
        let edge = u64::from(large) << 32 | u64::from(small);
        self.push_to(layout.band_of(large), &edge.to_le_bytes());
    }

    /// Adds a record to the blocks of a slot.
    #[inline]
    pub fn push_to(&mut self, slot: usize, record: &[u8]) {
        if self.result.is_ok()
            && let Err(error) = self.writer.push(slot, record)
        {
            self.result = Err(error);
        }
    }

    /// Writes what is in memory; on the thread that made it.
    pub fn finish(&mut self) {
        if self.result.is_ok() {
            self.result = self.writer.finish();
        }
    }
}

impl<'a> Kernel for Scatter<'a> {
    type Local = Edges<'a>;

    fn local(&self) -> Edges<'a> {
        Edges::new(self.blocks)
    }

    fn list(&self, edges: &mut Edges<'a>, list: &List<'_>) {
        for &target in list.targets {
            // On an undirected graph, the list of the larger end has the edge too.
            if is_outside(self.giant, list.vertex, target)
                && (target < list.vertex || self.directed && target != list.vertex)
            {
                edges.push(self.layout, list.vertex, target);
            }
        }
    }

    fn end(&self, edges: &mut Edges<'a>) {
        edges.finish();
    }

    fn is_done(&self, edges: &mut Edges<'a>) -> bool {
        edges.result.is_err()
    }
}
