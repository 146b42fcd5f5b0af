//! The memory budget of an import, which counts every large buffer.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::{ImportError, Result};

/// Counts memory in use and refuses more than the limit.
#[derive(Debug)]
pub(crate) struct Budget {
    limit: usize,
    used: AtomicUsize,
    peak: AtomicUsize,
}

/// Memory in use; released on drop.
#[derive(Debug)]
pub(crate) struct Held<'a> {
    budget: &'a Budget,
    bytes: usize,
}

impl Budget {
    pub fn new(limit: usize) -> Self {
        Self { limit, used: AtomicUsize::new(0), peak: AtomicUsize::new(0) }
    }

    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Bytes in use.
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Bytes available.
    pub fn free(&self) -> usize {
        self.limit.saturating_sub(self.used())
    }

    pub fn peak(&self) -> usize {
        self.peak.load(Ordering::Relaxed)
    }

    /// Reserves `bytes` for `what`, or fails with the budget that would be needed.
    pub fn hold(&self, bytes: usize, what: &'static str) -> Result<Held<'_>> {
        let mut held = Held { budget: self, bytes: 0 };
        held.grow(bytes, what)?;
        Ok(held)
    }
}

impl Held<'_> {
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Reserves `more` bytes.
    pub fn grow(&mut self, more: usize, what: &'static str) -> Result<()> {
        let used = self.budget.used.fetch_add(more, Ordering::Relaxed) + more;
        if used > self.budget.limit {
            self.budget.used.fetch_sub(more, Ordering::Relaxed);
            return Err(ImportError::Memory { given: self.budget.limit, needed: used, what });
        }
        self.bytes += more;
        self.budget.peak.fetch_max(used, Ordering::Relaxed);
        Ok(())
    }

    /// Grows or shrinks to `bytes`.
    pub fn resize(&mut self, bytes: usize, what: &'static str) -> Result<()> {
        self.shrink_to(bytes);
        self.grow(bytes - self.bytes, what)
    }

    /// Releases all but `bytes`.
    pub fn shrink_to(&mut self, bytes: usize) {
        let back = self.bytes.saturating_sub(bytes);
        self.budget.used.fetch_sub(back, Ordering::Relaxed);
        self.bytes -= back;
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.shrink_to(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_memory_names_the_budget_that_would_do() {
        let budget = Budget::new(100);
        let held = budget.hold(70, "a").expect("fits");
        let refused = budget.hold(50, "the sort").expect_err("does not fit");
        assert!(matches!(refused, ImportError::Memory { needed: 120, given: 100, .. }));
        drop(held);
        assert_eq!(budget.free(), 100);
        assert_eq!(budget.peak(), 70);
    }
}
