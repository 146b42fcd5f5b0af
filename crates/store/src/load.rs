//! Loads the page indexes of the lists, with the changes of delta runs and log.

use std::sync::Arc;

use cenote_device::Device;

use crate::delta::gather::RunsFrom;
use crate::error::{Result, equal};
use crate::format::PageKind;
use crate::header;
use crate::index::Adjacency;
use crate::log::{Pending, log_fault};
use crate::runs::index::RunIndex;
use crate::runs::read::ListRuns;
use crate::runs::run::RunPages;
use crate::stream::{Ahead, PageStream};
use crate::superblock::{SectionKind, Superblock};
use crate::table::SectionPages;
use crate::words::words;
use crate::{Direction, VertexId};

/// The lists of a graph, as they are read.
pub(crate) struct Lists {
    pub out: Adjacency,
    /// `None` unless the graph is directed and has in-edges.
    pub back: Option<Adjacency>,
    pub runs: RunIndex,
}

/// Where the lists are loaded from.
pub(crate) struct LoadLists<'a> {
    pub device: &'a Arc<dyn Device>,
    pub file: &'a str,
    pub committed: &'a Superblock,
    /// The pages of a section, if there is one.
    pub pages: &'a dyn Fn(SectionKind) -> Option<SectionPages>,
}

impl LoadLists<'_> {
    /// Loads indexes and runs; of the runs so many bytes are kept in memory later.
    pub fn load(&self, pending: &Pending, run_bytes: u64) -> Result<Lists> {
        let out = self.adjacency(SectionKind::OutAdjacency, SectionKind::OutIndex)?;
        let mut out = out.expect("the superblock was checked");
        let mut back = self.adjacency(SectionKind::InAdjacency, SectionKind::InIndex)?;
        let committed = self.committed;
        let mut runs = RunIndex::default();
        if let Some(index) = (self.pages)(SectionKind::DeltaIndex) {
            let counts = [out.pages(), back.as_ref().map_or(0, Adjacency::pages)];
            let edits = committed.section(SectionKind::DeltaRuns).map_or(0, |runs| runs.items);
            let directions = (committed.directed, committed.in_edges);
            runs = read_run_index(self.device.as_ref(), &index, counts, edits, directions)?;
        }
        if pending.is_empty() && !committed.has_delta_runs() {
            return Ok(Lists { out, back, runs });
        }
        let bytes = run_bytes / if back.is_some() { 2 } else { 1 };
        let set = |direction, lists: &mut Adjacency, runs: &[RunPages], entries| {
            let of_runs = self.list_runs(runs, bytes).map(|runs| (runs, entries));
            let set = lists.set_delta(of_runs, pending, direction, committed.directed);
            set.map_err(|fault| log_fault(self.file, committed, fault))
        };
        set(Direction::Out, &mut out, &runs.out, committed.stored_out)?;
        if let Some(back) = &mut back {
            set(Direction::In, back, &runs.back, committed.stored_in)?;
        }
        Ok(Lists { out, back, runs })
    }

    fn adjacency(&self, lists: SectionKind, index: SectionKind) -> Result<Option<Adjacency>> {
        let (Some(lists), Some(index)) = ((self.pages)(lists), (self.pages)(index)) else {
            return Ok(None);
        };
        let vertices = self.committed.listed_vertices as VertexId;
        Ok(Some(load_index(self.device.as_ref(), lists, &index, vertices)?))
    }

    fn list_runs(&self, runs: &[RunPages], bytes: u64) -> Option<RunsFrom> {
        let pages = (self.pages)(SectionKind::DeltaRuns)?;
        let runs = ListRuns::new(Arc::clone(self.device), pages, runs.to_vec(), bytes);
        Some(RunsFrom { runs: Arc::new(runs), from: 0 })
    }
}

fn load_index(
    device: &dyn Device,
    lists: SectionPages,
    index: &SectionPages,
    vertices: VertexId,
) -> Result<Adjacency> {
    let mut load = Adjacency::load(lists, vertices);
    let pages = index.section.range();
    let mut stream = PageStream::new(device, &index.table, index.page_bytes, pages, Ahead::FAR)?;
    let mut rest = index.section.items;
    while let Some((number, bytes)) = stream.next()? {
        let page = number - index.section.first_page;
        let bad = |fault| index.fault(page, fault);
        let header = header::verify(bytes, &index.identity(page), PageKind::Index).map_err(bad)?;
        let words = words(bytes, &header, rest).map_err(bad)?;
        rest -= words.len() as u64;
        for word in words {
            load.push(*word).map_err(bad)?;
        }
    }
    let last = index.section.pages.saturating_sub(1);
    load.finish().map_err(|fault| index.fault(last, fault))
}

/// Reads the index of runs with so many `edits`. `pages` are the numbers of pages of the lists of
/// targets and of sources.
fn read_run_index(
    device: &dyn Device,
    index: &SectionPages,
    pages: [u64; 2],
    edits: u64,
    (directed, in_edges): (bool, bool),
) -> Result<RunIndex> {
    let section = index.section;
    let mut stream =
        PageStream::new(device, &index.table, index.page_bytes, section.range(), Ahead::FAR)?;
    let (mut runs, mut rest, mut half) = (RunIndex::default(), section.items, None);
    while let Some((number, bytes)) = stream.next()? {
        let page = number - section.first_page;
        let bad = |fault| index.fault(page, fault);
        let header = header::verify(bytes, &index.identity(page), PageKind::Index).map_err(bad)?;
        let words = words(bytes, &header, rest).map_err(bad)?;
        rest -= words.len() as u64;
        for &word in words {
            match half.take() {
                None => half = Some(word),
                Some(first) => runs.push([first, word], pages).map_err(bad)?,
            }
        }
    }
    let checked = runs.check(directed, in_edges);
    let checked = checked.and_then(|()| equal("changes of all runs", edits, runs.edits()));
    checked.map_err(|fault| index.fault(0, fault))?;
    Ok(runs)
}
