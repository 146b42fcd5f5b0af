//! Searches stored ids: bisection over pages, then within one page.

use std::ops::Range;
use std::sync::Arc;

use cenote_pool::Handle;

use super::IdRef;
use super::strings::{Name, Records, find_in, first_of};
use crate::VertexId;
use crate::error::{PageFault, Result, StoreError, other};
use crate::format;
use crate::header::PageHeader;
use crate::pages::Pages;
use crate::stream::Ahead;
use crate::superblock::{Section, SectionKind};
use crate::words::words;

/// Visits a page of the section and returns whether to continue.
type VisitPage<'a, E> = &'a mut dyn FnMut(u64, &[u8]) -> Result<bool, E>;

/// A string at most this many places after another is reached by scanning, not by a search.
const STRINGS_NEAR: VertexId = 512;

/// Ids that are read from the graph's file.
#[derive(Debug)]
pub struct StoredIds {
    pages: Arc<Pages>,
    section: Section,
}

impl StoredIds {
    pub(super) fn new(pages: &Arc<Pages>, kind: SectionKind) -> Self {
        let section = pages.layout.superblock.section(kind);
        let section = *section.expect("the superblock was checked");
        Self { pages: Arc::clone(pages), section }
    }

    pub(super) fn kind(&self) -> SectionKind {
        self.section.kind
    }

    pub(super) fn count(&self) -> u64 {
        self.section.items
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.pages.memory_bytes()
    }

    #[cold]
    pub(super) fn fault(&self, page: u64, fault: PageFault) -> StoreError {
        let (page, name) = (self.section.first_page + page, self.section.kind.name());
        self.pages.layout.fault(page, name, fault)
    }

    /// Pins a page of the section and calls `read` with it.
    fn with_page<T>(
        &self,
        handle: &Handle,
        page: u64,
        read: impl FnOnce(&[u8]) -> Result<T>,
    ) -> Result<T> {
        read(&self.pages.pin(handle, self.section.first_page + page)?)
    }

    /// Streams verified `pages` of the section in order until `visit` returns false.
    fn stream<E: From<StoreError>>(
        &self,
        pages: Range<u64>,
        visit: VisitPage<'_, E>,
    ) -> Result<(), E> {
        let first = self.section.first_page;
        let pages = first + pages.start..first + pages.end;
        let mut stream = self.pages.stream(pages, Ahead::FAR)?;
        while let Some((number, bytes)) = stream.next()? {
            self.pages.layout.verify(self.section, number, bytes)?;
            if !visit(number - first, bytes)? {
                break;
            }
        }
        Ok(())
    }

    fn words_per_page(&self) -> u64 {
        format::words_per_page(self.pages.page_bytes()) as u64
    }

    /// The integers of a verified page.
    fn words<'a>(&self, page: u64, bytes: &'a [u8]) -> Result<&'a [u64]> {
        let rest = self.section.items - page * self.words_per_page();
        let header = PageHeader::read(bytes);
        words(bytes, &header, rest).map_err(|fault| self.fault(page, fault))
    }

    pub(super) fn integer_of(&self, vertex: VertexId) -> Result<u64> {
        let page = u64::from(vertex) / self.words_per_page();
        let at = u64::from(vertex) % self.words_per_page();
        self.pages.with_handle(|handle| {
            self.with_page(handle, page, |bytes| Ok(self.words(page, bytes)?[at as usize]))
        })
    }

    /// Calls `visit` with the integers of `ranks`, which ascend; each page is pinned once.
    pub(super) fn integers_of<E: From<StoreError>>(
        &self,
        ranks: &[VertexId],
        visit: &mut dyn FnMut(IdRef<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let words = self.words_per_page();
        self.pages.by_page(self.section, words, ranks, |page, bytes, run| {
            let integers = self.words(page, bytes)?;
            let integer = |rank: &VertexId| integers[(u64::from(*rank) % words) as usize];
            run.iter().try_for_each(|rank| visit(IdRef::Integer(integer(rank))))
        })
    }

    /// Calls `visit` with the strings of `ranks`, which ascend. Scans to a string that is near the
    /// previous one, and searches for others.
    pub(super) fn strings_of<E: From<StoreError>>(
        &self,
        ranks: &[VertexId],
        visit: &mut dyn FnMut(IdRef<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.pages.with_handle(|handle| self.strings_from(handle, ranks, visit))
    }

    fn strings_from<E: From<StoreError>>(
        &self,
        handle: &Handle,
        ranks: &[VertexId],
        visit: &mut dyn FnMut(IdRef<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut rest = ranks;
        while let Some(&first) = rest.first() {
            let page = self.bisect(handle, |start| start.vertex <= first)?.unwrap_or(0);
            let (mut visited, mut failed) = (0, None);
            self.walk(handle, page, &mut |name| {
                let found = name.vertex;
                while failed.is_none() && rest.get(visited) == Some(&found) {
                    failed = visit(IdRef::String(name.text()?)).err();
                    visited += 1;
                }
                let is_near = |next: VertexId| visited == 0 || next - found < STRINGS_NEAR;
                let next = rest.get(visited).copied().filter(|&next| next >= found);
                Ok(failed.is_none() && next.is_some_and(is_near))
            })?;
            if let Some(error) = failed {
                return Err(error);
            }
            if visited == 0 {
                let missing = format!("the id of vertex {first} is not where it belongs");
                return Err(self.fault(page, other(missing)).into());
            }
            rest = &rest[visited..];
        }
        Ok(())
    }

    /// The rank of an integer, or the number of smaller ones as the error.
    pub(super) fn search_integer(&self, id: u64) -> Result<Result<VertexId, VertexId>> {
        self.pages.with_handle(|handle| self.integer_at(handle, id))
    }

    fn integer_at(&self, handle: &Handle, id: u64) -> Result<Result<VertexId, VertexId>> {
        let (mut low, mut high) = (0, self.section.pages);
        while low < high {
            let middle = low + (high - low) / 2;
            let words = |bytes: &[u8]| Ok(self.words(middle, bytes)?[0]);
            let first = self.with_page(handle, middle, words)?;
            if first <= id { low = middle + 1 } else { high = middle }
        }
        let Some(page) = low.checked_sub(1) else { return Ok(Err(0)) };
        let search = |bytes: &[u8]| Ok(self.words(page, bytes)?.binary_search(&id));
        let rank = |at: usize| (page * self.words_per_page() + at as u64) as VertexId;
        Ok(self.with_page(handle, page, search)?.map(rank).map_err(rank))
    }

    /// [`StoredIds::search_integer`] of integers that ascend: the searches go on side by side, so
    /// that the pages of each step are read together, and each page once.
    pub(super) fn search_integers(&self, ids: &[u64]) -> Result<Vec<Result<VertexId, VertexId>>> {
        // The first page that begins with a larger integer is one of `low..=high`.
        let mut bounds = vec![(0, self.section.pages); ids.len()];
        let mut places = vec![Err(0); ids.len()];
        self.pages.with_handle(|handle| {
            let mut open: Vec<(usize, u64)> = Vec::new();
            while {
                let middle = |(low, high): (u64, u64)| (low < high).then(|| (low + high) / 2);
                let middles = bounds.iter().enumerate();
                open.clear();
                open.extend(middles.filter_map(|(id, bound)| Some((id, middle(*bound)?))));
                !open.is_empty()
            } {
                self.load_each(handle, &open, |middle, bytes, searches| {
                    let first = self.words(middle, bytes)?[0];
                    for &(id, _) in searches {
                        let (low, high) = &mut bounds[id];
                        if first <= ids[id] { *low = middle + 1 } else { *high = middle }
                    }
                    Ok(())
                })?;
            }
            let page_of = |(id, (low, _)): (usize, &(u64, u64))| Some((id, low.checked_sub(1)?));
            open.extend(bounds.iter().enumerate().filter_map(page_of));
            self.load_each(handle, &open, |page, bytes, searches| {
                let words = self.words(page, bytes)?;
                let rank = |at: usize| (page * self.words_per_page() + at as u64) as VertexId;
                for &(id, _) in searches {
                    places[id] = words.binary_search(&ids[id]).map(rank).map_err(rank);
                }
                Ok(())
            })
        })?;
        Ok(places)
    }

    /// Reads the pages of searches, which are next to each other if they need the same one, and
    /// calls `visit` with each and its searches, as it arrives.
    fn load_each(
        &self,
        handle: &Handle,
        searches: &[(usize, u64)],
        mut visit: impl FnMut(u64, &[u8], &[(usize, u64)]) -> Result<()>,
    ) -> Result<()> {
        let of_pages: Vec<&[(usize, u64)]> = searches.chunk_by(|a, b| a.1 == b.1).collect();
        let physical = |page| self.pages.layout.table.physical(self.section.first_page + page);
        let pages = of_pages.iter().zip(0..).map(|(of_page, at)| (physical(of_page[0].1), at));
        Pages::load_each(handle, pages, |at, bytes| {
            let of_page = of_pages[at as usize];
            visit(of_page[0].1, bytes, of_page)
        })
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
        self.pages.with_handle(|handle| {
            let page = self.bisect(handle, |first| first.vertex <= vertex)?.unwrap_or(0);
            let mut id = None;
            self.walk(handle, page, &mut |name| {
                if name.vertex == vertex {
                    id = Some(name.text()?.to_owned());
                }
                Ok(name.vertex < vertex)
            })?;
            let missing = || other(format!("the id of vertex {vertex} is not where it belongs"));
            id.ok_or_else(|| self.fault(page, missing()))
        })
    }

    /// The rank of a string, or the number of smaller ones as the error.
    pub(super) fn search_string(&self, id: &str) -> Result<Result<VertexId, VertexId>> {
        self.pages.with_handle(|handle| {
            let id = id.as_bytes();
            let Some(page) = self.bisect(handle, |first| first.bytes <= id)? else {
                return Ok(Err(0));
            };
            let find = |bytes: &[u8]| find_in(bytes, id).map_err(|fault| self.fault(page, fault));
            if let Some(found) = self.with_page(handle, page, find)? {
                return Ok(found);
            }
            // One of them ends in another page.
            let mut found = Err(self.section.items as VertexId);
            self.walk(handle, page, &mut |Name { vertex: rank, bytes }| {
                if bytes >= id {
                    found = if bytes == id { Ok(rank) } else { Err(rank) };
                }
                Ok(bytes < id)
            })?;
            Ok(found)
        })
    }

    /// The last page whose first string satisfies `is_before`. A page inside a long string starts
    /// none; the next page that starts one is tested instead.
    fn bisect(&self, handle: &Handle, is_before: impl Fn(Name<'_>) -> bool) -> Result<Option<u64>> {
        let starts_none = |bytes: &[u8]| Ok(PageHeader::read(bytes).entries == 0);
        let (mut low, mut high, mut last) = (0, self.section.pages, None);
        while low < high {
            let middle = low + (high - low) / 2;
            let mut page = middle;
            while page < high && self.with_page(handle, page, starts_none)? {
                page += 1;
            }
            let mut before = false;
            if page < high {
                let first = |bytes: &[u8]| match first_of(bytes) {
                    Ok(first) => Ok(first.map(&is_before)),
                    Err(fault) => Err(self.fault(page, fault)),
                };
                match self.with_page(handle, page, first)? {
                    Some(is_before) => before = is_before,
                    // It ends in another page.
                    None => self.walk(handle, page, &mut |first| {
                        before = is_before(first);
                        Ok(false)
                    })?,
                }
            }
            if before { (low, last) = (page + 1, Some(page)) } else { high = middle }
        }
        Ok(last)
    }

    /// Calls `visit` with the strings that start in `page` or later, until it returns false.
    fn walk(
        &self,
        handle: &Handle,
        page: u64,
        visit: &mut dyn FnMut(Name<'_>) -> Result<bool, PageFault>,
    ) -> Result<()> {
        let mut records = Records::default();
        for page in page..self.section.pages {
            let go_on = self.with_page(handle, page, |bytes| {
                let go_on = records.page(bytes, visit).flatten();
                go_on.map_err(|fault| self.fault(page, fault))
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
        let first_page = self
            .pages
            .with_handle(|handle| self.bisect(handle, |first| first.vertex <= vertices.start))?
            .unwrap_or(0);
        let last = self.section.pages - 1;
        let mut records = Records::default();
        let mut next = vertices.start;
        self.stream(first_page..self.section.pages, &mut |page, bytes| {
            let visited = records.page(bytes, &mut |name| {
                if name.vertex == next {
                    next += 1;
                    let text = name.text().map_err(|fault| self.fault(page, fault))?;
                    visit(name.vertex, IdRef::String(text))?;
                }
                Ok::<bool, E>(next < vertices.end)
            });
            visited.map_err(|fault| self.fault(page, fault))?
        })?;
        if next < vertices.end || (records.is_open() && u64::from(next) == self.section.items) {
            let fault = other(format!("the ids end before vertex {}", vertices.end));
            return Err(self.fault(last, fault).into());
        }
        Ok(())
    }
}
