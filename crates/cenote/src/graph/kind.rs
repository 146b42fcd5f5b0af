//! Whether a file is a graph or a list of edges.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, FileTypeExt};
use std::path::Path;

use cenote_import::Format;
use cenote_store::format::{HEADER_BYTES, MAGIC, PAGE_BYTES_MAX, PAGE_BYTES_MIN};

use super::Graph;
use crate::tiers::members;

impl Graph {
    /// Whether a path is that of edges to be read ([`Components`](crate::Components)) and not of a
    /// graph to be opened, by its contents: a graph has a superblock in its first or second page,
    /// or is the map of tiers. A file without either is one of edges if its extension is that of a
    /// format of edges, or `has_format` says that the caller knows the format; else it counts as a
    /// graph, and opening it reports what is wrong. So do paths that do not exist, folders and
    /// drives. `-` and pipes are edges.
    pub fn is_edges(path: impl AsRef<Path>, has_format: bool) -> bool {
        let path = path.as_ref();
        if path.as_os_str() == "-" {
            return true;
        }
        let Ok(kind) = path.metadata().map(|metadata| metadata.file_type()) else { return false };
        if !kind.is_file() {
            return kind.is_fifo() || kind.is_char_device() || kind.is_socket();
        }
        let known = has_format || Format::of_path(path).is_some();
        known && !members::is_map(path) && !has_superblock(path).unwrap_or(true)
    }
}

/// Whether the first page of a file, or its second at any page size, starts as a superblock.
fn has_superblock(path: &Path) -> io::Result<bool> {
    let file = File::open(path)?;
    let sizes = std::iter::successors(Some(PAGE_BYTES_MIN), |bytes| Some(bytes * 2));
    let second = sizes.take_while(|bytes| *bytes <= PAGE_BYTES_MAX);
    for page in std::iter::once(0).chain(second) {
        let mut found = [0; MAGIC.len()];
        match file.read_exact_at(&mut found, (page + HEADER_BYTES) as u64) {
            Ok(()) if found == MAGIC => return Ok(true),
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break,
            Err(error) => return Err(error),
        }
    }
    Ok(false)
}
