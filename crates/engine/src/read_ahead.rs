//! Reading ahead, where small steps follow the file.
//!
//! A search along a path or a chain of dense parts needs one page a step, often the one behind the
//! last. Each would be a request that the search waits for. So a request that continues an earlier
//! one, in either direction, also reads pages beyond: twice as many each time, as file systems do.
//! Steps that jump about never continue a request, and read nothing ahead.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use cenote_pool::PageId;

/// A request reads ahead at most one of this many parts of the frames, and as many of the last
/// requests may be continued: pages that are read by chance beside them should be few.
const FRAMES_SHARE: u64 = 8;

/// The most requests that may be continued.
const STREAMS_MAX: u64 = 64;

/// Pages that the first continuation reads ahead.
const AHEAD_PAGES_MIN: u64 = 4;

/// What was last read in small steps.
#[derive(Debug, Default)]
pub(crate) struct ReadAhead(Mutex<VecDeque<Stream>>);

/// The physical pages of a request, and how many of them were read ahead.
#[derive(Debug)]
struct Stream {
    pages: Range<PageId>,
    ahead: u64,
}

/// Pages to read beside those of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ahead {
    pub before: u64,
    pub after: u64,
}

impl ReadAhead {
    /// How many pages a request of these should read ahead: at most `room`, with so many frames
    /// to keep them. `follows(i)` says whether the `i`-th page behind them in the file is also the
    /// `i`-th in their section, `precedes(i)` the same of those before.
    pub fn extend(
        &self,
        pages: &Range<PageId>,
        (room, frames): (u64, u64),
        follows: impl Fn(u64) -> bool,
        precedes: impl Fn(u64) -> bool,
    ) -> Ahead {
        let share = frames / FRAMES_SHARE;
        let mut streams = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = streams
            .iter()
            .rposition(|stream| stream.pages.end == pages.start || stream.pages.start == pages.end);
        let mut ahead = Ahead::default();
        if let Some(stream) = found.and_then(|at| streams.remove(at)) {
            let wanted = (2 * stream.ahead).max(AHEAD_PAGES_MIN).min(room).min(share);
            if stream.pages.end == pages.start {
                ahead.after = (1..=wanted).take_while(|&i| follows(i)).count() as u64;
            } else {
                ahead.before = (1..=wanted).take_while(|&i| precedes(i)).count() as u64;
            }
        } else if streams.len() as u64 >= share.clamp(1, STREAMS_MAX) {
            streams.pop_front();
        }
        let pages = pages.start - ahead.before..pages.end + ahead.after;
        streams.push_back(Stream { pages, ahead: ahead.before + ahead.after });
        ahead
    }
}
