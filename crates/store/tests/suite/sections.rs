//! Sections that change independently of the lists: appended ids, and derived sections, which may
//! be missing, stale or rebuilt.

use std::collections::BTreeSet;

use crate::graphs::model::{add, changes};
use crate::graphs::{
    MemoryDevice, Random, TestGraph, TestIds, assert_same, degrees_on, read_hub_neighbours,
};
use crate::live::Live;
use cenote_store::format::{HEADER_BYTES, PageKind};
use cenote_store::header::PageHeader;
use cenote_store::superblock::{IdKind, Section, SectionKind};
use cenote_store::{
    Batch, Codec, Direction, Graph, HubNeighboursChoice, Id, IdRef, LookupConfig, Store,
    StoreError, WriteLimits, check,
};

fn open(device: &MemoryDevice) -> Graph {
    Graph::open(device.shared()).unwrap()
}

fn assert_whole(graph: &Graph) {
    let report = check(graph, &mut |_, _| true).unwrap();
    assert!(report.is_whole(), "{report:#?}");
}

/// A graph with hub neighbours, and on some vertices more edges than a page holds.
fn hubs(directed: bool) -> TestGraph {
    let mut random = Random(5);
    let mut edges: Vec<(u32, u32)> =
        (0..9_000).map(|_| (random.below(3_000) as u32, random.below(3_000) as u32)).collect();
    edges.extend((0..3_000).map(|v| (7, v)));
    edges.sort_unstable();
    edges.dedup();
    let graph = match directed {
        true => TestGraph::directed(3_000, &edges),
        false => {
            let mut edges: Vec<_> = edges.iter().map(|&(u, v)| (u.min(v), u.max(v))).collect();
            edges.sort_unstable();
            edges.dedup();
            TestGraph::undirected(3_000, &edges)
        }
    };
    TestGraph { hub_neighbours: HubNeighboursChoice::Yes, ..graph }
}

fn degrees(graph: &Graph, direction: Direction) -> Vec<u64> {
    let mut all = Vec::new();
    graph
        .degrees(direction, &mut |first, batch| {
            assert_eq!(first as usize, all.len());
            all.extend_from_slice(batch);
        })
        .unwrap();
    all
}

#[test]
fn a_graph_without_its_derived_sections_answers_the_same_and_gets_them_back() {
    for directed in [false, true] {
        let test = hubs(directed);
        let device = MemoryDevice::with_bytes(test.stored_bytes());
        let heads = read_hub_neighbours(&open(&device)).unwrap();
        let store = Store::open(device.shared()).unwrap();
        let mut transaction = store.begin().unwrap();
        let is_derived = |section: &&Section| section.kind.derived_from().is_some();
        let derived: Vec<Section> =
            transaction.superblock().sections.iter().filter(is_derived).copied().collect();
        assert_eq!(derived.len(), if directed { 3 } else { 2 });
        for section in &derived {
            transaction.free(section.range());
        }
        transaction.superblock().sections.retain(|section| section.kind.derived_from().is_none());
        transaction.commit().unwrap();
        let without = open(&device);
        let lengths = |lists: &[Vec<u32>]| lists.iter().map(|l| l.len() as u64).collect::<Vec<_>>();
        assert_eq!(degrees(&without, Direction::Out), lengths(&test.out));
        assert_eq!(
            degrees(&without, Direction::In),
            lengths(test.back.as_ref().unwrap_or(&test.out))
        );
        assert!(without.hub_neighbours().is_none());
        assert_whole(&without);
        store.rebuild_derived(HubNeighboursChoice::Yes, 2).unwrap();
        let rebuilt = open(&device);
        assert_eq!(read_hub_neighbours(&rebuilt).unwrap(), heads);
        assert_same(&rebuilt, &test);
    }
}

#[test]
fn derived_sections_of_an_older_epoch_than_the_lists_are_not_trusted() {
    let test = hubs(false);
    let device = MemoryDevice::with_bytes(test.stored_bytes());
    let store = Store::open(device.shared()).unwrap();
    let mut transaction = store.begin().unwrap();
    let epoch = transaction.epoch();
    let lists = |section: &&mut Section| section.kind == SectionKind::OutAdjacency;
    transaction.superblock().sections.iter_mut().find(lists).unwrap().epoch = epoch;
    // Degrees that would be wrong: those of the first page are all 1.
    let page = *open(&device).superblock().section(SectionKind::OutDegrees).unwrap();
    let header = PageHeader { entries: 3_000, ..PageHeader::new(PageKind::Degrees) };
    transaction.write(page.first_page, header, |page| page[48..48 + 3_000].fill(1)).unwrap();
    transaction.commit().unwrap();
    let graph = open(&device);
    let lengths: Vec<u64> = test.out.iter().map(|list| list.len() as u64).collect();
    assert_eq!(degrees(&graph, Direction::Out), lengths);
    assert!(graph.hub_neighbours().is_none());
    assert!(!graph.superblock().has_hub_neighbours());
    assert_whole(&graph);
    store.rebuild_derived(HubNeighboursChoice::Yes, 1).unwrap();
    assert_same(&open(&device), &test);
    // A damaged page of a section that no reader trusts is damage all the same.
    let mut transaction = store.begin().unwrap();
    let epoch = transaction.epoch();
    transaction.superblock().sections.iter_mut().find(lists).unwrap().epoch = epoch;
    transaction.commit().unwrap();
    let graph = open(&device);
    for kind in [SectionKind::OutDegrees, SectionKind::OutHubNeighbours] {
        let page = graph.superblock().section(kind).unwrap().first_page;
        let at = graph.physical(page) as usize * 4096 + 1000;
        device.change(|bytes| bytes[at] ^= 1);
        let faults = check(&open(&device), &mut |_, _| true).unwrap().faults;
        assert_eq!(faults.iter().map(|fault| fault.page).collect::<Vec<_>>(), [Some(page)]);
        device.change(|bytes| bytes[at] ^= 1);
    }
}

/// Ids of vertices, in their order: some ascending, then some that came later.
struct Appended {
    base: TestIds,
    tail: Vec<Id>,
}

/// Writes a graph whose last vertices came after the others.
fn with_appended(vertices: usize, order: bool, ids: &Appended) -> MemoryDevice {
    let base = vertices - ids.tail.len();
    let edges: Vec<_> = (0..vertices as u32).map(|v| (v, v * 7 % vertices as u32)).collect();
    // First a graph of the vertices with ascending ids, whose sections of ids are taken from it.
    let vertex_of = order.then(|| (0..base as u32).map(|rank| base as u32 - 1 - rank).collect());
    let first = TestGraph { ids: ids.base.clone(), vertex_of, ..TestGraph::directed(base, &[]) };
    let small = first.store();
    let device = MemoryDevice::with_bytes(TestGraph::directed(vertices, &edges).stored_bytes());
    let store = Store::open(device.shared()).unwrap();
    let mut transaction = store.begin().unwrap();
    use SectionKind::{Integers, RankOfVertex, Strings, VertexOfRank};
    for kind in [Integers, Strings, VertexOfRank, RankOfVertex] {
        let Some(section) = small.superblock().section(kind) else { continue };
        let pages = transaction.allocate(section.pages);
        for (from, to) in section.range().zip(pages.clone()) {
            let offset = small.physical(from) * 4096;
            let buffer = cenote_device::Buffer::new(4096).unwrap();
            let bytes = cenote_device::read_exact(small.device().as_ref(), offset, 4096, buffer);
            let bytes = bytes.unwrap();
            transaction
                .write(to, PageHeader::read(&bytes), |page| page.copy_from_slice(&bytes))
                .unwrap();
        }
        let moved = Section { first_page: pages.start, ..*section };
        transaction.superblock().sections.push(moved);
    }
    let integers = matches!(ids.tail[0], Id::Integer(_));
    let page = transaction.allocate(1).start;
    let kind = if integers { PageKind::Integers } else { PageKind::Strings };
    let (first, entries) = (base as u32, ids.tail.len() as u32);
    let header = PageHeader { first, entries, ..PageHeader::new(kind) };
    let bytes: Vec<u8> = ids
        .tail
        .iter()
        .flat_map(|id| match id {
            Id::Integer(id) => id.to_le_bytes().to_vec(),
            // Nothing shared with the one before.
            Id::String(id) => [&[0, id.len() as u8], id.as_bytes()].concat(),
        })
        .collect();
    transaction
        .write(page, header, |page| page[HEADER_BYTES..][..bytes.len()].copy_from_slice(&bytes))
        .unwrap();
    let (kind, epoch) = match integers {
        true => (SectionKind::AppendedIntegers, transaction.epoch()),
        false => (SectionKind::AppendedStrings, transaction.epoch()),
    };
    let items = ids.tail.len() as u64;
    let superblock = transaction.superblock();
    superblock.sections.push(Section {
        kind,
        codec: Codec::Raw,
        first_page: page,
        pages: 1,
        items,
        epoch,
    });
    superblock.ids = if integers { IdKind::Integers } else { IdKind::Strings };
    superblock.order = small.superblock().order;
    transaction.commit().unwrap();
    device
}

#[test]
fn ids_that_were_appended_are_found_both_ways_and_ranked_among_the_others() {
    let integers = |ids: &[u64]| ids.iter().map(|&id| Id::Integer(id)).collect::<Vec<_>>();
    let strings = |ids: &[&str]| ids.iter().map(|&id| Id::String(id.into())).collect::<Vec<_>>();
    let numbers = TestIds::Integers((0..900).map(|v| v * 10 + 5).collect());
    let names = TestIds::Strings((0..900).map(|v| format!("name/{v:04}")).collect());
    let cases = [
        Appended { base: numbers, tail: integers(&[7, 3, 100_000, 8_993, 6]) },
        Appended { base: TestIds::Dense, tail: integers(&[1 << 40, 900, 2_000, u64::MAX]) },
        Appended { base: names, tail: strings(&["zz", "name/0500/a", "", "a", "name/0500/"]) },
    ];
    for (ids, order) in cases.iter().flat_map(|ids| [(ids, false), (ids, true)]) {
        let vertices = 900 + ids.tail.len();
        let device = with_appended(vertices, order, ids);
        let graph = open(&device);
        assert_whole(&graph);
        let all: Vec<Id> = (0..900usize)
            .map(|v| if order { 899 - v } else { v })
            .map(|rank| match &ids.base {
                TestIds::Dense => Id::Integer(rank as u64),
                TestIds::Integers(ids) => Id::Integer(ids[rank]),
                TestIds::Strings(ids) => Id::String(ids[rank].clone()),
            })
            .chain(ids.tail.iter().cloned())
            .collect();
        let mut sorted: Vec<(Id, u32)> = all.iter().cloned().zip(0..).collect();
        sorted.sort();
        assert_ids(&graph, &all, &sorted);
    }
}

fn assert_ids(graph: &Graph, all: &[Id], sorted: &[(Id, u32)]) {
    let ids = graph.ids().unwrap();
    assert_eq!(ids.vertices(), all.len() as u64);
    assert!(!ids.is_natural());
    let table = ids.load().unwrap();
    for (rank, (id, vertex)) in (0..).zip(sorted) {
        assert_eq!(ids.vertex_of(&id.to_string()).unwrap(), Some(*vertex), "{id}");
        assert_eq!(ids.rank_of(*vertex).unwrap(), rank, "{id}");
        assert_eq!(&ids.id_of(*vertex).unwrap(), id);
        assert_eq!(table.get(*vertex), id.as_ref());
    }
    assert_eq!(
        ids.vertex_of("4").unwrap().is_some(),
        sorted.iter().any(|(id, _)| id.to_string() == "4")
    );
    assert!(ids.id_of(all.len() as u32).is_err());
    let vertices: Vec<u32> = (0..all.len() as u32).step_by(3).collect();
    let mut ranks = Vec::new();
    ids.ranks_of(&vertices, &mut ranks).unwrap();
    for (vertex, rank) in vertices.iter().zip(&ranks) {
        assert_eq!(sorted[*rank as usize].1, *vertex);
    }
    for ranks in [0..all.len() as u32, 3..17, 890..all.len() as u32, 2..3, 5..5] {
        let mut found = Vec::new();
        ids.for_each(ranks.clone(), |vertex, id: IdRef<'_>| {
            found.push((id.to_id(), vertex));
            Ok::<(), StoreError>(())
        })
        .unwrap();
        assert_eq!(found, sorted[ranks.start as usize..ranks.end as usize]);
        let ranks: Vec<u32> = ranks.step_by(2).collect();
        let mut found = Vec::new();
        ids.for_each_of(&ranks, |id| {
            found.push(id.to_id());
            Ok::<(), StoreError>(())
        })
        .unwrap();
        let wanted: Vec<Id> = ranks.iter().map(|&rank| sorted[rank as usize].0.clone()).collect();
        assert_eq!(found, wanted);
    }
    let mut met = Vec::new();
    ids.for_each_vertex(|vertex| met.push(vertex)).unwrap();
    assert_eq!(met, sorted.iter().map(|(_, vertex)| *vertex).collect::<Vec<_>>());
}

#[test]
fn a_look_up_plan_does_not_change_what_a_store_gives() {
    let device = MemoryDevice::with_bytes(hubs(false).stored_bytes());
    let store = Store::open(device.shared()).unwrap();
    let plan = |_: &_| LookupConfig::default().frames(64).read_depth(4);
    assert_same(&store.graph(plan).unwrap(), &hubs(false));
}

/// A graph with so many pages of degrees that several threads read them.
fn with_many_pages_of_degrees(directed: bool) -> TestGraph {
    let n = 100_000;
    // Also lists of several pages.
    let mut random = Random(81);
    let mut edge = |i: u32| match i % 3 {
        0 => (7 * i % 4, random.below(n) as u32),
        _ => (random.below(n) as u32, random.below(n) as u32),
    };
    let edges: BTreeSet<_> = (0..6_000).map(&mut edge).map(|(u, v)| (u.min(v), u.max(v))).collect();
    let edges: Vec<_> = edges.into_iter().collect();
    let graph = match directed {
        true => TestGraph::directed(n as usize, &edges),
        false => TestGraph::undirected(n as usize, &edges),
    };
    TestGraph { duplicates_kept: false, duplicates: 0, ..graph }
}

#[test]
fn several_threads_read_the_lengths_of_lists_with_their_changes() {
    for directed in [false, true] {
        let mut live = Live::new(with_many_pages_of_degrees(directed));
        let limits = WriteLimits::default().bytes(256 << 10).changes(2_000).run_percent(100_000);
        live.store = Store::open(live.device.shared()).unwrap().with_limits(limits);
        let mut random = Random(82);
        for round in 0..4 {
            if round > 0 {
                let vertices = u64::from(live.model.vertices());
                let mut vertex = || random.below(if round == 2 { 50 } else { vertices }) as u32;
                let batch = changes((0..1_500).map(|_| add(vertex(), vertex())));
                live.commit(&batch);
                let new_ids = (0..20).map(|i| Id::Integer(100_000 * round + i)).collect();
                live.commit(&Batch { new_ids, ..Batch::default() });
            }
            let (graph, lists) = (live.graph(), live.model.lists());
            println!("round {round}: {} runs, {} logged", graph.runs(), graph.logged_changes());
            let lengths =
                |lists: &[Vec<u32>]| lists.iter().map(|l| l.len() as u64).collect::<Vec<_>>();
            for (direction, lists) in [
                (Direction::Out, &lists.out),
                (Direction::In, lists.back.as_ref().unwrap_or(&lists.out)),
            ] {
                for threads in [1, 2, 3] {
                    let (parts, found) = degrees_on(&graph, direction, threads);
                    assert_eq!(parts, threads);
                    assert!(found == lengths(lists), "{direction:?} by {threads} threads");
                }
            }
        }
        assert!(live.graph().runs() > 0 && live.graph().logged_changes() > 0);
    }
}

#[test]
fn parts_of_the_degrees_between_which_one_is_missing_are_damage() {
    let mut bytes = with_many_pages_of_degrees(false).stored_bytes();
    let graph = open(&MemoryDevice::with_bytes(bytes.clone()));
    let section = *graph.superblock().section(SectionKind::OutDegrees).unwrap();
    // The last page of the first of two parts loses its last degree.
    let physical = graph.physical(section.first_page + section.pages / 2 - 1);
    let page = &mut bytes[physical as usize * graph.page_bytes()..][..graph.page_bytes()];
    let header = PageHeader::read(page);
    page[HEADER_BYTES + header.entries as usize - 1] = 0;
    PageHeader { entries: header.entries - 1, ..header }.seal(
        page,
        graph.superblock().salt,
        physical,
    );
    let damaged = open(&MemoryDevice::with_bytes(bytes));
    let take = |(): &mut (), _: u32, _: &[u64]| {};
    let found = [1, 2].map(|threads| damaged.degrees_on(threads, Direction::Out, &take));
    for found in found {
        let error = found.unwrap_err().to_string();
        assert!(error.contains("first vertex of a page of degrees"), "{error}");
    }
}
