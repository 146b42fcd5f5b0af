//! Latency of small commits while a graph grows: `commit_latency GRAPH BATCHES CHANGES BESIDE`
//! copies the graph beside it, commits batches of so many random edges to the copy, and prints a
//! line of JSON. With `BESIDE` 0 commits merge delta runs themselves; with 8 a thread does, while
//! runs may be 8% of the lists.

#![expect(clippy::print_stdout, reason = "it prints what it measures")]

use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use cenote_device::backend::file::{OpenOptions, open};
use cenote_store::{Batch, Change, Op, Store, Updated, WriteLimits};

type Merge = JoinHandle<cenote_store::Result<Option<Updated>>>;

/// SplitMix64.
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [graph, batches, changes, beside] = &args[..] else {
        return Err("usage: commit_latency GRAPH BATCHES CHANGES BESIDE".into());
    };
    let (batches, changes, beside) = (batches.parse()?, changes.parse()?, beside.parse()?);
    let copy = format!("{graph}.copy");
    std::fs::copy(graph, &copy)?;
    let limits = WriteLimits::default().beside_percent(beside).page_bytes(256 << 20);
    let played = play(&copy, limits, batches, changes);
    std::fs::remove_file(&copy)?;
    let (mut latencies, merges, written) = played?;
    let total: Duration = latencies.iter().sum();
    latencies.sort_unstable();
    let ms = |at: f64| {
        let rank = (at * (latencies.len() - 1) as f64) as usize;
        latencies[rank].as_secs_f64() * 1e3
    };
    println!(
        "{{\"beside\":{beside},\"batches\":{batches},\"changes\":{changes},\"p50_ms\":{:.3},\
         \"p99_ms\":{:.3},\"p999_ms\":{:.3},\"max_ms\":{:.1},\"total_s\":{:.2},\"merges\":{merges},\
         \"pages_written\":{written}}}",
        ms(0.5),
        ms(0.99),
        ms(0.999),
        ms(1.0),
        total.as_secs_f64()
    );
    Ok(())
}

/// The latency of each commit, how often runs were merged, and the pages that were written.
fn play(
    path: &str,
    limits: WriteLimits,
    batches: usize,
    changes: usize,
) -> Result<(Vec<Duration>, u64, u64), Box<dyn std::error::Error>> {
    let device = open(Path::new(path), &OpenOptions::default())?;
    let store = Arc::new(Store::open(device)?.with_limits(limits));
    let (vertices, mut state) = (store.vertices(), 1);
    let mut merge: Option<Merge> = None;
    let (mut merges, mut written) = (0, 0);
    let mut latencies = Vec::with_capacity(batches);
    let mut count = |updated: &Updated| {
        merges += u64::from(updated.merged_entries > 0);
        written += updated.pages_written;
    };
    for _ in 0..batches {
        let mut vertex = || (random(&mut state) % vertices) as u32;
        let edge = |()| Change { op: Op::Add, source: vertex(), target: vertex() };
        let edges = std::iter::repeat_n((), changes).map(edge).collect();
        let batch = Batch { changes: edges, ..Batch::default() };
        let began = Instant::now();
        if let Some(running) = merge.take_if(|merge| merge.is_finished()) {
            running.join().expect("a merge does not panic")?.iter().for_each(&mut count);
        }
        if merge.is_some() && store.has_no_room(&batch)? {
            let running = merge.take().expect("it is there");
            running.join().expect("a merge does not panic")?.iter().for_each(&mut count);
        }
        count(&store.commit(&batch)?);
        if limits.beside_percent > 0 && merge.is_none() && store.is_merge_due()? {
            let store = Arc::clone(&store);
            merge = Some(std::thread::spawn(move || match store.prepare_merge(&|_| false)? {
                Some(prepared) => prepared.finish(),
                None => Ok(None),
            }));
        }
        latencies.push(began.elapsed());
    }
    if let Some(running) = merge {
        running.join().expect("a merge does not panic")?.iter().for_each(&mut count);
    }
    Ok((latencies, merges, written))
}
