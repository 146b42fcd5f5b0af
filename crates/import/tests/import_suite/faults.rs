//! Imports on faulty devices: an error and no graph, or the graph if the fault had no effect.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use cenote_device::Device;
use cenote_device::backend::sim::{Effect, FaultPlan, SimConfig, SimDevice, Unsynced, When};
use cenote_device::model::preset::Preset;
use cenote_import::{
    ImportConfig, ImportError, ImportReport, InputSpec, NoProgress, Workspace, import_into, rewrite,
};
use cenote_store::hub_neighbours::HubNeighboursChoice;
use cenote_store::{Graph, Order};

use crate::oracle::file;

const EIO: i32 = 5;
const ENOSPC: i32 = 28;

/// Devices in virtual time, each with its plan.
struct Simulated {
    spill_plan: FaultPlan,
    output_plan: FaultPlan,
    devices: Mutex<Vec<Arc<SimDevice>>>,
    output: Mutex<Option<Arc<SimDevice>>>,
    published: AtomicBool,
}

impl Simulated {
    fn new(spill_plan: FaultPlan, output_plan: FaultPlan) -> Self {
        Self {
            spill_plan,
            output_plan,
            devices: Mutex::default(),
            output: Mutex::default(),
            published: AtomicBool::new(false),
        }
    }

    fn device(faults: FaultPlan) -> Arc<SimDevice> {
        let model = Preset::all()[0].model();
        Arc::new(SimDevice::new(SimConfig::new(model).faults(faults)))
    }

    fn output(&self) -> Arc<SimDevice> {
        self.output.lock().unwrap().clone().expect("an output was made")
    }

    fn published(&self) -> bool {
        self.published.load(Ordering::SeqCst)
    }
}

impl Workspace for Simulated {
    fn spill(&self) -> Result<Arc<dyn Device>, ImportError> {
        let device = Self::device(self.spill_plan.clone());
        self.devices.lock().unwrap().push(Arc::clone(&device));
        Ok(device)
    }

    fn output(&self) -> Result<Arc<dyn Device>, ImportError> {
        let device = Self::device(self.output_plan.clone());
        *self.output.lock().unwrap() = Some(Arc::clone(&device));
        Ok(device)
    }

    fn publish(&self) -> Result<(), ImportError> {
        self.published.store(true, Ordering::SeqCst);
        Ok(())
    }
}

fn input(folder: &tempfile::TempDir) -> InputSpec {
    input_of(folder, 40_000)
}

fn input_of(folder: &tempfile::TempDir, edges: u64) -> InputSpec {
    let mut text = String::new();
    (0..edges).for_each(|i| text.push_str(&format!("{} {}\n", i % 997 * 3, i * i % 1009)));
    file(folder, &format!("{edges}.txt"), text.as_bytes())
}

fn run(workspace: &Simulated, spec: &InputSpec) -> Result<ImportReport, ImportError> {
    let config =
        ImportConfig::default().directed(true).in_edges(true).threads(1).memory_bytes(16 << 20);
    import_into(std::slice::from_ref(spec), workspace, &config, &NoProgress)
}

/// Imports in a budget so small that blocks do not stay in memory.
fn run_spilling(workspace: &Simulated, spec: &InputSpec) -> Result<ImportReport, ImportError> {
    let config = ImportConfig::default()
        .directed(true)
        .in_edges(true)
        .hub_neighbours(HubNeighboursChoice::No)
        .threads(1)
        .memory_bytes(10 << 20);
    import_into(std::slice::from_ref(spec), workspace, &config, &NoProgress)
}

type Runs = fn(&Simulated, &InputSpec) -> Result<ImportReport, ImportError>;

/// The bytes of the graph without faults, and the operations on output and spill files.
fn faultless(run: Runs, spec: &InputSpec) -> (Vec<u8>, u64, u64) {
    let workspace = Simulated::new(FaultPlan::none(), FaultPlan::none());
    run(&workspace, spec).unwrap();
    assert!(workspace.published());
    let output = workspace.output();
    let spills = workspace.devices.lock().unwrap();
    let most = spills.iter().map(|device| device.operations()).max().unwrap();
    (output.contents(), output.operations(), most)
}

#[test]
fn any_operation_that_fails_is_an_error_and_no_graph() {
    // The errors in turn.
    fail_each(120_000, |errno, n| (errno == EIO) == (n % 2 == 0));
}

#[test]
#[ignore = "long: make soak"]
fn longer_any_operation_that_fails_is_an_error_and_no_graph() {
    fail_each(200_000, |_, _| true);
}

/// Lets each operation fail, with the errors that are chosen for it; so many edges are spilled.
fn fail_each(edges: u64, is_chosen: impl Fn(i32, u64) -> bool) {
    let folder = tempfile::tempdir().unwrap();
    let spec = input(&folder);
    let (_, output_operations, _) = faultless(run, &spec);
    let larger = input_of(&folder, edges);
    let (_, _, spill_operations) = faultless(run_spilling, &larger);
    assert!(output_operations > 3 && spill_operations > 3);
    for errno in [EIO, ENOSPC] {
        for n in (0..output_operations).filter(|n| is_chosen(errno, *n)) {
            let plan = FaultPlan::seeded(n).with(When::Operation(n), Effect::Errno(errno));
            let workspace = Simulated::new(FaultPlan::none(), plan);
            let error = run(&workspace, &spec).expect_err("a failed operation is an error");
            assert!(error.to_string().contains("sim:"), "operation {n}: {error}");
            assert!(!workspace.published(), "operation {n}");
        }
        for n in (0..spill_operations).filter(|n| is_chosen(errno, *n)) {
            let plan = FaultPlan::seeded(n).with(When::Operation(n), Effect::Errno(errno));
            let workspace = Simulated::new(plan, FaultPlan::none());
            let error =
                run_spilling(&workspace, &larger).expect_err("a failed operation is an error");
            assert!(error.to_string().contains("sim:"), "operation {n}: {error}");
            assert!(!workspace.published(), "operation {n}");
        }
    }
}

#[test]
fn a_full_disk_says_how_much_is_needed() {
    let folder = tempfile::tempdir().unwrap();
    let spec = input(&folder);
    let full = FaultPlan { capacity_bytes: Some(64 << 10), ..FaultPlan::none() };
    for (spill, output, remedy) in
        [(full.clone(), FaultPlan::none(), "temp_dir"), (FaultPlan::none(), full, "out")]
    {
        let workspace = Simulated::new(spill, output);
        let error = run_spilling(&workspace, &spec).unwrap_err();
        let message = error.to_string();
        assert!(matches!(error, ImportError::Full { .. }), "{message}");
        assert!(message.contains("no space left") && message.contains(remedy), "{message}");
        assert!(!workspace.published());
    }
}

#[test]
fn spilled_blocks_that_are_lost_or_torn_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let spec = input(&folder);
    let (graph, _, spill_operations) = faultless(run_spilling, &spec);
    for effect in [Effect::LostWrite, Effect::TornWrite, Effect::ShortRead] {
        for n in 0..spill_operations {
            let plan = FaultPlan::seeded(n).with(When::Operation(n), effect);
            let workspace = Simulated::new(plan, FaultPlan::none());
            match run_spilling(&workspace, &spec) {
                // The fault met no operation that it has an effect on, or came to nothing.
                Ok(_) => assert!(workspace.output().contents() == graph, "{effect:?} at {n}"),
                Err(error) => assert!(error.to_string().contains("sim:"), "{error}"),
            }
        }
    }
    // The medium itself changes bits.
    let plan = FaultPlan { flipped_bits: vec![(4097, 3)], ..FaultPlan::none() };
    let error = run_spilling(&Simulated::new(plan, FaultPlan::none()), &spec).unwrap_err();
    assert!(matches!(error, ImportError::SpillDamaged { .. }), "{error}");
}

#[test]
fn power_cut_at_any_operation_leaves_no_graph_that_opens() {
    let folder = tempfile::tempdir().unwrap();
    let spec = input(&folder);
    let (graph, operations, _) = faultless(run, &spec);
    for n in 0..operations {
        for unsynced in [Unsynced::Random, Unsynced::Kept, Unsynced::Lost, Unsynced::Torn] {
            let plan = FaultPlan { unsynced, ..FaultPlan::power_cut(n, n) };
            let workspace = Simulated::new(FaultPlan::none(), plan);
            run(&workspace, &spec).expect_err("the power is gone");
            assert!(!workspace.published());
            let after = workspace.output().restart(FaultPlan::none());
            if after.contents() == graph {
                continue;
            }
            let opened = Graph::open(Arc::new(after));
            assert!(opened.is_err(), "a half graph opens after a power cut at operation {n}");
        }
    }
}

/// Rewrites a stored graph that lies on a device with faults.
fn rewritten(
    stored: &SimDevice,
    faults: FaultPlan,
    workspace: &Simulated,
) -> Result<u64, ImportError> {
    let device = Arc::new(stored.restart(faults));
    let graph = Arc::new(Graph::open(device.clone())?);
    let config = ImportConfig::of_stored(&graph).threads(1).memory_bytes(24 << 20);
    rewrite(&graph, workspace, &config, &NoProgress)?;
    Ok(device.operations())
}

#[test]
fn a_stored_graph_that_cannot_be_read_to_its_end_gives_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let text: String =
        (0..90_000u64).map(|i| format!("v{} v{}\n", i % 29_989, i * i % 30_011)).collect();
    let spec = file(&folder, "names.txt", text.as_bytes());
    let workspace = Simulated::new(FaultPlan::none(), FaultPlan::none());
    let order = Order::Random { seed: 3 };
    let config = ImportConfig::default().order(order).threads(1).memory_bytes(24 << 20);
    import_into(std::slice::from_ref(&spec), &workspace, &config, &NoProgress).unwrap();
    let stored = workspace.output();
    // Without the repeated edges of the input, which it counts.
    let workspace = Simulated::new(FaultPlan::none(), FaultPlan::none());
    let operations = rewritten(&stored, FaultPlan::none(), &workspace).unwrap();
    let expected = workspace.output().contents();
    assert!(workspace.published() && operations > 10, "{operations} operations");
    for n in 0..operations {
        for effect in [Effect::Errno(EIO), Effect::ShortRead] {
            let workspace = Simulated::new(FaultPlan::none(), FaultPlan::none());
            let plan = FaultPlan::seeded(n).with(When::Operation(n), effect);
            match rewritten(&stored, plan, &workspace) {
                Ok(_) => {
                    assert!(matches!(effect, Effect::ShortRead), "operation {n} failed");
                    assert!(workspace.output().contents() == expected, "operation {n}");
                }
                Err(error) => {
                    assert!(error.to_string().contains("sim:"), "operation {n}: {error}");
                    assert!(!workspace.published(), "operation {n}");
                }
            }
        }
    }
}
