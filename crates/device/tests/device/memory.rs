//! Arrays on huge pages, which give memory back.

use cenote_device::HugeVec;
use cenote_device::memory::HUGE_PAGE_BYTES;

#[test]
fn released_items_are_zero_where_they_fill_pages_and_others_stay() {
    // From the allocator, mapped, and on huge pages.
    for len in [100, 100_000, 4_000_000] {
        let mut items = HugeVec::filled(len, 7u32).unwrap();
        let released = len / 10..len - len / 10;
        items.release(released.clone());
        let zeroes: Vec<usize> = (0..len).filter(|&at| items[at] == 0).collect();
        assert!(items.iter().all(|&item| item == 0 || item == 7));
        assert!(zeroes.iter().all(|at| released.contains(at)));
        let page = if 4 * len < HUGE_PAGE_BYTES { 4096 } else { HUGE_PAGE_BYTES };
        let pages = if len == 100 { 0 } else { 4 * released.len() / page - 1 };
        assert!(zeroes.len() * 4 >= pages * page, "{} of {len}", zeroes.len());
        assert_eq!(zeroes.is_empty(), len == 100, "{len}");
        items.release(0..len);
        assert!(len == 100 || items[0] == 0, "wherever the first huge page begins");
        items.fill(8);
        assert!(items.iter().all(|&item| item == 8), "they can be used again");
    }
}

#[test]
fn arrays_without_items_are_empty_and_aligned() {
    let mut items = HugeVec::<u64>::zeroed(0).unwrap();
    assert!(items.is_empty() && items.as_ptr().is_aligned());
    items.release(0..0);
    items.fill(1);
    assert_eq!(items.bytes(), 0);
}
