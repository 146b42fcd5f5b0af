//! Import: from edge lists, however they are written, to a graph file, within bounded memory.
//!
//! The path of the data, and where each step lives:
//!
//! 1. `input`: opens files and stdin, unpacks gzip and zstd; [`edges`], `arrow`: edges in memory
//!    as streams of `rows`; `once`: copies what can be read only once; `blocks` cuts text at line
//!    ends
//! 2. `parse`: one file per input format; workers parse blocks in parallel
//! 3. `ids`: collects the outer ids and gives each its dense id, in ascending order
//! 4. `collect`: spills the pairs as they come, where the input can't simply be read again
//! 5. `partition`, `mapper`: map outer to dense ids and spread the edges over ranges of keys, each
//!    of which fits memory
//! 6. `sort`, `build`: sorts range after range and streams lists to the graph writer
//!
//! Between 4 and 5, `order` decides which vertex each dense id becomes, where another order than
//! that of the outer ids is asked for. `driver` runs the steps.
//!
//! `spill` moves spilled blocks through `cenote-device`; `budget` counts every buffer against the
//! one memory budget; [`output`] says what an output may replace; [`workspace`] decides where spill
//! files and the output live, so that a simulator can put faulty devices under all of it.
//!
//! The file that comes out depends on the edges and the options alone, never on the number of
//! threads, the memory budget or the order of the inputs.

mod arrow;
mod blocks;
mod budget;
mod build;
mod collect;
mod config;
mod driver;
pub mod edges;
mod error;
mod head;
mod ids;
mod input;
mod long_list;
mod mapper;
mod once;
mod order;
pub mod output;
mod parse;
mod partition;
mod report;
mod rows;
mod sort;
mod spill;
mod workers;
pub mod workspace;

pub use arrow::ArrowBatches;
/// The crate of [`ArrowBatches`], in the version that fits.
pub use arrow_array;
pub use config::{Format, Header, IdKind, ImportConfig, Input, InputSpec, THREADS_MAX};
pub use driver::{import, import_edges, import_into};
pub use edges::{Edge, EdgeId, EdgeWeight, Edges};
pub use error::{ImportError, Result};
pub use report::{ImportReport, NoProgress, Phase, Progress};
pub use workspace::{FileWorkspace, Workspace};
