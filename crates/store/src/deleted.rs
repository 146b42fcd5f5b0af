//! Deleted vertices. Each keeps its number, with empty lists, until the graph is compacted.

use cenote_device::Device;

use crate::VertexId;
use crate::error::{PageFault, Result, at_most, equal, other, zero_behind};
use crate::format::{self, HEADER_BYTES, PageKind};
use crate::header::{self, PageHeader};
use crate::stream::{Ahead, PageStream};
use crate::table::SectionPages;

/// The numbers of deleted vertices, ascending: 4 bytes of memory each.
#[derive(Clone, Debug, Default)]
pub(crate) struct Deleted(Vec<VertexId>);

impl Deleted {
    /// Reads the section of a graph with so many vertices; none are deleted without one.
    pub fn load(
        device: &dyn Device,
        section: Option<&SectionPages>,
        vertices: u64,
    ) -> Result<Self> {
        let Some(pages) = section else { return Ok(Self::default()) };
        let range = pages.section.range();
        let mut stream =
            PageStream::new(device, &pages.table, pages.page_bytes, range, Ahead::NEAR)?;
        let mut all = Vec::new();
        while let Some((number, bytes)) = stream.next()? {
            let page = number - pages.section.first_page;
            let bad = |fault| pages.fault(page, fault);
            let identity = pages.identity(page);
            let header = header::verify(bytes, &identity, PageKind::Deleted).map_err(bad)?;
            let rest = pages.section.items - all.len() as u64;
            take(bytes, &header, rest, vertices, &mut all).map_err(bad)?;
        }
        Ok(Self(all))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn contains(&self, vertex: VertexId) -> bool {
        !self.0.is_empty() && self.0.binary_search(&vertex).is_ok()
    }

    pub fn all(&self) -> &[VertexId] {
        &self.0
    }

    pub fn memory_bytes(&self) -> usize {
        self.0.capacity() * size_of::<VertexId>()
    }
}

/// Appends the vertices of a verified page, in a section with `rest` of them from here on.
fn take(
    bytes: &[u8],
    header: &PageHeader,
    rest: u64,
    vertices: u64,
    all: &mut Vec<VertexId>,
) -> Result<(), PageFault> {
    let count = rest.min(format::entries_per_page(bytes.len()) as u64);
    equal("number of items", header.entries.into(), count)?;
    let (own, behind) = bytes[HEADER_BYTES..].split_at(count as usize * size_of::<VertexId>());
    let own: &[VertexId] = bytemuck::try_cast_slice(own).expect("pages lie in aligned buffers");
    let last = own.last().copied().map_or(0, u64::from);
    at_most("deleted vertex", last, vertices - 1)?;
    let first = own.first().copied().unwrap_or_default();
    equal("first item of a page", header.first.into(), first.into())?;
    let is_next = all.last().is_none_or(|before| *before < first);
    if !is_next || !own.is_sorted_by(|a, b| a < b) {
        return Err(other("deleted vertices do not ascend"));
    }
    let plain = PageHeader {
        checksum: header.checksum,
        epoch: header.epoch,
        first: header.first,
        entries: header.entries,
        ..PageHeader::new(PageKind::Deleted)
    };
    if *header != plain {
        return Err(other("fields of its header that should be zero are not"));
    }
    zero_behind("deleted vertex", behind)?;
    all.extend_from_slice(own);
    Ok(())
}
