//! Trace files: every format is read, and broken ones give errors.

mod hostile;
mod real;
mod shapes;

use std::path::PathBuf;

use cenote_workload::page::PageOp;
use cenote_workload::page::trace::{Trace, TraceFormat};
use cenote_workload::{Result, WorkloadError};
use tempfile::TempDir;

/// A file with these bytes; it vanishes with the directory.
fn file(name: &str, bytes: impl AsRef<[u8]>) -> (TempDir, PathBuf) {
    let directory = TempDir::new().expect("a temporary directory");
    let path = directory.path().join(name);
    std::fs::write(&path, bytes).expect("written");
    (directory, path)
}

/// All accesses of a file, read with pages of 4 KiB.
fn read(name: &str, format: Option<TraceFormat>, bytes: impl AsRef<[u8]>) -> Result<Vec<PageOp>> {
    let (_directory, path) = file(name, bytes);
    Trace::open(&path, format, 4096)?.collect()
}

fn broken(name: &str, format: Option<TraceFormat>, bytes: impl AsRef<[u8]>) -> WorkloadError {
    match read(name, format, bytes) {
        Ok(ops) => panic!("{name} was read: {ops:?}"),
        Err(error) => error,
    }
}

fn reads(pages: impl IntoIterator<Item = u64>) -> Vec<PageOp> {
    pages.into_iter().map(PageOp::read).collect()
}

fn writes(pages: impl IntoIterator<Item = u64>) -> Vec<PageOp> {
    pages.into_iter().map(PageOp::write).collect()
}

/// A record of libCacheSim's oracleGeneral.
fn record(time: u32, object: u64, size: u32, next: i64) -> Vec<u8> {
    let mut record = time.to_le_bytes().to_vec();
    record.extend(object.to_le_bytes());
    record.extend(size.to_le_bytes());
    record.extend(next.to_le_bytes());
    record
}
