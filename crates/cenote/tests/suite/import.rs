//! The builder of imports.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use cenote::import::{HubNeighboursChoice, ImportError, Phase};
use cenote::{Compact, Error, Import};

fn edges() -> Vec<(u32, u32)> {
    (0..20_000u32).map(|i| (i * 7 % 4999, i * 31 % 5003)).collect()
}

fn names(folder: &Path) -> Vec<PathBuf> {
    let mut names: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    names
}

#[test]
fn iterators_slices_and_files_make_one_graph() {
    let folder = tempfile::tempdir().unwrap();
    let edges = edges();
    let text: String = edges.iter().map(|(s, t)| format!("{s} {t}\n")).collect();
    let path = folder.path().join("edges.txt");
    fs::write(&path, text).unwrap();
    let out = |name: &str| folder.path().join(name);
    let new = || Import::new().directed().in_edges().memory("32MiB").threads(2);
    new().path(&path).run(out("file")).unwrap();
    new().slice(&edges).run(out("slice")).unwrap();
    new().edges(edges.iter().copied()).run(out("iterator")).unwrap();
    let expected = fs::read(out("file")).unwrap();
    assert!(fs::read(out("slice")).unwrap() == expected);
    assert!(fs::read(out("iterator")).unwrap() == expected);
}

#[test]
fn closures_get_progress_and_stop_an_import() {
    let folder = tempfile::tempdir().unwrap();
    let edges = edges();
    let heard = Mutex::new(Vec::new());
    let hear = |phase, done, total| heard.lock().unwrap().push((phase, done, total));
    Import::new().slice(&edges).progress(hear).run(folder.path().join("g")).unwrap();
    let heard = heard.into_inner().unwrap();
    assert_eq!(heard[0], (Phase::Read, 0, Some(320_000)));
    assert!(heard.contains(&(Phase::Read, 320_000, Some(320_000))), "{heard:?}");
    let stopped = Import::new().slice(&edges).cancel(|| true).run(folder.path().join("h"));
    assert!(matches!(stopped, Err(ImportError::Cancelled)));
}

#[test]
fn errors_name_parameters() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("g");
    let message = |import: Import<'_>| import.run(&out).unwrap_err().to_string();
    let edges = edges();
    assert!(message(Import::new().slice(&edges).memory("much")).contains("`memory` much"));
    assert!(message(Import::new().slice(&edges).memory("64KiB")).contains("`memory` of 65536"));
    assert!(message(Import::new().slice(&edges).threads(1000)).contains("`threads`"));
    assert!(message(Import::new().slice(&edges).tier("fast")).contains("`tier`"));
    assert!(names(folder.path()).is_empty());
}

#[test]
fn the_memory_that_an_error_names_is_enough_for_rows_and_for_compacting() {
    let folder = tempfile::tempdir().unwrap();
    let [graph, out] = ["graph", "out"].map(|name| folder.path().join(name));
    let edges = edges();
    for threads in [1, 2, 4] {
        for memory in [1, 1 << 20, 8 << 20] {
            let import = |memory: usize| {
                let import = Import::new().edges(edges.iter().copied()).overwrite();
                let import = import.hub_neighbours(HubNeighboursChoice::Yes).threads(threads);
                import.memory(memory).run(&graph)
            };
            if let Err(error) = import(memory) {
                let ImportError::Memory { needed, .. } = error else { panic!("{error}") };
                import(needed).unwrap();
            }
            let compact = |memory: String| {
                Compact::new(&graph).out(&out).overwrite().threads(threads).memory(memory).run()
            };
            let error = compact(memory.to_string()).unwrap_err();
            let Error::MemoryBudget { suggested, .. } = error else { panic!("{error}") };
            compact(format!("{suggested}MiB")).unwrap();
        }
    }
}

#[test]
fn replacing_a_copied_map_keeps_the_tiers_of_its_graph() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let edges = edges();
    for tier in ["fast", "slow"] {
        fs::create_dir(path(tier)).unwrap();
    }
    let tiered = |import: Import<'static>| {
        let fast = format!("fast={}:8MiB", path("fast").display());
        import.tier(fast).tier(format!("slow={}:64MiB", path("slow").display()))
    };
    tiered(Import::new()).edges(self::edges()).run(path("g.cenote")).unwrap();
    let tiers = || [names(&path("fast")), names(&path("slow"))].concat();
    let before = tiers();
    assert_eq!(before.len(), 2);
    for tier in &before {
        let error = Import::new().slice(&edges).overwrite().run(tier).unwrap_err().to_string();
        assert!(error.contains("is a tier of a graph"), "{error}");
    }
    // A copy alone, and one with all that lies beside the graph.
    for with_policy in [false, true] {
        fs::copy(path("g.cenote"), path("copy.cenote")).unwrap();
        if with_policy {
            fs::copy(path("g.cenote.policy"), path("copy.cenote.policy")).unwrap();
        }
        Import::new().slice(&edges).overwrite().run(path("copy.cenote")).unwrap();
        assert_eq!(tiers(), before);
    }
    fs::copy(path("g.cenote"), path("copy.cenote")).unwrap();
    tiered(Import::new()).edges(self::edges()).overwrite().run(path("copy.cenote")).unwrap();
    assert!(before.iter().all(|file| file.exists()) && tiers().len() == 4);
    // The graph itself owns them, also under another name.
    fs::rename(path("g.cenote"), path("h.cenote")).unwrap();
    fs::rename(path("g.cenote.policy"), path("h.cenote.policy")).unwrap();
    Import::new().slice(&edges).overwrite().run(path("h.cenote")).unwrap();
    assert!(before.iter().all(|file| !file.exists()));
}

#[test]
fn arrow_batches_make_the_graph_of_the_slice() {
    use cenote::import::arrow_array::{ArrayRef, RecordBatch, RecordBatchIterator, UInt32Array};
    let folder = tempfile::tempdir().unwrap();
    let edges = edges();
    let column = |ids: &mut dyn Iterator<Item = u32>| -> ArrayRef {
        std::sync::Arc::new(ids.collect::<UInt32Array>())
    };
    let [sources, targets] = [
        column(&mut edges.iter().map(|edge| edge.0)),
        column(&mut edges.iter().map(|edge| edge.1)),
    ];
    let batch = RecordBatch::try_from_iter([("source", sources), ("target", targets)]).unwrap();
    let schema = batch.schema();
    let batches = (0..4).map(move |part| Ok(batch.slice(part * 5000, 5000)));
    let [slice, arrow] = ["slice", "arrow"].map(|name| folder.path().join(name));
    Import::new().slice(&edges).run(&slice).unwrap();
    Import::new().arrow(RecordBatchIterator::new(batches, schema)).run(&arrow).unwrap();
    assert!(fs::read(slice).unwrap() == fs::read(arrow).unwrap());
}
