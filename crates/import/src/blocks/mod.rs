//! Cuts inputs into blocks, which workers parse.
//!
//! One thread reads, decompresses and cuts at line ends (or between pairs). Every block has a
//! number and knows its first line, so that the first of several faults in the input is reported,
//! whatever the timing. Row groups of Parquet go to the workers as they are (`group`).

mod group;
mod reader;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::sync::{Mutex, PoisonError};

use self::group::RowGroup;
use self::reader::Reader;
use crate::budget::{Budget, Held};
use crate::config::Input;
use crate::error::{ImportError, Result};
use crate::head::{Content, End};
use crate::input;
use crate::once::OpenCopies;
use crate::parse::token::require_line_ends;
use crate::parse::{BlockStats, Fault, Sink, binary, delimited, edges, lists, matrix, weighted};
use crate::report::Progress;
use crate::workers;
use cenote_store::WeightType;

pub(super) struct Block<'a> {
    pub input: usize,
    pub sequence: u64,
    /// Line (or row) number of the first line, from 1.
    pub first_line: u64,
    pub bytes: Vec<u8>,
    pub start: usize,
    pub end: usize,
    holds: Holds<'a>,
    /// Memory beyond the usual block size, for a long line.
    extra: Option<Held<'a>>,
}

/// What a worker parses of a block.
enum Holds<'a> {
    Bytes(Content),
    /// A row group of a file, which the worker decodes. There are no bytes.
    RowGroup(RowGroup<'a>),
}

impl From<Content> for Holds<'_> {
    fn from(content: Content) -> Self {
        Holds::Bytes(content)
    }
}

pub(super) struct Pass<'a> {
    pub inputs: &'a [Input<'a>],
    pub budget: &'a Budget,
    pub progress: &'a dyn Progress,
    pub workers: usize,
    pub block_bytes: usize,
    pub directed: bool,
    pub weights: Option<WeightType>,
    /// The inputs that are copied for a second pass, and whether this is the second.
    pub copies: &'a dyn OpenCopies,
    pub again: bool,
    /// Whether inputs of vertices are left out, since an earlier pass has read them.
    pub edges_only: bool,
    pub meter: &'a Meter,
}

/// Counts bytes of the inputs during a pass.
#[derive(Debug, Default)]
pub(super) struct Meter {
    /// Bytes read, before decompression.
    read: Arc<AtomicU64>,
    /// Those of them that the progress knows of.
    reported: AtomicU64,
    /// Bytes decompressed and cut into blocks.
    unpacked: AtomicU64,
    parsed: AtomicU64,
    /// The most that pages of Parquet files took, or would have taken.
    pub pages: AtomicUsize,
    /// The largest window of a packed file, held or refused.
    pub window: AtomicUsize,
}

impl Meter {
    /// Bytes read, unpacked and parsed.
    pub fn read(&self) -> [f64; 3] {
        [&*self.read, &self.unpacked, &self.parsed]
            .map(|count| count.load(Ordering::Relaxed) as f64)
    }

    fn reset(&self) {
        for count in [&*self.read, &self.reported, &self.unpacked, &self.parsed] {
            count.store(0, Ordering::Relaxed);
        }
    }
}

impl Pass<'_> {
    /// Reports the bytes read since the last call.
    fn report(&self) {
        let read = self.meter.read.load(Ordering::Relaxed);
        let reported = self.meter.reported.fetch_max(read, Ordering::Relaxed);
        self.progress.advance(read.saturating_sub(reported));
    }
}

pub(super) struct PassResult<T> {
    pub outputs: Vec<T>,
    pub totals: Vec<BlockStats>,
    pub input_bytes: u64,
    pub unpacked_bytes: u64,
}

pub(super) enum PassError {
    /// An id is not an integer, while ids of kind `auto` are taken for integers.
    NotInteger,
    Import(ImportError),
}

impl PassError {
    /// The error of a pass that accepts ids of one kind.
    pub fn into_import(self) -> ImportError {
        match self {
            PassError::Import(error) => error,
            PassError::NotInteger => unreachable!("only `auto` may change the kind of ids"),
        }
    }
}

impl From<ImportError> for PassError {
    fn from(error: ImportError) -> Self {
        PassError::Import(error)
    }
}

/// A sink that returns a result at the end.
pub(super) trait Worker: Sink {
    type Output: Send;
    fn finish(self) -> Result<Self::Output>;
}

/// The first fault in the input so far.
struct Faults {
    any: AtomicBool,
    first: Mutex<Option<(u64, PassError)>>,
}

impl Faults {
    fn add(&self, sequence: u64, fault: PassError) {
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        if first.as_ref().is_none_or(|(known, _)| sequence < *known) {
            *first = Some((sequence, fault));
        }
        self.any.store(true, Ordering::Release);
    }

    fn any(&self) -> bool {
        self.any.load(Ordering::Acquire)
    }

    fn before(&self, sequence: u64) -> bool {
        self.any() && {
            let first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
            first.as_ref().is_some_and(|(known, _)| *known < sequence)
        }
    }
}

fn buffers(workers: usize) -> usize {
    2 * workers + 2
}

/// Bytes of memory of a pass, without its workers.
pub(super) fn pass_memory(workers: usize, block_bytes: usize) -> usize {
    buffers(workers) * block_bytes + (1 << 18)
}

/// Reads all inputs once. Each worker thread creates its sink by `make`.
pub(super) fn run<W: Worker>(
    pass: &Pass<'_>,
    make: impl Fn() -> Result<W> + Sync,
) -> std::result::Result<PassResult<W::Output>, PassError> {
    let _memory =
        pass.budget.hold(pass_memory(pass.workers, pass.block_bytes), "reading the input")?;
    pass.meter.reset();
    let faults = Faults { any: AtomicBool::new(false), first: Mutex::new(None) };
    let totals = Mutex::new(vec![BlockStats::default(); pass.inputs.len()]);
    let (free_in, free_out) = channel();
    for _ in 0..buffers(pass.workers) {
        free_in.send(Vec::new()).expect("the receiver is here");
    }
    let (full_in, full_out) = sync_channel(pass.workers);
    let full_out = Mutex::new(full_out);
    let mut outputs = Vec::new();
    let ends = std::thread::scope(|scope| {
        // Created in here, so that a panic of the reader ends the workers too.
        let reader = Reader::new(pass, full_in, free_out, &faults);
        let mut handles = Vec::new();
        for _ in 0..pass.workers {
            let free_in = free_in.clone();
            let (faults, totals, full_out, make) = (&faults, &totals, &full_out, &make);
            let worker = move || work(pass, make, full_out, free_in, faults, totals);
            match workers::spawn(scope, worker) {
                Ok(handle) => handles.push(handle),
                Err(error) => {
                    faults.add(0, PassError::Import(error));
                    break;
                }
            }
        }
        drop(free_in);
        let ends = reader.run();
        outputs.extend(handles.into_iter().filter_map(workers::join));
        ends
    });
    if let Some((_, error)) = faults.first.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(match error {
            PassError::Import(error) => input::explain_packing(error, pass.inputs).into(),
            PassError::NotInteger => error,
        });
    }
    let totals = totals.into_inner().unwrap_or_else(PoisonError::into_inner);
    for (input, end) in ends {
        end.check(&pass.inputs[input].name(), &totals[input])?;
    }
    let [input_bytes, unpacked_bytes] =
        [&*pass.meter.read, &pass.meter.unpacked].map(|count| count.load(Ordering::Relaxed));
    Ok(PassResult { outputs, totals, input_bytes, unpacked_bytes })
}

impl End {
    fn check(&self, name: &str, totals: &BlockStats) -> Result<()> {
        let checked = match self {
            End::Metis(header, rows) => header.check_end(*rows, totals),
            End::Matrix(header) => header.check_end(totals.records),
        };
        checked.map_err(|reason| ImportError::Format { input: name.to_owned(), reason })
    }
}

/// Receives the remaining blocks when a worker panics, so that the reader does not block for ever.
struct Drain<'w, 'a> {
    full: &'w Mutex<Receiver<Block<'a>>>,
    faults: &'w Faults,
}

impl Drop for Drain<'_, '_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.faults.any.store(true, Ordering::Release);
            while self.full.lock().unwrap_or_else(PoisonError::into_inner).recv().is_ok() {}
        }
    }
}

fn work<'a, W: Worker>(
    pass: &Pass<'a>,
    make: impl Fn() -> Result<W>,
    full: &Mutex<Receiver<Block<'a>>>,
    free: Sender<Vec<u8>>,
    faults: &Faults,
    totals: &Mutex<Vec<BlockStats>>,
) -> Option<W::Output> {
    let _drain = Drain { full, faults };
    let mut worker = match make() {
        Ok(worker) => Some(worker),
        Err(error) => {
            faults.add(0, PassError::Import(error));
            None
        }
    };
    loop {
        let block = full.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(mut block) = block else { break };
        if let Some(sink) = worker.as_mut().filter(|_| !faults.before(block.sequence)) {
            match parse_block(pass, &block, sink, faults) {
                Ok(found) => add(totals, block.input, &found),
                Err(error) => faults.add(block.sequence, error),
            }
            sink.end_block();
        }
        pass.meter.parsed.fetch_add((block.end - block.start) as u64, Ordering::Relaxed);
        block.bytes.truncate(pass.block_bytes);
        block.bytes.shrink_to(pass.block_bytes);
        drop(block.extra.take());
        // The reader may have ended already.
        let _ = free.send(block.bytes);
    }
    let output = worker?.finish();
    output.map_err(|error| faults.add(u64::MAX, PassError::Import(error))).ok()
}

fn add(totals: &Mutex<Vec<BlockStats>>, input: usize, found: &BlockStats) {
    totals.lock().unwrap_or_else(PoisonError::into_inner)[input].add(found);
}

/// Adds the input and the line to a fault of lines that begin with `first`.
fn explain(fault: Fault, block: &Block<'_>, first: u64, inputs: &[Input<'_>]) -> PassError {
    let input = inputs[block.input].name();
    PassError::Import(match fault {
        Fault::NotInteger => return PassError::NotInteger,
        Fault::Import(error) => error,
        Fault::Line { line, expected, text } => {
            ImportError::Line { input, line: first + line, expected, text }
        }
        Fault::Row { row, expected } => {
            let reason = format!("expected {expected}");
            ImportError::Row { input, row: first + row, reason }
        }
        Fault::Token { expected } => {
            let reason = format!("expected {expected}");
            ImportError::Row { input, row: first, reason }
        }
    })
}

fn parse_block<S: Sink>(
    pass: &Pass<'_>,
    block: &Block<'_>,
    sink: &mut S,
    faults: &Faults,
) -> std::result::Result<BlockStats, PassError> {
    match &block.holds {
        Holds::Bytes(content) => {
            let bytes = &block.bytes[block.start..block.end];
            parse_content(bytes, content, pass.directed, sink)
                .map_err(|fault| explain(fault, block, block.first_line, pass.inputs))
        }
        Holds::RowGroup(rows) => {
            group::parse(pass, rows, block, sink, faults)?;
            Ok(BlockStats::default())
        }
    }
}

fn parse_content<S: Sink>(
    bytes: &[u8],
    content: &Content,
    directed: bool,
    sink: &mut S,
) -> std::result::Result<BlockStats, Fault> {
    if content.is_text() {
        require_line_ends(bytes, matches!(content, Content::Delimited(_)))?;
    }
    match content {
        Content::Edges => edges::parse(bytes, sink),
        Content::WeightedEdges(place) => weighted::parse(bytes, place, sink),
        Content::Vertices { only_ids } => edges::parse_vertices(bytes, *only_ids, sink),
        Content::Adjacency => lists::parse_adjacency(bytes, sink),
        Content::Delimited(layout) => delimited::parse(bytes, layout, sink),
        Content::Metis { header, first_row } => {
            lists::parse_metis(bytes, header, *first_row, directed, sink)
        }
        Content::Matrix(header) => matrix::parse(bytes, header, directed, sink),
        Content::U32 => binary::parse_u32(bytes, sink),
        Content::U64 | Content::Rows => binary::parse_u64(bytes, sink),
        Content::VertexRun { first, count } => {
            for id in *first..*first + *count {
                let id = sink.integer(id)?;
                sink.vertex(id)?;
            }
            Ok(BlockStats::default())
        }
        Content::WeightedRows => binary::parse_weighted_rows(bytes, sink),
        Content::Names { weighted } => binary::parse_names(bytes, *weighted, sink),
        Content::VerticesU32 => binary::parse_vertices_u32(bytes, sink),
        Content::VerticesU64 => binary::parse_vertices_u64(bytes, sink),
        Content::VertexNames => binary::parse_vertex_names(bytes, sink),
    }
}
