//! Small commits to a graph with weights, with a log and without one: `weighted_commits FILE SCALE
//! ROUNDS` writes an R-MAT graph with weights, and adds edges, one a commit, to it with a log and
//! to a copy without one in turn. Without a log each commit rewrites pages of lists and of weights,
//! as before logs had weights. Prints a line of JSON for each: commits a second on one thread and
//! on eight, bytes written for a commit of one thread, and pages that a merge of its log writes.

#![expect(clippy::print_stdout, reason = "it prints what it measures")]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use cenote_device::backend::file::{OpenOptions, open};
use cenote_store::{
    Batch, Change, Counts, GraphSpec, GraphWriter, IdsSource, Op, Store, StoreError, Weight,
    WeightType, WriteLimits,
};

const PAGE_BYTES: u64 = 4096;

/// Commits of one edge on each thread.
const COMMITS: usize = 200;

/// Probabilities of the quadrants, in 1/100.
const RMAT: [u64; 3] = [57, 76, 95];

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % limit
    }

    /// An addition of an edge, with a weight.
    fn batch(&mut self, scale: u32, edges: usize) -> Batch {
        let mut batch = Batch::default();
        while batch.changes.len() < edges {
            let (mut source, mut target) = (0, 0);
            for _ in 0..scale {
                let quadrant = self.below(100);
                let at = RMAT.partition_point(|end| *end <= quadrant) as u32;
                (source, target) = (source << 1 | at >> 1, target << 1 | at & 1);
            }
            if source != target {
                batch.changes.push(Change { op: Op::Add, source, target });
                batch.weights.push(Some(Weight::F32(self.below(1000) as f32)));
            }
        }
        batch
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, scale, rounds] = arguments.as_slice() else {
        return Err("usage: weighted_commits FILE SCALE ROUNDS".into());
    };
    let (scale, rounds): (u32, u32) = (scale.parse()?, rounds.parse()?);
    make(file, scale)?;
    let copy = format!("{file}.copy");
    std::fs::copy(file, &copy)?;
    for round in 1..=rounds {
        for (file, log) in [(file, true), (&copy, false)] {
            measure(Path::new(file), log, scale, round)?;
        }
    }
    Ok(std::fs::remove_file(copy)?)
}

/// Writes a graph of `2^scale` vertices and about eight edges for each.
fn make(file: &str, scale: u32) -> Result<(), Box<dyn std::error::Error>> {
    let device = open(Path::new(file), &OpenOptions::creating())?;
    let spec = GraphSpec {
        page_bytes: PAGE_BYTES as usize,
        vertices: 1 << scale,
        directed: false,
        in_edges: false,
        duplicates_kept: false,
        self_loops_kept: false,
        salt: 1,
    };
    let scratch = open(Path::new(&format!("{file}.scratch")), &OpenOptions::creating())?;
    let format = (cenote_store::Codec::Raw, WeightType::F32);
    let mut writer = GraphWriter::create_weighted(Arc::clone(&device), spec, format, scratch)?;
    (0..1 << scale).try_for_each(|_| writer.push_list(&[]))?;
    writer.end_lists()?;
    writer.finish(IdsSource::Dense, Counts::default())?;
    Store::open(device)?.update(&Random(1).batch(scale, 8 << scale))?;
    Ok(std::fs::remove_file(format!("{file}.scratch"))?)
}

fn measure(
    file: &Path,
    log: bool,
    scale: u32,
    round: u32,
) -> Result<(), Box<dyn std::error::Error>> {
    let limits = WriteLimits::default();
    let limits = if log { limits } else { limits.bytes(0) };
    let store = Store::open(open(file, &OpenOptions::default())?)?.with_limits(limits);
    let mut random = Random(1000 + u64::from(round));
    // The first small commit makes the log.
    store.commit(&random.batch(scale, 1))?;
    let (one, bytes) = small_commits(&store, 1, &mut random, scale)?;
    let (eight, _) = small_commits(&store, 8, &mut random, scale)?;
    let logged = store.logged_changes();
    let merged = store.merge()?.pages_written;
    println!(
        "{{\"experiment\":\"weighted_commits\",\"scale\":{scale},\"round\":{round},\"log\":{log},\
         \"commits_per_s\":{one:.1},\"commits_per_s_8_threads\":{eight:.1},\
         \"bytes_per_commit\":{bytes:.0},\"logged\":{logged},\"merge_pages\":{merged}}}"
    );
    Ok(())
}

/// Commits of one edge each, on some threads: how many a second, and bytes written for each.
fn small_commits(
    store: &Store,
    threads: usize,
    random: &mut Random,
    scale: u32,
) -> Result<(f64, f64), StoreError> {
    let batch = |_| (0..COMMITS).map(|_| random.batch(scale, 1)).collect::<Vec<Batch>>();
    let batches: Vec<Vec<Batch>> = (0..threads).map(batch).collect();
    let bytes = AtomicU64::new(0);
    let started = Instant::now();
    let commit = &|batch: &Batch| -> Result<(), StoreError> {
        let updated = store.commit(batch)?;
        let written = updated.log_bytes + updated.pages_written * PAGE_BYTES;
        bytes.fetch_add(written, Ordering::Relaxed);
        Ok(())
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = batches
            .iter()
            .map(|batches| scope.spawn(move || batches.iter().try_for_each(commit)))
            .collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("no worker panics"))
    })?;
    let count = (threads * COMMITS) as f64;
    Ok((count / started.elapsed().as_secs_f64(), bytes.into_inner() as f64 / count))
}
