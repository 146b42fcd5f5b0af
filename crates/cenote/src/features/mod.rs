//! Features of vertices: a row of numbers for each, in a file beside the graph.
//!
//! - [`FeatureWriter`]: writes a file; made by [`Graph::create_features`]
//! - [`Features`]: fetches rows; opened by [`Graph::features`]
//! - [`FeatureType`]: the type of the numbers
//!
//! The file is byte-exact in `docs/features.md`: a header in page 0, then the rows by the numbers
//! of the vertices, one behind the other, in pages with a checksum each.
//!
//! [`Graph::create_features`]: crate::Graph::create_features
//! [`Graph::features`]: crate::Graph::features

mod header;
mod read;
mod write;

pub use self::header::FeatureType;
pub use self::read::Features;
pub use self::write::FeatureWriter;

/// Bytes of a page.
const PAGE_BYTES: usize = 4096;

/// Where the rows of a page start, behind its checksum.
const ROWS_START: usize = 8;

/// Bytes of rows in a page.
const ROW_BYTES: u64 = (PAGE_BYTES - ROWS_START) as u64;
