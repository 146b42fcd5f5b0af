//! The memory budget of an import, which counts every large buffer.

use std::fmt::Debug;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::error::{ImportError, Result};

/// Counts memory in use and refuses more than the limit.
#[derive(Debug)]
pub(crate) struct Budget {
    counts: Arc<Counts>,
    caches: Mutex<Vec<Weak<dyn Cache>>>,
}

#[derive(Debug)]
pub(crate) struct Counts {
    limit: usize,
    used: AtomicUsize,
    /// The part of it that caches can give back.
    cached: AtomicUsize,
    peak: AtomicUsize,
}

/// Memory that is used as long as nothing else needs it.
pub(crate) trait Cache: Debug + Send + Sync {
    /// Gives back at least so many bytes, or all. Returns the bytes given back.
    fn evict(&self, bytes: usize) -> Result<usize>;
}

/// Memory in use; released on drop.
#[derive(Debug)]
pub(crate) struct Held<'a> {
    budget: &'a Budget,
    bytes: usize,
}

impl Budget {
    pub fn new(limit: usize) -> Self {
        let [used, cached, peak] = [0; 3].map(AtomicUsize::new);
        let counts = Arc::new(Counts { limit, used, cached, peak });
        Self { counts, caches: Mutex::default() }
    }

    pub fn limit(&self) -> usize {
        self.counts.limit
    }

    /// Bytes in use, without those of caches.
    pub fn used(&self) -> usize {
        let used = self.counts.used.load(Ordering::Relaxed);
        used.saturating_sub(self.counts.cached.load(Ordering::Relaxed))
    }

    /// Bytes available, if caches give back theirs.
    pub fn free(&self) -> usize {
        self.limit().saturating_sub(self.used())
    }

    pub fn peak(&self) -> usize {
        self.counts.peak.load(Ordering::Relaxed)
    }

    /// Reserves `bytes` for `what`, or fails with the budget that would be needed.
    pub fn hold(&self, bytes: usize, what: &'static str) -> Result<Held<'_>> {
        let mut held = Held { budget: self, bytes: 0 };
        held.grow(bytes, what)?;
        Ok(held)
    }

    /// The counts, for a cache.
    pub fn counts(&self) -> Arc<Counts> {
        Arc::clone(&self.counts)
    }

    /// Adds a cache, which has to give back memory from now on.
    pub fn add_cache(&self, cache: Weak<dyn Cache>) {
        self.caches.lock().unwrap_or_else(PoisonError::into_inner).push(cache);
    }

    /// Has caches give back so many bytes. Returns whether there was anything to give back.
    fn evict(&self, bytes: usize) -> Result<bool> {
        let caches: Vec<_> = {
            let mut caches = self.caches.lock().unwrap_or_else(PoisonError::into_inner);
            caches.retain(|cache| cache.strong_count() > 0);
            caches.iter().filter_map(Weak::upgrade).collect()
        };
        let mut back = 0;
        for cache in caches {
            if back < bytes {
                back += cache.evict(bytes - back)?;
            }
        }
        Ok(back > 0)
    }
}

impl Counts {
    /// Takes memory for a cache, if more than `reserve` bytes stay available.
    pub fn cache(&self, bytes: usize, reserve: usize) -> bool {
        let fits = |used: usize| {
            let after = used + bytes;
            (after.saturating_add(reserve) <= self.limit).then_some(after)
        };
        let order = Ordering::Relaxed;
        let Ok(before) = self.used.fetch_update(order, order, fits) else { return false };
        self.cached.fetch_add(bytes, order);
        self.peak.fetch_max(before + bytes, order);
        true
    }

    /// Releases memory of a cache.
    pub fn uncache(&self, bytes: usize) {
        self.cached.fetch_sub(bytes, Ordering::Relaxed);
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl Held<'_> {
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Reserves `more` bytes.
    pub fn grow(&mut self, more: usize, what: &'static str) -> Result<()> {
        let Counts { limit, used, peak, .. } = &*self.budget.counts;
        let mut is_last = false;
        loop {
            let now = used.fetch_add(more, Ordering::Relaxed) + more;
            if now <= *limit {
                self.bytes += more;
                peak.fetch_max(now, Ordering::Relaxed);
                return Ok(());
            }
            used.fetch_sub(more, Ordering::Relaxed);
            if is_last {
                return Err(ImportError::Memory { input: None, given: *limit, needed: now, what });
            }
            // Another thread may have had the last of it given back.
            is_last = !self.budget.evict(now - limit)?;
        }
    }

    /// Grows or shrinks to `bytes`.
    pub fn resize(&mut self, bytes: usize, what: &'static str) -> Result<()> {
        self.shrink_to(bytes);
        self.grow(bytes - self.bytes, what)
    }

    /// Releases all but `bytes`.
    pub fn shrink_to(&mut self, bytes: usize) {
        let back = self.bytes.saturating_sub(bytes);
        self.budget.counts.used.fetch_sub(back, Ordering::Relaxed);
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

    #[derive(Debug)]
    struct Tens(Arc<Counts>, AtomicUsize);

    impl Cache for Tens {
        fn evict(&self, bytes: usize) -> Result<usize> {
            let tens = bytes.div_ceil(10).min(self.1.load(Ordering::Relaxed));
            self.1.fetch_sub(tens, Ordering::Relaxed);
            self.0.uncache(tens * 10);
            Ok(tens * 10)
        }
    }

    #[test]
    fn caches_use_what_is_free_and_give_it_back() {
        let budget = Budget::new(100);
        let cache = Arc::new(Tens(budget.counts(), AtomicUsize::new(0)));
        let shared: Arc<dyn Cache> = Arc::<Tens>::clone(&cache);
        budget.add_cache(Arc::downgrade(&shared));
        drop(shared);
        while cache.0.cache(10, 20) {
            cache.1.fetch_add(1, Ordering::Relaxed);
        }
        assert_eq!((cache.1.load(Ordering::Relaxed), budget.free(), budget.used()), (8, 100, 0));
        let held = budget.hold(45, "a").expect("fits");
        assert_eq!((cache.1.load(Ordering::Relaxed), budget.free()), (5, 55));
        let refused = budget.hold(60, "b").expect_err("does not fit");
        assert!(matches!(refused, ImportError::Memory { needed: 105, given: 100, .. }));
        drop((held, cache));
        assert_eq!(budget.peak(), 95);
    }
}
