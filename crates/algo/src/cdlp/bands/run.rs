//! The iterations.

use std::sync::Arc;

use cenote_engine::{Bitmap, Engine, EngineConfig, Graph, VertexId};

use super::super::frequent::Frequent;
use super::super::{Cdlp, CdlpConfig};
use super::groups::{count, name};
use crate::bands::{Changes, Gather, GatherPlan, Take};
use crate::ranks::{Ranks, is_natural};
use crate::report::{Result, Run};

/// Runs the label propagation.
pub(in super::super) fn run(
    graph: &Arc<Graph>,
    config: EngineConfig,
    cdlp: &CdlpConfig,
    plan: &GatherPlan,
) -> Result<Cdlp> {
    let engine = Engine::new(Arc::clone(graph), config, &plan.bands.needs)?;
    engine.install(|| {
        let layout = &plan.bands.layout;
        let file = engine.state_file(layout.buffer_bytes)?;
        let mut gather = Gather::new(&engine, &file, plan)?;
        let mut labels = match Ranks::write(graph, &file, &mut gather.band)? {
            Some(ranks) => ranks,
            None => gather.write_all(&mut |v| v)?,
        };
        let mut next = file.reserve(4 * layout.vertices as u64);
        let mut changes = Changes::new(&engine)?;
        let (mut iterations, mut converged) = (0, false);
        while iterations < cdlp.iterations && !converged {
            iterations += 1;
            let label = format!("iteration {iterations}");
            converged = engine.step(label.clone(), || {
                let active = changes.active();
                gather.sweep(&label, active, (labels, next), &MostFrequent(&changes.changed))?;
                changes.take(&label)
            })? == 0;
            std::mem::swap(&mut labels, &mut next);
        }
        let mut groups = engine.step("communities", || count(graph, labels, &mut gather))?;
        if !is_natural(graph) {
            engine.step("names", || name(graph, labels, &mut gather, &changes.changed))?;
        }
        drop(gather);
        groups.labels = file.seal().array(labels, layout.vertices)?;
        let run = Run { bands: Some(plan.bands.report.clone()), ..Run::of(&engine) };
        Ok(Cdlp::with(groups, (iterations, converged), run))
    })
}

/// Each vertex takes the most frequent label of its neighbours.
struct MostFrequent<'a>(&'a Bitmap);

impl Take for MostFrequent<'_> {
    type Local = Frequent;

    fn local(&self) -> Frequent {
        Frequent::default()
    }

    fn take(&self, frequent: &mut Frequent, v: VertexId, own: u32, values: &[&[u32]]) -> u32 {
        let most = frequent.of(values.iter().map(|part| part.iter().copied())).unwrap_or(own);
        if most != own {
            self.0.insert(v);
        }
        most
    }
}
