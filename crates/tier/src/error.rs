//! Errors of tiers, policies and moves.

use thiserror::Error;

/// An invalid description of tiers or policies, or an impossible move.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum TierError {
    /// An invalid description of tiers or of a policy.
    #[error("{what}: found {found}, expected {expected}")]
    Spec {
        /// The invalid part.
        what: String,
        /// The given value.
        found: String,
        /// Valid values.
        expected: String,
    },

    /// More pages than all tiers hold together.
    #[error("{pages} pages do not fit the tiers, which hold {capacity}")]
    TooSmall {
        /// Pages to place.
        pages: u64,
        /// Pages that fit.
        capacity: u64,
    },

    /// A page that does not exist.
    #[error("page {page} does not exist: there are {pages}")]
    NoSuchPage {
        /// The page.
        page: u64,
        /// Pages that exist.
        pages: u64,
    },

    /// A policy's state that cannot be saved or restored.
    #[error("state of the policy refused: {reason}")]
    State {
        /// Why.
        reason: String,
    },

    /// Moves that overfill a tier, or that name a page or tier that does not exist.
    #[error("moves refused: {reason}")]
    Moves {
        /// Why.
        reason: String,
    },
}

impl TierError {
    pub(crate) fn spec(what: &str, found: impl ToString, expected: impl Into<String>) -> Self {
        Self::Spec { what: what.to_owned(), found: found.to_string(), expected: expected.into() }
    }
}

/// The result of building or driving tiers.
pub type Result<T> = std::result::Result<T, TierError>;

/// Checks one part of a description.
pub(crate) fn require(
    holds: bool,
    what: impl AsRef<str>,
    found: impl ToString,
    expected: impl Into<String>,
) -> Result<()> {
    if holds { Ok(()) } else { Err(TierError::spec(what.as_ref(), found, expected)) }
}
