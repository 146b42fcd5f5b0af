//! Decodes the records of string pages.
//!
//! A record is `shared` and `len` as LEB128 numbers and `len` bytes: the string is the first
//! `shared` bytes of the previous string in the page, followed by these bytes. `shared` is 0 in the
//! first record of a page. A record lies in one page unless it is longer than a page: then it
//! starts a page and continues in the next ones, whose headers give the number of its bytes.

use crate::VertexId;
use crate::degrees::take_varint;
use crate::error::{PageFault, at_most, equal, other, zero_behind};
use crate::format::{HEADER_BYTES, ID_BYTES_MAX};
use crate::header::PageHeader;

#[derive(Debug, Default)]
pub(crate) struct Records {
    string: Vec<u8>,
    /// Bytes of the last string that lie in pages not decoded yet.
    missing: usize,
    /// Vertex of the next string; `None` before the first page.
    next: Option<VertexId>,
}

type Visit<'a, E> = &'a mut dyn FnMut(Name<'_>) -> Result<bool, E>;

/// A string of a page with its vertex. Checked for UTF-8 where it is used, since most are only
/// passed on the way to another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Name<'a> {
    pub vertex: VertexId,
    pub bytes: &'a [u8],
}

impl<'a> Name<'a> {
    pub fn text(&self) -> Result<&'a str, PageFault> {
        let not_utf8 = |_| other(format!("the id of vertex {} is not UTF-8", self.vertex));
        std::str::from_utf8(self.bytes).map_err(not_utf8)
    }
}

impl Records {
    /// Calls `visit` with the strings that end in this verified page, until it returns false. The
    /// inner result is the last one of `visit`. Skips the rest of a string whose start was not
    /// decoded.
    pub fn page<E>(
        &mut self,
        bytes: &[u8],
        visit: Visit<'_, E>,
    ) -> Result<Result<bool, E>, PageFault> {
        let header = PageHeader::read(bytes);
        let mut rest = &bytes[HEADER_BYTES..];
        if self.continue_string(&header, &mut rest)? {
            match self.visit_string(visit)? {
                Ok(true) => {}
                stop => return Ok(stop),
            }
        }
        if self.missing > 0 {
            return no_more(&header, rest).map(|()| Ok(true));
        }
        let next = *self.next.get_or_insert(header.first);
        if header.entries > 0 {
            equal("first vertex of a page of ids", header.first.into(), next.into())?;
        }
        for record in 0..header.entries {
            if self.missing > 0 {
                return Err(other("a string is cut short by the next"));
            }
            self.take(&mut rest, record == 0)?;
            if self.missing == 0 {
                match self.visit_string(visit)? {
                    Ok(true) => {}
                    stop => return Ok(stop),
                }
            }
        }
        zero_behind("id", rest).map(|()| Ok(true))
    }

    /// Whether the last string continues in pages not decoded yet.
    pub fn is_open(&self) -> bool {
        self.missing > 0
    }

    /// Decodes the rest of a string at the start of a page. Returns whether it is complete now.
    fn continue_string(
        &mut self,
        header: &PageHeader,
        rest: &mut &[u8],
    ) -> Result<bool, PageFault> {
        let found = header.head_skip;
        if self.next.is_none() {
            let limit = rest.len() as u64;
            at_most("bytes of a continued id", found, limit)?;
            *rest = &rest[found as usize..];
            return Ok(false);
        }
        let count = self.missing.min(rest.len());
        equal("bytes of a continued id", found, count as u64)?;
        self.string.extend_from_slice(&rest[..count]);
        *rest = &rest[count..];
        let was_open = self.missing > 0;
        self.missing -= count;
        Ok(was_open && self.missing == 0)
    }

    /// Decodes the record at the front of `rest`, or the part of it that the page holds.
    fn take(&mut self, rest: &mut &[u8], is_first: bool) -> Result<(), PageFault> {
        let mut number = || take_varint(rest).ok_or_else(|| other("a length is cut short"));
        let (shared, len) = (number()?, number()?);
        let shared_max = if is_first { 0 } else { self.string.len() as u64 };
        at_most("shared bytes of an id", shared, shared_max)?;
        at_most("length of an id", len, ID_BYTES_MAX as u64 - shared)?;
        let here = (len as usize).min(rest.len());
        self.string.truncate(shared as usize);
        self.string.extend_from_slice(&rest[..here]);
        *rest = &rest[here..];
        self.missing = len as usize - here;
        Ok(())
    }

    /// Calls `visit` with the complete string.
    fn visit_string<E>(&mut self, visit: Visit<'_, E>) -> Result<Result<bool, E>, PageFault> {
        let vertex = self.next.expect("set before the first record");
        let next = vertex.checked_add(1).ok_or_else(|| other("it holds too many ids"))?;
        self.next = Some(next);
        Ok(visit(Name { vertex, bytes: &self.string }))
    }
}

/// Checks that a page inside a long string holds nothing else.
fn no_more(header: &PageHeader, rest: &[u8]) -> Result<(), PageFault> {
    if header.entries > 0 || !rest.is_empty() {
        return Err(other("a page inside of a long id holds something else"));
    }
    Ok(())
}
