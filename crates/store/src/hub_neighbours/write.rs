//! Writes the hub neighbours. It reads the lists back, because the lengths of later lists are not
//! known while an earlier one is written.

use std::ops::Range;
use std::sync::Arc;

use cenote_device::Device;

use super::{Finder, HubNeighbours, per_page};
use crate::VertexId;
use crate::error::Result;
use crate::format::{HEADER_BYTES, PageKind};
use crate::header::PageHeader;
use crate::index::Adjacency;
use crate::packed::decode::Decoded;
use crate::sink::PageTarget;
use crate::stream::Ahead;

/// A task ends with the page that reaches either limit.
const TASK_PAGES: u64 = 4096;
const TASK_VERTICES: u32 = 1 << 17;

const AHEAD: Ahead = Ahead { chunk_bytes: 256 << 10, depth: 4 };

/// The class of a list's length: four classes for each power of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LengthClass(u8);

impl LengthClass {
    /// The class of a length.
    pub fn of(length: u64) -> Self {
        Self(match length.checked_ilog2() {
            None => 0,
            // The class within a power of two is the two bits below the highest.
            Some(log) => (4 * log + ((length << 2 >> log) & 3) as u32 + 1) as u8,
        })
    }
}

/// The length class of every vertex's list.
pub(crate) struct Classes(Vec<LengthClass>);

impl From<Vec<LengthClass>> for Classes {
    fn from(classes: Vec<LengthClass>) -> Self {
        Self(classes)
    }
}

impl Classes {
    pub fn with_capacity(vertices: usize) -> Self {
        Self(Vec::with_capacity(vertices))
    }

    #[cfg(test)]
    pub fn of_degrees(degrees: impl Iterator<Item = u64>) -> Self {
        let mut classes = Self::with_capacity(0);
        degrees.for_each(|degree| classes.push(degree));
        classes
    }

    #[inline]
    pub fn push(&mut self, degree: u64) {
        self.0.push(LengthClass::of(degree));
    }

    #[inline(always)]
    pub fn of(&self, v: VertexId) -> i16 {
        i16::from(self.0[v as usize].0)
    }
}

pub(crate) struct HubNeighboursWriter<'a> {
    pub device: &'a Arc<dyn Device>,
    /// The lists, which are on the device already.
    pub adjacency: &'a Adjacency,
    pub classes: &'a Classes,
    pub threads: usize,
}

impl HubNeighboursWriter<'_> {
    /// Memory beside the classes (a byte a vertex) and the index (4 bytes a page).
    pub fn memory_bytes(threads: usize) -> usize {
        let task = AHEAD.chunk_bytes * AHEAD.depth
            + 2 * TASK_VERTICES as usize * size_of::<HubNeighbours>();
        threads * task
    }

    /// Reads the lists and writes the hub neighbours. `go_on` is called with the bytes read since
    /// its last call. Returns the number of pages, or `None` if `go_on` returned false.
    pub fn write(
        &self,
        sink: &mut impl PageTarget,
        go_on: &mut dyn FnMut(u64) -> bool,
    ) -> Result<Option<u64>> {
        let mut out = Pages { sink, filled: 0, first: 0, pages: 0 };
        let mut page = 0;
        while page < self.adjacency.pages() {
            let mut tasks = Vec::with_capacity(self.threads);
            while tasks.len() < self.threads && page < self.adjacency.pages() {
                let end = self.task_end(page);
                tasks.push(page..end);
                page = end;
            }
            // The caller's thread runs the first task, which is often the only one.
            let done = std::thread::scope(|scope| {
                let start = |pages: &Range<u64>| {
                    let own = pages.clone();
                    std::thread::Builder::new()
                        .spawn_scoped(scope, move || self.hub_neighbours_of(own))
                };
                let others: Vec<_> = tasks[1..].iter().map(|task| (task, start(task))).collect();
                let mut done = vec![self.hub_neighbours_of(tasks[0].clone())];
                done.extend(others.into_iter().map(
                    |(task, other)| match other.map(|o| o.join()) {
                        Ok(Ok(hub_neighbours)) => hub_neighbours,
                        Ok(Err(panic)) => std::panic::resume_unwind(panic),
                        // The system could not spawn a thread.
                        Err(_) => self.hub_neighbours_of(task.clone()),
                    },
                ));
                done
            });
            for hub_neighbours in done {
                hub_neighbours?.into_iter().try_for_each(|hubs| out.push(hubs))?;
            }
            let pages = page - tasks[0].start;
            if !go_on(pages * self.adjacency.page_bytes() as u64) {
                return Ok(None);
            }
        }
        out.finish().map(Some)
    }

    /// The end of the task that starts with page `start`: a page that continues no list.
    fn task_end(&self, start: u64) -> u64 {
        let first = self.adjacency.starts_from(start);
        let mut end = start + 1;
        while end < self.adjacency.pages() {
            let vertices = self.adjacency.starts_from(end) - first;
            let is_large = end - start >= TASK_PAGES || vertices >= TASK_VERTICES;
            if is_large && !self.adjacency.continues(end) {
                break;
            }
            end += 1;
        }
        end
    }

    /// The hub neighbours of the vertices whose lists lie in `pages`.
    fn hub_neighbours_of(&self, pages: Range<u64>) -> Result<Vec<HubNeighbours>> {
        let first = self.adjacency.first_page();
        let numbers = first + pages.start..first + pages.end;
        let mut stream = self.adjacency.stream(self.device.as_ref(), numbers, AHEAD)?;
        let mut decoded = Decoded::new();
        let mut finder = Finder::new(self.classes);
        while let Some((number, bytes)) = stream.next()? {
            finder.page(&self.adjacency.parse(number - first, bytes, &mut decoded)?);
        }
        finder.end();
        Ok(finder.found)
    }
}

struct Pages<'a, T> {
    sink: &'a mut T,
    filled: usize,
    first: VertexId,
    pages: u64,
}

impl<T: PageTarget> Pages<'_, T> {
    fn push(&mut self, hubs: HubNeighbours) -> Result<()> {
        let at = HEADER_BYTES + self.filled * size_of::<HubNeighbours>();
        self.sink.page()[at..at + size_of::<HubNeighbours>()]
            .copy_from_slice(bytemuck::bytes_of(&hubs));
        self.filled += 1;
        let is_full = self.filled == per_page(self.sink.page_bytes());
        if is_full { self.seal() } else { Ok(()) }
    }

    fn seal(&mut self) -> Result<()> {
        let entries = std::mem::take(&mut self.filled) as u32;
        let header =
            PageHeader { first: self.first, entries, ..PageHeader::new(PageKind::HubNeighbours) };
        self.first += entries;
        self.pages += 1;
        self.sink.seal(header)
    }

    fn finish(mut self) -> Result<u64> {
        if self.filled > 0 {
            self.seal()?;
        }
        Ok(self.pages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_rise_with_the_length_and_are_four_to_a_power_of_two() {
        let found: Vec<u8> = (0..=17).map(|length| LengthClass::of(length).0).collect();
        assert_eq!(found, [0, 1, 5, 7, 9, 10, 11, 12, 13, 13, 14, 14, 15, 15, 16, 16, 17, 17]);
        assert_eq!(LengthClass::of(u64::from(u32::MAX)).0, 128);
    }
}
