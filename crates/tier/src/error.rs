//! What can be wrong with tiers, with a policy's name, or with what a policy asks for.

use thiserror::Error;

/// A description that makes no tiers, or a move that they cannot take.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum TierError {
    /// A description of tiers that cannot be.
    #[error("{what}: found {found}, expected {expected}")]
    Spec {
        /// Which part.
        what: String,
        /// What was given.
        found: String,
        /// What would do.
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

    /// A policy's state that cannot be saved, or not be taken back.
    #[error("state of the policy refused: {reason}")]
    State {
        /// Why.
        reason: String,
    },

    /// Moves after which a tier would hold more than it can, or that name what does not exist.
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
