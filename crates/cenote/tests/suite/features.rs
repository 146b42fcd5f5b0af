//! Files of features, against rows in memory, and damaged ones.

use std::path::{Path, PathBuf};

use cenote::features::FeatureType;
use cenote::{Compact, Error, Graph, Import, Update, VertexId};

use crate::graphs::Random;

const NEVER: &dyn Fn() -> bool = &|| false;

fn graph(folder: &Path, vertices: u64) -> (PathBuf, Graph) {
    let path = folder.join("g.cenote");
    let edges = (0..vertices - 1).map(|v| (3 * v, 3 * v + 3));
    Import::new().edges(edges).memory("64MiB").overwrite().run(&path).unwrap();
    let graph = Graph::open(&path).unwrap();
    (path, graph)
}

/// Writes random rows. Returns them and the file.
fn written(graph: &Graph, folder: &Path, kind: FeatureType, columns: u32) -> (Vec<u8>, PathBuf) {
    let path = folder.join("x.features");
    let mut random = Random(u64::from(columns));
    let bytes = graph.vertices() * u64::from(columns) * kind.bytes();
    let rows: Vec<u8> = (0..bytes).map(|_| random.next() as u8).collect();
    let mut writer = graph.create_features(&path, kind, columns).unwrap();
    let size = rows.len().div_ceil(3).max(1);
    rows.chunks(size).for_each(|part| writer.push(part).unwrap());
    assert_eq!(writer.finish().unwrap(), path.metadata().unwrap().len());
    (rows, path)
}

#[test]
fn rows_of_any_width_come_back_in_the_given_order() {
    let folder = tempfile::tempdir().unwrap();
    let (_, graph) = graph(folder.path(), 700);
    for (kind, columns) in [
        (FeatureType::Bool, 1),
        (FeatureType::F32, 1),
        (FeatureType::F16, 7),
        (FeatureType::F32, 511),
        (FeatureType::F64, 511),
        (FeatureType::I64, 512),
        (FeatureType::U8, 10_001),
    ] {
        let (rows, path) = written(&graph, folder.path(), kind, columns);
        let features = graph.features(&path).unwrap();
        assert_eq!((features.rows(), features.columns(), features.kind()), (700, columns, kind));
        let width = (u64::from(columns) * kind.bytes()) as usize;
        let mut random = Random(1);
        let some: Vec<VertexId> = (0..60).map(|_| random.below(700) as VertexId).collect();
        let all: Vec<VertexId> = (0..700).rev().collect();
        for vertices in [&[][..], &[699], &[5, 5, 5], &some, &all] {
            let found = features.fetch(vertices, NEVER).unwrap();
            let expected: Vec<u8> = vertices
                .iter()
                .flat_map(|&v| &rows[v as usize * width..][..width])
                .copied()
                .collect();
            assert!(found == expected, "{kind:?}, {columns} columns, {} rows", vertices.len());
        }
        let beyond = features.fetch(&[0, 700], NEVER).unwrap_err().to_string();
        assert!(beyond.contains("vertices have 700") && beyond.contains("700 rows"), "{beyond}");
        assert!(matches!(features.fetch(&[1], &|| true), Err(Error::Cancelled)));
    }
}

/// Deleted vertices keep their numbers, and so their rows.
#[test]
fn a_deleted_vertex_keeps_its_row() {
    let folder = tempfile::tempdir().unwrap();
    let (path, whole) = graph(folder.path(), 40);
    let (rows, before) = written(&whole, folder.path(), FeatureType::U8, 1);
    let mut update = Update::open(&path).unwrap();
    update.delete_vertex(0).unwrap();
    update.commit().unwrap();
    let graph = Graph::open(&path).unwrap();
    assert_eq!((graph.vertices(), graph.stored().vertices()), (39, 40));
    let fetched = |path: &Path| graph.features(path)?.fetch(&[39, 0], NEVER);
    assert_eq!(fetched(&before).unwrap(), [rows[39], rows[0]]);
    let after = folder.path().join("after.features");
    let mut writer = graph.create_features(&after, FeatureType::U8, 1).unwrap();
    writer.push(&rows).unwrap();
    writer.finish().unwrap();
    assert_eq!(fetched(&after).unwrap(), [rows[39], rows[0]]);
    let mut writer = graph.create_features(&after, FeatureType::U8, 1).unwrap();
    writer.push(&rows[1..]).unwrap();
    let error = writer.finish().unwrap_err().to_string();
    assert!(error.contains("deleted ones included"), "{error}");
}

#[test]
fn damaged_files_are_refused_and_the_page_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let (_, graph) = graph(folder.path(), 3000);
    let (_, path) = written(&graph, folder.path(), FeatureType::F32, 4);
    let good = std::fs::read(&path).unwrap();
    let all: Vec<VertexId> = (0..3000).collect();
    for at in (0..good.len()).step_by(577).chain([0, 4095, 4096, good.len() - 1]) {
        let mut bytes = good.clone();
        bytes[at] ^= 1 << (at % 8);
        std::fs::write(&path, bytes).unwrap();
        let fetched = graph.features(&path).and_then(|features| features.fetch(&all, NEVER));
        let error = fetched.map(drop).unwrap_err();
        assert!(matches!(error, Error::Corrupt(_)), "byte {at}: {error}");
        let named = error.to_string().contains(&format!("page {}:", at / 4096));
        assert!(named || at < 20, "byte {at}: {error}");
    }
    // A page in the place of another is found when its rows are fetched, and only then. A file of a
    // wrong length is refused.
    let mut swapped = good.clone();
    swapped.copy_within(4096..8192, 8192);
    std::fs::write(&path, swapped).unwrap();
    let features = graph.features(&path).unwrap();
    let error = features.fetch(&all, NEVER).unwrap_err().to_string();
    assert!(error.contains("x.features: page 2: the checksum"), "{error}");
    assert!(features.fetch(&[0, 2999], NEVER).is_ok());
    for len in [0, 5, 4096, good.len() - 4096, good.len() - 1, good.len() + 1] {
        let mut bytes = good.clone();
        bytes.resize(len, 0);
        std::fs::write(&path, bytes).unwrap();
        let error = graph.features(&path).unwrap_err();
        assert!(matches!(error, Error::Corrupt(_) | Error::Device(_)), "{len}: {error}");
    }
    std::fs::write(&path, [7; 8192]).unwrap();
    let error = graph.features(&path).unwrap_err().to_string();
    assert!(error.contains("no file of features"), "{error}");
    std::fs::remove_file(&path).unwrap();
    assert!(matches!(graph.features(&path), Err(Error::Io { .. })));
}

#[test]
fn a_file_belongs_to_one_numbering_of_one_graph() {
    let folder = tempfile::tempdir().unwrap();
    let (graph_path, graph) = graph(folder.path(), 100);
    let (rows, path) = written(&graph, folder.path(), FeatureType::U64, 1);
    // Later vertices have no row; those before keep theirs.
    let mut update = Update::open(&graph_path).unwrap();
    update.add(1u64, 2u64).unwrap();
    update.delete_vertex(0u64).unwrap();
    update.commit().unwrap();
    drop(update);
    let later = Graph::open(&graph_path).unwrap();
    let features = later.features(&path).unwrap();
    assert_eq!((features.rows(), later.stored().vertices()), (100, 102));
    assert_eq!(features.fetch(&[1], NEVER).unwrap(), rows[8..16]);
    assert!(features.fetch(&[100], NEVER).is_err());
    drop((features, later, graph));
    Compact::new(&graph_path).run().unwrap();
    let compacted = Graph::open(&graph_path).unwrap();
    let error = compacted.features(&path).unwrap_err();
    assert!(
        matches!(&error, Error::InvalidInput(reason) if reason.contains("compaction")),
        "{error}"
    );
    // Incomplete files do not appear, and the graph is no output.
    let other = folder.path().join("y.features");
    let mut writer = compacted.create_features(&other, FeatureType::U8, 2).unwrap();
    writer.push(&[1; 7]).unwrap();
    let error = writer.finish().unwrap_err().to_string();
    assert!(error.contains("fewer rows than vertices: 3 of 2 bytes"), "{error}");
    let mut writer = compacted.create_features(&other, FeatureType::U8, 1).unwrap();
    let error = writer.push(&[1; 200]).unwrap_err().to_string();
    assert!(error.contains("more rows than vertices"), "{error}");
    drop(writer);
    assert!(!other.exists());
    assert!(compacted.create_features(&graph_path, FeatureType::U8, 1).is_err());
    assert!(compacted.create_features(&other, FeatureType::U8, 0).is_err());
}
