//! Nanoseconds per page access for each generated load, on one thread.
//!
//! `cargo bench -p cenote-workload --bench page [-- --test]`; `--test` runs a thousandth of it.

use std::hint::black_box;
use std::time::Instant;

use cenote_workload::Result;
use cenote_workload::page::PageLoad;
use cenote_workload::page::mix::{Mix, MixConfig};
use cenote_workload::page::zipf::{Zipf, ZipfConfig};

fn main() -> Result<()> {
    let ops: u64 = if std::env::args().any(|arg| arg == "--test") { 1 << 14 } else { 1 << 24 };
    let (pages, seed) = (1 << 20, 1);
    measure(Mix::new(MixConfig::ms(pages, ops, seed))?)?;
    measure(Mix::new(MixConfig::mu(pages, ops, seed))?)?;
    for (skew, scramble) in [(0.0, false), (0.99, false), (0.99, true), (1.2, true)] {
        let read_share = 0.5;
        measure(Zipf::new(
            ZipfConfig::default()
                .pages(pages)
                .ops(ops / 4)
                .skew(skew)
                .read_share(read_share)
                .scramble(scramble)
                .seed(seed),
        )?)?;
    }
    Ok(())
}

fn measure(mut load: impl PageLoad) -> Result<()> {
    let name = load.name();
    let start = Instant::now();
    let mut ops = 0u64;
    for op in &mut load {
        black_box(op?);
        ops += 1;
    }
    let nanoseconds = start.elapsed().as_nanos() as f64 / ops as f64;
    println!("{name:32} {nanoseconds:7.2} ns per access");
    Ok(())
}
