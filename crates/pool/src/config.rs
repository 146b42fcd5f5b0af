//! Configuration of a pool.

use std::fmt;
use std::sync::Arc;

use cenote_device::model::DeviceModel;
use cenote_device::{Op, setters};
use serde::{Deserialize, Serialize};

use crate::check::PageCheck;
use crate::policy::PolicyKind;
use crate::prefetch::PrefetchKind;

/// Configuration of a pool.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PoolConfig {
    /// Bytes of a page: a multiple of the device's block size, at least 512.
    pub page_bytes: usize,
    /// Frames: pages in memory.
    pub frames: usize,
    /// The replacement policy.
    pub policy: PolicyKind,
    /// The writer of dirty pages.
    pub writer: Writer,
    /// The prefetcher.
    pub prefetch: PrefetchKind,
    /// n_e: most pages that are evicted for a miss and what is prefetched with it.
    pub evict_batch: usize,
    /// k_r: most submitted reads of one handle in flight.
    pub read_depth: usize,
    /// Seals pages before writes and checks them after reads.
    pub check: Option<Arc<dyn PageCheck>>,
    /// Timeout in milliseconds for a page or a frame that other guards hold.
    pub patience_ms: u64,
}

/// The writer: which dirty pages are written back, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Writer {
    /// Writes the victim alone, when it is evicted: one write for one read.
    Classical,
    /// A background [`Cleaner`](crate::Cleaner) writes batches of a fixed size, as in InnoDB and
    /// LeanStore; a victim that is still dirty is written alone.
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
    /// ACE with a background [`Cleaner`](crate::Cleaner) that writes such a batch as soon as the
    /// next victim is dirty (dissertation 4.4: the background writer writes n_w pages at once,
    /// too). A victim that is still dirty is written as by [`Writer::Ace`].
    AceBackground {
        /// n_w, best the write concurrency of the device.
        batch: usize,
    },
}

impl Writer {
    /// The name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Classical => "classical",
            Self::Cleaner { .. } => "cleaner",
            Self::Ace { .. } => "ace",
            Self::AceBackground { .. } => "ace-bg",
        }
    }

    /// n_w of ACE; `None` for other writers.
    pub fn n_w(self) -> Option<usize> {
        match self {
            Self::Ace { batch } | Self::AceBackground { batch } => Some(batch),
            Self::Classical | Self::Cleaner { .. } => None,
        }
    }

    /// Whether it uses a [`Cleaner`](crate::Cleaner).
    pub fn has_cleaner(self) -> bool {
        matches!(self, Self::Cleaner { .. } | Self::AceBackground { .. })
    }

    /// Most pages that one handle writes at once.
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
    /// The classical writer, Clock Sweep, no prefetching, one read of a handle in flight.
    pub fn classical(page_bytes: usize, frames: usize) -> Self {
        Self {
            page_bytes,
            frames,
            policy: PolicyKind::Clock,
            writer: Writer::Classical,
            prefetch: PrefetchKind::None,
            evict_batch: 1,
            read_depth: 1,
            check: None,
            patience_ms: 10_000,
        }
    }

    /// ACE over a device: n_w = n_e = k_w and k_r of its model for pages of `page_bytes`
    /// (dissertation 4.3.1), Clock Sweep, no prefetching.
    pub fn ace(page_bytes: usize, frames: usize, model: &DeviceModel) -> Self {
        let k_w = model.channels(Op::Write, page_bytes as u64) as usize;
        let k_r = model.channels(Op::Read, page_bytes as u64) as usize;
        Self {
            writer: Writer::Ace { batch: k_w },
            evict_batch: k_w,
            read_depth: k_r,
            ..Self::classical(page_bytes, frames)
        }
    }

    setters! {
        page_bytes: usize,
        frames: usize,
        policy: PolicyKind,
        writer: Writer,
        prefetch: PrefetchKind,
        evict_batch: usize,
        read_depth: usize,
        check: Option<Arc<dyn PageCheck>>,
        patience_ms: u64,
    }
}
