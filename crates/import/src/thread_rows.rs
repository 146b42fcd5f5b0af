//! Streams of rows that a thread of their own makes, for sources that call back.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};

use crate::error::ImportError;
use crate::rows::{STREAM_BYTES, STREAM_MEMORY};

/// Chunks of rows that wait for the reader.
const CHUNKS_AHEAD: usize = 1;

/// Bytes of memory of a stream: those chunks, the one that is made, and the one that is read.
pub(crate) const THREAD_ROWS_MEMORY: usize = (CHUNKS_AHEAD + 2) * STREAM_MEMORY;

/// A chunk of rows; none at the end.
type Chunk = io::Result<Option<Vec<u8>>>;

/// Collects rows and passes them on in chunks.
pub(crate) struct RowSender {
    rows: Vec<u8>,
    chunks: SyncSender<Chunk>,
}

impl RowSender {
    /// Appends a row by `put`. Fails if the reader is gone.
    #[inline]
    pub fn push(&mut self, put: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        put(&mut self.rows);
        if self.rows.len() < STREAM_BYTES { Ok(()) } else { self.send() }
    }

    fn send(&mut self) -> io::Result<()> {
        let next = Vec::with_capacity(self.rows.capacity());
        let chunk = Ok(Some(std::mem::replace(&mut self.rows, next)));
        self.chunks.send(chunk).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

/// The reading end. Dropping it ends the thread.
pub(crate) struct ThreadRows {
    chunks: Option<Receiver<Chunk>>,
    thread: Option<JoinHandle<()>>,
    chunk: Vec<u8>,
    at: usize,
    is_at_end: bool,
}

impl ThreadRows {
    /// Starts a thread on which `make` pushes rows until the end.
    pub fn start(
        make: impl FnOnce(&mut RowSender) -> io::Result<()> + Send + 'static,
    ) -> Result<Self, ImportError> {
        let (sender, receiver) = sync_channel(CHUNKS_AHEAD);
        let work = move || {
            let mut rows = RowSender { rows: Vec::new(), chunks: sender };
            let made = make(&mut rows).and_then(|()| rows.send());
            // The reader may be gone.
            let _ = rows.chunks.send(made.map(|()| None));
        };
        let thread = Builder::new().spawn(work).map_err(ImportError::Threads)?;
        let (chunks, thread) = (Some(receiver), Some(thread));
        Ok(Self { chunks, thread, chunk: Vec::new(), at: 0, is_at_end: false })
    }
}

impl Read for ThreadRows {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.at == self.chunk.len() && !self.is_at_end {
            let received = self.chunks.as_ref().and_then(|chunks| chunks.recv().ok());
            let chunk = received.ok_or_else(|| io::Error::other("the thread ended early"))??;
            self.is_at_end = chunk.is_none();
            (self.chunk, self.at) = (chunk.unwrap_or_default(), 0);
        }
        let count = buffer.len().min(self.chunk.len() - self.at);
        buffer[..count].copy_from_slice(&self.chunk[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

impl Drop for ThreadRows {
    fn drop(&mut self) {
        // Without a receiver its next chunk fails.
        drop(self.chunks.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has ended the stream with an error.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_in_order_and_errors_behind_them() {
        let make = |rows: &mut RowSender| {
            (0..100_000u32).try_for_each(|i| rows.push(|row| row.extend(i.to_le_bytes())))?;
            Err(io::Error::other("the end"))
        };
        let mut stream = ThreadRows::start(make).unwrap();
        let mut word = [0; 4];
        for i in 0..65_536u32 {
            stream.read_exact(&mut word).unwrap();
            assert_eq!(u32::from_le_bytes(word), i);
        }
        let error = stream.read_to_end(&mut Vec::new()).unwrap_err();
        assert_eq!(error.to_string(), "the end");
    }

    #[test]
    fn a_stream_that_is_dropped_ends_its_thread() {
        let make = |rows: &mut RowSender| loop {
            rows.push(|row| row.push(7))?;
        };
        let mut stream = ThreadRows::start(make).unwrap();
        stream.read_exact(&mut [0; 9]).unwrap();
        drop(stream);
    }

    #[test]
    fn a_thread_that_panics_is_no_end_of_the_rows() {
        let mut stream = ThreadRows::start(|_| panic!("on purpose")).unwrap();
        assert!(stream.read(&mut [0; 9]).is_err());
    }
}
