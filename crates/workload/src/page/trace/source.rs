//! Decompresses trace files and splits them into lines.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;

use crate::error::{Result, WorkloadError, unreadable};

/// Bytes of the longest line. No format has such lines, and a file without line ends must not fill
/// the memory.
const LINE_BYTES_MAX: u64 = 1 << 16;

/// Binary logarithm of the largest zstd window: 128 MiB, that of `zstd --long`.
const ZSTD_WINDOW_LOG_MAX: u32 = 27;

/// Characters of a broken line in an error.
const EXCERPT_CHARS: usize = 60;

pub(super) type Bytes = Box<dyn BufRead + Send>;

/// Opens a file, decompressed if its name ends in `.zst` or `.gz`. Also returns the name without
/// that extension. An empty file is an empty stream in every case.
pub(super) fn open(path: &Path) -> Result<(Bytes, PathBuf)> {
    let fail = |source| unreadable(path, 0, source);
    let mut file = BufReader::with_capacity(1 << 16, File::open(path).map_err(fail)?);
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let inner = path.with_extension("");
    if file.fill_buf().map_err(fail)?.is_empty() {
        let packed = matches!(ending, "zst" | "zstd" | "gz");
        return Ok((Box::new(file), if packed { inner } else { path.to_path_buf() }));
    }
    match ending {
        "zst" | "zstd" => {
            let mut decoder = zstd::Decoder::with_buffer(file).map_err(fail)?;
            decoder.window_log_max(ZSTD_WINDOW_LOG_MAX).map_err(fail)?;
            Ok((Box::new(BufReader::with_capacity(1 << 16, decoder)), inner))
        }
        "gz" => {
            let decoder = MultiGzDecoder::new(file);
            Ok((Box::new(BufReader::with_capacity(1 << 16, decoder)), inner))
        }
        _ => Ok((Box::new(file), path.to_path_buf())),
    }
}

/// Numbered lines of text, without blank ones and `#` comments.
pub(super) struct Lines {
    path: PathBuf,
    bytes: Bytes,
    buffer: Vec<u8>,
    number: u64,
    /// Whether [`Lines::next`] has yet to return the line in `buffer`.
    held: bool,
}

impl Lines {
    pub(super) fn new(path: &Path, bytes: Bytes) -> Self {
        Self { path: path.to_path_buf(), bytes, buffer: Vec::new(), number: 0, held: false }
    }

    /// The next line with content, trimmed; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<&str>> {
        if !std::mem::take(&mut self.held) && !self.advance()? {
            return Ok(None);
        }
        Ok(Some(self.line()))
    }

    /// The line that [`Lines::next`] will return.
    pub(super) fn peek(&mut self) -> Result<Option<&str>> {
        self.held = self.held || self.advance()?;
        Ok(self.held.then(|| self.line()))
    }

    /// An error about the last line.
    pub(super) fn broken(&self, expected: impl Into<String>) -> WorkloadError {
        let line = String::from_utf8_lossy(&self.buffer);
        let line = line.trim();
        let mut found: String = line.chars().take(EXCERPT_CHARS).collect();
        if found.len() < line.len() {
            found.push_str("...");
        }
        self.error(format!("{found:?}"), expected)
    }

    fn error(&self, found: String, expected: impl Into<String>) -> WorkloadError {
        WorkloadError::Trace {
            path: self.path.clone(),
            unit: "line",
            number: self.number,
            found,
            expected: expected.into(),
        }
    }

    /// Reads the next line with content. False at the end of the file.
    fn advance(&mut self) -> Result<bool> {
        loop {
            self.buffer.clear();
            let mut limited = (&mut self.bytes).take(LINE_BYTES_MAX);
            let read = limited.read_until(b'\n', &mut self.buffer);
            if read.map_err(|source| unreadable(&self.path, self.number, source))? == 0 {
                return Ok(false);
            }
            self.number += 1;
            let whole = self.buffer.last() == Some(&b'\n');
            if !whole && self.buffer.len() as u64 == LINE_BYTES_MAX {
                let found = format!("a line of {LINE_BYTES_MAX} bytes or more");
                return Err(self.error(found, "lines of text"));
            }
            if str::from_utf8(&self.buffer).is_err() {
                return Err(self.error("bytes that are not UTF-8".into(), "lines of text"));
            }
            if !matches!(self.line().bytes().next(), None | Some(b'#')) {
                return Ok(true);
            }
        }
    }

    fn line(&self) -> &str {
        // It was checked when it was read. The first line may start with a byte order mark.
        let line = str::from_utf8(&self.buffer).unwrap_or_default();
        line.trim_start_matches('\u{feff}').trim()
    }
}

/// Fills `buffer` as far as the stream goes. Returns the number of bytes read.
pub(super) fn read_full(bytes: &mut Bytes, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match bytes.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
