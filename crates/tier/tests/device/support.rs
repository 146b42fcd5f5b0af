//! Simulated tiers whose power fails all at once.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use cenote_device::backend::sim::{FaultPlan, SimConfig, SimDevice};
use cenote_device::model::preset::Preset;
use cenote_device::wrapper::Layer;
use cenote_device::{Completion, Device, Op, Queue, QueueConfig, Request, Result};
use cenote_tier::device::{SetConfig, TierPart, TieredDevice};

/// SplitMix64.
pub struct Random(pub u64);

impl Random {
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.bits() % limit
    }
}

pub fn sim(faults: FaultPlan) -> Arc<SimDevice> {
    let model = Preset::all()[0].model();
    Arc::new(SimDevice::new(SimConfig::new(model).faults(faults).jitter(0.5)))
}

pub const BLOCK: u64 = 4096;

/// Small blocks and journals, so that everything happens often.
pub fn config(journal_pages: u32) -> SetConfig {
    SetConfig::new([7; 16]).block_bytes(BLOCK as u32).journal_pages(journal_pages)
}

/// Room for so many blocks behind the headers.
pub fn capacity(slots: u64) -> u64 {
    (64 << 10) + slots * BLOCK
}

pub fn parts<D: Device + 'static>(tiers: &[Arc<D>], slots: &[u64]) -> Vec<TierPart> {
    let part = |(at, (device, &slots)): (usize, (&Arc<D>, &u64))| TierPart {
        device: Arc::clone(device) as _,
        name: format!("tier{at}"),
        capacity_bytes: capacity(slots),
    };
    tiers.iter().zip(slots).enumerate().map(part).collect()
}

/// What is called at every change that reaches a device.
type Hook = Box<dyn Fn(u64) + Send + Sync>;

/// The power supply of all devices; calls a hook at every change.
#[derive(Default)]
pub struct Strip {
    changes: AtomicU64,
    hook: Mutex<Option<Arc<Hook>>>,
}

impl std::fmt::Debug for Strip {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Strip")
    }
}

impl Strip {
    pub fn listen(&self, hook: Hook) {
        *self.hook.lock().unwrap() = Some(Arc::new(hook));
    }

    pub fn deaf(&self) {
        *self.hook.lock().unwrap() = None;
    }

    fn tick(&self) {
        let change = self.changes.fetch_add(1, Ordering::SeqCst);
        let hook = self.hook.lock().unwrap().clone();
        if let Some(hook) = hook {
            hook(change);
        }
    }
}

/// A simulated device on the strip.
#[derive(Debug)]
pub struct Plug {
    pub inner: Arc<SimDevice>,
    pub strip: Arc<Strip>,
}

impl Layer for Plug {
    fn inner(&self) -> &dyn Device {
        &*self.inner
    }

    fn queue(&self, config: &QueueConfig) -> Result<Box<dyn Queue>> {
        let strip = Arc::clone(&self.strip);
        Ok(Box::new(PlugQueue { inner: self.inner.queue(config)?, strip }))
    }

    fn sync(&self) -> Result<()> {
        self.strip.tick();
        self.inner.sync()?;
        self.strip.tick();
        Ok(())
    }

    fn set_len(&self, bytes: u64) -> Result<()> {
        self.inner.set_len(bytes)?;
        self.strip.tick();
        Ok(())
    }
}

struct PlugQueue {
    inner: Box<dyn Queue>,
    strip: Arc<Strip>,
}

impl Queue for PlugQueue {
    fn depth(&self) -> usize {
        self.inner.depth()
    }

    fn in_flight(&self) -> usize {
        self.inner.in_flight()
    }

    fn push(&mut self, request: Request) {
        let is_write = request.op == Op::Write;
        self.inner.push(request);
        if is_write {
            self.inner.submit().expect("simulated");
            self.strip.tick();
        }
    }

    fn submit(&mut self) -> Result<()> {
        self.inner.submit()
    }

    fn reap(&mut self, wait_for: usize, completions: &mut Vec<Completion>) -> Result<()> {
        self.inner.reap(wait_for, completions)
    }
}

/// Opens what is on simulated devices now.
pub fn open(map: &Arc<SimDevice>, tiers: &[Arc<SimDevice>]) -> TieredDevice {
    let tiers = tiers.iter().map(|tier| Arc::clone(tier) as Arc<dyn Device>).collect();
    TieredDevice::open(Arc::clone(map) as _, tiers).expect("it opens")
}

/// The devices as they are found after the power failed now.
pub fn after_power_cut(devices: &[Arc<SimDevice>]) -> Vec<Arc<SimDevice>> {
    devices.iter().map(|device| Arc::new(device.restart(FaultPlan::none()))).collect()
}
