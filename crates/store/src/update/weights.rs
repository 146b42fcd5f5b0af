//! The weights of lists that change: which addresses they get, and which pages of the column.
//!
//! Weights that fit the addresses that their lists had go there, the others behind the last
//! address. What that leaves unreferenced stays in the column until a batch would make it half of
//! the column: such a batch writes all weights anew, in the order of the lists. So does one with a
//! weight that needs more bytes than those of the column have.

use std::collections::BTreeMap;
use std::ops::Range;

use cenote_device::Buffer;
use cenote_pool::{Handle, PageId};

use crate::error::{Result, equal};
use crate::format::{Codec, HEADER_BYTES, PageKind};
use crate::graph::Graph;
use crate::header::PageHeader;
use crate::index::word_entries;
use crate::store::draft::{Draft, SectionEdit};
use crate::weights::column::{self, WeightColumn};
use crate::weights::format::WeightFormat;
use crate::weights::stream::WeightStream;
use crate::weights::summary::{SummaryEdit, Tally, WeightSummary};
use crate::weights::value::Weight;
use crate::{Adjacency, Direction};

/// Bytes of pages that wait to be written: pages of weights lie next to each other, not between
/// those of lists.
const OPEN_BYTES: usize = 1 << 20;

/// A column whose weights change.
pub(super) struct ColumnEdit<'a> {
    graph: &'a Graph,
    adjacency: &'a Adjacency,
    column: &'a WeightColumn,
    handle: Handle,
    /// How the weights are stored from now on. All are written anew if that is another way.
    format: WeightFormat,
    per_page: u64,
    /// Pages that stay unless they are in one of the maps. None if all weights are written anew.
    pages: u64,
    /// The address behind the last one.
    end: u64,
    /// Pages with new weights.
    open: BTreeMap<u64, Buffer>,
    /// Pages that were written, and where. They do not change any more.
    written: BTreeMap<u64, PageId>,
    /// Pages of lists, and the words that take the place of theirs in the weight index.
    words: Vec<(Range<u64>, Vec<u64>)>,
    whole: Option<Whole<'a>>,
    summary: SummaryEdit,
    is_changed: bool,
}

/// The weights of lists, as they are before they change.
pub(super) struct ColumnOf<'a> {
    pub graph: &'a Graph,
    pub adjacency: &'a Adjacency,
    pub column: &'a WeightColumn,
}

impl ColumnOf<'_> {
    /// Appends the weights of a page of lists, which has so many entries, as ordered bits.
    pub fn read(
        &self,
        handle: &Handle,
        page: u64,
        entries: usize,
        out: &mut Vec<u64>,
    ) -> Result<()> {
        let addresses = self.column.addresses_of(page);
        equal("number of weights of a page", addresses.end - addresses.start, entries as u64)
            .map_err(|fault| self.adjacency.fault(page, fault))?;
        let per_page = self.column.per_page() as u64;
        for page in self.column.pages_of(addresses.clone()) {
            let bytes = self.graph.pages.pin(handle, self.column.first_page() + page)?;
            let weights = self.column.reparse(page, &bytes);
            let first = page * per_page;
            let from = addresses.start.max(first) - first;
            let to = addresses.end.min(first + weights.len() as u64) - first;
            let weights = weights.slice(from as usize..to as usize);
            weights.for_each_ordered(|bits| out.push(bits));
        }
        Ok(())
    }
}

/// A column that is written anew.
struct Whole<'a> {
    stream: WeightStream<'a>,
    /// The next page of lists whose weights are copied.
    next: u64,
    words: Vec<u64>,
    tally: Tally,
}

/// What became of a column.
#[derive(Debug)]
pub(super) struct EditedColumn {
    /// As in [`Rewritten::groups`](super::one_direction::Rewritten::groups).
    pub words: Vec<(Range<u64>, Vec<u64>)>,
    pub summary: WeightSummary,
}

impl<'a> ColumnEdit<'a> {
    /// `None` in a graph without weights. `touched` are the pages whose lists the batch concerns,
    /// `weights` those it may give to edges.
    pub fn begin(
        graph: &'a Graph,
        direction: Direction,
        touched: impl Iterator<Item = Range<u64>>,
        weights: &[Option<Weight>],
    ) -> Result<Option<Self>> {
        let Some(column) = graph.load_weights(direction)? else { return Ok(None) };
        let adjacency = graph.adjacency(direction).expect("it has weights");
        let summary = graph.superblock().weights.expect("the graph has weights");
        let (items, stored) = (column.section().items, adjacency.stored_edges());
        let touched = touched.flatten().map(|page| {
            let addresses = column.addresses_of(page);
            addresses.end - addresses.start
        });
        let unreferenced_max = items - stored + touched.sum::<u64>();
        let given = weights.iter().filter_map(|weight| weight.and_then(Weight::ordered));
        let format = given.fold(column.format(), WeightFormat::with);
        let mut edit = Self {
            graph,
            adjacency,
            column,
            handle: graph.handle()?,
            format,
            per_page: column::per_page(format, graph.page_bytes()) as u64,
            pages: column.pages(),
            end: items,
            open: BTreeMap::new(),
            written: BTreeMap::new(),
            words: Vec::new(),
            whole: None,
            summary: SummaryEdit::new(summary, stored),
            is_changed: false,
        };
        if unreferenced_max > items / 2 || format != column.format() {
            (edit.pages, edit.end) = (0, 0);
            let stream = WeightStream::new(&graph.pages, column)?;
            let (words, tally) = (Vec::new(), Tally::new(column.kind()));
            edit.whole = Some(Whole { stream, next: 0, words, tally });
        }
        Ok(Some(edit))
    }

    /// Follows the weights of entries, before and after, in the superblock's summary.
    pub fn follow(&mut self, swaps: &[[Option<u64>; 2]]) {
        for [before, after] in swaps {
            before.iter().for_each(|&weight| self.summary.remove(weight));
            after.iter().for_each(|&weight| self.summary.add(weight));
        }
    }

    /// Writes the weights of pages of lists that were packed anew; `index` are the index words of
    /// those that take their place.
    pub fn replace(
        &mut self,
        draft: &mut Draft<'_>,
        pages: &Range<u64>,
        index: &[u64],
        weights: &[u64],
    ) -> Result<()> {
        self.is_changed = true;
        let counts: Vec<u64> = index.iter().map(|word| word_entries(*word)).collect();
        if self.whole.is_some() {
            return self.append_group(draft, pages, &counts, weights);
        }
        let address = self.place(self.addresses_of(pages), weights.len() as u64);
        self.words.push((pages.clone(), words_from(address, &counts)));
        self.write(draft, address, weights)
    }

    /// Writes the weights of pages of lists that stay, of which the `changed` entries have others.
    pub fn reweigh(
        &mut self,
        draft: &mut Draft<'_>,
        pages: &Range<u64>,
        weights: &[u64],
        changed: &[usize],
    ) -> Result<()> {
        self.is_changed = true;
        let counts = pages.clone().map(|page| self.column.addresses_of(page));
        let counts: Vec<u64> = counts.map(|addresses| addresses.end - addresses.start).collect();
        if self.whole.is_some() {
            return self.append_group(draft, pages, &counts, weights);
        }
        let (mut start, mut changed) = (0, changed);
        for (page, count) in pages.clone().zip(counts) {
            let end = start + count as usize;
            let own = changed.partition_point(|at| *at < end);
            if own > 0 {
                let before = self.column.addresses_of(page);
                let address = self.place(before.clone(), count);
                if address != before.start {
                    self.words.push((page..page + 1, vec![column::word(address, count)]));
                }
                self.write(draft, address, &weights[start..end])?;
            }
            (start, changed) = (end, &changed[own..]);
        }
        Ok(())
    }

    /// Adjacent addresses of the weights of the first of these pages of lists, as many as follow
    /// each other.
    fn addresses_of(&self, pages: &Range<u64>) -> Range<u64> {
        let mut runs = pages.clone().map(|page| self.column.addresses_of(page));
        let runs = runs.by_ref().filter(|run| !run.is_empty());
        let mut all: Option<Range<u64>> = None;
        for run in runs {
            match &mut all {
                Some(all) if all.end == run.start => all.end = run.end,
                Some(_) => break,
                None => all = Some(run),
            }
        }
        all.unwrap_or(self.end..self.end)
    }

    /// The pages for the weights at these addresses.
    fn pages_of(&self, addresses: Range<u64>) -> Range<u64> {
        column::pages_of(addresses, self.per_page)
    }

    /// The address for so many weights that have had these addresses.
    fn place(&mut self, before: Range<u64>, count: u64) -> u64 {
        let has_room = count <= before.end - before.start || before.end == self.end;
        let mut pages = self.pages_of(before.start..before.start + count);
        let address = match has_room && !pages.any(|page| self.written.contains_key(&page)) {
            true => before.start,
            false => self.end,
        };
        self.end = self.end.max(address + count);
        address
    }

    /// Writes weights to addresses from `address` on.
    fn write(&mut self, draft: &mut Draft<'_>, address: u64, weights: &[u64]) -> Result<()> {
        let (format, per_page) = (self.format, self.per_page);
        let pages = self.pages_of(address..address + weights.len() as u64);
        let mut rest = weights;
        for page in pages.clone() {
            if self.open.len() * self.graph.page_bytes() > OPEN_BYTES {
                self.flush(draft, page..pages.end)?;
            }
            let first = address.max(page * per_page) - page * per_page;
            let (now, later) = rest.split_at(rest.len().min((per_page - first) as usize));
            let bytes = self.open(page)?;
            let at = HEADER_BYTES + first as usize * format.bytes();
            for (into, &weight) in bytes[at..].chunks_exact_mut(format.bytes()).zip(now) {
                format.put(weight, into);
            }
            rest = later;
        }
        assert!(rest.is_empty(), "the pages hold all weights");
        Ok(())
    }

    /// A page in memory, with the weights that it has so far.
    fn open(&mut self, page: u64) -> Result<&mut Buffer> {
        assert!(!self.written.contains_key(&page), "page {page} of weights is written once");
        if !self.open.contains_key(&page) {
            let mut buffer = Buffer::new(self.graph.page_bytes())?;
            if page < self.pages {
                let bytes = self.graph.pages.pin(&self.handle, self.column.first_page() + page)?;
                let weights = self.column.reparse(page, &bytes).as_bytes();
                buffer[HEADER_BYTES..HEADER_BYTES + weights.len()].copy_from_slice(weights);
            }
            self.open.insert(page, buffer);
        }
        Ok(self.open.get_mut(&page).expect("it was just opened"))
    }

    /// Writes the open pages, except for those that are `busy` and the last one if it has room.
    fn flush(&mut self, draft: &mut Draft<'_>, busy: Range<u64>) -> Result<()> {
        let per_page = self.per_page;
        for (page, mut buffer) in std::mem::take(&mut self.open) {
            let first = page * per_page;
            if busy.contains(&page) || (first..first + per_page).contains(&self.end) {
                self.open.insert(page, buffer);
            } else {
                self.seal(draft, page, &mut buffer)?;
            }
        }
        Ok(())
    }

    fn seal(&mut self, draft: &mut Draft<'_>, page: u64, buffer: &mut Buffer) -> Result<()> {
        let head_skip = page * self.per_page;
        let entries = (self.end - head_skip).min(self.per_page) as u32;
        let header = PageHeader { entries, head_skip, ..PageHeader::new(PageKind::Weights) };
        let physical = draft.append(header, buffer)?;
        self.written.insert(page, physical);
        Ok(())
    }

    /// Replaces the section, if anything has changed. `stored` is the number of entries now.
    pub fn finish(mut self, draft: &mut Draft<'_>, stored: u64) -> Result<Option<EditedColumn>> {
        if !self.is_changed {
            return Ok(None);
        }
        let before = self.adjacency.pages();
        self.copy_to(draft, before)?;
        for (page, mut buffer) in std::mem::take(&mut self.open) {
            self.seal(draft, page, &mut buffer)?;
        }
        let mut summary = self.summary.finish(stored);
        if let Some(whole) = self.whole {
            summary = whole.tally.summary();
            self.words = vec![(0..before, whole.words)];
        }
        summary.format = self.format;
        let pages = self.end.div_ceil(self.per_page);
        // Even if no page changes: the section is of the epoch of its lists.
        let (mut section, mut next) = (SectionEdit::new(draft)?, 0);
        for (page, physical) in self.written {
            section.keep(next..page);
            section.add(physical);
            next = page + 1;
        }
        section.keep(next..pages);
        section.finish(self.column.section().kind, Codec::Raw, self.end);
        Ok(Some(EditedColumn { words: self.words, summary }))
    }
}

/// A column that is written anew.
impl ColumnEdit<'_> {
    /// Copies the weights of the pages of lists before `end`.
    fn copy_to(&mut self, draft: &mut Draft<'_>, end: u64) -> Result<()> {
        let mut weights = Vec::new();
        while let Some(whole) = self.whole.as_mut().filter(|whole| whole.next < end) {
            whole.next += 1;
            whole.stream.next_page(&mut weights, |_, _, _| Ok(()))?;
            self.append(draft, &[weights.len() as u64], &weights)?;
        }
        Ok(())
    }

    fn append_group(
        &mut self,
        draft: &mut Draft<'_>,
        pages: &Range<u64>,
        counts: &[u64],
        weights: &[u64],
    ) -> Result<()> {
        self.copy_to(draft, pages.start)?;
        if let Some(whole) = &mut self.whole {
            whole.next = pages.end;
            pages.clone().try_for_each(|_| whole.stream.skip_page())?;
        }
        self.append(draft, counts, weights)
    }

    /// Appends the weights of pages of lists with so many entries.
    fn append(&mut self, draft: &mut Draft<'_>, counts: &[u64], weights: &[u64]) -> Result<()> {
        let address = self.end;
        self.end += weights.len() as u64;
        if let Some(whole) = &mut self.whole {
            whole.words.extend(words_from(address, counts));
            weights.iter().for_each(|weight| whole.tally.add(*weight));
        }
        self.write(draft, address, weights)
    }
}

/// The words of pages of lists with so many entries, whose weights follow each other.
fn words_from(mut address: u64, counts: &[u64]) -> Vec<u64> {
    let words = counts.iter().map(|&count| {
        let first = address;
        address += count;
        column::word(first, count)
    });
    words.collect()
}
