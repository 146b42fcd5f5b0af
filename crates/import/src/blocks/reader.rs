//! Reads inputs and cuts them into blocks at line ends, between pairs or between rows.

use std::io::{self, BufRead, BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender};

use super::group::{self, RowGroup};
use super::{Block, Faults, Holds, Pass, PassError};
use crate::budget::Held;
use crate::config::{Format, Input, InputSpec};
use crate::edges::Edges;
use crate::error::{ImportError, Result, excerpt};
use crate::head::{Content, End, Head};
use crate::input::{self, Source};
use crate::parse::token::bare_carriage_return;
use crate::parse::{binary, columns, lists};
use crate::rows::RowReader;

pub(super) struct Reader<'p, 'a> {
    pass: &'p Pass<'a>,
    full: SyncSender<Block<'a>>,
    free: Receiver<Vec<u8>>,
    faults: &'p Faults,
    sequence: u64,
    read: Arc<AtomicU64>,
    ends: Vec<(usize, End)>,
    spare: Vec<Vec<u8>>,
}

enum Stop {
    Fault(ImportError),
    /// Another thread failed and has reported it.
    Elsewhere,
}

impl From<ImportError> for Stop {
    fn from(error: ImportError) -> Self {
        Stop::Fault(error)
    }
}

type Step<T> = std::result::Result<T, Stop>;

/// Whole lines at the front of a buffer.
struct Lines<'a> {
    buffer: Vec<u8>,
    end: usize,
    is_last: bool,
    /// Memory beyond the usual block size, for a long line.
    extra: Option<Held<'a>>,
}

impl<'p, 'a> Reader<'p, 'a> {
    pub fn new(
        pass: &'p Pass<'a>,
        full: SyncSender<Block<'a>>,
        free: Receiver<Vec<u8>>,
        faults: &'p Faults,
    ) -> Self {
        Self {
            pass,
            full,
            free,
            faults,
            sequence: 1,
            read: Arc::clone(&pass.meter.read),
            ends: Vec::new(),
            spare: Vec::new(),
        }
    }

    /// Reads all inputs, then closes the channel to the workers. Returns what the ends of inputs
    /// are checked against.
    pub fn run(mut self) -> Vec<(usize, End)> {
        for (place, input) in self.pass.inputs.iter().enumerate() {
            match self.read_input(place, input) {
                Ok(()) => {}
                Err(Stop::Fault(error)) => {
                    self.faults.add(self.sequence, PassError::Import(error));
                    break;
                }
                Err(Stop::Elsewhere) => break,
            }
        }
        self.pass.report();
        self.ends
    }

    fn read_input(&mut self, place: usize, input: &'a Input<'a>) -> Step<()> {
        if self.pass.edges_only && input.is_vertices() {
            return Ok(());
        }
        let stream = self.pass.copies.open(place, self.pass.again)?;
        let spec = match input {
            Input::File(spec) => spec,
            Input::Edges(edges) => return self.read_rows(place, (edges, false), stream),
            Input::Vertices(vertices) => {
                return self.read_rows(place, (vertices.rows(), true), stream);
            }
        };
        if input::format_of(spec)? == Format::Parquet {
            return self.read_parquet(place, spec);
        }
        let counts = (Arc::clone(&self.read), &self.pass.meter.window);
        let source = input::open(spec, stream, counts, self.pass.budget)?;
        match source.format {
            Format::U32 if spec.is_vertices => {
                self.read_pairs(place, source, 4, &Content::VerticesU32)
            }
            Format::U64 if spec.is_vertices => {
                self.read_pairs(place, source, 8, &Content::VerticesU64)
            }
            Format::U32 => self.read_pairs(place, source, 8, &Content::U32),
            Format::U64 => self.read_pairs(place, source, 16, &Content::U64),
            Format::AdjacencyU32 => self.read_lists(place, source),
            _ => self.read_text(place, spec, source),
        }
    }

    fn read_parquet(&mut self, input: usize, spec: &InputSpec) -> Step<()> {
        let memory = (self.pass.budget, &self.pass.meter.pages);
        let columns = match columns::open(spec, self.pass.weights, memory) {
            Err(ImportError::Memory { .. }) => {
                // Files before this one may still have their metadata and pages in memory.
                self.wait_for_workers()?;
                columns::open(spec, self.pass.weights, memory)?
            }
            opened => opened?,
        };
        let file = Arc::new(group::File::new(columns));
        let mut row = 1;
        for index in 0..file.columns.groups() {
            let holds = Holds::RowGroup(RowGroup { file: Arc::clone(&file), index });
            let bytes = self.take()?;
            self.send(input, row, bytes, 0..0, holds, None)?;
            row += file.columns.group_rows(index);
        }
        Ok(())
    }

    fn rows_content(&self, names: bool) -> Content {
        match (names, self.pass.weights.is_some()) {
            (true, weighted) => Content::Names { weighted },
            (false, true) => Content::WeightedRows,
            (false, false) => Content::Rows,
        }
    }

    fn read_rows(
        &mut self,
        input: usize,
        (edges, is_vertices): (&'a Edges<'a>, bool),
        stream: Option<RowReader<'a>>,
    ) -> Step<()> {
        let reader = stream.map_or_else(|| edges.open(self.pass.weights), Ok)?;
        let (name, read) = (edges.name().to_owned(), Arc::clone(&self.read));
        let source = Source::of_rows(name, reader, read);
        let content = match (is_vertices, edges.has_names()) {
            (false, names) => self.rows_content(names),
            (true, false) => Content::VerticesU64,
            (true, true) => Content::VertexNames,
        };
        match content {
            Content::Names { weighted } => self.read_names(input, source, (2, weighted), &content),
            Content::VertexNames => self.read_names(input, source, (1, false), &content),
            Content::VerticesU64 => self.read_pairs(input, source, 8, &content),
            Content::Rows => self.read_pairs(input, source, 16, &Content::Rows),
            content => self.read_pairs(input, source, 24, &content),
        }
    }

    /// Reads rows of names, each with this number of names and maybe a weight.
    fn read_names(
        &mut self,
        input: usize,
        source: Source<'_>,
        row_parts: (usize, bool),
        content: &Content,
    ) -> Step<()> {
        let Source { name, reader, .. } = source;
        let mut reader = BufReader::new(reader);
        let failed = |error| input::read_error(&name, "read", error);
        let mut row = 1;
        loop {
            let mut buffer = self.take()?;
            buffer.clear();
            let mut rows = 0;
            while buffer.len() < self.pass.block_bytes / 2
                && append_named_row(&mut reader, row_parts, &mut buffer).map_err(failed)?
            {
                rows += 1;
            }
            if rows == 0 {
                self.give_back(buffer);
                return Ok(());
            }
            let end = buffer.len();
            self.count(end);
            self.send(input, row, buffer, 0..end, content.clone().into(), None)?;
            row += rows;
        }
    }

    fn read_pairs(
        &mut self,
        input: usize,
        mut source: Source<'_>,
        pair_bytes: usize,
        content: &Content,
    ) -> Step<()> {
        let size = self.pass.block_bytes / pair_bytes * pair_bytes;
        let is_vertices = matches!(content, Content::VerticesU32 | Content::VerticesU64);
        loop {
            let mut buffer = self.take()?;
            buffer.resize(size, 0);
            let filled = source.fill(&mut buffer)?;
            self.count(filled);
            if filled % pair_bytes != 0 {
                let reason = format!(
                    "ends in the middle of {}: {} bytes are not a multiple of {pair_bytes}; \
                     is it cut off, or not of format {}?",
                    if is_vertices { "an id" } else { "an edge" },
                    self.unpacked(),
                    source.format
                );
                return Err(ImportError::Format { input: source.name, reason }.into());
            }
            if filled > 0 {
                self.send(input, 1, buffer, 0..filled, content.clone().into(), None)?;
            } else {
                self.give_back(buffer);
            }
            if filled < size {
                return Ok(());
            }
        }
    }

    /// Converts binary adjacency lists to pairs, because lists have no size limit but blocks have.
    fn read_lists(&mut self, input: usize, mut source: Source<'_>) -> Step<()> {
        let mut lists = binary::Lists::new();
        let mut packed = vec![0; 1 << 16];
        let mut pairs = self.take()?;
        pairs.resize(self.pass.block_bytes, 0);
        let mut filled = 0;
        loop {
            let read = source.fill(&mut packed)?;
            self.count(read);
            let mut at = 0;
            while at < read {
                let (used, made) = lists.step(&packed[at..read], &mut pairs[filled..]);
                at += used;
                filled += made;
                if pairs.len() - filled < 8 {
                    let next = self.take()?;
                    let full = std::mem::replace(&mut pairs, next);
                    self.send(input, 1, full, 0..filled, Content::U32.into(), None)?;
                    pairs.resize(self.pass.block_bytes, 0);
                    filled = 0;
                }
            }
            if read < packed.len() {
                break;
            }
        }
        let vertices = lists
            .finish()
            .map_err(|reason| ImportError::Format { input: source.name.clone(), reason })?;
        self.send(input, 1, pairs, 0..filled, Content::U32.into(), None)?;
        let mut first = 0;
        while first < vertices {
            // In runs, which the workers share.
            let count = (vertices - first).min(1 << 16);
            let buffer = self.take()?;
            self.send(input, 1, buffer, 0..0, Content::VertexRun { first, count }.into(), None)?;
            first += count;
        }
        Ok(())
    }

    fn read_text(&mut self, input: usize, spec: &InputSpec, mut source: Source<'_>) -> Step<()> {
        let Pass { directed, weights, .. } = *self.pass;
        let mut head = Head::new(source.format, spec, directed, weights);
        let mut carry = Vec::new();
        let (mut line, mut rows, mut is_first) = (1, 0, true);
        loop {
            let Lines { buffer, end, is_last, extra } =
                self.whole_lines(&mut source, &mut carry, line)?;
            let mut start = 0;
            if std::mem::take(&mut is_first) && buffer[..end].starts_with(&[0xef, 0xbb, 0xbf]) {
                start = 3;
            }
            let taken = head.take(&buffer[start..end], &source.name, line)?;
            line += memchr::memchr_iter(b'\n', &buffer[start..start + taken]).count() as u64;
            start += taken;
            if let Some(content) = head.content(rows) {
                let body = &buffer[start..end];
                let lines = memchr::memchr_iter(b'\n', body).count() as u64;
                let unended = u64::from(body.last().is_some_and(|&byte| byte != b'\n'));
                if let Content::Metis { .. } = content {
                    rows += lines + unended - lists::count_comments(body);
                }
                self.send(input, line, buffer, start..end, content.into(), extra)?;
                line += lines;
            } else {
                self.give_back(buffer);
            }
            if is_last {
                break;
            }
        }
        self.ends.extend(head.end(rows, &source.name)?.map(|end| (input, end)));
        Ok(())
    }

    /// Fills a buffer with whole lines: `carry` and more of the input. The rest after the last line
    /// end becomes `carry`. `line` is the number of the first line.
    fn whole_lines(
        &mut self,
        source: &mut Source<'_>,
        carry: &mut Vec<u8>,
        line: u64,
    ) -> Step<Lines<'a>> {
        let quotes = source.format == Format::Csv;
        let mut buffer = self.take()?;
        let mut extra = None;
        let mut filled = carry.len();
        let usual = self.pass.block_bytes;
        let mut size = usual;
        loop {
            if size <= filled {
                let held = self.pass.budget.hold(2 * (2 * filled - usual), "a long line");
                extra = Some(held.map_err(|_| too_long(&source.name, line, filled))?);
                size = 2 * filled;
                buffer.reserve_exact(size.saturating_sub(buffer.len()));
            }
            buffer.resize(size, 0);
            buffer[..carry.len()].copy_from_slice(carry);
            carry.clear();
            let fresh = source.fill(&mut buffer[filled..])?;
            self.count(fresh);
            filled += fresh;
            let is_last = filled < size;
            let end =
                if is_last { Some(filled) } else { cut_at_line_end(&buffer[..filled], quotes) };
            if let Some(end) = end {
                carry.extend_from_slice(&buffer[end..filled]);
                return Ok(Lines { buffer, end, is_last, extra });
            }
            require_text(&source.name, line, &buffer[..filled])?;
            extra = None;
        }
    }

    fn unpacked(&self) -> u64 {
        self.pass.meter.unpacked.load(Ordering::Relaxed)
    }

    fn count(&self, unpacked: usize) {
        self.pass.meter.unpacked.fetch_add(unpacked as u64, Ordering::Relaxed);
    }

    /// An empty buffer; waits until a worker returns one.
    fn take(&mut self) -> Step<Vec<u8>> {
        if self.faults.any() {
            return Err(Stop::Elsewhere);
        }
        if self.pass.progress.cancelled() {
            return Err(ImportError::Cancelled.into());
        }
        self.pass.report();
        match self.spare.pop() {
            Some(buffer) => Ok(buffer),
            None => self.free.recv().map_err(|_| Stop::Elsewhere),
        }
    }

    /// Waits until the workers have parsed all that was sent.
    fn wait_for_workers(&mut self) -> Step<()> {
        while self.spare.len() < super::buffers(self.pass.workers) {
            self.spare.push(self.free.recv().map_err(|_| Stop::Elsewhere)?);
        }
        if self.faults.any() { Err(Stop::Elsewhere) } else { Ok(()) }
    }

    /// Keeps a buffer that was not sent.
    fn give_back(&mut self, mut buffer: Vec<u8>) {
        buffer.truncate(self.pass.block_bytes);
        buffer.shrink_to(self.pass.block_bytes);
        self.spare.push(buffer);
    }

    fn send(
        &mut self,
        input: usize,
        first_line: u64,
        bytes: Vec<u8>,
        range: std::ops::Range<usize>,
        holds: Holds<'a>,
        extra: Option<Held<'a>>,
    ) -> Step<()> {
        let (sequence, start, end) = (self.sequence, range.start, range.end);
        self.sequence += 1;
        let block = Block { input, sequence, first_line, bytes, start, end, holds, extra };
        self.full.send(block).map_err(|_| Stop::Elsewhere)
    }
}

/// Appends the next row: names with their lengths, and maybe a weight. Returns whether there was
/// one.
fn append_named_row(
    reader: &mut impl BufRead,
    (names, weighted): (usize, bool),
    rows: &mut Vec<u8>,
) -> io::Result<bool> {
    if reader.fill_buf()?.is_empty() {
        return Ok(false);
    }
    for _ in 0..names {
        let mut length = [0; 4];
        reader.read_exact(&mut length)?;
        rows.extend_from_slice(&length);
        append(reader, u32::from_le_bytes(length) as usize, rows)?;
    }
    append(reader, if weighted { 8 } else { 0 }, rows)?;
    Ok(true)
}

fn append(reader: &mut impl Read, count: usize, rows: &mut Vec<u8>) -> io::Result<()> {
    let end = rows.len();
    rows.resize(end + count, 0);
    reader.read_exact(&mut rows[end..])
}

fn too_long(name: &str, line: u64, bytes: usize) -> ImportError {
    let reason = format!(
        "line {line} is longer than {bytes} bytes, too long for `memory`; is it text, in lines?"
    );
    ImportError::Format { input: name.to_owned(), reason }
}

/// Fails if a block without a line end is not text, before more of it is read.
fn require_text(name: &str, line: u64, bytes: &[u8]) -> Result<()> {
    let expected = match memchr::memchr(0, bytes) {
        Some(_) => "text",
        None if bare_carriage_return(bytes).is_some() => crate::parse::token::LINE_ENDS,
        None => return Ok(()),
    };
    let (input, text) = (name.to_owned(), excerpt(bytes));
    Err(ImportError::Line { input, line, expected: expected.to_owned(), text })
}

/// The end of the last whole line; with `quotes`, line ends in quoted fields do not count.
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
