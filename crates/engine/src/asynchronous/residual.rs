//! The residual graph: lists of processed pages whose vertices may still become active, kept in
//! memory so that the pages need not be read again.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use cenote_device::HugeVec;
use cenote_store::{List, Page, VertexId};

use crate::error::Result;

/// Words before the entries of a block.
const HEADER: usize = 8;
const HAS_HEAD: usize = 1;
const HEAD_SKIP: usize = 2;
const HEAD_DEGREE: usize = 4;
const TAIL_DEGREE: usize = 6;

/// Blocks of 4-byte words, at most one per page. Only the worker that has taken a page accesses its
/// block.
///
/// A block: number of entries; whether the first entry is a piece that the page continues, its
/// `skip` and `degree`; `degree` of the last entry, which the next page may continue; for each
/// entry its vertex and the end of its targets; the targets.
#[derive(Debug)]
pub(super) struct Residual {
    words: HugeVec<AtomicU32>,
    used: AtomicU64,
    /// For each page the start of its block plus one; 0 without a block.
    blocks: HugeVec<AtomicU64>,
}

impl Residual {
    /// Space for `bytes` of lists of `pages`.
    pub fn new(pages: u64, bytes: u64) -> Result<Self> {
        let pages = if bytes == 0 { 0 } else { pages };
        Ok(Self {
            words: HugeVec::zeroed((bytes / 4) as usize)?,
            used: AtomicU64::new(0),
            blocks: HugeVec::zeroed(pages as usize)?,
        })
    }

    /// Bytes beside the lists themselves.
    pub fn bytes_for(pages: u64) -> u64 {
        pages * 8
    }

    /// Bytes of the lists of all pages, if all are kept.
    pub fn bytes_of(vertices: u64, pages: u64, entries: u64) -> u64 {
        // A list that spans pages has an entry in the block of each.
        4 * ((HEADER as u64 + 2) * pages + 2 * vertices + entries)
    }

    /// Keeps the lists of `page`, number `number` in its section, whose vertices
    /// `may_become_active`, built in `scratch`; false if they do not fit.
    pub fn keep(
        &self,
        number: u64,
        page: &Page<'_>,
        may_become_active: impl Fn(VertexId) -> bool,
        scratch: &mut Vec<u32>,
    ) -> bool {
        if self.words.is_empty() {
            return false;
        }
        build(|| page.lists(), may_become_active, scratch);
        if scratch.len() == HEADER {
            return true;
        }
        let len = scratch.len() as u64;
        let Some(start) = self.take(len) else { return false };
        for (word, &value) in self.words[start as usize..].iter().zip(scratch.iter()) {
            word.store(value, Ordering::Relaxed);
        }
        self.blocks[number as usize].store(start + 1, Ordering::Relaxed);
        true
    }

    /// Allocates words if they fit; returns the first.
    fn take(&self, len: u64) -> Option<u64> {
        let space = self.words.len() as u64;
        let with = |used| (len <= space - used).then_some(used + len);
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, with).ok()
    }

    /// Whether to keep a page without active lists: it has no block, and half of the space is
    /// reserved for pages with active lists.
    pub fn has_room_for(&self, number: u64) -> bool {
        let used = self.used.load(Ordering::Relaxed);
        2 * used < self.words.len() as u64 && self.block(number).is_none()
    }

    /// The block of a page.
    pub fn block(&self, number: u64) -> Option<Block<'_>> {
        let start = self.blocks.get(number as usize)?.load(Ordering::Relaxed).checked_sub(1)?;
        Some(Block { words: &self.words[start as usize..] })
    }
}

/// Builds the block of the lists whose vertices may become active. Calls `may_become_active` once
/// per list, since its result may change meanwhile.
fn build<'a, I: Iterator<Item = List<'a>>>(
    lists: impl Fn() -> I,
    may_become_active: impl Fn(VertexId) -> bool,
    words: &mut Vec<u32>,
) {
    words.clear();
    words.resize(HEADER, 0);
    let mut end = 0;
    for list in lists().filter(|list| may_become_active(list.vertex)) {
        end += list.targets.len() as u32;
        words.extend([list.vertex, end]);
        if words[0] == 0 && list.skip > 0 {
            words[HAS_HEAD] = 1;
            set_long(words, HEAD_SKIP, list.skip);
            set_long(words, HEAD_DEGREE, list.degree);
        }
        words[0] += 1;
        set_long(words, TAIL_DEGREE, list.degree);
    }
    let (mut entry, entries_end) = (HEADER, words.len());
    for list in lists() {
        if entry < entries_end && words[entry] == list.vertex {
            words.extend_from_slice(list.targets);
            entry += 2;
        }
    }
}

fn set_long(words: &mut [u32], at: usize, value: u64) {
    words[at] = value as u32;
    words[at + 1] = (value >> 32) as u32;
}

/// The residual lists of a page.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block<'a> {
    words: &'a [AtomicU32],
}

impl Block<'_> {
    fn word(&self, at: usize) -> u32 {
        self.words[at].load(Ordering::Relaxed)
    }

    fn long(&self, at: usize) -> u64 {
        u64::from(self.word(at)) | u64::from(self.word(at + 1)) << 32
    }

    fn entries(&self) -> usize {
        self.word(0) as usize
    }

    fn vertex(&self, i: usize) -> VertexId {
        self.word(HEADER + 2 * i)
    }

    fn end(&self, i: usize) -> usize {
        self.word(HEADER + 2 * i + 1) as usize
    }

    /// The piece of `v`'s list, its targets copied to `targets`; None if it was not kept. `page` is
    /// the page's number in the file.
    pub fn list<'t>(&self, v: VertexId, page: u64, targets: &'t mut Vec<u32>) -> Option<List<'t>> {
        let (mut low, mut high) = (0, self.entries());
        while low < high {
            let middle = usize::midpoint(low, high);
            if self.vertex(middle) < v {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let (i, entries) = (low, self.entries());
        if i == entries || self.vertex(i) != v {
            return None;
        }
        let start = if i == 0 { 0 } else { self.end(i - 1) };
        let first = HEADER + 2 * entries;
        targets.clear();
        let words = &self.words[first + start..first + self.end(i)];
        targets.extend(words.iter().map(|word| word.load(Ordering::Relaxed)));
        let is_head = i == 0 && self.word(HAS_HEAD) == 1;
        let skip = if is_head { self.long(HEAD_SKIP) } else { 0 };
        let degree = if is_head {
            self.long(HEAD_DEGREE)
        } else if i + 1 == entries {
            self.long(TAIL_DEGREE)
        } else {
            targets.len() as u64
        };
        Some(List { vertex: v, page, skip, degree, targets })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vertex_that_comes_while_its_page_is_kept_moves_no_other_list() {
        let lists = [(3, [30, 31]), (4, [40, 41]), (7, [70, 71])];
        let lists = || {
            lists.iter().map(|(vertex, targets)| List {
                vertex: *vertex,
                page: 0,
                skip: 0,
                degree: 2,
                targets,
            })
        };
        // A vertex comes right after the question.
        let visited = std::cell::RefCell::new(vec![7]);
        let may_become_active = |v| {
            let may = !visited.borrow().contains(&v);
            visited.borrow_mut().push(v);
            may
        };
        let mut words = Vec::new();
        build(lists, may_become_active, &mut words);
        let words: Vec<AtomicU32> = words.into_iter().map(AtomicU32::new).collect();
        let (block, mut targets) = (Block { words: &words }, Vec::new());
        assert_eq!(block.list(3, 0, &mut targets).unwrap().targets, [30, 31]);
        assert_eq!(block.list(4, 0, &mut targets).unwrap().targets, [40, 41]);
        assert!(block.list(7, 0, &mut targets).is_none());
    }

    #[test]
    fn workers_that_fill_the_space_to_its_end_take_words_of_their_own() {
        for seed in 0..200 {
            let residual = Residual::new(1, 4 * 5000).unwrap();
            let take = |worker: u64| {
                let lengths = (0..400).map(|i| (i * 7919 + worker * 31 + seed) % 97 + 1);
                let taken =
                    lengths.filter_map(|len| residual.take(len).map(|start| start..start + len));
                taken.collect::<Vec<_>>()
            };
            let take = &take;
            let mut taken: Vec<_> = std::thread::scope(|scope| {
                let workers = [0, 1, 2].map(|worker| scope.spawn(move || take(worker)));
                workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
            });
            taken.sort_by_key(|words| words.start);
            let apart = taken.windows(2).all(|two| two[0].end <= two[1].start);
            assert!(apart && taken.last().unwrap().end <= 5000, "seed {seed}");
        }
    }
}
