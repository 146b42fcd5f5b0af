//! Cuts inputs into blocks and hands them to the workers.
//!
//! One thread reads, unpacks and cuts at line ends (or between pairs); workers parse. Every block
//! knows its number and the line it begins with, so that of several faults the first one in the
//! input is reported, whatever the timing.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Mutex, PoisonError};

use crate::budget::{Budget, Held};
use crate::config::{Format, InputSpec};
use crate::error::{ImportError, Result};
use crate::head::{Content, End, Head};
use crate::input::{self, Source, input_error};
use crate::parse::{
    BlockStats, Fault, Sink, binary, columns, delimited, edges, lists, matrix, weighted,
};
use crate::report::Progress;
use crate::stdin::Copied;
use crate::threads;
use cenote_store::WeightType;

/// A piece of input.
pub(super) struct Block<'a> {
    pub input: usize,
    pub sequence: u64,
    /// Line (or row) number of the first line, from 1.
    pub first_line: u64,
    pub bytes: Vec<u8>,
    pub start: usize,
    pub end: usize,
    pub content: Content,
    /// Memory beyond the usual size, for a long line.
    extra: Option<Held<'a>>,
}

/// What a pass over the inputs needs to know.
pub(super) struct Pass<'a> {
    pub inputs: &'a [InputSpec],
    pub budget: &'a Budget,
    pub progress: &'a dyn Progress,
    pub workers: usize,
    pub block_bytes: usize,
    pub directed: bool,
    pub weights: Option<WeightType>,
    /// Standard input, if it is kept for a second reading, and whether this is the second.
    pub stdin: Option<(&'a Copied<std::io::Stdin>, bool)>,
}

/// What a pass over the inputs found.
pub(super) struct PassResult<T> {
    pub outputs: Vec<T>,
    pub totals: Vec<BlockStats>,
    pub input_bytes: u64,
    pub unpacked_bytes: u64,
}

/// Why a pass ended early.
pub(super) enum PassError {
    /// An id that is no integer came up where `auto` looks for integers.
    NotInteger,
    Import(ImportError),
}

impl From<ImportError> for PassError {
    fn from(error: ImportError) -> Self {
        PassError::Import(error)
    }
}

/// A sink that ends with something to tell.
pub(super) trait Worker: Sink {
    type Output: Send;
    fn finish(self) -> Result<Self::Output>;
}

/// The earliest fault so far.
struct Faults {
    any: AtomicBool,
    first: Mutex<Option<(u64, PassFault)>>,
}

enum PassFault {
    NotInteger,
    Import(ImportError),
}

impl Faults {
    fn add(&self, sequence: u64, fault: PassFault) {
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        if first.as_ref().is_none_or(|(known, _)| sequence < *known) {
            *first = Some((sequence, fault));
        }
        self.any.store(true, Ordering::Release);
    }

    /// Whether a fault before this block is known.
    fn before(&self, sequence: u64) -> bool {
        self.any.load(Ordering::Acquire) && {
            let first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
            first.as_ref().is_some_and(|(known, _)| *known < sequence)
        }
    }
}

/// Buffers that a pass uses at a time.
fn buffers(workers: usize) -> usize {
    2 * workers + 2
}

/// Memory of a pass, without that of its workers.
pub(super) fn pass_memory(workers: usize, block_bytes: usize) -> usize {
    buffers(workers) * block_bytes + (1 << 18)
}

/// Reads all inputs once; `make` makes each worker, on its own thread.
pub(super) fn run<W: Worker>(
    pass: &Pass<'_>,
    make: impl Fn() -> Result<W> + Sync,
) -> std::result::Result<PassResult<W::Output>, PassError> {
    let _memory =
        pass.budget.hold(pass_memory(pass.workers, pass.block_bytes), "reading the input")?;
    let faults = Faults { any: AtomicBool::new(false), first: Mutex::new(None) };
    let totals = Mutex::new(vec![BlockStats::default(); pass.inputs.len()]);
    let (free_in, free_out) = channel();
    for _ in 0..buffers(pass.workers) {
        free_in.send(Vec::new()).expect("the receiver is here");
    }
    let (full_in, full_out) = sync_channel(pass.workers);
    let full_out = Mutex::new(full_out);
    let mut reader = Reader::new(pass, full_in, free_out, &faults);
    let mut outputs = Vec::new();
    std::thread::scope(|scope| {
        let (handles, refused) = threads::spawn(scope, pass.workers, || {
            let free_in = free_in.clone();
            let (faults, totals, full_out, make) = (&faults, &totals, &full_out, &make);
            move || work(pass, make, full_out, free_in, faults, totals)
        });
        drop(free_in);
        match refused {
            Ok(()) => reader.run(),
            Err(error) => faults.add(0, PassFault::Import(error)),
        }
        reader.hang_up();
        reader.report();
        for handle in handles {
            match handle.join() {
                Ok(output) => outputs.extend(output),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
    });
    let (input_bytes, unpacked_bytes) = (reader.read.load(Ordering::Relaxed), reader.unpacked);
    let ends = std::mem::take(&mut reader.ends);
    drop(reader);
    match faults.first.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some((_, PassFault::NotInteger)) => return Err(PassError::NotInteger),
        Some((_, PassFault::Import(error))) => return Err(error.into()),
        None => {}
    }
    let totals = totals.into_inner().unwrap_or_else(PoisonError::into_inner);
    for (input, end) in ends {
        end.check(&pass.inputs[input].name(), &totals[input])?;
    }
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

/// Takes blocks off the reader's hands when a worker panics, lest it wait for ever.
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
            faults.add(0, PassFault::Import(error));
            None
        }
    };
    loop {
        let block = full.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(mut block) = block else { break };
        if let Some(sink) = worker.as_mut().filter(|_| !faults.before(block.sequence)) {
            match parse_block(&block, sink, pass.directed) {
                Ok(found) => add(totals, block.input, &found),
                Err(fault) => faults.add(block.sequence, explain(fault, &block, pass.inputs)),
            }
        }
        if block.extra.take().is_some() {
            block.bytes = Vec::new();
        }
        // The reader may have ended already; then nobody wants the buffer.
        let _ = free.send(block.bytes);
    }
    let output = worker?.finish();
    output.map_err(|error| faults.add(u64::MAX, PassFault::Import(error))).ok()
}

fn add(totals: &Mutex<Vec<BlockStats>>, input: usize, found: &BlockStats) {
    totals.lock().unwrap_or_else(PoisonError::into_inner)[input].add(found);
}

fn explain(fault: Fault, block: &Block<'_>, inputs: &[InputSpec]) -> PassFault {
    let input = inputs[block.input].name();
    PassFault::Import(match fault {
        Fault::NotInteger => return PassFault::NotInteger,
        Fault::Import(error) => error,
        Fault::Line { line, expected, text } => {
            ImportError::Line { input, line: block.first_line + line, expected, text }
        }
        Fault::Token { expected } => ImportError::Row {
            input,
            row: block.first_line,
            reason: format!("expected {expected}"),
        },
    })
}

fn parse_block<S: Sink>(
    block: &Block<'_>,
    sink: &mut S,
    directed: bool,
) -> std::result::Result<BlockStats, Fault> {
    let bytes = &block.bytes[block.start..block.end];
    match &block.content {
        Content::Edges => edges::parse(bytes, sink),
        Content::WeightedEdges(place) => weighted::parse(bytes, place, sink),
        Content::Vertices => edges::parse_vertices(bytes, sink),
        Content::Adjacency => lists::parse_adjacency(bytes, sink),
        Content::Delimited(layout) => delimited::parse(bytes, layout, sink),
        Content::Metis { header, first_row } => {
            lists::parse_metis(bytes, header, *first_row, directed, sink)
        }
        Content::Matrix(header) => matrix::parse(bytes, header, directed, sink),
        Content::U32 => binary::parse_u32(bytes, sink).map(|()| BlockStats::default()),
        Content::U64 | Content::Rows => {
            binary::parse_u64(bytes, sink).map(|()| BlockStats::default())
        }
        Content::VertexRun { first, count } => {
            for id in *first..*first + *count {
                let id = sink.integer(id)?;
                sink.vertex(id)?;
            }
            Ok(BlockStats::default())
        }
        Content::WeightedRows => {
            columns::parse_weighted_rows(bytes, sink).map(|()| BlockStats::default())
        }
        Content::Names { weighted } => {
            columns::parse_names(bytes, *weighted, sink).map(|()| BlockStats::default())
        }
    }
}

/// The thread that reads.
struct Reader<'p, 'a> {
    pass: &'p Pass<'a>,
    full: Option<SyncSender<Block<'a>>>,
    free: Receiver<Vec<u8>>,
    faults: &'p Faults,
    sequence: u64,
    read: Arc<AtomicU64>,
    reported: u64,
    unpacked: u64,
    ends: Vec<(usize, End)>,
    spare: Vec<Vec<u8>>,
}

impl<'p, 'a> Reader<'p, 'a> {
    fn new(
        pass: &'p Pass<'a>,
        full: SyncSender<Block<'a>>,
        free: Receiver<Vec<u8>>,
        faults: &'p Faults,
    ) -> Self {
        let read = Arc::new(AtomicU64::new(0));
        Self {
            pass,
            full: Some(full),
            free,
            faults,
            sequence: 1,
            read,
            reported: 0,
            unpacked: 0,
            ends: Vec::new(),
            spare: Vec::new(),
        }
    }

    fn hang_up(&mut self) {
        self.full = None;
    }

    fn run(&mut self) {
        for input in 0..self.pass.inputs.len() {
            match self.read_input(input) {
                Ok(()) => {}
                Err(Stop::Fault(error)) => {
                    self.faults.add(self.sequence, PassFault::Import(error));
                    return;
                }
                Err(Stop::Elsewhere) => return,
            }
        }
    }

    fn read_input(&mut self, input: usize) -> std::result::Result<(), Stop> {
        let spec = &self.pass.inputs[input];
        if input::format_of(spec)? == Format::Parquet {
            return self.read_parquet(input, spec);
        }
        let stdin: Option<Box<dyn Read + Send>> = match self.pass.stdin {
            Some((copied, false)) => Some(Box::new(copied.first())),
            Some((copied, true)) => Some(Box::new(copied.second()?)),
            None => None,
        };
        let source = input::open(spec, stdin, Arc::clone(&self.read), self.pass.budget)?;
        match source.format {
            Format::U32 => self.read_pairs(input, source, 8, Content::U32),
            Format::U64 => self.read_pairs(input, source, 16, Content::U64),
            Format::AdjacencyU32 => self.read_lists(input, source),
            _ => self.read_text(input, spec, source),
        }
    }

    fn read_parquet(&mut self, input: usize, spec: &InputSpec) -> std::result::Result<(), Stop> {
        let columns = columns::open(spec, self.pass.weights)?;
        let mut row = 1;
        for group in 0..columns.groups() {
            let mut group = columns.group(group)?;
            loop {
                let mut buffer = self.take()?;
                buffer.clear();
                let rows = group.fill(&mut buffer, self.pass.block_bytes, row)?;
                if rows == 0 {
                    self.give_back(buffer);
                    break;
                }
                let weighted = self.pass.weights.is_some();
                let content = match (columns.names(), weighted) {
                    (true, weighted) => Content::Names { weighted },
                    (false, true) => Content::WeightedRows,
                    (false, false) => Content::Rows,
                };
                let end = buffer.len();
                self.unpacked += end as u64;
                self.send(input, row, buffer, 0..end, content, None)?;
                row += rows;
            }
            self.read.fetch_add(columns.group_bytes(), Ordering::Relaxed);
        }
        Ok(())
    }

    fn read_pairs(
        &mut self,
        input: usize,
        mut source: Source<'_>,
        pair_bytes: usize,
        content: Content,
    ) -> std::result::Result<(), Stop> {
        let size = self.pass.block_bytes / pair_bytes * pair_bytes;
        loop {
            let mut buffer = self.take()?;
            buffer.resize(size, 0);
            let filled = fill(&mut source, &mut buffer)?;
            self.unpacked += filled as u64;
            if filled % pair_bytes != 0 {
                let reason = format!(
                    "ends in the middle of an edge: {} bytes are not a multiple of {pair_bytes}; \
                     is it cut off, or not of format {}?",
                    self.unpacked, source.format
                );
                return Err(ImportError::Format { input: source.name, reason }.into());
            }
            if filled > 0 {
                self.send(input, 1, buffer, 0..filled, content.clone(), None)?;
            } else {
                self.give_back(buffer);
            }
            if filled < size {
                return Ok(());
            }
        }
    }

    /// Binary adjacency lists become pairs here: lists have no bound, blocks have.
    fn read_lists(
        &mut self,
        input: usize,
        mut source: Source<'_>,
    ) -> std::result::Result<(), Stop> {
        let mut lists = binary::Lists::new();
        let mut packed = vec![0; 1 << 16];
        let mut pairs = Pairs { buffer: self.take()?, filled: 0 };
        pairs.buffer.resize(self.pass.block_bytes, 0);
        loop {
            let filled = fill(&mut source, &mut packed)?;
            self.unpacked += filled as u64;
            let mut at = 0;
            while at < filled {
                let room = &mut pairs.buffer[pairs.filled..];
                let (used, made) = lists.step(&packed[at..filled], room);
                at += used;
                pairs.filled += made;
                if pairs.buffer.len() - pairs.filled < 8 {
                    let next = self.take()?;
                    let full = std::mem::replace(&mut pairs.buffer, next);
                    self.send(input, 1, full, 0..pairs.filled, Content::U32, None)?;
                    pairs.buffer.resize(self.pass.block_bytes, 0);
                    pairs.filled = 0;
                }
            }
            if filled < packed.len() {
                break;
            }
        }
        let vertices = lists
            .finish()
            .map_err(|reason| ImportError::Format { input: source.name.clone(), reason })?;
        self.send(input, 1, pairs.buffer, 0..pairs.filled, Content::U32, None)?;
        let mut first = 0;
        while first < vertices {
            // In runs, so that the workers share them.
            let count = (vertices - first).min(1 << 16);
            let buffer = self.take()?;
            self.send(input, 1, buffer, 0..0, Content::VertexRun { first, count }, None)?;
            first += count;
        }
        Ok(())
    }

    fn read_text(
        &mut self,
        input: usize,
        spec: &InputSpec,
        mut source: Source<'_>,
    ) -> std::result::Result<(), Stop> {
        let quotes = source.format == Format::Csv;
        let Pass { directed, weights, .. } = *self.pass;
        let mut head = Head::new(source.format, spec, directed, weights);
        let mut carry: Vec<u8> = Vec::new();
        let mut line = 1;
        let mut rows = 0;
        let mut first = true;
        loop {
            let mut buffer = self.take()?;
            let mut extra = None;
            let long = carry.len() >= self.pass.block_bytes;
            buffer.resize(if long { carry.len() * 2 } else { self.pass.block_bytes }, 0);
            if buffer.len() > self.pass.block_bytes {
                let more = buffer.len() - self.pass.block_bytes;
                extra = Some(self.pass.budget.hold(more, "a long line of the input")?);
            }
            buffer[..carry.len()].copy_from_slice(&carry);
            let fresh = fill(&mut source, &mut buffer[carry.len()..])?;
            self.unpacked += fresh as u64;
            let filled = carry.len() + fresh;
            let ended = filled < buffer.len();
            let cut = if ended { Some(filled) } else { cut_at_line_end(&buffer[..filled], quotes) };
            carry.clear();
            let Some(cut) = cut else {
                // One line fills it all: read on with twice the room.
                carry.extend_from_slice(&buffer[..filled]);
                drop(extra);
                self.give_back(Vec::new());
                continue;
            };
            carry.extend_from_slice(&buffer[cut..filled]);
            let mut start = 0;
            if std::mem::take(&mut first) && buffer[..cut].starts_with(&[0xef, 0xbb, 0xbf]) {
                start = 3;
            }
            let taken = head.take(&buffer[start..cut], &source.name, line)?;
            line += memchr::memchr_iter(b'\n', &buffer[start..start + taken]).count() as u64;
            start += taken;
            if let Some(content) = head.content(rows) {
                let body = &buffer[start..cut];
                let lines = memchr::memchr_iter(b'\n', body).count() as u64;
                let unended = u64::from(body.last().is_some_and(|&byte| byte != b'\n'));
                if let Content::Metis { .. } = content {
                    rows += lines + unended - lists::count_comments(body);
                }
                self.send(input, line, buffer, start..cut, content, extra)?;
                line += lines;
            } else {
                self.give_back(buffer);
            }
            if ended {
                break;
            }
        }
        self.ends.extend(head.end(rows, &source.name)?.map(|end| (input, end)));
        Ok(())
    }

    fn report(&mut self) {
        let read = self.read.load(Ordering::Relaxed);
        self.pass.progress.advance(read - std::mem::replace(&mut self.reported, read));
    }

    /// An empty buffer; waits for the workers to give one back.
    fn take(&mut self) -> std::result::Result<Vec<u8>, Stop> {
        if self.faults.any.load(Ordering::Acquire) {
            return Err(Stop::Elsewhere);
        }
        if self.pass.progress.cancelled() {
            return Err(ImportError::Cancelled.into());
        }
        self.report();
        match self.spare.pop() {
            Some(buffer) => Ok(buffer),
            None => self.free.recv().map_err(|_| Stop::Elsewhere),
        }
    }

    /// Puts a buffer aside that was not sent.
    fn give_back(&mut self, buffer: Vec<u8>) {
        self.spare.push(buffer);
    }

    fn send(
        &mut self,
        input: usize,
        first_line: u64,
        bytes: Vec<u8>,
        range: std::ops::Range<usize>,
        content: Content,
        extra: Option<Held<'a>>,
    ) -> std::result::Result<(), Stop> {
        let sequence = self.sequence;
        self.sequence += 1;
        let (start, end) = (range.start, range.end);
        let block = Block { input, sequence, first_line, bytes, start, end, content, extra };
        let full = self.full.as_ref().ok_or(Stop::Elsewhere)?;
        full.send(block).map_err(|_| Stop::Elsewhere)
    }
}

/// Why the reader ends.
enum Stop {
    Fault(ImportError),
    /// Somebody else failed and has said so.
    Elsewhere,
}

impl From<ImportError> for Stop {
    fn from(error: ImportError) -> Self {
        Stop::Fault(error)
    }
}

struct Pairs {
    buffer: Vec<u8>,
    filled: usize,
}

/// Reads until the buffer is full or the input ends.
fn fill(source: &mut Source<'_>, buffer: &mut [u8]) -> Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match source.reader.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => {
                let action = match source.packing {
                    input::Packing::Plain => "read",
                    input::Packing::Gzip => "unpack (gzip; damaged or cut off?)",
                    input::Packing::Zstd => "unpack (zstd; damaged or cut off?)",
                };
                return Err(input_error(&source.name, action)(e));
            }
        }
    }
    Ok(filled)
}

/// The end of the last whole line; with quotes, of the last line end outside of them.
fn cut_at_line_end(bytes: &[u8], quotes: bool) -> Option<usize> {
    if !quotes || memchr::memchr(b'"', bytes).is_none() {
        return memchr::memrchr(b'\n', bytes).map(|at| at + 1);
    }
    let mut quoted = false;
    let mut cut = None;
    for at in memchr::memchr2_iter(b'"', b'\n', bytes) {
        if bytes[at] == b'"' {
            quoted = !quoted;
        } else if !quoted {
            cut = Some(at + 1);
        }
    }
    cut
}
