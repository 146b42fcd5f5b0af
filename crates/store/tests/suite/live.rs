//! A graph that changes beside a model of it: answers, lists, ids and degrees are compared after
//! each batch, and what the batch wrote.

use std::collections::BTreeSet;

use crate::graphs::model::{Changed, Model};
use crate::graphs::{
    MemoryDevice, TestGraph, TestIds, assert_hub_neighbours, assert_lists, looked_up,
};
use cenote_store::superblock::{IdKind, SectionKind};
use cenote_store::{
    Adjacency, Batch, Direction, Graph, HubNeighboursChoice, LookupConfig, Op, Store, StoreError,
    Updated, check,
};

pub const DIRECTIONS: [Direction; 2] = [Direction::Out, Direction::In];

/// A stored graph and what it should hold.
pub struct Live {
    pub device: MemoryDevice,
    pub store: Store,
    pub model: Model,
}

impl Live {
    pub fn new(graph: TestGraph) -> Self {
        let graph = TestGraph { duplicates: 3 + graph.repeats(), ..graph };
        let device = MemoryDevice::default();
        graph.write(&device, usize::MAX).unwrap();
        let store = Store::open(device.shared()).unwrap();
        Self { device, store, model: Model::of(graph) }
    }

    pub fn graph(&self) -> Graph {
        newest(&self.store)
    }

    /// Makes a batch, and compares its answers and what it wrote.
    pub fn update(&mut self, batch: &Batch) -> Updated {
        // A copy of the whole model would take longer than most batches.
        let (old_graph, old_deleted) = (self.graph(), self.model.deleted.clone());
        let before = self.model.copies_of(batch);
        let expected = self.model.apply(batch);
        let after = self.model.copies_of(batch);
        let updated = self.store.update(batch).unwrap();
        assert_eq!(updated.answers, expected);
        // Changes that undo each other leave nothing to commit.
        let is_changed =
            after != before || self.model.deleted != old_deleted || !batch.new_ids.is_empty();
        let epoch = old_graph.superblock().epoch + u64::from(is_changed);
        assert_eq!((updated.epoch, self.store.epoch()), (epoch, epoch));
        let changed = self.model.changed_between(&before, &after);
        // The edges of a deleted vertex are in the lists of others.
        if !batch.changes.iter().any(|change| change.op == Op::DeleteVertex) {
            assert_economy(&old_graph, &self.graph(), &changed, batch, &updated);
        }
        updated
    }

    /// Commits a batch to the log, or to the lists where the log has no room, and compares its
    /// answers.
    pub fn commit(&mut self, batch: &Batch) -> Updated {
        let expected = self.model.apply(batch);
        let updated = self.store.commit(batch).unwrap();
        assert_eq!(updated.answers, expected);
        updated
    }

    /// Compares the newest graph, as this store has it and as another process finds it.
    pub fn assert_same(&self) {
        assert_same(&self.graph(), &self.model);
        let found = Graph::open(self.device.shared()).unwrap();
        assert_eq!(found.superblock(), self.graph().superblock());
        assert_whole(&found);
    }
}

fn newest(store: &Store) -> Graph {
    store.graph(|_| LookupConfig::default()).unwrap()
}

fn assert_whole(graph: &Graph) {
    let report = check(graph, &mut |_, _| true).unwrap();
    assert!(report.is_whole(), "{report:#?}");
}

/// Compares a graph with its model through every accessor.
pub fn assert_same(graph: &Graph, model: &Model) {
    let (expected, superblock) = (model.lists(), graph.superblock());
    assert_eq!(superblock.vertices, model.ids.len() as u64);
    assert_eq!(superblock.edges, model.edge_count());
    assert!(graph.deleted().iter().eq(&model.deleted), "{:?}", graph.deleted());
    assert_eq!(graph.live_vertices(), model.ids.len() - model.deleted.len());
    assert_eq!(superblock.stored_out, expected.stored());
    // Those of the import, and of repeated edges those that are there.
    assert_eq!((superblock.duplicates, superblock.self_loops), (3 + expected.repeats(), 4));
    let degree_max = expected.out.iter().map(Vec::len).max().unwrap_or(0);
    let largest = expected.out.iter().position(|list| list.len() == degree_max && degree_max > 0);
    let largest = largest.unwrap_or(0) as u32;
    assert_eq!((superblock.degree_max, superblock.degree_max_vertex), (degree_max as u64, largest));
    assert_lists(graph, Direction::Out, &expected.out);
    match &expected.back {
        Some(back) => assert_lists(graph, Direction::In, back),
        None => assert_eq!(graph.has_in_edges(), !expected.directed),
    }
    assert_weights(graph, model, &expected);
    if graph.hub_neighbours().is_some() {
        let hub_neighbours = HubNeighboursChoice::Yes;
        assert_hub_neighbours(graph, &TestGraph { hub_neighbours, ..expected });
    }
    assert_ids(graph, model);
    assert_whole(graph);
}

/// Compares the weights of all lists, and what the superblock says about them.
fn assert_weights(graph: &Graph, model: &Model, lists: &TestGraph) {
    assert_eq!(graph.superblock().weights.map(|weights| weights.kind()), model.first.weights);
    let Some(summary) = graph.superblock().weights else { return };
    let back = if lists.directed { lists.back.as_ref() } else { Some(&lists.out) };
    for (direction, lists) in DIRECTIONS.into_iter().zip([Some(&lists.out), back]) {
        let Some(lists) = lists else { continue };
        for vertex in looked_up(lists) {
            let mut found = Vec::new();
            graph.read_weights(direction, vertex, &mut found).unwrap();
            let expected = model.weights_of(direction, vertex, &lists[vertex as usize]);
            assert_eq!(found, expected, "{direction:?}, vertex {vertex}");
        }
    }
    let all = || model.copies.values().flatten().flatten().map(|weight| weight.to_f64());
    let (min, max) = (all().fold(f64::INFINITY, f64::min), all().fold(-f64::INFINITY, f64::max));
    assert_eq!(summary.min().is_some(), !model.edges.is_empty());
    assert!(summary.min().is_none_or(|found| found.to_f64() <= min), "{summary:?}, {min}");
    assert!(summary.max().is_none_or(|found| found.to_f64() >= max), "{summary:?}, {max}");
    // They are those of the commit.
    if graph.has_logged() {
        return;
    }
    let sections = graph.superblock().sections.iter();
    let is_column = [SectionKind::OutWeights, SectionKind::InWeights];
    for column in sections.filter(|section| is_column.contains(&section.kind)) {
        assert!(column.items <= 2 * graph.superblock().stored_out, "half of it is of no entry");
    }
}

fn assert_ids(graph: &Graph, model: &Model) {
    let ids = graph.ids().unwrap();
    let table = ids.load().unwrap();
    let kind = match (&model.first.ids, graph.superblock().appended()) {
        (TestIds::Dense, 0) => IdKind::Dense,
        (TestIds::Strings(_), _) => IdKind::Strings,
        _ => IdKind::Integers,
    };
    assert_eq!(ids.kind(), kind);
    for (v, id) in (0..).zip(&model.ids) {
        assert_eq!(&ids.id_of(v).unwrap(), id);
        assert_eq!(table.get(v), id.as_ref());
        let live = Some(v).filter(|v| !model.deleted.contains(v));
        assert_eq!(ids.vertex_of(&id.to_string()).unwrap(), live, "{id}");
    }
    let mut streamed = Vec::new();
    ids.for_each(0..model.vertices(), |vertex, id| {
        streamed.push((id.to_id(), vertex));
        Ok::<(), StoreError>(())
    })
    .unwrap();
    let mut expected: Vec<_> = model.ids.iter().cloned().zip(0..).collect();
    expected.retain(|(_, vertex)| !model.deleted.contains(vertex));
    expected.sort_unstable();
    assert_eq!(streamed, expected);
    assert_eq!(ids.vertex_of("no such vertex").unwrap(), None);
    assert!(ids.id_of(model.vertices()).is_err());
}

// ------------------------------------------------------------------------------------------------
// What a batch writes

/// The pages of a direction that hold lists of these vertices, by their numbers within it.
pub fn pages_of(adjacency: &Adjacency, vertices: &Changed) -> BTreeSet<u64> {
    vertices.iter().flat_map(|&v| adjacency.pages_of(v)).collect()
}

fn places(graph: &Graph, adjacency: &Adjacency) -> Vec<u64> {
    let first = adjacency.first_page();
    (first..first + adjacency.pages()).map(|page| graph.physical(page)).collect()
}

/// Pages whose lists no change concerns keep their places, and little else is written.
fn assert_economy(
    before: &Graph,
    after: &Graph,
    changed: &[Changed; 2],
    batch: &Batch,
    updated: &Updated,
) {
    let (mut written_max, mut read_max, n) = (0, 0, before.vertices() as u32);
    let both = if before.is_directed() { &DIRECTIONS[..] } else { &DIRECTIONS[..1] };
    let ends = batch.changes.iter().flat_map(|change| [change.source, change.target]);
    let ends: Changed = ends.filter(|&v| v < n).collect();
    for (&direction, changed) in both.iter().zip(changed) {
        let (Some(old), Some(new)) = (before.adjacency(direction), after.adjacency(direction))
        else {
            continue;
        };
        let known: Changed = changed.iter().copied().filter(|&v| v < n).collect();
        let mut touched = pages_of(old, &known);
        if after.vertices() > before.vertices() {
            // The lists of new vertices go behind the last one.
            touched.extend(old.pages().checked_sub(1));
        }
        let (old_places, new_places) = (places(before, old), places(after, new));
        let kept: Vec<u64> = (0..)
            .zip(&old_places)
            .filter_map(|(page, place)| (!touched.contains(&page)).then_some(*place))
            .collect();
        // Where two lists share a page, a change without effect of one may take the other along.
        let concerned = pages_of(old, &ends);
        let kept_at_least = (0..).zip(&old_places).filter(|(page, _)| !concerned.contains(page));
        let kept_at_least: BTreeSet<u64> = kept_at_least.map(|(_, place)| *place).collect();
        let old_places: BTreeSet<u64> = old_places.into_iter().collect();
        let still: Vec<u64> =
            new_places.iter().copied().filter(|place| old_places.contains(place)).collect();
        let moved = kept.iter().find(|at| kept_at_least.contains(at) && !still.contains(at));
        assert_eq!(moved, None, "{direction:?}: the place of a page that no change concerns");
        assert!(still.iter().all(|at| kept.contains(at)), "{direction:?}: a changed page stays");
        let fresh = (new_places.len() - still.len()) as u64;
        let grown = batch.changes.len() as u64 * 4 + u64::from(new.pages() == 1);
        let grown = grown + 2 * batch.new_ids.len() as u64;
        // A page that is split leaves room in those that take its place.
        let touched = touched.union(&concerned).count() as u64;
        let fresh_max = 4 * touched + grown.div_ceil(before.page_bytes() as u64 / 2);
        assert!(fresh <= fresh_max + 1, "{fresh} new pages for {touched} touched");
        written_max += fresh;
        read_max += concerned.len() as u64 + 1;
    }
    let superblock = after.superblock();
    let is_list = [SectionKind::OutAdjacency, SectionKind::InAdjacency];
    let others = superblock.sections.iter().filter(|section| !is_list.contains(&section.kind));
    let others: u64 = others.map(|section| section.pages).sum();
    // The slot, and the page table and free list where they do not fit there.
    let extents = 1 + 2 * (superblock.pages_total * 32).div_ceil(before.page_bytes() as u64 / 2);
    let (read, written) = (updated.pages_read, updated.pages_written);
    assert!(written <= written_max + others + extents, "{written} pages, {written_max} of lists");
    assert!(read <= read_max, "{read} pages read, {read_max} concerned");
}
