//! Splits a request over several tiers into requests, and assembles their bytes.

/// Bytes of one request to one tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) tier: u8,
    /// First byte on the tier.
    pub(super) at: u64,
    /// First byte in the caller's buffer.
    pub(super) dest: usize,
    pub(super) len: usize,
}

impl Run {
    fn end(&self) -> usize {
        self.dest + self.len
    }

    /// Appends `next` if it follows directly, in the buffer and on the tier.
    pub(super) fn append(&mut self, next: &Run) -> bool {
        let follows = self.tier == next.tier
            && self.end() == next.dest
            && self.at + self.len as u64 == next.at;
        if follows {
            self.len += next.len;
        }
        follows
    }
}

/// A part of the caller's buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) dest: usize,
    pub(super) len: usize,
    /// The request with its bytes and the offset in it; `None` means zeros.
    pub(super) source: Option<(usize, usize)>,
}

/// Joins runs that are contiguous on one tier except for gaps of up to `gap_bytes`, and of at most
/// `through` bytes in all. Returns the requests, in the order of their first bytes, and the piece
/// of each run.
pub(super) fn bridge(
    runs: &[Run],
    gap_bytes: impl Fn(u8) -> u64,
    mut through: usize,
) -> (Vec<Run>, Vec<Piece>) {
    let mut requests: Vec<Run> = Vec::new();
    let mut pieces = Vec::with_capacity(runs.len());
    for run in runs {
        let last = requests.iter().rposition(|request| request.tier == run.tier);
        let joined = last.filter(|&last| {
            let request = &requests[last];
            let gap = run.dest - request.end();
            request.at + (run.dest - request.dest) as u64 == run.at
                && gap <= through
                && gap as u64 <= gap_bytes(run.tier)
        });
        let at = joined.unwrap_or(requests.len());
        match joined {
            Some(at) => {
                through -= run.dest - requests[at].end();
                requests[at].len = run.end() - requests[at].dest;
            }
            None => requests.push(*run),
        }
        let source = Some((at, run.dest - requests[at].dest));
        pieces.push(Piece { dest: run.dest, len: run.len, source });
    }
    (requests, pieces)
}

/// Adds pieces of zeros where there are no other pieces.
pub(super) fn add_zeros(pieces: &mut Vec<Piece>, len: usize) {
    let (mut at, known) = (0, pieces.len());
    for index in 0..known {
        let Piece { dest, len, .. } = pieces[index];
        if dest > at {
            pieces.push(Piece { dest: at, len: dest - at, source: None });
        }
        at = dest + len;
    }
    if len > at {
        pieces.push(Piece { dest: at, len: len - at, source: None });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(tier: u8, at: u64, dest: usize, len: usize) -> Run {
        Run { tier, at, dest, len }
    }

    #[test]
    fn small_gaps_in_a_row_are_read_through() {
        // Tier 1 in one row, with a block on tier 0 and then a large hole.
        let runs = [run(1, 100, 0, 8), run(0, 40, 8, 4), run(1, 112, 12, 4), run(1, 216, 116, 4)];
        let (requests, pieces) = bridge(&runs, |_| 4, 4);
        assert_eq!(requests, [run(1, 100, 0, 16), run(0, 40, 8, 4), run(1, 216, 116, 4)]);
        let sources: Vec<_> = pieces.iter().map(|piece| piece.source).collect();
        assert_eq!(sources, [Some((0, 0)), Some((1, 0)), Some((0, 12)), Some((2, 0))]);
        assert_eq!(bridge(&runs, |_| 3, 99).0, runs, "the gap is too large");
        assert_eq!(bridge(&runs, |_| 4, 3).0, runs, "all gaps are too large");
        // What is not in one row stays apart.
        let runs = [run(1, 100, 0, 8), run(0, 40, 8, 4), run(1, 116, 12, 4)];
        assert_eq!(bridge(&runs, |_| 100, 99).0, runs);
    }

    #[test]
    fn neighbours_become_one_run() {
        let mut first = run(0, 10, 0, 5);
        assert!(first.append(&run(0, 15, 5, 5)) && first.len == 10);
        assert!(!first.append(&run(0, 21, 10, 5)) && !first.append(&run(1, 20, 10, 5)));
    }
}
