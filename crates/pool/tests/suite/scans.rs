//! Planned passes beside threads that change pages: never older than what was there when the pass
//! began, and nothing stale is kept.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::support::hooked::{Door, Hooked};
use crate::support::{PAGE_BYTES, bump, config, sim, version_of};
use cenote_device::backend::sim::{Effect, FaultPlan, When};
use cenote_device::plan::Planner;
use cenote_device::profile::Profile;
use cenote_pool::policy::PolicyKind;
use cenote_pool::scan::{Extent, Scan};
use cenote_pool::{Pool, PoolError, Writer, scan};

const PAGES: u64 = 40;

fn planner() -> Planner {
    Planner::new(&Profile::assumed(), PAGE_BYTES, 8 * PAGE_BYTES, 1)
}

/// Page 5 is dirty and held by a writer while a pass comes by: the device's copy is old.
#[test]
fn a_pass_waits_for_a_page_that_is_being_changed() {
    let slow = config(8, Writer::Classical).patience_ms(5_000);
    let pool = Pool::new(sim(PAGES, FaultPlan::none()), slow).unwrap();
    let planner = planner();
    let handle = pool.handle();
    bump(&handle, 5).unwrap();
    let barrier = std::sync::Barrier::new(2);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mine = pool.handle();
            let guard = mine.pin_mut(5).unwrap();
            barrier.wait();
            std::thread::sleep(Duration::from_millis(30));
            drop(guard);
        });
        barrier.wait();
        scan::pass(&handle, &planner, 0..PAGES, |page, bytes| {
            assert_eq!(version_of(page, bytes), u64::from(page == 5));
            Ok::<(), PoolError>(())
        })
        .unwrap();
    });
}

/// After a pass has read page 5 from the device, another handle changes it, and it is written
/// back and leaves; then a frame becomes free.
#[test]
fn a_pass_neither_shows_nor_keeps_a_page_that_was_changed_behind_it() {
    let place: Arc<OnceLock<Arc<Pool>>> = Arc::default();
    let (hooks, armed) = (Arc::clone(&place), AtomicBool::new(true));
    let (from, to) = (30 * PAGE_BYTES as u64, 31 * PAGE_BYTES as u64);
    let read_of_30 = When::ReadIn(from, to);
    let inner = sim(PAGES, FaultPlan::seeded(1).with(read_of_30, Effect::Errno(libc::EIO)));
    let device = Hooked::new(inner, move |door| {
        let Some(pool) = hooks.get().filter(|_| door == Door::Reaped) else { return Ok(()) };
        if !armed.swap(false, Ordering::AcqRel) {
            return Ok(());
        }
        let other = pool.handle();
        bump(&other, 5).unwrap();
        (20..22).for_each(|page| drop(other.pin(page).unwrap()));
        assert!(other.resident(5).is_none(), "it has left");
        assert!(other.pin(30).is_err());
        assert_eq!(pool.free_frames(), 1, "a failed read leaves a free frame");
        Ok(())
    });
    let pool = Pool::new(device, config(2, Writer::Classical)).unwrap();
    let planner = planner();
    let handle = pool.handle();
    assert!(place.set(Arc::clone(&pool)).is_ok());
    scan::pass(&handle, &planner, [5], |page, bytes| {
        assert_eq!(version_of(page, bytes), 1, "the pass shows what is newer");
        Ok::<(), PoolError>(())
    })
    .unwrap();
    assert_eq!(version_of(5, &handle.pin(5).unwrap()), 1);
    let version = handle.version(7);
    let old = crate::support::sealed_image(7, 0, PAGE_BYTES);
    bump(&handle, 7).unwrap();
    (20..22).for_each(|page| drop(handle.pin(page).unwrap()));
    assert!(handle.pin(30).is_err());
    assert!(!handle.insert_if_current(7, &old, version), "an overtaken copy is not kept");
    assert_eq!(version_of(7, &handle.pin(7).unwrap()), 1);
}

#[test]
fn repeated_passes_find_a_fixed_part_in_memory() {
    let pool = Pool::new(sim(PAGES, FaultPlan::none()), config(8, Writer::Classical)).unwrap();
    let handle = pool.handle();
    let mut kept = Vec::new();
    for round in 0..3 {
        let mut seen = vec![0; PAGES as usize];
        scan::pass(&handle, &planner(), 0..PAGES, |page, bytes| {
            seen[page as usize] += 1;
            assert_eq!(version_of(page, bytes), 0);
            Ok::<(), PoolError>(())
        })
        .unwrap();
        assert_eq!(seen, vec![1; PAGES as usize], "every page once");
        let now: Vec<u64> = (0..PAGES).filter(|&p| handle.resident(p).is_some()).collect();
        assert_eq!(now.len(), 8);
        assert!(round == 0 || kept == now, "{kept:?} then {now:?}");
        kept = now;
    }
}

#[test]
fn a_copy_takes_the_place_of_a_clean_page_that_nobody_holds() {
    let pool = Pool::new(sim(PAGES, FaultPlan::none()), config(3, Writer::Classical)).unwrap();
    let handle = pool.handle();
    let insert = |page| {
        let kept =
            handle.insert_replacing(page, &crate::support::sealed_image(page, 0, PAGE_BYTES));
        assert_eq!(kept, handle.resident(page).is_some());
        kept
    };
    assert!((0..20).all(insert), "the last is always kept");
    assert!(!handle.insert_replacing(19, &[0; PAGE_BYTES]), "it is in memory");
    assert_eq!(version_of(19, &handle.resident(19).unwrap()), 0);
    assert!(!insert(PAGES), "there is no such page");
    bump(&handle, 30).unwrap();
    let held: Vec<_> = [31, 32].map(|page| handle.pin(page).unwrap()).into();
    assert!(!insert(5), "one is dirty, two are held");
    drop(held);
    assert!(insert(5) && insert(6));
    assert_eq!(version_of(30, &handle.pin(30).unwrap()), 1);
}

#[test]
fn copies_take_the_places_of_the_oldest_while_a_page_is_held() {
    for page in 0..4 {
        let config = config(4, Writer::Classical).policy(PolicyKind::Clock);
        let pool = Pool::new(sim(PAGES, FaultPlan::none()), config).unwrap();
        let handle = pool.handle();
        let insert = |page| {
            handle.insert_replacing(page, &crate::support::sealed_image(page, 0, PAGE_BYTES))
        };
        assert!((0..4).all(insert));
        let held = handle.resident(page).unwrap();
        assert!((10..13).all(insert));
        let there: Vec<_> = (0..20).filter(|page| handle.resident(*page).is_some()).collect();
        assert_eq!(there, [page, 10, 11, 12]);
        drop(held);
    }
}

#[test]
fn a_pass_over_a_damaged_page_ends_with_its_name() {
    let device = sim(PAGES, FaultPlan::none());
    device.flip_bit(9 * PAGE_BYTES as u64 + 77, 0);
    let pool = Pool::new(device, config(8, Writer::Classical)).unwrap();
    let passed = scan::pass(&pool.handle(), &planner(), 0..PAGES, |page, bytes| {
        assert_eq!(version_of(page, bytes), 0);
        Ok::<(), PoolError>(())
    });
    assert!(matches!(passed, Err(PoolError::Damaged { page: 9, .. })), "{passed:?}");
    let beyond = scan::pass(&pool.handle(), &planner(), [PAGES], |_, _| Ok::<(), PoolError>(()));
    assert!(matches!(beyond, Err(PoolError::NoSuchPage { .. })), "{beyond:?}");
}

/// Two buffers: of two pages read in turn neither is read again, and a third one takes the place of
/// the one that was used first.
#[test]
fn extents_in_free_buffers_arrive_without_a_read() {
    let device = sim(PAGES, FaultPlan::none());
    let mut scan = Scan::new(device.as_ref(), 2, 4 * PAGE_BYTES, PAGE_BYTES).unwrap();
    let mut is_kept = |first_page, pages| {
        let kept = scan.start_or_keep(Extent { first_page, pages, load: () });
        scan.collect(true).unwrap();
        let arrived = scan.next_arrived().unwrap();
        assert_eq!((arrived.is_kept, scan.has_arrived()), (kept, false));
        for page in first_page..first_page + pages {
            assert_eq!(version_of(page, arrived.page(page, PAGE_BYTES)), 0);
        }
        scan.recycle(arrived);
        kept
    };
    let extents = [(0, 1), (8, 4), (0, 1), (10, 2), (8, 1), (0, 1), (20, 1)];
    assert_eq!(
        extents.map(|(first_page, pages)| is_kept(first_page, pages)),
        [false, false, true, true, true, true, false]
    );
    assert!(is_kept(0, 1), "page 20 took the place of the extent that was used first");
    assert!(!is_kept(8, 4) && !is_kept(11, 2), "half of an extent is not enough");
}
