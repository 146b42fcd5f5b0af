//! The lists of a band in memory: it is searched, nearest vertex first, until no distance in it can
//! fall, as in a search part by part ([`parts`](crate::parts)).
//!
//! Paths that leave the band and come back make distances fall again later, but most are right at
//! once: by a simulation a square grid of 10^6 vertices in 64 bands visits each of them eight times
//! and follows 1.5 lists a vertex, the nearest band first. In small steps each band is visited at
//! each distance where a front crosses it.

use cenote_engine::{Direction, Engine, Graph, PageTask, VertexId};

use super::super::paths::Stored;
use super::super::relax::Sums;
use super::band::Band;
use super::relax::Relax;
use crate::bands::Layout;
use crate::csr::entries;
use crate::near::share_near;
use crate::parts::{Distances, Heap, Room, follow};
use crate::report::{Result, pages};

/// The least share of edges that must stay within a band: else it is visited too often. A grid in
/// the order of its rows has that from bands of five rows on.
const NEAR: f64 = 0.9;

/// A band has room for this many times its share of all entries; one with more is searched in small
/// steps.
const ROOM: (u64, u64) = (5, 4);

/// Lists are followed before it is asked whether the run is to end.
const CANCEL_LISTS: usize = 1 << 16;

/// Room for the lists of a band, and a heap.
pub(super) struct Lists {
    room: Room,
    heap: Heap,
    stored: Stored,
    /// Entries of the lists of each band.
    entries: Vec<u64>,
    entries_max: u64,
}

impl Lists {
    /// Bytes of a vertex of the band.
    pub fn vertex_bytes(graph: &Graph) -> u64 {
        let vertices = graph.vertices() as u64;
        let room = Room::bytes_for(graph, vertices, entries_in_room(graph, vertices));
        (room + Heap::bytes_for(vertices)).div_ceil(vertices.max(1))
    }

    /// Bytes beside the band.
    pub fn fixed_bytes(graph: &Graph) -> u64 {
        size_of::<PageTask>() as u64 * pages(graph, Direction::Out)
    }

    /// Room for any band whose lists are not much longer than those of others; `None` if many edges
    /// lead from one band to another.
    pub fn new(engine: &Engine, layout: &Layout) -> Result<Option<Self>> {
        let (graph, band) = (engine.graph(), layout.band.min(layout.vertices));
        if layout.bands > 1 && share_near(engine, band as u64)? < NEAR {
            return Ok(None);
        }
        let mut entries = vec![0; layout.bands];
        graph.degrees(Direction::Out, &mut |first, degrees| {
            for (v, degree) in (first..).zip(degrees) {
                entries[layout.band_of(v)] += degree;
            }
        })?;
        let entries_max = entries_in_room(graph, band as u64);
        let room = Room::new(graph, band as u64, entries_max)?;
        let (heap, stored) = (Heap::new(band)?, Stored::of(graph));
        Ok(Some(Self { room, heap, stored, entries, entries_max }))
    }

    /// Whether there is room for those of a band.
    pub fn fit(&self, band: usize) -> bool {
        self.entries[band] <= self.entries_max
    }

    /// Follows the active vertices of the band of `relax`, all of whose distances are in memory,
    /// until none is left within the bound. `relax` sends what leads to others.
    pub fn search<'a>(
        &mut self,
        engine: &Engine,
        relax: &Relax<'a>,
    ) -> Result<<Relax<'a> as Sums>::Local> {
        let Self { room, heap, stored, .. } = self;
        let (band, active, bound) = (relax.band, relax.active, relax.bound);
        room.load(engine, "lists".to_owned(), band.range.clone())?;
        let distances = InBand { band, stored: *stored };
        heap.begin(&band.range);
        active.take_in(band.range.clone(), |v| heap.raise(v, &distances));
        let mut sender = relax.local();
        while !heap.is_empty() {
            engine.check_cancel()?;
            let most = (bound, CANCEL_LISTS);
            follow((room, heap), &distances, &band.range, most, |target, sum| {
                relax.send(&mut sender, target, sum);
            });
        }
        relax.end(&mut sender);
        Ok(sender)
    }
}

/// Entries that room for so many vertices has.
fn entries_in_room(graph: &Graph, vertices: u64) -> u64 {
    let share = u128::from(entries(graph)) * u128::from(ROOM.0 * vertices);
    let all = u128::from(ROOM.1) * graph.vertices().max(1) as u128;
    u64::try_from(share.div_ceil(all)).unwrap_or(u64::MAX)
}

/// The distances of a band, and how paths grow.
struct InBand<'a> {
    band: &'a Band,
    stored: Stored,
}

impl Distances for InBand<'_> {
    #[inline(always)]
    fn distance(&self, v: VertexId) -> u64 {
        self.band.distance(v)
    }

    #[inline(always)]
    fn lower(&self, v: VertexId, to: u64) -> bool {
        self.band.lower(v, to)
    }

    #[inline(always)]
    fn longer(&self, before: u64, weight: u64) -> u64 {
        self.stored.longer(before, weight)
    }
}
