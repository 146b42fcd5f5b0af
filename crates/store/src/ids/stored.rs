//! How stored ids are searched: bisection over pages, then inside of one.

use std::ops::Range;
use std::sync::Arc;

use cenote_device::Device;

use super::IdRef;
use super::cache::PageCache;
use super::strings::Records;
use crate::VertexId;
use crate::error::{PageError, PageFault, Result, StoreError};
use crate::format::{self, PageHeader};
use crate::graph;
use crate::stream::{Ahead, PageStream};
use crate::superblock::{Section, SectionKind, Superblock};

/// Takes a page of the section and says whether to go on.
type VisitPage<'a, E> = &'a mut dyn FnMut(u64, &[u8]) -> Result<bool, E>;

/// Ids that are read from the graph's file.
#[derive(Debug)]
pub struct StoredIds {
    device: Arc<dyn Device>,
    file: Arc<str>,
    section: Section,
    page_bytes: usize,
    salt: u64,
    cache: PageCache,
}

impl StoredIds {
    pub(super) fn new(
        device: &Arc<dyn Device>,
        file: &Arc<str>,
        superblock: &Superblock,
        kind: SectionKind,
    ) -> Self {
        Self {
            device: Arc::clone(device),
            file: Arc::clone(file),
            section: *superblock.section(kind).expect("the superblock was checked"),
            page_bytes: superblock.page_bytes as usize,
            salt: superblock.salt,
            cache: PageCache::default(),
        }
    }

    pub(super) fn file(&self) -> &Arc<str> {
        &self.file
    }

    pub(super) fn vertices(&self) -> u64 {
        self.section.items
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.cache.memory_bytes()
    }

    /// An error that names a page of the section.
    #[cold]
    fn fault(&self, page: u64, fault: PageFault) -> StoreError {
        PageError {
            file: self.file.to_string(),
            page: self.section.first_page + page,
            page_bytes: self.page_bytes as u64,
            section: self.section.kind.name(),
            fault,
        }
        .into()
    }

    fn verify(&self, page: u64, bytes: &[u8]) -> Result<()> {
        let (number, kind) = (self.section.first_page + page, self.section.kind.page_kind());
        format::verify(bytes, self.salt, number, kind)
            .map(drop)
            .map_err(|fault| self.fault(page, fault))
    }

    /// Passes a page of the section on, verified; from memory if it was read lately.
    fn with_page<T>(&self, page: u64, read: impl FnOnce(&[u8]) -> Result<T>) -> Result<T> {
        let number = self.section.first_page + page;
        let verify = |bytes: &[u8]| self.verify(page, bytes);
        self.cache.with(self.device.as_ref(), number, self.page_bytes, verify, read)
    }

    /// Passes the pages from `pages` on, verified, in order, until `visit` says no.
    fn stream<E: From<StoreError>>(
        &self,
        pages: Range<u64>,
        visit: VisitPage<'_, E>,
    ) -> Result<(), E> {
        let first = self.section.first_page;
        let pages = first + pages.start..first + pages.end;
        let mut stream = PageStream::new(&self.device, self.page_bytes, pages, Ahead::FAR)?;
        while let Some((number, bytes)) = stream.next()? {
            self.verify(number - first, bytes)?;
            if !visit(number - first, bytes)? {
                break;
            }
        }
        Ok(())
    }

    fn words_per_page(&self) -> u64 {
        format::words_per_page(self.page_bytes) as u64
    }

    /// The integers of a verified page.
    fn words<'a>(&self, page: u64, bytes: &'a [u8]) -> Result<&'a [u64]> {
        let rest = self.section.items - page * self.words_per_page();
        let header = PageHeader::read(bytes);
        graph::words(bytes, &header, rest).map_err(|fault| self.fault(page, fault))
    }

    pub(super) fn integer_of(&self, vertex: VertexId) -> Result<u64> {
        let page = u64::from(vertex) / self.words_per_page();
        let at = u64::from(vertex) % self.words_per_page();
        self.with_page(page, |bytes| Ok(self.words(page, bytes)?[at as usize]))
    }

    pub(super) fn vertex_of_integer(&self, id: u64) -> Result<Option<VertexId>> {
        let (mut low, mut high) = (0, self.section.pages);
        while low < high {
            let middle = low + (high - low) / 2;
            let first = self.with_page(middle, |bytes| Ok(self.words(middle, bytes)?[0]))?;
            if first <= id { low = middle + 1 } else { high = middle }
        }
        let Some(page) = low.checked_sub(1) else { return Ok(None) };
        let at = self.with_page(page, |bytes| Ok(self.words(page, bytes)?.binary_search(&id)))?;
        Ok(at.ok().map(|at| (page * self.words_per_page() + at as u64) as VertexId))
    }

    pub(super) fn for_each_integer<E: From<StoreError>>(
        &self,
        vertices: Range<VertexId>,
        visit: &mut dyn FnMut(VertexId, IdRef<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let words = self.words_per_page();
        let (start, end) = (u64::from(vertices.start), u64::from(vertices.end));
        self.stream(start / words..(end - 1) / words + 1, &mut |page, bytes| {
            for (vertex, id) in (page * words..).zip(self.words(page, bytes)?) {
                if (start..end).contains(&vertex) {
                    visit(vertex as VertexId, IdRef::Integer(*id))?;
                }
            }
            Ok(true)
        })
    }

    pub(super) fn string_of(&self, vertex: VertexId) -> Result<String> {
        let page = self.bisect(|first, _| first <= vertex)?.unwrap_or(0);
        let mut id = None;
        self.walk(page, &mut |found, string| {
            if found == vertex {
                id = Some(string.to_owned());
            }
            Ok(found < vertex)
        })?;
        let missing =
            || PageFault::Other(format!("the id of vertex {vertex} is not where it belongs"));
        id.ok_or_else(|| self.fault(page, missing()))
    }

    pub(super) fn vertex_of_string(&self, id: &str) -> Result<Option<VertexId>> {
        let Some(page) = self.bisect(|_, first| first <= id)? else { return Ok(None) };
        let mut vertex = None;
        self.walk(page, &mut |found, string| {
            if string == id {
                vertex = Some(found);
            }
            Ok(string < id)
        })?;
        Ok(vertex)
    }

    /// The last page whose first string is before the one that is looked for. A page inside of a
    /// long string starts none; the page that ends it speaks for it.
    fn bisect(&self, is_before: impl Fn(VertexId, &str) -> bool) -> Result<Option<u64>> {
        let (mut low, mut high, mut last) = (0, self.section.pages, None);
        while low < high {
            let middle = low + (high - low) / 2;
            let mut page = middle;
            while page < high && self.with_page(page, |b| Ok(PageHeader::read(b).entries == 0))? {
                page += 1;
            }
            let mut before = false;
            if page < high {
                self.walk(page, &mut |vertex, string| {
                    before = is_before(vertex, string);
                    Ok(false)
                })?;
            }
            if before { (low, last) = (page + 1, Some(page)) } else { high = middle }
        }
        Ok(last)
    }

    /// Passes on the strings that start in `page` or later, until `visit` says no.
    fn walk(&self, page: u64, visit: &mut dyn FnMut(VertexId, &str) -> Result<bool>) -> Result<()> {
        let mut records = Records::default();
        for page in page..self.section.pages {
            let go_on = self.with_page(page, |bytes| {
                records.page(bytes, visit).map_err(|fault| self.fault(page, fault))?
            })?;
            if !go_on {
                break;
            }
        }
        Ok(())
    }

    pub(super) fn for_each_string<E: From<StoreError>>(
        &self,
        vertices: Range<VertexId>,
        visit: &mut dyn FnMut(VertexId, IdRef<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let page = self.bisect(|first, _| first <= vertices.start)?.unwrap_or(0);
        let last = self.section.pages - 1;
        let mut records = Records::default();
        let mut next = vertices.start;
        self.stream(page..self.section.pages, &mut |page, bytes| {
            let told = records.page(bytes, &mut |vertex, string| {
                if vertex == next {
                    next += 1;
                    visit(vertex, IdRef::String(string))?;
                }
                Ok::<bool, E>(next < vertices.end)
            });
            told.map_err(|fault| self.fault(page, fault))?
        })?;
        if next < vertices.end || (records.is_open() && u64::from(next) == self.section.items) {
            let fault = PageFault::Other(format!("the ids end before vertex {}", vertices.end));
            return Err(self.fault(last, fault).into());
        }
        Ok(())
    }
}
