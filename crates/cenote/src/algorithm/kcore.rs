//! [`Graph::kcore`](crate::Graph::kcore).

use cenote_algo::kcore::{self, KcoreConfig};
use cenote_store::Ids;
use serde::Serialize;

use crate::error::Result;
use crate::run::{Algorithm, Column, Job, Run};

/// Core numbers, or the members of one k-core; [`cenote_algo::kcore`].
#[derive(Clone, Debug, Default)]
pub struct Kcore {
    config: KcoreConfig,
}

impl Run<'_, Kcore> {
    /// Finds only the members of the k-core, which is faster.
    pub fn k(mut self, k: u32) -> Self {
        self.algorithm.config.k = Some(k);
        self
    }
}

/// Summary of a k-core decomposition.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct KcoreSummary {
    /// The given k.
    pub k: Option<u32>,
    /// Vertices in the k-core.
    pub members: Option<u64>,
    /// The largest core number.
    pub degeneracy: Option<u32>,
    /// Vertices with the largest core number.
    pub innermost: Option<u64>,
    /// The number of vertices of each core number.
    pub shells: Option<Vec<Shell>>,
}

/// Vertices of one core number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Shell {
    /// The core number.
    pub core: u32,
    /// How many vertices have it.
    pub vertices: u64,
}

impl Algorithm for Kcore {
    const NAME: &'static str = "kcore";
    type Config = KcoreConfig;
    type Output = kcore::Kcore;
    type Summary = KcoreSummary;

    fn config(&self, _: &Job<'_>) -> Result<KcoreConfig> {
        Ok(self.config)
    }

    calls!(kcore: estimate(config) run(config) verify());

    fn iterations(kcore: &kcore::Kcore) -> u64 {
        kcore.rounds
    }

    fn summary(_: &KcoreConfig, _: &Ids, kcore: &kcore::Kcore) -> Result<KcoreSummary> {
        let is_whole = kcore.k.is_none();
        let shells = kcore.shells.iter().map(|&(core, vertices)| Shell { core, vertices });
        Ok(KcoreSummary {
            k: kcore.k,
            members: kcore.k.map(|k| kcore.members(k)),
            degeneracy: is_whole.then_some(kcore.degeneracy),
            innermost: is_whole.then(|| kcore.members(kcore.degeneracy)),
            shells: is_whole.then(|| shells.collect()),
        })
    }

    fn columns(kcore: &kcore::Kcore) -> Vec<Column<'_>> {
        vec![match kcore.k {
            Some(k) => Column::count("member", move |v| Some(u64::from(kcore.core(v) >= k))),
            None => Column::count("core", |v| Some(u64::from(kcore.core(v)))),
        }]
    }
    fn release(kcore: &kcore::Kcore) {
        kcore.release();
    }
}
