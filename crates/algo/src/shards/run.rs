//! A run on a shard: its engine, and the program that does the supersteps.

use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use cenote_engine::{Engine, EngineConfig, HugeVec, Needs, Strategy};

use super::exchange::Received;
use super::program::{Input, Program, Step};
use super::state::Values;
use super::{Part, bfs, cdlp, degrees, kcore, pagerank, sssp, wcc};
use crate::report::{AlgoError, Result};

/// An algorithm with its parameters, and which shared values its supersteps take.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ShardAlgorithm {
    /// [`pagerank`]. Shared: the mass of vertices without out-edges, and whether the superstep is
    /// the last one.
    PageRank {
        /// The probability to follow an edge.
        damping: f64,
    },
    /// [`wcc`]. Shared: the smallest number in the component of the hub that a shard has reported.
    Wcc {
        /// The number of a vertex that all shards take for one of the largest component.
        hub: u64,
    },
    /// [`bfs`]. Shared: whether the superstep before, and this one, are bottom-up.
    Bfs {
        /// The numbers of the sources.
        sources: Vec<u64>,
        /// Whether to find parents.
        parents: bool,
    },
    /// [`sssp`]. Shared: the length up to which paths are followed.
    Sssp {
        /// The numbers of the sources.
        sources: Vec<u64>,
    },
    /// [`degrees`]. Shared: nothing.
    Degrees,
    /// [`cdlp`]. Shared: whether the superstep is the last one.
    Cdlp,
    /// [`kcore`]. Shared: nothing.
    Kcore,
}

/// A run of an algorithm on a shard.
pub struct ShardRun {
    engine: Engine,
    part: Arc<Part>,
    needs: Needs,
    /// None where a new one could not be started.
    program: Option<Box<dyn Program>>,
}

impl std::fmt::Debug for ShardRun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ShardRun").field("shard", &self.part.index).finish_non_exhaustive()
    }
}

impl ShardRun {
    /// Bytes of the arrays of a run, messages included.
    ///
    /// # Errors
    /// The index of weights cannot be read.
    pub fn needs(part: &Part, config: &EngineConfig, algorithm: &ShardAlgorithm) -> Result<Needs> {
        let (what, bytes) = match algorithm {
            ShardAlgorithm::PageRank { .. } => ("pagerank", pagerank::bytes_for(part)),
            ShardAlgorithm::Wcc { .. } => ("wcc", wcc::bytes_for(part)),
            ShardAlgorithm::Bfs { parents, .. } => ("bfs", bfs::bytes_for(part, config, *parents)),
            ShardAlgorithm::Sssp { .. } => ("sssp", sssp::bytes_for(part, config)?),
            ShardAlgorithm::Degrees => ("degrees", degrees::bytes_for(part)),
            ShardAlgorithm::Cdlp => ("cdlp", cdlp::bytes_for(part, config)),
            ShardAlgorithm::Kcore => ("kcore", kcore::bytes_for(part, config)),
        };
        let scratch_bytes = match algorithm {
            ShardAlgorithm::Kcore => kcore::optional_bytes(part),
            _ => 0,
        };
        Ok(Needs { what, state_bytes: bytes, scratch_bytes })
    }

    /// Starts a run within the memory of `config`.
    ///
    /// # Errors
    /// The memory is too little; negative weights for [`ShardAlgorithm::Sssp`].
    pub fn new(part: Arc<Part>, config: EngineConfig, algorithm: &ShardAlgorithm) -> Result<Self> {
        let weighted = matches!(algorithm, ShardAlgorithm::Sssp { .. }) && part.graph.is_weighted();
        let config = config.weighted(weighted).strategy(Strategy::Auto);
        let needs = Self::needs(&part, &config, algorithm)?;
        let config = match algorithm {
            ShardAlgorithm::Kcore => kcore::with_room(&part, config, &needs)?,
            _ => config,
        };
        let engine = Engine::new(Arc::clone(&part.graph), config, &needs)?;
        let program = program(&engine, &part, algorithm, None)?;
        Ok(Self { engine, part, needs, program: Some(program) })
    }

    /// Starts another run in place of this one, with the pages that it has in memory. False, and
    /// nothing is done, if that needs another division of the memory.
    ///
    /// # Errors
    /// As [`ShardRun::new`]; then the run is over.
    pub fn restart(&mut self, algorithm: &ShardAlgorithm) -> Result<bool> {
        if Self::needs(&self.part, self.engine.config(), algorithm)? != self.needs {
            return Ok(false);
        }
        // Its other arrays make room for the next ones.
        let degrees = self.program.take().and_then(Program::into_degrees);
        self.program = Some(program(&self.engine, &self.part, algorithm, degrees)?);
        Ok(true)
    }

    fn program(&self) -> &dyn Program {
        self.program.as_deref().expect("a run that failed to start again is not used")
    }

    /// Does a superstep.
    ///
    /// # Arguments
    /// `shared` has the values that are the same for all shards (see [`ShardAlgorithm`]). `inbox`
    /// has the message of each shard, and is empty before the first superstep.
    ///
    /// # Errors
    /// Any error of the engine; distances that do not fit.
    pub fn step(
        &mut self,
        superstep: u64,
        shared: &[u64],
        inbox: &[Option<Received<'_>>],
    ) -> Result<Step> {
        let Self { engine, part, program, .. } = self;
        let program = program.as_mut().expect("a run that failed to start again is not used");
        let input = Input { superstep, shared, inbox };
        engine.install(|| program.step(engine, part, &input))
    }

    /// Copies of the arrays that the next superstep depends on.
    pub fn state(&self) -> Vec<(&'static str, Values)> {
        let cells = self.program().state().into_iter();
        cells.map(|(name, cells)| (name, cells.values())).collect()
    }

    /// Goes on from a copy of the state: the bytes of each array by its name.
    ///
    /// # Errors
    /// The copy is of another shard or algorithm.
    pub fn restore<'a>(&mut self, array: impl Fn(&str) -> Option<&'a [u8]>) -> Result<()> {
        for (name, cells) in self.program().state() {
            let bytes = array(name).ok_or_else(|| AlgoError::Parameter {
                parameter: "checkpoint",
                given: format!("one without the array `{name}`"),
                expected: "it is of another algorithm: remove it".to_owned(),
            })?;
            cells.restore(name, bytes)?;
        }
        let Self { engine, part, program, .. } = self;
        engine.install(|| program.iter_mut().try_for_each(|program| program.restored(part)))
    }

    /// The answer: values of own vertices, by name.
    pub fn columns(&self) -> Vec<(&'static str, Values)> {
        self.engine.install(|| self.program().columns(&self.part))
    }
}

/// The supersteps of an algorithm, with their arrays; `degrees` are those of the run before.
fn program(
    engine: &Engine,
    part: &Part,
    algorithm: &ShardAlgorithm,
    degrees: Option<HugeVec<AtomicU32>>,
) -> Result<Box<dyn Program>> {
    engine.install(|| {
        Ok(match algorithm {
            ShardAlgorithm::PageRank { damping } => pagerank::new(part, *damping)?,
            ShardAlgorithm::Wcc { hub } => Box::new(wcc::Wcc::new(part, *hub)?),
            ShardAlgorithm::Bfs { sources, parents } => {
                Box::new(bfs::Bfs::new(part, sources, *parents, degrees)?)
            }
            ShardAlgorithm::Sssp { sources } => Box::new(sssp::Sssp::new(part, sources)?),
            ShardAlgorithm::Degrees => Box::new(degrees::Degrees::new(part)?),
            ShardAlgorithm::Cdlp => Box::new(cdlp::Cdlp::new(part)?),
            ShardAlgorithm::Kcore => Box::new(kcore::Kcore::new(engine, part)?),
        })
    })
}
