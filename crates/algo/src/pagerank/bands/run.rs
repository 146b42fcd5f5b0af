//! A run in bands, by pull or push.

use std::sync::Arc;

use cenote_engine::{Blocks, Engine, EngineConfig, Graph};

use super::super::restart::Restart;
use super::super::{PageRank, PageRankConfig, check_sum, iterate};
use super::plan::BandPlan;
use super::pull::Pull;
use super::push::Push;
use super::state::State;
use crate::ranks::Ranks;
use crate::report::{Result, Run};

/// Computes the ranks in bands.
pub(in super::super) fn run(
    graph: &Arc<Graph>,
    config: EngineConfig,
    pagerank: &PageRankConfig,
    plan: &BandPlan,
) -> Result<PageRank> {
    let engine = Engine::new(Arc::clone(graph), config, &plan.needs)?;
    engine.install(|| {
        let restart = Restart::new(graph, pagerank)?;
        let scale = pagerank.scale(graph.live_vertices());
        let file = engine.state_file(plan.layout.buffer_bytes)?;
        let blocks = Blocks::new(&engine, &file, plan.layout.bands, plan.layout.block_bytes);
        let new = |restart: &Restart| State::new(&engine, &file, &blocks, plan, restart);
        let ((iterations, change), (mut state, mut memory)) = if plan.pulls {
            let mut pull = Pull::new(new, pagerank.damping, restart)?;
            (iterate(pagerank, scale, |i| pull.step(i))?, (pull.state, pull.band))
        } else {
            let mut push = Push::new(new, pagerank.damping, restart)?;
            (iterate(pagerank, scale, |i| push.step(i))?, push.into_parts())
        };
        let (ids, sum) = engine.step("ranks", || {
            let sum = state.finish(scale)?;
            let ids = Ranks::write(graph, &file, bytemuck::cast_slice_mut(&mut memory))?;
            crate::report::Result::Ok((ids, sum))
        })?;
        let ranks = state.numbers;
        drop(state);
        drop(blocks);
        check_sum(graph, pagerank, sum)?;
        let sealed = file.seal();
        let ranks = sealed.array(ranks, graph.vertices())?;
        let ids = Ranks::stored(graph, ids.map(|at| sealed.array(at, graph.vertices())))?;
        let converged =
            pagerank.tolerance.map(|tolerance| change.is_some_and(|change| change < tolerance));
        let run = Run { bands: Some(plan.report.clone()), ..Run::of(&engine) };
        Ok(PageRank { ranks, ids, iterations, converged, change, run })
    })
}
