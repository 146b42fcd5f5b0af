//! Nanoseconds per page access of TPC-C, on one thread.
//!
//! `cargo bench -p cenote-replay --bench tpcc [-- --test]`; `--test` runs a thousandth of it.

use std::hint::black_box;
use std::time::Instant;

use cenote_replay::load::tpcc::{Tpcc, TpccConfig};
use cenote_workload::Result;

fn main() -> Result<()> {
    let transactions = if std::env::args().any(|arg| arg == "--test") { 1 << 5 } else { 1 << 15 };
    let load = Tpcc::new(TpccConfig::default().warehouses(16).transactions(transactions))?;
    let start = Instant::now();
    let mut ops = 0u64;
    for op in load {
        black_box(op?);
        ops += 1;
    }
    println!("{:7.2} ns per access", start.elapsed().as_nanos() as f64 / ops as f64);
    Ok(())
}
