//! Pages that stay unpacked in memory, where a run has more than it needs for all packed pages.
//!
//! A page is kept when it is unpacked for the second time: a run that reads each page once gains
//! nothing by copies. What is kept stays until the run ends.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::delta::EntryOrder;
use crate::error::Result;
use crate::graph::Graph;
use crate::index::Adjacency;
use crate::packed::decode::Decoded;
use crate::page::{List, MISSING, Page, PageEnds};
use crate::{Codec, Direction, VertexId};

/// Unpacked pages of the lists of a graph. Raw pages, and those of a graph with changes that are
/// not merged, are never kept.
#[derive(Debug, Default)]
pub struct UnpackedPages {
    /// Bytes that are left for further pages.
    left: AtomicU64,
    sections: Vec<Section>,
}

/// The pages of one direction.
#[derive(Debug)]
struct Section {
    first_page: u64,
    slots: Vec<OnceLock<Box<Unpacked>>>,
    /// A bit for each page that was unpacked before.
    seen: Vec<AtomicU64>,
    /// The most bytes of a page.
    most: u64,
}

#[derive(Debug)]
struct Unpacked {
    ends: PageEnds,
    entries: Box<[u32]>,
    starts: Box<[u16]>,
}

impl Unpacked {
    /// Bytes of a page, with what an allocator adds to each of three blocks.
    fn bytes_for(entries: u64, lists: u64) -> u64 {
        const BLOCKS: u64 = 3 * 16;
        size_of::<Self>() as u64 + BLOCKS + 4 * entries + 2 * lists
    }

    fn view(&self) -> Page<'_> {
        self.ends.page((&self.entries, &self.starts))
    }
}

impl Section {
    fn new(adjacency: &Adjacency) -> Self {
        let pages = adjacency.pages() as usize;
        Self {
            first_page: adjacency.first_page(),
            slots: std::iter::repeat_with(OnceLock::new).take(pages).collect(),
            seen: std::iter::repeat_with(AtomicU64::default).take(pages.div_ceil(64)).collect(),
            most: adjacency.decoded_bytes() as u64,
        }
    }

    fn bytes_for(adjacency: &Adjacency) -> u64 {
        let slot = size_of::<OnceLock<Box<Unpacked>>>() as u64;
        adjacency.pages() * slot + adjacency.pages().div_ceil(64) * 8
    }

    fn kept(&self, page: u64) -> Option<&Unpacked> {
        self.slots[page as usize].get().map(Box::as_ref)
    }

    /// Notes that a page is unpacked; whether it was before.
    fn is_seen(&self, page: u64) -> bool {
        let bit = 1 << (page % 64);
        let word = &self.seen[page as usize / 64];
        word.load(Ordering::Relaxed) & bit != 0 || word.fetch_or(bit, Ordering::Relaxed) & bit != 0
    }
}

/// The lists of a graph whose pages may be kept unpacked.
fn sections(graph: &Graph) -> impl Iterator<Item = &Adjacency> {
    let inward = graph.is_directed().then(|| graph.adjacency(Direction::In)).flatten();
    let all = graph.adjacency(Direction::Out).into_iter().chain(inward);
    all.filter(|adjacency| adjacency.codec() == Codec::Packed && adjacency.delta().is_none())
}

impl UnpackedPages {
    /// Bytes for all pages of a graph.
    pub fn bytes_for_all(graph: &Graph) -> u64 {
        let of_section = |adjacency: &Adjacency| {
            // A list on several pages has a start in each.
            let lists = u64::from(adjacency.stored_vertices()) + adjacency.pages();
            let entries = 4 * adjacency.stored_edges();
            let pages = Unpacked::bytes_for(0, 0) * adjacency.pages();
            Section::bytes_for(adjacency) + pages + entries + 2 * lists
        };
        // Before a page is unpacked there must be room for the largest.
        let most = sections(graph).map(|adjacency| adjacency.decoded_bytes() as u64).max();
        sections(graph).map(of_section).sum::<u64>() + most.unwrap_or(0)
    }

    /// Room for pages of a graph in so many bytes.
    pub fn new(graph: &Graph, bytes: u64) -> Self {
        let places: u64 = sections(graph).map(Section::bytes_for).sum();
        match bytes.checked_sub(places) {
            Some(left @ 1..) => Self {
                left: AtomicU64::new(left),
                sections: sections(graph).map(Section::new).collect(),
            },
            _ => Self::default(),
        }
    }

    /// How many pages are kept.
    pub fn pages(&self) -> usize {
        let kept =
            |section: &Section| section.slots.iter().filter(|slot| slot.get().is_some()).count();
        self.sections.iter().map(kept).sum()
    }

    fn section(&self, adjacency: &Adjacency) -> Option<&Section> {
        self.sections.iter().find(|section| section.first_page == adjacency.first_page())
    }

    /// As [`Adjacency::reparse_in`], of the graph that the pages are of.
    ///
    /// # Errors
    /// As [`Adjacency::reparse_in`].
    ///
    /// # Panics
    /// As [`Adjacency::reparse_in`].
    pub fn page<'a>(
        &'a self,
        adjacency: &Adjacency,
        (page, bytes): (u64, &'a [u8]),
        order: EntryOrder,
        decoded: &'a mut Decoded,
    ) -> Result<Page<'a>> {
        let Some(section) = self.section(adjacency) else {
            return adjacency.reparse_in(page, bytes, order, decoded);
        };
        if let Some(kept) = section.kept(page) {
            return Ok(kept.view());
        }
        let is_kept = section.is_seen(page) && self.has_room(section);
        let view = adjacency.reparse_in(page, bytes, order, decoded)?;
        if is_kept {
            self.keep(section, page, &view);
        }
        Ok(view)
    }

    /// As [`Adjacency::reparse_lists_in`], of the graph that the pages are of.
    ///
    /// # Errors
    /// As [`Adjacency::reparse_lists_in`].
    ///
    /// # Panics
    /// As [`Adjacency::reparse_lists_in`].
    pub fn lists(
        &self,
        adjacency: &Adjacency,
        (page, bytes): (u64, &[u8]),
        (vertices, order): (&[VertexId], EntryOrder),
        decoded: &mut Decoded,
        take: &mut dyn FnMut(&List<'_>),
    ) -> Result<()> {
        let is_unpacked = self.section(adjacency).is_some_and(|section| {
            section.kept(page).is_some() || section.is_seen(page) && self.has_room(section)
        });
        if !is_unpacked {
            return adjacency.reparse_lists_in(page, bytes, (vertices, order), decoded, take);
        }
        let view = self.page(adjacency, (page, bytes), order, decoded)?;
        vertices.iter().for_each(|&vertex| take(&view.list_of(vertex).expect(MISSING)));
        Ok(())
    }

    fn has_room(&self, section: &Section) -> bool {
        self.left.load(Ordering::Relaxed) >= section.most
    }

    /// Keeps a copy of a page, if there is room for it.
    fn keep(&self, section: &Section, page: u64, view: &Page<'_>) {
        let (entries, starts) = view.parts();
        let bytes = Unpacked::bytes_for(entries.len() as u64, starts.len() as u64);
        let less = |left: u64| left.checked_sub(bytes);
        if self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_err() {
            return;
        }
        let unpacked =
            Unpacked { ends: view.ends(), entries: entries.into(), starts: starts.into() };
        if section.slots[page as usize].set(Box::new(unpacked)).is_err() {
            // Another thread was faster.
            self.left.fetch_add(bytes, Ordering::Relaxed);
        }
    }
}
