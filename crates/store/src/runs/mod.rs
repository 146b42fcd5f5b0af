//! Delta runs: sorted changes on the device that the pages of the lists do not have yet.
//!
//! A log that is full, or a batch that is too large for the log, becomes a run: its changes in the
//! order of the pages of lists that they concern. That costs a few bytes for each change, where a
//! merge rewrites whole pages. A page of lists is read with its changes from every run. Runs of one
//! level that have become [`FAN_IN`] are merged into one of the next level, and all of them into
//! the lists when they exceed a share of the lists' size.
//!
//! After the log-structured merge tree of O'Neil et al. (Acta Informatica 1996), merged by tiers,
//! and the delta graphs of GraphSSD (section 3.4).
//!
//! - `page`: the encoding of changes in pages
//! - `run`: a run in the index; `index`: which page of a run has the changes of a page of lists
//! - `read`: finds the changes of a page of lists
//! - `chunks`: the parts of runs that are in memory; `ahead`: reads them before they are needed
//! - `write`: writes a run; `memory`: the memory of a graph for its runs

mod ahead;
mod chunks;
pub(crate) mod index;
mod memory;
pub(crate) mod page;
pub(crate) mod read;
pub(crate) mod run;
pub(crate) mod write;

pub use chunks::take_run_reads;
pub use memory::KeptRuns;
pub use read::RunReads;

/// So many runs of a level become one of the next.
pub(crate) const FAN_IN: usize = 8;

/// Levels are numbers of 8 bits; a run of the highest is as large as any device.
pub(crate) const LEVEL_MAX: u8 = 20;
