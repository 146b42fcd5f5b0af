//! The pool's miss path: random reads of pages that are not in memory, many in flight.
//!
//! `cargo run --release -p cenote-pool --example miss_path -- FILE DEPTH THREADS SECONDS [--pin]`
//!
//! Prints one JSON row. With `--pin` each thread pins one page after the other instead of asking
//! for `DEPTH / THREADS` ahead.

use std::path::Path;
use std::sync::Arc;

use cenote_device::backend::file::{self, OpenOptions};
use cenote_device::profile::Profile;
use cenote_pool::{Handle, Pool, PoolConfig, PoolError};

const PAGE_BYTES: usize = 4096;
/// Share of the file that the pool holds.
const POOL_SHARE: f64 = 0.06;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, depth, threads, seconds, rest @ ..] = arguments.as_slice() else {
        return Err("FILE DEPTH THREADS SECONDS [--pin]".into());
    };
    let (depth, threads): (usize, usize) = (depth.parse()?, threads.parse()?);
    let seconds: f64 = seconds.parse()?;
    let pin = rest == ["--pin"];
    let device = file::open(Path::new(file), &OpenOptions::reading())?;
    let backend = device.backend();
    let clock = device.clock();
    let pages = device.len_bytes()? / PAGE_BYTES as u64;
    let frames = (pages as f64 * POOL_SHARE) as usize;
    let config = PoolConfig::ace(PAGE_BYTES, frames, &Profile::assumed().model());
    let config = config.read_depth(depth / threads);
    let pool = Pool::new(device, config)?;
    // Frames that were never touched cost page faults: full first, then measured.
    read_together(&pool, threads, pin, || pool.free_frames() > 0)?;
    let (filled, started) = (pool.stats(), clock.now_ns());
    let until = started + (seconds * 1e9) as u64;
    read_together(&pool, threads, pin, || clock.now_ns() < until)?;
    let seconds = (clock.now_ns() - started) as f64 / 1e9;
    let stats = pool.stats();
    let (hits, misses) = (stats.hits - filled.hits, stats.misses - filled.misses);
    let p50 = stats.read_latency.quantile_ns(0.5).unwrap_or(0);
    println!(
        "{{\"bench\": \"miss_path\", \"backend\": \"{backend}\", \"depth\": {depth}, \
         \"threads\": {threads}, \"pin\": {pin}, \"frames\": {frames}, \"hits\": {hits}, \
         \"misses\": {misses}, \"seconds\": {seconds:.3}, \"iops\": {:.0}, \"p50_us\": {:.1}}}",
        misses as f64 / seconds,
        p50 as f64 / 1e3
    );
    Ok(())
}

fn read_together(
    pool: &Arc<Pool>,
    threads: usize,
    pin: bool,
    go_on: impl Fn() -> bool + Sync,
) -> Result<(), PoolError> {
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads as u64)
            .map(|seed| {
                let go_on = &go_on;
                scope.spawn(move || read_until(pool, seed, pin, go_on))
            })
            .collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("a worker ends"))
    })
}

fn read_until(
    pool: &Arc<Pool>,
    seed: u64,
    pin: bool,
    go_on: impl Fn() -> bool,
) -> Result<(), PoolError> {
    let handle = pool.handle();
    let mut state = 0x9e37_79b9_7f4a_7c15 ^ (seed + 1);
    let mut page = || {
        // xorshift64*: good enough to have no pattern that a drive could guess.
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        state.wrapping_mul(0x2545_f491_4f6c_dd1d) % pool.pages()
    };
    if pin {
        while go_on() {
            drop(handle.pin(page())?);
        }
        return Ok(());
    }
    while go_on() {
        while handle.has_room() {
            handle.submit(page(), 0)?;
        }
        drop(handle.poll(true)?);
    }
    drain(&handle)
}

fn drain(handle: &Handle) -> Result<(), PoolError> {
    while handle.poll(true)?.is_some() {}
    Ok(())
}
