//! A graph as its edges, each as often as it is there, and random batches of changes for it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use cenote_store::{
    Answer, Batch, Change, Codec, Direction, HubNeighboursChoice, Id, Op, VertexId, Weight,
    WeightType,
};

use super::{Random, TestGraph, TestIds};

/// The graph that batches of changes make: its edges, and the ids of the vertices.
#[derive(Clone, Debug)]
pub struct Model {
    /// The properties of the stored graph.
    pub first: TestGraph,
    /// Each once.
    pub edges: BTreeSet<(u32, u32)>,
    pub copies: Copies,
    /// By vertex.
    pub ids: Vec<Id>,
    pub deleted: BTreeSet<u32>,
}

/// The copies of edges: their weights, ascending, or `None` in a graph without weights.
pub type Copies = BTreeMap<(u32, u32), Vec<Option<Weight>>>;

/// The lists of one direction that differ between two models.
pub type Changed = BTreeSet<VertexId>;

impl Model {
    /// The model of a graph that was just stored.
    pub fn of(first: TestGraph) -> Self {
        let lists = (0..).zip(&first.out);
        let edges = lists.flat_map(|(u, list)| list.iter().map(move |&v| (u, v)));
        let mut copies = Copies::new();
        for (u, v) in edges.filter(|(u, v)| first.directed || u <= v) {
            copies.entry((u, v)).or_default().push(first.weight_of(u, v));
        }
        let ids = (0..first.out.len()).map(|v| first.id_of(v)).collect();
        let (edges, deleted) = (copies.keys().copied().collect(), BTreeSet::new());
        Self { first, edges, copies, ids, deleted }
    }

    pub fn vertices(&self) -> u32 {
        self.ids.len() as u32
    }

    /// Number of edges, with repeated ones.
    pub fn edge_count(&self) -> u64 {
        self.copies.values().map(|copies| copies.len() as u64).sum()
    }

    pub fn edge(&self, u: u32, v: u32) -> (u32, u32) {
        if self.first.directed { (u, v) } else { (u.min(v), u.max(v)) }
    }

    /// Makes the changes of a batch and says what became of each.
    pub fn apply(&mut self, batch: &Batch) -> Vec<Answer> {
        self.ids.extend_from_slice(&batch.new_ids);
        let weights = batch.weights.iter().copied().chain(std::iter::repeat(None));
        let changes = batch.changes.iter().zip(weights);
        changes.map(|(change, weight)| self.change(change, weight)).collect()
    }

    fn change(&mut self, change: &Change, weight: Option<Weight>) -> Answer {
        let edge = self.edge(change.source, change.target);
        let mut is_new = false;
        if matches!(change.op, Op::Add | Op::AddVertex) {
            is_new = self.deleted.remove(&edge.0) | self.deleted.remove(&edge.1);
        } else if self.deleted.contains(&edge.0) || self.deleted.contains(&edge.1) {
            return Answer::Unknown;
        }
        let answer = match change.op {
            Op::AddVertex if is_new => return Answer::Done,
            Op::AddVertex => return Answer::Present,
            Op::DeleteVertex => {
                let is_other = |&(u, v): &(u32, u32)| u != edge.0 && v != edge.0;
                self.edges.retain(is_other);
                self.copies.retain(|of, _| is_other(of));
                self.deleted.insert(edge.0);
                return Answer::Done;
            }
            Op::Add if edge.0 == edge.1 && !self.first.self_loops_kept => Answer::SelfLoop,
            Op::Add if self.edges.insert(edge) || self.first.duplicates_kept => Answer::Done,
            Op::Add => Answer::Present,
            Op::Delete if self.place_of(edge, weight).is_some() => Answer::Done,
            Op::Set if self.edges.contains(&edge) => Answer::Done,
            Op::Delete | Op::Set => Answer::Absent,
            Op::SetValue | Op::RemoveValue => unreachable!("the model has no values"),
        };
        if answer != Answer::Done {
            return answer;
        }
        let place = self.place_of(edge, weight);
        let copies = self.copies.entry(edge).or_default();
        match change.op {
            Op::Delete => drop(copies.remove(place.expect("the answer says so"))),
            Op::Set => copies.fill(weight),
            _ => {
                let number = |weight: Option<Weight>| weight.map_or(0.0, Weight::to_f64);
                let at = copies.partition_point(|other| number(*other) < number(weight));
                copies.insert(at, weight);
            }
        }
        if copies.is_empty() {
            self.copies.remove(&edge);
            self.edges.remove(&edge);
        }
        answer
    }

    /// Which copy of an edge a deletion takes: one of the weight, or the first.
    fn place_of(&self, edge: (u32, u32), weight: Option<Weight>) -> Option<usize> {
        let copies = self.copies.get(&edge)?;
        copies.iter().position(|copy| weight.is_none() || *copy == weight)
    }

    /// The weights of a vertex's list, if the graph has any.
    pub fn weights_of(&self, direction: Direction, vertex: u32, list: &[u32]) -> Vec<Weight> {
        let edge = |other| match direction {
            Direction::Out => self.edge(vertex, other),
            Direction::In => self.edge(other, vertex),
        };
        let mut distinct = list.to_vec();
        distinct.dedup();
        distinct.iter().flat_map(|&other| &self.copies[&edge(other)]).filter_map(|w| *w).collect()
    }

    /// The graph as plain lists; its ids are those of the model, not of the result.
    pub fn lists(&self) -> TestGraph {
        let n = self.ids.len();
        let copies = self.copies.iter();
        let edges = copies.flat_map(|(&edge, copies)| std::iter::repeat_n(edge, copies.len()));
        let edges: Vec<_> = edges.collect();
        let TestGraph { out, back, .. } = match self.first.directed {
            true => TestGraph::directed(n, &edges),
            false => TestGraph::undirected(n, &edges),
        };
        let back = back.filter(|_| self.first.back.is_some());
        TestGraph { out, back, ..self.first.clone() }
    }

    /// The edges that a batch may change: those that it names, or all if it deletes a vertex.
    pub fn copies_of(&self, batch: &Batch) -> Copies {
        if batch.changes.iter().any(|change| change.op == Op::DeleteVertex) {
            return self.copies.clone();
        }
        let edges = batch.changes.iter().map(|change| self.edge(change.source, change.target));
        // Each once: an edge may have thousands of copies and be named as often.
        let edges: BTreeSet<_> = edges.collect();
        let copies_of = |edge| Some((edge, self.copies.get(&edge)?.clone()));
        edges.into_iter().filter_map(copies_of).collect()
    }

    /// The out-lists and the in-lists that differ from those of `before`.
    pub fn changed_since(&self, before: &Self) -> [Changed; 2] {
        self.changed_between(&before.copies, &self.copies)
    }

    /// The out-lists and the in-lists that differ where all other edges stay.
    pub fn changed_between(&self, before: &Copies, after: &Copies) -> [Changed; 2] {
        let mut changed = [Changed::new(), Changed::new()];
        // The pages of lists of which only weights differ stay.
        let count = |copies: &Copies, edge| copies.get(edge).map_or(0, Vec::len);
        let all = after.keys().chain(before.keys());
        for &(u, v) in all.filter(|edge| count(after, edge) != count(before, edge)) {
            changed[0].insert(u);
            changed[usize::from(self.first.directed)].insert(v);
        }
        changed
    }

    /// A vertex with the longest list of targets.
    pub fn hub(&self) -> u32 {
        let lists = self.lists().out;
        (0..self.vertices()).max_by_key(|&v| lists[v as usize].len()).unwrap_or(0)
    }
}

// ------------------------------------------------------------------------------------------------
// Random graphs

const PAGE_SIZES: [usize; 5] = [4096, 8192, 16384, 32768, 65536];

/// A random graph: of no vertex or one, a hub, a path, a few long lists or many short ones.
pub fn random_graph(random: &mut Random) -> TestGraph {
    random_graph_of(random, false)
}

/// The same with repeated edges, a few of them very often.
pub fn random_multigraph(random: &mut Random) -> TestGraph {
    random_graph_of(random, true)
}

fn random_graph_of(random: &mut Random, duplicates_kept: bool) -> TestGraph {
    let (n, mut edges) = random_edges(random);
    let directed = random.below(3) > 0;
    let loops = random.below(2) == 0;
    if duplicates_kept && !edges.is_empty() {
        for most in [3, 40, 3000] {
            let edge = edges[random.below(edges.len() as u64) as usize];
            edges.extend(std::iter::repeat_n(edge, random.below(most) as usize));
        }
    }
    let edges = edges
        .into_iter()
        .map(|(u, v)| if directed { (u, v) } else { (u.min(v), u.max(v)) })
        .filter(|(u, v)| loops || u != v);
    let mut edges: Vec<(u32, u32)> = edges.collect();
    edges.sort_unstable();
    if !duplicates_kept {
        edges.dedup();
    }
    let graph = match directed {
        true => TestGraph::directed(n as usize, &edges),
        false => TestGraph::undirected(n as usize, &edges),
    };
    let in_edges = random.below(2) == 0;
    let page_bytes = match random.below(2) {
        0 => 4096,
        _ => PAGE_SIZES[random.below(5) as usize],
    };
    TestGraph {
        page_bytes,
        codec: [Codec::Raw, Codec::Packed][random.below(2) as usize],
        duplicates_kept,
        self_loops_kept: loops,
        free_space: [0, 10, 50][n as usize % 3],
        salt: random.next(),
        back: graph.back.filter(|_| in_edges),
        ids: random_ids(n, random),
        vertex_of: (n > 0 && random.below(4) == 0).then(|| shuffled(n, random)),
        hub_neighbours: match random.below(3) {
            0 if !directed || in_edges => HubNeighboursChoice::Yes,
            _ => HubNeighboursChoice::No,
        },
        ..graph
    }
}

fn random_edges(random: &mut Random) -> (u32, Vec<(u32, u32)>) {
    let some = |n: u32, count: u64, random: &mut Random| -> Vec<(u32, u32)> {
        let mut vertex = || random.below(u64::from(n)) as u32;
        (0..count).map(|_| (vertex(), vertex())).collect()
    };
    match random.below(8) {
        0 => (0, vec![]),
        1 => (1, some(1, random.below(2), random)),
        2 => (2 + random.below(8) as u32, vec![]),
        3 => {
            let n = 1500 + random.below(3000) as u32;
            let hub = random.below(u64::from(n)) as u32;
            let mut edges = some(n, 300, random);
            edges.extend((0..n).flat_map(|v| [(hub, v), (v, hub)]));
            (n, edges)
        }
        4 => {
            let n = 1000 + random.below(3000) as u32;
            (n, (1..n).map(|v| (v - 1, v)).collect())
        }
        5 => (40, some(40, 400, random)),
        6 => (300, some(300, 30_000, random)),
        _ => (2000, some(2000, random.below(8000), random)),
    }
}

fn random_ids(n: u32, random: &mut Random) -> TestIds {
    match random.below(3) {
        0 => TestIds::Dense,
        1 => TestIds::Integers((0..u64::from(n)).map(|v| v * 1000 + random.below(900)).collect()),
        _ => TestIds::Strings((0..n).map(|v| format!("vertex {v:06}, é{}", v % 7)).collect()),
    }
}

fn shuffled(n: u32, random: &mut Random) -> Vec<u32> {
    let mut table: Vec<u32> = (0..n).collect();
    for i in (1..n as usize).rev() {
        table.swap(i, random.below(i as u64 + 1) as usize);
    }
    table
}

// ------------------------------------------------------------------------------------------------
// Random batches

/// What a batch is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Empty,
    /// Changes that find everything as they want it.
    NoEffect,
    Few,
    Many,
    /// All edges of the vertex with the longest list go.
    WithoutHub,
    /// A vertex gets edges to most others.
    NewHub,
    /// The same few edges again and again.
    Repeats,
    /// Vertices without edges, or with few or many.
    NewVertices,
    /// Nine of ten edges go.
    Clearing,
    /// Vertices are deleted and added again, with edges between.
    Vertices,
}

pub const KINDS: [Kind; 10] = [
    Kind::Few,
    Kind::Empty,
    Kind::NoEffect,
    Kind::Many,
    Kind::WithoutHub,
    Kind::NewHub,
    Kind::Repeats,
    Kind::NewVertices,
    Kind::Clearing,
    Kind::Vertices,
];

pub fn add(source: u32, target: u32) -> Change {
    Change { op: Op::Add, source, target }
}

pub fn delete(source: u32, target: u32) -> Change {
    Change { op: Op::Delete, source, target }
}

pub fn changes(changes: impl IntoIterator<Item = Change>) -> Batch {
    Batch { changes: changes.into_iter().collect(), ..Batch::default() }
}

/// A random batch of a kind for the graph as it is.
pub fn random_batch(model: &Model, kind: Kind, random: &mut Random) -> Batch {
    let mut batch = unweighted_batch(model, kind, random);
    if let Some(kind) = model.first.weights {
        weigh(&mut batch, model, kind, random);
    }
    batch
}

/// Gives the changes weights, and lets some of them set that of an edge. Those of deletions are
/// mostly weights that the edge has.
pub fn weigh(batch: &mut Batch, model: &Model, kind: WeightType, random: &mut Random) {
    let sets = random.below(5);
    for change in &mut batch.changes {
        // Additions and deletions find as many edges as before, so sets do too.
        if random.below(5) < sets && !change.op.is_of_vertex() {
            change.op = Op::Set;
        }
        let is_needed = matches!(change.op, Op::Add | Op::Set);
        let is_given = is_needed || random.below(2) == 0;
        let copies = model.copies.get(&model.edge(change.source, change.target));
        batch.weights.push(match copies {
            Some(copies) if change.op == Op::Delete && is_given && random.below(4) > 0 => {
                copies[random.below(copies.len() as u64) as usize]
            }
            // Now and then one that small weights have no room for.
            _ if model.first.small_weights && random.below(60) > 0 => {
                is_given.then(|| random.small_weight(kind))
            }
            _ => is_given.then(|| random.weight(kind)),
        });
    }
}

fn unweighted_batch(model: &Model, kind: Kind, random: &mut Random) -> Batch {
    let n = model.vertices();
    let mut batch = Batch::default();
    if n == 0 && kind != Kind::NewVertices {
        return batch;
    }
    match kind {
        Kind::Empty => {}
        Kind::NoEffect => batch.changes = without_effect(model, random),
        Kind::Few => batch.changes = some_changes(model, 0..n, 1 + random.below(8), random),
        Kind::Many => batch.changes = some_changes(model, 0..n, random.below(3000), random),
        Kind::WithoutHub => {
            let hub = model.hub();
            let all = model.lists();
            let of_hub = edges_of(&all).filter(|(u, v)| *u == hub || *v == hub);
            batch.changes = of_hub.map(|(u, v)| turned(delete(u, v), model, random)).collect();
            shuffle(&mut batch.changes, random);
        }
        Kind::NewHub => {
            let hub = random.below(u64::from(n)) as u32;
            let to = (0..n).filter(|_| random.below(8) > 0).collect::<Vec<_>>();
            batch.changes = to.into_iter().map(|v| turned(add(hub, v), model, random)).collect();
            shuffle(&mut batch.changes, random);
        }
        Kind::Repeats => {
            let few = some_changes(model, 0..n, 1 + random.below(4), random);
            for _ in 0..random.below(60) {
                let change = few[random.below(few.len() as u64) as usize];
                let op = [Op::Add, Op::Delete][random.below(2) as usize];
                batch.changes.push(turned(Change { op, ..change }, model, random));
            }
        }
        Kind::NewVertices => {
            let few = random.below(3) > 0;
            let count = 1 + random.below(if few { 4 } else { 600 }) as u32;
            batch.new_ids = new_ids(model, count, random);
            let edges_max = [1, 20, 4 * u64::from(count)][random.below(3) as usize];
            let edges = random.below(edges_max);
            batch.changes = some_changes(model, 0..n + count, edges, random);
            batch.changes.extend(some_changes(model, n..n + count, edges / 2, random));
        }
        Kind::Clearing => {
            let all = model.lists();
            let gone = edges_of(&all).filter(|_| random.below(10) > 0);
            batch.changes = gone.map(|(u, v)| delete(u, v)).collect();
        }
        Kind::Vertices => {
            let count = random.below(3);
            batch.new_ids = new_ids(model, count as u32, random);
            let n = n + count as u32;
            batch.changes = some_changes(model, 0..n, random.below(8), random);
            let few = [1 + random.below(4), random.below(60)][random.below(2) as usize];
            let known: Vec<u32> = model.deleted.iter().copied().collect();
            for _ in 0..few {
                let any = random.below(u64::from(n)) as u32;
                let (vertex, op) = match random.below(5) {
                    0 if !known.is_empty() => {
                        (known[random.below(known.len() as u64) as usize], Op::AddVertex)
                    }
                    0 => (any, Op::AddVertex),
                    1 => (model.hub(), Op::DeleteVertex),
                    _ => (any, Op::DeleteVertex),
                };
                let place = random.below(batch.changes.len() as u64 + 1) as usize;
                batch.changes.insert(place, Change::of_vertex(op, vertex));
            }
        }
    }
    batch
}

/// The edges of plain lists, each as often as it is there.
fn edges_of(lists: &TestGraph) -> impl Iterator<Item = (u32, u32)> {
    let all = (0..).zip(&lists.out).flat_map(|(u, list)| list.iter().map(move |&v| (u, v)));
    all.filter(|(u, v)| lists.directed || u <= v)
}

/// The same change; in an undirected graph perhaps with its ends exchanged.
fn turned(change: Change, model: &Model, random: &mut Random) -> Change {
    match change {
        Change { op, source, target } if !model.first.directed && random.below(2) == 0 => {
            Change { op, source: target, target: source }
        }
        change => change,
    }
}

fn shuffle(changes: &mut [Change], random: &mut Random) {
    for i in (1..changes.len()).rev() {
        changes.swap(i, random.below(i as u64 + 1) as usize);
    }
}

/// Random changes among some vertices, half of them of edges that there are.
fn some_changes(
    model: &Model,
    vertices: Range<u32>,
    count: u64,
    random: &mut Random,
) -> Vec<Change> {
    let present: Vec<_> = model.edges.iter().copied().collect();
    let change = |_| {
        let (u, v) = match random.below(2) {
            0 if !present.is_empty() => present[random.below(present.len() as u64) as usize],
            _ => {
                let mut vertex = || {
                    vertices.start + random.below(u64::from(vertices.end - vertices.start)) as u32
                };
                (vertex(), vertex())
            }
        };
        let op = [Op::Add, Op::Delete][random.below(2) as usize];
        turned(Change { op, source: u, target: v }, model, random)
    };
    (0..count).map(change).collect()
}

fn without_effect(model: &Model, random: &mut Random) -> Vec<Change> {
    let mut all = some_changes(model, 0..model.vertices(), 50, random);
    let is_there =
        |change: &Change| model.edges.contains(&model.edge(change.source, change.target));
    // Of those that repeat, one more is a change.
    all.retain(|change| !model.first.duplicates_kept || !is_there(change));
    for change in &mut all {
        change.op = if is_there(change) { Op::Add } else { Op::Delete };
    }
    all
}

/// Ids that the graph does not have, in any order.
pub fn new_ids(model: &Model, count: u32, random: &mut Random) -> Vec<Id> {
    let n = model.vertices();
    let (spaced, mut ids) = (random.below(2), BTreeSet::new());
    let known: BTreeSet<&Id> = model.ids.iter().collect();
    let mut next = u64::from(n);
    while ids.len() < count as usize {
        let id = match model.first.ids {
            // Integers below the first vertices' number are their ids.
            TestIds::Dense => Id::Integer(next + spaced * random.below(50)),
            TestIds::Integers(_) => Id::Integer(random.below(2_000_000)),
            TestIds::Strings(_) => Id::String(random_name(random)),
        };
        next += 1;
        if !known.contains(&id) {
            ids.insert(id);
        }
    }
    let mut ids: Vec<Id> = ids.into_iter().collect();
    if random.below(2) == 0 {
        for i in (1..ids.len()).rev() {
            ids.swap(i, random.below(i as u64 + 1) as usize);
        }
    }
    ids
}

fn random_name(random: &mut Random) -> String {
    let number = random.below(100_000);
    match random.below(20) {
        // Longer than a page.
        0 => format!("{number} {}", "long ".repeat(random.below(1200) as usize)),
        1..8 => format!("vertex {number:06}, ê"),
        _ => format!("{number} später"),
    }
}
