//! Copies inputs that can be read only once but may be needed twice, because ids of kind `auto` may
//! turn out to be strings late.
//!
//! The first pass copies the bytes of such an input to a spill file; the second pass reads the copy
//! and then the rest of the input.

use std::io::{self, Read};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cenote_device::{Buffer, Device, read_exact, write_all};

use crate::config::{IdKind, ImportConfig, Input};
use crate::error::{Result, full_disk};
use crate::input;
use crate::rows::RowReader;
use crate::workspace::Workspace;

const BLOCK_BYTES: usize = 256 << 10;

/// Bytes of memory for a copy and a second pass over it.
const MEMORY: usize = 2 * BLOCK_BYTES;

pub(super) struct Copies<'a>(Vec<Option<Copied<RowReader<'a>>>>);

impl<'a> Copies<'a> {
    /// Starts a copy of each input that can be read only once, if ids may turn out to be strings.
    pub fn new(
        inputs: &'a [Input<'_>],
        workspace: &dyn Workspace,
        config: &ImportConfig,
    ) -> Result<Self> {
        let may_turn = config.ids == IdKind::Auto && inputs.iter().any(Input::may_have_names);
        let copy = |input: &'a Input<'_>| {
            let stream = match input {
                _ if !may_turn || !input.is_read_once() => return Ok(None),
                Input::Edges(edges) => edges.open(config.weights)?,
                Input::Vertices(vertices) => vertices.rows().open(config.weights)?,
                Input::File(spec) => input::open_raw(spec)?,
            };
            Copied::new(stream, workspace.spill()?).map(Some)
        };
        inputs.iter().map(copy).collect::<Result<_>>().map(Self)
    }

    /// Bytes of memory of all copies.
    pub fn memory(&self) -> usize {
        self.0.iter().flatten().count() * MEMORY
    }
}

pub(super) trait OpenCopies: Sync {
    /// Opens an input, if it is copied, for the first or the second pass.
    fn open(&self, input: usize, again: bool) -> Result<Option<RowReader<'_>>>;
}

impl OpenCopies for Copies<'_> {
    fn open(&self, input: usize, again: bool) -> Result<Option<RowReader<'_>>> {
        let Some(copied) = &self.0[input] else { return Ok(None) };
        Ok(Some(if again { Box::new(copied.second()?) } else { Box::new(copied.first()) }))
    }
}

/// A stream, and a copy of the bytes read from it.
struct Copied<R>(Arc<Mutex<State<R>>>);

struct State<R> {
    stream: R,
    device: Arc<dyn Device>,
    tail: Option<Buffer>,
    tail_bytes: usize,
    device_bytes: u64,
}

impl<R: Read> Copied<R> {
    fn new(stream: R, device: Arc<dyn Device>) -> Result<Self> {
        let tail = Some(Buffer::new(BLOCK_BYTES)?);
        let state = State { stream, device, tail, tail_bytes: 0, device_bytes: 0 };
        Ok(Self(Arc::new(Mutex::new(state))))
    }

    /// A reader that copies what it reads.
    fn first(&self) -> First<R> {
        First(Self(Arc::clone(&self.0)))
    }

    /// A reader of the copy, followed by the rest of the stream.
    fn second(&self) -> Result<Second<R>> {
        let block = Some(Buffer::new(BLOCK_BYTES)?);
        Ok(Second { copied: Self(Arc::clone(&self.0)), block, at: 0 })
    }

    fn state(&self) -> MutexGuard<'_, State<R>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<R: Read> State<R> {
    fn copy(&mut self, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            let mut tail = self.tail.take().expect("the copy has not failed before");
            let room = &mut tail[self.tail_bytes..];
            let count = room.len().min(bytes.len());
            room[..count].copy_from_slice(&bytes[..count]);
            bytes = &bytes[count..];
            self.tail_bytes += count;
            if self.tail_bytes == BLOCK_BYTES {
                let offset = self.device_bytes;
                tail = write_all(self.device.as_ref(), offset, BLOCK_BYTES, tail).map_err(|e| {
                    full_disk(e, offset, offset * 2, "the copy of an input", "temp_dir")
                })?;
                self.device_bytes += BLOCK_BYTES as u64;
                self.tail_bytes = 0;
            }
            self.tail = Some(tail);
        }
        Ok(())
    }
}

struct First<R>(Copied<R>);

impl<R: Read> Read for First<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut state = self.0.state();
        let read = state.stream.read(buffer)?;
        state.copy(&buffer[..read]).map_err(io::Error::other)?;
        Ok(read)
    }
}

struct Second<R> {
    copied: Copied<R>,
    block: Option<Buffer>,
    at: u64,
}

impl<R: Read> Read for Second<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut state = self.copied.state();
        let within = (self.at % BLOCK_BYTES as u64) as usize;
        let count;
        if self.at < state.device_bytes {
            let mut block = self.block.take().ok_or_else(|| io::Error::other("read failed"))?;
            if within == 0 {
                block = read_exact(state.device.as_ref(), self.at, BLOCK_BYTES, block)
                    .map_err(io::Error::other)?;
            }
            count = buffer.len().min(BLOCK_BYTES - within);
            buffer[..count].copy_from_slice(&block[within..within + count]);
            self.block = Some(block);
        } else if let (Some(tail), true) =
            (&state.tail, self.at < state.device_bytes + state.tail_bytes as u64)
        {
            count = buffer.len().min(state.tail_bytes - within);
            buffer[..count].copy_from_slice(&tail[within..within + count]);
        } else {
            return state.stream.read(buffer);
        }
        self.at += count as u64;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use cenote_device::backend::file;

    use super::*;

    #[test]
    fn the_second_reading_gives_the_copy_and_then_the_rest() {
        let bytes: Vec<u8> =
            (0..3 * BLOCK_BYTES as u32 + 77).map(|i| ((i * 7) >> 3) as u8).collect();
        let ends = [0, 1, BLOCK_BYTES, BLOCK_BYTES + 1, 2 * BLOCK_BYTES - 1, bytes.len()];
        for first_end in ends {
            let spill = tempfile::tempfile().unwrap();
            let device = file::from_file(spill, "spill", &file::OpenOptions::default()).unwrap();
            let copied = Copied::new(io::Cursor::new(bytes.clone()), device).unwrap();
            let mut first = vec![0; first_end];
            copied.first().read_exact(&mut first).unwrap();
            let mut second = Vec::new();
            copied.second().unwrap().read_to_end(&mut second).unwrap();
            assert!(second == bytes, "after a first reading of {first_end} bytes");
        }
    }
}
