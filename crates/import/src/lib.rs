//! Imports edge lists in many formats into a graph file, within bounded memory.
//!
//! The steps:
//!
//! 1. `input`: opens files and stdin, decompresses gzip and zstd; [`edges`], `vertices`, `arrow`:
//!    convert edges and vertices in memory to streams of `rows`; `once`: copies inputs that can be
//!    read only once; `blocks`: cuts text at line ends
//! 2. `parse`: workers parse blocks in parallel, one file for each input format
//! 3. `ids`: collects the user's ids and ranks them in ascending order
//! 4. `collect`: spills the pairs, unless the input can simply be read again; `batch`: the pairs
//!    that a worker has parsed
//! 5. `order`: computes the vertex of each rank, unless the order is that of the ids; chooses the
//!    order by a sample of the edges, if asked to
//! 6. `partition`, `mapper`: map ids to vertices and partition the edges by ranges of keys, each of
//!    which fits into memory
//! 7. `sort`, `build`: sort one range after the other and stream its lists to the graph writer
//!
//! `values`, `vertex_values`: files of vertices may have values, and Arrow batches are values,
//! which the graph gets at last.
//!
//! `driver` runs the steps; `rewrite` imports a graph again that is `stored`, which `thread_rows`
//! streams; `each` only reads, and passes the edges on. `spill` has the blocks of pairs and keys,
//! which `kept` keeps in memory as long as nothing else needs it; `budget` counts every buffer
//! against the memory budget; [`output`] checks what an output would replace; [`workspace`] creates
//! spill files and the output, so that a simulator can use faulty devices.
//!
//! The graph file depends on the edges and the options alone, never on the number of threads, the
//! memory budget or the order of the inputs.

mod arrow;
mod batch;
mod blocks;
mod budget;
mod build;
mod collect;
mod config;
mod driver;
mod each;
pub mod edges;
mod error;
mod head;
mod ids;
mod import;
mod input;
mod kept;
mod long_list;
mod mapper;
mod once;
mod order;
pub mod output;
mod parse;
mod partition;
mod report;
mod rewrite;
mod rows;
mod sort;
mod spill;
mod stored;
mod straight;
mod thread_rows;
mod values;
mod vertex_values;
mod vertices;
mod workers;
pub mod workspace;

pub use arrow::ArrowBatches;
/// The crate of [`ArrowBatches`], in the version that it uses.
pub use arrow_array;
pub use config::{Format, Header, IdKind, ImportConfig, Input, InputSpec, THREADS_MAX};
pub use driver::{Streamed, StreamedIds};
pub use each::{VisitEdge, for_each_edge};
pub use edges::{Edge, EdgeId, EdgeWeight, Edges};
pub use error::{ImportError, Result};
pub use import::{import, import_edges, import_into, import_with_values};
pub use report::{ImportReport, NoProgress, Phase, Progress};
pub use rewrite::rewrite;
pub use straight::{
    Components, ComponentsConfig, EdgeDegrees, EdgeDegreesConfig, PassStats, VertexIds, components,
    edge_degrees,
};
pub use vertex_values::VertexValues;
pub use vertices::Vertices;
pub use workspace::{FileWorkspace, Workspace};
