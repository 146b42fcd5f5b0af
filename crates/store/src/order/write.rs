//! Writes the tables of an order.

use crate::VertexId;
use crate::error::Result;
use crate::format::{self, HEADER_BYTES, PageKind};
use crate::header::PageHeader;
use crate::sink::{PageSink, PageTarget};

pub(crate) fn write_table(sink: &mut PageSink, table: &[VertexId]) -> Result<u64> {
    let per_page = format::entries_per_page(sink.page_bytes());
    for (chunk, first) in table.chunks(per_page).zip((0u32..).step_by(per_page)) {
        let bytes: &[u8] = bytemuck::cast_slice(chunk);
        sink.page()[HEADER_BYTES..HEADER_BYTES + bytes.len()].copy_from_slice(bytes);
        let entries = chunk.len() as u32;
        sink.seal(PageHeader { first, entries, ..PageHeader::new(PageKind::Order) })?;
    }
    Ok(table.len().div_ceil(per_page) as u64)
}
