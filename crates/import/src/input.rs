//! Opens inputs: files and standard input, plain or compressed whatever the extension.

use std::fs::{File, Metadata};
use std::io::{self, BufReader, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::budget::{Budget, Held};
use crate::config::{Format, Input, InputSpec, strip_compression};
use crate::error::{ImportError, Result};
use crate::output::identity;
use crate::rows::RowReader;
use cenote_store::WeightType;

const PEEK: usize = 18;
const ZSTD_WINDOW_LOG_MAX: u32 = 31;
const PACKED_READ_BYTES: usize = 128 << 10;

/// Compression of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// Uncompressed.
    Plain,
    /// gzip, one member or several.
    Gzip,
    /// Zstandard, one frame or several.
    Zstd,
}

impl Packing {
    /// The name of the program.
    fn packer(self) -> Option<&'static str> {
        match self {
            Packing::Plain => None,
            Packing::Gzip => Some("gzip"),
            Packing::Zstd => Some("zstd"),
        }
    }
}

pub(super) struct Source<'a> {
    pub name: String,
    pub format: Format,
    pub reader: RowReader<'a>,
    packing: Packing,
    _memory: Option<Held<'a>>,
}

impl<'a> Source<'a> {
    /// Edges that are not in a file; `bytes` counts the bytes read.
    pub fn of_rows(name: String, rows: RowReader<'a>, bytes: Arc<AtomicU64>) -> Self {
        let reader = Box::new(Counted { inner: rows, bytes });
        Self { name, format: Format::U64, reader, packing: Packing::Plain, _memory: None }
    }

    /// Reads until the buffer is full or the input ends.
    pub fn fill(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.reader.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => {
                    let action = match self.packing {
                        Packing::Plain => "read",
                        Packing::Gzip => "unpack (gzip; damaged or cut off?)",
                        Packing::Zstd => "unpack (zstd; damaged or cut off?)",
                    };
                    return Err(read_error(&self.name, action, e));
                }
            }
        }
        Ok(filled)
    }
}

/// Counts the bytes read, before decompression.
struct Counted<R> {
    inner: R,
    bytes: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.bytes.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

pub(super) fn input_error<'a>(
    name: &'a str,
    action: &'static str,
) -> impl FnOnce(io::Error) -> ImportError + 'a {
    move |source| ImportError::Input { input: name.to_owned(), action, source }
}

/// As [`input_error`], except that errors of the import itself stay as they are.
pub(super) fn read_error(name: &str, action: &'static str, error: io::Error) -> ImportError {
    match error.downcast::<ImportError>() {
        Ok(ImportError::Row { row, reason, .. }) => {
            ImportError::Row { input: name.to_owned(), row, reason }
        }
        Ok(error) => error,
        Err(error) => input_error(name, action)(error),
    }
}

/// The format of an input, as given or by its extension.
pub(super) fn format_of(spec: &InputSpec) -> Result<Format> {
    if spec.is_vertices {
        return format_of_vertices(spec);
    }
    if let Some(format) = spec.format {
        return Ok(format);
    }
    let known = || {
        let names: Vec<&str> = Format::NAMES.iter().map(|(name, _)| *name).collect();
        names.join(", ")
    };
    if spec.is_stdin() {
        let reason = format!("say what comes with `format`: {}", known());
        return Err(ImportError::Format { input: spec.name(), reason });
    }
    Format::of_path(&spec.path).ok_or_else(|| ImportError::Format {
        input: spec.name(),
        reason: format!("its ending does not say what it is; say `format`: {}", known()),
    })
}

/// Whether it is no regular file.
pub(super) fn is_read_once(spec: &InputSpec) -> bool {
    spec.is_stdin() || State::of(spec).is_none()
}

fn is_vertex_file(spec: &InputSpec) -> bool {
    spec.is_vertices || format_of(spec).is_ok_and(|format| format == Format::Vertices)
}

/// The format of a list of vertices: text with an id a line, unless it is of integers.
fn format_of_vertices(spec: &InputSpec) -> Result<Format> {
    match spec.format.or_else(|| Format::of_path(&spec.path)) {
        None | Some(Format::Vertices | Format::Edges) => Ok(Format::Vertices),
        Some(format @ (Format::U32 | Format::U64)) => Ok(format),
        Some(format) => {
            let reason = format!(
                "vertices are read from text with an id a line (.txt, .v) or from .u32 and .u64 \
                 integers, not from format {format}"
            );
            Err(ImportError::Format { input: spec.name(), reason })
        }
    }
}

/// Opens an input, or reads `copied` instead. Counted are the bytes read, and the largest
/// window of zstd, held or refused.
pub(super) fn open<'a>(
    spec: &InputSpec,
    copied: Option<RowReader<'a>>,
    counts: (Arc<AtomicU64>, &AtomicUsize),
    budget: &'a Budget,
) -> Result<Source<'a>> {
    let raw = copied.map_or_else(|| open_raw(spec), Ok)?;
    unpack(raw, spec, spec.name(), counts, budget)
}

pub(super) fn open_raw<'a>(spec: &InputSpec) -> Result<RowReader<'a>> {
    if spec.is_stdin() {
        return Ok(Box::new(io::stdin()));
    }
    let file = open_file(&spec.path).map_err(input_error(&spec.name(), "open"))?;
    Ok(Box::new(file))
}

fn open_file(path: &Path) -> io::Result<File> {
    let file = File::open(path)?;
    if file.metadata()?.is_dir() { Err(is_folder()) } else { Ok(file) }
}

fn is_folder() -> io::Error {
    io::Error::new(io::ErrorKind::IsADirectory, "it is a folder, not a file; give the files in it")
}

/// Refuses a folder, whose name says no format.
pub(super) fn refuse_folder(spec: &InputSpec) -> Result<()> {
    if !spec.is_stdin() && spec.path.is_dir() {
        return Err(input_error(&spec.name(), "open")(is_folder()));
    }
    Ok(())
}

/// Identifies the compression by the first bytes and adds the decoder.
fn unpack<'a>(
    raw: RowReader<'a>,
    spec: &InputSpec,
    name: String,
    (bytes, largest_window): (Arc<AtomicU64>, &AtomicUsize),
    budget: &'a Budget,
) -> Result<Source<'a>> {
    let format = format_of(spec)?;
    let mut memory = None;
    let mut raw = Counted { inner: raw, bytes };
    let head = peek(&mut raw).map_err(input_error(&name, "read"))?;
    let packing = packing_of(&head, spec, format);
    reject_other_formats(&head, &name, format, packing)?;
    reject_unpacked(&head, spec, format, packing)?;
    let window = zstd_window(&head);
    let whole = io::Cursor::new(head).chain(raw);
    let reader: RowReader<'a> = match packing {
        Packing::Plain => Box::new(whole),
        Packing::Gzip => {
            let buffered = BufReader::with_capacity(PACKED_READ_BYTES, whole);
            Box::new(flate2::bufread::MultiGzDecoder::new(buffered))
        }
        Packing::Zstd => {
            let buffered = BufReader::with_capacity(PACKED_READ_BYTES, whole);
            let mut decoder = zstd::stream::read::Decoder::with_buffer(buffered)
                .map_err(input_error(&name, "unpack"))?;
            largest_window.fetch_max(window as usize, Ordering::Relaxed);
            memory = Some(budget.hold(window as usize, "the zstd window of the input")?);
            // Later frames may have a larger one, within limits.
            let spare = (budget.limit() / 8).max(1 << 10).ilog2();
            let log = window.next_power_of_two().ilog2().max(spare).min(ZSTD_WINDOW_LOG_MAX);
            decoder.window_log_max(log).map_err(input_error(&name, "unpack"))?;
            Box::new(decoder)
        }
    };
    Ok(Source { name, format, packing, reader, _memory: memory })
}

/// The largest window of packed files that can be opened again: that of their first frames.
pub(super) fn largest_window(inputs: &[Input<'_>]) -> usize {
    let window_of = |input: &Input<'_>| {
        let Input::File(spec) = input else { return None };
        if is_read_once(spec) {
            return None;
        }
        let head = peek(&mut open_raw(spec).ok()?).ok()?;
        let is_zstd = packing_of(&head, spec, format_of(spec).ok()?) == Packing::Zstd;
        is_zstd.then(|| zstd_window(&head) as usize)
    };
    inputs.iter().filter_map(window_of).max().unwrap_or(0)
}

/// The window size of the first zstd frame (RFC 8878, 3.1.1.1), 0 if there is none.
fn zstd_window(head: &[u8]) -> u64 {
    let [0x28, 0xb5, 0x2f, 0xfd, descriptor, rest @ ..] = head else { return 0 };
    let single_segment = descriptor & 0x20 != 0;
    if !single_segment {
        let Some(&byte) = rest.first() else { return 0 };
        let base = 1u64 << (10 + (byte >> 3));
        return base + base / 8 * u64::from(byte & 7);
    }
    // The window is the content, whose size follows the dictionary id.
    let skipped = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let bytes = [1, 2, 4, 8][usize::from(descriptor >> 6)];
    let Some(size) = rest.get(skipped..skipped + bytes) else { return 0 };
    let size = size.iter().rev().fold(0, |size, &byte| size << 8 | u64::from(byte));
    size + if bytes == 2 { 256 } else { 0 }
}

fn peek(raw: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut head = Vec::with_capacity(PEEK);
    raw.take(PEEK as u64).read_to_end(&mut head)?;
    Ok(head)
}

/// The compression by the first bytes. Those of `.u32` and `.u64` files may be anything.
fn packing_of(head: &[u8], spec: &InputSpec, format: Format) -> Packing {
    let is_packed = packing_by_name(&spec.path) != Packing::Plain;
    if format.is_binary()
        && !spec.is_stdin()
        && !is_packed
        && Format::of_path(&spec.path) == Some(format)
    {
        return Packing::Plain;
    }
    match head {
        [0x1f, 0x8b, 8, flags, ..] if flags & 0xe0 == 0 => Packing::Gzip,
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Packing::Zstd,
        [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Packing::Zstd,
        _ => Packing::Plain,
    }
}

/// The program that the name says packed the file, where its bytes say that none did.
fn falsely_named(head: &[u8], spec: &InputSpec, packing: Packing) -> Option<&'static str> {
    let is_packed = packing != Packing::Plain || head.is_empty() || spec.is_stdin();
    if is_packed { None } else { packing_by_name(&spec.path).packer() }
}

const RENAME: &str = "get the file anew, or give it the ending of what it holds";

/// Rejects a file of numbers that is not packed as its name says: as numbers, its bytes would be
/// edges all the same.
fn reject_unpacked(head: &[u8], spec: &InputSpec, format: Format, packing: Packing) -> Result<()> {
    match falsely_named(head, spec, packing) {
        Some(packer) if format.is_binary() => {
            let reason = format!("is not packed with {packer}, as its name says: {RENAME}");
            Err(ImportError::Format { input: spec.name(), reason })
        }
        _ => Ok(()),
    }
}

/// Says of an input that could not be parsed how it is packed, where its name or format say
/// otherwise.
pub(super) fn explain_packing(error: ImportError, inputs: &[Input<'_>]) -> ImportError {
    let (ImportError::Line { input: name, .. } | ImportError::Format { input: name, .. }) = &error
    else {
        return error;
    };
    let spec = inputs.iter().find_map(|input| match input {
        Input::File(spec) if !is_read_once(spec) && spec.name() == *name => Some(spec),
        _ => None,
    });
    match spec.and_then(|spec| other_packing(spec, name, &error)) {
        Some(reason) => ImportError::Format { input: name.clone(), reason },
        None => error,
    }
}

fn other_packing(spec: &InputSpec, name: &str, error: &ImportError) -> Option<String> {
    let format = format_of(spec).ok()?;
    let head = peek(&mut File::open(&spec.path).ok()?).ok()?;
    let packing = packing_of(&head, spec, format);
    if format == Format::Parquet {
        let packer = packing.packer()?;
        return Some(format!("is packed with {packer}: unpack it first, Parquet packs its pages"));
    }
    let packer = falsely_named(&head, spec, packing)?;
    // Those are named already.
    if format.is_binary() || reject_other_formats(&head, name, format, packing).is_err() {
        return None;
    }
    let message = error.to_string();
    let fault = message.strip_prefix(&format!("{name}: ")).unwrap_or(&message);
    Some(format!(
        "is not packed with {packer}, as its name says, and was read as it is: {fault}; {RENAME}"
    ))
}

fn packing_by_name(path: &Path) -> Packing {
    let name = path.to_string_lossy().to_ascii_lowercase();
    match strip_compression(&name).len() {
        length if length == name.len() => Packing::Plain,
        _ if name.ends_with(".gz") => Packing::Gzip,
        _ => Packing::Zstd,
    }
}

/// Rejects well-known files of other kinds, which would otherwise fail as a broken line.
fn reject_other_formats(head: &[u8], name: &str, format: Format, packing: Packing) -> Result<()> {
    let refuse = |reason: &str| {
        Err(ImportError::Format { input: name.to_owned(), reason: reason.to_owned() })
    };
    if packing != Packing::Plain || !format.is_text() {
        return Ok(());
    }
    match head {
        [0xfd, b'7', b'z', b'X', b'Z', ..] => refuse("is packed with xz; unpack it first"),
        [b'B', b'Z', b'h', ..] => refuse("is packed with bzip2; unpack it first"),
        [b'P', b'K', 3, 4, ..] => refuse("is a zip archive; unpack it first"),
        [b'P', b'A', b'R', b'1', ..] => refuse("is a Parquet file; say `format` parquet"),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => refuse("is UTF-16 text; convert it to UTF-8"),
        _ => Ok(()),
    }
}

impl Input<'_> {
    fn bytes(&self, weights: Option<WeightType>) -> Option<u64> {
        match self {
            Input::Edges(edges) => edges.row_bytes(weights),
            Input::Vertices(vertices) => vertices.row_bytes(),
            Input::File(spec) => State::of(spec).map(|state| state.bytes),
        }
    }

    pub(super) fn may_have_names(&self) -> bool {
        match self {
            Input::Edges(edges) => edges.has_names(),
            Input::Vertices(vertices) => vertices.rows().has_names(),
            Input::File(spec) => format_of(spec).is_ok_and(Format::may_have_names),
        }
    }

    /// Whether it can be read only once, as a pipe or an iterator, which may have no end.
    pub fn is_read_once(&self) -> bool {
        match self {
            Input::Edges(edges) => !edges.can_reread(),
            Input::Vertices(vertices) => !vertices.rows().can_reread(),
            // Opening a Parquet file reports that it needs a regular file.
            Input::File(spec) if matches!(format_of(spec), Ok(Format::Parquet)) => false,
            Input::File(spec) => is_read_once(spec),
        }
    }

    /// Whether it has vertices and no edges.
    pub(super) fn is_vertices(&self) -> bool {
        match self {
            Input::Edges(_) => false,
            Input::Vertices(_) => true,
            Input::File(spec) => is_vertex_file(spec),
        }
    }

    /// Whether it consists of plain pairs, which are read twice instead of being spilled, or has
    /// no edges.
    pub(super) fn is_plain_pairs(&self) -> bool {
        if self.is_vertices() {
            return true;
        }
        let spec = match self {
            Input::Edges(edges) => return edges.can_reread() && !edges.has_names(),
            Input::Vertices(_) => return true,
            Input::File(spec) => spec,
        };
        let Ok(format @ (Format::U32 | Format::U64)) = format_of(spec) else { return false };
        if self.is_read_once() {
            return false;
        }
        let Ok(mut file) = File::open(&spec.path) else { return false };
        peek(&mut file).is_ok_and(|head| packing_of(&head, spec, format) == Packing::Plain)
    }
}

pub(super) fn total_bytes(inputs: &[Input<'_>], weights: Option<WeightType>) -> Option<u64> {
    inputs.iter().map(|input| input.bytes(weights)).sum()
}

/// Properties of a regular file that change when it is written or replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State {
    bytes: u64,
    identity: (u64, u64),
    written: (i64, i64),
}

impl State {
    /// `None` if it is not a regular file.
    fn of(spec: &InputSpec) -> Option<Self> {
        let file = std::fs::metadata(&spec.path).ok().filter(Metadata::is_file)?;
        let written = (file.mtime(), file.mtime_nsec());
        Some(Self { bytes: file.len(), identity: identity(&file), written })
    }
}

pub(super) struct Unchanged<'a>(Vec<(&'a InputSpec, Option<State>)>);

impl<'a> Unchanged<'a> {
    pub fn new(inputs: &'a [Input<'_>]) -> Self {
        let file = |input: &'a Input<'_>| match input {
            Input::File(spec) if !spec.is_stdin() => Some((spec, State::of(spec))),
            _ => None,
        };
        Self(inputs.iter().filter_map(file).collect())
    }

    /// Fails if a file has changed, since what was read may mix both versions.
    pub fn check(&self) -> Result<()> {
        match self.0.iter().find(|(spec, state)| State::of(spec) != *state) {
            Some((spec, _)) => Err(ImportError::Changed { input: spec.name() }),
            None => Ok(()),
        }
    }
}
