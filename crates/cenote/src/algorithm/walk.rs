//! [`Graph::walk`](crate::Graph::walk).

use std::io;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use cenote_algo::walk::{self, DeadEnds, Output, Starts, WalkConfig, Walks};
use cenote_import::workspace::folder_of;
use cenote_store::{Ids, VertexId};
use serde::Serialize;

use crate::error::Result;
use crate::graph::StoredGraph;
use crate::keys::Keys;
use crate::output::corpus::{self, CorpusFile};
use crate::run::{Algorithm, Column, Job, Run};

/// Random walks: uniform, node2vec, with restart; [`cenote_algo::walk`].
#[derive(Clone, Debug, Default)]
pub struct Walk {
    config: WalkConfig,
    starts: StartsAt,
    walkers: Option<u64>,
    per_vertex: Option<u64>,
}

/// Where walks start.
#[derive(Clone, Debug, Default)]
pub enum StartsAt {
    /// All vertices, one after another.
    #[default]
    All,
    /// Random vertices.
    Random,
    /// This vertex, by the user's id.
    Vertex(String),
    /// The vertices of a file, one id a line.
    File(PathBuf),
}

impl Run<'_, Walk> {
    /// Where walks start.
    pub fn starts(mut self, starts: StartsAt) -> Self {
        self.algorithm.starts = starts;
        self
    }

    /// Number of walks [default: one from each start].
    pub fn walkers(mut self, walkers: u64) -> Self {
        self.algorithm.walkers = Some(walkers);
        self
    }

    /// Walks from each start [default: 1].
    pub fn per_vertex(mut self, walks: u64) -> Self {
        self.algorithm.per_vertex = Some(walks);
        self
    }

    /// Steps of each walk.
    pub fn steps(mut self, steps: u32) -> Self {
        self.algorithm.config.steps = steps;
        self
    }

    /// Probability of going back to the start instead of to a neighbour [default: 0].
    pub fn restart(mut self, probability: f64) -> Self {
        self.algorithm.config.restart = probability;
        self
    }

    /// node2vec: weight 1/p of the step back to the vertex before [default: 1].
    pub fn p(mut self, p: f64) -> Self {
        self.algorithm.config.p = p;
        self
    }

    /// node2vec: weight 1/q of a step to a vertex that the vertex before has no edge to
    /// [default: 1].
    pub fn q(mut self, q: f64) -> Self {
        self.algorithm.config.q = q;
        self
    }

    /// What a walk does at a vertex without an out-neighbour [default: it ends].
    pub fn dead_ends(mut self, dead_ends: DeadEnds) -> Self {
        self.algorithm.config.dead_ends = dead_ends;
        self
    }

    /// Whether neighbours are chosen in proportion to the weights of the edges.
    pub fn weighted(mut self, weighted: bool) -> Self {
        self.algorithm.config.weighted = weighted;
        self
    }

    /// Seed of the random numbers [default: 1].
    pub fn seed(mut self, seed: u64) -> Self {
        self.algorithm.config.seed = seed;
        self
    }
}

/// The result of walks; the walks themselves are in the run's `out`.
#[derive(Debug)]
pub struct WalkAnswer {
    walks: Walks,
    corpus_bytes: Option<u64>,
    /// The walks to verify, if any.
    sampled: Option<Vec<(u64, Vec<VertexId>)>>,
}

impl Deref for WalkAnswer {
    type Target = Walks;

    fn deref(&self) -> &Walks {
        &self.walks
    }
}

/// Summary of random walks.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct WalkSummary {
    /// Number of walks.
    pub walkers: u64,
    /// Steps along edges.
    pub steps: u64,
    /// Steps back to the start.
    pub restarts: u64,
    /// Walks that ended at a vertex without a neighbour.
    pub dead_ends: u64,
    /// A hash of all walks, independent of their order.
    pub fingerprint: String,
    /// Batches of walks.
    pub batches: u64,
    /// Bytes that the walks took on disk before they became rows.
    pub spill_bytes: u64,
    /// Bytes of the file with the walks.
    pub corpus_bytes: Option<u64>,
    /// Number of walks verified.
    pub walks_verified: Option<usize>,
}

/// The parameters of the walks, and the output file.
#[derive(Debug)]
pub struct WalkJob {
    walk: WalkConfig,
    file: Option<CorpusFile>,
}

/// Receives the walks: writes them to the file, and collects those to verify.
struct Collect {
    file: Option<CorpusFile>,
    sampled: Option<Vec<(u64, Vec<VertexId>)>>,
}

impl Collect {
    fn row(&mut self, config: &WalkConfig, walk: u64, row: &[VertexId]) -> Result<()> {
        if let Some(file) = &mut self.file {
            file.row(row)?;
        }
        if let Some(sampled) = self.sampled.as_mut().filter(|_| walk::is_sampled(config, walk)) {
            sampled.push((walk, row.to_vec()));
        }
        Ok(())
    }
}

impl Algorithm for Walk {
    const NAME: &'static str = "walk";
    type Config = WalkJob;
    type Output = WalkAnswer;
    type Summary = WalkSummary;

    fn config(&self, job: &Job<'_>) -> Result<WalkJob> {
        let mut keys = Keys::default();
        match &self.starts {
            StartsAt::Vertex(id) => keys.push(id),
            StartsAt::File(path) => keys.push_file(path),
            StartsAt::All | StartsAt::Random => {}
        }
        let starts = match self.starts {
            StartsAt::All => Starts::All,
            StartsAt::Random => Starts::Random,
            StartsAt::Vertex(_) | StartsAt::File(_) => Starts::Listed(job.vertices(&keys)?),
        };
        let start_count = match &starts {
            Starts::Listed(list) => list.len() as u64,
            _ => job.graph.live_vertices() as u64,
        };
        let per_vertex = self.per_vertex.unwrap_or(1);
        let walkers = self.walkers.unwrap_or(start_count.saturating_mul(per_vertex));
        let walk = self.config.clone().starts(starts).walkers(walkers);
        let shape = (walkers, u64::from(walk.steps) + 1);
        let create = |path| CorpusFile::create(path, &job.inputs, job.graph, shape);
        Ok(WalkJob { file: job.out.map(create).transpose()?, walk })
    }

    fn estimate(config: &WalkJob, job: &Job<'_>) -> Result<cenote_algo::Estimate> {
        let sink_bytes = config.file.as_ref().map(CorpusFile::memory_bytes);
        Ok(walk::estimate(job.graph, &job.engine, &config.walk, sink_bytes)?)
    }

    fn run(config: &mut WalkJob, job: &Job<'_>) -> Result<WalkAnswer> {
        let WalkJob { walk, file } = config;
        let mut collect = Collect { file: file.take(), sampled: job.verify.then(Vec::new) };
        let sink_bytes = collect.file.as_ref().map_or(0, CorpusFile::memory_bytes);
        let is_wanted = collect.file.is_some() || collect.sampled.is_some();
        let mut sink =
            |number, row: &[VertexId]| -> io::Result<()> { Ok(collect.row(walk, number, row)?) };
        // Temporary files lie beside the output.
        let folder = job.out.map_or_else(std::env::temp_dir, folder_of);
        let output = is_wanted.then(|| Output { folder: &folder, sink_bytes, sink: &mut sink });
        let walks = walk::run(job.graph, job.engine.clone(), walk, output)?;
        if job.engine.cancel.is_raised() {
            return Err(crate::Error::Cancelled);
        }
        let corpus_bytes = collect.file.map(CorpusFile::finish).transpose()?;
        Ok(WalkAnswer { walks, corpus_bytes, sampled: collect.sampled })
    }

    fn verify(config: &WalkJob, graph: &StoredGraph, answer: &WalkAnswer) -> Result<()> {
        let sampled = answer.sampled.iter().flatten();
        let rows = sampled.map(|(walk, row)| (*walk, row.as_slice()));
        Ok(walk::verify(graph, &config.walk, rows)?)
    }

    fn engine_run(answer: &WalkAnswer) -> &cenote_algo::Run {
        &answer.run
    }

    fn summary(config: &WalkJob, _: &Ids, answer: &WalkAnswer) -> Result<WalkSummary> {
        Ok(WalkSummary {
            walkers: config.walk.walkers,
            steps: answer.steps,
            restarts: answer.restarts,
            dead_ends: answer.dead_ends,
            fingerprint: format!("{:016x}", answer.fingerprint),
            batches: answer.batches,
            spill_bytes: answer.spill_bytes,
            corpus_bytes: answer.corpus_bytes,
            walks_verified: answer.sampled.as_ref().map(Vec::len),
        })
    }

    /// None: the run itself writes the walks.
    fn columns(_: &WalkAnswer) -> Vec<Column<'_>> {
        Vec::new()
    }

    fn prepare_output(&mut self, path: &Path, _: &StoredGraph) -> Result<()> {
        corpus::check(path)
    }

    fn inputs(&self) -> Vec<PathBuf> {
        match &self.starts {
            StartsAt::File(path) => vec![path.clone()],
            _ => Vec::new(),
        }
    }
}
