//! The lengths of the lists of a graph.

use std::ops::Range;

use super::DegreeReader;
use crate::delta::Lengths;
use crate::error::{Result, equal};
use crate::graph::Graph;
use crate::index::Adjacency;
use crate::stream::Ahead;
use crate::superblock::{Section, SectionKind};
use crate::workers::on_threads;
use crate::{Direction, VertexId};

/// Fewest pages of degrees that are worth another thread.
const PART_PAGES: u64 = 8;

/// Takes the lengths of the lists of a vertex and those behind it, beside what was taken of the
/// same range of vertices before.
pub type TakeDegrees<'t, T> = &'t (dyn Fn(&mut T, VertexId, &[u64]) + Sync);

impl Graph {
    /// Streams the lengths of all lists in vertex order: `out(v, [degree of v, of v + 1, ..])`.
    /// Reads the lists themselves where the degrees are missing or stale. Does nothing for a
    /// direction that the graph does not have.
    pub fn degrees(
        &self,
        direction: Direction,
        out: &mut dyn FnMut(VertexId, &[u64]),
    ) -> Result<()> {
        let Some(lists) = self.adjacency(direction) else { return Ok(()) };
        let Some(&section) = self.committed().fresh(self.degrees_kind(direction)) else {
            return self.degrees_from_lists(direction, out);
        };
        let all = Part { section, number: 0, parts: 1 };
        self.degrees_of(lists, &all, out).map(drop)
    }

    /// [`Graph::degrees`] by so many threads at most, fewer where the graph has few vertices. Each
    /// of several ranges that make up all vertices begins with a `T::default()` and is passed to
    /// `take` in vertex order; returned is what becomes of these, in the order of the ranges. For a
    /// direction that the graph does not have it is one that `take` has not seen.
    ///
    /// In memory: no more for reads than [`Graph::degrees`], and the lengths of a page a thread.
    ///
    /// # Errors
    /// As [`Graph::degrees`]; `take` may have had lengths of any range before.
    pub fn degrees_on<T: Default + Send>(
        &self,
        threads: usize,
        direction: Direction,
        take: TakeDegrees<'_, T>,
    ) -> Result<Vec<T>> {
        let lists = self.adjacency(direction);
        let section = self.committed().fresh(self.degrees_kind(direction)).copied();
        // Each has one read in flight at least, and all together as many as one thread.
        let threads = threads.min(Ahead::FAR.depth) as u64;
        let parts = section.map_or(1, |section| (section.pages / PART_PAGES).min(threads));
        let (Some(lists), Some(section), 2..) = (lists, section, parts) else {
            let mut taken = T::default();
            self.degrees(direction, &mut |first, degrees| take(&mut taken, first, degrees))?;
            return Ok(vec![taken]);
        };
        let mut done: Vec<Option<Result<_>>> = (0..parts).map(|_| None).collect();
        let items = (0..parts).map(|number| Part { section, number, parts }).zip(&mut done);
        on_threads(parts as usize, items.collect(), &|| (), &|(), (part, done)| {
            let mut taken = T::default();
            let mut out = |first, degrees: &[u64]| take(&mut taken, first, degrees);
            let ends = self.degrees_of(lists, &part, &mut out);
            *done = Some(ends.map(|ends| (ends, taken)));
        });
        let mut all = Vec::with_capacity(done.len());
        let mut next = 0;
        for (number, part) in (0..parts).zip(done) {
            let ([start, end], taken) = part.expect("each part was read")?;
            let page = section.first_page + Part { section, number, parts }.pages().start;
            let begins = equal("first vertex of a page of degrees", start, next);
            begins.map_err(|fault| self.layout().fault(page, section.kind.name(), fault))?;
            next = end;
            all.push(taken);
        }
        Ok(all)
    }

    /// Passes on the lengths of a part; returns its first vertex and that behind its last one on
    /// the device.
    fn degrees_of(
        &self,
        lists: &Adjacency,
        part: &Part,
        out: &mut dyn FnMut(VertexId, &[u64]),
    ) -> Result<[u64; 2]> {
        let Ahead { chunk_bytes, depth } = Ahead::FAR;
        let ahead = Ahead { chunk_bytes, depth: depth / part.parts as usize };
        let mut reader = DegreeReader::of_part(&self.pages, part.section, part.pages(), ahead)?;
        let mut lengths: Option<Lengths<'_>> = None;
        let mut ends: Option<[u64; 2]> = None;
        let mut merged = Vec::new();
        while let Some((first, degrees)) = reader.next()? {
            let end = u64::from(first) + degrees.len() as u64;
            if ends.is_none() {
                lengths = lists.lengths_from(first);
            }
            ends = Some([ends.map_or(first.into(), |[start, _]| start), end]);
            let Some(lengths) = &mut lengths else {
                out(first, degrees);
                continue;
            };
            merged.clear();
            for (vertex, &degree) in (first..).zip(degrees) {
                merged.push(degree.saturating_add_signed(lengths.of(vertex)?));
            }
            out(first, &merged);
        }
        let base = lists.stored_vertices();
        if part.is_last()
            && let Some(mut lengths) = lengths.or_else(|| lists.lengths_from(base))
        {
            merged.clear();
            for vertex in base..self.vertices() as VertexId {
                merged.push(lengths.of(vertex)?.unsigned_abs());
            }
            if !merged.is_empty() {
                out(base, &merged);
            }
        }
        Ok(ends.unwrap_or_default())
    }

    /// Pages that [`Graph::degrees`] reads for a direction: those of degrees, or of lists where the
    /// degrees are missing or stale. 0 for a direction that the graph does not have.
    pub fn degree_pages(&self, direction: Direction) -> u64 {
        let Some(lists) = self.adjacency(direction) else { return 0 };
        let kind = self.degrees_kind(direction);
        self.committed().fresh(kind).map_or(lists.pages(), |section| section.pages)
    }

    pub(crate) fn degrees_kind(&self, direction: Direction) -> SectionKind {
        match direction {
            Direction::In if self.is_directed() => SectionKind::InDegrees,
            _ => SectionKind::OutDegrees,
        }
    }

    /// [`Graph::degrees`] by a pass over the lists.
    pub(crate) fn degrees_from_lists(
        &self,
        direction: Direction,
        out: &mut dyn FnMut(VertexId, &[u64]),
    ) -> Result<()> {
        let mut degrees = Vec::new();
        self.scan(direction, &mut |_, page| {
            let begun = page.lists().filter(|list| list.skip == 0);
            degrees.clear();
            degrees.extend(begun.map(|list| list.degree));
            if !degrees.is_empty() {
                out(page.first_vertex() + VertexId::from(page.head_skip() > 0), &degrees);
            }
            Ok(())
        })
    }
}

/// One of several parts of a degrees section.
struct Part {
    section: Section,
    number: u64,
    parts: u64,
}

impl Part {
    /// Its pages, counted from the first of the section.
    fn pages(&self) -> Range<u64> {
        let start = |number: u64| self.section.pages * number / self.parts;
        start(self.number)..start(self.number + 1)
    }

    fn is_last(&self) -> bool {
        self.number + 1 == self.parts
    }
}
