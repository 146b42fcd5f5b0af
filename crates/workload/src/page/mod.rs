//! Loads for a buffer pool: reads and writes of pages, generated or read from a trace.
//!
//! - [`mix`]: the synthetic loads of the ACE chapter: MS, WIS, RIS, MU
//! - [`phases`]: the loads of the tiering chapter: hot pages in phases, or a sliding hot set
//! - [`zipf`]: Zipf's law, as in YCSB
//! - [`drift`]: Zipf's law with hot pages that change
//! - [`trace`]: page traces from files: text, CSV, binary, the classic collections
//! - [`dense`]: renumbers the pages of a sparse load
//!
//! Every load is a [`PageLoad`]: an iterator over [`PageOp`]s with a name and, if it is known in
//! advance, a size.
//!
//! ```
//! use cenote_workload::page::{PageLoad, mix::{Mix, MixConfig}};
//! let load = Mix::new(MixConfig::ms(10_000, 1_000, 1))?;
//! assert_eq!(load.pages(), Some(10_000));
//! let writes = load.filter(|op| op.as_ref().is_ok_and(|op| op.write)).count();
//! assert!((400..600).contains(&writes));
//! # Ok::<(), cenote_workload::WorkloadError>(())
//! ```

pub mod dense;
pub mod drift;
pub mod mix;
pub mod phases;
pub mod trace;
pub mod zipf;

use crate::error::{Result, float, require};

/// One access to a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PageOp {
    /// Page number, from 0.
    pub page: u64,
    /// Whether the access writes.
    pub write: bool,
}

impl PageOp {
    /// A read of `page`.
    pub fn read(page: u64) -> Self {
        Self { page, write: false }
    }

    /// A write to `page`.
    pub fn write(page: u64) -> Self {
        Self { page, write: true }
    }
}

/// A sequence of page accesses. Generators yield no errors; a trace yields an error where its file
/// is broken, and then ends.
pub trait PageLoad: Iterator<Item = Result<PageOp>> {
    /// Name in tables.
    fn name(&self) -> String;

    /// Number of pages of the database, in its final size if it grows; every access is to a page
    /// below. `None` if it is known only after reading the load.
    fn pages(&self) -> Option<u64>;

    /// Number of accesses of the whole load. `None` if it is known only after reading it.
    fn ops(&self) -> Option<u64>;
}

impl<L: PageLoad + ?Sized> PageLoad for Box<L> {
    fn name(&self) -> String {
        (**self).name()
    }

    fn pages(&self) -> Option<u64> {
        (**self).pages()
    }

    fn ops(&self) -> Option<u64> {
        (**self).ops()
    }
}

/// An event with a fixed probability, decided by 32 random bits.
#[derive(Clone, Copy, Debug)]
struct Chance {
    /// The event happens for this many of the 2^32 values. Represents 0 and 1 exactly.
    threshold: u64,
}

impl Chance {
    fn new(name: &'static str, share: f64) -> Result<Self> {
        require((0.0..=1.0).contains(&share), name, float(share), "a share from 0 to 1")?;
        Ok(Self { threshold: (share * (1u64 << 32) as f64).round() as u64 })
    }

    #[inline(always)]
    fn happens(self, bits: u32) -> bool {
        u64::from(bits) < self.threshold
    }
}

/// The position of an iterator over `ops` accesses, each a function of its index.
#[derive(Clone, Copy, Debug)]
struct Cursor {
    next: u64,
    ops: u64,
}

impl Cursor {
    fn new(ops: u64) -> Self {
        Self { next: 0, ops }
    }

    #[inline(always)]
    fn take(&mut self) -> Option<u64> {
        let index = self.next;
        (index < self.ops).then(|| {
            self.next += 1;
            index
        })
    }

    fn skip(&mut self, count: usize) {
        self.next = self.next.saturating_add(count as u64).min(self.ops);
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::try_from(self.ops - self.next);
        (left.unwrap_or(usize::MAX), left.ok())
    }
}

/// Implements [`PageLoad`] for a load with a function `op(index)`.
macro_rules! load_by_index {
    ($load:ty) => {
        impl Iterator for $load {
            type Item = Result<PageOp>;

            #[inline]
            fn next(&mut self) -> Option<Self::Item> {
                self.cursor.take().map(|index| Ok(self.op(index)))
            }

            fn nth(&mut self, count: usize) -> Option<Self::Item> {
                self.cursor.skip(count);
                self.next()
            }

            fn size_hint(&self) -> (usize, Option<usize>) {
                self.cursor.size_hint()
            }
        }

        impl PageLoad for $load {
            fn name(&self) -> String {
                self.name.clone()
            }

            fn pages(&self) -> Option<u64> {
                Some(self.pages)
            }

            fn ops(&self) -> Option<u64> {
                Some(self.cursor.ops)
            }
        }
    };
}
use load_by_index;
