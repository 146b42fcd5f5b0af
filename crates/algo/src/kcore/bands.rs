//! Core numbers with less memory than the bounds of all vertices take.
//!
//! Bounds lie in the state file, and begin with the degrees. A sweep lowers the bound of every
//! vertex to the largest h such that h of its neighbours have a bound of at least h, until none
//! falls any more: then bounds are the core numbers (Montresor, De Pellegrini and Miorandi, 2013).
//! As many lists as fit are loaded, and the bounds of all their entries looked up in one pass over
//! all bounds; among their vertices bounds fall until none does ([`fall`](crate::bands)). Later
//! sweeps load only the lists of vertices with a neighbour whose bound fell, and, if these make
//! others nearby fall, all lists around them.
//!
//! On skewed graphs some 20 sweeps suffice, the later ones over few vertices, on grids and chains
//! two or three. A chain whose vertices lie anywhere takes up to half as many as it has vertices.

use std::sync::Arc;

use cenote_engine::{Bitmap, Engine, EngineConfig, EngineError, Graph, StateFile, VertexId};

use super::bounds::bound_max;
use super::inner::Histogram;
use super::{Kcore, KcoreConfig};
use crate::bands::{Changes, Fall, Gather, GatherPlan};
use crate::estimate::{Estimate, Reads};
use crate::neighbourhood::directions;
use crate::report::{Result, Run, graph_pages};

/// About how many sweeps over all vertices the reads of all sweeps add up to: measured on Kronecker
/// graphs of 2^18 and 2^20 vertices. There are twice as many, the later ones over few vertices.
fn sweeps(most: u32) -> f64 {
    1.65 * f64::from(most.max(1)).powf(0.3)
}

/// No core number is larger.
fn most(graph: &Graph, kcore: &KcoreConfig) -> u32 {
    bound_max(graph).min(kcore.k.unwrap_or(u32::MAX))
}

/// Plans a run in bands; see [`BandPlan::choose`](crate::bands::BandPlan::choose).
pub(super) fn choose(
    graph: &Graph,
    config: &EngineConfig,
    kcore: &KcoreConfig,
    refused: EngineError,
) -> Result<GatherPlan> {
    let n = graph.vertices();
    // Counts of shells are twice as wide.
    let histograms = (config.threads as u64 + 2) * Histogram::bytes_for(most(graph, kcore));
    let beside = Changes::bytes_for(n, config.threads) + histograms;
    let plan = GatherPlan::choose(graph, config, ("kcore in bands of vertices", beside), refused)?;
    let bounds = 4 * n as u64;
    let (read, written) = plan.sweep_bytes();
    let of_sweeps = |bytes: u64| (sweeps(most(graph, kcore)) * bytes as f64) as u64;
    let degrees = directions(graph.is_directed()).len() as u64 * bounds;
    let read = of_sweeps(read) + degrees;
    let written = 2 * of_sweeps(written) + degrees;
    Ok(plan.with((bounds, read, written)))
}

/// The estimate of a run.
pub(super) fn estimate(plan: GatherPlan, graph: &Graph, kcore: &KcoreConfig) -> Estimate {
    let pass = graph_pages(graph) as f64;
    let missing = 1.0 - plan.bands.memory.cached_fraction(graph);
    // Where little changes, lists are read once more for the neighbours of that.
    let passes = (1.5 * sweeps(most(graph, kcore))).max(1.0);
    let likely = pass * (1.0 + (passes - 1.0) * missing) * plan.again();
    let single = graph.vertices() as f64 * missing;
    let reads = Reads::between(pass, likely, 10.0 * likely + 8.0 * single);
    let because = "a pass over the pages per sweep; later ones skip vertices whose neighbours did \
                   not change; many more if cores are chains in no order";
    let estimate = plan.bands.estimate(graph, reads.visiting(passes * pass), because);
    let bytes_read_at_least = (pass as u64) * graph.page_bytes() as u64;
    Estimate { bytes_read_at_least, ..estimate }
}

/// Computes the core numbers.
pub(super) fn run(
    graph: &Arc<Graph>,
    config: EngineConfig,
    kcore: &KcoreConfig,
    plan: &GatherPlan,
) -> Result<Kcore> {
    let engine = Engine::new(Arc::clone(graph), config, &plan.bands.needs)?;
    engine.install(|| {
        let layout = &plan.bands.layout;
        let file = engine.state_file(layout.buffer_bytes)?;
        let mut gather = Gather::new(&engine, &file, plan)?;
        let most = most(graph, kcore);
        let bounds = engine.step("degrees", || degrees(graph, most, (&file, &mut gather)))?;
        let mut changes = Changes::new(&engine)?;
        let mut rounds = 0;
        loop {
            rounds += 1;
            let label = format!("sweep {rounds}");
            let changed = engine.step(label.clone(), || {
                let lower = Lower { most, changed: &changes.changed };
                gather.fall(&label, changes.active(), bounds, &lower)?;
                changes.take(&label)
            })?;
            if changed == 0 {
                break;
            }
        }
        let mut counts = vec![0u64; most as usize + 1];
        gather.for_each_band(bounds, &mut |_, cores, _| {
            cores.iter().for_each(|&core| counts[core as usize] += 1);
            false
        })?;
        // Deleted vertices have no neighbours.
        counts[0] -= graph.deleted().len() as u64;
        let shells = (0..).zip(counts).filter(|&(_, vertices)| vertices > 0).collect();
        drop(gather);
        let cores = file.seal().array(bounds, layout.vertices)?;
        let run = Run { bands: Some(plan.bands.report.clone()), ..Run::of(&engine) };
        Ok(Kcore::with(cores, kcore.k, shells, rounds, run))
    })
}

/// Writes the degrees in both directions, at most `most`; returns their place.
fn degrees(graph: &Graph, most: u32, (file, gather): (&StateFile, &mut Gather<'_>)) -> Result<u64> {
    let layout = gather.layout;
    let place = file.reserve(4 * layout.vertices as u64);
    for (nth, &direction) in directions(graph.is_directed()).iter().enumerate() {
        let (mut at, mut moved) = (0, Ok(()));
        graph.degrees(direction, &mut |_, degrees| {
            for &degree in degrees {
                gather.own[at % layout.band] = u32::try_from(degree).unwrap_or(u32::MAX).min(most);
                at += 1;
                if (at == layout.vertices || at % layout.band == 0) && moved.is_ok() {
                    let range = layout.range((at - 1) / layout.band);
                    let of_band = place + 4 * u64::from(range.start);
                    let (own, before) = (&mut gather.own[..range.len()], &mut gather.band);
                    moved = match nth {
                        0 => Ok(()),
                        _ => file.read(of_band, &mut before[..range.len()]).map(|()| {
                            for (degree, more) in own.iter_mut().zip(before.iter()) {
                                *degree = degree.saturating_add(*more).min(most);
                            }
                        }),
                    };
                    moved = std::mem::replace(&mut moved, Ok(()))
                        .and_then(|()| file.write(of_band, own));
                }
            }
        })?;
        moved?;
    }
    Ok(place)
}

/// Lowers bounds to what those of the neighbours allow.
struct Lower<'a> {
    most: u32,
    changed: &'a Bitmap,
}

impl Fall for Lower<'_> {
    type Local = Histogram;

    fn local(&self) -> Histogram {
        Histogram::new(self.most)
    }

    fn most(&self) -> u32 {
        self.most
    }

    fn next(
        &self,
        histogram: &mut Histogram,
        own: u32,
        values: impl Iterator<Item = u32> + Clone,
    ) -> u32 {
        // Most do not fall.
        let enough = values.clone().filter(|&value| value >= own).take(own as usize).count();
        if enough == own as usize { own } else { histogram.largest(own, values) }
    }

    fn fallen(&self, v: VertexId) {
        self.changed.insert(v);
    }
}
