//! What it costs to merge delta runs: `merge_bench GRAPH DEPTH BYTES`.
//!
//! Merges the runs and the log of a graph into its lists, with at most DEPTH writes in flight, each
//! of at most BYTES. Prints seconds and pages. GRAPH is changed: give it a copy.

#![expect(clippy::print_stdout, reason = "it prints what it measures")]

use std::path::Path;
use std::time::Instant;

use cenote_device::backend::file::{OpenOptions, open};
use cenote_store::{Store, WriteLimits};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, depth, bytes] = arguments.as_slice() else {
        return Err("usage: merge_bench GRAPH DEPTH BYTES".into());
    };
    let limits = WriteLimits::default().write_depth(depth.parse()?).write_bytes(bytes.parse()?);
    let store = Store::open(open(Path::new(file), &OpenOptions::default())?)?;
    let store = store.with_limits(limits);
    let started = Instant::now();
    let merged = store.merge()?;
    println!(
        "{:.3} s, {} pages written, {} read",
        started.elapsed().as_secs_f64(),
        merged.pages_written,
        merged.pages_read
    );
    Ok(())
}
