//! The whole-house simulator: from a seed it imports, queries, breaks and restarts, and compares
//! every answer with an oracle that is too simple to be wrong.
//!
//! It runs the production code: the same import, engine and algorithms, on simulated devices in
//! virtual time. Every random choice comes from one seed, and whatever fails prints that seed.
//!
//! - [`random`]: the choices
//! - [`shape`], [`input`]: random edge lists, and files that hold them
//! - [`oracle`]: the graph in plain vectors, and the answers by definition
//! - [`disk`]: simulated devices under an import
//! - [`question`]: what is asked of a graph, and how answers are compared
//! - [`house`]: import, open, ask, compare
//! - [`faults`]: the same while devices fail and the power is cut
//! - [`guard`]: turns a panic or a hang into a message
//! - [`fuzz`]: the registry of fuzzers
//!
//! ```
//! cenote_sim::fuzz::run("house", 7, 1)?;
//! # Ok::<(), String>(())
//! ```

pub mod disk;
pub mod faults;
pub mod fuzz;
pub mod guard;
pub mod house;
pub mod input;
pub mod oracle;
pub mod question;
pub mod random;
pub mod shape;

/// What a simulation gives: nothing, or in words what went wrong.
pub type Outcome<T = ()> = Result<T, String>;

/// Fails with the message that `what` makes, unless `holds`.
pub(crate) fn demand(holds: bool, what: impl FnOnce() -> String) -> Outcome {
    if holds { Ok(()) } else { Err(what()) }
}
