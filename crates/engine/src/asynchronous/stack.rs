//! Stacks of pages or vertices, linked through one array.
//!
//! An item lies on at most one stack, so one link per item is enough for any number of stacks.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use bytemuck::Zeroable;
use cenote_device::HugeVec;

use crate::error::Result;

/// A link: holds the number of an item.
pub(super) trait Link: Zeroable + Sync {
    fn get(&self) -> u64;
    fn set(&self, item: u64);
}

impl Link for AtomicU32 {
    fn get(&self) -> u64 {
        u64::from(self.load(Ordering::Relaxed))
    }

    fn set(&self, item: u64) {
        self.store(u32::try_from(item).expect("vertex ids are u32"), Ordering::Relaxed);
    }
}

impl Link for AtomicU64 {
    fn get(&self) -> u64 {
        self.load(Ordering::Relaxed)
    }

    fn set(&self, item: u64) {
        self.store(item, Ordering::Relaxed);
    }
}

/// For each item on a stack, the item below it.
#[derive(Debug)]
pub(super) struct Links<L>(HugeVec<L>);

impl<L: Link> Links<L> {
    pub fn new(items: u64) -> Result<Self> {
        Ok(Self(HugeVec::zeroed(items as usize)?))
    }

    pub fn bytes_for(items: u64) -> u64 {
        items * size_of::<L>() as u64
    }
}

/// A stack, used by one worker at a time.
#[derive(Debug, Default)]
pub(super) struct Stack {
    top: u64,
    len: u64,
}

impl Stack {
    pub fn len(&self) -> u64 {
        self.len
    }

    pub fn push<L: Link>(&mut self, links: &Links<L>, item: u64) {
        links.0[item as usize].set(self.top);
        self.top = item;
        self.len += 1;
    }

    pub fn pop<L: Link>(&mut self, links: &Links<L>) -> Option<u64> {
        self.len = self.len.checked_sub(1)?;
        let item = self.top;
        self.top = links.0[item as usize].get();
        Some(item)
    }

    /// Removes the upper half and returns it as a stack.
    pub fn split<L: Link>(&mut self, links: &Links<L>) -> Self {
        let half = self.len / 2;
        let upper = Self { top: self.top, len: half };
        for _ in 0..half {
            self.top = links.0[self.top as usize].get();
        }
        self.len -= half;
        upper
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_split_stack_gives_the_same_items_in_the_same_order() {
        let links: Links<AtomicU32> = Links::new(10).unwrap();
        let mut lower = Stack::default();
        (0..9).for_each(|item| lower.push(&links, item));
        let mut upper = lower.split(&links);
        assert_eq!((upper.len(), lower.len()), (4, 5));
        lower.push(&links, 9);
        let items =
            |stack: &mut Stack| std::iter::from_fn(|| stack.pop(&links)).collect::<Vec<_>>();
        assert_eq!(items(&mut upper), [8, 7, 6, 5]);
        assert_eq!(items(&mut lower), [9, 4, 3, 2, 1, 0]);
        assert_eq!(lower.split(&links).len(), 0);
    }
}
