//! Writes a graph in one pass: lists, index, degrees and ids. Only hub neighbours read lists back.
//!
//! The superblock comes last, after everything else is on stable storage: without it the file is
//! not a graph.
//!
//! - `packer`: packs lists into pages, in vertex order

pub(crate) mod packer;

use std::io;
use std::sync::Arc;

use cenote_device::Device;

use crate::commit::{self, Commit};
use crate::error::{Result, StoreError};
use crate::format::{self, Codec, EPOCH_OF_IMPORT, PageKind, SLOTS};
use crate::hub_neighbours::{Classes, HubNeighboursChoice, HubNeighboursWriter};
use crate::ids;
use crate::index::{Adjacency, word_entries};
use crate::order::{self, Order, Tables};
use crate::packed::page::PackedPage;
use crate::sink::PageSink;
use crate::superblock::{IdKind, Section, SectionKind, Superblock};
use crate::table::{Extent, Extents, PageTable, SectionPages};
use crate::weights::column;
use crate::weights::spool::Spool;
use crate::weights::{Weight, WeightSummary, WeightType};
use crate::words::write_words;
use packer::{Packed, Packer, Totals};

/// Properties of a graph, given before its first list.
#[derive(Clone, Debug)]
pub struct GraphSpec {
    /// Bytes of a page: a power of two, 4 KiB to 64 KiB.
    pub page_bytes: usize,
    /// Number of vertices; each has a list, which may be empty.
    pub vertices: u64,
    /// Whether edges have a direction. An undirected edge is in the lists of both ends (a self-loop
    /// once).
    pub directed: bool,
    /// Whether lists of sources follow the lists of targets; for directed graphs only.
    pub in_edges: bool,
    /// Whether a list may contain an entry more than once.
    pub duplicates_kept: bool,
    /// Whether a list may contain its own vertex.
    pub self_loops_kept: bool,
    /// Random number that distinguishes this graph from others; it goes into every checksum.
    pub salt: u64,
}

/// Numbers of edges, given after the last list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Edges as the user counts them. Must agree with the lists: on a directed graph the number of
    /// entries; else the entries plus the self-loops, halved.
    pub edges: u64,
    /// Repeated edges that were found, kept or not.
    pub duplicates: u64,
    /// Self-loops that were found, kept or not.
    pub self_loops: u64,
}

/// The source of the user's vertex ids, which ascend strictly. They are in vertex order unless the
/// graph has another order ([`GraphWriter::finish_in_order`]).
pub enum IdsSource<'a> {
    /// The ids are `0..vertices` and are not stored.
    Dense,
    /// Returns the next integer.
    Integers(&'a mut dyn FnMut() -> io::Result<u64>),
    /// Writes the next string into the cleared buffer: UTF-8, at most 64 KiB. Strings ascend by
    /// their bytes.
    Strings(&'a mut dyn FnMut(&mut Vec<u8>) -> io::Result<()>),
}

/// Writes a graph to a device.
///
/// Push a list for every vertex; with in-edges call [`GraphWriter::begin_in`] and push a list of
/// sources for every vertex; then call [`GraphWriter::finish`]. Use it on one thread.
pub struct GraphWriter {
    spec: GraphSpec,
    codec: Codec,
    free_space: u32,
    sink: PageSink,
    packer: Packer,
    sections: Vec<Section>,
    out: Option<Totals>,
    ended: bool,
    stored_in: u64,
    weights: Option<WeightWriter>,
    hub_neighbours: HubNeighboursChoice,
    /// The lists that hub neighbours are to be computed from.
    lists: Option<WrittenLists>,
}

/// The lists that were written last.
struct WrittenLists {
    section: Section,
    index: Vec<u64>,
    classes: Classes,
}

/// The column of weights of the current direction.
struct WeightWriter {
    spool: Spool,
    scratch: Arc<dyn Device>,
    kind: WeightType,
    /// Summary of the lists of targets, once they are written.
    summary: Option<WeightSummary>,
}

impl GraphWriter {
    /// Starts an unweighted graph with raw pages. Overwrites the device.
    pub fn create(device: Arc<dyn Device>, spec: GraphSpec) -> Result<Self> {
        Self::create_with_codec(device, spec, Codec::Raw)
    }

    /// Starts a graph with weights, which are kept on a `scratch` device until their lists are
    /// written. Call [`GraphWriter::extend_weights`] after every [`GraphWriter::extend`].
    pub fn create_weighted(
        device: Arc<dyn Device>,
        spec: GraphSpec,
        (codec, kind): (Codec, WeightType),
        scratch: Arc<dyn Device>,
    ) -> Result<Self> {
        let (page_bytes, salt) = (spec.page_bytes, spec.salt);
        let mut writer = Self::create_with_codec(device, spec, codec)?;
        let spool = Spool::new(kind, Arc::clone(&scratch), page_bytes, salt)?;
        writer.weights = Some(WeightWriter { spool, scratch, kind, summary: None });
        Ok(writer)
    }

    /// Appends the weights of the entries pushed last, as ordered bits.
    pub fn extend_ordered(&mut self, weights: &[u64]) -> Result<()> {
        match &mut self.weights {
            Some(writer) => writer.spool.extend(weights),
            None => unreachable!("the graph is unweighted"),
        }
    }

    /// Appends the weights of the entries pushed last. Weights of a repeated entry ascend.
    ///
    /// # Panics
    /// If the graph is unweighted, or a weight is of another type or not finite.
    pub fn extend_weights(&mut self, weights: &[Weight]) -> Result<()> {
        let kind = self.weights.as_ref().expect("the graph is weighted").kind;
        let ordered = |weight: &Weight| {
            let ordered = weight.ordered().expect("weights are finite");
            assert!(kind.weight(ordered) == *weight, "the weight {weight:?} is of another type");
            ordered
        };
        self.extend_ordered(&weights.iter().map(ordered).collect::<Vec<_>>())
    }

    /// Starts an unweighted graph. Overwrites the device.
    pub fn create_with_codec(
        device: Arc<dyn Device>,
        spec: GraphSpec,
        codec: Codec,
    ) -> Result<Self> {
        check_spec(&device.name(), &spec)?;
        commit::erase(device.as_ref())?;
        let sink = PageSink::new(device, spec.page_bytes, spec.salt)?;
        let packer = Packer::new(&spec, codec, 0);
        Ok(Self {
            spec,
            codec,
            free_space: 0,
            sink,
            packer,
            sections: Vec::new(),
            out: None,
            ended: false,
            stored_in: 0,
            weights: None,
            hub_neighbours: HubNeighboursChoice::No,
            lists: None,
        })
    }

    /// Sets whether [`GraphWriter::write_hub_neighbours`] writes hub neighbours; by default it does
    /// not.
    #[must_use]
    pub fn with_hub_neighbours(mut self, hub_neighbours: HubNeighboursChoice) -> Self {
        self.hub_neighbours = hub_neighbours;
        self
    }

    /// Packs each page of lists only so far that so many percent of it stay free, at most
    /// [`format::FREE_SPACE_MAX`], and records that for later changes. Call it before the first
    /// list.
    ///
    /// # Panics
    /// For more, or behind the first list.
    #[must_use]
    pub fn with_free_space(mut self, percent: u32) -> Self {
        assert!(percent <= format::FREE_SPACE_MAX, "{percent}% of a page cannot stay free");
        assert!(self.packer.is_new(), "the first list is packed already");
        self.free_space = percent;
        self.packer = Packer::new(&self.spec, self.codec, percent);
        self
    }

    /// Bytes of memory for hub neighbours, beside one byte per vertex and
    /// [`GraphWriter::memory_bytes`].
    pub fn hub_neighbours_bytes(adjacency_pages: u64, threads: usize) -> usize {
        5 * adjacency_pages as usize + HubNeighboursWriter::memory_bytes(threads)
    }

    /// Bytes of memory of a new writer, with weights or without.
    pub fn bytes_for(page_bytes: usize, codec: Codec, weighted: bool) -> usize {
        let packed = match codec {
            Codec::Raw => 0,
            Codec::Packed => PackedPage::bytes_for(page_bytes),
        };
        Self::buffer_bytes(weighted) + packed + page_bytes
    }

    fn buffer_bytes(weighted: bool) -> usize {
        PageSink::MEMORY_BYTES + if weighted { Spool::MEMORY_BYTES } else { 0 }
    }

    /// Bytes of memory: buffers, the lists of a packed page, and for the current direction the page
    /// index (8 bytes a page) and the degrees (1 to 2 bytes a vertex).
    pub fn memory_bytes(&self) -> usize {
        Self::buffer_bytes(self.weights.is_some()) + self.packer.memory_bytes()
    }

    /// Writes the whole list of the next vertex.
    ///
    /// # Panics
    /// As [`GraphWriter::begin_list`] and [`GraphWriter::extend`].
    #[inline]
    pub fn push_list(&mut self, targets: &[u32]) -> Result<()> {
        self.begin_list(targets.len() as u64)?;
        self.extend(targets)?;
        self.end_list();
        Ok(())
    }

    /// Starts the list of the next vertex, whose length is `degree`.
    ///
    /// # Panics
    /// If a list is open or all vertices have a list.
    #[inline]
    pub fn begin_list(&mut self, degree: u64) -> Result<()> {
        self.packer.begin(degree, &mut self.sink)
    }

    /// Appends entries to the open list.
    ///
    /// # Panics
    /// If no list is open, or if the entries exceed its length, do not ascend, are no vertices, or
    /// are of a kind (repeated, self-loop) that the graph excludes.
    #[inline]
    pub fn extend(&mut self, targets: &[u32]) -> Result<()> {
        self.packer.extend(targets, &mut self.sink)
    }

    /// Closes the open list.
    ///
    /// # Panics
    /// If it is shorter than announced.
    #[inline]
    pub fn end_list(&mut self) {
        self.packer.end();
    }

    /// Ends the lists of targets and begins the lists of sources.
    ///
    /// # Panics
    /// If the graph has no in-edges, or some vertex has no list yet.
    pub fn begin_in(&mut self) -> Result<()> {
        assert!(self.spec.in_edges, "only a graph with in-edges has lists of sources");
        assert!(self.out.is_none(), "lists of sources begin once");
        let totals = self.finish_direction([
            SectionKind::OutAdjacency,
            SectionKind::OutIndex,
            SectionKind::OutDegrees,
        ])?;
        self.out = Some(totals);
        Ok(())
    }

    /// Writes the sections that follow the lists of a direction, and prepares the next direction.
    fn finish_direction(&mut self, kinds: [SectionKind; 3]) -> Result<Totals> {
        let next = Packer::new(&self.spec, self.codec, self.free_space);
        let packer = std::mem::replace(&mut self.packer, next);
        let Packed { index, degrees, totals } = packer.finish(&mut self.sink)?;
        let vertices = self.spec.vertices;
        let classes = self.has_hub_neighbours(kinds[0], &totals).then(|| {
            let mut classes = Classes::with_capacity(vertices as usize);
            degrees.for_each(|degree| classes.push(degree));
            classes
        });
        self.add_section(kinds[0], index.len() as u64, totals.stored);
        let section = self.sections[self.sections.len() - 1];
        let pages = write_words(&mut self.sink, &index)?;
        self.add_section(kinds[1], pages, index.len() as u64);
        let pages = degrees.write(&mut self.sink)?;
        self.add_section(kinds[2], pages, vertices);
        self.finish_weights(kinds[0], totals.stored)?;
        self.write_weight_index(kinds[0], &index)?;
        self.lists = classes.map(|classes| WrittenLists { section, index, classes });
        Ok(totals)
    }

    /// Whether hub neighbours are computed from these lists, which must be lists of sources.
    fn has_hub_neighbours(&self, adjacency: SectionKind, totals: &Totals) -> bool {
        let looks_back = match adjacency {
            SectionKind::OutAdjacency => !self.spec.directed,
            _ => true,
        };
        looks_back && self.hub_neighbours.is_made(self.spec.vertices, totals.stored)
    }

    /// Ends all lists and writes the sections of the last direction. Call it before
    /// [`GraphWriter::write_hub_neighbours`]; [`GraphWriter::finish`] includes it.
    ///
    /// # Panics
    /// If some vertex has no list, or announced lists of sources have not begun.
    pub fn end_lists(&mut self) -> Result<()> {
        use SectionKind::{InAdjacency, InDegrees, InIndex, OutAdjacency, OutDegrees, OutIndex};
        match self.out {
            Some(_) => {
                let kinds = [InAdjacency, InIndex, InDegrees];
                self.stored_in = self.finish_direction(kinds)?.stored;
            }
            None => {
                assert!(!self.spec.in_edges, "lists of sources were announced");
                let kinds = [OutAdjacency, OutIndex, OutDegrees];
                self.out = Some(self.finish_direction(kinds)?);
            }
        }
        self.ended = true;
        Ok(())
    }

    /// Whether [`GraphWriter::write_hub_neighbours`] will write any.
    pub fn wants_hub_neighbours(&self) -> bool {
        self.lists.is_some()
    }

    /// Writes the hub neighbours, if the graph is to have any
    /// ([`GraphWriter::with_hub_neighbours`]): reads the lists back on `threads`. Calls `go_on`
    /// every few MiB with the bytes read since its last call. Returns false if `go_on` did.
    ///
    /// # Panics
    /// Before [`GraphWriter::end_lists`].
    pub fn write_hub_neighbours(
        &mut self,
        threads: usize,
        go_on: &mut dyn FnMut(u64) -> bool,
    ) -> Result<bool> {
        assert!(self.ended, "hub neighbours follow all lists");
        let Some(WrittenLists { section, index, classes }) = self.lists.take() else {
            return Ok(true);
        };
        self.sink.settle()?;
        let device = Arc::clone(self.sink.device());
        let (spec, vertices) = (&self.spec, self.spec.vertices as u32);
        let (page_bytes, salt) = (spec.page_bytes, spec.salt);
        let (file, table) = (device.name().into(), PageTable::unmapped(EPOCH_OF_IMPORT));
        let pages = SectionPages { file, section, page_bytes, salt, table };
        let mut load = Adjacency::load(pages, vertices);
        let pushed = index.iter().try_for_each(|word| load.push(*word));
        drop(index);
        let adjacency = pushed.and_then(|()| load.finish());
        let adjacency = adjacency.expect("the packer's index follows from itself");
        let (adjacency, classes, threads) = (&adjacency, &classes, threads.max(1));
        let writer = HubNeighboursWriter { device: &device, adjacency, classes, threads };
        let Some(pages) = writer.write(&mut self.sink, go_on)? else { return Ok(false) };
        let kind = match section.kind {
            SectionKind::InAdjacency => SectionKind::InHubNeighbours,
            _ => SectionKind::OutHubNeighbours,
        };
        self.add_section(kind, pages, u64::from(vertices));
        Ok(true)
    }

    /// Moves the weights of the last lists from the scratch device to the graph.
    fn finish_weights(&mut self, adjacency: SectionKind, stored: u64) -> Result<()> {
        let Some(writer) = &mut self.weights else { return Ok(()) };
        let first_page = self.sink.page_number();
        let count = writer.spool.move_to(&mut self.sink)?;
        assert_eq!(count, stored, "every entry has a weight");
        let is_out = adjacency == SectionKind::OutAdjacency;
        let kind = if is_out { SectionKind::OutWeights } else { SectionKind::InWeights };
        if is_out {
            writer.summary = Some(writer.spool.tally.summary());
        }
        if is_out && self.spec.in_edges {
            let (page_bytes, salt) = (self.spec.page_bytes, self.spec.salt);
            let scratch = Arc::clone(&writer.scratch);
            writer.spool = Spool::new(writer.kind, scratch, page_bytes, salt)?;
        }
        let pages = self.sink.page_number() - first_page;
        self.add_section(kind, pages, stored);
        Ok(())
    }

    /// Writes the weight index: the weights of a page of lists follow those of the page before.
    fn write_weight_index(&mut self, adjacency: SectionKind, index: &[u64]) -> Result<()> {
        if self.weights.is_none() {
            return Ok(());
        }
        let kind = match adjacency {
            SectionKind::OutAdjacency => SectionKind::OutWeightIndex,
            _ => SectionKind::InWeightIndex,
        };
        let mut address = 0;
        let words = index.iter().map(|word| {
            let first = address;
            address += word_entries(*word);
            column::word(first, word_entries(*word))
        });
        let pages = write_words(&mut self.sink, &words.collect::<Vec<_>>())?;
        self.add_section(kind, pages, index.len() as u64);
        Ok(())
    }

    /// Records a section that ends before the current page.
    fn add_section(&mut self, kind: SectionKind, pages: u64, items: u64) {
        let first_page = self.sink.page_number() - pages;
        let lists = kind.page_kind() == PageKind::Adjacency;
        let codec = if lists { self.codec } else { Codec::Raw };
        let epoch = EPOCH_OF_IMPORT;
        self.sections.push(Section { kind, codec, first_page, pages, items, epoch });
    }

    /// Writes the remaining sections, syncs, and writes and syncs the superblock that makes the
    /// file a graph.
    ///
    /// # Panics
    /// If some vertex has no list yet.
    pub fn finish(self, ids: IdsSource<'_>, counts: Counts) -> Result<Superblock> {
        self.finish_in_order(ids, None, counts)
    }

    /// [`GraphWriter::finish`] for a graph whose lists were not pushed in the order of the ids;
    /// `tables` map between ranks and vertices.
    ///
    /// # Panics
    /// If some vertex has no list yet, or a table does not have one entry for each vertex.
    pub fn finish_in_order(
        mut self,
        ids: IdsSource<'_>,
        tables: Option<Tables<'_>>,
        counts: Counts,
    ) -> Result<Superblock> {
        if !self.ended {
            self.end_lists()?;
        }
        self.write_hub_neighbours(1, &mut |_| true)?;
        let totals = self.out.expect("all lists have ended");
        self.check_counts(&totals, &counts)?;
        let ids = self.write_ids(ids)?;
        let order = self.write_tables(tables)?;
        let pages_total = self.sink.finish()?;
        let superblock = self.superblock((ids, order), &totals, &counts, pages_total);
        let pages = pages_total - SLOTS;
        let all = Extent { logical: SLOTS, physical: SLOTS, pages, epoch: EPOCH_OF_IMPORT };
        let table = if pages > 0 { vec![all] } else { Vec::new() };
        let extents = Extents { table, ..Extents::default() };
        let commit = Commit { superblock, extents, other_slot: None };
        commit.publish(self.sink.device().as_ref())?;
        Ok(commit.superblock)
    }

    fn check_counts(&self, totals: &Totals, counts: &Counts) -> Result<()> {
        let edges = if self.spec.directed {
            totals.stored
        } else {
            (totals.stored + totals.self_loops) / 2
        };
        let file = self.sink.file();
        if counts.edges != edges {
            let reason = format!("its lists hold {edges} edges, but {} were counted", counts.edges);
            return Err(StoreError::Unwritable { file, reason });
        }
        if self.spec.in_edges && self.stored_in != totals.stored {
            let (out, back) = (totals.stored, self.stored_in);
            let reason = format!("its lists hold {out} targets but {back} sources");
            return Err(StoreError::Unwritable { file, reason });
        }
        Ok(())
    }

    fn write_ids(&mut self, source: IdsSource<'_>) -> Result<IdKind> {
        let vertices = self.spec.vertices;
        let (kind, section, pages) = match source {
            IdsSource::Dense => return Ok(IdKind::Dense),
            IdsSource::Integers(next) => {
                let pages = ids::write_integers(&mut self.sink, vertices, next)?;
                (IdKind::Integers, SectionKind::Integers, pages)
            }
            IdsSource::Strings(next) => {
                let pages = ids::write_strings(&mut self.sink, vertices, next)?;
                (IdKind::Strings, SectionKind::Strings, pages)
            }
        };
        self.add_section(section, pages, vertices);
        Ok(kind)
    }

    fn write_tables(&mut self, tables: Option<Tables<'_>>) -> Result<Order> {
        let Some(Tables { order, vertex_of, rank_of }) = tables else { return Ok(Order::Natural) };
        assert_ne!(order, Order::Natural, "the natural order has no tables");
        let both = [(SectionKind::VertexOfRank, vertex_of), (SectionKind::RankOfVertex, rank_of)];
        for (kind, table) in both {
            let items = table.len() as u64;
            assert_eq!(items, self.spec.vertices, "{} has all vertices", kind.name());
            let pages = order::write_table(&mut self.sink, table)?;
            self.add_section(kind, pages, items);
        }
        Ok(order)
    }

    fn superblock(
        &mut self,
        (ids, order): (IdKind, Order),
        totals: &Totals,
        counts: &Counts,
        pages_total: u64,
    ) -> Superblock {
        Superblock {
            format_version: format::FORMAT_VERSION,
            page_bytes: self.spec.page_bytes as u32,
            features_optional: self.free_space.into(),
            directed: self.spec.directed,
            in_edges: self.spec.in_edges,
            ids,
            order,
            duplicates_kept: self.spec.duplicates_kept,
            self_loops_kept: self.spec.self_loops_kept,
            weights: self.weights.as_ref().and_then(|writer| writer.summary),
            vertices: self.spec.vertices,
            edges: counts.edges,
            stored_out: totals.stored,
            stored_in: self.stored_in,
            duplicates: counts.duplicates,
            self_loops: counts.self_loops,
            degree_max: totals.degree_max,
            degree_max_vertex: totals.degree_max_vertex,
            salt: self.spec.salt,
            epoch: EPOCH_OF_IMPORT,
            pages_total,
            logical_pages: pages_total,
            log: 0..0,
            snapshots: 0..0,
            snapshots_epoch: 0,
            value_type: None,
            logged_vertices: 0,
            listed_vertices: self.spec.vertices,
            sections: std::mem::take(&mut self.sections),
        }
    }
}

fn check_spec(file: &str, spec: &GraphSpec) -> Result<()> {
    let reason = if !format::is_page_size(spec.page_bytes as u64) {
        let bytes = spec.page_bytes;
        format!("a page has {bytes} bytes; choose a power of two from 4096 to 65536")
    } else if spec.vertices > format::VERTICES_MAX {
        format!("it has {} vertices; at most {} are possible", spec.vertices, format::VERTICES_MAX)
    } else if spec.in_edges && !spec.directed {
        "in-edges are kept for directed graphs only".into()
    } else {
        return Ok(());
    };
    Err(StoreError::Unwritable { file: file.into(), reason })
}
