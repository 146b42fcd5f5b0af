//! A naive import, and the content of a graph file in the same form.

use std::collections::BTreeMap;
use std::path::Path;

use cenote_device::backend::file::{self, OpenOptions};
use cenote_import::{ImportConfig, ImportReport, InputSpec, NoProgress, import};
use cenote_store::{Direction, Graph, IdRef, StoreError};

/// An outer id: integers sort as numbers, names as bytes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Id {
    Integer(u64),
    Name(Vec<u8>),
}

impl Id {
    pub fn text(&self) -> String {
        match self {
            Id::Integer(id) => id.to_string(),
            Id::Name(name) => String::from_utf8(name.clone()).unwrap(),
        }
    }
}

pub type Lists = BTreeMap<Id, Vec<Id>>;

/// A graph as its user sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plain {
    pub out: Lists,
    pub back: Option<Lists>,
    pub edges: u64,
    pub duplicates: u64,
    pub self_loops: u64,
}

/// What import should make of these edges and vertices.
pub fn expected(edges: &[(Id, Id)], vertices: &[Id], config: &ImportConfig) -> Plain {
    let mut out = Lists::new();
    for id in vertices.iter().chain(edges.iter().flat_map(|(s, t)| [s, t])) {
        out.entry(id.clone()).or_default();
    }
    let mut back = out.clone();
    let mut seen = BTreeMap::new();
    let (mut kept, mut self_loops, mut duplicates) = (0, 0, 0);
    for (source, target) in edges {
        let is_loop = source == target;
        self_loops += u64::from(is_loop);
        if is_loop && !config.keep_self_loops {
            continue;
        }
        let turn = !config.directed && source > target;
        let pair = if turn { (target, source) } else { (source, target) };
        let times = seen.entry(pair).or_insert(0u64);
        *times += 1;
        duplicates += u64::from(*times > 1);
        if *times > 1 && !config.keep_duplicates {
            continue;
        }
        kept += 1;
        out.get_mut(source).unwrap().push(target.clone());
        back.get_mut(target).unwrap().push(source.clone());
        if !config.directed && !is_loop {
            out.get_mut(target).unwrap().push(source.clone());
        }
    }
    out.values_mut().chain(back.values_mut()).for_each(|list| list.sort());
    let back = (config.directed && config.in_edges).then_some(back);
    Plain { out, back, edges: kept, duplicates, self_loops }
}

/// Opens a graph file.
pub fn open(path: &Path) -> Graph {
    Graph::open(file::open(path, &OpenOptions::reading()).unwrap()).unwrap()
}

/// Opens a graph file that must pass `check`.
pub fn open_checked(path: &Path) -> Graph {
    let graph = open(path);
    let checked = cenote_store::check(&graph, &mut |_, _| true).unwrap();
    assert!(checked.faults.is_empty(), "{checked:?}");
    graph
}

/// Reads a graph file; every page passes the checks of the reader, and then `check`.
pub fn read(path: &Path) -> Plain {
    let graph = open_checked(path);
    let ids = ids(&graph);
    let superblock = graph.superblock().clone();
    let lists = |direction| {
        let mut lists: Lists = ids.iter().map(|id| (id.clone(), Vec::new())).collect();
        graph
            .scan(direction, &mut |_, page| {
                for list in page.lists() {
                    let targets = list.targets.iter().map(|&t| ids[t as usize].clone());
                    lists.get_mut(&ids[list.vertex as usize]).unwrap().extend(targets);
                }
                Ok(())
            })
            .unwrap();
        lists.values_mut().for_each(|list| list.sort());
        lists
    };
    Plain {
        out: lists(Direction::Out),
        back: superblock.in_edges.then(|| lists(Direction::In)),
        edges: superblock.edges,
        duplicates: superblock.duplicates,
        self_loops: superblock.self_loops,
    }
}

/// The outer ids of all vertices, which every way to them gives alike.
pub fn ids(graph: &Graph) -> Vec<Id> {
    let stored = graph.ids().unwrap();
    let table = stored.load().unwrap();
    let mut ids = vec![None; graph.vertices()];
    let mut last = None;
    stored
        .for_each(0..graph.vertices() as u32, |vertex, id| {
            assert_eq!(table.get(vertex), id);
            assert_eq!(stored.id_of(vertex).unwrap().as_ref(), id);
            assert_eq!(stored.vertex_of(&id.to_string()).unwrap(), Some(vertex));
            assert!(last < Some(id.to_id()), "ids come in ascending order");
            last = Some(id.to_id());
            ids[vertex as usize] = Some(match id {
                IdRef::Integer(id) => Id::Integer(id),
                IdRef::String(name) => Id::Name(name.as_bytes().to_vec()),
            });
            Ok::<(), StoreError>(())
        })
        .unwrap();
    ids.into_iter().map(|id| id.expect("every vertex has an id")).collect()
}

/// Imports and demands that graph and report are what the oracle says.
pub fn assert_imports(
    inputs: &[InputSpec],
    config: &ImportConfig,
    edges: &[(Id, Id)],
    vertices: &[Id],
) -> ImportReport {
    assert_imported(inputs, config, edges, vertices).0
}

/// The same with the graph, whose file is already gone.
pub fn assert_imported(
    inputs: &[InputSpec],
    config: &ImportConfig,
    edges: &[(Id, Id)],
    vertices: &[Id],
) -> (ImportReport, Graph) {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("g.cenote");
    let report = import(inputs, &out, config, &NoProgress).unwrap();
    let expected = expected(edges, vertices, config);
    let found = read(&out);
    assert_eq!(found, expected);
    assert_eq!(report.vertices, expected.out.len() as u64);
    assert_eq!(report.edges, expected.edges);
    assert_eq!(report.duplicates, expected.duplicates);
    assert_eq!(report.self_loops, expected.self_loops);
    let stored = |lists: &Lists| lists.values().map(|list| list.len() as u64).sum::<u64>();
    let back = expected.back.as_ref().map_or(0, stored);
    assert_eq!(report.stored_edges, stored(&expected.out) + back);
    assert_eq!(report.output_bytes, std::fs::metadata(&out).unwrap().len());
    assert!(report.peak_memory_bytes <= config.memory_bytes as u64);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "only the graph is left");
    (report, open(&out))
}

/// A file of these bytes.
pub fn file(folder: &tempfile::TempDir, name: &str, bytes: &[u8]) -> InputSpec {
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    InputSpec::new(path)
}

/// Integer edges.
pub fn integers(edges: &[(u64, u64)]) -> Vec<(Id, Id)> {
    edges.iter().map(|&(s, t)| (Id::Integer(s), Id::Integer(t))).collect()
}

/// Named edges.
pub fn names(edges: &[(&str, &str)]) -> Vec<(Id, Id)> {
    let name = |name: &str| Id::Name(name.as_bytes().to_vec());
    edges.iter().map(|&(s, t)| (name(s), name(t))).collect()
}

/// A small budget: many ranges, small blocks.
pub fn tight(config: ImportConfig) -> ImportConfig {
    config.memory_bytes(16 << 20)
}
