//! Phases, progress and report of an import.

/// A phase of the import.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Reading and parsing the inputs.
    Read,
    /// Partitioning the edges by ranges of keys.
    Partition,
    /// Computing the order of the vertices.
    Order,
    /// Sorting and writing lists.
    Write,
    /// Sorting and writing the lists of in-edges.
    WriteIn,
    /// Reading the lists back for the hub neighbours.
    HubNeighbours,
}

impl Phase {
    /// A word for progress bars.
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

/// Receives the progress of an import and may stop it. Called from many threads.
pub trait Progress: Sync {
    /// A phase begins; `total` is its number of bytes, if known.
    fn begin(&self, phase: Phase, total: Option<u64>);

    /// `bytes` more of the phase are done.
    fn advance(&self, bytes: u64);

    /// Whether to stop. The import then ends with
    /// [`ImportError::Cancelled`](super::ImportError::Cancelled) and leaves no file behind.
    fn cancelled(&self) -> bool {
        false
    }
}

/// Ignores progress and never stops the import.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProgress;

impl Progress for NoProgress {
    fn begin(&self, _: Phase, _: Option<u64>) {}
    fn advance(&self, _: u64) {}
}

/// Result of an import.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct ImportReport {
    /// Number of vertices.
    pub vertices: u64,
    /// Number of edges as the user counts them: each undirected edge once.
    pub edges: u64,
    /// Number of list entries in the file, out and in.
    pub stored_edges: u64,
    /// Edges of the input that repeat another.
    pub duplicates: u64,
    /// Edges of the input from a vertex to itself.
    pub self_loops: u64,
    /// Edges of the input, including repeated ones and self-loops.
    pub input_edges: u64,
    /// Lines of text read.
    pub input_lines: u64,
    /// Lines of edge lists with more than two columns, the further ones ignored.
    pub lines_with_more_columns: u64,
    /// Kind of the stored ids: `integer`, `string`, or `none` if they are 0 to n-1.
    pub ids: &'static str,
    /// Order of the vertices: `natural`, `degree`, `bfs`, `cluster` or `random`.
    pub order: &'static str,
    /// Why this order was taken, if it was chosen.
    pub order_reason: Option<String>,
    /// A budget that suffices to try the order of clusters, if the budget was too small for that.
    pub order_memory_bytes: Option<u64>,
    /// Type of the stored weights.
    pub weights: Option<&'static str>,
    /// Bytes read from the inputs, before decompression.
    pub input_bytes: u64,
    /// Bytes of the inputs after decompression.
    pub unpacked_bytes: u64,
    /// Bytes written to spill files.
    pub spill_bytes: u64,
    /// Size of the graph file in bytes.
    pub output_bytes: u64,
    /// Largest memory held, as counted by the budget, in bytes.
    pub peak_memory_bytes: u64,
    /// Seconds from the start to the synced file.
    pub seconds: f64,
    /// Seconds of reading and parsing.
    pub seconds_read: f64,
    /// Seconds of computing the order of the vertices, including the temporary graph in natural
    /// order where it needs one.
    pub seconds_order: f64,
    /// Seconds of partitioning.
    pub seconds_partition: f64,
    /// Seconds of sorting and writing.
    pub seconds_write: f64,
    /// Number of worker threads.
    pub threads: usize,
    /// I/O backend: `io_uring`, `threads` or `sim`.
    pub backend: &'static str,
}
