//! Which page is evicted when the pool is full: replacement policies, one file each.
//!
//! - `clock_sweep`: usage counts and a hand, as PostgreSQL has it
//! - `lru`: least recently used
//! - `cflru`: clean pages of the cold window first
//! - `lru_wsr`: dirty pages get a second chance by a cold flag
//! - `s3_fifo`: three queues: most new pages leave early
//! - `sieve`: one queue, a hand that moves towards newer pages
//!
//! A policy gives a *virtual order* of the pages that are to leave (dissertation 4.2.1). It never
//! learns what the writer makes of that order: it names a victim, and on demand the next dirty and
//! the next clean pages, and is notified of pages that were admitted, used and removed.
//!
//! The pool calls a policy under one lock. So that hits need not take it, a policy says how it
//! needs them ([`HitRecording`]).

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
    /// As a number per frame that grows by one with each hit up to `max` (at most 127), without
    /// any lock; the policy reads and resets it through [`Frames`].
    Counted {
        /// Greatest count.
        max: u8,
    },
    /// One by one and in order, by [`Policy::touched`]. Each handle hands over its hits in batches
    /// of [`RECORDS_MAX`](crate::RECORDS_MAX), and all of them before it asks for a victim; so one
    /// handle alone is followed exactly, several within that batch.
    Ordered,
}

/// Where a page enters the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entrance {
    /// As a page that was just used.
    Hot,
    /// Where the next victims are: prefetched, not used yet.
    Cold,
}

/// What a policy may know of the frames. Other threads change it at any time; what counts is
/// checked again under the frame's latch.
pub trait Frames {
    /// Whether the page differs from the device's and is not being written.
    fn is_dirty(&self, frame: FrameId) -> bool;

    /// Whether the page could leave now: not pinned and not being written (it may be dirty).
    fn is_evictable(&self, frame: FrameId) -> bool;

    /// Hits since it was admitted or reset ([`HitRecording::Counted`]).
    fn uses(&self, frame: FrameId) -> u8;

    /// Sets the count of hits.
    fn set_uses(&self, frame: FrameId, uses: u8);
}

/// A replacement policy.
pub trait Policy: Send + Debug {
    /// How it needs hits.
    fn hits(&self) -> HitRecording;

    /// `page` was read into `frame`; the first use is part of it ([`Entrance::Hot`]).
    fn admitted(&mut self, frame: FrameId, page: PageId, entrance: Entrance, frames: &dyn Frames);

    /// The page in `frame` was used again; only for [`HitRecording::Ordered`].
    fn touched(&mut self, frame: FrameId, write: bool);

    /// The page in `frame` was written back and is clean, for now.
    fn cleaned(&mut self, _frame: FrameId) {}

    /// `page` left `frame`.
    fn removed(&mut self, frame: FrameId, page: PageId);

    /// The page that is to leave, and the policy's own bookkeeping for the choice (a hand that
    /// moves, flags that are set). It stays in the order until [`Policy::removed`]. None where no
    /// frame is evictable.
    fn victim(&mut self, frames: &dyn Frames) -> Option<FrameId>;

    /// Appends up to `n` frames whose pages are dirty and evictable, in the order in which they
    /// would leave, looking at no more than `reach` frames; asked after [`Policy::victim`] named a
    /// dirty page, that page is the first. Changes nothing but what the policy's own paper says
    /// (LRU-WSR sets cold flags).
    fn next_dirty(&mut self, n: usize, reach: usize, frames: &dyn Frames, out: &mut Vec<FrameId>);

    /// Appends up to `n` frames whose pages are clean and evictable, in the order in which they
    /// would leave, looking at no more than `reach` frames. Changes nothing.
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
    /// All of them; the four of the paper first.
    pub const ALL: [Self; 6] =
        [Self::Clock, Self::Lru, Self::Cflru, Self::LruWsr, Self::S3Fifo, Self::Sieve];

    /// The four that the paper measures (dissertation 4.5).
    pub const PAPER: [Self; 4] = [Self::Clock, Self::Lru, Self::Cflru, Self::LruWsr];

    /// Its name in tables and options.
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
