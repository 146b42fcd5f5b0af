//! Views of the pages of lists, with the changes of the log and of runs.

use crate::VertexId;
use crate::delta::{EntryOrder, PageDelta};
use crate::error::{PageFault, Result, at_most};
use crate::packed::decode::Decoded;
use crate::page::{Expected, List, Page};

use super::Adjacency;

impl Adjacency {
    #[inline]
    fn expected(&self, page: u64) -> Expected {
        let vertices = self.vertices_in(page);
        let end = vertices.end.min(self.vertices);
        Expected {
            identity: self.pages.identity(page),
            page: self.first_page() + page,
            codec: self.codec(),
            first: vertices.start,
            lists: u64::from(end - vertices.start),
            continues: self.continues(page),
            vertices: self.vertices,
        }
    }

    /// Verifies a page as read from the device: checksum, agreement with the index, offsets and
    /// every entry. Decodes a packed page into `decoded`.
    ///
    /// # Panics
    /// If `bytes` is not a whole page or not aligned to 4 bytes, or the section has no such page.
    #[inline]
    pub fn parse<'a>(
        &self,
        page: u64,
        bytes: &'a [u8],
        decoded: &'a mut Decoded,
    ) -> Result<Page<'a>> {
        assert_eq!(bytes.len(), self.pages.page_bytes, "a page is parsed as a whole");
        if self.delta.is_some() {
            let order = EntryOrder::Ascending;
            return self.merged((page, bytes), (false, order), decoded);
        }
        Page::parse(bytes, &self.expected(page), decoded).map_err(|fault| self.fault(page, fault))
    }

    /// Verifies a page as read from the device, except for what [`Adjacency::reparse`] and
    /// [`Adjacency::reparse_lists`] verify anyway: the entries of packed pages.
    ///
    /// # Panics
    /// As [`Adjacency::parse`].
    pub fn verify(&self, page: u64, bytes: &[u8]) -> Result<()> {
        assert_eq!(bytes.len(), self.pages.page_bytes, "a page is verified as a whole");
        Page::verify(bytes, &self.expected(page)).map_err(|fault| self.fault(page, fault))
    }

    /// The view of a page in memory that [`Adjacency::parse`] has accepted, without verifying its
    /// checksum again.
    ///
    /// # Panics
    /// As [`Adjacency::parse`]. Methods of the view may panic if the page was never accepted.
    #[inline]
    pub fn reparse<'a>(
        &self,
        page: u64,
        bytes: &'a [u8],
        decoded: &'a mut Decoded,
    ) -> Result<Page<'a>> {
        self.reparse_in(page, bytes, EntryOrder::Ascending, decoded)
    }

    /// As [`Adjacency::reparse`]; lists with changes have their entries in the given order.
    ///
    /// # Panics
    /// As [`Adjacency::reparse`].
    #[inline]
    pub fn reparse_in<'a>(
        &self,
        page: u64,
        bytes: &'a [u8],
        order: EntryOrder,
        decoded: &'a mut Decoded,
    ) -> Result<Page<'a>> {
        assert_eq!(bytes.len(), self.pages.page_bytes, "a page is parsed as a whole");
        if self.delta.is_some() {
            return self.merged((page, bytes), (true, order), decoded);
        }
        Page::reparse(bytes, &self.expected(page), decoded).map_err(|fault| self.fault(page, fault))
    }

    /// Calls `take` with the lists of `vertices`, or their pieces, in an accepted page. Decodes
    /// little more of a packed page than these; fastest if `vertices` ascend.
    ///
    /// # Panics
    /// As [`Adjacency::reparse`], and if the page has no piece of one of the lists.
    #[inline]
    pub fn reparse_lists(
        &self,
        page: u64,
        bytes: &[u8],
        vertices: &[VertexId],
        decoded: &mut Decoded,
        take: &mut dyn FnMut(&List<'_>),
    ) -> Result<()> {
        self.reparse_lists_in(page, bytes, (vertices, EntryOrder::Ascending), decoded, take)
    }

    /// As [`Adjacency::reparse_lists`]; lists with changes have their entries in the given order.
    ///
    /// # Panics
    /// As [`Adjacency::reparse_lists`].
    pub fn reparse_lists_in(
        &self,
        page: u64,
        bytes: &[u8],
        (vertices, order): (&[VertexId], EntryOrder),
        decoded: &mut Decoded,
        take: &mut dyn FnMut(&List<'_>),
    ) -> Result<()> {
        assert_eq!(bytes.len(), self.pages.page_bytes, "a page is parsed as a whole");
        let mut room = std::mem::take(&mut decoded.room);
        let delta = match &self.delta {
            None => None,
            Some(delta) => {
                let least = vertices.iter().min().copied().unwrap_or(0);
                let most = vertices.iter().max().copied().unwrap_or(0);
                delta.of_lists(page, self.vertices_in(page).start, least..=most, &mut room)?
            }
        };
        let read = match delta {
            None => Page::reparse_lists(bytes, &self.expected(page), vertices, decoded, take),
            Some(delta) => {
                let of_page = (page, bytes, &delta);
                self.merged_lists(of_page, (vertices, order), decoded, take)
            }
        };
        decoded.room = room;
        read.map_err(|fault| self.fault(page, fault))
    }

    /// The lists of some vertices with their changes.
    fn merged_lists(
        &self,
        (page, bytes, delta): (u64, &[u8], &PageDelta<'_>),
        (vertices, order): (&[VertexId], EntryOrder),
        decoded: &mut Decoded,
        take: &mut dyn FnMut(&List<'_>),
    ) -> Result<(), PageFault> {
        let mut merged = std::mem::take(&mut decoded.merged);
        let mut from = 0;
        let lists = vertices.chunk_by(|a, b| (*a < self.vertices) == (*b < self.vertices));
        let read = lists.into_iter().try_for_each(|vertices| {
            let is_new = vertices[0] >= self.vertices;
            if is_new {
                let page = self.first_page() + page;
                let new = |vertex: &VertexId| List::empty(*vertex, page);
                return vertices.iter().try_for_each(|vertex| {
                    take(&delta.merge_list(&new(vertex), order, &mut from, &mut merged)?);
                    Ok(())
                });
            }
            let mut failed = Ok(());
            let expected = self.expected(page);
            Page::reparse_lists(bytes, &expected, vertices, decoded, &mut |list| match delta
                .merge_list(list, order, &mut from, &mut merged)
            {
                Ok(list) => take(&list),
                Err(fault) => failed = Err(fault),
            })?;
            failed
        });
        decoded.merged = merged;
        read
    }

    /// The view of a page with its changes, of one that was accepted before or not.
    fn merged<'a>(
        &self,
        (page, bytes): (u64, &'a [u8]),
        (is_accepted, order): (bool, EntryOrder),
        decoded: &'a mut Decoded,
    ) -> Result<Page<'a>> {
        let expected = self.expected(page);
        let mut room = std::mem::take(&mut decoded.room);
        let delta = self.delta_of(page, order, &mut room)?;
        let bad = |fault| self.fault(page, fault);
        let Some(delta) = delta else {
            decoded.room = room;
            return of_device(bytes, &expected, is_accepted, decoded).map_err(bad);
        };
        let mut merged = std::mem::take(&mut decoded.merged);
        let page = of_device(bytes, &expected, is_accepted, decoded);
        let ends = page.and_then(|page| delta.merge(&page, order, &mut merged));
        (decoded.merged, decoded.room) = (merged, room);
        let parts = decoded.merged.parts();
        let ends = ends.and_then(|ends| {
            at_most("entries of a page with its changes", parts.0.len() as u64, self.entries_max)?;
            Ok(ends)
        });
        Ok(ends.map_err(bad)?.page(parts))
    }
}

/// The view of a page without changes, of one that was accepted before or not.
fn of_device<'a>(
    bytes: &'a [u8],
    expected: &Expected,
    is_accepted: bool,
    decoded: &'a mut Decoded,
) -> Result<Page<'a>, PageFault> {
    match is_accepted {
        true => Page::reparse(bytes, expected, decoded),
        false => Page::parse(bytes, expected, decoded),
    }
}
