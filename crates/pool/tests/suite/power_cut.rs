//! The power is cut at every operation of a small run, with every writer: what a sync promised is
//! there, and no torn page passes for data.

use std::sync::Arc;

use crate::support::{
    PAGE_BYTES, Random, WRITERS, bump, config, first_contents, number_from, version_of,
};
use cenote_device::Device;
use cenote_device::backend::sim::{Fault, FaultPlan, SimDevice, Unsynced, When};
use cenote_pool::check::{Crc32cTrailer, PageCheck};
use cenote_pool::prefetch::PrefetchKind;
use cenote_pool::{Cleaner, Pool, PoolConfig, PoolError, Writer};

const PAGES: u64 = 30;
const NEW_PAGES: u64 = 4;

/// Pages of several sectors: only those can be torn.
const TEAR_BYTES: usize = 4 * PAGE_BYTES;

/// What a run has been promised.
#[derive(Clone, Debug, Default)]
struct Promise {
    /// Last version written of each page; None for a page that does not exist yet.
    written: Vec<Option<u64>>,
    /// The same at the last sync that returned.
    synced: Vec<Option<u64>>,
}

fn device(plan: FaultPlan) -> Arc<SimDevice> {
    use cenote_device::backend::sim::SimConfig;
    let config = SimConfig::new(crate::support::model()).jitter(0.5).faults(plan);
    Arc::new(SimDevice::with_contents(config, &first_contents(PAGES, TEAR_BYTES)))
}

fn pool_config(writer: Writer) -> PoolConfig {
    let page_bytes = TEAR_BYTES;
    config(8, writer).page_bytes(page_bytes).prefetch(PrefetchKind::Both)
}

/// Changes pages, appends some, syncs now and then, until it is through or the power fails.
fn run(device: &Arc<SimDevice>, writer: Writer, seed: u64) -> Promise {
    let mut written = vec![Some(0); PAGES as usize];
    written.resize((PAGES + NEW_PAGES) as usize, None);
    let mut promise = Promise { synced: written.clone(), written };
    let Ok(pool) = Pool::new(Arc::clone(device) as Arc<dyn Device>, pool_config(writer)) else {
        return promise;
    };
    let handle = pool.handle();
    let mut cleaner = Cleaner::new(&pool).ok();
    let mut random = Random::new(seed);
    for n in 0..60 {
        if device.is_power_cut() {
            break;
        }
        if n % 15 == 7 {
            let page = PAGES + n / 15;
            if let Ok(mut guard) = handle.pin_new(page) {
                crate::support::fill(&mut guard, page, 1);
                promise.written[page as usize] = Some(1);
            }
        }
        let page = random.skewed(PAGES);
        if let Ok(version) = bump(&handle, page) {
            promise.written[page as usize] = Some(version);
        }
        if let Some(cleaner) = &mut cleaner {
            let _ = cleaner.step();
            let _ = cleaner.finish();
        }
        if n % 13 == 12 && handle.sync().is_ok() {
            promise.synced.clone_from(&promise.written);
        }
    }
    promise
}

/// Looks at what the power cut left; how many pages the check refused.
fn judge(device: &SimDevice, plan: FaultPlan, promise: &Promise, writer: Writer) -> usize {
    let after = Arc::new(device.restart(plan));
    let contents = after.contents();
    let pool = Pool::new(Arc::clone(&after) as Arc<dyn Device>, pool_config(writer)).unwrap();
    let handle = pool.handle();
    let mut refused = 0;
    for (page, (&written, &synced)) in promise.written.iter().zip(&promise.synced).enumerate() {
        let page = page as u64;
        match handle.pin(page) {
            // An appended page whose bytes never came is empty, and its file may be short.
            Err(PoolError::NoSuchPage { .. }) => assert_eq!(synced, None, "page {page} is gone"),
            Ok(guard) if page >= PAGES && guard.iter().all(|&byte| byte == 0) => {
                assert_eq!(synced, None, "page {page} is empty");
            }
            Ok(guard) => {
                let found = version_of(page, &guard);
                let range = synced.unwrap_or(0)..=written.unwrap_or(0);
                assert!(range.contains(&found), "page {page}: {found} is not in {range:?}");
            }
            Err(PoolError::Damaged { page: named, .. }) => {
                assert_eq!(named, page);
                assert_ne!(written, synced, "page {page} was not touched since the sync");
                let at = page as usize * TEAR_BYTES;
                let bytes = &contents[at..at + TEAR_BYTES];
                assert!(Crc32cTrailer.check(page, bytes).is_err(), "it is torn indeed");
                refused += 1;
            }
            Err(fault) => panic!("page {page}: {fault}"),
        }
    }
    refused
}

#[test]
fn after_a_power_cut_all_that_was_synced_is_there_and_nothing_torn_is_data() {
    let seed = number_from("CENOTE_POOL_SEED", 11);
    println!("CENOTE_POOL_SEED={seed}");
    for writer in WRITERS {
        let whole = device(FaultPlan::seeded(seed));
        let promise = run(&whole, writer, seed);
        assert_ne!(promise.synced, vec![Some(0); PAGES as usize], "some syncs returned");
        let mut refused = 0;
        for unsynced in [Unsynced::Random, Unsynced::Kept, Unsynced::Lost, Unsynced::Torn] {
            for operation in 0..whole.operations() {
                let cut = FaultPlan { unsynced, ..FaultPlan::power_cut(seed, operation) };
                let device = device(cut);
                let promise = run(&device, writer, seed);
                assert!(device.is_power_cut(), "operation {operation} is part of the run");
                println!("{writer} {unsynced:?} cut at {operation}");
                refused += judge(&device, FaultPlan::seeded(seed), &promise, writer);
            }
        }
        assert!(refused > 0, "{writer}: some pages were torn, and refused");
    }
}

/// The judge must be able to fail: a drive that lies about its syncs loses synced pages.
#[test]
fn a_drive_that_lies_is_found_out() {
    let caught = (0..20).any(|seed| {
        let lie = Fault {
            when: When::WriteChance(0.5),
            effect: cenote_device::backend::sim::Effect::LostWrite,
        };
        let device = device(FaultPlan { faults: vec![lie], ..FaultPlan::seeded(seed) });
        let promise = run(&device, Writer::Ace { batch: 4 }, seed);
        let judged = std::panic::catch_unwind(|| {
            judge(&device, FaultPlan::none(), &promise, Writer::Classical)
        });
        judged.is_err()
    });
    assert!(caught);
}
