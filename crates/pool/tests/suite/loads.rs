//! Large reads into the frames: in place of other pages, never of what is newer.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use crate::support::hooked::{Door, Hooked};
use crate::support::{PAGE_BYTES, bump, config, sim, version_of};
use cenote_device::backend::sim::{Effect, FaultPlan, When};
use cenote_pool::load::Loader;
use cenote_pool::policy::PolicyKind;
use cenote_pool::{Pool, PoolError, Writer};

const PAGES: u64 = 40;

fn loader(pool: &Pool) -> Loader {
    Loader::new(pool, 2, 4 * PAGE_BYTES).unwrap()
}

#[test]
fn loaded_pages_take_the_place_of_others_and_need_no_further_read() {
    let wanted = [1, 2, 3, 5, 6, 20, 30, 31];
    let pool = Pool::new(sim(PAGES, FaultPlan::none()), config(8, Writer::Classical)).unwrap();
    let handle = pool.handle();
    (10..18).for_each(|page| drop(handle.pin(page).unwrap()));
    bump(&handle, 3).unwrap();
    let mut loader = loader(&pool);
    loader.load(&handle, &wanted).unwrap();
    assert!(wanted.iter().all(|page| handle.resident(*page).is_some()));
    let misses = pool.stats().misses;
    for page in wanted {
        assert_eq!(version_of(page, &handle.pin(page).unwrap()), u64::from(page == 3), "{page}");
    }
    assert_eq!(pool.stats().misses, misses);
    loader.load(&handle, &wanted).unwrap();
    assert_eq!(pool.stats().misses, misses, "they are there");
    loader.load(&handle, &[]).unwrap();
}

#[test]
fn neighbours_are_read_by_one_request() {
    let requests = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&requests);
    let device = Hooked::new(sim(PAGES, FaultPlan::none()), move |door| {
        if let Door::Reap { reads, .. } = door {
            counted.fetch_max(reads as u64, Ordering::Relaxed);
        }
        Ok(())
    });
    let pool = Pool::new(device, config(16, Writer::Classical)).unwrap();
    let handle = pool.handle();
    let mut loader = Loader::new(&pool, 8, 4 * PAGE_BYTES).unwrap();
    // Through a gap of one page, up to four pages a request, and past a long gap.
    loader.load(&handle, &[1, 2, 4, 5, 6, 20]).unwrap();
    assert_eq!(requests.load(Ordering::Relaxed), 3);
    assert!(handle.resident(3).is_none(), "it was not wanted");
}

/// Three windows fit: one that is used, one that is loaded meanwhile, and room.
#[test]
fn pages_that_are_loaded_ahead_are_there_when_they_are_pinned() {
    const WINDOW: u64 = 8;
    const WINDOWS: u64 = 20;
    // So many pages were used before, some of them twice.
    for used in 0..=3 * WINDOW {
        let device = sim(WINDOW * (WINDOWS + 4), FaultPlan::none());
        let config = config(3 * WINDOW as usize, Writer::Classical).policy(PolicyKind::Sieve);
        let pool = Pool::new(device, config).unwrap();
        let handle = pool.handle();
        (0..used).chain(0..used / 2).for_each(|page| drop(handle.pin(page).unwrap()));
        let mut loader = loader(&pool);
        let window = |at: u64| WINDOW * (at + 3)..WINDOW * (at + 4);
        let mut load = |at| loader.load(&handle, &window(at).collect::<Vec<_>>()).unwrap();
        load(0);
        for at in 0..WINDOWS {
            load(at + 1);
            for page in window(at) {
                assert!(handle.resident(page).is_some(), "{used}: {page} of window {at}");
                drop(handle.pin(page).unwrap());
            }
        }
    }
}

/// After the loader has read page 5 from the device, another handle changes it, and it is written
/// back and leaves.
#[test]
fn a_page_that_was_changed_behind_the_read_is_read_again() {
    let place: Arc<OnceLock<Arc<Pool>>> = Arc::default();
    let (hooks, armed) = (Arc::clone(&place), AtomicBool::new(true));
    let device = Hooked::new(sim(PAGES, FaultPlan::none()), move |door| {
        let Some(pool) = hooks.get().filter(|_| door == Door::Reaped) else { return Ok(()) };
        if armed.swap(false, Ordering::AcqRel) {
            let other = pool.handle();
            bump(&other, 5).unwrap();
            (20..22).for_each(|page| drop(other.pin(page).unwrap()));
            assert!(other.resident(5).is_none(), "it has left");
        }
        Ok(())
    });
    let pool = Pool::new(device, config(2, Writer::Classical)).unwrap();
    let handle = pool.handle();
    assert!(place.set(Arc::clone(&pool)).is_ok());
    loader(&pool).load(&handle, &[5]).unwrap();
    assert_eq!(version_of(5, &handle.pin(5).unwrap()), 1);
}

#[test]
fn a_damaged_page_a_failed_read_and_a_page_beyond_the_end_are_errors() {
    let failing = When::ReadIn(30 * PAGE_BYTES as u64, 31 * PAGE_BYTES as u64);
    let device = sim(PAGES, FaultPlan::seeded(1).with(failing, Effect::Errno(libc::EIO)));
    device.flip_bit(9 * PAGE_BYTES as u64 + 77, 0);
    let pool = Pool::new(device, config(8, Writer::Classical)).unwrap();
    let handle = pool.handle();
    let damaged = loader(&pool).load(&handle, &[8, 9, 10]);
    assert!(matches!(damaged, Err(PoolError::Damaged { page: 9, .. })), "{damaged:?}");
    assert!(loader(&pool).load(&handle, &[29, 30]).is_err());
    let beyond = loader(&pool).load(&handle, &[PAGES]);
    assert!(matches!(beyond, Err(PoolError::NoSuchPage { page: PAGES, .. })), "{beyond:?}");
    loader(&pool).load(&handle, &[8, 10, 29]).unwrap();
}
