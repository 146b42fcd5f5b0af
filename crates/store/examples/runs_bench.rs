//! What batches cost, with delta runs and without: `runs_bench GRAPH EDGES CHANGES PERCENT BATCH`.
//!
//! Adds so many random edges to a stored graph, in batches of BATCH, with a log of at most CHANGES
//! changes and runs of at most PERCENT of the lists. Prints changes a second, the bytes written for
//! each, and what the graph has then. GRAPH is changed: give it a copy. How long runs on it take is
//! for `cenote run` to tell, before and after `cenote merge`.

#![expect(clippy::print_stdout, reason = "it prints what it measures")]

use std::path::Path;
use std::time::Instant;

use cenote_device::backend::file::{OpenOptions, open};
use cenote_store::{Batch, Change, LookupConfig, Op, Store, WriteLimits};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, edges, changes, percent, batch] = arguments.as_slice() else {
        return Err("usage: runs_bench GRAPH EDGES CHANGES PERCENT BATCH".into());
    };
    let (edges, changes): (usize, usize) = (edges.parse()?, changes.parse()?);
    let batch_max: usize = batch.parse()?;
    let limits = WriteLimits::default().changes(changes).run_percent(percent.parse()?);
    let limits = limits.bulk_run_percent(percent.parse()?);
    let store = Store::open(open(Path::new(file), &OpenOptions::default())?)?;
    let store = store.with_limits(limits.run_bytes(256 << 20).page_bytes(256 << 20));
    let vertices = store.vertices();
    let mut state = 1u64;
    let mut vertex = || {
        // A linear congruential generator; its high bits are random enough.
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (((state >> 33) * vertices) >> 31) as u32
    };
    let (started, mut done) = (Instant::now(), 0);
    let (mut bytes, mut slowest) = (0, 0f64);
    while done < edges {
        let batch = batch_max.min(edges - done);
        let add = |_| Change { op: Op::Add, source: vertex(), target: vertex() };
        let changes = (0..batch).map(add).collect();
        let of_batch = Instant::now();
        let updated = store.commit(&Batch { changes, ..Batch::default() })?;
        slowest = slowest.max(of_batch.elapsed().as_secs_f64());
        bytes +=
            updated.log_bytes + updated.pages_written * u64::from(store.superblock().page_bytes);
        done += batch;
    }
    let seconds = started.elapsed().as_secs_f64();
    let graph = store.graph(|_| LookupConfig::default())?;
    println!(
        "{done} changes: {:.0} a second, {:.1} bytes written for each, slowest batch \
         {slowest:.2} s; {} runs of {} changes of lists, {} changes in the log, epoch {}",
        done as f64 / seconds,
        bytes as f64 / done as f64,
        graph.runs(),
        graph.run_changes(),
        graph.logged_changes(),
        store.epoch()
    );
    Ok(())
}
