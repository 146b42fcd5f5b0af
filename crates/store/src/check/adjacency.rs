//! The lists of one direction, beside their index and their degrees.

use super::{Check, Degrees};
use crate::error::{PageFault, Result, StoreError, equal, other};
use crate::format::{Codec, HEADER_BYTES};
use crate::graph::Graph;
use crate::header::PageHeader;
use crate::index::word_entries;
use crate::packed::decode::{self, Decoded};
use crate::page::{List, Page};
use crate::stream::Ahead;
use crate::superblock::{SECTION, SectionKind, Superblock};
use crate::weights::WeightColumn;
use crate::weights::stream::WeightStream;
use crate::weights::value::Tally;
use crate::words::Words;
use crate::{Adjacency, Direction, VertexId};

/// What the lists of one direction add up to.
#[derive(Default)]
pub(super) struct Sums {
    /// Hashes of (owner of the list, entry).
    forward: u64,
    /// Hashes of (entry, owner of the list).
    backward: u64,
    self_loops: u64,
    degree_max: u64,
    degree_max_vertex: VertexId,
    /// Sum of the weights; nothing once a page of them has a fault.
    weights: Option<Tally>,
    /// Whether every page could be added up.
    whole: bool,
}

/// The lists of targets, and what the superblock says of them.
pub(super) fn check_out(check: &mut Check<'_>) -> Result<Sums> {
    let kinds = (SectionKind::OutIndex, SectionKind::OutDegrees);
    let sums = check_direction(check, Direction::Out, kinds)?;
    if !sums.whole {
        return Ok(sums);
    }
    let superblock: Superblock = check.graph.superblock().clone();
    check.compare("largest degree", superblock.degree_max, sums.degree_max)?;
    let said = u64::from(superblock.degree_max_vertex);
    check.compare("vertex of largest degree", said, u64::from(sums.degree_max_vertex))?;
    if !superblock.directed {
        let edges = (superblock.stored_out + sums.self_loops) / 2;
        check.compare("edges", superblock.edges, edges)?;
        check.compare("sum over edges seen from either end", sums.forward, sums.backward)?;
    }
    if let Some(tally) = &sums.weights
        && superblock.weights != Some(tally.summary())
    {
        let reason = "its smallest, largest or mean weight is not that of the weights";
        let slot = superblock.slot();
        check.note_page(slot, SECTION, other(reason))?;
    }
    Ok(sums)
}

/// The lists of sources: the same edges as the lists of targets.
pub(super) fn check_in(check: &mut Check<'_>, out: &Sums) -> Result<()> {
    let kinds = (SectionKind::InIndex, SectionKind::InDegrees);
    let sums = check_direction(check, Direction::In, kinds)?;
    if sums.whole && out.whole {
        check.compare("sum over edges seen from their targets", sums.backward, out.forward)?;
        check.compare("self-loops in the lists of sources", sums.self_loops, out.self_loops)?;
    }
    Ok(())
}

fn check_direction(
    check: &mut Check<'_>,
    direction: Direction,
    (index, degrees): (SectionKind, SectionKind),
) -> Result<Sums> {
    let graph = check.graph;
    let adjacency = graph.adjacency(direction).expect("the graph has this direction");
    let mut pass = Pass::new(graph, adjacency, direction, (index, degrees))?;
    let pages = adjacency.first_page()..adjacency.first_page() + adjacency.pages();
    let mut stream = graph.pages.stream(pages, Ahead::FAR)?;
    let mut decoded = Decoded::new();
    while let Some((number, bytes)) = stream.next()? {
        let page = number - adjacency.first_page();
        match adjacency.parse(page, bytes, &mut decoded) {
            Ok(view) => pass.page(check, page, bytes, view)?,
            Err(error) => {
                check.note(error)?;
                pass.lose(check, page)?;
            }
        }
        check.advance();
    }
    pass.finish(check)
}

/// A list that has not come to its end.
struct Open {
    vertex: VertexId,
    degree: u64,
    done: u64,
    last: u32,
}

/// What went before the present page.
enum Before {
    /// All lists so far are complete.
    Complete,
    /// A list goes on.
    Open(Open),
    /// The page before could not be read.
    Unknown,
}

struct Pass<'a> {
    adjacency: &'a Adjacency,
    section: &'static str,
    superblock: &'a Superblock,
    key: u64,
    before: Before,
    words: Option<Words<'a>>,
    degrees: Option<Degrees<'a>>,
    weights: Option<Beside<'a>>,
    sums: Sums,
}

/// The weights of the page at hand.
struct Beside<'a> {
    section: &'static str,
    stream: WeightStream<'a>,
    /// Ordered bits, one for each entry of the page, and the first of the list at hand.
    batch: Vec<u64>,
    at: usize,
    /// Owner, entry and weight that went before.
    last: Option<(VertexId, u32, u64)>,
}

impl<'a> Pass<'a> {
    fn new(
        graph: &'a Graph,
        adjacency: &'a Adjacency,
        direction: Direction,
        (index, degrees): (SectionKind, SectionKind),
    ) -> Result<Self> {
        let beside = |column: &'a WeightColumn| {
            let section = column.section().kind.name();
            let stream = WeightStream::new(&graph.pages, column)?;
            Ok::<_, StoreError>(Beside { section, stream, batch: Vec::new(), at: 0, last: None })
        };
        let weights = graph.weights(direction);
        let tally = weights.map(|column| Tally::new(column.kind()));
        Ok(Self {
            adjacency,
            section: adjacency.kind().name(),
            superblock: graph.superblock(),
            key: mix(graph.superblock().salt ^ 0x9e37_79b9_7f4a_7c15),
            before: Before::Complete,
            words: Some(Words::new(&graph.pages, index)?),
            degrees: Degrees::new(graph, degrees)?,
            weights: weights.map(beside).transpose()?,
            sums: Sums { whole: true, weights: tally, ..Sums::default() },
        })
    }

    /// A page that could not be read: what it would have told is skipped.
    fn lose(&mut self, check: &mut Check<'_>, page: u64) -> Result<()> {
        self.sums.whole = false;
        self.before = Before::Unknown;
        let entries = self.next_word(check)?;
        match entries {
            Some(entries) => self.next_weights(check, page, entries as usize)?,
            None => self.weights = None,
        }
        self.sums.weights = None;
        let vertices = self.adjacency.vertices_in(page);
        let continued = usize::from(self.adjacency.continues(page));
        for _ in vertices.skip(continued) {
            self.next_degree(check)?;
        }
        Ok(())
    }

    fn page(
        &mut self,
        check: &mut Check<'_>,
        page: u64,
        bytes: &[u8],
        view: Page<'_>,
    ) -> Result<()> {
        let number = self.adjacency.first_page() + page;
        check.check_header(number, self.section, &PageHeader::read(bytes))?;
        let entries = view.entries().len();
        self.check_unused(check, number, bytes, &view)?;
        if let Some(said) = self.next_word(check)?
            && said != entries as u64
        {
            let (what, expected) = ("number of entries", said);
            let fault = PageFault::Index { what, found: entries as u64, expected };
            check.note_page(number, self.section, fault)?;
        }
        self.next_weights(check, page, entries)?;
        if let (Before::Open(open), false) = (&self.before, self.adjacency.continues(page)) {
            let reason = format!("the list of vertex {} does not go on here", open.vertex);
            check.note_page(number, self.section, other(reason))?;
        }
        for list in view.lists() {
            if let Some(fault) = self.list(check, &list)? {
                check.note_page(number, self.section, fault)?;
            }
        }
        Ok(())
    }

    /// What lies between the parts of the page.
    fn check_unused(
        &self,
        check: &mut Check<'_>,
        number: u64,
        bytes: &[u8],
        view: &Page<'_>,
    ) -> Result<()> {
        let (lists, entries) = (view.list_count(), view.entries().len());
        if self.adjacency.codec() == Codec::Raw {
            let middle = HEADER_BYTES + entries * 4..bytes.len() - lists * 2;
            return check.check_zero(number, self.section, &bytes[middle]);
        }
        if decode::unused_is_zero(bytes, lists, entries) {
            return Ok(());
        }
        let fault = other("bits that should be zero are not");
        check.note_page(number, self.section, fault)
    }

    /// One list, or a piece of one. At most one fault is told of each.
    fn list(&mut self, check: &mut Check<'_>, list: &List<'_>) -> Result<Option<PageFault>> {
        let vertex = list.vertex;
        let before = std::mem::replace(&mut self.before, Before::Complete);
        let end = list.skip + list.targets.len() as u64;
        if end < list.degree {
            let (degree, done, last) = (list.degree, end, list.targets.last().copied());
            self.before = Before::Open(Open { vertex, degree, done, last: last.unwrap_or(0) });
        }
        if self.add(list) {
            let reason = format!("the weights of a repeated edge of vertex {vertex} fall");
            return Ok(Some(other(reason)));
        }
        if list.skip > 0 {
            if let Some(fault) = joins(&before, list, self.superblock.duplicates_kept) {
                return Ok(Some(fault));
            }
        } else {
            if list.degree > self.sums.degree_max {
                self.sums.degree_max = list.degree;
                self.sums.degree_max_vertex = vertex;
            }
            let what = "length of a list (expected by its degree)";
            if let Some(said) = self.next_degree(check)?
                && let Err(fault) = equal(what, list.degree, said)
            {
                return Ok(Some(fault));
            }
        }
        Ok(self.order_fault(list))
    }

    /// Whether the weights of a repeated entry fall.
    fn add(&mut self, list: &List<'_>) -> bool {
        let owner = u64::from(list.vertex);
        let mut falls = false;
        let mut weights = self.weights.as_mut().map(|beside| beside.of_list(list));
        for (at, &entry) in list.targets.iter().enumerate() {
            let target = u64::from(entry);
            let mut forward = mix((owner << 32 | target) ^ self.key);
            let mut backward = mix((target << 32 | owner) ^ self.key);
            if let Some((weights, last)) = &mut weights {
                let weight = weights[at];
                [forward, backward] = [forward, backward].map(|pair| mix(pair ^ weight));
                falls |= **last > Some((list.vertex, entry, weight))
                    && last.is_some_and(|(vertex, before, _)| {
                        (vertex, before) == (list.vertex, entry)
                    });
                **last = Some((list.vertex, entry, weight));
                if let Some(tally) = &mut self.sums.weights {
                    tally.add(weight);
                }
            }
            self.sums.forward = self.sums.forward.wrapping_add(forward);
            self.sums.backward = self.sums.backward.wrapping_add(backward);
            self.sums.self_loops += u64::from(owner == target);
        }
        falls
    }

    /// Reads the weights of the next page's entries. Nothing once they have a fault.
    fn next_weights(&mut self, check: &mut Check<'_>, page: u64, count: usize) -> Result<()> {
        let Some(Beside { section, stream, batch, at, .. }) = &mut self.weights else {
            return Ok(());
        };
        *at = 0;
        let taken = stream.next_page(batch, |number, bytes, weights| {
            check.check_header(number, section, &PageHeader::read(bytes))?;
            let end = HEADER_BYTES + weights.as_bytes().len();
            check.check_zero(number, section, &bytes[end..])?;
            check.advance();
            Ok(())
        });
        let counted = taken.and_then(|()| {
            equal("number of weights of a page", batch.len() as u64, count as u64)
                .map_err(|fault| self.adjacency.fault(page, fault))
        });
        match counted {
            Ok(()) => return Ok(()),
            Err(error) => check.note(error)?,
        }
        self.weights = None;
        self.sums.weights = None;
        self.sums.whole = false;
        Ok(())
    }

    fn order_fault(&self, list: &List<'_>) -> Option<PageFault> {
        let (vertex, duplicates_kept) = (list.vertex, self.superblock.duplicates_kept);
        let falls = list.targets.windows(2).any(|pair| !ascends(pair[0], pair[1], duplicates_kept));
        if falls {
            return Some(other(format!("the list of vertex {vertex} does not ascend")));
        }
        if !self.superblock.self_loops_kept && list.targets.binary_search(&vertex).is_ok() {
            let reason = format!("vertex {vertex} stands in its own list");
            return Some(other(reason));
        }
        None
    }

    /// The entries that the index tells of the next page. Nothing once the index has a fault.
    fn next_word(&mut self, check: &mut Check<'_>) -> Result<Option<u64>> {
        let Some(words) = &mut self.words else { return Ok(None) };
        match words.next() {
            Ok(word) => Ok(word.map(|(_, word)| word_entries(word))),
            Err(error) => {
                self.words = None;
                check.note(error).map(|()| None)
            }
        }
    }

    /// The length that the degrees tell of the next list. Nothing once they have a fault.
    fn next_degree(&mut self, check: &mut Check<'_>) -> Result<Option<u64>> {
        let Some(degrees) = &mut self.degrees else { return Ok(None) };
        match degrees.next() {
            Ok(degree) => Ok(degree),
            Err(error) => {
                self.degrees = None;
                check.note(error).map(|()| None)
            }
        }
    }

    fn finish(mut self, check: &mut Check<'_>) -> Result<Sums> {
        if let Before::Open(open) = &self.before {
            let reason = format!("the list of vertex {} ends too early", open.vertex);
            let last = self.adjacency.first_page() + self.adjacency.pages() - 1;
            check.note_page(last, self.section, other(reason))?;
        }
        if self.next_degree(check)?.is_some() {
            let fault = other("there are more degrees than lists");
            check.note_page(self.adjacency.first_page(), self.section, fault)?;
        }
        Ok(self.sums)
    }
}

impl Beside<'_> {
    /// The weights of the next list of the page, and what went before them.
    fn of_list(&mut self, list: &List<'_>) -> (&[u64], &mut Option<(VertexId, u32, u64)>) {
        let start = self.at;
        self.at += list.targets.len();
        (&self.batch[start..self.at], &mut self.last)
    }
}

fn ascends(a: u32, b: u32, duplicates_kept: bool) -> bool {
    a < b || (duplicates_kept && a == b)
}

/// Whether a piece goes on where the page before ended.
fn joins(before: &Before, list: &List<'_>, duplicates_kept: bool) -> Option<PageFault> {
    let vertex = list.vertex;
    let open = match before {
        Before::Unknown => return None,
        Before::Complete => {
            let reason = format!("it continues the list of vertex {vertex}, which was complete");
            return Some(other(reason));
        }
        Before::Open(open) => open,
    };
    if (open.vertex, open.degree, open.done) != (vertex, list.degree, list.skip) {
        let reason = format!(
            "it continues the list of vertex {vertex} at {} of {}, but the page before ended in \
             that of vertex {} at {} of {}",
            list.skip, list.degree, open.vertex, open.done, open.degree
        );
        return Some(other(reason));
    }
    let first = list.targets.first()?;
    if !ascends(open.last, *first, duplicates_kept) {
        let reason = format!("the list of vertex {vertex} does not ascend from page to page");
        return Some(other(reason));
    }
    None
}

/// The finaliser of SplitMix64: every bit of the input moves every bit of the result.
pub(super) fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
