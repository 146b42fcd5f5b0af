//! Opens inputs: files and standard input, plain or packed, whatever their ending says.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::budget::{Budget, Held};
use crate::config::{Format, InputSpec, strip_compression};
use crate::error::{ImportError, Result};

/// Bytes looked at to tell the compression.
const PEEK: usize = 18;
/// The widest zstd window that there is.
const ZSTD_WINDOW_LOG_MAX: u32 = 31;
/// Reads of packed bytes.
const PACKED_READ_BYTES: usize = 128 << 10;

/// How an input is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// Not at all.
    Plain,
    /// gzip, one member or several.
    Gzip,
    /// Zstandard, one frame or several.
    Zstd,
}

/// An input, open.
pub(super) struct Source<'a> {
    pub name: String,
    pub format: Format,
    pub packing: Packing,
    pub reader: Box<dyn Read + Send>,
    /// The window of zstd.
    _memory: Option<Held<'a>>,
}

/// Counts the bytes that come by, before they are unpacked.
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

/// Turns an I/O error into one that names the input.
pub(super) fn input_error<'a>(
    name: &'a str,
    action: &'static str,
) -> impl FnOnce(io::Error) -> ImportError + 'a {
    move |source| ImportError::Input { input: name.to_owned(), action, source }
}

/// The format of an input, from what was asked or from its ending.
pub(super) fn format_of(spec: &InputSpec) -> Result<Format> {
    if let Some(format) = spec.format {
        return Ok(format);
    }
    let known = || {
        let names: Vec<&str> = Format::NAMES.iter().map(|(name, _)| *name).collect();
        names.join(", ")
    };
    if spec.is_stdin() {
        let reason = format!("say what comes with --format: {}", known());
        return Err(ImportError::Format { input: spec.name(), reason });
    }
    Format::of_path(&spec.path).ok_or_else(|| ImportError::Format {
        input: spec.name(),
        reason: format!("its ending does not tell what it is; say --format: {}", known()),
    })
}

/// Opens an input. `stdin` is standard input, if it is to come from elsewhere than the process;
/// `bytes` counts what is read.
pub(super) fn open<'a>(
    spec: &InputSpec,
    stdin: Option<Box<dyn Read + Send>>,
    bytes: Arc<AtomicU64>,
    budget: &'a Budget,
) -> Result<Source<'a>> {
    let name = spec.name();
    let raw: Box<dyn Read + Send> = if spec.is_stdin() {
        stdin.unwrap_or_else(|| Box::new(io::stdin()))
    } else {
        Box::new(open_file(&spec.path).map_err(input_error(&name, "open"))?)
    };
    unpack(raw, spec, name, bytes, budget)
}

fn open_file(path: &Path) -> io::Result<File> {
    let file = File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder, not a file"));
    }
    Ok(file)
}

/// Looks at the first bytes and puts the right unpacker on top.
fn unpack<'a>(
    raw: Box<dyn Read + Send>,
    spec: &InputSpec,
    name: String,
    bytes: Arc<AtomicU64>,
    budget: &'a Budget,
) -> Result<Source<'a>> {
    let format = format_of(spec)?;
    let mut memory = None;
    let mut raw = Counted { inner: raw, bytes };
    let head = peek(&mut raw).map_err(input_error(&name, "read"))?;
    let packing = packing_of(&head, spec, format);
    refuse_foreign(&head, &name, format, packing)?;
    let window = zstd_window(&head);
    let whole = io::Cursor::new(head).chain(raw);
    let reader: Box<dyn Read + Send> = match packing {
        Packing::Plain => Box::new(whole),
        Packing::Gzip => {
            let buffered = BufReader::with_capacity(PACKED_READ_BYTES, whole);
            Box::new(flate2::bufread::MultiGzDecoder::new(buffered))
        }
        Packing::Zstd => {
            let buffered = BufReader::with_capacity(PACKED_READ_BYTES, whole);
            let mut decoder = zstd::stream::read::Decoder::with_buffer(buffered)
                .map_err(input_error(&name, "unpack"))?;
            memory = Some(budget.hold(window as usize, "the zstd window of the input")?);
            // Later frames may have a wider one, within reason.
            let spare = (budget.limit() / 8).max(1 << 10).ilog2();
            let log = window.next_power_of_two().ilog2().max(spare).min(ZSTD_WINDOW_LOG_MAX);
            decoder.window_log_max(log).map_err(input_error(&name, "unpack"))?;
            Box::new(decoder)
        }
    };
    Ok(Source { name, format, packing, reader, _memory: memory })
}

/// The window that the first frame of zstd asks for (RFC 8878, 3.1.1.1), 0 if it is no such frame.
fn zstd_window(head: &[u8]) -> u64 {
    let [0x28, 0xb5, 0x2f, 0xfd, descriptor, rest @ ..] = head else { return 0 };
    let single_segment = descriptor & 0x20 != 0;
    if !single_segment {
        let Some(&byte) = rest.first() else { return 0 };
        let base = 1u64 << (10 + (byte >> 3));
        return base + base / 8 * u64::from(byte & 7);
    }
    // The window is the content, of which the size follows the id of the dictionary.
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

/// Pairs of a `.u32` or `.u64` file are never taken for packed bytes: any byte may begin them.
fn packing_of(head: &[u8], spec: &InputSpec, format: Format) -> Packing {
    let file_name = spec.path.to_string_lossy();
    let binary = matches!(format, Format::U32 | Format::U64 | Format::AdjacencyU32);
    if binary && !spec.is_stdin() && strip_compression(&file_name).len() == file_name.len() {
        let told = Format::of_path(&spec.path);
        if told == Some(format) {
            return Packing::Plain;
        }
    }
    match head {
        [0x1f, 0x8b, 8, flags, ..] if flags & 0xe0 == 0 => Packing::Gzip,
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Packing::Zstd,
        [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Packing::Zstd,
        _ => Packing::Plain,
    }
}

/// Names what is no graph, before its bytes are called a broken line.
fn refuse_foreign(head: &[u8], name: &str, format: Format, packing: Packing) -> Result<()> {
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
        [b'P', b'A', b'R', b'1', ..] => refuse("is a Parquet file; say --format parquet"),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => refuse("is UTF-16 text; convert it to UTF-8"),
        _ => Ok(()),
    }
}

/// Bytes of all inputs on disk, where that can be known.
pub(super) fn total_bytes(inputs: &[InputSpec]) -> Option<u64> {
    let sizes = inputs.iter().map(|spec| {
        if spec.is_stdin() {
            return None;
        }
        std::fs::metadata(&spec.path).ok().filter(|meta| meta.is_file()).map(|meta| meta.len())
    });
    sizes.sum()
}

/// Whether an input is a regular file that is not packed.
pub(super) fn is_plain_file(spec: &InputSpec) -> bool {
    let Ok(format) = format_of(spec) else { return false };
    let Ok(file) = File::open(&spec.path) else { return false };
    let regular = file.metadata().is_ok_and(|meta| meta.is_file());
    let mut file = file;
    regular && peek(&mut file).is_ok_and(|head| packing_of(&head, spec, format) == Packing::Plain)
}
