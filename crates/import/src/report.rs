//! Progress of an import while it runs, and its report.

/// A step of the import.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Reading and parsing the inputs.
    Read,
    /// Spreading the edges over key ranges.
    Partition,
    /// Finding the order of the vertices.
    Order,
    /// Sorting and writing lists.
    Write,
    /// Sorting and writing the lists of in-edges.
    WriteIn,
    /// Reading the lists back for the hub neighbours.
    HubNeighbours,
}

impl Phase {
    /// A word for the progress bar.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Read => "reading",
            Phase::Partition => "partitioning",
            Phase::Order => "ordering",
            Phase::Write => "writing",
            Phase::WriteIn => "writing in-edges",
            Phase::HubNeighbours => "writing hub neighbours",
        }
    }
}

/// Receives the progress of an import and decides whether to stop it. Called from many threads.
pub trait Progress: Sync {
    /// A phase begins; `total` bytes are ahead where that is known.
    fn begin(&self, phase: Phase, total: Option<u64>);

    /// So many more bytes of the phase are done.
    fn advance(&self, bytes: u64);

    /// Whether to stop: import ends with [`ImportError::Cancelled`](super::ImportError::Cancelled)
    /// and leaves nothing behind.
    fn cancelled(&self) -> bool {
        false
    }
}

/// Shows nothing, never stops.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProgress;

impl Progress for NoProgress {
    fn begin(&self, _: Phase, _: Option<u64>) {}
    fn advance(&self, _: u64) {}
}

/// What import did.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct ImportReport {
    /// Vertices of the graph.
    pub vertices: u64,
    /// Edges as the user counts them: an undirected edge once.
    pub edges: u64,
    /// List entries on disk, out and in.
    pub stored_edges: u64,
    /// Edges of the input that repeat another one.
    pub duplicates: u64,
    /// Edges of the input from a vertex to itself.
    pub self_loops: u64,
    /// Edges of the input, repeated ones and loops included.
    pub input_edges: u64,
    /// Lines of text read.
    pub input_lines: u64,
    /// Lines of edge lists that had more than two columns, of which the rest was ignored.
    pub lines_with_more_columns: u64,
    /// `none`, `integer` or `string`: the kind of outer ids that are stored (`none`: 0 to n-1).
    pub ids: &'static str,
    /// `natural`, `degree`, `bfs` or `random`: the order of the vertices.
    pub order: &'static str,
    /// The type of the weights that are stored.
    pub weights: Option<&'static str>,
    /// Bytes read from the inputs, as they lie (compressed bytes of compressed inputs).
    pub input_bytes: u64,
    /// The same after decompression.
    pub unpacked_bytes: u64,
    /// Bytes written to spill files.
    pub spill_bytes: u64,
    /// Size of the graph file.
    pub output_bytes: u64,
    /// Most memory that import held, by its own count.
    pub peak_memory_bytes: u64,
    /// Seconds from start to the synced file.
    pub seconds: f64,
    /// Seconds of reading and parsing.
    pub seconds_read: f64,
    /// Seconds of finding the order of the vertices: where it depends on the edges, with all that
    /// it takes to have a graph in natural order first.
    pub seconds_order: f64,
    /// Seconds of partitioning.
    pub seconds_partition: f64,
    /// Seconds of sorting and writing.
    pub seconds_write: f64,
    /// Worker threads.
    pub threads: usize,
    /// The I/O backend: `io_uring`, `threads` or `sim`.
    pub backend: &'static str,
}
