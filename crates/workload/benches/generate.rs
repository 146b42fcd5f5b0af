//! Nanoseconds per generated edge for each model, on one thread.
//!
//! `cargo bench -p cenote-workload [-- --test]`; `--test` runs a thousandth of it.

use std::hint::black_box;
use std::time::Instant;

use cenote_workload::ba::{Ba, BaConfig};
use cenote_workload::grid::{Grid, GridConfig};
use cenote_workload::kron::{Kron, KronConfig};
use cenote_workload::smallworld::{SmallWorld, SmallWorldConfig};
use cenote_workload::uniform::{Uniform, UniformConfig};
use cenote_workload::{EdgeSource, Result};

fn main() -> Result<()> {
    let edges: u64 = if std::env::args().any(|arg| arg == "--test") { 1 << 14 } else { 1 << 24 };
    let (vertices, seed) = (1 << 24, 1);
    let kron = |permute| Kron::new(KronConfig::default().scale(24).permute(permute));
    measure("kron scale 24", &kron(true)?, edges);
    measure("kron scale 24, no permutation", &kron(false)?, edges);
    measure("uniform", &Uniform::new(UniformConfig::new(vertices, edges).seed(seed))?, edges);
    measure("ba", &Ba::new(BaConfig::new(vertices, 8).seed(seed))?, edges);
    measure("grid", &Grid::new(GridConfig::new(4096, 4096))?, edges);
    let ring = SmallWorldConfig::new(vertices, 8, 0.1).seed(seed);
    measure("smallworld", &SmallWorld::new(ring)?, edges);
    Ok(())
}

fn measure(name: &str, source: &dyn EdgeSource, edges: u64) {
    const CHUNK: u64 = 1 << 14;
    let mut out = Vec::new();
    let start = Instant::now();
    for first in (0..edges).step_by(CHUNK as usize) {
        out.clear();
        source.fill(first..first + CHUNK, &mut out);
        black_box(&out);
    }
    let nanoseconds = start.elapsed().as_nanos() as f64 / edges as f64;
    println!("{name:32} {nanoseconds:7.2} ns per edge");
}
