//! A policy's state as bytes, and back.
//!
//! In front stands what the state belongs to: the version of the encoding, the policy with all of
//! its options, how many pages and tiers. Then comes what cannot be computed from the placement
//! (heaps and sums are built anew). Nothing guards against changed bits: that is up to the keeper
//! of the bytes. But whatever they say, a policy that was made of them does not panic: every policy
//! checks lengths, numbers of pages and the ranges of values before it takes them.
//!
//! There may be more pages now than when the state was saved. Then the old pages are exactly as hot
//! as they were, the others are as new, and times that are given in accesses per page grow with the
//! pages.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Context, Policy, PolicyKind};
use crate::error::{Result, TierError};
use crate::placement::Placement;

/// Changes with what the bytes mean.
const VERSION: u8 = 1;

/// More accesses than any run makes; sums of as many fit their types.
pub(super) const ACCESSES_MAX: u64 = 1 << 56;

/// What a state belongs to.
#[derive(Debug)]
pub(super) struct Owner {
    /// The policy and its options.
    name: String,
    pages: u32,
    tiers: usize,
}

impl Owner {
    pub(super) fn new(kind: PolicyKind, context: &Context<'_>) -> Self {
        let Context { placement, .. } = context;
        let name = format!("{kind:?}");
        Self { name, pages: placement.pages(), tiers: placement.tiers() }
    }

    fn head(&self) -> (u8, &str, u32, usize) {
        (VERSION, &self.name, self.pages, self.tiers)
    }

    /// The bytes of a state.
    pub(super) fn pack(&self, state: impl Serialize) -> Result<Vec<u8>> {
        let fault = |e: postcard::Error| TierError::State { reason: e.to_string() };
        postcard::to_stdvec(&(self.head(), state)).map_err(fault)
    }

    /// The state of these bytes, if it is of the same policy and tiers, and for no more pages; and
    /// for how many pages.
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

/// A policy that can take on a state which one of its kind had.
pub(super) trait Load: Policy + Sized + 'static {
    /// Takes on what was saved, if it can be; `placement` is where pages lie now.
    fn load(&mut self, placement: &Placement, bytes: &[u8]) -> Result<()>;

    /// Itself, or itself as it was saved.
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

/// Refuses what does not hold.
pub(super) fn check(holds: bool, reason: impl FnOnce() -> String) -> Result<()> {
    if holds { Ok(()) } else { Err(refused(reason())) }
}

/// Takes on an entry for each of the first `count`, if there are as many and each of them can be.
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

/// Takes on a number of accesses.
pub(super) fn take_accesses(into: &mut u64, saved: u64) -> Result<()> {
    check(saved <= ACCESSES_MAX, || format!("accesses: found {saved}"))?;
    *into = saved;
    Ok(())
}

/// Takes on a share or another number between 0 and 1.
pub(super) fn is_share(value: f64) -> bool {
    (0.0..=1.0).contains(&value)
}
