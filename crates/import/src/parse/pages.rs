//! Reads pages of a Parquet column. A page that exceeds the remaining memory, by the size in its
//! header, is refused before it is read, and one whose values exceed it (`checked`) before these
//! are decoded.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use parquet::errors::Result;
use parquet::file::reader::{ChunkReader, Length};

/// Most bytes of the three fields at the start of a page header: kind, size, compressed size.
const SIZES_BYTES_MAX: usize = 3 * (1 + 5);
const DICTIONARY_PAGE: u64 = 2;

/// The pages of a column chunk, with their memory. Workers share the file, and read it at places of
/// their own.
pub(super) struct Pages {
    file: Arc<File>,
    bytes: u64,
    memory: Memory,
}

/// Memory of pages, shared by the readers of the pages and of the column.
#[derive(Clone)]
pub(super) struct Memory(Arc<Mutex<State>>);

struct State {
    limit: usize,
    /// Memory of the pages together with a refused one.
    refused: Option<usize>,
    /// Whether the values are strings, which mostly stay within their pages.
    are_texts: bool,
    dictionary: usize,
    last: usize,
    /// Bytes of earlier pages that hold values of the current rows.
    earlier: usize,
}

impl Pages {
    pub fn new(file: &Arc<File>, are_texts: bool) -> io::Result<Self> {
        let (limit, refused, dictionary, last, earlier) = (0, None, 0, 0, 0);
        let state = State { limit, refused, are_texts, dictionary, last, earlier };
        let (file, bytes) = (Arc::clone(file), file.metadata()?.len());
        Ok(Self { file, bytes, memory: Memory(Arc::new(Mutex::new(state))) })
    }

    pub fn memory(&self) -> Memory {
        self.memory.clone()
    }
}

impl Memory {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the next rows, whose pages may take `limit` bytes.
    pub fn begin(&self, limit: usize) {
        let mut state = self.state();
        (state.limit, state.earlier) = (limit, 0);
    }

    pub fn bytes(&self) -> usize {
        self.state().bytes()
    }

    pub fn refused(&self) -> Option<usize> {
        self.state().refused
    }
}

impl Memory {
    /// Counts memory of what the last page holds, which is about to be decoded.
    pub fn decode(&self, bytes: usize) -> io::Result<()> {
        let mut state = self.state();
        state.last = state.last.saturating_add(bytes);
        state.check(0, || "decoded values of a page".to_owned())
    }
}

impl State {
    fn bytes(&self) -> usize {
        self.dictionary.saturating_add(self.last).saturating_add(self.earlier)
    }

    fn add(&mut self, header: PageSizes) -> io::Result<()> {
        if header.kind == DICTIONARY_PAGE {
            // The decoded values take memory too: a string of four bytes 32 more.
            self.dictionary += header.unpacked * if self.are_texts { 9 } else { 2 };
        } else {
            self.earlier += if self.are_texts { self.last } else { 0 };
            self.last = header.unpacked;
        }
        self.check(header.packed, || format!("a page of {} bytes", header.unpacked))
    }

    fn check(&mut self, more: usize, what: impl FnOnce() -> String) -> io::Result<()> {
        let bytes = self.bytes().saturating_add(more);
        if bytes > self.limit {
            self.refused = Some(bytes);
            return Err(io::Error::other(what()));
        }
        Ok(())
    }
}

impl Length for Pages {
    fn len(&self) -> u64 {
        self.bytes
    }
}

impl ChunkReader for Pages {
    type T = HeaderReader;

    fn get_read(&self, start: u64) -> Result<HeaderReader> {
        let inner = BufReader::new(At { file: Arc::clone(&self.file), offset: start });
        Ok(HeaderReader { inner, seen: Vec::new(), memory: Some(self.memory.clone()) })
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        if start.checked_add(length as u64).is_none_or(|end| end > self.bytes) {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        let mut bytes = vec![0; length];
        self.file.read_exact_at(&mut bytes, start)?;
        Ok(bytes.into())
    }
}

/// Reads a file from a place on.
struct At {
    file: Arc<File>,
    offset: u64,
}

impl Read for At {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(buffer, self.offset)?;
        self.offset += read as u64;
        Ok(read)
    }
}

/// Reads the header of a page, and fails if the page is too large.
pub(super) struct HeaderReader {
    inner: BufReader<At>,
    seen: Vec<u8>,
    /// `Some` until the sizes of the page are known.
    memory: Option<Memory>,
}

impl Read for HeaderReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        if let Some(memory) = &self.memory {
            self.seen.extend_from_slice(&buffer[..read]);
            if let Some(sizes) = page_sizes(&self.seen) {
                memory.state().add(sizes)?;
                self.memory = None;
            } else if self.seen.len() >= SIZES_BYTES_MAX {
                return Err(io::Error::other("a page header without the sizes of its page"));
            }
        }
        Ok(read)
    }
}

struct PageSizes {
    kind: u64,
    unpacked: usize,
    packed: usize,
}

/// The first three fields of a page header, if it is long enough.
fn page_sizes(mut header: &[u8]) -> Option<PageSizes> {
    let [kind, unpacked, packed] = [field(&mut header)?, field(&mut header)?, field(&mut header)?];
    Some(PageSizes { kind, unpacked: unpacked as usize, packed: packed as usize })
}

/// Reads a field in Thrift's compact protocol: a byte for "the next field, an i32", and a zigzag
/// number, here a non-negative one.
fn field(header: &mut &[u8]) -> Option<u64> {
    let (0x15, rest) = header.split_first()? else { return None };
    *header = rest;
    Some(take_number(header)? >> 1)
}

/// A number of at most 32 bits in groups of seven, the lowest first; `None` if it is cut off or
/// longer.
pub(super) fn take_number(bytes: &mut &[u8]) -> Option<u64> {
    let end = bytes.iter().take(5).position(|&byte| byte & 0x80 == 0)? + 1;
    let (number, rest) = bytes.split_at(end);
    *bytes = rest;
    Some(number.iter().rev().fold(0, |sum, &byte| sum << 7 | u64::from(byte & 0x7f)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_known_once_three_fields_are_there() {
        let header = [0x15, 4, 0x15, 0x80, 0x80, 8, 0x15, 20, 0x2c];
        assert!((0..8).all(|end| page_sizes(&header[..end]).is_none()));
        let PageSizes { kind, unpacked, packed } = page_sizes(&header).expect("three fields");
        assert_eq!((kind, unpacked, packed), (DICTIONARY_PAGE, 1 << 16, 10));
        assert!(
            page_sizes(&[0x15, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0x15, 0, 0x15, 0]).is_none()
        );
    }
}
