//! What to import and how.

use std::fmt;
use std::path::{Path, PathBuf};

use cenote_device::setters;
use cenote_store::WeightType;
use cenote_store::format::Codec;
use cenote_store::hub_neighbours::HubNeighboursChoice;
use cenote_store::order::Order;

use crate::edges::Edges;

/// How an input is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// One edge a line: two ids, split by white space or commas. `#` and `%` begin comments.
    /// Further columns (weights, times) are counted in the report, and ignored unless asked for.
    Edges,
    /// Comma-separated, `"` quotes; see [`Header`]. Two columns are used, the others ignored.
    Csv,
    /// Tab-separated without quoting; see [`Header`].
    Tsv,
    /// `u v1 v2 ...` a line: the edges from u. A line of `u` alone makes u exist.
    Adjacency,
    /// METIS: a header `n m [fmt [ncon]]`, then line i lists the neighbours of vertex i, from 1.
    Metis,
    /// Matrix Market, `coordinate`: general, symmetric, skew-symmetric or hermitian; from 1.
    MatrixMarket,
    /// One vertex id a line (Graphalytics `.v`): makes vertices exist, brings no edges.
    Vertices,
    /// Two columns of a Parquet file: integers or strings.
    Parquet,
    /// Pairs of little-endian `u32`.
    U32,
    /// Pairs of little-endian `u64`.
    U64,
    /// Per vertex in id order a little-endian `u32` degree and that many `u32` targets.
    AdjacencyU32,
}

impl Format {
    /// Every format with its name on the command line.
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

    /// The format of a file by its ending, after `.gz` or `.zst` is taken off.
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

    /// The format of this name.
    pub fn of_name(name: &str) -> Option<Format> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, format)| *format)
    }

    /// Whether its edges can have weights.
    pub(super) fn has_weights(self) -> bool {
        use Format::{Csv, Edges, MatrixMarket, Metis, Parquet, Tsv, Vertices};
        matches!(self, Edges | Csv | Tsv | Metis | MatrixMarket | Parquet | Vertices)
    }

    /// Whether its ids may be strings.
    pub(super) fn may_have_names(self) -> bool {
        use Format::{Adjacency, Csv, Edges, Parquet, Tsv, Vertices};
        matches!(self, Edges | Csv | Tsv | Adjacency | Vertices | Parquet)
    }

    /// Whether it is made of lines.
    pub(super) fn is_text(self) -> bool {
        !matches!(self, Format::Parquet | Format::U32 | Format::U64 | Format::AdjacencyU32)
    }
}

/// Takes `.gz` or `.zst` off a name.
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
    /// It does, unless both of its first fields are integers and no column was asked by name.
    #[default]
    Auto,
    /// It does.
    Yes,
    /// It is data.
    No,
}

/// One input.
#[derive(Clone, Debug)]
pub struct InputSpec {
    /// A file, or `-` for standard input (which needs a format).
    pub path: PathBuf,
    /// How it is written; `None`: by its ending.
    pub format: Option<Format>,
    /// Column of the source, by name or by number from 1, for CSV, TSV and Parquet. `None`: a
    /// column named `source`, `src` or `from` together with one named `target`, `dst` or `to`;
    /// else the first two.
    pub source_column: Option<String>,
    /// Column of the target.
    pub target_column: Option<String>,
    /// Whether CSV and TSV begin with column names.
    pub header: Header,
    /// Column of the weights, where they are imported, by name or by number from 1. `None`: a
    /// column named `weight` or `w`, else the first that is neither source nor target.
    pub weight_column: Option<String>,
}

impl InputSpec {
    /// An input whose format follows from its ending.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            format: None,
            source_column: None,
            target_column: None,
            header: Header::Auto,
            weight_column: None,
        }
    }

    /// An input of a given format.
    pub fn with_format(path: impl Into<PathBuf>, format: Format) -> Self {
        Self { format: Some(format), ..Self::new(path) }
    }

    /// Whether it is standard input.
    pub fn is_stdin(&self) -> bool {
        self.path.as_os_str() == "-"
    }

    /// What messages call it.
    pub fn name(&self) -> String {
        if self.is_stdin() { "standard input".to_owned() } else { self.path.display().to_string() }
    }
}

/// Where edges come from.
#[derive(Debug)]
#[non_exhaustive]
pub enum Input<'a> {
    /// A file, or standard input.
    File(InputSpec),
    /// Edges in memory, or made on the way.
    Edges(Edges<'a>),
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

impl Input<'_> {
    /// What messages call it.
    pub fn name(&self) -> String {
        match self {
            Input::File(spec) => spec.name(),
            Input::Edges(edges) => edges.name().to_owned(),
        }
    }

    /// The path of a file.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Input::File(spec) => Some(&spec.path),
            Input::Edges(_) => None,
        }
    }
}

/// What the outer ids are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IdKind {
    /// Integers if every id is one (digits only, below 2^64); strings from the first id on that
    /// does not look like a number. What looks like a number but is none of these integers
    /// (`-1`, `1.0`, `nan`, 2^64) is an error: it is more often a mistake than a name.
    #[default]
    Auto,
    /// Integers from 0 to 2^64 - 1, in decimal digits.
    Integer,
    /// Any UTF-8 text of 1 to 65,535 bytes.
    String,
}

/// Most worker threads of an import. Each takes memory of its own, and one thread reads for all.
pub const THREADS_MAX: usize = 512;

/// How to import. The defaults import an undirected graph.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ImportConfig {
    /// Edges go one way only.
    pub directed: bool,
    /// Store the in-edges of a directed graph too.
    pub in_edges: bool,
    /// Store the weights of edges, as this type. Where repeated edges are not kept, the smallest
    /// weight is. `None`: weights are ignored.
    pub weights: Option<WeightType>,
    /// Store repeated edges as often as they occur.
    pub keep_duplicates: bool,
    /// Store edges from a vertex to itself.
    pub keep_self_loops: bool,
    /// What the outer ids are.
    pub ids: IdKind,
    /// The order of the vertices in the file.
    pub order: Order,
    /// Memory for everything that import does, in bytes.
    pub memory_bytes: usize,
    /// Page size of the graph file: a power of two from 4 KiB to 64 KiB.
    pub page_bytes: u32,
    /// How the graph file encodes lists.
    pub codec: Codec,
    /// Whether it stores hub neighbours.
    pub hub_neighbours: HubNeighboursChoice,
    /// Worker threads, at most [`THREADS_MAX`]; 0: as many as there are cores.
    pub threads: usize,
    /// Replace an existing output.
    pub overwrite: bool,
    /// Folder of the spill files; `None`: that of the output.
    pub temp_dir: Option<PathBuf>,
}

impl Default for ImportConfig {
    fn default() -> Self {
        Self {
            directed: false,
            in_edges: false,
            weights: None,
            keep_duplicates: false,
            keep_self_loops: false,
            ids: IdKind::Auto,
            order: Order::Natural,
            memory_bytes: 1 << 30,
            page_bytes: 4096,
            codec: Codec::Raw,
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
        keep_duplicates: bool,
        keep_self_loops: bool,
        ids: IdKind,
        order: Order,
        memory_bytes: usize,
        page_bytes: u32,
        codec: Codec,
        hub_neighbours: HubNeighboursChoice,
        threads: usize,
        overwrite: bool,
        temp_dir: Option<PathBuf>,
    }

    /// Bytes of a weight beside an edge: 0, 4 or 8.
    pub(super) fn weight_bytes(&self) -> usize {
        self.weights.map_or(0, WeightType::bytes)
    }

    /// The number of workers.
    pub(super) fn workers(&self) -> usize {
        if self.threads > 0 {
            return self.threads;
        }
        std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(THREADS_MAX)
    }
}
