//! Reads the pages of groups ahead of the thread that rewrites them.

use std::ops::Range;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Builder, Scope};

use cenote_pool::load::Loader;
use cenote_pool::{Handle, PageId};

use super::in_order::Items;
use crate::Adjacency;
use crate::error::Result;
use crate::graph::Graph;
use crate::pages::Pages;
use crate::store::{LOAD_DEPTH, WINDOW_PAGES, load_bytes};
use crate::weights::WeightColumn;

/// Most pages of lists whose groups or changes were begun and are not taken yet, unless it is one
/// group. As many copies of them as a commit makes are in memory.
pub(super) const PAGES_MAX: u64 = 256;

/// Pages that are rewritten together, and the edits of their lists.
pub(super) struct Group {
    pub pages: Range<u64>,
    pub edits: Range<usize>,
    /// Whether the pages have changes in delta runs.
    pub has_delta: bool,
}

/// What is to be read: groups, ascending.
#[derive(Clone, Copy)]
pub(super) struct Ahead<'a> {
    pub graph: &'a Graph,
    pub adjacency: &'a Adjacency,
    pub column: Option<&'a WeightColumn>,
    pub groups: &'a [Group],
}

/// Windows of groups, each brought into memory while the one before it is used.
struct Windows<'a> {
    ahead: Ahead<'a>,
    /// Where a thread reads ahead.
    loaded: Option<Receiver<Result<usize>>>,
}

impl<'a> Ahead<'a> {
    /// Begins to read, on a thread of its own if there is more than one window.
    fn begin<'s>(self, scope: &'s Scope<'s, '_>) -> Result<Windows<'a>>
    where
        'a: 's,
    {
        let (_, first) = self.window(0);
        let mut loaded = None;
        if first < self.groups.len() {
            // Without a place to wait in: one window is in use, and one is being read.
            let (sender, receiver) = sync_channel(0);
            let read = move || self.read(&sender);
            // Where no thread can be had the windows are read when they are needed.
            loaded = Builder::new().spawn_scoped(scope, read).ok().map(|_| receiver);
        }
        Ok(Windows { ahead: self, loaded })
    }

    /// Reads all windows; ends when no thread waits for them any more.
    fn read(&self, loaded: &SyncSender<Result<usize>>) {
        let (handle, mut loader) = match self.loader() {
            Ok(both) => both,
            Err(error) => return drop(loaded.send(Err(error))),
        };
        let mut next = 0;
        while next < self.groups.len() {
            let end = self.load_by(&mut loader, &handle, next);
            next = *end.as_ref().unwrap_or(&self.groups.len());
            if loaded.send(end).is_err() {
                return;
            }
        }
    }

    fn loader(&self) -> Result<(Handle, Loader)> {
        let handle = self.graph.handle()?;
        let request_bytes = load_bytes(self.graph.page_bytes());
        let loader = Loader::new(handle.pool(), LOAD_DEPTH, request_bytes)?;
        Ok((handle, loader))
    }

    /// As [`Ahead::load`], in large requests, since most neighbouring pages of lists lie together.
    fn load_by(&self, loader: &mut Loader, handle: &Handle, from: usize) -> Result<usize> {
        let (mut wanted, end) = self.window(from);
        wanted.sort_unstable();
        loader.load(handle, &wanted)?;
        Ok(end)
    }

    /// Brings the pages of the window from a group on into memory. Returns its end.
    fn load(&self, handle: &Handle, from: usize) -> Result<usize> {
        let (wanted, end) = self.window(from);
        Pages::load_each(handle, wanted.into_iter().map(|page| (page, 0)), |_, _| Ok(()))?;
        Ok(end)
    }

    /// The pages of a window, and the group behind it.
    fn window(&self, from: usize) -> (Vec<PageId>, usize) {
        let first = self.adjacency.first_page();
        let mut wanted: Vec<PageId> = Vec::new();
        let mut end = from;
        for group in &self.groups[from..] {
            let before = wanted.len();
            for page in group.pages.clone().take(WINDOW_PAGES as usize) {
                wanted.push(self.graph.physical(first + page));
                if let Some(column) = self.column {
                    // The weights of two pages of lists may share a page.
                    let last = wanted[before..].iter().rev().nth(1).copied();
                    let pages = column.pages_of(column.addresses_of(page));
                    let weights = pages.map(|page| self.graph.physical(column.first_page() + page));
                    wanted.extend(weights.filter(|page| last != Some(*page)));
                }
            }
            if wanted.len() > WINDOW_PAGES as usize && end > from {
                wanted.truncate(before);
                break;
            }
            end += 1;
        }
        // Of a group that does not fit the first pages come at once, the others when they are read.
        wanted.truncate(WINDOW_PAGES as usize);
        (wanted, end)
    }
}

impl Ahead<'_> {
    /// Calls `work` for each group once its pages are in memory, on so many threads, each with what
    /// `begin` makes for it, and `take` with the results, in the order of the groups. An error of
    /// any of them ends it.
    pub fn in_order<W, T: Send>(
        self,
        threads: usize,
        begin: impl Fn() -> Result<W> + Sync,
        work: impl Fn(&mut W, &Handle, &Group) -> Result<T> + Sync,
        mut take: impl FnMut(&Group, T) -> Result<()>,
    ) -> Result<()> {
        let groups = self.groups;
        let weight = |at: usize| groups[at].pages.end - groups[at].pages.start;
        let count = groups.len();
        let items = Items { count, threads, weight: &weight, weight_max: PAGES_MAX };
        std::thread::scope(|scope| {
            let (mut windows, mut loaded) = (self.begin(scope)?, 0);
            items.in_order(
                || Ok((self.graph.handle()?, begin()?)),
                |(handle, _), at| {
                    if at == loaded {
                        loaded = windows.next(handle, at)?;
                    }
                    Ok(())
                },
                |(handle, worker), at| work(worker, handle, &groups[at]),
                |at, made| take(&groups[at], made),
            )
        })
    }
}

impl Windows<'_> {
    /// Waits until the window from a group on is in memory. Returns its end.
    fn next(&mut self, handle: &Handle, from: usize) -> Result<usize> {
        let read = self.loaded.as_ref().and_then(|loaded| loaded.recv().ok());
        // A thread that panicked sends nothing; its panic shows when it is joined.
        read.unwrap_or_else(|| self.ahead.load(handle, from))
    }
}
