//! The weights of one direction's lists, one value per entry. The weights of a page of lists are
//! adjacent, in the order of its entries; the weight index says where they start.

use std::ops::Range;
use std::sync::OnceLock;

use crate::error::{PageFault, Result, at_most, equal, other};
use crate::format::{self, HEADER_BYTES, PageKind};
use crate::header::{self, PageHeader};
use crate::superblock::{Section, SectionKind};
use crate::table::SectionPages;
use crate::weights::format::WeightFormat;
use crate::weights::slice::Weights;
use crate::weights::value::WeightType;

pub(crate) const fn per_page(format: WeightFormat, page_bytes: usize) -> usize {
    format::payload_bytes(page_bytes) / format.bytes()
}

/// Encodes a word of the weight index, for one page of lists: the number of its weights (low 16
/// bits) and the address of the first (48 bits).
pub(crate) fn word(address: u64, entries: u64) -> u64 {
    assert!(entries <= ENTRIES && address <= u64::MAX >> 16, "a word holds both");
    address << 16 | entries
}

/// Mask of the number of weights in a word.
const ENTRIES: u64 = 0xffff;

pub(crate) fn addresses(word: u64) -> Range<u64> {
    word >> 16..(word >> 16) + (word & ENTRIES)
}

/// The pages of a column with so many weights on each that hold the weights at these addresses.
#[inline]
pub(crate) fn pages_of(addresses: Range<u64>, per_page: u64) -> Range<u64> {
    match addresses.is_empty() {
        true => 0..0,
        false => addresses.start / per_page..(addresses.end - 1) / per_page + 1,
    }
}

/// The weights of one direction's lists: where they lie, and how to read a page. Pages are numbered
/// within the section, `0..pages()`; the *address* of a weight is its position in the section.
#[derive(Debug)]
pub struct WeightColumn {
    pages: SectionPages,
    format: WeightFormat,
    /// A word for each page of lists, loaded by the first weighted run.
    words: OnceLock<Vec<u64>>,
}

impl WeightColumn {
    pub(crate) fn new(pages: SectionPages, format: WeightFormat) -> Self {
        Self { pages, format, words: OnceLock::new() }
    }

    /// Type of the weights.
    #[inline]
    pub fn kind(&self) -> WeightType {
        self.format.kind()
    }

    /// How the weights are stored.
    #[inline]
    pub fn format(&self) -> WeightFormat {
        self.format
    }

    /// First logical page of the section.
    #[inline]
    pub fn first_page(&self) -> u64 {
        self.pages.section.first_page
    }

    /// Pages of the section.
    #[inline]
    pub fn pages(&self) -> u64 {
        self.pages.section.pages
    }

    /// Number of weights in a page, except for the last.
    #[inline]
    pub fn per_page(&self) -> usize {
        per_page(self.format, self.pages.page_bytes)
    }

    /// The pages that hold the weights at these addresses.
    #[inline]
    pub fn pages_of(&self, addresses: Range<u64>) -> Range<u64> {
        pages_of(addresses, self.per_page() as u64)
    }

    /// Addresses of the weights of a page of lists, in the order of the page's entries.
    ///
    /// # Panics
    /// Before [`Graph::load_weights`](crate::Graph::load_weights).
    #[inline]
    pub fn addresses_of(&self, adjacency_page: u64) -> Range<u64> {
        let words = self.words.get().expect("a weighted run loads the weight index first");
        addresses(words[adjacency_page as usize])
    }

    pub(crate) fn words(&self) -> &OnceLock<Vec<u64>> {
        &self.words
    }

    /// Kind of the weight index of this direction.
    pub(crate) fn index_kind(&self) -> SectionKind {
        match self.pages.section.kind {
            SectionKind::InWeights => SectionKind::InWeightIndex,
            _ => SectionKind::OutWeightIndex,
        }
    }

    /// Checks that a word of the weight index stays within the section.
    pub(crate) fn check_word(&self, word: u64) -> Result<(), PageFault> {
        at_most("address of a weight", addresses(word).end, self.pages.section.items)
    }

    /// Bytes of memory of a loaded weight index for `adjacency_pages` pages of lists.
    pub fn bytes_for(adjacency_pages: u64) -> u64 {
        adjacency_pages * 8
    }

    /// Bytes of memory taken now.
    pub fn memory_bytes(&self) -> usize {
        self.words.get().map_or(0, |words| words.capacity() * 8)
    }

    /// Verifies a page as read from the device.
    ///
    /// # Panics
    /// If `bytes` is not a whole page or not aligned to 8 bytes.
    pub fn parse<'a>(&self, page: u64, bytes: &'a [u8]) -> Result<Weights<'a>> {
        let verified = header::verify(bytes, &self.pages.identity(page), PageKind::Weights);
        let weights = verified.and_then(|header| self.check(page, bytes, &header));
        weights.map_err(|fault| self.pages.fault(page, fault))
    }

    fn check<'a>(
        &self,
        page: u64,
        bytes: &'a [u8],
        header: &PageHeader,
    ) -> Result<Weights<'a>, PageFault> {
        equal("number of weights", header.entries.into(), self.count_in(page))?;
        let address = page * self.per_page() as u64;
        equal("address of the first weight", header.head_skip, address)?;
        let weights = self.reparse(page, bytes);
        match weights.position_of_infinite() {
            Some(at) => Err(other(format!("its weight {at} is not finite"))),
            None => Ok(weights),
        }
    }

    /// The view of a page that [`WeightColumn::parse`] has accepted.
    ///
    /// # Panics
    /// As [`WeightColumn::parse`].
    #[inline]
    pub fn reparse<'a>(&self, page: u64, bytes: &'a [u8]) -> Weights<'a> {
        assert_eq!(bytes.len(), self.pages.page_bytes, "a page is parsed as a whole");
        let end = HEADER_BYTES + self.count_in(page) as usize * self.format.bytes();
        Weights::from_bytes(self.format, &bytes[HEADER_BYTES..end])
    }

    /// Number of weights in a page.
    #[inline]
    pub fn count_in(&self, page: u64) -> u64 {
        let per_page = self.per_page() as u64;
        self.pages.section.items.saturating_sub(page * per_page).min(per_page)
    }

    pub(crate) fn section(&self) -> Section {
        self.pages.section
    }
}
