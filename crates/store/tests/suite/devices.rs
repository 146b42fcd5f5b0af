//! Graphs on real files and on a simulated device that fails in every way it can.

use std::sync::Arc;

use crate::graphs::{TestGraph, TestIds, assert_same};
use cenote_device::Device;
use cenote_device::backend::file::{self, BackendChoice, OpenOptions};
use cenote_device::backend::sim::{Effect, FaultPlan, SimConfig, SimDevice, When};
use cenote_device::model::preset::Preset;
use cenote_device::wrapper::Layer;
use cenote_store::{
    Direction, Graph, HubNeighboursChoice, Result, Store, StoreError, check_device,
};

const EIO: i32 = 5;

/// More pages than one write buffer holds, so that faults can hit the middle.
fn graph() -> TestGraph {
    let mut edges: Vec<_> =
        (0..150_000u32).map(|i| (i % 9_000, i.wrapping_mul(77_773) % 9_000)).collect();
    edges.extend((0..9_000).map(|v| (42, v)));
    edges.sort_unstable();
    edges.dedup();
    let ids = TestIds::Integers((0..9_000).map(|v| v * 3).collect());
    TestGraph { ids, ..TestGraph::directed(9_000, &edges) }
}

fn sim(faults: FaultPlan) -> Arc<SimDevice> {
    let model = Preset::all()[0].model();
    let config = SimConfig::new(model).faults(faults).block_bytes(4096).jitter(0.5);
    Arc::new(SimDevice::new(config))
}

fn sim_with(contents: &[u8], faults: FaultPlan) -> Arc<SimDevice> {
    let model = Preset::all()[0].model();
    let config = SimConfig::new(model).faults(faults).block_bytes(4096).jitter(0.5);
    Arc::new(SimDevice::with_contents(config, contents))
}

/// A sum over all that can be read, or the first error.
fn read_all(device: Arc<dyn Device>) -> Result<u64> {
    let graph = Graph::open(device)?;
    let mut sum = graph.superblock().edges;
    for direction in [Direction::Out, Direction::In] {
        graph.scan(direction, &mut |_, page| {
            let lists = page.lists().map(|list| list.targets.iter().map(|t| u64::from(*t)).sum());
            sum += lists.map(|sum: u64| sum.wrapping_mul(31)).sum::<u64>();
            Ok(())
        })?;
        graph.degrees(direction, &mut |_, degrees| sum += degrees.iter().sum::<u64>())?;
    }
    graph.ids()?.for_each(0..9_000, |v, id| {
        sum += u64::from(v) * id.to_string().len() as u64;
        Ok::<(), StoreError>(())
    })?;
    Ok(sum)
}

#[test]
fn graph_on_a_file_comes_back_through_every_backend() {
    let folder = tempfile::tempdir().unwrap();
    for (name, backend) in [("auto", BackendChoice::Auto), ("threads", BackendChoice::Threads)] {
        let path = folder.path().join(name);
        let edges: Vec<_> = (0..20_000).map(|i| (i % 300, i * 7 % 301)).collect();
        let graph = TestGraph::directed(301, &edges);
        let options = OpenOptions::creating().backend(backend);
        let written = graph.write_to(file::open(&path, &options).unwrap(), 1000).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().len(), written.file_bytes());
        let options = OpenOptions::reading().backend(backend);
        let stored = Graph::open(file::open(&path, &options).unwrap()).unwrap();
        assert_same(&stored, &graph);
    }
}

#[test]
fn shorter_graph_over_a_longer_one_leaves_nothing_of_it() {
    let device = sim(FaultPlan::none());
    graph().write_to(device.clone(), usize::MAX).unwrap();
    let small = TestGraph::undirected(3, &[(0, 1)]);
    small.write_to(device.clone(), usize::MAX).unwrap();
    assert_same(&Graph::open(device).unwrap(), &small);
}

#[test]
fn power_cut_at_any_operation_leaves_a_whole_graph_or_none() {
    let graph = graph();
    let calm = sim(FaultPlan::none());
    graph.write_to(calm.clone(), usize::MAX).unwrap();
    let whole = calm.contents();
    let mut outcomes = [0; 2];
    for seed in 0..4 {
        for operation in 0..calm.operations() {
            let device = sim(FaultPlan::power_cut(seed, operation));
            graph.write_to(device.clone(), usize::MAX).unwrap_err();
            let found = Arc::new(device.restart(FaultPlan::none()));
            let report = check_device(found.clone(), &mut |_, _| true).unwrap();
            outcomes[usize::from(report.is_whole())] += 1;
            if report.is_whole() {
                assert!(found.contents() == whole, "seed {seed}, operation {operation}");
            }
        }
        let device = sim(FaultPlan::seeded(seed));
        graph.write_to(device.clone(), usize::MAX).unwrap();
        let found = Arc::new(device.restart(FaultPlan::none()));
        assert!(found.contents() == whole, "what was acknowledged is there");
    }
    println!("no graph after {} power cuts, a whole one after {}", outcomes[0], outcomes[1]);
    assert!(outcomes[0] > 0);
}

#[test]
fn torn_or_lost_write_is_found_whichever_it_is() {
    let graph = graph();
    let calm = sim(FaultPlan::none());
    graph.write_to(calm.clone(), usize::MAX).unwrap();
    let whole = calm.contents();
    let mut found_count = 0;
    for effect in [Effect::TornWrite, Effect::LostWrite] {
        for (seed, write) in (0..3).flat_map(|seed| (0..10).map(move |write| (seed, write))) {
            let device = sim(FaultPlan::seeded(seed).with(When::Write(write), effect));
            let written = graph.write_to(device.clone(), usize::MAX);
            let found = Arc::new(device.restart(FaultPlan::none()));
            let contents = found.contents();
            if written.is_err() || contents == whole {
                continue;
            }
            found_count += 1;
            let report = check_device(found, &mut |_, _| true).unwrap();
            assert!(!report.is_whole(), "{effect:?}, seed {seed}, write {write}");
        }
    }
    assert!(found_count > 0, "some write was torn or lost");
}

#[test]
fn read_that_fails_anywhere_is_an_error_and_never_a_wrong_result() {
    let calm = sim(FaultPlan::none());
    graph().write_to(calm.clone(), usize::MAX).unwrap();
    let contents = calm.contents();
    let calm = sim_with(&contents, FaultPlan::none());
    let sum = read_all(calm.clone()).unwrap();
    let reads = calm.operations();
    for effect in [Effect::Errno(EIO), Effect::ShortRead] {
        for read in 0..reads {
            let faults = FaultPlan::seeded(read).with(When::Read(read), effect);
            match read_all(sim_with(&contents, faults.clone())) {
                Ok(found) => {
                    let harmless = effect == Effect::ShortRead;
                    assert!(harmless && found == sum, "{effect:?} at read {read}");
                }
                Err(StoreError::Device(error)) => {
                    assert!(error.to_string().contains("sim"), "{error}");
                }
                Err(error) => panic!("{effect:?} at read {read}: {error}"),
            }
            let checked = check_device(sim_with(&contents, faults), &mut |_, _| true);
            assert!(effect == Effect::ShortRead || checked.is_err(), "read {read}");
        }
    }
}

#[test]
fn full_device_is_an_error_and_leaves_no_graph() {
    let faults = FaultPlan { capacity_bytes: Some(300_000), ..FaultPlan::none() };
    let device = sim(faults);
    let error = graph().write_to(device.clone(), usize::MAX).unwrap_err().to_string();
    assert!(error.contains("No space left"), "{error}");
    assert!(Graph::open(device).is_err());
}

/// A device of a fixed size, as a raw block device is.
#[derive(Debug)]
struct Fixed(crate::graphs::MemoryDevice);

impl Layer for Fixed {
    fn inner(&self) -> &dyn Device {
        &self.0
    }

    fn set_len(&self, bytes: u64) -> cenote_device::Result<()> {
        assert!(bytes <= self.0.len_bytes()?, "it has no more room");
        Ok(())
    }
}

#[test]
fn a_block_device_holds_a_graph_whatever_was_there_before() {
    let memory = crate::graphs::MemoryDevice::with_bytes(vec![0xaa; 4 << 20]);
    let device = || Arc::new(Fixed(memory.clone())) as Arc<dyn Device>;
    assert!(matches!(Graph::open(device()), Err(StoreError::NotCenote { .. })));
    let large = graph();
    large.write_to(device(), usize::MAX).unwrap();
    assert_same(&Graph::open(device()).unwrap(), &large);
    // Commits of the old graph are of later epochs than that of the new one.
    let store = Store::open(device()).unwrap();
    for _ in 0..3 {
        store.rebuild_derived(HubNeighboursChoice::No, 1).unwrap();
    }
    assert_same(&Graph::open(device()).unwrap(), &large);
    let small = TestGraph::undirected(3, &[(0, 1)]);
    small.write_to(device(), usize::MAX).unwrap();
    assert_same(&Graph::open(device()).unwrap(), &small);
    assert_eq!(memory.bytes().len(), 4 << 20);
}

#[test]
fn an_import_over_an_old_graph_that_ends_early_leaves_neither() {
    let memory = crate::graphs::MemoryDevice::with_bytes(vec![0; 4 << 20]);
    let device = || Arc::new(Fixed(memory.clone())) as Arc<dyn Device>;
    graph().write_to(device(), usize::MAX).unwrap();
    let store = Store::open(device()).unwrap();
    store.rebuild_derived(HubNeighboursChoice::No, 1).unwrap();
    memory.fail_after_writes(2);
    graph().write_to(device(), usize::MAX).unwrap_err();
    assert!(matches!(Graph::open(device()), Err(StoreError::Unfinished { .. })));
}
