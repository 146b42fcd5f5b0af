//! The index of the runs: which page of a run has the changes of a page of lists.

use super::run::RunPages;
use super::{FAN_IN, LEVEL_MAX};
use crate::Direction;
use crate::error::{PageFault, at_most, equal, other};

/// Bit of the first word of a page: its changes are of the lists of sources.
const IN: u64 = 1 << 63;

/// Where the level of a run, its `added_max` and the changes of a page begin in the second word,
/// behind the number of the run.
const LEVEL_SHIFT: u32 = 16;
const ADDED_SHIFT: u32 = 32;
const EDITS_SHIFT: u32 = 48;

/// The two words of a page of a run.
pub(super) fn words_of(
    (run, level): (usize, u8),
    direction: Direction,
    first: u64,
    (added_max, edits): (u16, u16),
) -> [u64; 2] {
    let of_direction = if direction == Direction::In { IN } else { 0 };
    let second = u64::from(edits) << EDITS_SHIFT
        | u64::from(added_max) << ADDED_SHIFT
        | u64::from(level) << LEVEL_SHIFT
        | run as u64;
    [first | of_direction, second]
}

/// The runs of a graph, the oldest first, of lists of targets and of sources.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RunIndex {
    pub out: Vec<RunPages>,
    /// As many as `out` in a directed graph with in-edges, else none.
    pub back: Vec<RunPages>,
}

impl RunIndex {
    /// Adds a page by its two words. `pages` are the numbers of pages of the lists of targets and
    /// of sources.
    pub fn push(&mut self, [first, second]: [u64; 2], pages: [u64; 2]) -> Result<(), PageFault> {
        let is_in = first & IN != 0;
        let (first, run) = (first & !IN, usize::from(second as u16));
        let level = (second >> LEVEL_SHIFT) as u8;
        let added_max = (second >> ADDED_SHIFT) as u16;
        let edits = u64::from((second >> EDITS_SHIFT) as u16);
        equal("bits that should be zero", second >> 24 & 0xff, 0)?;
        at_most("level of a run", level.into(), LEVEL_MAX.into())?;
        at_most("page of a change", first + 1, pages[usize::from(is_in)])?;
        let at = self.next_page();
        let runs = if is_in { &mut self.back } else { &mut self.out };
        match runs.len() {
            len if len == run + 1 => {
                let last = runs.last_mut().expect("there is one");
                let is_same = (last.level, last.added_max) == (level, added_max);
                if !is_same || last.pages.end != at || last.firsts.last() > Some(&first) {
                    return Err(other("the pages of a run are out of order"));
                }
                last.pages.end += 1;
                last.firsts.push(first);
                last.edits += edits;
            }
            len if len == run => {
                let (pages, firsts) = (at..at + 1, vec![first]);
                runs.push(RunPages { level, pages, firsts, added_max, edits });
            }
            _ => return Err(other("the runs are out of order")),
        }
        // The lists of sources come behind those of targets, in each run.
        let behind = self.out.len().checked_sub(self.back.len());
        match (is_in, behind) {
            (true, Some(0)) | (false, Some(1)) => Ok(()),
            (false, Some(_)) if self.back.is_empty() => Ok(()),
            _ => Err(other("the runs are out of order")),
        }
    }

    fn next_page(&self) -> u64 {
        let ends = [&self.out, &self.back].map(|runs| runs.last().map_or(0, |run| run.pages.end));
        ends[0].max(ends[1])
    }

    /// Checks that each direction has its runs, of levels that fall.
    pub fn check(&self, directed: bool, in_edges: bool) -> Result<(), PageFault> {
        let both = if directed && in_edges { self.out.len() } else { 0 };
        equal("runs of lists of sources", self.back.len() as u64, both as u64)?;
        let levels = |runs: &[RunPages]| runs.windows(2).all(|pair| pair[0].level >= pair[1].level);
        let are_same = self.out.iter().zip(&self.back).all(|(out, back)| out.level == back.level);
        match levels(&self.out) && are_same {
            true => Ok(()),
            false => Err(other("the levels of its runs do not fall")),
        }
    }

    /// Changes of all runs.
    pub fn edits(&self) -> u64 {
        self.out.iter().chain(&self.back).map(|run| run.edits).sum()
    }

    /// How many runs stay when changes are added, and the level of the run that takes them: it
    /// takes the last runs too where they would be [`FAN_IN`] of a level with it, but not the first
    /// `merging` ones.
    pub fn next_run(&self, merging: usize) -> (usize, u8) {
        let (mut kept, mut level) = (self.out.len(), 0);
        let merging = merging.min(kept);
        loop {
            let free = self.out[merging..kept].iter().rev();
            let own = free.take_while(|run| run.level == level).count();
            // Levels do not rise from run to run.
            let before = self.out[..kept - own].last().map_or(LEVEL_MAX, |run| run.level);
            if own + 1 < FAN_IN || before <= level {
                return (kept, level);
            }
            kept -= own;
            level += 1;
        }
    }

    /// Pages of the first runs.
    pub fn pages_of_first(&self, runs: usize) -> u64 {
        let last = |runs_of: &[RunPages]| {
            runs_of[..runs.min(runs_of.len())].last().map_or(0, |run| run.pages.end)
        };
        last(&self.out).max(last(&self.back))
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use super::*;

    fn of(words: &[u64], directed: bool) -> Result<RunIndex, PageFault> {
        let mut index = RunIndex::default();
        for pair in words.chunks_exact(2) {
            index.push([pair[0], pair[1]], [100, 100])?;
        }
        index.check(directed, directed)?;
        Ok(index)
    }

    fn run(level: u8, pages: Range<u64>, firsts: &[u64]) -> RunPages {
        let edits = 2 * firsts.len() as u64;
        RunPages { level, pages, firsts: firsts.to_vec(), added_max: 7, edits }
    }

    fn words(run: usize, direction: Direction, pages: &RunPages) -> Vec<u64> {
        let of = |first| words_of((run, pages.level), direction, first, (pages.added_max, 2));
        pages.firsts.iter().flat_map(|first| of(*first)).collect()
    }

    #[test]
    fn runs_are_read_from_the_words_of_their_pages() {
        let [first, second] = [run(1, 0..3, &[0, 5, 5]), run(0, 3..4, &[2])];
        let written = [words(0, Direction::Out, &first), words(1, Direction::Out, &second)];
        let expected = RunIndex { out: vec![first, second], back: Vec::new() };
        assert_eq!(of(&written.concat(), false).unwrap(), expected);
        assert_eq!((expected.edits(), expected.pages_of_first(1)), (8, 3));

        let out = vec![run(1, 0..2, &[0, 5]), run(0, 4..5, &[2])];
        let back = vec![run(1, 2..4, &[1, 9]), run(0, 5..6, &[99])];
        let of_run = |i: usize| {
            [words(i, Direction::Out, &out[i]), words(i, Direction::In, &back[i])].concat()
        };
        let written = [of_run(0), of_run(1)].concat();
        let expected = RunIndex { out: out.clone(), back: back.clone() };
        assert_eq!(of(&written, true).unwrap(), expected);
        assert_eq!([1, 2].map(|runs| expected.pages_of_first(runs)), [4, 6]);
        assert!(of(&written, false).is_err(), "an undirected graph has no lists of sources");
    }

    #[test]
    fn runs_of_a_level_become_one_of_the_next() {
        let of_levels = |levels: &[u8]| {
            let out = levels.iter().map(|level| run(*level, 0..1, &[0])).collect();
            RunIndex { out, back: Vec::new() }.next_run(0)
        };
        assert_eq!(of_levels(&[]), (0, 0));
        assert_eq!(of_levels(&[0; FAN_IN - 2]), (FAN_IN - 2, 0));
        assert_eq!(of_levels(&[0; FAN_IN - 1]), (0, 1));
        assert_eq!(of_levels(&[&[1][..], &[0; FAN_IN - 1]].concat()), (1, 1));
        let cascade = [&[2][..], &[1; FAN_IN - 1], &[0; FAN_IN - 1]].concat();
        assert_eq!(of_levels(&cascade), (1, 2));
        assert_eq!(of_levels(&[1; FAN_IN - 1]), (FAN_IN - 1, 0));
    }

    #[test]
    fn runs_that_are_being_merged_stay() {
        let next = |levels: &[u8], merging| {
            let out = levels.iter().map(|level| run(*level, 0..1, &[0])).collect();
            RunIndex { out, back: Vec::new() }.next_run(merging)
        };
        assert_eq!(next(&[0; FAN_IN], 1), (FAN_IN, 0), "level 1 behind one of level 0");
        let behind = [&[1][..], &[0; FAN_IN - 1]].concat();
        assert_eq!(next(&behind, 1), (1, 1));
        assert_eq!(next(&behind, 2), (FAN_IN, 0));
        assert_eq!(next(&behind, 99), (FAN_IN, 0));
    }

    #[test]
    fn an_index_out_of_order_is_a_fault() {
        let word =
            |run: u64, level: u64, added: u64| added << ADDED_SHIFT | level << LEVEL_SHIFT | run;
        let good = [3, word(0, 1, 7), 4, word(0, 1, 7), 0, word(1, 0, 2)];
        assert!(of(&good, false).is_ok());
        let change = |at: usize, word: u64| {
            let mut words = good;
            words[at] = word;
            of(&words, false).is_err()
        };
        assert!(change(2, 2), "a page falls");
        assert!(change(2, 100), "a page is beyond the lists");
        assert!(change(3, word(0, 2, 7)), "a run of two levels");
        assert!(change(3, word(0, 1, 8)), "a run of two sizes");
        assert!(change(3, word(0, 1, 7) | 1 << 24), "bits that should be zero");
        assert!(change(5, word(2, 0, 2)), "a run is missing");
        assert!(change(5, word(1, 2, 2)), "a level rises");
        assert!(change(5, word(1, 99, 2)), "a level is too high");
        assert!(change(4, IN), "lists of sources that the graph does not have");
    }
}
