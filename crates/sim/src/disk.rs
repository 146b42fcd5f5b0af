//! Simulated devices for imports.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use cenote_device::Device;
use cenote_device::backend::sim::{FaultPlan, SimConfig, SimDevice};
use cenote_device::model::preset::Preset;
use cenote_import::{ImportError, Workspace};

use crate::random::Random;

/// A drive of the papers with a random block size, whose completions may be reordered.
pub fn random_drive(random: &mut Random) -> SimConfig {
    let presets = Preset::all();
    let model = presets[random.index(presets.len())].model();
    SimConfig::new(model)
        .block_bytes(random.pick(&[512, 4096]))
        .jitter(random.pick(&[0.0, 0.5, 3.0]))
}

/// A drive with these faults that durably holds `contents`.
pub fn drive_with(config: &SimConfig, faults: FaultPlan, contents: &[u8]) -> Arc<SimDevice> {
    Arc::new(SimDevice::with_contents(config.clone().faults(faults), contents))
}

/// Workspace of an import on simulated devices.
#[derive(Debug)]
pub struct SimWorkspace {
    drive: SimConfig,
    spill_faults: FaultPlan,
    output_faults: FaultPlan,
    spills: Mutex<Vec<Arc<SimDevice>>>,
    output: Mutex<Option<Arc<SimDevice>>>,
    published: AtomicBool,
}

impl SimWorkspace {
    /// Creates devices like `drive` with these faults.
    pub fn new(drive: SimConfig, spill_faults: FaultPlan, output_faults: FaultPlan) -> Self {
        Self {
            drive,
            spill_faults,
            output_faults,
            spills: Mutex::default(),
            output: Mutex::default(),
            published: AtomicBool::new(false),
        }
    }

    /// The output device, if the import created one.
    pub fn written(&self) -> Option<Arc<SimDevice>> {
        self.output.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether the output was published.
    pub fn is_published(&self) -> bool {
        self.published.load(Ordering::SeqCst)
    }

    /// The largest number of operations on a spill file.
    pub fn spill_operations(&self) -> u64 {
        let spills = self.spills.lock().unwrap_or_else(PoisonError::into_inner);
        spills.iter().map(|spill| spill.operations()).max().unwrap_or(0)
    }
}

impl Workspace for SimWorkspace {
    fn spill(&self) -> Result<Arc<dyn Device>, ImportError> {
        let spill = drive_with(&self.drive, self.spill_faults.clone(), &[]);
        self.spills.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&spill));
        Ok(spill)
    }

    fn output(&self) -> Result<Arc<dyn Device>, ImportError> {
        let output = drive_with(&self.drive, self.output_faults.clone(), &[]);
        *self.output.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&output));
        Ok(output)
    }

    fn publish(&self) -> Result<(), ImportError> {
        self.published.store(true, Ordering::SeqCst);
        Ok(())
    }
}
