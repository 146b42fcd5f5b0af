//! Configuration of an import.

use std::fmt;
use std::path::{Path, PathBuf};

use cenote_device::setters;
pub use cenote_device::threads::THREADS_MAX;
use cenote_device::threads::cores;
use cenote_store::format::Codec;
use cenote_store::hub_neighbours::HubNeighboursChoice;
use cenote_store::order::Order;
use cenote_store::{ValueType, WeightType};

use crate::edges::Edges;
use crate::vertices::Vertices;

/// Format of an input file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Edge list: two ids a line, separated by white space or commas. `#` and `%` begin comments.
    /// Further columns (weights, times) are counted in the report and otherwise ignored.
    Edges,
    /// Comma-separated with `"` quotes; see [`Header`]. Two columns are used, others ignored.
    Csv,
    /// Tab-separated without quoting; see [`Header`].
    Tsv,
    /// `u v1 v2 ...` a line: the edges from u. A line with only `u` declares the vertex.
    Adjacency,
    /// METIS: a header `n m [fmt [ncon]]`, then line i has the neighbours of vertex i, from 1.
    Metis,
    /// Matrix Market, `coordinate`: general, symmetric, skew-symmetric or hermitian; from 1.
    MatrixMarket,
    /// One vertex id a line (Graphalytics `.v`): declares vertices, no edges.
    Vertices,
    /// Two columns of a Parquet file: integers or strings.
    Parquet,
    /// Pairs of little-endian `u32`.
    U32,
    /// Pairs of little-endian `u64`.
    U64,
    /// For each vertex in id order a little-endian `u32` degree and that many `u32` targets.
    AdjacencyU32,
}

impl Format {
    /// Every format and its name on the command line.
    pub const NAMES: [(&'static str, Format); 11] = [
        ("edges", Format::Edges),
        ("csv", Format::Csv),
        ("tsv", Format::Tsv),
        ("adjacency", Format::Adjacency),
        ("metis", Format::Metis),
        ("matrix-market", Format::MatrixMarket),
        ("vertices", Format::Vertices),
        ("parquet", Format::Parquet),
        ("u32", Format::U32),
        ("u64", Format::U64),
        ("adjacency-u32", Format::AdjacencyU32),
    ];

    /// The format of a file by its extension, without `.gz` or `.zst`.
    pub fn of_path(path: &Path) -> Option<Format> {
        let name = path.file_name()?.to_str()?.to_ascii_lowercase();
        let name = strip_compression(&name);
        let ending = name.rsplit_once('.')?.1;
        Some(match ending {
            "txt" | "el" | "e" | "edges" | "edgelist" | "wel" | "snap" => Format::Edges,
            "csv" => Format::Csv,
            "tsv" => Format::Tsv,
            "adjlist" => Format::Adjacency,
            "graph" | "metis" => Format::Metis,
            "mtx" | "mm" => Format::MatrixMarket,
            "v" => Format::Vertices,
            "parquet" | "pq" => Format::Parquet,
            "u32" => Format::U32,
            "u64" => Format::U64,
            "adj" => Format::AdjacencyU32,
            _ => return None,
        })
    }

    /// The format with this name.
    pub fn of_name(name: &str) -> Option<Format> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, format)| *format)
    }

    pub(super) fn has_weights(self) -> bool {
        use Format::{Csv, Edges, MatrixMarket, Metis, Parquet, Tsv, Vertices};
        matches!(self, Edges | Csv | Tsv | Metis | MatrixMarket | Parquet | Vertices)
    }

    pub(super) fn may_have_names(self) -> bool {
        use Format::{Adjacency, Csv, Edges, Parquet, Tsv, Vertices};
        matches!(self, Edges | Csv | Tsv | Adjacency | Vertices | Parquet)
    }

    /// Whether any bytes are numbers of it.
    pub(super) fn is_binary(self) -> bool {
        matches!(self, Format::U32 | Format::U64 | Format::AdjacencyU32)
    }

    pub(super) fn is_text(self) -> bool {
        self != Format::Parquet && !self.is_binary()
    }
}

/// Removes the extension of a compressed file.
pub(super) fn strip_compression(name: &str) -> &str {
    [".gz", ".zst", ".zstd"].iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name)
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::NAMES.iter().find(|(_, format)| format == self).map(|(name, _)| *name);
        f.write_str(name.unwrap_or("unnamed"))
    }
}

/// Whether the first line of a CSV or TSV file names the columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Header {
    /// Yes, unless the first two fields are integers and no column was given by name.
    #[default]
    Auto,
    /// The first line names the columns.
    Yes,
    /// The first line is data.
    No,
}

/// An input file.
#[derive(Clone, Debug)]
pub struct InputSpec {
    /// Path of the file, or `-` for standard input (which needs a format).
    pub path: PathBuf,
    /// Format; `None`: by the extension.
    pub format: Option<Format>,
    /// Column of the source, by name or by number from 1, for CSV, TSV and Parquet. `None`: a
    /// column named `source`, `src` or `from` together with one named `target`, `dst` or `to`;
    /// else the first two. A nested column (a struct, list or map) counts as one; it holds neither
    /// ids nor weights, so it is passed over where no column is given, and an error where it is.
    pub source_column: Option<String>,
    /// Column of the target.
    pub target_column: Option<String>,
    /// Whether the first line of CSV and TSV names the columns.
    pub header: Header,
    /// Column of the weights, by name or by number from 1. `None`: a column named `weight` or `w`,
    /// else the first that is neither source nor target.
    pub weight_column: Option<String>,
    /// Whether it has no edges but vertices: text with an id a line whatever the extension, or
    /// little-endian integers (`.u32`, `.u64`).
    pub is_vertices: bool,
}

impl InputSpec {
    /// An input whose format is given by its extension.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            format: None,
            source_column: None,
            target_column: None,
            header: Header::Auto,
            weight_column: None,
            is_vertices: false,
        }
    }

    /// A file of vertices: an id a line, with its value behind it if it has one, or `.u32` and
    /// `.u64` little-endian integers. Values need a file that can be read twice.
    pub fn vertices(path: impl Into<PathBuf>) -> Self {
        Self { is_vertices: true, ..Self::new(path) }
    }

    /// An input of a given format.
    pub fn with_format(path: impl Into<PathBuf>, format: Format) -> Self {
        Self { format: Some(format), ..Self::new(path) }
    }

    /// Whether it is standard input.
    pub fn is_stdin(&self) -> bool {
        self.path.as_os_str() == "-"
    }

    /// Name in messages.
    pub fn name(&self) -> String {
        if self.is_stdin() { "standard input".to_owned() } else { self.path.display().to_string() }
    }
}

/// A source of edges or vertices.
#[derive(Debug)]
#[non_exhaustive]
pub enum Input<'a> {
    /// A file, or standard input.
    File(InputSpec),
    /// Edges in memory, or from an iterator.
    Edges(Edges<'a>),
    /// Vertices in memory, or from an iterator.
    Vertices(Vertices<'a>),
}

impl From<InputSpec> for Input<'_> {
    fn from(spec: InputSpec) -> Self {
        Input::File(spec)
    }
}

impl<'a> From<Edges<'a>> for Input<'a> {
    fn from(edges: Edges<'a>) -> Self {
        Input::Edges(edges)
    }
}

impl<'a> From<Vertices<'a>> for Input<'a> {
    fn from(vertices: Vertices<'a>) -> Self {
        Input::Vertices(vertices)
    }
}

impl Input<'_> {
    /// Name in messages.
    pub fn name(&self) -> String {
        match self {
            Input::File(spec) => spec.name(),
            Input::Edges(edges) => edges.name().to_owned(),
            Input::Vertices(vertices) => vertices.rows().name().to_owned(),
        }
    }

    /// The path of the file.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Input::File(spec) => Some(&spec.path),
            Input::Edges(_) | Input::Vertices(_) => None,
        }
    }
}

/// Kind of the user's ids.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IdKind {
    /// Strings if an input has columns, or values, of the type of strings. Else, as text does not
    /// say it, integers if every id is one (only digits, below 2^64), else strings: it is an error
    /// if the first other id looks like a number (`-1`, `1.0`, `nan`, 2^64), mostly a mistake.
    #[default]
    Auto,
    /// Integers from 0 to 2^64 - 1; of text and strings in decimal digits.
    Integer,
    /// Any UTF-8 text of 1 to 65,535 bytes.
    String,
}

/// Options of an import. The defaults import an undirected graph.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ImportConfig {
    /// Whether edges are directed.
    pub directed: bool,
    /// Whether a directed graph stores its in-edges too.
    pub in_edges: bool,
    /// Type of the stored weights; `None`: weights are ignored. Of repeated edges that are not kept
    /// the smallest weight is stored.
    pub weights: Option<WeightType>,
    /// Type of the values of vertices; `None`: of `u64`, `i64` and `f64` the first that holds the
    /// first value.
    pub values: Option<ValueType>,
    /// Whether repeated edges are stored as often as they occur.
    pub keep_duplicates: bool,
    /// Whether edges from a vertex to itself are stored.
    pub keep_self_loops: bool,
    /// Kind of the user's ids.
    pub ids: IdKind,
    /// Order of the vertices in the file.
    pub order: Order,
    /// Whether to take, instead of `order`, that of clusters for a large graph of few edges per
    /// vertex whose ids do not bring neighbours together, if memory has room to find it, and else
    /// the natural order.
    pub auto_order: bool,
    /// Memory budget of the whole import, in bytes.
    pub memory_bytes: usize,
    /// Page size of the graph file in bytes: a power of two from 4 KiB to 64 KiB.
    pub page_bytes: u32,
    /// Free space of each page of lists, in percent, at most 50: lists grow into it before pages
    /// are split.
    pub free_space: u32,
    /// Codec of the lists: packed, where nothing else is said.
    pub codec: Codec,
    /// Whether hub neighbours are stored.
    pub hub_neighbours: HubNeighboursChoice,
    /// Worker threads, at most [`THREADS_MAX`]; 0: one per core. Each takes memory; one more thread
    /// reads the input.
    pub threads: usize,
    /// Whether to replace an existing output.
    pub overwrite: bool,
    /// Folder of the spill files; `None`: the folder of the output.
    pub temp_dir: Option<PathBuf>,
}

impl Default for ImportConfig {
    fn default() -> Self {
        Self {
            directed: false,
            in_edges: false,
            weights: None,
            values: None,
            keep_duplicates: false,
            keep_self_loops: false,
            ids: IdKind::Auto,
            order: Order::Natural,
            auto_order: false,
            memory_bytes: 1 << 30,
            page_bytes: 4096,
            free_space: 0,
            codec: Codec::Packed,
            hub_neighbours: HubNeighboursChoice::Auto,
            threads: 0,
            overwrite: false,
            temp_dir: None,
        }
    }
}

impl ImportConfig {
    setters! {
        directed: bool,
        in_edges: bool,
        weights: Option<WeightType>,
        values: Option<ValueType>,
        keep_duplicates: bool,
        keep_self_loops: bool,
        ids: IdKind,
        order: Order,
        auto_order: bool,
        memory_bytes: usize,
        page_bytes: u32,
        free_space: u32,
        codec: Codec,
        hub_neighbours: HubNeighboursChoice,
        threads: usize,
        overwrite: bool,
        temp_dir: Option<PathBuf>,
    }

    pub(super) fn weight_bytes(&self) -> usize {
        self.weights.map_or(0, WeightType::bytes)
    }

    pub(super) fn workers(&self) -> usize {
        if self.threads > 0 {
            return self.threads;
        }
        cores()
    }
}
