//! Replacement policies, one file each.
//!
//! - `clock_sweep`: usage counts and a hand, as in PostgreSQL
//! - `lru`: least recently used
//! - `cflru`: clean pages of the cold window first
//! - `lru_wsr`: dirty pages get a second chance by a cold flag
//! - `s3_fifo`: three queues; most new pages are evicted early
//! - `sieve`: one queue, a hand that moves towards newer pages
//!
//! A policy defines a *virtual order* of eviction (dissertation 4.2.1), independent of the writer:
//! it returns a victim and the next dirty or clean pages, and is notified of pages that were
//! admitted, used and removed.
//!
//! The pool calls a policy under one lock. [`HitRecording`] lets hits avoid the lock.

mod levels;
mod queue;
#[cfg(test)]
mod tests;

mod cflru;
mod clock_sweep;
mod lru;
mod lru_wsr;
mod s3_fifo;
mod sieve;

use std::fmt::{self, Debug};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::PageId;

/// Number of a frame, from 0 to the pool's frames - 1.
pub type FrameId = u32;

/// How hits are passed to a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HitRecording {
    /// As a count of hits per frame up to `max` (at most 127), without a lock; the policy reads and
    /// resets it through [`Frames`].
    Counted {
        /// Greatest count.
        max: u8,
    },
    /// In order, by [`Policy::touched`]. Each handle passes its hits in batches of
    /// [`RECORDS_MAX`](crate::RECORDS_MAX), and before it needs a victim; so the order is exact for
    /// one handle, and exact up to a batch for several.
    Ordered,
}

/// Where a page enters the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entrance {
    /// As the most recently used page.
    Hot,
    /// Next to the victims: it was prefetched and not used yet.
    Cold,
}

/// The frames' states, for policies. Other threads may change them at any time; the pool checks
/// them again under the frame's latch.
pub trait Frames {
    /// Whether the page differs from the device's and is not being written.
    fn is_dirty(&self, frame: FrameId) -> bool;

    /// Whether the page is not pinned and not being written (it may be dirty).
    fn is_evictable(&self, frame: FrameId) -> bool;

    /// Count of hits since admission or reset ([`HitRecording::Counted`]).
    fn uses(&self, frame: FrameId) -> u8;

    /// Sets the count of hits.
    fn set_uses(&self, frame: FrameId, uses: u8);
}

/// A replacement policy.
pub trait Policy: Send + Debug {
    /// How hits are passed to it.
    fn hits(&self) -> HitRecording;

    /// `page` was read into `frame`; [`Entrance::Hot`] includes the first use.
    fn admitted(&mut self, frame: FrameId, page: PageId, entrance: Entrance, frames: &dyn Frames);

    /// The page in `frame` was used again; only for [`HitRecording::Ordered`].
    fn touched(&mut self, frame: FrameId, write: bool);

    /// The page in `frame` was written back and is clean, for now.
    fn cleaned(&mut self, _frame: FrameId) {}

    /// `page` was removed from `frame`.
    fn removed(&mut self, frame: FrameId, page: PageId);

    /// Chooses the next page to evict, moving hands and setting flags. The page stays in the order
    /// until [`Policy::removed`]. `None` if no frame is evictable.
    fn victim(&mut self, frames: &dyn Frames) -> Option<FrameId>;

    /// Appends up to `n` frames whose pages are dirty and evictable, in the virtual order, visiting
    /// at most `reach` frames; directly after [`Policy::victim`] chose a dirty page, that page is
    /// the first. Only LRU-WSR changes its state by this (cold flags, as in its paper).
    fn next_dirty(&mut self, n: usize, reach: usize, frames: &dyn Frames, out: &mut Vec<FrameId>);

    /// Appends up to `n` frames whose pages are clean and evictable, in the virtual order, visiting
    /// at most `reach` frames.
    fn next_clean(&self, n: usize, reach: usize, frames: &dyn Frames, out: &mut Vec<FrameId>);
}

/// The policies that come with the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PolicyKind {
    /// Clock Sweep, with usage counts as in PostgreSQL.
    Clock,
    /// Least recently used.
    Lru,
    /// Clean-first LRU.
    Cflru,
    /// LRU with write sequence reordering.
    LruWsr,
    /// S3-FIFO.
    S3Fifo,
    /// SIEVE.
    Sieve,
}

impl PolicyKind {
    /// All policies; the four of the paper first.
    pub const ALL: [Self; 6] =
        [Self::Clock, Self::Lru, Self::Cflru, Self::LruWsr, Self::S3Fifo, Self::Sieve];

    /// The four that the paper measures (dissertation 4.5).
    pub const PAPER: [Self; 4] = [Self::Clock, Self::Lru, Self::Cflru, Self::LruWsr];

    /// The name in tables and options.
    pub fn name(self) -> &'static str {
        match self {
            Self::Clock => "clock",
            Self::Lru => "lru",
            Self::Cflru => "cflru",
            Self::LruWsr => "lru-wsr",
            Self::S3Fifo => "s3-fifo",
            Self::Sieve => "sieve",
        }
    }

    /// A policy for a pool of `frames`.
    pub fn build(self, frames: usize) -> Box<dyn Policy> {
        match self {
            Self::Clock => Box::new(clock_sweep::ClockSweep::new(frames)),
            Self::Lru => Box::new(lru::Lru::new(frames)),
            Self::Cflru => Box::new(cflru::Cflru::new(frames, frames / 3)),
            Self::LruWsr => Box::new(lru_wsr::LruWsr::new(frames)),
            Self::S3Fifo => Box::new(s3_fifo::S3Fifo::new(frames)),
            Self::Sieve => Box::new(sieve::Sieve::new(frames)),
        }
    }
}

impl fmt::Display for PolicyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for PolicyKind {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|kind| kind.name()).collect();
            format!("no policy is called '{name}'; there are {}", names.join(", "))
        })
    }
}
