//! Random reads of a file, io_uring against threads: what one thread and one queue move, and what
//! CPU time a request costs. Compare with
//! `fio --name=r --filename=FILE --rw=randread --bs=4k --iodepth=32 --direct=1
//! --ioengine=io_uring`.
//!
//! `cargo run --release -p cenote-device --example iops -- FILE [SECONDS [THREADS]]`

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cenote_device::backend::file::{self, BackendChoice, OpenOptions};
use cenote_device::wrapper::StatsDevice;
use cenote_device::{Arena, Device, Op, QueueConfig, Request};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let path = PathBuf::from(arguments.next().ok_or("usage: iops FILE [SECONDS [THREADS]]")?);
    let seconds: f64 = arguments.next().map_or(Ok(1.0), |word| word.parse())?;
    let threads: usize = arguments.next().map_or(Ok(1), |word| word.parse())?;
    println!("backend    bytes depth threads      IOPS    MB/s  p50 us  p99 us  CPU us/request");
    for (bytes, depth) in [(4096, 1), (4096, 8), (4096, 32), (262_144, 1), (262_144, 8)] {
        for backend in [BackendChoice::Uring, BackendChoice::Threads] {
            let options = OpenOptions::reading().backend(backend);
            let device = file::open(&path, &options)?;
            measure(device, bytes, depth, threads, seconds)?;
        }
    }
    Ok(())
}

/// Keeps `depth` reads of each thread in flight and prints a row.
fn measure(
    device: Arc<dyn Device>,
    bytes: usize,
    depth: usize,
    threads: usize,
    seconds: f64,
) -> Outcome<()> {
    let device = StatsDevice::new(device);
    let (began, cpu) = (Instant::now(), cpu_seconds());
    let end = began + Duration::from_secs_f64(seconds);
    std::thread::scope(|scope| -> Outcome<()> {
        let workers: Vec<_> = (0..threads)
            .map(|thread| {
                scope.spawn({
                    let device = &device;
                    move || worker(device, thread as u64, bytes, depth, end)
                })
            })
            .collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("a worker panicked"))
    })?;
    let (wall, cpu) = (began.elapsed().as_secs_f64(), cpu_seconds() - cpu);
    let stats = device.stats();
    let us = |share| stats.read_latency.quantile_ns(share).unwrap_or(0) as f64 / 1e3;
    println!(
        "{:<9} {bytes:>6} {depth:>5} {threads:>7} {:>9.0} {:>7.0} {:>7.0} {:>7.0} {:>15.2}",
        device.backend(),
        stats.reads as f64 / wall,
        stats.bytes_read as f64 / wall / 1e6,
        us(0.5),
        us(0.99),
        cpu * 1e6 / stats.reads as f64,
    );
    Ok(())
}

fn worker(device: &dyn Device, seed: u64, bytes: usize, depth: usize, end: Instant) -> Outcome<()> {
    let blocks = device.len_bytes()? / bytes as u64;
    let (arena, buffers) = Arena::carve(bytes, depth)?;
    let mut queue = device.queue(&QueueConfig::with_depth(depth).arenas(vec![arena]))?;
    let mut random = seed + 1;
    let mut next = |buffer| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let offset = (random >> 20) % blocks * bytes as u64;
        Request { tag: 0, op: Op::Read, offset, len: bytes, buffer }
    };
    buffers.into_iter().for_each(|buffer| queue.push(next(buffer)));
    let mut completions = Vec::with_capacity(depth);
    while Instant::now() < end {
        queue.reap(1, &mut completions)?;
        for completion in completions.drain(..) {
            completion.result.map_err(|fault| format!("a read failed: {fault}"))?;
            queue.push(next(completion.buffer));
        }
    }
    queue.reap(queue.in_flight(), &mut completions)?;
    Ok(())
}

/// CPU time of the process, the kernel's share included.
fn cpu_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live timespec.
    let got = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    assert_eq!(got, 0, "every Linux has this clock");
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
