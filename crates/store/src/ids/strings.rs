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
        let shared_max = if is_first { 0 } else { self.string.len() };
        let (shared, len) = take_lengths(rest, shared_max)?;
        let here = len.min(rest.len());
        self.string.truncate(shared);
        self.string.extend_from_slice(&rest[..here]);
        *rest = &rest[here..];
        self.missing = len - here;
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

/// The first string that starts in a verified page; `None` if none does, or if it ends in another.
pub(super) fn first_of(bytes: &[u8]) -> Result<Option<Name<'_>>, PageFault> {
    let Some((header, mut rest)) = records_of(bytes)? else { return Ok(None) };
    let (_, suffix) = take_suffix(&mut rest, 0)?;
    Ok(suffix.map(|bytes| Name { vertex: header.first, bytes }))
}

/// The rank of a string among those that start in a verified page, or that of the first greater one
/// as the error; `None` if none starts in it or one ends in another. Strings are not copied: those
/// that differ from the string as early as the one before does are passed over.
pub(super) fn find_in(
    bytes: &[u8],
    id: &[u8],
) -> Result<Option<Result<VertexId, VertexId>>, PageFault> {
    let Some((header, mut rest)) = records_of(bytes)? else { return Ok(None) };
    // Of the string before: its bytes, and how many of them are the first ones of `id`.
    let (mut length, mut same) = (0, 0);
    for rank in header.first..header.first.saturating_add(header.entries) {
        let (shared, suffix) = take_suffix(&mut rest, length)?;
        let Some(suffix) = suffix else { return Ok(None) };
        length = shared + suffix.len();
        if shared > same {
            continue;
        }
        // It differs before: strings ascend, so it is greater.
        if shared < same {
            return Ok(Some(Err(rank)));
        }
        let wanted = &id[same..];
        let equal = suffix.iter().zip(wanted).take_while(|(a, b)| a == b).count();
        if equal == wanted.len() {
            let is_it = suffix.len() == equal;
            return Ok(Some(if is_it { Ok(rank) } else { Err(rank) }));
        }
        if suffix.get(equal).is_some_and(|byte| *byte > wanted[equal]) {
            return Ok(Some(Err(rank)));
        }
        same += equal;
    }
    Ok(Some(Err(header.first.saturating_add(header.entries))))
}

/// The header of a page and its records, behind the rest of a string of another page; `None` if no
/// string starts in it.
fn records_of(bytes: &[u8]) -> Result<Option<(PageHeader, &[u8])>, PageFault> {
    let header = PageHeader::read(bytes);
    let rest = &bytes[HEADER_BYTES..];
    at_most("bytes of a continued id", header.head_skip, rest.len() as u64)?;
    Ok((header.entries > 0).then(|| (header, &rest[header.head_skip as usize..])))
}

/// Takes a record off the front: how many bytes it shares with the string before, which has
/// `length`, and the others; `None` if they end in another page.
fn take_suffix<'a>(
    rest: &mut &'a [u8],
    length: usize,
) -> Result<(usize, Option<&'a [u8]>), PageFault> {
    let (shared, len) = take_lengths(rest, length)?;
    let Some((suffix, behind)) = rest.split_at_checked(len) else { return Ok((shared, None)) };
    *rest = behind;
    Ok((shared, Some(suffix)))
}

/// Takes the lengths off the front of a record.
fn take_lengths(rest: &mut &[u8], shared_max: usize) -> Result<(usize, usize), PageFault> {
    let mut number = || take_varint(rest).ok_or_else(|| other("a length is cut short"));
    let (shared, len) = (number()?, number()?);
    at_most("shared bytes of an id", shared, shared_max as u64)?;
    at_most("length of an id", len, ID_BYTES_MAX as u64 - shared)?;
    Ok((shared as usize, len as usize))
}

/// Checks that a page inside a long string holds nothing else.
fn no_more(header: &PageHeader, rest: &[u8]) -> Result<(), PageFault> {
    if header.entries > 0 || !rest.is_empty() {
        return Err(other("a page inside of a long id holds something else"));
    }
    Ok(())
}
