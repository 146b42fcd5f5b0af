//! Reads the tables of an order: single entries through the graph's pool, runs as a stream.

use std::ops::Range;
use std::sync::Arc;

use crate::VertexId;
use crate::error::{PageFault, Result, StoreError, at_most, equal};
use crate::format::{self, HEADER_BYTES};
use crate::header::PageHeader;
use crate::pages::Pages;
use crate::stream::{Ahead, PageStream};
use crate::superblock::{Section, SectionKind};

/// The tables of a graph whose vertices do not lie in the order of their ids.
#[derive(Debug)]
pub(crate) struct Ranks {
    pages: Arc<Pages>,
    vertex_of: Section,
    rank_of: Section,
}

impl Ranks {
    /// `None` where the order is natural.
    pub fn open(pages: &Arc<Pages>) -> Option<Self> {
        let section = |kind| pages.layout.superblock.section(kind).copied();
        let vertex_of = section(SectionKind::VertexOfRank)?;
        let rank_of = section(SectionKind::RankOfVertex)?;
        Some(Self { pages: Arc::clone(pages), vertex_of, rank_of })
    }

    pub fn vertex_of(&self, rank: VertexId) -> Result<VertexId> {
        self.entry(self.vertex_of, rank)
    }

    pub fn rank_of(&self, vertex: VertexId) -> Result<VertexId> {
        self.entry(self.rank_of, vertex)
    }

    /// Appends the ranks of vertices that ascend; each page is pinned once.
    pub fn ranks_of(&self, vertices: &[VertexId], out: &mut Vec<VertexId>) -> Result<()> {
        let per_page = format::entries_per_page(self.pages.page_bytes()) as u64;
        self.pages.by_page(self.rank_of, per_page, vertices, |page, bytes, run| {
            let ranks = self.entries(self.rank_of, page, bytes)?;
            out.extend(run.iter().map(|&vertex| ranks[(u64::from(vertex) % per_page) as usize]));
            Ok::<(), StoreError>(())
        })
    }

    fn entry(&self, section: Section, at: VertexId) -> Result<VertexId> {
        let per_page = format::entries_per_page(self.pages.page_bytes()) as u64;
        let (page, within) = (u64::from(at) / per_page, u64::from(at) % per_page);
        self.pages.with_handle(|handle| {
            let bytes = self.pages.pin(handle, section.first_page + page)?;
            Ok(self.entries(section, page, &bytes)?[within as usize])
        })
    }

    fn entries<'a>(&self, section: Section, page: u64, bytes: &'a [u8]) -> Result<&'a [VertexId]> {
        let header = PageHeader::read(bytes);
        entries(bytes, &header, page, section.items).map_err(|fault| {
            let page = section.first_page + page;
            self.pages.layout.fault(page, section.kind.name(), fault)
        })
    }

    /// Streams the vertices of a range of ranks.
    pub fn vertices(&self, ranks: Range<VertexId>, ahead: Ahead) -> Result<Run<'_>> {
        self.run(self.vertex_of, ranks, ahead)
    }

    /// Reads the ranks of all vertices into memory.
    pub fn load(&self) -> Result<Vec<VertexId>> {
        let mut table = vec![0; self.rank_of.items as usize];
        self.copy_ranks(&mut table)?;
        Ok(table)
    }

    /// Copies the ranks of all vertices; `to` has room for just as many.
    pub fn copy_ranks(&self, to: &mut [VertexId]) -> Result<()> {
        let mut run = self.run(self.rank_of, 0..self.rank_of.items as VertexId, Ahead::FAR)?;
        let mut copied = 0;
        while copied < to.len() {
            let part = run.next_part()?;
            to[copied..][..part.len()].copy_from_slice(part);
            copied += part.len();
        }
        Ok(())
    }

    fn run(&self, section: Section, entries: Range<VertexId>, ahead: Ahead) -> Result<Run<'_>> {
        let per_page = format::entries_per_page(self.pages.page_bytes()) as u64;
        let (start, end) = (u64::from(entries.start), u64::from(entries.end));
        let first = section.first_page;
        let pages = first + start / per_page..first + end.div_ceil(per_page);
        let stream = self.pages.stream(pages, ahead)?;
        let skip = (start % per_page) as usize;
        Ok(Run { ranks: self, section, stream, batch: Vec::new(), at: skip })
    }
}

pub(crate) struct Run<'a> {
    ranks: &'a Ranks,
    section: Section,
    stream: PageStream,
    batch: Vec<VertexId>,
    at: usize,
}

impl Run<'_> {
    /// The next entry. An error after the last.
    pub fn next(&mut self) -> Result<VertexId> {
        if self.batch.is_empty() || self.at == self.batch.len() {
            self.next_page()?;
        }
        self.at += 1;
        Ok(self.batch[self.at - 1])
    }

    /// The entries up to the end of the page. An error after the last.
    pub fn next_part(&mut self) -> Result<&[VertexId]> {
        if self.batch.is_empty() || self.at == self.batch.len() {
            self.next_page()?;
        }
        let from = std::mem::replace(&mut self.at, self.batch.len());
        Ok(&self.batch[from..])
    }

    fn next_page(&mut self) -> Result<()> {
        let (section, layout) = (self.section, &self.ranks.pages.layout);
        let Some((number, bytes)) = self.stream.next()? else {
            let (file, vertex) = (layout.file.to_string(), section.items);
            return Err(StoreError::NoVertex { file, vertex, vertices: section.items });
        };
        layout.verify(section, number, bytes)?;
        let entries = self.ranks.entries(section, number - section.first_page, bytes)?;
        if !self.batch.is_empty() {
            self.at = 0;
        }
        self.batch.clear();
        self.batch.extend_from_slice(entries);
        Ok(())
    }
}

/// The entries of page `page` of a table of `items`, whose checksum is right.
pub(crate) fn entries<'a>(
    bytes: &'a [u8],
    header: &PageHeader,
    page: u64,
    items: u64,
) -> Result<&'a [VertexId], PageFault> {
    let per_page = format::entries_per_page(bytes.len()) as u64;
    let first = page * per_page;
    let count = (items - first).min(per_page);
    equal("number of items", u64::from(header.entries), count)?;
    equal("first item of a page", u64::from(header.first), first)?;
    let payload = &bytes[HEADER_BYTES..][..count as usize * 4];
    let entries: &[VertexId] =
        bytemuck::try_cast_slice(payload).expect("pages lie in aligned buffers");
    let largest = entries.iter().copied().max().map_or(0, u64::from);
    at_most("entry", largest, items.saturating_sub(1))?;
    Ok(entries)
}
