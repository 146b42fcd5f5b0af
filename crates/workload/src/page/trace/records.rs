//! libCacheSim's `oracleGeneral`: little-endian records of 24 bytes, without a header.
//!
//! | bytes | what |
//! |---|---|
//! | 0..4 | time in seconds, u32 |
//! | 4..12 | object, u64: here the page |
//! | 12..16 | size of the object in bytes, u32; not used: an object is a page |
//! | 16..24 | next request of the object, i64: its number, or negative for never |

use std::path::{Path, PathBuf};

use super::Request;
use super::source::{Bytes, read_full};
use crate::error::{Result, WorkloadError, unreadable};

const RECORD_BYTES: usize = 24;

/// Exceeds the number of requests of any trace: 2^48 records are 6 PiB.
const NEXT_END: i64 = 1 << 48;

pub(super) struct Records {
    path: PathBuf,
    bytes: Bytes,
    number: u64,
}

impl Records {
    pub(super) fn new(path: &Path, bytes: Bytes) -> Self {
        Self { path: path.to_path_buf(), bytes, number: 0 }
    }

    pub(super) fn request(&mut self) -> Result<Option<Request>> {
        let mut record = [0u8; RECORD_BYTES];
        let read = read_full(&mut self.bytes, &mut record);
        let read = read.map_err(|source| unreadable(&self.path, self.number, source))?;
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        if read < RECORD_BYTES {
            let found = format!("{read} bytes at the end of the file");
            return Err(self.broken(found, format!("records of {RECORD_BYTES} bytes")));
        }
        let mut page = [0u8; 8];
        page.copy_from_slice(&record[4..12]);
        let mut next = [0u8; 8];
        next.copy_from_slice(&record[16..24]);
        self.check_next(i64::from_le_bytes(next))?;
        match Request::page(u64::from_le_bytes(page), false) {
            Some(request) => Ok(Some(request)),
            None => Err(self.broken("object 2^64 - 1".into(), "objects up to 2^64 - 2")),
        }
    }

    /// Checks the one field that has impossible values, so that a file of another format or with
    /// lost bytes fails within a few records. Writers differ in whether the number counts from the
    /// file's start or from this record.
    fn check_next(&self, next: i64) -> Result<()> {
        if (-2..NEXT_END).contains(&next) || next == i64::MAX {
            return Ok(());
        }
        Err(self.broken(
            format!("the object's next request is number {next}"),
            format!("-1 for never or a number below {NEXT_END}; is it an oracleGeneral file?"),
        ))
    }

    fn broken(&self, found: String, expected: impl Into<String>) -> WorkloadError {
        WorkloadError::Trace {
            path: self.path.clone(),
            unit: "record",
            number: self.number,
            found,
            expected: expected.into(),
        }
    }
}
