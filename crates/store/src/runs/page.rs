//! The encoding of changes in the pages of a run.
//!
//! A page holds *groups*: the changes of one page of lists. A group that does not fit continues in
//! the next page, in a group of the same number without spans.

use bytemuck::{Pod, Zeroable};

use crate::VertexId;
use crate::error::{PageFault, Result, equal, other, zero_behind};
use crate::format::HEADER_BYTES;
use crate::header::PageHeader;

/// Bytes of a change.
pub(crate) const EDIT_BYTES: usize = size_of::<RawEdit>();

/// Most spans of a group: the lists with which its page begins and ends.
pub(super) const SPANS_MAX: usize = 2;

/// The first bytes of a group.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(super) struct RawGroup {
    /// Number of the page of lists within its section.
    pub page: u64,
    pub spans: u32,
    pub edits: u32,
}

/// How a list that has several pages changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct RawSpan {
    pub owner: VertexId,
    pub zero: u32,
    /// Change of its length in the pages before this one.
    pub before: i64,
    /// Change of its length.
    pub whole: i64,
}

/// A change of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct RawEdit {
    /// The owner of the list, counted from the first vertex of the page of lists, times two; the
    /// lowest bit is set if the entry is deleted.
    pub place: u32,
    pub other: VertexId,
}

/// About so many bytes a run takes, for changes of lists that lie in so many pages.
pub(crate) fn run_bytes(changes: u64, pages: u64) -> u64 {
    changes * EDIT_BYTES as u64 + changes.min(pages) * size_of::<RawGroup>() as u64
}

impl RawEdit {
    /// A change of the list of the `owner`-th vertex of its page of lists.
    pub fn new(owner: u32, other: VertexId, is_added: bool) -> Self {
        Self { place: owner << 1 | u32::from(!is_added), other }
    }

    pub fn owner(self) -> u32 {
        self.place >> 1
    }

    pub fn is_added(self) -> bool {
        self.place & 1 == 0
    }

    /// Ascends by owner and entry.
    #[inline]
    fn key(self) -> u64 {
        u64::from(self.owner()) << 32 | u64::from(self.other)
    }
}

/// The changes of a page of lists, or a part of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunGroup<'a> {
    pub page: u64,
    /// Ascending by owner.
    pub spans: &'a [RawSpan],
    /// Ascending by owner and entry.
    pub edits: &'a [RawEdit],
}

impl RunGroup<'_> {
    fn is_empty(&self) -> bool {
        self.spans.is_empty() && self.edits.is_empty()
    }
}

/// The changes of several pages of lists.
#[derive(Debug, Default)]
pub(crate) struct RunGroups {
    /// The pages, and where their spans and changes end.
    groups: Vec<(u64, usize, usize)>,
    spans: Vec<RawSpan>,
    edits: Vec<RawEdit>,
}

impl RunGroups {
    pub fn push(&mut self, group: &RunGroup<'_>) {
        self.spans.extend_from_slice(group.spans);
        self.edits.extend_from_slice(group.edits);
        self.groups.push((group.page, self.spans.len(), self.edits.len()));
    }

    /// Passes them on in the order in which they came.
    pub fn for_each(&self, visit: &mut dyn FnMut(&RunGroup<'_>) -> Result<()>) -> Result<()> {
        let (mut spans, mut edits) = (0, 0);
        for &(page, spans_end, edits_end) in &self.groups {
            let (spans_of, edits_of) =
                (&self.spans[spans..spans_end], &self.edits[edits..edits_end]);
            visit(&RunGroup { page, spans: spans_of, edits: edits_of })?;
            (spans, edits) = (spans_end, edits_end);
        }
        Ok(())
    }
}

/// A verified page of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunPage<'a> {
    payload: &'a [u8],
    groups: u32,
}

impl<'a> RunPage<'a> {
    /// The groups of a page whose header was verified; checks that they are well formed.
    pub fn parse(bytes: &'a [u8], header: &PageHeader) -> Result<Self, PageFault> {
        let page = Self { payload: &bytes[HEADER_BYTES..], groups: header.entries };
        if header.entries == 0 {
            return Err(other("a page of a run has no group"));
        }
        let mut rest = page.payload;
        let mut last: Option<u64> = None;
        for _ in 0..page.groups {
            let group;
            (group, rest) = split_group(rest).ok_or_else(|| other("a group is cut off"))?;
            if last.is_some_and(|last| last >= group.page) {
                return Err(other("the groups of a run do not ascend"));
            }
            last = Some(group.page);
            check_group(&group)?;
        }
        zero_behind("group", rest)?;
        Ok(page)
    }

    /// The view of a page that [`RunPage::parse`] has accepted.
    pub fn reparse(bytes: &'a [u8]) -> Self {
        Self { payload: &bytes[HEADER_BYTES..], groups: PageHeader::read(bytes).entries }
    }

    /// Its groups, ascending.
    pub fn groups(&self) -> impl Iterator<Item = RunGroup<'a>> + use<'a> {
        let mut rest = self.payload;
        (0..self.groups).map(move |_| {
            let (group, behind) = split_group(rest).expect("the page was parsed");
            rest = behind;
            group
        })
    }

    /// The group of a page of lists. `at` is where a group begins that is not behind it, first 0,
    /// and is moved to the first one that is not before it.
    #[inline]
    pub fn group_of(&self, page: u64, at: &mut usize) -> Option<RunGroup<'a>> {
        while let Some((group, rest)) = split_group(&self.payload[*at..]) {
            // Behind the last group there are zeros.
            if group.is_empty() {
                return None;
            }
            if group.page >= page {
                return (group.page == page).then_some(group);
            }
            *at = self.payload.len() - rest.len();
        }
        None
    }
}

fn check_group(group: &RunGroup<'_>) -> Result<(), PageFault> {
    let RunGroup { spans, edits, .. } = *group;
    if group.is_empty() {
        return Err(other("a group has no change"));
    }
    if spans.len() > SPANS_MAX || spans.windows(2).any(|pair| pair[0].owner >= pair[1].owner) {
        return Err(other("the long lists of a group do not ascend"));
    }
    for span in spans {
        equal("bytes that should be zero", span.zero.into(), 0)?;
    }
    // Without an early end it is vectorised.
    let later = edits.get(1..).unwrap_or_default();
    match edits.iter().zip(later).fold(true, |all, (a, b)| all & (a.key() < b.key())) {
        true => Ok(()),
        false => Err(other("the changes of a group do not ascend")),
    }
}

/// The group at the start of `bytes`, and what is behind it.
#[inline]
fn split_group(bytes: &[u8]) -> Option<(RunGroup<'_>, &[u8])> {
    let (head, rest) = bytes.split_at_checked(size_of::<RawGroup>())?;
    let RawGroup { page, spans, edits } = *bytemuck::from_bytes(head);
    let (spans, rest) =
        rest.split_at_checked((spans as usize).checked_mul(size_of::<RawSpan>())?)?;
    let (edits, rest) = rest.split_at_checked((edits as usize).checked_mul(EDIT_BYTES)?)?;
    let (spans, edits) = (bytemuck::cast_slice(spans), bytemuck::cast_slice(edits));
    Some((RunGroup { page, spans, edits }, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::PageKind;

    fn page(groups: u32, words: &[u64]) -> (Vec<u64>, PageHeader) {
        let mut bytes = vec![0u64; 512];
        bytes[HEADER_BYTES / 8..][..words.len()].copy_from_slice(words);
        (bytes, PageHeader { entries: groups, ..PageHeader::new(PageKind::DeltaRun) })
    }

    fn fault(groups: u32, words: &[u64]) -> String {
        let (bytes, header) = page(groups, words);
        let parsed = RunPage::parse(bytemuck::cast_slice(&bytes), &header);
        parsed.map(drop).map_err(|fault| fault.to_string()).err().unwrap_or_default()
    }

    /// Numbers of spans and edits as a group has them.
    fn counts(spans: u64, edits: u64) -> u64 {
        edits << 32 | spans
    }

    fn edit(owner: u64, other: u64, is_added: bool) -> u64 {
        other << 32 | owner << 1 | u64::from(!is_added)
    }

    #[test]
    fn groups_are_read_as_they_were_written() {
        let words = [
            3,
            counts(1, 2),
            9,
            -4i64 as u64,
            7,
            edit(0, 5, true),
            edit(1, 2, false),
            8,
            counts(0, 1),
            edit(6, 1, true),
        ];
        assert_eq!(fault(2, &words), "");
        let (bytes, header) = page(2, &words);
        let parsed = RunPage::parse(bytemuck::cast_slice(&bytes), &header).unwrap();
        let groups: Vec<_> = parsed.groups().collect();
        assert_eq!(groups.iter().map(|group| group.page).collect::<Vec<_>>(), [3, 8]);
        assert_eq!(groups[0].spans, [RawSpan { owner: 9, zero: 0, before: -4, whole: 7 }]);
        assert_eq!(groups[0].edits, [RawEdit::new(0, 5, true), RawEdit::new(1, 2, false)]);
        assert!(!groups[0].edits[1].is_added() && groups[1].edits[0].owner() == 6);
    }

    #[test]
    fn each_fault_of_a_page_is_reported() {
        let one = [3, counts(0, 1), edit(0, 5, true)];
        assert_eq!(fault(1, &one), "");
        assert!(fault(0, &[]).contains("no group"));
        assert!(fault(1, &[3, counts(0, 0)]).contains("no change"));
        assert!(fault(1, &[3, counts(0, 1000), 1]).contains("cut off"));
        assert!(fault(1, &[3, counts(1 << 31, 1), 1]).contains("cut off"));
        assert!(fault(u32::MAX, &one).contains("ascend"));
        assert!(fault(1, &[one[0], one[1], one[2], 1]).contains("zero"));
        let falls = [3, counts(0, 1), edit(0, 5, true), 3, counts(0, 1), edit(0, 6, true)];
        assert!(fault(2, &falls).contains("groups of a run"));
        let twice = [3, counts(0, 2), edit(0, 5, true), edit(0, 5, false)];
        assert!(fault(1, &twice).contains("changes of a group"));
        assert!(fault(1, &[3, counts(1, 0), 1 << 32, 0, 0]).contains("zero"));
        let spans = [3, counts(2, 0), 4, 1, 1, 4, 1, 1];
        assert!(fault(1, &spans).contains("long lists"));
        assert!(fault(1, &[3, counts(3, 0), 4, 1, 1, 5, 1, 1, 6, 1, 1]).contains("long lists"));
    }
}
