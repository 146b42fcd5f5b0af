//! Relaxes edges whose source is in the band.

use std::sync::atomic::{AtomicU64, Ordering};

use cenote_engine::{Bitmap, Messages, Sender, VertexId};

use super::super::length::{Lengths, UNREACHED};
use super::super::relax::Sums;
use super::band::Band;
use super::bounds::Bounds;
use crate::bands::Layout;

/// Bytes of a message: a vertex, and the length of a path to it.
pub(super) const MESSAGE_BYTES: usize = 12;

/// A message.
#[inline(always)]
fn message(v: VertexId, length: u64) -> [u8; MESSAGE_BYTES] {
    let mut message = [0; MESSAGE_BYTES];
    message[..4].copy_from_slice(&v.to_le_bytes());
    message[4..].copy_from_slice(&length.to_le_bytes());
    message
}

/// The vertex and the length of a message.
#[inline(always)]
pub(super) fn parts(message: &[u8; MESSAGE_BYTES]) -> (VertexId, u64) {
    let [a, b, c, d, length @ ..] = *message;
    (VertexId::from_le_bytes([a, b, c, d]), u64::from_le_bytes(length))
}

/// Messages that wait for a band.
#[derive(Debug)]
pub(super) struct Waiting {
    /// The least length.
    least: AtomicU64,
    count: AtomicU64,
}

impl Waiting {
    pub fn new() -> Self {
        Self { least: AtomicU64::new(UNREACHED), count: AtomicU64::new(0) }
    }

    #[inline(always)]
    pub fn add(&self, length: u64) {
        if length < self.least.load(Ordering::Relaxed) {
            self.least.fetch_min(length, Ordering::Relaxed);
        }
        self.count.fetch_add(1, Ordering::Relaxed);
    }

    pub fn least(&self) -> u64 {
        self.least.load(Ordering::Relaxed)
    }

    pub fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed) as usize
    }

    pub fn clear(&self) {
        self.least.store(UNREACHED, Ordering::Relaxed);
        self.count.store(0, Ordering::Relaxed);
    }
}

/// Shortens distances in the band, and sends lengths to the others.
pub(super) struct Relax<'a> {
    pub layout: &'a Layout,
    pub lengths: Lengths,
    pub band: &'a Band,
    /// Vertices whose distance fell since their list was last visited.
    pub active: &'a Bitmap,
    pub bounds: &'a Bounds,
    pub messages: &'a Messages<'a, MESSAGE_BYTES>,
    /// What waits for each band.
    pub waiting: &'a [Waiting],
    /// Longer paths are ignored.
    pub bound: u64,
}

impl<'a> Relax<'a> {
    /// Sends a path to a vertex that is not in memory, if it may be shorter than all before.
    #[inline(always)]
    pub fn send(&self, sender: &mut Sender<'a, MESSAGE_BYTES>, target: VertexId, sum: u64) {
        if self.bounds.may_be_shorter(target, sum) {
            let band = self.layout.band_of(target);
            self.waiting[band].add(sum);
            sender.send(band, &message(target, sum));
        }
    }
}

impl<'a> Sums for Relax<'a> {
    type Local = Sender<'a, MESSAGE_BYTES>;

    fn local(&self) -> Self::Local {
        self.messages.sender()
    }

    #[inline(always)]
    fn distance(&self, v: VertexId) -> u64 {
        self.band.distance(v)
    }

    fn lengths(&self) -> Lengths {
        self.lengths
    }

    fn end(&self, sender: &mut Self::Local) {
        sender.finish();
    }

    #[inline(always)]
    fn path(&self, sender: &mut Self::Local, _: VertexId, _: u64, target: VertexId, sum: u64) {
        if sum > self.bound {
            return;
        }
        match self.band.has(target) {
            true => self.band.shorten(target, sum, self.active),
            false => self.send(sender, target, sum),
        }
    }
}
