//! Lines of standard input: all in one batch, or in groups as they come.
//!
//! In groups a thread reads while this one parses and commits: what has come during a commit is the
//! next one, so that a slow writer has its lines durable soon and a fast one has large batches.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::io::{self, BufRead, Read};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use cenote::Op;

use super::Commits;
use crate::cancel;

/// How long a line waits for others.
const GROUP_INTERVAL: Duration = Duration::from_millis(100);

/// How often a thread that waits checks whether it is cancelled.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// The most bytes of a line.
const LINE_BYTES_MAX: usize = 1 << 18;

/// Bytes that are read at once.
const READ_BYTES: usize = 1 << 16;

/// Of the memory for reading, the lines that wait take `1 / WAITING_SHARE`, and so do those that
/// are followed; text that grows is there twice for a moment.
const WAITING_SHARE: u64 = 4;

/// Lines that were read and that are not followed yet.
#[derive(Debug, Default)]
struct Waiting {
    /// Whole lines.
    text: Vec<u8>,
    /// When the first of them came.
    since: Option<Instant>,
    /// Set after the last line: what is wrong behind it, if anything is.
    end: Option<Result<()>>,
}

/// Shared with the thread that reads.
#[derive(Debug, Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads lines, and waits while there is no room for them.
    fn read(&self, mut input: impl Read, bytes_max: usize) {
        let mut buffer = Vec::new();
        let end = loop {
            let held = buffer.len();
            if held > LINE_BYTES_MAX {
                // The parser refuses the line.
                self.add(&buffer, bytes_max);
                break Ok(());
            }
            buffer.resize(held + READ_BYTES, 0);
            let read = match input.read(&mut buffer[held..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
                Err(error) => break Err(error.into()),
                Ok(0) => {
                    self.add(&buffer[..held], bytes_max);
                    break Ok(());
                }
                Ok(read) => read,
            };
            buffer.truncate(held + read);
            // What was there before has no end of a line.
            if let Some(at) = buffer[held..].iter().rposition(|byte| *byte == b'\n') {
                let rest = buffer.split_off(held + at + 1);
                self.add(&buffer, bytes_max);
                buffer = rest;
            }
        };
        self.lock().end = Some(end);
        self.changed.notify_all();
    }

    fn add(&self, lines: &[u8], bytes_max: usize) {
        if lines.is_empty() {
            return;
        }
        let mut waiting = self.lock();
        while !waiting.text.is_empty() && waiting.text.len() + lines.len() > bytes_max {
            waiting = self.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
        waiting.text.extend_from_slice(lines);
        waiting.since.get_or_insert_with(Instant::now);
        self.changed.notify_all();
    }

    /// Swaps the lines that wait for an empty `text`, as soon as there are some, at the latest when
    /// a commit is due. When the first of them came, and the end of the input if it is reached.
    fn take(
        &self,
        text: &mut Vec<u8>,
        due: Option<Instant>,
    ) -> Result<(Option<Instant>, Option<Result<()>>)> {
        let mut waiting = self.lock();
        loop {
            cancel::check()?;
            let is_due = due.is_some_and(|due| Instant::now() >= due);
            if is_due || !waiting.text.is_empty() || waiting.end.is_some() {
                text.clear();
                std::mem::swap(text, &mut waiting.text);
                self.changed.notify_all();
                return Ok((waiting.since.take(), waiting.end.take()));
            }
            let wait = due.map_or(CHECK_INTERVAL, |due| {
                due.saturating_duration_since(Instant::now()).min(CHECK_INTERVAL)
            });
            let waited = self.changed.wait_timeout(waiting, wait);
            waiting = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// Lines of standard input, of which each is a change, if it is not empty or a comment.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// Those that were followed.
    pub read: u64,
    /// Those up to the last one that is committed.
    pub committed: u64,
    /// Changes that do not come from the line behind that of the change before: the number of each,
    /// counted from 1 with the changes of files, and its line. Of those that are committed only the
    /// last change is left, so this takes 16 bytes at most for a change that waits.
    starts: VecDeque<(u64, u64)>,
}

impl Lines {
    /// A line ends with which there are so many changes.
    pub(super) fn end(&mut self, changes: u64) {
        self.read += 1;
        let before = self.starts.back().map(|(first, line)| line + (changes - first));
        if before != Some(self.read) {
            self.starts.push_back((changes, self.read));
        }
    }

    /// The first changes are committed.
    pub(super) fn commit(&mut self, changes: u64) {
        while self.starts.get(1).is_some_and(|(first, _)| *first <= changes) {
            self.starts.pop_front();
        }
        if let Some((first, line)) = self.starts.front_mut().filter(|(first, _)| *first <= changes)
        {
            (*line, *first) = (*line + (changes - *first), changes);
            self.committed = *line;
        }
    }
}

impl Commits {
    /// Follows all lines as one batch, or as few as the memory allows.
    pub(super) fn follow_lines(&mut self, mut lines: impl BufRead) -> Result<()> {
        let mut line = Vec::new();
        loop {
            line.clear();
            let most = LINE_BYTES_MAX as u64 + 1;
            let read = (&mut lines).take(most).read_until(b'\n', &mut line);
            let read = read.with_context(|| self.place())?;
            cancel::check()?;
            if read == 0 {
                return Ok(());
            }
            self.follow_line(&line)?;
        }
    }

    /// Follows lines as they come, with so many bytes of memory for reading. A commit begins 100 ms
    /// after the first of its lines has come; what comes meanwhile waits for the next one.
    pub(super) fn follow_groups(
        &mut self,
        input: impl Read + Send + 'static,
        read_bytes: u64,
    ) -> Result<()> {
        let shared = Arc::new(Shared::default());
        let bytes_max = usize::try_from(read_bytes / WAITING_SHARE).unwrap_or(usize::MAX);
        let reader = Arc::clone(&shared);
        // It waits for a line at the end of the process, at most.
        std::thread::spawn(move || reader.read(input, bytes_max));
        let mut due: Option<Instant> = None;
        let mut text = Vec::new();
        loop {
            let (since, end) = shared.take(&mut text, due)?;
            due = due.or_else(|| since.map(|since| since + GROUP_INTERVAL));
            for line in text.split_inclusive(|byte| *byte == b'\n') {
                self.follow_line(line)?;
                cancel::check()?;
            }
            match end {
                Some(Ok(())) => return Ok(()),
                Some(Err(error)) => {
                    return Err(error.context(self.place()));
                }
                None => {}
            }
            if due.is_some_and(|due| Instant::now() >= due) {
                due = None;
                while !self.update.is_empty() {
                    self.commit()?;
                }
            }
        }
    }

    /// Follows a line `+ u v [w]`, `- u v [w]`, `= u v w`, `+ u`, `- u` or `= u [value]`.
    fn follow_line(&mut self, line: &[u8]) -> Result<()> {
        let place = || self.place();
        if line.len() > LINE_BYTES_MAX {
            bail!("{}: longer than {LINE_BYTES_MAX} bytes", place());
        }
        let text = String::from_utf8_lossy(line);
        let mut words = text.split_whitespace();
        let words: [Option<&str>; 5] = std::array::from_fn(|_| words.next());
        if words[0].is_none_or(|first| first.starts_with('#')) {
            self.lines.read += 1;
            return Ok(());
        }
        if matches!(text, Cow::Owned(_)) {
            bail!("{}: ids have to be UTF-8", place());
        }
        let (op, source, target, weight) = match words {
            [Some("+"), Some(source), Some(target), weight, None] => {
                (Op::Add, source, target, weight)
            }
            [Some("-"), Some(source), Some(target), weight, None] => {
                (Op::Delete, source, target, weight)
            }
            [Some("+"), Some(vertex), None, ..] => (Op::AddVertex, vertex, vertex, None),
            [Some("-"), Some(vertex), None, ..] => (Op::DeleteVertex, vertex, vertex, None),
            [Some("="), Some(source), Some(target), Some(weight), None] => {
                (Op::Set, source, target, Some(weight))
            }
            [Some("="), Some(vertex), value, None, _] => return self.follow_value(vertex, value),
            _ => bail!(
                "{}: expected `+ u v [w]`, `- u v [w]`, `= u v w`, `+ u`, `- u` or \
                 `= u [value]`, found `{}`",
                place(),
                text.trim().chars().take(80).collect::<String>()
            ),
        };
        let id = |text| self.update.id(text).with_context(place);
        let pair = [id(source)?, id(target)?];
        let weight = weight.map(|weight| self.update.weight(weight)).transpose();
        let weight = weight.with_context(place)?;
        self.push(op, pair, weight).with_context(|| self.place())?;
        self.lines.end(self.changes + self.update.len() as u64);
        Ok(())
    }

    /// Follows a line `= u [value]`.
    fn follow_value(&mut self, vertex: &str, value: Option<&str>) -> Result<()> {
        let id = self.update.id(vertex).with_context(|| self.place())?;
        let value = value.map(|value| self.update.value(value)).transpose();
        let value = value.with_context(|| self.place())?;
        self.make_room([id; 2])?;
        self.update.push_value(id, value).with_context(|| self.place())?;
        self.lines.end(self.changes + self.update.len() as u64);
        Ok(())
    }

    /// The place of the next line.
    fn place(&self) -> String {
        format!("standard input: line {}", self.lines.read + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_committed_line_is_that_of_the_last_committed_change() {
        let mut lines = Lines::default();
        // Three changes of files; then lines of which 3, 4 and 8 are comments.
        let mut changes = 3;
        for line in 1..=10 {
            if [3, 4, 8].contains(&line) {
                lines.read += 1;
            } else {
                changes += 1;
                lines.end(changes);
            }
        }
        let mut committed = |changes| {
            lines.commit(changes);
            lines.committed
        };
        let expected = [(2, 0), (3, 0), (4, 1), (5, 2), (6, 5), (6, 5), (8, 7), (9, 9), (10, 10)];
        expected.iter().for_each(|&(changes, line)| assert_eq!(committed(changes), line));
    }
}
