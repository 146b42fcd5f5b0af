//! What a pool is made of.

use std::fmt;
use std::sync::Arc;

use cenote_device::Op;
use cenote_device::model::DeviceModel;
use serde::{Deserialize, Serialize};

use crate::check::PageCheck;
use crate::policy::PolicyKind;
use crate::prefetch::PrefetchKind;

/// How a pool is built.
#[derive(Clone, Debug)]
pub struct PoolConfig {
    /// Bytes of a page: a multiple of the device's block size, at least 512.
    pub page_bytes: usize,
    /// Pages that it holds.
    pub frames: usize,
    /// Which page is evicted.
    pub policy: PolicyKind,
    /// Which pages are written back, and when.
    pub writer: Writer,
    /// Which pages are read ahead.
    pub prefetch: PrefetchKind,
    /// n_e: pages that are evicted for one miss when there is something to prefetch.
    pub evict_batch: usize,
    /// k_r: reads that one handle keeps in flight at most.
    pub read_depth: usize,
    /// What the client's pages are sealed and checked with.
    pub check: Option<Arc<dyn PageCheck>>,
    /// How long a handle waits for a page or a frame that other guards hold before it reports an
    /// error, in milliseconds.
    pub patience_ms: u64,
}

/// The writer: which dirty pages are written back, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Writer {
    /// The victim alone, when it leaves: one write for one read.
    Classical,
    /// A background [`Cleaner`](crate::Cleaner) writes batches of a fixed size, as InnoDB's and
    /// LeanStore's do; a dirty victim that it did not reach in time is written alone.
    Cleaner {
        /// Pages of a batch.
        batch: usize,
    },
    /// ACE: when the victim is dirty, the next `batch` dirty pages of the virtual order are
    /// written at once (n_w; dissertation 4.3.2).
    Ace {
        /// n_w, best the write concurrency of the device.
        batch: usize,
    },
    /// ACE with a background [`Cleaner`](crate::Cleaner) that does the same as soon as the next
    /// victim is dirty, while the readers read (dissertation 4.4: the background writer writes n_w
    /// pages at once, too). What it does not reach in time is written as by [`Writer::Ace`].
    AceBackground {
        /// n_w, best the write concurrency of the device.
        batch: usize,
    },
}

impl Writer {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Classical => "classical",
            Self::Cleaner { .. } => "cleaner",
            Self::Ace { .. } => "ace",
            Self::AceBackground { .. } => "ace-bg",
        }
    }

    /// n_w of ACE; None for the others.
    pub fn n_w(self) -> Option<usize> {
        match self {
            Self::Ace { batch } | Self::AceBackground { batch } => Some(batch),
            Self::Classical | Self::Cleaner { .. } => None,
        }
    }

    /// Whether a [`Cleaner`](crate::Cleaner) belongs to it.
    pub fn has_cleaner(self) -> bool {
        matches!(self, Self::Cleaner { .. } | Self::AceBackground { .. })
    }

    /// Pages that one handle writes at once at most.
    pub fn batch(self) -> usize {
        match self {
            Self::Classical => 1,
            Self::Cleaner { batch } | Self::Ace { batch } | Self::AceBackground { batch } => batch,
        }
    }
}

impl fmt::Display for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl PoolConfig {
    /// ACE over a device: n_w = n_e = k_w and k_r of its model for pages of `page_bytes`
    /// (dissertation 4.3.1), Clock Sweep, no prefetching.
    pub fn ace(page_bytes: usize, frames: usize, model: &DeviceModel) -> Self {
        let k_w = model.channels(Op::Write, page_bytes as u64) as usize;
        let k_r = model.channels(Op::Read, page_bytes as u64) as usize;
        Self {
            page_bytes,
            frames,
            policy: PolicyKind::Clock,
            writer: Writer::Ace { batch: k_w },
            prefetch: PrefetchKind::None,
            evict_batch: k_w,
            read_depth: k_r,
            check: None,
            patience_ms: 10_000,
        }
    }
}
