//! The sweeps over the bands.

use std::cmp::Reverse;
use std::sync::Arc;

use cenote_engine::{
    ActiveSet, Bitmap, BlockRef, Blocks, Direction, Engine, EngineConfig, Graph, StateFile,
    VertexId,
};

use super::super::Wcc;
use super::band::{Band, Tree};
use super::giant::{Edges, Scatter, Spread};
use super::plan::{BandPlan, HUB_PASSES_MAX, PAIR_BYTES, request_bytes};
use crate::groups::Groups;
use crate::report::{Result, Run};

/// The growth of the giant component that is worth another pass over hub neighbours: one part in so
/// many of all vertices.
const HUB_GROWTH_PART: u64 = 64;

/// The most bytes of a request.
const REQUEST_BYTES_MAX: usize = 20;

/// Computes the components in bands.
pub(in super::super) fn run(
    graph: &Arc<Graph>,
    config: EngineConfig,
    plan: &BandPlan,
) -> Result<Wcc> {
    let engine = Engine::new(Arc::clone(graph), config, &plan.needs)?;
    engine.install(|| {
        let (layout, file) = (&plan.layout, engine.state_file(plan.layout.buffer_bytes)?);
        let reader = Blocks::new(&engine, &file, 0, layout.block_bytes);
        let writer = Blocks::new(&engine, &file, 2 * layout.bands, layout.block_bytes);
        let labels = file.reserve(4 * layout.vertices as u64);
        let (giant, edges) = by_lists(&engine, plan, &writer)?;
        let mut sweep = Sweep {
            engine: &engine,
            plan,
            file: &file,
            reader: &reader,
            writer: &writer,
            giant,
            labels,
            edges,
            requests: vec![Vec::new(); layout.bands],
            answers: vec![Vec::new(); layout.bands],
            band: Band::new(graph, layout)?,
            found: Found::default(),
        };
        sweep.sweep()?;
        let (found, deleted) = (sweep.found, graph.deleted().len() as u64);
        drop((reader, writer));
        let labels = file.seal().array(labels, layout.vertices)?;
        let largest = found.largest.filter(|_| graph.live_vertices() > 0);
        let groups = Groups {
            labels,
            // Every deleted vertex is one.
            count: found.components - deleted,
            single: found.single - deleted,
            largest: largest.map_or(0, |(size, _)| size),
            largest_label: largest.map(|(_, Reverse(best))| best as VertexId),
        };
        let run = Run { bands: Some(plan.report.clone()), ..Run::of(&engine) };
        Ok(Wcc::with(groups, run))
    })
}

/// The giant component, and the blocks of the edges outside of it, by band.
fn by_lists(
    engine: &Engine,
    plan: &BandPlan,
    writer: &Blocks<'_>,
) -> Result<(Bitmap, Vec<Vec<BlockRef>>)> {
    let (graph, layout) = (engine.graph(), &plan.layout);
    let directed = graph.is_directed();
    let giant = Bitmap::new(layout.vertices)?;
    giant.insert(graph.superblock().degree_max_vertex);
    // On a directed graph a vertex without out-edges may have others.
    let isolated = if directed { None } else { Some(Bitmap::new(layout.vertices)?) };
    let spread = Spread { giant: &giant, isolated: isolated.as_ref() };
    let has_hubs = graph.superblock().has_hub_neighbours();
    if has_hubs {
        spread_by_hubs(engine, &spread)?;
    }
    let active = match has_hubs && !directed {
        true => ActiveSet::NotIn(&giant),
        false => ActiveSet::All,
    };
    engine.visit("giant component", Direction::Out, active, &spread)?;
    let skipped = isolated.map(|mut skipped| {
        skipped.merge(&giant);
        skipped
    });
    let active = skipped.as_ref().map_or(ActiveSet::All, ActiveSet::NotIn);
    let kernel = Scatter { giant: &giant, blocks: writer, layout, directed };
    let mut edges = vec![Vec::new(); layout.bands];
    let written = engine.step("edges outside of it", || {
        engine.visit("edges outside of it", Direction::Out, active, &kernel)
    })?;
    for of_worker in written {
        for (band, block) in of_worker.result? {
            edges[band].push(block);
        }
    }
    Ok((giant, edges))
}

/// Spreads the giant component along hub neighbours as long as it grows much: a vertex that is read
/// before its hub was reached comes to it in the next pass, which costs a fraction of the lists.
fn spread_by_hubs(engine: &Engine, spread: &Spread<'_>) -> Result<()> {
    let mut known = 0;
    for _ in 0..HUB_PASSES_MAX {
        engine.visit_hub_neighbours("hub neighbours", spread)?;
        let count = spread.giant.count();
        if count - known < engine.graph().vertices() as u64 / HUB_GROWTH_PART {
            return Ok(());
        }
        known = count;
    }
    Ok(())
}

/// What is known of complete components.
#[derive(Clone, Copy, Default)]
struct Found {
    components: u64,
    /// Those of one vertex.
    single: u64,
    /// The size, and the vertex with the smallest id, with its rank.
    largest: Option<(u64, Reverse<u64>)>,
    giant_size: u64,
    giant_best: Option<u64>,
}

impl Found {
    fn complete(&mut self, size: u64, best: u64) {
        self.components += 1;
        self.single += u64::from(size == 1);
        self.largest = self.largest.max(Some((size, Reverse(best))));
    }

    fn giant(&mut self, size: u64, best: u64) {
        self.giant_size += size;
        self.giant_best = Some(self.giant_best.map_or(best, |known| known.min(best)));
    }
}

struct Sweep<'a> {
    engine: &'a Engine,
    plan: &'a BandPlan,
    file: &'a StateFile,
    reader: &'a Blocks<'a>,
    writer: &'a Blocks<'a>,
    giant: Bitmap,
    /// Place of the labels, where roots lie before.
    labels: u64,
    /// Blocks by band: edges whose larger end is in it, requests to its vertices, answers to its
    /// roots.
    edges: Vec<Vec<BlockRef>>,
    requests: Vec<Vec<BlockRef>>,
    answers: Vec<Vec<BlockRef>>,
    band: Band,
    found: Found,
}

impl Sweep<'_> {
    fn sweep(&mut self) -> Result<()> {
        let (engine, bands) = (self.engine, self.plan.layout.bands);
        for b in (0..bands).rev() {
            engine.check_cancel()?;
            engine.step(format!("band {} of {bands}, down", b + 1), || self.down(b))?;
        }
        if let Found { giant_size, giant_best: Some(best), .. } = self.found {
            self.found.complete(giant_size, best);
        }
        for b in 0..bands {
            engine.check_cancel()?;
            engine.step(format!("band {} of {bands}, up", b + 1), || self.up(b))?;
        }
        Ok(())
    }

    /// Joins what is within the band, and contracts it into the bands below.
    fn down(&mut self, b: usize) -> Result<()> {
        let (layout, bands) = (&self.plan.layout, self.plan.layout.bands);
        self.band.begin(self.engine.graph(), layout, b)?;
        let (band, giant) = (&self.band, &self.giant);
        let request_bytes = request_bytes(self.engine.graph());
        let receive = |(): &mut (), block: &[u8]| {
            for record in block.chunks_exact(request_bytes) {
                let best = |i| if request_bytes > 12 { word(record, i) } else { 0 };
                let best = u64::from(best(3)) | u64::from(best(4)) << 32;
                band.receive(word(record, 0), word(record, 2), best);
            }
            Ok(())
        };
        self.reader.for_each(&self.requests[b], || (), receive, |()| Ok(()))?;
        let written = self.reader.for_each(
            &self.edges[b],
            || Edges::new(self.writer),
            |edges, block| {
                for record in block.chunks_exact(PAIR_BYTES) {
                    band.edge(layout, giant, edges, (word(record, 1), word(record, 0)));
                }
                Ok(())
            },
            |edges| {
                edges.finish();
                Ok(())
            },
        )?;
        let mut edges = Edges::new(self.writer);
        band.fold(layout, giant, &mut edges);
        let found = &mut self.found;
        band.trees(|root, tree, weight, best| match tree {
            Tree::Giant => found.giant(weight.into(), best),
            Tree::Complete => {
                found.complete(weight.into(), best);
                if best as VertexId != root {
                    // No edge goes to the own band: its slot is free.
                    edges.push_to(b, &pair(root, best as VertexId));
                }
            }
            Tree::Below(neighbour) => {
                let words = [neighbour, root, weight, best as u32, (best >> 32) as u32];
                let mut record = [0; REQUEST_BYTES_MAX];
                for (bytes, word) in record.chunks_exact_mut(4).zip(words) {
                    bytes.copy_from_slice(&word.to_le_bytes());
                }
                let slot = bands + layout.band_of(neighbour);
                edges.push_to(slot, &record[..request_bytes]);
            }
        });
        edges.finish();
        for edges in written.into_iter().chain([edges]) {
            for (slot, block) in edges.result? {
                match slot.checked_sub(bands) {
                    Some(band) => self.requests[band].push(block),
                    None if slot == b => self.answers[b].push(block),
                    None => self.edges[slot].push(block),
                }
            }
        }
        self.band.write_roots(self.file, self.labels)
    }

    /// Gives the vertices of the band their labels, and answers the bands above.
    fn up(&mut self, b: usize) -> Result<()> {
        let layout = &self.plan.layout;
        self.band.resume(layout, b, (self.file, self.labels))?;
        let (band, giant) = (&self.band, &self.giant);
        let request_bytes = request_bytes(self.engine.graph());
        let answer = |(): &mut (), block: &[u8]| {
            for record in block.chunks_exact(PAIR_BYTES) {
                band.label_root(word(record, 0), word(record, 1));
            }
            Ok(())
        };
        self.reader.for_each(&self.answers[b], || (), answer, |()| Ok(()))?;
        band.label(giant, self.found.giant_best.unwrap_or_default() as VertexId);
        let written = self.reader.for_each(
            &self.requests[b],
            || Edges::new(self.writer),
            |answers, block| {
                for record in block.chunks_exact(request_bytes) {
                    let (neighbour, root) = (word(record, 0), word(record, 1));
                    let label = band.label_of(neighbour);
                    answers.push_to(layout.band_of(root), &pair(root, label));
                }
                Ok(())
            },
            |answers| {
                answers.finish();
                Ok(())
            },
        )?;
        for answers in written {
            for (band, block) in answers.result? {
                self.answers[band].push(block);
            }
        }
        self.band.write_roots(self.file, self.labels)
    }
}

fn pair(a: u32, b: u32) -> [u8; PAIR_BYTES] {
    (u64::from(b) << 32 | u64::from(a)).to_le_bytes()
}

/// A word of a record.
#[inline(always)]
fn word(record: &[u8], i: usize) -> u32 {
    let bytes = &record[4 * i..4 * i + 4];
    u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}
