//! Pages of values: parses, fills and searches them.

use cenote_pool::Handle;

use super::value::{Value, ValueType};
use crate::VertexId;
use crate::error::{PageFault, Result, at_most, equal, other, zero_behind};
use crate::format::{self, HEADER_BYTES, PageKind};
use crate::header::PageHeader;
use crate::pages::Pages;
use crate::stream::Ahead;
use crate::superblock::{Section, SectionKind};

/// Bytes of a value and its vertex.
const ITEM_BYTES: usize = size_of::<u64>() + size_of::<VertexId>();

/// Values that a page holds.
pub(crate) const fn per_page(page_bytes: usize) -> usize {
    format::payload_bytes(page_bytes) / ITEM_BYTES
}

/// The values of a verified page.
pub(crate) struct ValuePage<'a> {
    pub vertices: &'a [VertexId],
    bits: &'a [u64],
    kind: ValueType,
}

impl<'a> ValuePage<'a> {
    /// The page of a graph with so many vertices, whose checksum is right.
    pub fn parse(bytes: &'a [u8], kind: ValueType, vertices: u64) -> Result<Self, PageFault> {
        let header = PageHeader::read(bytes);
        let entries = header.entries as usize;
        at_most("values of a page", entries as u64, per_page(bytes.len()) as u64)?;
        let (values, rest) = bytes[HEADER_BYTES..].split_at(entries * size_of::<u64>());
        let (own, behind) = rest.split_at(entries * size_of::<VertexId>());
        let values: &[u64] =
            bytemuck::try_cast_slice(values).expect("pages lie in aligned buffers");
        let own: &[VertexId] = bytemuck::try_cast_slice(own).expect("pages lie in aligned buffers");
        let (Some(first), Some(last)) = (own.first(), own.last()) else {
            return Err(other("a page of values has none"));
        };
        equal("first vertex of a page", header.first.into(), u64::from(*first))?;
        at_most("vertex of a value", u64::from(*last) + 1, vertices)?;
        if !own.is_sorted_by(|a, b| a < b) {
            return Err(other("the vertices of values do not ascend"));
        }
        if values.iter().any(|bits| kind.value(*bits).is_none()) {
            return Err(other(format!("a value is none of type {}", kind.name())));
        }
        let plain = PageHeader {
            checksum: header.checksum,
            epoch: header.epoch,
            first: header.first,
            entries: header.entries,
            ..PageHeader::new(PageKind::Values)
        };
        if header != plain {
            return Err(other("fields of its header that should be zero are not"));
        }
        zero_behind("value", behind)?;
        Ok(Self { vertices: own, bits: values, kind })
    }

    /// Its vertices and the bits of their values.
    pub fn items(&self) -> impl Iterator<Item = (VertexId, u64)> {
        self.vertices.iter().copied().zip(self.bits.iter().copied())
    }

    /// Its vertices and values.
    pub fn values(&self) -> impl Iterator<Item = (VertexId, Value)> {
        let value = |bits| self.kind.value(bits).expect("it was checked");
        self.items().map(move |(vertex, bits)| (vertex, value(bits)))
    }
}

/// Fills a zeroed page with values, and returns its header.
pub(crate) fn fill(page: &mut [u8], items: &[(VertexId, u64)]) -> PageHeader {
    assert!(!items.is_empty() && items.len() <= per_page(page.len()), "they fit the page");
    let vertices_at = HEADER_BYTES + items.len() * size_of::<u64>();
    for (i, (vertex, bits)) in items.iter().enumerate() {
        page[HEADER_BYTES + 8 * i..][..8].copy_from_slice(&bits.to_le_bytes());
        page[vertices_at + 4 * i..][..4].copy_from_slice(&vertex.to_le_bytes());
    }
    let (first, entries) = (items[0].0, items.len() as u32);
    PageHeader { first, entries, ..PageHeader::new(PageKind::Values) }
}

/// The values of a graph that has some.
pub(crate) struct StoredValues<'g> {
    pages: &'g Pages,
    section: Section,
    kind: ValueType,
    handle: Handle,
}

impl<'g> StoredValues<'g> {
    /// `None` where no vertex has a value.
    pub fn open(pages: &'g Pages) -> Result<Option<Self>> {
        let superblock = &pages.layout.committed;
        let section = superblock.section(SectionKind::VertexValues).copied();
        let (Some(section), Some(kind)) = (section, superblock.value_type) else { return Ok(None) };
        Ok(Some(Self { pages, section, kind, handle: pages.handle()? }))
    }

    pub fn section(&self) -> Section {
        self.section
    }

    /// Calls `read` with a page of the section.
    pub fn with_page<T>(&self, page: u64, read: impl FnOnce(ValuePage<'_>) -> T) -> Result<T> {
        let number = self.section.first_page + page;
        let bytes = self.pages.pin(&self.handle, number)?;
        let layout = &self.pages.layout;
        let view = ValuePage::parse(&bytes, self.kind, layout.committed.vertices);
        Ok(read(view.map_err(|fault| layout.fault(number, self.section.kind.name(), fault))?))
    }

    /// The last page that begins with a vertex that is not greater, else the first one.
    pub fn page_of(&self, vertex: VertexId) -> Result<u64> {
        let (mut low, mut high) = (1, self.section.pages);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.with_page(middle, |page| page.vertices[0])? <= vertex {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        Ok(low - 1)
    }

    /// The value of a vertex.
    pub fn get(&self, vertex: VertexId) -> Result<Option<Value>> {
        let page = self.page_of(vertex)?;
        self.with_page(page, |page| page.values().find(|(of, _)| *of == vertex).map(|(_, v)| v))
    }

    /// Calls `visit` with all values, by ascending vertex.
    pub fn for_each(&self, visit: &mut dyn FnMut(VertexId, Value) -> Result<()>) -> Result<()> {
        let layout = &self.pages.layout;
        let (vertices, mut last) = (layout.committed.vertices, None);
        let mut stream = self.pages.stream(self.section.range(), Ahead::FAR)?;
        while let Some((number, bytes)) = stream.next()? {
            layout.verify(self.section, number, bytes)?;
            let bad = |fault| layout.fault(number, self.section.kind.name(), fault);
            let page = ValuePage::parse(bytes, self.kind, vertices).map_err(bad)?;
            if last.is_some_and(|last| last >= page.vertices[0]) {
                return Err(bad(other("the vertices of values do not ascend")));
            }
            last = page.vertices.last().copied();
            page.values().try_for_each(|(vertex, value)| visit(vertex, value))?;
        }
        Ok(())
    }
}
