//! A random graph, steps that change it, and the graph that each must make.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::sync::{Arc, OnceLock};

use cenote_device::Device;
use cenote_device::backend::sim::{FaultPlan, SimConfig};
use cenote_import::{Format, ImportConfig};
use cenote_store::{
    Answer, Batch, Change, Direction, Graph, Id, LookupConfig, Op, Order, StoreError, VertexId,
    Weight, WriteLimits,
};

use super::algorithms::{self, Answers, View};
use super::edge_weights::{EdgeWeights, random_weights, weight_type};
use super::first::{limits, options, random_edges};
use crate::disk::{SimWorkspace, random_drive};
use crate::house::{import_parts, lists, open_whole};
use crate::random::Random;
use crate::shape::{NAMINGS, Naming};
use crate::{Outcome, demand};

/// Most snapshots of a graph: each takes time at every crash point.
const SNAPSHOTS_MAX: usize = 3;

/// A graph and the steps that change it.
#[derive(Debug)]
pub struct History {
    /// The options of the import.
    pub options: ImportConfig,
    /// How numbers become the user's ids.
    pub naming: Naming,
    /// The drive under the graph.
    pub drive: SimConfig,
    /// The imported graph.
    pub contents: Vec<u8>,
    /// Limits of the log at first.
    pub limits: WriteLimits,
    /// The graph before the first step, and after each.
    pub states: Vec<State>,
    /// The epochs that the graph of each state may have; none before [`History::points`].
    pub epochs: Vec<RangeInclusive<u64>>,
    /// How often the log becomes a delta run; 0 before [`History::points`].
    pub spilled: usize,
    /// How often runs are merged beside other steps; 0 before [`History::points`].
    pub beside_made: usize,
    /// The steps.
    pub steps: Vec<Step>,
    /// What becomes of their changes.
    pub answers: Vec<Vec<Answer>>,
}

/// What a history does with the graph.
#[derive(Clone, Debug)]
pub enum Step {
    /// `Store::commit`: to the log if it has room.
    Commit(Batch),
    /// `Store::update`: to the lists.
    Update(Batch),
    /// `Store::merge`.
    Merge,
    /// `Store::prepare_merge`, with so many of the next steps while it goes on, and
    /// `PreparedMerge::finish`.
    Beside(usize),
    /// `Store::snapshot` with this name.
    Snapshot(String),
    /// `Store::remove_snapshot`.
    Remove(String),
    /// The graph is opened again, with other limits of the log.
    Open(WriteLimits),
}

impl Step {
    /// The changes of the step, if it makes any.
    pub fn batch(&self) -> Option<&Batch> {
        match self {
            Step::Commit(batch) | Step::Update(batch) => Some(batch),
            Step::Merge | Step::Beside(_) => None,
            Step::Snapshot(_) | Step::Remove(_) | Step::Open(_) => None,
        }
    }
}

/// Edges, and how often each is there.
pub type Edges = BTreeMap<(VertexId, VertexId), u64>;

/// The graph between two steps.
#[derive(Debug)]
pub struct State {
    /// Number of each vertex, which names it.
    pub numbers: Vec<u64>,
    /// Edges by vertex, without direction from the smaller end, and how often each is there.
    pub edges: Edges,
    /// The weights of the edges, if they have some; then none repeats.
    pub weights: EdgeWeights,
    /// Vertices that are deleted.
    pub deleted: BTreeSet<VertexId>,
    /// Names of the snapshots, the oldest first, and the state that each is of.
    pub snapshots: Vec<(String, usize)>,
    /// Answers on the same edges, imported from scratch.
    reference: OnceLock<Outcome<Reference>>,
}

#[derive(Debug)]
struct Reference {
    view: View,
    cheap: Answers,
    all: OnceLock<Answers>,
}

impl State {
    fn new(numbers: Vec<u64>, edges: Edges) -> Self {
        let (weights, deleted) = (EdgeWeights::new(), BTreeSet::new());
        let (snapshots, reference) = (Vec::new(), OnceLock::new());
        Self { numbers, edges, weights, deleted, snapshots, reference }
    }

    /// The vertices that are not deleted, ascending.
    fn live(&self) -> Vec<VertexId> {
        let all = 0..self.numbers.len() as VertexId;
        all.filter(|vertex| !self.deleted.contains(vertex)).collect()
    }

    /// Whether both have the same vertices, edges and snapshots.
    pub fn is_same(&self, other: &Self) -> bool {
        (&self.numbers, &self.edges, &self.weights, &self.deleted, &self.snapshots)
            == (&other.numbers, &other.edges, &other.weights, &other.deleted, &other.snapshots)
    }
}

impl History {
    /// The history of a seed.
    pub fn new(seed: u64) -> Outcome<Self> {
        let mut random = Random::new(seed);
        let random = &mut random;
        let (naming, options, drive) =
            (random.pick(&NAMINGS), options(random), random_drive(random));
        let weights = weight_type(seed).filter(|_| !options.keep_duplicates);
        let options = options.weights(weights);
        let (numbers, edges) = random_edges(random);
        let edges = edges.into_iter().map(|(u, v)| ordered(&options, u, v));
        let edges = counted(edges, options.keep_duplicates);
        let mut wanted = State::new(numbers, edges);
        if weights.is_some() {
            wanted.weights = random_weights(wanted.edges.keys(), random);
        }
        let contents = import(&wanted, naming, &options)?;
        let first = as_stored(wanted, naming, &options, &contents)?;
        let mut history = Self {
            options,
            naming,
            drive,
            contents,
            limits: limits(random),
            states: vec![first],
            epochs: Vec::new(),
            spilled: 0,
            beside_made: 0,
            steps: Vec::new(),
            answers: Vec::new(),
        };
        // A fault in a large graph takes ten times as long.
        let is_large = history.last().numbers.len() > 1000;
        for _ in 0..4 + if is_large { 0 } else { random.below(5) } {
            history.push_random(random);
        }
        // Only edges without weights become delta runs.
        if random.chance(if weights.is_none() { 45 } else { 20 }) {
            history.push_series(random);
        }
        Ok(history)
    }

    /// The limits of the log with which a step is made.
    pub fn limits_at(&self, step: usize) -> WriteLimits {
        let opened = self.steps[..step].iter().rev().find_map(|step| match step {
            Step::Open(limits) => Some(*limits),
            _ => None,
        });
        opened.unwrap_or(self.limits)
    }

    fn push_random(&mut self, random: &mut Random) {
        let snapshots = &self.last().snapshots;
        match random.below(26) {
            0..13 => {
                let (batch, new) = self.random_batch(random);
                self.push(Step::Commit(batch), new);
            }
            13..16 => {
                let (batch, new) = self.random_batch(random);
                self.push(Step::Update(batch), new);
            }
            16..18 => self.push(Step::Merge, Vec::new()),
            18..24
                if snapshots.len() < SNAPSHOTS_MAX
                    && (snapshots.is_empty() || random.chance(60)) =>
            {
                let name = format!("s{}", self.steps.len());
                self.push(Step::Snapshot(name), Vec::new());
            }
            18..24 => {
                let name = snapshots[random.index(snapshots.len())].0.clone();
                self.push(Step::Remove(name), Vec::new());
            }
            _ => {
                let limits = limits(random);
                let limits = if random.chance(30) { limits.bytes(0) } else { limits };
                self.push(Step::Open(limits), Vec::new());
            }
        }
    }

    pub(super) fn last(&self) -> &State {
        self.states.last().expect("there is a first state")
    }

    fn id(&self, number: u64) -> Id {
        let name = || Id::String(self.naming.name(number));
        self.naming.integer(number).map_or_else(name, Id::Integer)
    }

    fn random_batch(&self, random: &mut Random) -> (Batch, Vec<u64>) {
        let state = self.last();
        let mut new = Vec::new();
        if random.chance(35) {
            let beyond = state.numbers.len() as u64 + 30;
            for _ in 0..1 + random.below(3) {
                let number = random.below(beyond);
                if !state.numbers.contains(&number) && !new.contains(&number) {
                    new.push(number);
                }
            }
        }
        let n = (state.numbers.len() + new.len()) as u64;
        let present: Vec<_> = state.edges.keys().copied().collect();
        let change = |op, (source, target)| Change { op, source, target };
        let mut changes: Vec<Change> = match random.below(16) {
            0 => Vec::new(),
            1 => present.iter().map(|&edge| change(Op::Delete, edge)).collect(),
            2 => {
                let hub = random.below(n) as VertexId;
                (0..n as VertexId).map(|v| change(Op::Add, (hub, v))).collect()
            }
            // Each has an effect, so that they take several blocks of the log.
            3 => {
                let edge = (random.below(n) as VertexId, random.below(n) as VertexId);
                let ops = [Op::Add, Op::Delete].into_iter().cycle();
                ops.take(100 + random.index(500)).map(|op| change(op, edge)).collect()
            }
            _ => Vec::new(),
        };
        for _ in 0..random.below(8) {
            let any = (random.below(n) as VertexId, random.below(n) as VertexId);
            let edge = match present.is_empty() || random.chance(50) {
                true => any,
                false => random.pick(&present),
            };
            let op = random.pick(&[Op::Add, Op::Delete]);
            let edge =
                if random.chance(50) && !self.options.directed { (edge.1, edge.0) } else { edge };
            changes.push(change(op, edge));
        }
        if random.chance(30) {
            self.push_vertices(&mut changes, n, random);
        }
        let new_ids = new.iter().map(|&number| self.id(number)).collect();
        let mut batch = Batch { new_ids, changes, ..Batch::default() };
        self.weigh(&mut batch, random);
        (batch, new)
    }

    /// Adds changes of vertices, and of edges between them. One vertex is never deleted: the
    /// algorithms need a source.
    fn push_vertices(&self, changes: &mut Vec<Change>, n: u64, random: &mut Random) {
        let state = self.last();
        let gone: Vec<VertexId> = state.deleted.iter().copied().collect();
        for _ in 0..1 + random.below(4) {
            let any = random.below(n) as VertexId;
            let vertex =
                if gone.is_empty() || random.chance(60) { any } else { random.pick(&gone) };
            let change = match random.below(4) {
                _ if vertex == 0 => continue,
                0 => Change::of_vertex(Op::AddVertex, vertex),
                1 => Change { op: Op::Add, source: any, target: vertex },
                _ => Change::of_vertex(Op::DeleteVertex, vertex),
            };
            changes.insert(random.index(changes.len() + 1), change);
        }
    }

    pub(super) fn push(&mut self, step: Step, new: Vec<u64>) {
        let before = self.last();
        let (mut edges, mut deleted) = (before.edges.clone(), before.deleted.clone());
        let mut weights = before.weights.clone();
        let answer = |(change, weight): (&Change, Option<Weight>)| {
            let edge = self.edge(change);
            let weight = weight.map(|weight| weight.to_f64() as u32);
            let mut is_new = false;
            if matches!(change.op, Op::Add | Op::AddVertex) {
                is_new = deleted.remove(&edge.0) | deleted.remove(&edge.1);
            } else if deleted.contains(&edge.0) || deleted.contains(&edge.1) {
                return Answer::Unknown;
            }
            match change.op {
                Op::AddVertex if is_new => Answer::Done,
                Op::AddVertex => Answer::Present,
                Op::DeleteVertex => {
                    edges.retain(|&(u, v), _| u != edge.0 && v != edge.0);
                    weights.retain(|&(u, v), _| u != edge.0 && v != edge.0);
                    deleted.insert(edge.0);
                    Answer::Done
                }
                Op::Add if edge.0 == edge.1 && !self.options.keep_self_loops => Answer::SelfLoop,
                Op::Add => {
                    let copies = edges.entry(edge).or_default();
                    if *copies > 0 && !self.options.keep_duplicates {
                        return Answer::Present;
                    }
                    *copies += 1;
                    weights.extend(weight.map(|weight| (edge, weight)));
                    Answer::Done
                }
                Op::Set if !edges.contains_key(&edge) => Answer::Absent,
                Op::Set => {
                    weights.extend(weight.map(|weight| (edge, weight)));
                    Answer::Done
                }
                Op::Delete if weight.is_some() && weights.get(&edge) != weight.as_ref() => {
                    Answer::Absent
                }
                Op::Delete => match edges.remove(&edge) {
                    None => Answer::Absent,
                    Some(copies) => {
                        weights.remove(&edge);
                        edges.extend((copies > 1).then_some((edge, copies - 1)));
                        Answer::Done
                    }
                },
                _ => unreachable!("a history has no values"),
            }
        };
        let batch = step.batch();
        let changes = batch.map_or(&[][..], |batch| &batch.changes);
        let given = batch.map_or(&[][..], |batch| &batch.weights).iter().copied();
        let answers = changes.iter().zip(given.chain(std::iter::repeat(None))).map(answer);
        let answers = answers.collect();
        let numbers = [&before.numbers[..], &new].concat();
        let mut snapshots = before.snapshots.clone();
        match &step {
            Step::Snapshot(name) => snapshots.push((name.clone(), self.states.len() - 1)),
            Step::Remove(name) => snapshots.retain(|(other, _)| other != name),
            _ => {}
        }
        self.answers.push(answers);
        self.states.push(State { weights, deleted, snapshots, ..State::new(numbers, edges) });
        self.steps.push(step);
    }

    /// The edge of a change, as states have it.
    pub(super) fn edge(&self, change: &Change) -> (VertexId, VertexId) {
        ordered(&self.options, change.source, change.target)
    }

    /// The vertices of a state in the order of their ids.
    fn by_id(&self, state: &State) -> Vec<VertexId> {
        let mut vertices = state.live();
        vertices.sort_by_cached_key(|&v| self.naming.key(state.numbers[v as usize]));
        vertices
    }

    /// Compares the lists, degrees, ids and counts of a graph with those of a state.
    pub fn compare(&self, graph: &Graph, state: &State) -> Outcome {
        let difference = self.difference(graph, state);
        difference.map_err(|error| format!("reading failed: {error}"))?.map_or(Ok(()), Err)
    }

    /// Compares the snapshots on a device with those of a state, each with the state that it is of.
    pub fn compare_snapshots(&self, device: &Arc<dyn Device>, state: &State) -> Outcome {
        for (name, of) in &state.snapshots {
            let graph = Graph::open_at(Arc::clone(device), name, |_| LookupConfig::default());
            let graph = graph.map_err(|error| error.to_string())?;
            let same = self.compare(&graph, &self.states[*of]);
            same.map_err(|fault| format!("snapshot {name} of state {of}: {fault}"))?;
        }
        Ok(())
    }

    /// The first difference between a graph and a state, if any.
    pub fn difference(&self, graph: &Graph, state: &State) -> Result<Option<String>, StoreError> {
        let superblock = graph.superblock();
        let counts = (superblock.vertices, superblock.edges, graph.deleted());
        let deleted: Vec<VertexId> = state.deleted.iter().copied().collect();
        let edges: u64 = state.edges.values().sum();
        let expected = (state.numbers.len() as u64, edges, &deleted[..]);
        if counts != expected {
            let found = format!("{counts:?} vertices, edges and deleted ones, not {expected:?}");
            return Ok(Some(found));
        }
        if graph.snapshot_name().is_none() {
            let found = graph.snapshots()?.into_iter().map(|snapshot| snapshot.name);
            let (found, expected): (Vec<_>, Vec<_>) =
                (found.collect(), state.snapshots.iter().map(|(name, _)| name.clone()).collect());
            if found != expected {
                return Ok(Some(format!("snapshots {found:?}, not {expected:?}")));
            }
        }
        let [out, back] = expected_lists(&self.options, state);
        let longest = (superblock.degree_max, superblock.degree_max_vertex);
        let expected = longest_of(&out);
        if longest != expected {
            return Ok(Some(format!("{longest:?} is the longest list, not {expected:?}")));
        }
        for (direction, expected) in [(Direction::Out, &out), (Direction::In, &back)] {
            if graph.adjacency(direction).is_none() {
                continue;
            }
            let found = lists(graph, direction)?;
            if &found != expected {
                return Ok(Some(format!("{direction:?}: {found:?}, not {expected:?}")));
            }
            let mut degrees = Vec::new();
            graph.degrees(direction, &mut |_, some| degrees.extend_from_slice(some))?;
            let lengths: Vec<u64> = expected.iter().map(|list| list.len() as u64).collect();
            if degrees != lengths {
                return Ok(Some(format!("{direction:?} degrees: {degrees:?}, not {lengths:?}")));
            }
        }
        let mut found = Vec::new();
        graph.ids()?.for_each(0..state.numbers.len() as VertexId, |vertex, id| {
            found.push((vertex, id.to_id()));
            Ok::<(), StoreError>(())
        })?;
        if let Some(fault) = self.weight_difference(graph, state)? {
            return Ok(Some(fault));
        }
        let id = |v: VertexId| (v, self.id(state.numbers[v as usize]));
        let expected: Vec<_> = self.by_id(state).into_iter().map(id).collect();
        Ok((found != expected).then(|| format!("ids {found:?}, not {expected:?}")))
    }

    /// Compares answers with those on the same edges, imported from scratch: of all algorithms, or
    /// of the cheap one that `which` picks.
    pub fn compare_answers(
        &self,
        graph: &Arc<Graph>,
        state: &State,
        which: Option<usize>,
    ) -> Outcome {
        let reference = state.reference.get_or_init(|| self.reference(state));
        let reference = reference.as_ref().map_err(Clone::clone)?;
        let view = View::new(Arc::clone(graph), self.by_id(state));
        if let Some(which) = which {
            let (places, found) = algorithms::one_cheap(&view, which);
            return algorithms::compare(&found, &reference.cheap[places]);
        }
        let expected = reference.all.get_or_init(|| algorithms::all(&reference.view));
        algorithms::compare(&algorithms::all(&view), expected)
    }

    fn reference(&self, state: &State) -> Outcome<Reference> {
        let options = self.options.clone().order(Order::Natural);
        let contents = import(state, self.naming, &options)?;
        let device = crate::disk::drive_with(&self.drive, FaultPlan::none(), &contents);
        let graph = open_whole(device)?;
        let vertices = 0..state.live().len() as VertexId;
        demand(graph.vertices() == vertices.len(), || "an import lost vertices".into())?;
        let view = View::new(graph, vertices.collect());
        let cheap = algorithms::cheap(&view);
        Ok(Reference { view, cheap, all: OnceLock::new() })
    }
}

fn ordered(options: &ImportConfig, u: VertexId, v: VertexId) -> (VertexId, VertexId) {
    if options.directed { (u, v) } else { (u.min(v), u.max(v)) }
}

/// How often each edge is there; once, unless repeated ones are kept.
fn counted(all: impl Iterator<Item = (VertexId, VertexId)>, keep_duplicates: bool) -> Edges {
    let mut edges = Edges::new();
    for edge in all {
        let copies = edges.entry(edge).or_default();
        *copies = if keep_duplicates { *copies + 1 } else { 1 };
    }
    edges
}

/// The edges, each as often as it is there.
fn each_copy(edges: &Edges) -> impl Iterator<Item = (VertexId, VertexId)> {
    edges.iter().flat_map(|(&edge, &copies)| std::iter::repeat_n(edge, copies as usize))
}

fn expected_lists(options: &ImportConfig, state: &State) -> [Vec<Vec<VertexId>>; 2] {
    let mut lists = [(); 2].map(|()| vec![Vec::new(); state.numbers.len()]);
    for (u, v) in each_copy(&state.edges) {
        lists[0][u as usize].push(v);
        lists[1][v as usize].push(u);
        if !options.directed && u != v {
            lists[0][v as usize].push(u);
            lists[1][u as usize].push(v);
        }
    }
    lists.iter_mut().flatten().for_each(|list| list.sort_unstable());
    lists
}

/// The length of the longest list, and its first vertex.
fn longest_of(lists: &[Vec<VertexId>]) -> (u64, VertexId) {
    let lengths = (0..).zip(lists).map(|(vertex, list)| (list.len() as u64, vertex));
    let longest = lengths.max_by_key(|&(length, vertex)| (length, Reverse(vertex)));
    longest.filter(|(length, _)| *length > 0).unwrap_or_default()
}

/// Imports the edges of a state from scratch.
fn import(state: &State, naming: Naming, options: &ImportConfig) -> Outcome<Vec<u8>> {
    let name = |v: VertexId| naming.name(state.numbers[v as usize]);
    let mut text = String::new();
    for v in state.live() {
        text.push_str(&name(v));
        for ((_, target), copies) in state.edges.range((v, 0)..=(v, VertexId::MAX)) {
            let word = format!(" {}", name(*target));
            text.push_str(&word.repeat(*copies as usize));
        }
        text.push('\n');
    }
    // Lists have no weights.
    let mut weighted = String::new();
    if options.weights.is_some() {
        let ids = state.live().into_iter().map(name);
        text = ids.map(|id| id + "\n").collect();
        let lines = state.weights.iter().map(|((u, v), weight)| (name(*u), name(*v), weight));
        weighted = lines.map(|(u, v, weight)| format!("{u} {v} {weight}\n")).collect();
    }
    let drive = SimConfig::new(cenote_device::model::preset::Preset::all()[0].model());
    let workspace = SimWorkspace::new(drive, FaultPlan::none(), FaultPlan::none());
    let parts = match options.weights {
        Some(_) => vec![(text.as_bytes(), Format::Vertices), (weighted.as_bytes(), Format::Edges)],
        None => vec![(text.as_bytes(), Format::Adjacency)],
    };
    import_parts(&parts, options, &workspace).map_err(|error| format!("import failed: {error}"))?;
    Ok(workspace.written().ok_or("a finished import made no output")?.contents())
}

/// The state with the vertices numbered as the import numbered them.
fn as_stored(
    state: State,
    naming: Naming,
    options: &ImportConfig,
    contents: &[u8],
) -> Outcome<State> {
    let drive = SimConfig::new(cenote_device::model::preset::Preset::all()[0].model());
    let graph = open_whole(crate::disk::drive_with(&drive, FaultPlan::none(), contents))?;
    let ids = graph.ids().map_err(|e| e.to_string())?;
    let mut vertex_of = BTreeMap::new();
    for &number in &state.numbers {
        let vertex = ids.vertex_of(&naming.name(number)).map_err(|e| e.to_string())?;
        vertex_of.insert(vertex.ok_or_else(|| format!("no vertex {number}"))?, number);
    }
    let place: BTreeMap<u64, VertexId> =
        vertex_of.iter().map(|(v, number)| (*number, *v)).collect();
    let at = |v: VertexId| place[&state.numbers[v as usize]];
    let is_kept = |edge: &(VertexId, VertexId)| options.keep_self_loops || edge.0 != edge.1;
    let kept = each_copy(&state.edges).filter(is_kept);
    let edges = kept.map(|(u, v)| ordered(options, at(u), at(v)));
    let edges = counted(edges, options.keep_duplicates);
    let weights = state.weights.iter().filter(|(edge, _)| is_kept(edge));
    let weights = weights.map(|(&(u, v), weight)| (ordered(options, at(u), at(v)), *weight));
    let weights = weights.collect();
    Ok(State { weights, ..State::new(vertex_of.into_values().collect(), edges) })
}
