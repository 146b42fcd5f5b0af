//! Encoding of a policy's state.
//!
//! A header names the version of the encoding, the policy with its options, and the numbers of
//! pages and tiers. Then comes the state that cannot be computed from the placement: heaps and sums
//! are rebuilt. There is no checksum; the caller adds one. But no bytes make a restored policy
//! panic: every policy checks lengths, page numbers and ranges of values.
//!
//! There may be more pages than when the state was saved. Then the old pages keep their heat, the
//! others are new, and times in accesses per page grow with the pages.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Context, Policy, PolicyKind};
use crate::error::{Result, TierError};
use crate::placement::Placement;

const VERSION: u8 = 1;

/// Most accesses in a saved state: more than any run makes, and sums of as many fit their types.
pub(super) const ACCESSES_MAX: u64 = 1 << 56;

/// The policy, pages and tiers that a state belongs to.
#[derive(Debug)]
pub(super) struct StateHeader {
    /// The policy and its options.
    name: String,
    pages: u32,
    tiers: usize,
}

impl StateHeader {
    pub(super) fn new(kind: PolicyKind, context: &Context<'_>) -> Self {
        let Context { placement, .. } = context;
        let name = format!("{kind:?}");
        Self { name, pages: placement.pages(), tiers: placement.tiers() }
    }

    fn head(&self) -> (u8, &str, u32, usize) {
        (VERSION, &self.name, self.pages, self.tiers)
    }

    pub(super) fn pack(&self, state: impl Serialize) -> Result<Vec<u8>> {
        let fault = |e: postcard::Error| TierError::State { reason: e.to_string() };
        postcard::to_stdvec(&(self.head(), state)).map_err(fault)
    }

    /// Decodes a state of the same policy and tiers, and its number of pages, which is no greater.
    pub(super) fn unpack<S: DeserializeOwned>(&self, bytes: &[u8]) -> Result<(S, u32)> {
        let damaged = |e: postcard::Error| refused(format!("damaged ({e})"));
        let (version, rest) = postcard::take_from_bytes::<u8>(bytes).map_err(damaged)?;
        if version != VERSION {
            return Err(refused(format!("version {version}, only {VERSION} is known")));
        }
        let (head, rest) =
            postcard::take_from_bytes::<(&str, u32, usize)>(rest).map_err(damaged)?;
        let (_, name, pages, tiers) = self.head();
        if (head.0, head.2) != (name, tiers) || !(1..=pages).contains(&head.1) {
            let found = format!("of {} for {} pages on {} tiers", head.0, head.1, head.2);
            return Err(refused(format!("{found}, expected {name} for {pages} on {tiers}")));
        }
        let (state, rest) = postcard::take_from_bytes::<S>(rest).map_err(damaged)?;
        check(rest.is_empty(), || format!("damaged ({} bytes too many)", rest.len()))?;
        Ok((state, head.1))
    }
}

/// A policy that can be restored from a saved state.
pub(super) trait Load: Policy + Sized + 'static {
    /// Restores the saved state, for pages that lie as in `placement`.
    fn load(&mut self, placement: &Placement, bytes: &[u8]) -> Result<()>;

    /// Boxes the policy, restored if there is a saved state.
    fn boxed(mut self, context: &Context<'_>, saved: Option<&[u8]>) -> Result<Box<dyn Policy>> {
        if let Some(bytes) = saved {
            self.load(context.placement, bytes)?;
        }
        Ok(Box::new(self))
    }
}

pub(super) fn refused(reason: String) -> TierError {
    TierError::State { reason }
}

pub(super) fn check(holds: bool, reason: impl FnOnce() -> String) -> Result<()> {
    if holds { Ok(()) } else { Err(refused(reason())) }
}

/// Restores the first `count` entries, if there are as many and each is possible.
pub(super) fn take_all<T>(
    into: &mut [T],
    saved: Vec<T>,
    count: usize,
    what: &str,
    can_be: impl Fn(&T) -> bool,
) -> Result<()> {
    check(saved.len() == count, || format!("{what}: found {}, expected {count}", saved.len()))?;
    let wrong = saved.iter().position(|entry| !can_be(entry));
    check(wrong.is_none(), || format!("{what}: number {} cannot be", wrong.unwrap_or_default()))?;
    into.iter_mut().zip(saved).for_each(|(entry, saved)| *entry = saved);
    Ok(())
}

/// Restores a number of accesses.
pub(super) fn take_accesses(into: &mut u64, saved: u64) -> Result<()> {
    check(saved <= ACCESSES_MAX, || format!("accesses: found {saved}"))?;
    *into = saved;
    Ok(())
}

/// Whether a value is between 0 and 1.
pub(super) fn is_share(value: f64) -> bool {
    (0.0..=1.0).contains(&value)
}
