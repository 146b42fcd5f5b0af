//! Verifies every byte of a graph, within bounded memory and without writing.
//!
//! - Slots: one holds the newest commit, the other the commit before it or nothing.
//! - Page table and free list: every page of the file is used once or free.
//! - Every page: checksum, kind, place, epoch, header, bytes that must be zero.
//! - Lists: order, no entry that the flags exclude, long lists that join from page to page,
//!   agreement with page index, degrees and superblock.
//! - Weights: finite, one for each entry, summed as in the superblock.
//! - Delta runs: every change, and the lists with all changes.
//! - Ids: ascending, so none occurs twice.
//! - Deleted vertices: ascending, with empty lists, and in no list.
//! - Values of vertices: ascending by vertex, of their type, none of a deleted vertex.
//! - Order of the vertices: its two tables are inverse to each other.
//! - Hub neighbours: equal to those computed from the lists.
//! - Snapshots: no later epoch has used their pages, and each is checked as the graph is.
//!
//! Sums that do not depend on order prove that both directions of every edge are stored: every
//! entry adds a 64-bit hash of (source, target, weight), seen from either side. Different edges
//! give equal sums with probability 2^-64.

mod adjacency;
mod hub_neighbours;
mod ids;
mod order;
mod runs;
mod slots;
mod snapshots;
mod values;

use std::fmt;
use std::sync::Arc;

use cenote_device::Device;

use crate::degrees::DegreeReader;
use crate::delta::Lengths;
use crate::error::{PageFault, Result, StoreError, equal, other};
use crate::format::{HEADER_BYTES, PageKind, SLOTS};
use crate::graph::Graph;
use crate::header::PageHeader;
use crate::pages::LookupConfig;
use crate::stream::Ahead;
use crate::superblock::{SECTION, Section, SectionKind};
use crate::{Adjacency, Direction, VertexId};

/// A report lists this many faults; further ones are only counted.
pub const FAULTS_LISTED_MAX: usize = 100;
const PROGRESS_PAGES: u64 = 1024;

/// One fault of a graph file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The logical page at fault, if it is a fault of one page.
    pub page: Option<u64>,
    /// What is wrong, with file and page.
    pub message: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.message.fmt(f)
    }
}

/// The result of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckReport {
    /// Pages of the file; 0 where the superblock itself is at fault.
    pub pages: u64,
    /// The first faults, at most [`FAULTS_LISTED_MAX`].
    pub faults: Vec<Fault>,
    /// Number of faults.
    pub faults_total: u64,
}

impl CheckReport {
    /// Whether the graph has no fault.
    pub fn is_whole(&self) -> bool {
        self.faults_total == 0
    }
}

/// Called with the pages that were checked and all of them; returns whether to go on.
pub type Progress<'a> = &'a mut dyn FnMut(u64, u64) -> bool;

/// Verifies an open graph, as of the newest commit, and that its lists can be read with the changes
/// of its log. Faults of the file are in the report; an error means that the device failed, or that
/// `progress` ended it.
pub fn check(graph: &Graph, progress: Progress<'_>) -> Result<CheckReport> {
    let committed;
    let is_logged = graph.has_logged();
    let base = match is_logged {
        true => {
            committed = Graph::open_committed(Arc::clone(graph.device()))?;
            &committed
        }
        false => graph,
    };
    let report = CheckReport { pages: pages_of(base), ..CheckReport::default() };
    let mut check = Check { graph: base, report, done: SLOTS, progress };
    check.run()?;
    if is_logged && check.report.is_whole() {
        check.check_logged(graph)?;
    }
    let Check { mut report, progress, .. } = check;
    snapshots::check_snapshots(graph, &mut report, progress)?;
    Ok(report)
}

/// The pages of the file, or of a snapshot.
fn pages_of(graph: &Graph) -> u64 {
    let superblock = graph.superblock();
    match graph.snapshot_name() {
        Some(_) => superblock.sections.iter().map(|section| section.pages).sum::<u64>() + SLOTS,
        None => superblock.pages_total,
    }
}

/// Verifies the content of a device. A file that is no graph, or whose superblock or index is
/// damaged, gives a report with that fault.
pub fn check_device(device: Arc<dyn Device>, progress: Progress<'_>) -> Result<CheckReport> {
    check_opened(Graph::open(device), progress)
}

/// Verifies a snapshot, as [`check_device`] does the graph.
///
/// # Errors
/// [`StoreError::NoSnapshot`], those of the device, and [`StoreError::Cancelled`] where `progress`
/// ends it.
pub fn check_snapshot(
    device: Arc<dyn Device>,
    name: &str,
    progress: Progress<'_>,
) -> Result<CheckReport> {
    check_opened(Graph::open_at(device, name, |_| LookupConfig::default()), progress)
}

fn check_opened(opened: Result<Graph>, progress: Progress<'_>) -> Result<CheckReport> {
    match opened {
        Ok(graph) => check(&graph, progress),
        Err(error @ (StoreError::Device(_) | StoreError::NoSnapshot { .. })) => Err(error),
        Err(error) => {
            let fault = Fault { page: page_of(&error), message: error.to_string() };
            Ok(CheckReport { pages: 0, faults: vec![fault], faults_total: 1 })
        }
    }
}

fn page_of(error: &StoreError) -> Option<u64> {
    match error {
        StoreError::Page(page) => Some(page.page),
        StoreError::Truncated { page, .. } => Some(*page),
        _ => Some(0),
    }
}

struct Check<'a> {
    graph: &'a Graph,
    report: CheckReport,
    done: u64,
    progress: Progress<'a>,
}

impl Check<'_> {
    fn run(&mut self) -> Result<()> {
        self.report_progress()?;
        slots::check_slots(self)?;
        let out = adjacency::check_out(self)?;
        if self.graph.superblock().in_edges {
            adjacency::check_in(self, &out)?;
        }
        use SectionKind::{DeltaIndex, InIndex, InWeightIndex, OutIndex, OutWeightIndex};
        for kind in [OutIndex, InIndex, OutWeightIndex, InWeightIndex, DeltaIndex] {
            self.check_words(kind)?;
        }
        for kind in [OutWeightIndex, InWeightIndex] {
            slots::check_weight_index(self, kind)?;
        }
        for kind in [SectionKind::OutDegrees, SectionKind::InDegrees] {
            // Their values were compared with the lists.
            self.check_section(kind)?;
        }
        runs::check_runs(self)?;
        ids::check_ids(self)?;
        order::check_order(self)?;
        hub_neighbours::check_hub_neighbours(self)?;
        // Opening the graph has checked the vertices.
        self.check_section(SectionKind::DeletedVertices)?;
        values::check_values(self)?;
        self.done = self.report.pages;
        self.report_progress()
    }

    /// Reads all lists with the changes of the log.
    fn check_logged(&mut self, graph: &Graph) -> Result<()> {
        for direction in [Direction::Out, Direction::In] {
            if direction == Direction::In && !graph.superblock().in_edges {
                continue;
            }
            let mut stored = 0;
            let column = match graph.load_weights(direction) {
                Ok(column) => column,
                Err(error) => return self.note(error),
            };
            let adjacency = graph.adjacency(direction).expect("the graph has this direction");
            let scanned = graph.scan(direction, &mut |number, page| {
                if number.is_multiple_of(PROGRESS_PAGES) {
                    self.report_progress()?;
                }
                stored += page.entries().len() as u64;
                column
                    .map_or(Ok(()), |column| adjacency.weight_runs(number, column, &page).map(drop))
            });
            match scanned {
                Ok(()) => {
                    let lists = graph.adjacency(direction).map_or(0, Adjacency::stored_edges);
                    self.compare("entries with the changes of the log", lists, stored)?;
                }
                Err(error) => self.note(error)?,
            }
        }
        Ok(())
    }

    fn advance(&mut self) -> Result<()> {
        self.done += 1;
        if self.done.is_multiple_of(PROGRESS_PAGES) { self.report_progress() } else { Ok(()) }
    }

    fn report_progress(&mut self) -> Result<()> {
        match (self.progress)(self.done, self.report.pages) {
            true => Ok(()),
            false => Err(StoreError::Cancelled { file: self.graph.file().to_string() }),
        }
    }

    /// Adds a fault of the file to the report and passes any other error on.
    fn note(&mut self, error: StoreError) -> Result<()> {
        let StoreError::Page(error) = error else { return Err(error) };
        self.report.faults_total += 1;
        if self.report.faults.len() < FAULTS_LISTED_MAX {
            let fault = Fault { page: Some(error.page), message: error.to_string() };
            self.report.faults.push(fault);
        }
        Ok(())
    }

    fn note_page(&mut self, page: u64, section: &'static str, fault: PageFault) -> Result<()> {
        self.note(self.graph.pages.layout.fault(page, section, fault))
    }

    /// Notes a fault of the superblock where its number is not the one counted.
    fn compare(&mut self, what: &'static str, stored: u64, counted: u64) -> Result<()> {
        match equal(what, stored, counted) {
            Ok(()) => Ok(()),
            Err(fault) => self.note_page(self.graph.superblock().slot(), SECTION, fault),
        }
    }

    /// Notes a fault where unused fields of a verified page's header are not zero.
    fn check_header(
        &mut self,
        page: u64,
        section: &'static str,
        header: &PageHeader,
    ) -> Result<()> {
        let is_adjacency = header.kind == PageKind::Adjacency as u8;
        let uses = [PageKind::Strings, PageKind::Weights].map(|kind| kind as u8);
        let head_skip = if uses.contains(&header.kind) { 0 } else { header.head_skip };
        let unused = [u64::from(header.lists), head_skip, header.head_degree, header.tail_degree];
        if !is_adjacency && unused != [0; 4] {
            let fault = other("fields of its header that should be zero are not");
            self.note_page(page, section, fault)?;
        }
        Ok(())
    }

    fn check_zero(&mut self, page: u64, section: &'static str, bytes: &[u8]) -> Result<()> {
        if bytes.iter().all(|byte| *byte == 0) {
            return Ok(());
        }
        self.note_page(page, section, other("bytes that should be zero are not"))
    }

    /// Checks headers and unused bytes of index pages; opening the graph has checked the words.
    fn check_words(&mut self, kind: SectionKind) -> Result<()> {
        let Some(&section) = self.graph.superblock().section(kind) else { return Ok(()) };
        let pages = &self.graph.pages;
        let mut stream = pages.stream(section.range(), Ahead::FAR)?;
        while let Some((page, bytes)) = stream.next()? {
            match pages.layout.verify(section, page, bytes) {
                Ok(header) => {
                    self.check_header(page, kind.name(), &header)?;
                    let end = HEADER_BYTES + header.entries as usize * 8;
                    self.check_zero(page, kind.name(), &bytes[end.min(bytes.len())..])?;
                }
                Err(error) => self.note(error)?,
            }
            self.advance()?;
        }
        Ok(())
    }

    /// Checks the pages of a section whose content was checked elsewhere.
    fn check_section(&mut self, kind: SectionKind) -> Result<()> {
        let Some(&section) = self.graph.superblock().section(kind) else { return Ok(()) };
        check_pages(self, section, &mut |_, _| Ok(())).map(drop)
    }
}

type PageCheck<'a> = &'a mut dyn FnMut(&[u8], &PageHeader) -> Result<(), PageFault>;

/// Verifies the pages of a section and passes them to `inside` until one has a fault, since the
/// pages after it cannot be compared any more. Returns whether no page had a fault.
fn check_pages(check: &mut Check<'_>, section: Section, inside: PageCheck<'_>) -> Result<bool> {
    let pages = &check.graph.pages;
    let mut stream = pages.stream(section.range(), Ahead::FAR)?;
    let mut in_order = true;
    while let Some((page, bytes)) = stream.next()? {
        match pages.layout.verify(section, page, bytes) {
            Ok(header) => {
                check.check_header(page, section.kind.name(), &header)?;
                if in_order && let Err(fault) = inside(bytes, &header) {
                    check.note_page(page, section.kind.name(), fault)?;
                    in_order = false;
                }
            }
            Err(error) => {
                check.note(error)?;
                in_order = false;
            }
        }
        check.advance()?;
    }
    Ok(in_order)
}

struct Degrees<'a> {
    reader: DegreeReader<'a>,
    /// What delta runs change.
    lengths: Option<Lengths<'a>>,
    batch: Vec<u64>,
    at: usize,
    /// The next vertex, and how many there are.
    vertex: VertexId,
    vertices: VertexId,
}

impl<'a> Degrees<'a> {
    /// `None` where the graph has no degrees, or stale ones.
    fn new(graph: &'a Graph, direction: Direction, kind: SectionKind) -> Result<Option<Self>> {
        let Some(&section) = graph.committed().fresh(kind) else { return Ok(None) };
        let reader = DegreeReader::new(&graph.pages, section, Ahead::NEAR)?;
        let lengths = graph.adjacency(direction).and_then(Adjacency::lengths);
        let vertices = graph.vertices() as VertexId;
        Ok(Some(Self { reader, lengths, batch: Vec::new(), at: 0, vertex: 0, vertices }))
    }

    fn next(&mut self) -> Result<Option<u64>> {
        let vertex = self.vertex;
        if self.at == self.batch.len() && !self.load()? {
            // The degrees of vertices that only the runs have are in them alone.
            let is_new = self.lengths.is_some() && vertex < self.vertices;
            self.vertex += VertexId::from(is_new);
            return Ok(if is_new { Some(self.changed(vertex, 0)?) } else { None });
        }
        self.vertex += 1;
        self.at += 1;
        self.changed(vertex, self.batch[self.at - 1]).map(Some)
    }

    fn load(&mut self) -> Result<bool> {
        let Some((_, degrees)) = self.reader.next()? else { return Ok(false) };
        self.batch.clear();
        self.batch.extend_from_slice(degrees);
        self.at = 0;
        Ok(true)
    }

    fn changed(&mut self, vertex: VertexId, degree: u64) -> Result<u64> {
        let by = self.lengths.as_mut().map_or(Ok(0), |lengths| lengths.of(vertex))?;
        Ok(degree.saturating_add_signed(by))
    }
}
