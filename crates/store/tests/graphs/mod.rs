//! Helpers of this crate's tests: a device in memory, graphs as plain lists, and the comparison of
//! a stored graph with such lists through every accessor.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![allow(dead_code, reason = "each test file uses a part")]

pub mod memory;
pub mod model;

use std::collections::BTreeSet;
use std::sync::Arc;

use cenote_device::{Buffer, Device};
use cenote_store::hub_neighbours::HUB_NEIGHBOURS;
use cenote_store::order::Tables;
use cenote_store::{
    Choose, Codec, Counts, Direction, Graph, GraphSpec, GraphWriter, HubNeighbours,
    HubNeighboursChoice, Id, IdRef, IdsSource, Order, Result, StoreError, Superblock, VertexId,
    Weight, WeightType, check,
};
pub use memory::MemoryDevice;

/// SplitMix64: the same numbers everywhere.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// A weight, often one of a few, below zero where the type has such.
    pub fn weight(&mut self, kind: WeightType) -> Weight {
        let few = self.below(3) > 0;
        let number = self.below(if few { 7 } else { 1 << 31 }) as i64 - 3;
        match kind {
            WeightType::I64 => Weight::I64(number << 20),
            _ => weight_of(kind, number),
        }
    }

    /// A weight that takes one byte where it is an integer.
    pub fn small_weight(&mut self, kind: WeightType) -> Weight {
        weight_of(kind, self.below(256) as i64)
    }
}

/// A number as a weight of a type.
pub fn weight_of(kind: WeightType, number: i64) -> Weight {
    match kind {
        WeightType::F32 => Weight::F32(number as f32 / 4.0),
        WeightType::F64 => Weight::F64(number as f64 / 3.0),
        WeightType::U32 => Weight::U32(number.unsigned_abs() as u32),
        WeightType::I64 => Weight::I64(number),
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TestIds {
    Dense,
    Integers(Vec<u64>),
    Strings(Vec<String>),
}

/// A graph as plain lists.
#[derive(Clone, Debug)]
pub struct TestGraph {
    pub page_bytes: usize,
    pub codec: Codec,
    pub directed: bool,
    pub duplicates_kept: bool,
    pub self_loops_kept: bool,
    /// Repeated edges that were met.
    pub duplicates: u64,
    /// In percent of each page.
    pub free_space: u32,
    pub salt: u64,
    pub out: Vec<Vec<u32>>,
    pub back: Option<Vec<Vec<u32>>>,
    pub ids: TestIds,
    /// The vertex of every id, where that is not its place.
    pub vertex_of: Option<Vec<u32>>,
    pub hub_neighbours: HubNeighboursChoice,
    /// The edges have the weights of [`TestGraph::weight_of`].
    pub weights: Option<WeightType>,
    /// Whether weights are [`Random::small_weight`]s.
    pub small_weights: bool,
}

impl TestGraph {
    /// An undirected graph of these edges.
    pub fn undirected(vertices: usize, edges: &[(u32, u32)]) -> Self {
        let mut out = vec![Vec::new(); vertices];
        for &(u, v) in edges {
            out[u as usize].push(v);
            if u != v {
                out[v as usize].push(u);
            }
        }
        out.iter_mut().for_each(|list| list.sort_unstable());
        Self { directed: false, back: None, ..Self::with_lists(out) }
    }

    /// A directed graph of these edges, with in-edges.
    pub fn directed(vertices: usize, edges: &[(u32, u32)]) -> Self {
        let (mut out, mut back) = (vec![Vec::new(); vertices], vec![Vec::new(); vertices]);
        for &(u, v) in edges {
            out[u as usize].push(v);
            back[v as usize].push(u);
        }
        out.iter_mut().chain(&mut back).for_each(|list| list.sort_unstable());
        Self { back: Some(back), ..Self::with_lists(out) }
    }

    /// A directed graph of these lists, without in-edges.
    pub fn with_lists(out: Vec<Vec<u32>>) -> Self {
        Self {
            page_bytes: 4096,
            codec: Codec::Raw,
            directed: true,
            duplicates_kept: true,
            self_loops_kept: true,
            duplicates: 3,
            free_space: 0,
            salt: 7,
            out,
            back: None,
            ids: TestIds::Dense,
            vertex_of: None,
            hub_neighbours: HubNeighboursChoice::No,
            weights: None,
            small_weights: false,
        }
    }

    /// The weight of an edge, the same from both of its ends in an undirected graph.
    pub fn weight_of(&self, source: u32, target: u32) -> Option<Weight> {
        let (u, v) = match self.directed || source < target {
            true => (source, target),
            false => (target, source),
        };
        let mut random = Random(u64::from(u) << 32 | u64::from(v));
        self.weights.map(|kind| match self.small_weights {
            true => random.small_weight(kind),
            false => random.weight(kind),
        })
    }

    pub fn spec(&self) -> GraphSpec {
        GraphSpec {
            page_bytes: self.page_bytes,
            vertices: self.out.len() as u64,
            directed: self.directed,
            in_edges: self.back.is_some(),
            duplicates_kept: self.duplicates_kept,
            self_loops_kept: self.self_loops_kept,
            salt: self.salt,
        }
    }

    pub fn stored(&self) -> u64 {
        self.out.iter().map(|list| list.len() as u64).sum()
    }

    /// Edges that repeat another.
    pub fn repeats(&self) -> u64 {
        let of_list = |(u, list): (usize, &Vec<u32>)| {
            let own = list.iter().filter(|v| self.directed || u as u32 <= **v);
            let own: Vec<u32> = own.copied().collect();
            own.windows(2).filter(|pair| pair[0] == pair[1]).count() as u64
        };
        self.out.iter().enumerate().map(of_list).sum()
    }

    pub fn edges(&self) -> u64 {
        if self.directed {
            return self.stored();
        }
        let loops = |(v, list): (usize, &Vec<u32>)| list.iter().filter(|t| **t == v as u32).count();
        let loops: usize = self.out.iter().enumerate().map(loops).sum();
        (self.stored() + loops as u64) / 2
    }

    /// Writes the graph, long lists in pieces of `piece` entries.
    pub fn write(&self, device: &MemoryDevice, piece: usize) -> Result<Superblock> {
        self.write_to(device.shared(), piece)
    }

    pub fn write_to(&self, device: Arc<dyn Device>, piece: usize) -> Result<Superblock> {
        let writer = match self.weights {
            None => GraphWriter::create_with_codec(device, self.spec(), self.codec)?,
            Some(kind) => {
                let (format, scratch) = ((self.codec, kind), MemoryDevice::default().shared());
                GraphWriter::create_weighted(device, self.spec(), format, scratch)?
            }
        };
        let writer = writer.with_free_space(self.free_space);
        let mut writer = writer.with_hub_neighbours(self.hub_neighbours);
        push_lists(&mut writer, &self.out, piece, &|u, v| self.weight_of(u, v))?;
        if let Some(back) = &self.back {
            writer.begin_in()?;
            push_lists(&mut writer, back, piece, &|u, v| self.weight_of(v, u))?;
        }
        writer.end_lists()?;
        let threads = 1 + self.out.len() % 3;
        assert!(writer.write_hub_neighbours(threads, &mut |_| true)?);
        let counts = Counts { edges: self.edges(), duplicates: self.duplicates, self_loops: 4 };
        let rank_of: Vec<u32> = (0..self.out.len()).map(|v| self.rank_of(v) as u32).collect();
        let order = Order::Random { seed: 3 };
        let tables = self.vertex_of.as_deref();
        let tables = tables.map(|vertex_of| Tables { order, vertex_of, rank_of: &rank_of });
        match &self.ids {
            TestIds::Dense => writer.finish_in_order(IdsSource::Dense, tables, counts),
            TestIds::Integers(ids) => {
                let mut ids = ids.iter();
                let mut next = || Ok(*ids.next().unwrap());
                writer.finish_in_order(IdsSource::Integers(&mut next), tables, counts)
            }
            TestIds::Strings(ids) => {
                let mut ids = ids.iter();
                let mut next = |id: &mut Vec<u8>| {
                    id.extend_from_slice(ids.next().unwrap().as_bytes());
                    Ok(())
                };
                writer.finish_in_order(IdsSource::Strings(&mut next), tables, counts)
            }
        }
    }

    /// The file of the graph.
    pub fn stored_bytes(&self) -> Vec<u8> {
        let device = MemoryDevice::default();
        self.write(&device, usize::MAX).unwrap();
        device.bytes()
    }

    pub fn store(&self) -> Graph {
        let device = MemoryDevice::default();
        self.write(&device, usize::MAX).unwrap();
        Graph::open(device.shared()).unwrap()
    }

    /// The place of a vertex's id.
    pub fn rank_of(&self, vertex: usize) -> usize {
        self.vertex_of.as_ref().map_or(vertex, |table| {
            table.iter().position(|v| *v as usize == vertex).expect("every vertex has an id")
        })
    }

    pub fn id_of(&self, vertex: usize) -> Id {
        let vertex = self.rank_of(vertex);
        match &self.ids {
            TestIds::Dense => Id::Integer(vertex as u64),
            TestIds::Integers(ids) => Id::Integer(ids[vertex]),
            TestIds::Strings(ids) => Id::String(ids[vertex].clone()),
        }
    }
}

fn push_lists(
    writer: &mut GraphWriter,
    lists: &[Vec<u32>],
    piece: usize,
    weight_of: &dyn Fn(u32, u32) -> Option<Weight>,
) -> Result<()> {
    for (vertex, list) in (0..).zip(lists) {
        let weights: Vec<Weight> = list.iter().filter_map(|&v| weight_of(vertex, v)).collect();
        if list.len() <= piece {
            writer.push_list(list)?;
        } else {
            writer.begin_list(list.len() as u64)?;
            for part in list.chunks(piece) {
                writer.extend(part)?;
            }
            writer.end_list();
        }
        if !weights.is_empty() {
            writer.extend_weights(&weights)?;
        }
    }
    Ok(())
}

/// Compares a stored graph with plain lists through every accessor.
pub fn assert_same(graph: &Graph, expected: &TestGraph) {
    let superblock = graph.superblock();
    assert_eq!(graph.vertices(), expected.out.len());
    assert_eq!(graph.page_bytes(), expected.page_bytes);
    assert_eq!(graph.is_directed(), expected.directed);
    assert_eq!(graph.has_in_edges(), !expected.directed || expected.back.is_some());
    assert_eq!(superblock.edges, expected.edges());
    assert_eq!(superblock.stored_out, expected.stored());
    assert_eq!((superblock.duplicates, superblock.self_loops), (expected.duplicates, 4));
    let degree_max = expected.out.iter().map(Vec::len).max().unwrap_or(0);
    let largest = expected.out.iter().position(|list| list.len() == degree_max).unwrap_or(0);
    let largest = if degree_max == 0 { 0 } else { largest as u32 };
    assert_eq!((superblock.degree_max, superblock.degree_max_vertex), (degree_max as u64, largest));
    assert_lists(graph, Direction::Out, &expected.out);
    match &expected.back {
        Some(back) => assert_lists(graph, Direction::In, back),
        None if !expected.directed => assert_lists(graph, Direction::In, &expected.out),
        None => assert!(graph.adjacency(Direction::In).is_none()),
    }
    assert_hub_neighbours(graph, expected);
    assert_ids(graph, expected);
    let report = check(graph, &mut |_, _| true).unwrap();
    assert!(report.is_whole(), "{report:#?}");
}

/// The lengths of all lists as threads read them, and the number of their parts.
pub fn degrees_on(graph: &Graph, direction: Direction, threads: usize) -> (usize, Vec<u64>) {
    let take = |part: &mut Vec<u64>, first: VertexId, degrees: &[u64]| {
        part.resize(first as usize, u64::MAX);
        part.extend_from_slice(degrees);
    };
    let parts = graph.degrees_on(threads, direction, &take).unwrap();
    let all = parts.iter().flatten().copied().filter(|degree| *degree != u64::MAX).collect();
    (parts.len(), all)
}

pub fn assert_lists(graph: &Graph, direction: Direction, expected: &[Vec<u32>]) {
    let adjacency = graph.adjacency(direction).unwrap();
    let stored: usize = expected.iter().map(Vec::len).sum();
    assert_eq!(adjacency.stored_edges(), stored as u64);
    let mut degrees = Vec::new();
    graph
        .degrees(direction, &mut |first, batch| {
            assert_eq!(first as usize, degrees.len());
            degrees.extend_from_slice(batch);
        })
        .unwrap();
    let lengths: Vec<u64> = expected.iter().map(|list| list.len() as u64).collect();
    assert_eq!(degrees, lengths);
    let (parts, on_threads) = degrees_on(graph, direction, 3);
    assert_eq!(on_threads, lengths, "{parts} parts");

    let mut pages_with = vec![BTreeSet::new(); expected.len()];
    let mut scanned = vec![Vec::new(); expected.len()];
    let mut pages = 0;
    graph
        .scan(direction, &mut |page, view| {
            assert_eq!(page, pages);
            pages += 1;
            let vertices = adjacency.vertices_in(page);
            let found: Vec<VertexId> = view.lists().map(|list| list.vertex).collect();
            assert_eq!(found, vertices.clone().collect::<Vec<_>>());
            assert_eq!(view.first_vertex(), vertices.start);
            assert_eq!(view.list_count(), found.len());
            assert_eq!(adjacency.continues(page), view.head_skip() > 0);
            for (i, list) in view.lists().enumerate() {
                assert_eq!(list, view.list(i));
                assert_eq!(Some(list), view.list_of(list.vertex));
                assert_eq!(list.skip, scanned[list.vertex as usize].len() as u64);
                assert_eq!(list.degree, lengths[list.vertex as usize]);
                // A long list can become short by changes of the log and of runs.
                let short = expected[list.vertex as usize].len() <= graph.page_bytes() / 64
                    && !graph.has_logged()
                    && graph.runs() == 0;
                assert!(!short || list.is_whole(), "a short list straddles");
                scanned[list.vertex as usize].extend_from_slice(list.targets);
                pages_with[list.vertex as usize].insert(page);
                if list.skip == 0 {
                    assert!(adjacency.starts_from(page) <= list.vertex);
                }
            }
            assert_eq!(view.list_of(vertices.end), None);
            Ok(())
        })
        .unwrap();
    assert_eq!(pages, adjacency.pages());
    assert_eq!(scanned, expected);
    for (v, pages) in pages_with.iter().enumerate() {
        let found: BTreeSet<u64> = adjacency.pages_of(v as u32).collect();
        assert_eq!(&found, pages, "pages of vertex {v}");
    }
    let looked_up = looked_up(expected);
    for &v in &looked_up {
        let mut list = Vec::new();
        graph.read_list(direction, v, &mut list).unwrap();
        assert_eq!(&list, &expected[v as usize]);
    }
    let beyond = graph.read_list(direction, expected.len() as u32, &mut Vec::new());
    assert!(matches!(beyond, Err(StoreError::NoVertex { .. })));
    assert_chosen(graph, direction, expected, looked_up);
}

/// The lists to look up one by one, each of which costs the decoding of a page: all of a small
/// graph, of a larger one some and the longest.
pub fn looked_up(expected: &[Vec<u32>]) -> Vec<VertexId> {
    const ALL_OF: usize = 2_000;
    let all = 0..expected.len() as u32;
    if expected.len() <= ALL_OF {
        return all.collect();
    }
    let step = expected.len().div_ceil(ALL_OF / 2) as u32;
    let some: Vec<VertexId> = all.clone().filter(|v| v % step == step / 2).collect();
    let mut longest: Vec<VertexId> = all.filter(|v| v % step != step / 2).collect();
    longest.sort_by_key(|v| std::cmp::Reverse(expected[*v as usize].len()));
    longest.truncate(50);
    [some, longest].concat()
}

/// Compares entries of lists that are chosen by their positions, in random order, first while
/// nothing is known of long lists and then again.
fn assert_chosen(
    graph: &Graph,
    direction: Direction,
    expected: &[Vec<u32>],
    mut vertices: Vec<VertexId>,
) {
    let mut random = Random(11);
    // A vertex may be asked for twice.
    vertices.extend_from_within(..vertices.len().min(3));
    for at in (1..vertices.len()).rev() {
        vertices.swap(at, random.below(at as u64 + 1) as usize);
    }
    let mut lookup = graph.lookup().unwrap();
    for _ in 0..2 {
        let mut lengths = vec![0; vertices.len()];
        let choose: Choose<'_> = &mut |list, degree, positions| {
            lengths[list] = degree;
            let mut chosen: Vec<u64> = (0..degree.min(5)).map(|_| random.below(degree)).collect();
            chosen.sort_unstable();
            positions.extend(chosen);
        };
        let found = lookup.read_chosen(direction, &vertices, choose).unwrap();
        for (at, &vertex) in vertices.iter().enumerate() {
            let list = &expected[vertex as usize];
            let (positions, entries) = found.list(at);
            assert_eq!(lengths[at], list.len() as u64, "vertex {vertex}");
            assert_eq!(positions.len(), list.len().min(5), "vertex {vertex}");
            let at: Vec<u32> = positions.iter().map(|position| list[*position as usize]).collect();
            assert_eq!(entries, at, "vertex {vertex}, positions {positions:?}");
        }
    }
}

/// Reads all hub neighbours page by page.
pub fn read_hub_neighbours(graph: &Graph) -> Result<Vec<HubNeighbours>> {
    let hub_neighbours = graph.hub_neighbours().expect("the graph has hub neighbours");
    let mut all = Vec::new();
    for page in 0..hub_neighbours.pages() {
        let page_bytes = graph.page_bytes();
        let physical = graph.physical(hub_neighbours.first_page() + page);
        let offset = physical * page_bytes as u64;
        let buffer = Buffer::new(page_bytes)?;
        let bytes = cenote_device::read_exact(graph.device().as_ref(), offset, page_bytes, buffer)?;
        let (first, of_page) = hub_neighbours.parse(page, &bytes)?;
        assert_eq!(first as usize, all.len());
        all.extend_from_slice(of_page);
    }
    Ok(all)
}

/// The hub neighbours by their definition.
pub fn assert_hub_neighbours(graph: &Graph, expected: &TestGraph) {
    let lists = match (&expected.back, expected.directed) {
        (Some(back), _) => back,
        (None, false) => &expected.out,
        (None, true) => return assert!(graph.hub_neighbours().is_none()),
    };
    let entries = lists.iter().map(|list| list.len() as u64).sum();
    assert_eq!(
        graph.hub_neighbours().is_some(),
        expected.hub_neighbours.is_made(lists.len() as u64, entries)
    );
    if graph.hub_neighbours().is_none() {
        return;
    }
    // Four classes to each power of two.
    let class = |v: u32| match lists[v as usize].len() {
        0 => -1,
        len => {
            let power = 1 << len.ilog2();
            4 * i64::from(len.ilog2()) + ((len - power) * 4 / power) as i64
        }
    };
    let found = read_hub_neighbours(graph).unwrap();
    assert_eq!(found.len(), lists.len());
    for (v, head) in (0..).zip(found) {
        let mut others: Vec<u32> = lists[v as usize].iter().copied().filter(|&u| u != v).collect();
        others.dedup();
        let is_whole = others.len() <= HUB_NEIGHBOURS;
        others.sort_by_key(|&u| (-class(u), u));
        others.truncate(HUB_NEIGHBOURS);
        others.sort_unstable();
        others.resize(HUB_NEIGHBOURS, u32::MAX);
        if !is_whole {
            others.reverse();
        }
        assert_eq!(head.0[..], others, "vertex {v}");
        assert_eq!(head.is_whole(), is_whole, "vertex {v}");
    }
}

fn assert_ids(graph: &Graph, expected: &TestGraph) {
    let ids = graph.ids().unwrap();
    let table = ids.load().unwrap();
    let count = expected.out.len();
    let mut streamed = Vec::new();
    ids.for_each(0..count as u32, |vertex, id| {
        assert_eq!(vertex as usize, streamed.len());
        streamed.push(id.to_id());
        Ok::<(), StoreError>(())
    })
    .unwrap();
    for (v, found) in streamed.iter().enumerate() {
        let id = expected.id_of(v);
        assert_eq!(found, &id);
        assert_eq!(ids.id_of(v as u32).unwrap(), id);
        assert_eq!(table.get(v as u32), id.as_ref());
        assert_eq!(ids.vertex_of(&id.to_string()).unwrap(), Some(v as u32), "{id}");
    }
    assert_eq!(streamed.len(), count);
    assert!(ids.id_of(count as u32).is_err());
    assert_eq!(ids.vertex_of("no such vertex").unwrap(), None);
    assert_eq!(ids.vertex_of("").unwrap(), position(expected, ""));
    let (start, end) = (count / 3, count - count / 4);
    let mut part = Vec::new();
    ids.for_each(start as u32..end as u32, |vertex, id: IdRef<'_>| {
        part.push((vertex as usize, id.to_id()));
        Ok::<(), StoreError>(())
    })
    .unwrap();
    let wanted: Vec<_> = (start..end).map(|v| (v, expected.id_of(v))).collect();
    assert_eq!(part, wanted);
}

fn position(expected: &TestGraph, id: &str) -> Option<u32> {
    match &expected.ids {
        TestIds::Strings(ids) => ids.iter().position(|other| other == id).map(|at| at as u32),
        _ => None,
    }
}

/// A copy of a page in aligned memory.
pub fn aligned(bytes: &[u8]) -> Buffer {
    let mut buffer = Buffer::new(bytes.len()).unwrap();
    buffer.copy_from_slice(bytes);
    buffer
}
