//! The examples of the papers' figures: dissertation Fig. 4.4 and 4.6, ACE article Fig. 7.
//!
//! Frame `i` holds page p`i + 1`; p1 is the most and p6 the least recently used.

use super::super::cflru::Cflru;
use super::super::clock_sweep::ClockSweep;
use super::super::lru::Lru;
use super::super::lru_wsr::LruWsr;
use super::super::s3_fifo::S3Fifo;
use super::super::sieve::Sieve;
use super::super::{Entrance, FrameId, Policy};
use super::Fake;

const ALL: usize = usize::MAX;

fn p(number: FrameId) -> FrameId {
    number - 1
}

fn pages(frames: Vec<FrameId>) -> Vec<FrameId> {
    frames.into_iter().map(|frame| frame + 1).collect()
}

/// Admits p6 to p1, so that p1 is the last used, and makes some of them dirty.
fn fill(policy: &mut dyn Policy, dirty: &[FrameId]) -> Fake {
    let fake = Fake::new(6);
    for page in (1..=6).rev() {
        policy.admitted(p(page), u64::from(page), Entrance::Hot, &fake);
    }
    dirty.iter().for_each(|&page| fake.set_dirty(p(page), true));
    fake
}

fn next_dirty(policy: &mut dyn Policy, n: usize, reach: usize, fake: &Fake) -> Vec<FrameId> {
    let mut out = vec![];
    policy.next_dirty(n, reach, fake, &mut out);
    pages(out)
}

fn next_clean(policy: &dyn Policy, n: usize, fake: &Fake) -> Vec<FrameId> {
    let mut out = vec![];
    policy.next_clean(n, ALL, fake, &mut out);
    pages(out)
}

fn write_back(policy: &mut dyn Policy, fake: &Fake, written: &[FrameId]) {
    for &page in written {
        fake.set_dirty(p(page), false);
        policy.cleaned(p(page));
    }
}

#[test]
fn figure_4_6_a_lru_writes_p6_p4_p2_and_evicts_p6_p5_p4() {
    let mut policy = Lru::new(6);
    let fake = fill(&mut policy, &[6, 4, 2]);
    assert_eq!(policy.victim(&fake), Some(p(6)));
    let written = next_dirty(&mut policy, 3, ALL, &fake);
    assert_eq!(written, [6, 4, 2]);
    write_back(&mut policy, &fake, &written);
    assert_eq!(next_clean(&policy, 3, &fake), [6, 5, 4]);
}

/// p6, p4 and p1 dirty and marked cold, p3 dirty without the mark.
fn marked() -> (LruWsr, Fake) {
    let mut policy = LruWsr::new(6);
    let fake = fill(&mut policy, &[]);
    let mut mark = |page: FrameId, used_after: &[FrameId]| {
        fake.set_dirty(p(page), true);
        assert!(next_dirty(&mut policy, 1, 1, &fake).is_empty(), "one look marks and moves");
        used_after.iter().for_each(|&page| policy.touched(p(page), page == 3));
    };
    mark(6, &[5]);
    mark(4, &[3, 2]);
    mark(1, &[]);
    fake.set_dirty(p(3), true);
    (policy, fake)
}

#[test]
fn figure_4_6_b_lru_wsr_spares_p3_and_writes_p6_p4_p1() {
    let (mut policy, fake) = marked();
    assert_eq!(policy.victim(&fake), Some(p(6)));
    let written = next_dirty(&mut policy, 3, ALL, &fake);
    assert_eq!(written, [6, 4, 1]);
    write_back(&mut policy, &fake, &written);
    assert_eq!(next_clean(&policy, 3, &fake), [6, 5, 4]);
    fake.set_dirty(p(3), false);
    assert_eq!(next_clean(&policy, 6, &fake), [6, 5, 4, 2, 1, 3], "p3 is at the hot end");
}

#[test]
fn a_use_takes_the_cold_mark_off() {
    let (mut policy, fake) = marked();
    (1..=6).rev().for_each(|page| policy.touched(p(page), false));
    assert_eq!(policy.victim(&fake), Some(p(5)), "p6 is spared, p5 is clean");
}

#[test]
fn figure_4_4_c_lru_wsr_spares_a_dirty_page_once_and_never_a_clean_one() {
    let mut policy = LruWsr::new(6);
    let fake = fill(&mut policy, &[6]);
    assert_eq!(policy.victim(&fake), Some(p(5)), "p6 is dirty and not marked, p5 clean");
    assert_eq!(next_clean(&policy, 6, &fake), [5, 4, 3, 2, 1]);
    (1..=5).for_each(|page| fake.set_pinned(p(page), true));
    assert_eq!(policy.victim(&fake), Some(p(6)), "marked and dirty");
}

#[test]
fn figure_4_4_b_cflru_takes_the_coldest_clean_page_of_its_window() {
    let mut policy = Cflru::new(6, 3);
    let fake = fill(&mut policy, &[6, 5]);
    assert_eq!(policy.victim(&fake), Some(p(4)));
    policy.removed(p(4), 4);
    assert_eq!(policy.victim(&fake), Some(p(3)), "p3 came into the window");
    fake.set_dirty(p(3), true);
    assert_eq!(policy.victim(&fake), Some(p(6)), "none is clean: least recently used");
}

#[test]
fn article_figure_7_b_cflru_writes_p6_p5_p4_of_the_window_and_evicts_them() {
    let mut policy = Cflru::new(6, 3);
    let fake = fill(&mut policy, &[6, 5, 4]);
    assert_eq!(policy.victim(&fake), Some(p(6)));
    let written = next_dirty(&mut policy, 3, ALL, &fake);
    assert_eq!(written, [6, 5, 4]);
    write_back(&mut policy, &fake, &written);
    assert_eq!(next_clean(&policy, 3, &fake), [6, 5, 4]);
    assert_eq!(policy.victim(&fake), Some(p(6)));
}

#[test]
fn figure_4_4_a_the_hand_takes_a_use_off_each_page_that_it_passes() {
    let mut policy = ClockSweep::new(6);
    let fake = fill(&mut policy, &[]);
    let uses = [2, 1, 3, 0, 5, 0];
    (0..6).for_each(|i| fake.uses[i].set(uses[i]));
    fake.set_pinned(1, true);
    assert_eq!(next_clean(&policy, 6, &fake), [4, 6, 1, 3, 5]);
    assert_eq!(policy.victim(&fake), Some(3));
    let left: Vec<_> = fake.uses.iter().map(std::cell::Cell::get).collect();
    assert_eq!(left, [1, 1, 2, 0, 5, 0], "a pinned page is passed as it is");
    policy.removed(3, 4);
    assert_eq!(policy.victim(&fake), Some(5), "the hand goes on from there");
}

#[test]
fn s3_fifo_keeps_what_was_used_twice_and_what_came_back() {
    let mut policy = S3Fifo::new(6);
    let fake = fill(&mut policy, &[]);
    fake.uses[p(6) as usize].set(2);
    fake.uses[p(5) as usize].set(1);
    assert_eq!(policy.victim(&fake), Some(p(5)), "one use is not enough");
    policy.removed(p(5), 5);
    policy.admitted(p(5), 5, Entrance::Hot, &fake);
    let order = next_clean(&policy, 6, &fake);
    assert_eq!(order, [4, 3, 2, 1, 6, 5], "p6 was promoted, p5 remembered");
}

#[test]
fn sieve_passes_used_pages_and_goes_on_from_where_it_was() {
    let mut policy = Sieve::new(6);
    let fake = fill(&mut policy, &[]);
    fake.uses[p(6) as usize].set(1);
    assert_eq!(policy.victim(&fake), Some(p(5)));
    assert_eq!(fake.uses[p(6) as usize].get(), 0, "its use is forgotten");
    policy.removed(p(5), 5);
    policy.admitted(p(5), 7, Entrance::Hot, &fake);
    fake.uses[p(3) as usize].set(1);
    assert_eq!(next_clean(&policy, 6, &fake), [4, 2, 1, 5, 6, 3]);
}
