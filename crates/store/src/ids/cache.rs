//! The few pages that stay in memory between lookups.

use std::sync::{Mutex, PoisonError};

use cenote_device::{Buffer, Device};

use crate::error::Result;

/// A search touches `log2(pages)` pages, the next search the first of these again.
const PAGES_MAX: usize = 64;

/// Pages by number; the one not used for longest leaves.
#[derive(Debug, Default)]
pub(super) struct PageCache {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    pages: Vec<Cached>,
    uses: u64,
}

#[derive(Debug)]
struct Cached {
    number: u64,
    used: u64,
    buffer: Buffer,
}

impl PageCache {
    pub fn memory_bytes(&self) -> usize {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.pages.iter().map(|cached| cached.buffer.len()).sum()
    }

    /// Reads page `number` of the device unless it is here, lets `verify` accept it, and passes it
    /// to `read`.
    pub fn with<T>(
        &self,
        device: &dyn Device,
        number: u64,
        page_bytes: usize,
        verify: impl FnOnce(&[u8]) -> Result<()>,
        read: impl FnOnce(&[u8]) -> Result<T>,
    ) -> Result<T> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.uses += 1;
        let now = state.uses;
        if let Some(cached) = state.pages.iter_mut().find(|cached| cached.number == number) {
            cached.used = now;
            return read(&cached.buffer);
        }
        let buffer = Buffer::new(page_bytes)?;
        let offset = number * page_bytes as u64;
        let buffer = cenote_device::read_exact(device, offset, page_bytes, buffer)?;
        verify(&buffer)?;
        let answer = read(&buffer);
        state.keep(Cached { number, used: now, buffer });
        answer
    }
}

impl State {
    fn keep(&mut self, page: Cached) {
        if self.pages.len() < PAGES_MAX {
            self.pages.push(page);
            return;
        }
        if let Some(oldest) = self.pages.iter_mut().min_by_key(|cached| cached.used) {
            *oldest = page;
        }
    }
}
