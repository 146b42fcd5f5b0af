//! Writes the id sections.

use std::io;

use crate::VertexId;
use crate::degrees::put_varint;
use crate::error::{Result, StoreError};
use crate::format::{self, HEADER_BYTES, ID_BYTES_MAX, PageKind};
use crate::header::PageHeader;
use crate::sink::{PageSink, PageTarget};

/// Writes `vertices` integers, strictly ascending. Returns the number of pages.
pub(crate) fn write_integers(
    sink: &mut PageSink,
    vertices: u64,
    next: &mut dyn FnMut() -> io::Result<u64>,
) -> Result<u64> {
    let per_page = format::words_per_page(sink.page_bytes()) as u64;
    let mut last = None;
    for first in (0..vertices).step_by(per_page as usize) {
        let count = per_page.min(vertices - first);
        for i in 0..count as usize {
            let id = next().map_err(|source| StoreError::IdSource { source })?;
            if last.is_some_and(|last| last >= id) {
                let reason = format!("its ids do not ascend at {id}");
                return Err(StoreError::Unwritable { file: sink.file(), reason });
            }
            last = Some(id);
            sink.page()[HEADER_BYTES + i * 8..][..8].copy_from_slice(&id.to_le_bytes());
        }
        let (first, entries) = (first as VertexId, count as u32);
        sink.seal(PageHeader { first, entries, ..PageHeader::new(PageKind::Integers) })?;
    }
    Ok(vertices.div_ceil(per_page))
}

/// Writes `vertices` strings, strictly ascending by their bytes. Returns the number of pages.
pub(crate) fn write_strings(
    sink: &mut PageSink,
    vertices: u64,
    next: &mut dyn FnMut(&mut Vec<u8>) -> io::Result<()>,
) -> Result<u64> {
    let mut pages = StringPages::new(sink);
    let (mut last, mut id) = (Vec::new(), Vec::new());
    for vertex in 0..vertices {
        id.clear();
        next(&mut id).map_err(|source| StoreError::IdSource { source })?;
        check_string(&id, (vertex > 0).then_some(&last))
            .map_err(|reason| StoreError::Unwritable { file: pages.sink.file(), reason })?;
        pages.push(vertex as VertexId, &id, &last)?;
        std::mem::swap(&mut last, &mut id);
    }
    pages.finish(vertices as VertexId)
}

/// Writes the integer ids of vertices that came after the import, the first of which is `first`.
/// They need not ascend.
pub(crate) fn write_appended_integers(
    sink: &mut impl PageTarget,
    first: VertexId,
    ids: impl Iterator<Item = u64>,
) -> Result<()> {
    let per_page = format::words_per_page(sink.page_bytes());
    let (mut first, mut ids) = (first, ids.peekable());
    while ids.peek().is_some() {
        let mut entries = 0;
        for (at, id) in ids.by_ref().take(per_page).enumerate() {
            sink.page()[HEADER_BYTES + at * 8..][..8].copy_from_slice(&id.to_le_bytes());
            entries += 1;
        }
        sink.seal(PageHeader { first, entries, ..PageHeader::new(PageKind::Integers) })?;
        first += entries;
    }
    Ok(())
}

/// The same for strings.
pub(crate) fn write_appended_strings<'i>(
    sink: &mut impl PageTarget,
    first: VertexId,
    ids: impl Iterator<Item = &'i str>,
) -> Result<()> {
    let mut pages = StringPages::new(sink);
    let (mut vertex, mut last) = (first, "");
    for id in ids {
        pages.push(vertex, id.as_bytes(), last.as_bytes())?;
        (vertex, last) = (vertex + 1, id);
    }
    pages.finish(vertex)?;
    Ok(())
}

fn check_string(id: &[u8], last: Option<&Vec<u8>>) -> Result<(), String> {
    let text = || String::from_utf8_lossy(&id[..id.len().min(80)]).escape_debug().to_string();
    if id.len() > ID_BYTES_MAX {
        let len = id.len();
        return Err(format!(
            "the id \"{}\"... has {len} bytes, at most {ID_BYTES_MAX} are possible",
            text()
        ));
    }
    if std::str::from_utf8(id).is_err() {
        return Err(format!("the id \"{}\" is not UTF-8", text()));
    }
    if last.is_some_and(|last| last.as_slice() >= id) {
        return Err(format!("its ids do not ascend at \"{}\"", text()));
    }
    Ok(())
}

struct StringPages<'a, S> {
    sink: &'a mut S,
    payload_bytes: usize,
    used: usize,
    header: PageHeader,
    pages: u64,
    record: Vec<u8>,
}

impl<'a, S: PageTarget> StringPages<'a, S> {
    fn new(sink: &'a mut S) -> Self {
        let payload_bytes = format::payload_bytes(sink.page_bytes());
        let header = PageHeader::new(PageKind::Strings);
        Self { sink, payload_bytes, used: 0, header, pages: 0, record: Vec::new() }
    }

    fn push(&mut self, vertex: VertexId, id: &[u8], last: &[u8]) -> Result<()> {
        let shared = if self.header.entries == 0 { 0 } else { shared_bytes(id, last) };
        self.encode(id, shared);
        if self.used > 0 && self.used + self.record.len() > self.payload_bytes {
            self.close(vertex)?;
            self.encode(id, 0);
        }
        if self.header.entries == 0 {
            self.header.first = vertex;
        }
        self.header.entries += 1;
        self.place(vertex)
    }

    fn encode(&mut self, id: &[u8], shared: usize) {
        self.record.clear();
        put_varint(&mut self.record, shared as u64);
        put_varint(&mut self.record, (id.len() - shared) as u64);
        self.record.extend_from_slice(&id[shared..]);
    }

    /// Writes the record to the page, and what does not fit to further ones.
    fn place(&mut self, vertex: VertexId) -> Result<()> {
        let mut done = 0;
        loop {
            let now = (self.record.len() - done).min(self.payload_bytes - self.used);
            let at = HEADER_BYTES + self.used;
            self.sink.page()[at..at + now].copy_from_slice(&self.record[done..done + now]);
            self.used += now;
            done += now;
            if done == self.record.len() {
                return Ok(());
            }
            self.close(vertex + 1)?;
            self.header.head_skip = (self.record.len() - done).min(self.payload_bytes) as u64;
        }
    }

    /// Seals the page; `next` is the vertex of the next record.
    fn close(&mut self, next: VertexId) -> Result<()> {
        if self.header.entries == 0 {
            self.header.first = next;
        }
        let header = std::mem::replace(&mut self.header, PageHeader::new(PageKind::Strings));
        self.used = 0;
        self.pages += 1;
        self.sink.seal(header)
    }

    fn finish(mut self, next: VertexId) -> Result<u64> {
        if self.used > 0 {
            self.close(next)?;
        }
        Ok(self.pages)
    }
}

fn shared_bytes(id: &[u8], last: &[u8]) -> usize {
    id.iter().zip(last).take_while(|(a, b)| a == b).count()
}
