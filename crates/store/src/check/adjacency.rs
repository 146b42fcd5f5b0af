//! Checks the lists of one direction against their page index, degrees and weights.

use super::{Check, Degrees};
use crate::error::{PageFault, Result, StoreError, equal, other};
use crate::format::{Codec, EPOCH_OF_IMPORT, HEADER_BYTES};
use crate::graph::Graph;
use crate::header::PageHeader;
use crate::index::word_entries;
use crate::packed::decode::{self, Decoded};
use crate::page::{List, Page};
use crate::stream::Ahead;
use crate::superblock::{SECTION, SectionKind, Superblock};
use crate::weights::stream::WeightStream;
use crate::weights::summary::Tally;
use crate::weights::{WeightColumn, WeightSummary, Weights};
use crate::words::Words;
use crate::{Adjacency, Direction, VertexId};

/// Sums over the lists of one direction.
#[derive(Default)]
pub(super) struct Sums {
    /// Hashes of (owner of the list, entry).
    forward: u64,
    /// Hashes of (entry, owner of the list).
    backward: u64,
    self_loops: u64,
    degree_max: u64,
    degree_max_vertex: VertexId,
    /// Sum of the weights; `None` after a fault in one of their pages.
    weights: Option<Tally>,
    /// Whether every page could be read.
    complete: bool,
}

/// Checks the lists of targets, and the superblock's numbers about them.
pub(super) fn check_out(check: &mut Check<'_>) -> Result<Sums> {
    let kinds = (SectionKind::OutIndex, SectionKind::OutDegrees);
    let sums = check_direction(check, Direction::Out, kinds)?;
    if !sums.complete {
        return Ok(sums);
    }
    let superblock: Superblock = check.graph.superblock().clone();
    check.compare("largest degree", superblock.degree_max, sums.degree_max)?;
    let stored = u64::from(superblock.degree_max_vertex);
    check.compare("vertex of largest degree", stored, u64::from(sums.degree_max_vertex))?;
    if !superblock.directed {
        let edges = (superblock.stored_out + sums.self_loops) / 2;
        check.compare("edges", superblock.edges, edges)?;
        check.compare("sum over edges seen from either end", sums.forward, sums.backward)?;
    }
    if let (Some(tally), Some(found)) = (&sums.weights, superblock.weights) {
        let column = superblock.section(SectionKind::OutWeights);
        let is_imported = column.is_some_and(|column| column.epoch == EPOCH_OF_IMPORT);
        // Older programs stored integers in more bytes than they need.
        let exact = WeightSummary { format: found.format(), ..tally.summary() };
        let is_right = if is_imported { found == exact } else { found.covers(&exact) };
        if !is_right {
            let reason = "its smallest, largest or mean weight is not that of the weights";
            let slot = superblock.slot();
            check.note_page(slot, SECTION, other(reason))?;
        }
    }
    Ok(sums)
}

/// Checks that the lists of sources hold the same edges as the lists of targets.
pub(super) fn check_in(check: &mut Check<'_>, out: &Sums) -> Result<()> {
    let kinds = (SectionKind::InIndex, SectionKind::InDegrees);
    let sums = check_direction(check, Direction::In, kinds)?;
    if sums.complete && out.complete {
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
                pass.skip_page(check, page)?;
            }
        }
        check.advance()?;
    }
    pass.finish(check)
}

struct Open {
    vertex: VertexId,
    degree: u64,
    done: u64,
    last: u32,
}

enum Before {
    Complete,
    /// A list continues on the current page.
    Open(Open),
    /// The page before could not be read.
    Unknown,
}

struct Pass<'a> {
    adjacency: &'a Adjacency,
    section: &'static str,
    superblock: &'a Superblock,
    deleted: &'a [VertexId],
    key: u64,
    before: Before,
    words: Option<Words<'a>>,
    degrees: Option<Degrees<'a>>,
    weights: Option<PageWeights<'a>>,
    sums: Sums,
}

struct PageWeights<'a> {
    column: &'a WeightColumn,
    stream: WeightStream<'a>,
    /// A bit for each page of weights: whether it was checked.
    checked: Vec<u64>,
    /// Ordered bits, one for each entry of the page; `at` is the first of the current list.
    batch: Vec<u64>,
    at: usize,
    /// Owner, entry and weight of the previous entry.
    last: Option<(VertexId, u32, u64)>,
}

impl<'a> Pass<'a> {
    fn new(
        graph: &'a Graph,
        adjacency: &'a Adjacency,
        direction: Direction,
        (index, degrees): (SectionKind, SectionKind),
    ) -> Result<Self> {
        let open = |column: &'a WeightColumn| {
            let stream = WeightStream::new(&graph.pages, column)?;
            let checked = vec![0; column.pages().div_ceil(64) as usize];
            let batch = Vec::new();
            Ok::<_, StoreError>(PageWeights { column, stream, checked, batch, at: 0, last: None })
        };
        let weights = graph.weights(direction);
        let tally = weights.map(|column| Tally::new(column.kind()));
        Ok(Self {
            adjacency,
            section: adjacency.kind().name(),
            superblock: graph.superblock(),
            deleted: graph.deleted(),
            key: hash_key(graph.superblock()),
            before: Before::Complete,
            words: Some(Words::new(&graph.pages, index)?),
            degrees: Degrees::new(graph, direction, degrees)?,
            weights: weights.map(open).transpose()?,
            sums: Sums { complete: true, weights: tally, ..Sums::default() },
        })
    }

    /// Skips a page that could not be read, with its index word, weights and degrees.
    fn skip_page(&mut self, check: &mut Check<'_>, page: u64) -> Result<()> {
        self.sums.complete = false;
        self.before = Before::Unknown;
        match self.next_word(check)? {
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
        // The view has the changes of delta runs as well.
        let header = PageHeader::read(bytes);
        check.check_header(number, self.section, &header)?;
        let entries = header.entries as usize;
        self.check_unused(check, number, bytes, &header)?;
        if let Some(stored) = self.next_word(check)?
            && stored != entries as u64
        {
            let (what, expected) = ("number of entries", stored);
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

    /// Checks that the unused bytes or bits of the page are zero.
    fn check_unused(
        &self,
        check: &mut Check<'_>,
        number: u64,
        bytes: &[u8],
        header: &PageHeader,
    ) -> Result<()> {
        let (lists, entries) = (usize::from(header.lists), header.entries as usize);
        if self.adjacency.codec() == Codec::Raw {
            let middle = HEADER_BYTES + entries * 4..bytes.len() - lists * 2;
            return check.check_zero(number, self.section, &bytes[middle]);
        }
        if decode::unused_is_zero(bytes, lists, entries) {
            return Ok(());
        }
        check.note_page(number, self.section, other("bits that should be zero are not"))
    }

    /// Checks one list, or a piece of one. Returns the first fault found.
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
            if let Some(stored) = self.next_degree(check)?
                && let Err(fault) = equal(what, list.degree, stored)
            {
                return Ok(Some(fault));
            }
        }
        Ok(self.entries_fault(list))
    }

    /// Adds the list to the sums. Returns whether the weights of a repeated entry fall.
    fn add(&mut self, list: &List<'_>) -> bool {
        let owner = u64::from(list.vertex);
        let mut falls = false;
        let mut weights = self.weights.as_mut().map(|weights| weights.of_list(list));
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

    /// Reads the weights of the next page's entries. Does nothing after a fault in the weights.
    fn next_weights(&mut self, check: &mut Check<'_>, page: u64, count: usize) -> Result<()> {
        let Some(PageWeights { column, stream, checked, batch, at, .. }) = &mut self.weights else {
            return Ok(());
        };
        *at = 0;
        let taken = stream.next_page(batch, |number, bytes, weights| {
            let page = number - column.first_page();
            let (word, bit) = (&mut checked[(page / 64) as usize], 1 << (page % 64));
            if *word & bit == 0 {
                *word |= bit;
                check_weights(check, column, number, bytes, weights)?;
            }
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
        self.sums.complete = false;
        Ok(())
    }

    fn entries_fault(&self, list: &List<'_>) -> Option<PageFault> {
        let (vertex, duplicates_kept) = (list.vertex, self.superblock.duplicates_kept);
        let falls = list.targets.windows(2).any(|pair| !ascends(pair[0], pair[1], duplicates_kept));
        if falls {
            return Some(other(format!("the list of vertex {vertex} does not ascend")));
        }
        if !self.superblock.self_loops_kept && list.targets.binary_search(&vertex).is_ok() {
            return Some(other(format!("vertex {vertex} stands in its own list")));
        }
        if self.deleted.is_empty() {
            return None;
        }
        let is_deleted = |vertex: &VertexId| self.deleted.binary_search(vertex).is_ok();
        if !list.targets.is_empty() && is_deleted(&vertex) {
            return Some(other(format!("vertex {vertex} is deleted, but its list has entries")));
        }
        let entry = list.targets.iter().find(|entry| is_deleted(entry))?;
        Some(other(format!("the list of vertex {vertex} has vertex {entry}, which is deleted")))
    }

    /// The number of entries of the next page by the index. `None` after a fault in the index.
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

    /// The length of the next list by the degrees. `None` after a fault in the degrees.
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
        if let Some(weights) = &self.weights {
            weights.check_unreferenced(check)?;
        }
        Ok(self.sums)
    }
}

/// Checks what a verified page of weights holds beside them.
fn check_weights(
    check: &mut Check<'_>,
    column: &WeightColumn,
    number: u64,
    bytes: &[u8],
    weights: &Weights<'_>,
) -> Result<()> {
    let section = column.section().kind.name();
    check.check_header(number, section, &PageHeader::read(bytes))?;
    let end = HEADER_BYTES + weights.as_bytes().len();
    check.check_zero(number, section, &bytes[end..])?;
    check.advance()
}

impl PageWeights<'_> {
    /// Checks the pages that hold the weight of no entry.
    fn check_unreferenced(&self, check: &mut Check<'_>) -> Result<()> {
        let (pages, first) = (&check.graph.pages, self.column.first_page());
        let is_checked = |page: u64| self.checked[(page / 64) as usize] >> (page % 64) & 1 == 1;
        let mut next = 0;
        while let Some(start) = (next..self.column.pages()).find(|page| !is_checked(*page)) {
            let end = (start..self.column.pages()).find(|page| is_checked(*page));
            next = end.unwrap_or(self.column.pages());
            let mut stream = pages.stream(first + start..first + next, Ahead::NEAR)?;
            while let Some((number, bytes)) = stream.next()? {
                match self.column.parse(number - first, bytes) {
                    Ok(weights) => check_weights(check, self.column, number, bytes, &weights)?,
                    Err(error) => check.note(error)?,
                }
            }
        }
        Ok(())
    }

    /// The weights of the next list of the page, and the entry before it.
    fn of_list(&mut self, list: &List<'_>) -> (&[u64], &mut Option<(VertexId, u32, u64)>) {
        let start = self.at;
        self.at += list.targets.len();
        (&self.batch[start..self.at], &mut self.last)
    }
}

fn ascends(a: u32, b: u32, duplicates_kept: bool) -> bool {
    a < b || (duplicates_kept && a == b)
}

/// The fault where a piece does not continue the list that the previous page ended in.
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

/// The seed of the hashes of a graph's edges and ranks.
pub(super) fn hash_key(superblock: &Superblock) -> u64 {
    mix(superblock.salt ^ 0x9e37_79b9_7f4a_7c15)
}

/// The finaliser of SplitMix64: every bit of the input affects every bit of the result.
pub(super) fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
