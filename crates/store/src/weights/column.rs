//! The weights of one direction's lists, one value per entry. The weights of a page of lists are
//! adjacent, in the order of its entries; the weight index says where they start.

use std::ops::Range;
use std::sync::OnceLock;

use crate::error::{PageFault, Result, at_most, equal, other};
use crate::format::{self, HEADER_BYTES, PageKind};
use crate::header::{self, PageHeader};
use crate::superblock::{Section, SectionKind};
use crate::table::SectionPages;
use crate::weights::value::{Weight, WeightType};

/// A slice of weights, as stored in a page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Weights<'a> {
    /// [`WeightType::F32`].
    F32(&'a [f32]),
    /// [`WeightType::F64`].
    F64(&'a [f64]),
    /// [`WeightType::U32`].
    U32(&'a [u32]),
    /// [`WeightType::I64`].
    I64(&'a [i64]),
}

/// Evaluates an expression on the slice of any type.
macro_rules! each {
    ($weights:expr, $values:ident => $result:expr) => {
        match $weights {
            Weights::F32($values) => $result,
            Weights::F64($values) => $result,
            Weights::U32($values) => $result,
            Weights::I64($values) => $result,
        }
    };
}

impl<'a> Weights<'a> {
    /// Number of weights.
    #[inline]
    pub fn len(&self) -> usize {
        each!(self, values => values.len())
    }

    /// Whether the slice is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The weight at an index.
    ///
    /// # Panics
    /// If `index` is out of bounds.
    #[inline]
    pub fn get(&self, index: usize) -> Weight {
        match self {
            Self::F32(values) => Weight::F32(values[index]),
            Self::F64(values) => Weight::F64(values[index]),
            Self::U32(values) => Weight::U32(values[index]),
            Self::I64(values) => Weight::I64(values[index]),
        }
    }

    /// A subslice.
    ///
    /// # Panics
    /// If `range` is out of bounds.
    #[inline]
    pub fn slice(&self, range: Range<usize>) -> Weights<'a> {
        match self {
            Self::F32(values) => Weights::F32(&values[range]),
            Self::F64(values) => Weights::F64(&values[range]),
            Self::U32(values) => Weights::U32(&values[range]),
            Self::I64(values) => Weights::I64(&values[range]),
        }
    }

    /// The bytes of the weights, as in the file.
    #[inline]
    pub fn as_bytes(&self) -> &'a [u8] {
        each!(self, values => bytemuck::cast_slice(values))
    }

    /// The weights in bytes of a file.
    ///
    /// # Panics
    /// If the bytes are not aligned to a weight, or not a whole number of them.
    #[inline]
    pub fn from_bytes(kind: WeightType, bytes: &'a [u8]) -> Self {
        match kind {
            WeightType::F32 => Self::F32(bytemuck::cast_slice(bytes)),
            WeightType::F64 => Self::F64(bytemuck::cast_slice(bytes)),
            WeightType::U32 => Self::U32(bytemuck::cast_slice(bytes)),
            WeightType::I64 => Self::I64(bytemuck::cast_slice(bytes)),
        }
    }

    /// Position of the first weight that is not finite.
    fn position_of_infinite(&self) -> Option<usize> {
        // A first pass over the whole slice vectorises; the search runs only if it finds any.
        let (any, position) = match self {
            Self::F32(values) => (
                values.iter().fold(false, |any, value| any | !value.is_finite()),
                values.iter().position(|value| !value.is_finite()),
            ),
            Self::F64(values) => (
                values.iter().fold(false, |any, value| any | !value.is_finite()),
                values.iter().position(|value| !value.is_finite()),
            ),
            Self::U32(_) | Self::I64(_) => return None,
        };
        if any { position } else { None }
    }

    pub(crate) fn for_each_ordered(&self, kind: WeightType, mut each: impl FnMut(u64)) {
        match self {
            Self::F32(values) => {
                values.iter().for_each(|v| each(kind.ordered(u64::from(v.to_bits()))));
            }
            Self::F64(values) => values.iter().for_each(|v| each(kind.ordered(v.to_bits()))),
            Self::U32(values) => values.iter().for_each(|v| each(u64::from(*v))),
            Self::I64(values) => values.iter().for_each(|v| each(kind.ordered(v.cast_unsigned()))),
        }
    }
}

pub(crate) const fn per_page(kind: WeightType, page_bytes: usize) -> usize {
    format::payload_bytes(page_bytes) / kind.bytes()
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

/// The weights of one direction's lists: where they lie, and how to read a page. Pages are numbered
/// within the section, `0..pages()`; the *address* of a weight is its position in the section.
#[derive(Debug)]
pub struct WeightColumn {
    pages: SectionPages,
    kind: WeightType,
    /// A word for each page of lists, loaded by the first weighted run.
    words: OnceLock<Vec<u64>>,
}

impl WeightColumn {
    pub(crate) fn new(pages: SectionPages, kind: WeightType) -> Self {
        Self { pages, kind, words: OnceLock::new() }
    }

    /// Type of the weights.
    #[inline]
    pub fn kind(&self) -> WeightType {
        self.kind
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
        per_page(self.kind, self.pages.page_bytes)
    }

    /// The pages that hold the weights at these addresses.
    #[inline]
    pub fn pages_of(&self, addresses: Range<u64>) -> Range<u64> {
        if addresses.is_empty() {
            return 0..0;
        }
        let per_page = self.per_page() as u64;
        addresses.start / per_page..(addresses.end - 1) / per_page + 1
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
        let end = HEADER_BYTES + self.count_in(page) as usize * self.kind.bytes();
        Weights::from_bytes(self.kind, &bytes[HEADER_BYTES..end])
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
