//! The simulator of the whole system: from a seed it imports, queries, injects faults and restarts,
//! and compares every answer with an oracle that is too simple to be wrong.
//!
//! It runs the production code (import, engine, algorithms) on simulated devices in virtual time.
//! Every random choice comes from one seed, which every failure prints.
//!
//! - [`random`]: random choices
//! - [`shape`], [`input`]: random edge lists, and files of them
//! - [`oracle`]: the graph in plain vectors, and the answers by definition
//! - [`disk`]: simulated devices for imports
//! - [`question`]: questions about a graph, and the comparison of answers
//! - [`house`]: the whole system: import, open, run, compare
//! - [`faults`]: the whole system with failing devices and power cuts
//! - [`updates`]: graphs that change, on devices that fail at any moment
//! - [`guard`]: converts panics and hangs to errors
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
pub mod updates;

/// The result of a simulation, or a description of what went wrong.
pub type Outcome<T = ()> = Result<T, String>;

/// Fails with the message of `what`, unless `holds`.
pub(crate) fn demand(holds: bool, what: impl FnOnce() -> String) -> Outcome {
    if holds { Ok(()) } else { Err(what()) }
}
