//! The pool's hit path beside the `get` of two caches, in turn, with the same keys.
//!
//! Every key is resident. Each of two threads walks a sequence of Zipf-distributed pages that was
//! made beforehand; a step gets the page, reads one byte of it and lets it go. Prints one JSON row
//! per round and a summary of medians.
//!
//! `cargo run --release -- [--pages N] [--skew S] [--rounds R] [--seconds S]`

use std::hint::black_box;
use std::sync::Arc;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use cenote_device::backend::file::{self, OpenOptions};
use cenote_device::profile::Profile;
use cenote_pool::policy::PolicyKind;
use cenote_pool::{Pool, PoolConfig};
use serde_json::json;

const THREADS: usize = 2;
const PAGE_BYTES: usize = 4096;
const KEYS: usize = 1 << 20;

struct Options {
    pages: u64,
    skew: f64,
    rounds: usize,
    seconds: f64,
}

fn main() {
    let options = options();
    let keys: Vec<Vec<u64>> = (0..THREADS as u64).map(|t| zipf_keys(&options, t)).collect();
    let rivals: Vec<(&str, Box<dyn Fn(&[Vec<u64>], f64) -> f64>)> = vec![
        ("cenote clock", pool(&options, PolicyKind::Clock)),
        ("cenote sieve", pool(&options, PolicyKind::Sieve)),
        ("cenote lru", pool(&options, PolicyKind::Lru)),
        ("quick_cache page", quick_page(&options)),
        ("quick_cache u64", quick_number(&options)),
        ("foyer page", foyer_page(&options)),
    ];
    let mut rates = vec![Vec::new(); rivals.len()];
    for round in 0..options.rounds {
        for (i, (name, run)) in rivals.iter().enumerate() {
            let rate = run(&keys, options.seconds);
            println!(
                "{}",
                json!({"bench": "hit_path", "round": round, "what": name, "threads": THREADS,
                       "pages": options.pages, "skew": options.skew, "gets_per_second": rate})
            );
            rates[i].push(rate);
        }
    }
    for ((name, _), rates) in rivals.iter().zip(&mut rates) {
        rates.sort_by(f64::total_cmp);
        let median = rates[rates.len() / 2];
        eprintln!(
            "{name:18} {:7.1} million gets/s ({:.1} to {:.1})",
            median / 1e6,
            rates[0] / 1e6,
            rates[rates.len() - 1] / 1e6
        );
    }
}

fn options() -> Options {
    let mut options = Options { pages: 65_536, skew: 0.99, rounds: 5, seconds: 1.0 };
    let mut arguments = std::env::args().skip(1);
    while let Some(flag) = arguments.next() {
        let value = arguments.next().unwrap_or_else(|| panic!("{flag} needs a value"));
        let number: f64 = value.parse().unwrap_or_else(|_| panic!("{flag} needs a number"));
        match flag.as_str() {
            "--pages" => options.pages = number as u64,
            "--skew" => options.skew = number,
            "--rounds" => options.rounds = number as usize,
            "--seconds" => options.seconds = number,
            _ => panic!("unknown option {flag}"),
        }
    }
    options
}

/// Zipf-distributed pages by inversion of the cumulated weights; ranks are scattered over the
/// pages so that hot pages are no neighbours.
fn zipf_keys(options: &Options, thread: u64) -> Vec<u64> {
    let mut sum = 0.0;
    let cumulated: Vec<f64> = (1..=options.pages)
        .map(|rank| {
            sum += (rank as f64).powf(-options.skew);
            sum
        })
        .collect();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64 ^ (thread + 1);
    (0..KEYS)
        .map(|_| {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = state;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^= z >> 31;
            let at = (z >> 11) as f64 / (1u64 << 53) as f64 * sum;
            let rank = cumulated.partition_point(|&c| c < at) as u64;
            rank.wrapping_mul(0x9e37_79b1) % options.pages
        })
        .collect()
}

/// Gets per second of all threads together; `each` opens a thread's way in and gives its step.
fn drive<'a, S: FnMut(u64) -> u8>(
    keys: &'a [Vec<u64>],
    seconds: f64,
    open: impl Fn() -> S + Sync,
) -> f64 {
    let start = Barrier::new(keys.len());
    let duration = Duration::from_secs_f64(seconds);
    std::thread::scope(|scope| {
        let threads: Vec<_> = keys
            .iter()
            .map(|keys| {
                let (start, open) = (&start, &open);
                scope.spawn(move || {
                    let mut step = open();
                    for &key in keys {
                        black_box(step(key));
                    }
                    start.wait();
                    let begun = Instant::now();
                    let mut gets = 0u64;
                    while begun.elapsed() < duration {
                        for &key in &keys[..KEYS / 16] {
                            black_box(step(key));
                        }
                        gets += (KEYS / 16) as u64;
                    }
                    gets as f64 / begun.elapsed().as_secs_f64()
                })
            })
            .collect();
        threads.into_iter().map(|t| t.join().expect("a thread measures")).sum()
    })
}

type Run = Box<dyn Fn(&[Vec<u64>], f64) -> f64>;

fn pool(options: &Options, policy: PolicyKind) -> Run {
    let file = tempfile::NamedTempFile::new_in(".").expect("a file beside the program");
    file.as_file().set_len(options.pages * PAGE_BYTES as u64).expect("room on the drive");
    let device = file::open(file.path(), &OpenOptions::default()).expect("a device");
    let config = PoolConfig::ace(PAGE_BYTES, options.pages as usize, &Profile::assumed().model());
    let pool = Pool::new(device, config.policy(policy)).expect("a pool");
    let handle = pool.handle();
    (0..options.pages).for_each(|page| drop(handle.pin(page).expect("a page")));
    Box::new(move |keys, seconds| {
        let _file = &file;
        drive(keys, seconds, || {
            let handle = pool.handle();
            move |key| handle.pin(key).expect("resident")[0]
        })
    })
}

fn quick_page(options: &Options) -> Run {
    let cache = quick_cache::sync::Cache::<u64, Arc<Vec<u8>>>::new(2 * options.pages as usize);
    (0..options.pages).for_each(|key| cache.insert(key, Arc::new(vec![1; PAGE_BYTES])));
    Box::new(move |keys, seconds| {
        drive(keys, seconds, || |key| cache.get(&key).expect("resident")[0])
    })
}

fn quick_number(options: &Options) -> Run {
    let cache = quick_cache::sync::Cache::<u64, u64>::new(2 * options.pages as usize);
    (0..options.pages).for_each(|key| cache.insert(key, key));
    Box::new(move |keys, seconds| {
        drive(keys, seconds, || |key| cache.get(&key).expect("resident") as u8)
    })
}

fn foyer_page(options: &Options) -> Run {
    let cache: foyer::Cache<u64, Arc<Vec<u8>>> =
        foyer::CacheBuilder::new(2 * options.pages as usize).build();
    (0..options.pages).for_each(|key| drop(cache.insert(key, Arc::new(vec![1; PAGE_BYTES]))));
    Box::new(move |keys, seconds| {
        drive(keys, seconds, || |key| cache.get(&key).expect("resident").value()[0])
    })
}
