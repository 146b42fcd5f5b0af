//! A level in memory: nodes with weighted lists.

use cenote_engine::{Engine, EngineError, HugeVec};

use crate::report::{AlgoError, Result};

/// Words of an entry: the node, and the lower and the upper half of the weight.
const ENTRY_WORDS: usize = 3;

/// Bytes of a node in all arrays while levels are worked on.
const NODE_BYTES: u64 = 96;

/// Nodes between checks for an interruption.
pub(super) const CHECK_EVERY: usize = 1 << 12;

/// The memory for levels, of the optional bytes and what vertex state has freed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// The algorithm's name, for messages.
    pub what: &'static str,
    /// What may be used.
    pub bytes: u64,
    /// The most that levels of the graph need.
    pub bytes_most: u64,
    /// The budget of the run, for messages.
    pub budget: u64,
    /// One that suffices for any level.
    pub sufficient: u64,
}

impl Room {
    /// What is left beside the arrays of so many nodes.
    pub fn beside(&self, nodes: usize) -> u64 {
        self.bytes.saturating_sub(nodes as u64 * NODE_BYTES)
    }

    /// The error for a level of so many nodes whose lists, and what makes them, take so much or
    /// more. It names a budget that suffices for any level.
    pub fn exceeded(&self, nodes: usize, bytes: u64) -> AlgoError {
        let bytes = bytes + nodes as u64 * NODE_BYTES;
        let most = self.bytes_most;
        let breakdown =
            format!("the graph between its communities {bytes} or more, of any at most {most}");
        budget_error(self.what.to_owned(), (self.budget, self.sufficient), breakdown)
    }
}

/// The error of a budget of `given` bytes, which names one that suffices.
pub(super) fn budget_error(
    what: String,
    (given, needed): (u64, u64),
    breakdown: String,
) -> AlgoError {
    let suggested = needed.div_ceil(1 << 20);
    AlgoError::Engine(EngineError::Budget { what, given, needed, suggested, breakdown })
}

/// An entry of a list: the node, and the lower and the upper half of the weight.
pub(super) type Entry = [u32; ENTRY_WORDS];

/// The node and the weight of an entry.
#[inline(always)]
pub(super) fn split(entry: Entry) -> (usize, u64) {
    (entry[0] as usize, u64::from(entry[2]) << 32 | u64::from(entry[1]))
}

/// An entry for a node and a weight.
#[inline(always)]
pub(super) fn entry(node: u32, weight: u64) -> Entry {
    [node, weight as u32, (weight >> 32) as u32]
}

/// The lists of a level, without edges from a node to itself.
pub(super) struct Level {
    /// Where the list of each node starts, and the end of the last.
    pub starts: HugeVec<u64>,
    /// Entries, as words.
    pub words: HugeVec<u32>,
    /// Weights of all edges of the vertices of each node.
    pub degrees: HugeVec<u64>,
}

impl Level {
    /// Bytes for a level of so many nodes and entries, and for work on it.
    pub fn bytes_for(nodes: u64, entries: u64) -> u64 {
        nodes * NODE_BYTES + entries * size_of::<Entry>() as u64
    }

    pub fn nodes(&self) -> usize {
        self.degrees.len()
    }

    pub fn entries(&self) -> usize {
        self.starts.last().map_or(0, |&end| end as usize)
    }

    #[inline(always)]
    pub fn list(&self, node: usize) -> &[Entry] {
        let (start, end) = (self.starts[node] as usize, self.starts[node + 1] as usize);
        bytemuck::cast_slice(&self.words[start * ENTRY_WORDS..end * ENTRY_WORDS])
    }

    /// Sorts all lists.
    pub fn sort(&mut self) {
        let entries = self.entries();
        let entries: &mut [Entry] =
            bytemuck::cast_slice_mut(&mut self.words[..entries * ENTRY_WORDS]);
        sort_lists(&self.starts, entries);
    }

    /// The level whose nodes are groups of nodes: `group` names one of `groups` for each node.
    pub fn aggregate(&self, group: &[u32], groups: usize, engine: &Engine) -> Result<Self> {
        let members = Members::new(group, groups)?;
        let mut degrees = HugeVec::zeroed(groups)?;
        let mut starts = HugeVec::zeroed(groups + 1)?;
        // Only what is written takes memory.
        let mut words = HugeVec::sparse(self.entries() * ENTRY_WORDS)?;
        let mut sums = Sums::new(groups)?;
        let mut end = 0;
        for at in 0..groups {
            if at.is_multiple_of(CHECK_EVERY) {
                engine.check_cancel()?;
            }
            for &node in members.of(at) {
                degrees[at] += self.degrees[node as usize];
                for (target, weight) in self.list(node as usize).iter().copied().map(split) {
                    let target = group[target];
                    if target as usize != at {
                        sums.add(target, weight);
                    }
                }
            }
            for &target in &sums.touched {
                let words = &mut words[end * ENTRY_WORDS..(end + 1) * ENTRY_WORDS];
                words.copy_from_slice(&entry(target, sums.of(target)));
                end += 1;
            }
            sums.clear();
            starts[at + 1] = end as u64;
        }
        Ok(Self { starts, words, degrees })
    }
}

/// Sorts lists in parallel.
fn sort_lists(starts: &[u64], entries: &mut [Entry]) {
    const TOGETHER: usize = 1 << 14;
    let nodes = starts.len() - 1;
    if nodes <= 1 || entries.len() <= TOGETHER {
        let mut rest = entries;
        for node in 0..nodes {
            let (list, more) = rest.split_at_mut((starts[node + 1] - starts[node]) as usize);
            list.sort_unstable();
            rest = more;
        }
        return;
    }
    let middle = nodes / 2;
    let (left, right) = entries.split_at_mut((starts[middle] - starts[0]) as usize);
    rayon::join(|| sort_lists(&starts[..=middle], left), || sort_lists(&starts[middle..], right));
}

/// The nodes of each group.
struct Members {
    ends: HugeVec<u32>,
    nodes: HugeVec<u32>,
}

impl Members {
    fn new(group: &[u32], groups: usize) -> Result<Self> {
        let (mut ends, mut nodes) = (HugeVec::zeroed(groups + 1)?, HugeVec::zeroed(group.len())?);
        group.iter().for_each(|&group| ends[group as usize + 1] += 1);
        for at in 1..ends.len() {
            ends[at] += ends[at - 1];
        }
        // The start of each group moves to its end, which is the start of the next.
        for (node, &group) in (0..).zip(group) {
            nodes[ends[group as usize] as usize] = node;
            ends[group as usize] += 1;
        }
        Ok(Self { ends, nodes })
    }

    fn of(&self, group: usize) -> &[u32] {
        let start = if group == 0 { 0 } else { self.ends[group - 1] };
        &self.nodes[start as usize..self.ends[group] as usize]
    }
}

/// Sums of weights by number, which are set back to 0 after each use.
pub(super) struct Sums {
    weights: HugeVec<u64>,
    /// Numbers with a sum, in the order of their first weights.
    pub touched: Vec<u32>,
}

impl Sums {
    pub fn new(numbers: usize) -> Result<Self> {
        Ok(Self { weights: HugeVec::zeroed(numbers)?, touched: Vec::new() })
    }

    /// Adds a weight of 1 or more.
    #[inline(always)]
    pub fn add(&mut self, number: u32, weight: u64) {
        let sum = &mut self.weights[number as usize];
        if *sum == 0 {
            self.touched.push(number);
        }
        *sum += weight;
    }

    #[inline(always)]
    pub fn of(&self, number: u32) -> u64 {
        self.weights[number as usize]
    }

    pub fn clear(&mut self) {
        for number in self.touched.drain(..) {
            self.weights[number as usize] = 0;
        }
    }
}

/// Replaces labels, which are smaller than `bound`, by consecutive numbers in the same order;
/// returns how many there are.
pub(super) fn renumber(labels: &mut [u32], bound: usize) -> Result<usize> {
    let mut numbers: HugeVec<u32> = HugeVec::zeroed(bound)?;
    labels.iter().for_each(|&label| numbers[label as usize] = 1);
    let mut count = 0;
    for number in numbers.iter_mut().filter(|number| **number > 0) {
        *number = count;
        count += 1;
    }
    labels.iter_mut().for_each(|label| *label = numbers[*label as usize]);
    Ok(count as usize)
}
