//! Views of the pages of lists, with the changes of the log and of runs.

use crate::VertexId;
use crate::delta::{ChangedList, EntryOrder};
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
        let mut merged = std::mem::take(&mut decoded.merged);
        let read = self.changed_lists(page, bytes, vertices, decoded, &mut |list| {
            take(&list.put_together(order, &mut merged)?);
            Ok(())
        });
        decoded.merged = merged;
        read
    }

    /// As [`Adjacency::reparse_lists`], with the lists beside their changes.
    ///
    /// # Panics
    /// As [`Adjacency::reparse_lists`].
    pub(crate) fn changed_lists(
        &self,
        page: u64,
        bytes: &[u8],
        vertices: &[VertexId],
        decoded: &mut Decoded,
        take: &mut dyn FnMut(&ChangedList<'_>) -> Result<(), PageFault>,
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
        let (mut from, mut taken) = (0, Ok(()));
        let mut each = |list: &List<'_>| {
            let list = match &delta {
                None => Ok(ChangedList::unchanged(*list)),
                Some(delta) => delta.changed(list, &mut from),
            };
            if taken.is_ok() {
                taken = list.and_then(|list| take(&list));
            }
        };
        // Lists of vertices that runs or log add are not on the device.
        let is_new = |vertex: VertexId| delta.is_some() && vertex >= self.vertices;
        let expected = self.expected(page);
        let mut parts = vertices.chunk_by(|a, b| is_new(*a) == is_new(*b));
        let read = parts.try_for_each(|vertices| match is_new(vertices[0]) {
            true => {
                let page = self.first_page() + page;
                vertices.iter().for_each(|vertex| each(&List::empty(*vertex, page)));
                Ok(())
            }
            false => Page::reparse_lists(bytes, &expected, vertices, decoded, &mut each),
        });
        decoded.room = room;
        read.and(taken).map_err(|fault| self.fault(page, fault))
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
