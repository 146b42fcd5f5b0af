//! Devices to test, and ways to move bytes.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use cenote_device::backend::file::{self, BackendChoice, OpenOptions};
use cenote_device::backend::sim::{FaultPlan, SimConfig, SimDevice};
use cenote_device::model::{DeviceModel, Pio};
use cenote_device::wrapper::{
    BudgetDevice, FaultDevice, IoBudget, StatsDevice, Throttle, ThrottleDevice,
};
use cenote_device::{
    Buffer, Completion, Device, IoFault, Op, Queue, QueueConfig, Request, read_exact, write_all,
};

/// Empty devices of every kind, and the directory that holds their files.
pub struct Devices {
    pub list: Vec<(&'static str, Arc<dyn Device>)>,
    _directory: tempfile::TempDir,
}

/// A directory on a file system that takes direct I/O.
pub fn directory() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// Opens a new file, or says why that backend cannot be tested here.
pub fn open(path: PathBuf, backend: BackendChoice, direct: bool) -> Option<Arc<dyn Device>> {
    let options = OpenOptions::creating().backend(backend).direct(direct);
    if backend == BackendChoice::Uring
        && let Some(reason) = file::uring_refusal()
    {
        println!("skipped: {reason}");
        return None;
    }
    Some(file::open(&path, &options).unwrap())
}

/// A simulated device: reads take 100 us, writes 200 us, 4 of each at once.
pub fn sim(faults: FaultPlan) -> SimDevice {
    SimDevice::new(SimConfig::new(ideal_model()).faults(faults))
}

pub fn ideal_model() -> DeviceModel {
    DeviceModel::pio("test", 4096, 100.0, &Pio::new(1 << 30, 4, 4, 2.0))
}

fn wrapped(inner: Arc<dyn Device>) -> Arc<dyn Device> {
    let slow = Throttle { bytes_per_second: Some(1 << 30), latency: Duration::from_micros(50) };
    let slow = ThrottleDevice::new(inner, slow);
    let sound = FaultDevice::new(Arc::new(slow), FaultPlan::none());
    Arc::new(StatsDevice::new(Arc::new(sound)))
}

impl Devices {
    pub fn all() -> Self {
        let directory = directory();
        let path = |name: &str| directory.path().join(name);
        let kinds = [
            ("io_uring", BackendChoice::Uring, true),
            ("threads", BackendChoice::Threads, true),
            ("io_uring through the page cache", BackendChoice::Uring, false),
            ("threads through the page cache", BackendChoice::Threads, false),
        ];
        let mut list: Vec<(&'static str, Arc<dyn Device>)> = kinds
            .into_iter()
            .filter_map(|(name, backend, direct)| Some((name, open(path(name), backend, direct)?)))
            .collect();
        let jittery = SimConfig::new(ideal_model()).jitter(0.8);
        list.push(("sim", Arc::new(SimDevice::new(SimConfig::new(ideal_model())))));
        list.push(("sim with jitter", Arc::new(SimDevice::new(jittery))));
        let inner = open(path("wrapped"), BackendChoice::Auto, true).unwrap();
        list.push(("wrapped", wrapped(inner)));
        let inner = open(path("budget"), BackendChoice::Auto, true).unwrap();
        let within = |inner| Arc::new(BudgetDevice::new(inner, IoBudget::new(3, 2)));
        list.push(("within a budget", within(inner)));
        let inner = Arc::new(SimDevice::new(SimConfig::new(ideal_model())));
        list.push(("sim within a budget", within(inner)));
        Self { list, _directory: directory }
    }
}

/// The unit that suits every device under test.
pub const BLOCK: usize = 4096;

/// A buffer of `len` bytes (rounded up to sectors) that begins with a pattern of `seed`.
pub fn pattern(seed: u64, len: usize) -> Buffer {
    let mut buffer = Buffer::new(len.next_multiple_of(512)).unwrap();
    for (i, byte) in buffer.iter_mut().enumerate() {
        *byte = pattern_byte(seed, i);
    }
    buffer
}

pub fn pattern_byte(seed: u64, index: usize) -> u8 {
    let mixed = (seed ^ 0x9e37).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (index as u64 / 8);
    (mixed.wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40) as u8
}

pub fn assert_pattern(bytes: &[u8], seed: u64, context: &str) {
    let wrong = bytes.iter().enumerate().position(|(i, &byte)| byte != pattern_byte(seed, i));
    assert_eq!(wrong, None, "{context}: first wrong byte");
}

pub fn write_pattern(device: &dyn Device, seed: u64, offset: u64, len: usize) {
    write_all(device, offset, len, pattern(seed, len)).unwrap();
}

pub fn read(device: &dyn Device, offset: u64, len: usize) -> Vec<u8> {
    let buffer = Buffer::new(len.next_multiple_of(512)).unwrap();
    read_exact(device, offset, len, buffer).unwrap()[..len].to_vec()
}

pub fn request(tag: u64, op: Op, offset: u64, len: usize, buffer: Buffer) -> Request {
    Request { tag, op, offset, len, buffer }
}

/// One request as it completes, faults included.
pub fn one(device: &dyn Device, op: Op, offset: u64, buffer: Buffer) -> Completion {
    let mut queue = device.queue(&QueueConfig::with_depth(1)).unwrap();
    let len = buffer.len();
    queue.push(request(0, op, offset, len, buffer));
    drain(queue.as_mut()).pop().unwrap()
}

pub fn drain(queue: &mut dyn Queue) -> Vec<Completion> {
    let mut completions = Vec::new();
    queue.reap(queue.in_flight(), &mut completions).unwrap();
    completions
}

pub fn errno(completion: &Completion) -> Option<i32> {
    completion.result.err().map(|IoFault { errno }| errno)
}
