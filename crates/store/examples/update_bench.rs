//! How fast batches of random edges become a graph: `update_bench FILE SCALE BATCH`.
//!
//! Takes `16 * 2^SCALE` edges of an R-MAT generator in random order, from a graph without edges to
//! the whole one, in batches of so many edges, each one commit. Prints a line for each batch and
//! the sum: edges a second, and bytes written for each edge. Then batches of one edge, which go to
//! the log, on one thread and on eight, beside what the drive does: writes of 4 KiB, each synced.
//! At last the graph is opened again, with its log and after merging.

#![expect(clippy::print_stdout, reason = "it prints what it measures")]

use std::path::Path;
use std::time::Instant;

use cenote_device::Buffer;
use cenote_device::backend::file::{OpenOptions, open};
use cenote_store::{Answer, Batch, Change, Counts, GraphSpec, GraphWriter, IdsSource, Op, Store};

const PAGE_BYTES: usize = 4096;

/// Commits of one edge on each thread.
const COMMITS: usize = 1000;

/// Probabilities of the quadrants, in 1/100.
const RMAT: [u64; 3] = [57, 76, 95];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, scale, batch] = arguments.as_slice() else {
        return Err("usage: update_bench FILE SCALE BATCH".into());
    };
    let (scale, batch): (u32, usize) = (scale.parse()?, batch.parse()?);
    let device = open(Path::new(file), &OpenOptions::creating())?;
    let vertices = 1 << scale;
    let spec = GraphSpec {
        page_bytes: PAGE_BYTES,
        vertices,
        directed: false,
        in_edges: false,
        duplicates_kept: false,
        self_loops_kept: false,
        salt: 1,
    };
    let mut writer = GraphWriter::create(device.clone(), spec)?;
    (0..vertices).try_for_each(|_| writer.push_list(&[]))?;
    writer.end_lists()?;
    writer.finish(IdsSource::Dense, Counts::default())?;
    let store = Store::open(device)?;
    let mut random = Random(1);
    let (started, mut done, mut pages) = (Instant::now(), 0, 0);
    while done < 16 << scale {
        let changes = (0..batch).map(|_| edge(&mut random, scale)).collect();
        let (edges, seconds, written) = apply(&store, changes)?;
        done += batch;
        pages += written;
        println!(
            "{done:>10} edges: {edges} new, {:.2} million/s, {:.1} bytes written for each",
            batch as f64 / seconds / 1e6,
            (written * PAGE_BYTES as u64) as f64 / batch as f64
        );
    }
    println!(
        "in all: {:.2} million/s, {:.1} bytes written for each",
        done as f64 / started.elapsed().as_secs_f64() / 1e6,
        (pages * PAGE_BYTES as u64) as f64 / done as f64
    );
    let beside = format!("{file}.synced");
    let rounds = 3;
    for round in 1..=rounds {
        let drive = synced_writes(Path::new(&beside))?;
        let one = small_commits(&store, 1, &mut random, scale)?;
        let eight = small_commits(&store, 8, &mut random, scale)?;
        println!(
            "one edge a commit, {round} of {rounds}: {one:.0} commits/s, {:.2} of the drive's \
             {drive:.0} synced writes/s; 8 threads: {eight:.0}, {:.2} times one",
            one / drive,
            eight / one
        );
    }
    std::fs::remove_file(beside)?;
    drop(store);
    let (changes, seconds) = opened(Path::new(file))?;
    println!("opened for changes with {changes} in the log: {seconds:.3} s");
    Store::open(open(Path::new(file), &OpenOptions::default())?)?.merge()?;
    let (changes, seconds) = opened(Path::new(file))?;
    println!("opened for changes with {changes} in the log: {seconds:.3} s");
    Ok(())
}

/// Changes in the log, and how long it takes to open the graph and its indexes.
fn opened(file: &Path) -> Result<(u64, f64), Box<dyn std::error::Error>> {
    let started = Instant::now();
    let store = Store::open(open(file, &OpenOptions::default())?)?;
    store.memory_bytes()?;
    Ok((store.logged_changes(), started.elapsed().as_secs_f64()))
}

/// Commits of one edge each, on some threads; how many a second.
fn small_commits(
    store: &Store,
    threads: usize,
    random: &mut Random,
    scale: u32,
) -> Result<f64, cenote_store::StoreError> {
    let edges: Vec<Vec<Change>> =
        (0..threads).map(|_| (0..COMMITS).map(|_| edge(random, scale)).collect()).collect();
    let started = Instant::now();
    std::thread::scope(|scope| {
        let workers: Vec<_> = edges
            .into_iter()
            .map(|edges| {
                scope.spawn(move || {
                    edges.into_iter().try_for_each(|edge| {
                        store.commit(&Batch { changes: vec![edge], ..Batch::default() }).map(drop)
                    })
                })
            })
            .collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("no worker panics"))
    })?;
    Ok((threads * COMMITS) as f64 / started.elapsed().as_secs_f64())
}

/// Writes of 4 KiB, one after the other, each synced; how many a second.
fn synced_writes(path: &Path) -> Result<f64, Box<dyn std::error::Error>> {
    let device = open(path, &OpenOptions::creating())?;
    let mut buffer = Buffer::new(COMMITS * PAGE_BYTES)?;
    buffer = cenote_device::write_all(device.as_ref(), 0, buffer.len(), buffer)?;
    device.sync()?;
    let started = Instant::now();
    for i in 0..COMMITS as u64 {
        let offset = i * PAGE_BYTES as u64;
        buffer = cenote_device::write_all(device.as_ref(), offset, PAGE_BYTES, buffer)?;
        device.sync()?;
    }
    Ok(COMMITS as f64 / started.elapsed().as_secs_f64())
}

/// New edges, seconds, and pages that were written.
fn apply(
    store: &Store,
    changes: Vec<Change>,
) -> Result<(usize, f64, u64), cenote_store::StoreError> {
    let started = Instant::now();
    let updated = store.update(&Batch { changes, ..Batch::default() })?;
    let new = updated.answers.iter().filter(|answer| **answer == Answer::Done).count();
    Ok((new, started.elapsed().as_secs_f64(), updated.pages_written))
}

fn edge(random: &mut Random, scale: u32) -> Change {
    let (mut source, mut target) = (0, 0);
    for _ in 0..scale {
        let roll = random.next() % 100;
        let quadrant = RMAT.iter().take_while(|share| roll >= **share).count() as u32;
        (source, target) = (source << 1 | quadrant >> 1, target << 1 | quadrant & 1);
    }
    Change { op: Op::Add, source, target }
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }
}
