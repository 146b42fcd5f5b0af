//! Similarities of given pairs.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use cenote_engine::{
    ActiveSet, Bitmap, Direction, Engine, Frontier, Graph, HugeVec, Kernel, List, VertexId,
};

use super::top::Expected;
use super::{Result, Rules, Similarity};

/// Bytes of a pair: itself, its place in the order, its sum and its row.
const PAIR_BYTES: u64 = 8 + 4 + 8 + 16;

/// Bytes of a kept list beside its entries.
const LIST_BYTES: u64 = size_of::<Kept>() as u64;

/// A list this many times as long as the other is searched, not walked through.
const SEARCH_SHARE: usize = 16;

/// Bytes of a bit for every vertex.
fn row_bytes(graph: &Graph) -> u64 {
    4 * row_words(graph) as u64
}

fn row_words(graph: &Graph) -> usize {
    graph.vertices().div_ceil(32)
}

/// The pairs and their sums.
pub(super) struct Pairs<'a> {
    engine: &'a Engine,
    rules: Rules<'a>,
    pairs: &'a [(VertexId, VertexId)],
    /// Pairs by the vertex whose list passes by.
    order: Vec<u32>,
    sums: Vec<AtomicU64>,
    /// Vertices whose lists are kept.
    is_kept: Bitmap,
    load: Frontier,
    pass: Frontier,
}

/// A list in memory.
#[derive(Clone, Copy, Debug)]
struct Kept {
    vertex: VertexId,
    /// Whether it is a bit for every vertex, not numbers.
    is_row: bool,
    /// Its first word.
    first: usize,
}

impl<'a> Pairs<'a> {
    /// Bytes of so many pairs with the longest list, and for further lists.
    pub fn bytes_for(graph: &Graph, pairs: u64) -> (u64, u64) {
        let one = row_bytes(graph).min(4 * graph.superblock().degree_max) + LIST_BYTES;
        let lists = pairs.min(graph.vertices() as u64);
        let all = lists * LIST_BYTES + 4 * graph.superblock().stored_out;
        (pairs * PAIR_BYTES + one, all.min(lists.saturating_mul(one)))
    }

    /// About what is read, with so much memory for further lists.
    pub fn reads_for(graph: &Graph, pairs: u64, scratch_bytes: u64) -> Expected {
        let n = graph.vertices() as u64;
        let mean = graph.superblock().stored_out as f64 / n.max(1) as f64;
        let kept = pairs.min(n) as f64 * (4.0 * mean + LIST_BYTES as f64);
        let one = row_bytes(graph).min(4 * graph.superblock().degree_max) + LIST_BYTES;
        let batches = (kept / (scratch_bytes + one) as f64).max(1.0);
        Expected { lists: 2.0 * pairs as f64, entries: mean, batches }
    }

    pub fn new(
        engine: &'a Engine,
        rules: Rules<'a>,
        pairs: &'a [(VertexId, VertexId)],
    ) -> Result<Self> {
        let n = engine.graph().vertices();
        let mut order: Vec<u32> = (0..pairs.len() as u32).collect();
        let ends = |at: &u32| split(rules, pairs[*at as usize]);
        // Whose list is empty has no common neighbour.
        order.retain(|at| rules.degrees.of(ends(at).0) > 0);
        order.sort_unstable_by_key(|at| {
            let (kept, passing) = ends(at);
            (passing, kept)
        });
        Ok(Self {
            engine,
            rules,
            pairs,
            order,
            sums: pairs.iter().map(|_| AtomicU64::new(0)).collect(),
            is_kept: Bitmap::new(n)?,
            load: Frontier::new(n)?,
            pass: Frontier::new(n)?,
        })
    }

    /// The rows in the given order, and how many batches there were.
    pub fn run(mut self) -> Result<(Vec<Similarity>, u64)> {
        let (mut next, mut batches) = (0, 0);
        while next < self.order.len() {
            let (end, words) = self.fitting(next);
            batches += 1;
            self.batch(next..end, words, batches)?;
            next = end;
        }
        let rows = self.pairs.iter().zip(&self.sums).map(|(&(source, target), sum)| {
            let sum = sum.load(Ordering::Relaxed);
            Similarity { source, target, score: self.rules.score(source, target, sum) }
        });
        Ok((rows.collect(), batches))
    }

    /// Marks the lists to keep for as many of the pairs from `first` on as fit in memory, one at
    /// least. Returns the end of these pairs, and the words of the lists.
    fn fitting(&self, first: usize) -> (usize, usize) {
        let graph = self.engine.graph();
        let one = row_bytes(graph).min(4 * graph.superblock().degree_max) + LIST_BYTES;
        let room = self.engine.memory().scratch_bytes + one;
        let (mut bytes, mut words) = (0, 0);
        for (at, &pair) in self.order.iter().enumerate().skip(first) {
            let (kept, _) = split(self.rules, self.pairs[pair as usize]);
            if self.is_kept.contains(kept) {
                continue;
            }
            let of_list = self.words_of(kept);
            bytes += 4 * of_list as u64 + LIST_BYTES;
            if at > first && bytes > room {
                return (at, words);
            }
            words += of_list;
            self.is_kept.insert(kept);
        }
        (self.order.len(), words)
    }

    /// Words of a list in memory.
    fn words_of(&self, v: VertexId) -> usize {
        (self.rules.degrees.of(v) as usize).min(row_words(self.engine.graph()))
    }

    /// Keeps the marked lists, then passes the others by them.
    fn batch(&mut self, of: Range<usize>, words: usize, number: u64) -> Result<()> {
        self.load.set(self.is_kept.iter());
        let mut first = 0;
        let mut lists = Vec::with_capacity(self.load.count() as usize);
        for vertex in self.is_kept.iter() {
            let of_list = self.words_of(vertex);
            let is_row = of_list < self.rules.degrees.of(vertex) as usize;
            lists.push(Kept { vertex, is_row, first });
            first += of_list;
        }
        self.is_kept.clear();
        let kept = Lists { lists, words: HugeVec::zeroed(words)? };
        let (load, pass) = (format!("batch {number}: keep"), format!("batch {number}: compare"));
        let (direction, active) = (Direction::Out, ActiveSet::In(&self.load));
        self.engine.visit(load, direction, active, &Load(&kept))?;
        let jobs = &self.order[of];
        let passing = |at: &u32| split(self.rules, self.pairs[*at as usize]).1;
        self.pass.set(jobs.iter().map(passing));
        let compare = Compare { of: self, jobs, kept: &kept };
        self.engine.visit(pass, direction, ActiveSet::In(&self.pass), &compare)?;
        Ok(())
    }
}

/// The vertex whose list is kept, and the one whose list passes by: that of larger degree.
fn split(rules: Rules<'_>, (a, b): (VertexId, VertexId)) -> (VertexId, VertexId) {
    let key = |v| (rules.degrees.of(v), v);
    if key(a) <= key(b) { (a, b) } else { (b, a) }
}

/// Lists in memory, by vertex.
struct Lists {
    lists: Vec<Kept>,
    words: HugeVec<AtomicU32>,
}

impl Lists {
    fn of(&self, v: VertexId) -> Option<(Kept, &[AtomicU32])> {
        let at = self.lists.binary_search_by_key(&v, |list| list.vertex).ok()?;
        let end = self.lists.get(at + 1).map_or(self.words.len(), |next| next.first);
        Some((self.lists[at], &self.words[self.lists[at].first..end]))
    }
}

/// Keeps lists.
struct Load<'a>(&'a Lists);

impl Kernel for Load<'_> {
    type Local = ();

    fn local(&self) {}

    fn list(&self, (): &mut (), list: &List<'_>) {
        let Some((kept, words)) = self.0.of(list.vertex) else { return };
        if kept.is_row {
            for &target in list.targets {
                words[target as usize / 32].fetch_or(1 << (target % 32), Ordering::Relaxed);
            }
            return;
        }
        let places = words.iter().skip(list.skip as usize);
        for (word, &target) in places.zip(list.targets) {
            word.store(target, Ordering::Relaxed);
        }
    }
}

/// Compares lists that pass by with kept ones.
struct Compare<'a> {
    of: &'a Pairs<'a>,
    jobs: &'a [u32],
    kept: &'a Lists,
}

impl Kernel for Compare<'_> {
    type Local = ();

    fn local(&self) {}

    fn list(&self, (): &mut (), list: &List<'_>) {
        let ends = |at: u32| split(self.of.rules, self.of.pairs[at as usize]);
        let first = self.jobs.partition_point(|&at| ends(at).1 < list.vertex);
        let of_list = self.jobs[first..].iter().take_while(|&&at| ends(at).1 == list.vertex);
        for &at in of_list {
            let Some((kept, words)) = self.kept.of(ends(at).0) else { continue };
            let sum = match kept.is_row {
                true => self.common_with_row(list.targets, words),
                false => self.common(list.targets, words),
            };
            self.of.sums[at as usize].fetch_add(sum, Ordering::Relaxed);
        }
    }
}

impl Compare<'_> {
    fn common_with_row(&self, targets: &[VertexId], row: &[AtomicU32]) -> u64 {
        let has = |w: VertexId| row[w as usize / 32].load(Ordering::Relaxed) >> (w % 32) & 1 == 1;
        targets.iter().filter(|&&w| has(w)).map(|&w| self.of.rules.value(w)).sum()
    }

    /// The sum over the common entries of two ascending lists.
    fn common(&self, targets: &[VertexId], kept: &[AtomicU32]) -> u64 {
        let entry = |word: &AtomicU32| word.load(Ordering::Relaxed);
        let value = |w: VertexId| self.of.rules.value(w);
        let (Some(&least), Some(&most)) = (targets.first(), targets.last()) else { return 0 };
        // Of a long list only a piece passes by.
        let first = kept.partition_point(|word| entry(word) < least);
        let end = kept.partition_point(|word| entry(word) <= most);
        let kept = &kept[first..end];
        if kept.len() * SEARCH_SHARE < targets.len() {
            let found = kept.iter().map(entry).filter(|w| targets.binary_search(w).is_ok());
            return found.map(value).sum();
        }
        if targets.len() * SEARCH_SHARE < kept.len() {
            let has = |w: &&VertexId| kept.binary_search_by_key(*w, entry).is_ok();
            return targets.iter().filter(has).map(|&w| value(w)).sum();
        }
        let (mut sum, mut others) = (0, kept.iter().map(entry).peekable());
        for &w in targets {
            while others.next_if(|&other| other < w).is_some() {}
            if others.peek() == Some(&w) {
                sum += value(w);
            }
        }
        sum
    }
}
