//! The weights of one direction's lists: one value for each entry. Those of a page of lists stand
//! together, in the order of its entries, where the weight index says.

use std::ops::Range;
use std::sync::OnceLock;

use crate::error::{PageFault, Result, at_most, equal, other};
use crate::format::{self, HEADER_BYTES, PageKind};
use crate::header::{self, PageHeader};
use crate::superblock::{Section, SectionKind};
use crate::table::SectionPages;
use crate::weights::value::{Weight, WeightType};

/// Weights as they lie in a page, or in a part of one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Weights<'a> {
    /// Of [`WeightType::F32`].
    F32(&'a [f32]),
    /// Of [`WeightType::F64`].
    F64(&'a [f64]),
    /// Of [`WeightType::U32`].
    U32(&'a [u32]),
    /// Of [`WeightType::I64`].
    I64(&'a [i64]),
}

/// Calls the same on the slice of any type.
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
    /// How many.
    #[inline]
    pub fn len(&self) -> usize {
        each!(self, values => values.len())
    }

    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One of them.
    ///
    /// # Panics
    /// If there are not so many.
    #[inline]
    pub fn get(&self, index: usize) -> Weight {
        match self {
            Self::F32(values) => Weight::F32(values[index]),
            Self::F64(values) => Weight::F64(values[index]),
            Self::U32(values) => Weight::U32(values[index]),
            Self::I64(values) => Weight::I64(values[index]),
        }
    }

    /// Some of them.
    ///
    /// # Panics
    /// If there are not so many.
    #[inline]
    pub fn slice(&self, range: Range<usize>) -> Weights<'a> {
        match self {
            Self::F32(values) => Weights::F32(&values[range]),
            Self::F64(values) => Weights::F64(&values[range]),
            Self::U32(values) => Weights::U32(&values[range]),
            Self::I64(values) => Weights::I64(&values[range]),
        }
    }

    /// Their bytes, as they lie in the file.
    #[inline]
    pub fn as_bytes(&self) -> &'a [u8] {
        each!(self, values => bytemuck::cast_slice(values))
    }

    /// Weights that lie in bytes of a file.
    ///
    /// # Panics
    /// If the bytes are not aligned to a weight, or no whole number of them.
    #[inline]
    pub fn from_bytes(kind: WeightType, bytes: &'a [u8]) -> Self {
        match kind {
            WeightType::F32 => Self::F32(bytemuck::cast_slice(bytes)),
            WeightType::F64 => Self::F64(bytemuck::cast_slice(bytes)),
            WeightType::U32 => Self::U32(bytemuck::cast_slice(bytes)),
            WeightType::I64 => Self::I64(bytemuck::cast_slice(bytes)),
        }
    }

    /// Position of the first that is not finite.
    fn position_of_infinite(&self) -> Option<usize> {
        // The whole slice at once, which vectors like, before the one that is looked for.
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

    /// Calls `each` with the ordered bits of every weight.
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

/// Values that a page of weights holds.
pub(crate) const fn per_page(kind: WeightType, page_bytes: usize) -> usize {
    format::payload_bytes(page_bytes) / kind.bytes()
}

/// Where the weights of one page of lists are, as it stands in the weight index and in memory: so
/// many entries (16 bits), and the address of the first (48 bits).
pub(crate) fn word(address: u64, entries: u64) -> u64 {
    assert!(entries <= ENTRIES && address <= u64::MAX >> 16, "a word holds both");
    address << 16 | entries
}

/// The lowest 16 bits of a word.
const ENTRIES: u64 = 0xffff;

/// The addresses that a word tells.
pub(crate) fn addresses(word: u64) -> Range<u64> {
    word >> 16..(word >> 16) + (word & ENTRIES)
}

/// The weights of one direction's lists: where they lie, and how to read a page of them. Pages are
/// numbered within the section, `0..pages()`; a weight's *address* is its place among all places
/// for weights in the section.
#[derive(Debug)]
pub struct WeightColumn {
    pages: SectionPages,
    kind: WeightType,
    /// A word for each page of lists. Read from the weight index by the first weighted run.
    words: OnceLock<Vec<u64>>,
}

impl WeightColumn {
    pub(crate) fn new(pages: SectionPages, kind: WeightType) -> Self {
        Self { pages, kind, words: OnceLock::new() }
    }

    /// How weights are stored.
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

    /// Weights that a page holds, but for the last.
    #[inline]
    pub fn per_page(&self) -> usize {
        per_page(self.kind, self.pages.page_bytes)
    }

    /// Pages that hold the weights of these addresses.
    #[inline]
    pub fn pages_of(&self, addresses: Range<u64>) -> Range<u64> {
        if addresses.is_empty() {
            return 0..0;
        }
        let per_page = self.per_page() as u64;
        addresses.start / per_page..(addresses.end - 1) / per_page + 1
    }

    /// Addresses of the weights of a page of lists, in the order of its entries.
    ///
    /// # Panics
    /// If [`Graph::load_weights`](crate::Graph::load_weights) was not called before.
    #[inline]
    pub fn addresses_of(&self, adjacency_page: u64) -> Range<u64> {
        let words = self.words.get().expect("a weighted run loads the weight index first");
        addresses(words[adjacency_page as usize])
    }

    pub(crate) fn words(&self) -> &OnceLock<Vec<u64>> {
        &self.words
    }

    /// The section that tells where the weights of each page of lists are.
    pub(crate) fn index_kind(&self) -> SectionKind {
        match self.pages.section.kind {
            SectionKind::InWeights => SectionKind::InWeightIndex,
            _ => SectionKind::OutWeightIndex,
        }
    }

    /// A word of the weight index that leads to weights.
    pub(crate) fn check_word(&self, word: u64) -> Result<(), PageFault> {
        at_most("address of a weight", addresses(word).end, self.pages.section.items)
    }

    /// Memory that the weight index takes once it is loaded: of `adjacency_pages` pages of lists.
    pub fn bytes_for(adjacency_pages: u64) -> u64 {
        adjacency_pages * 8
    }

    /// Memory that is taken now.
    pub fn memory_bytes(&self) -> usize {
        self.words.get().map_or(0, |words| words.capacity() * 8)
    }

    /// Verifies a page as it was read from the device.
    ///
    /// # Panics
    /// If `bytes` is no whole page or not aligned to 8 bytes.
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

    /// The view of a page that [`WeightColumn::parse`] has accepted before.
    ///
    /// # Panics
    /// As [`WeightColumn::parse`].
    #[inline]
    pub fn reparse<'a>(&self, page: u64, bytes: &'a [u8]) -> Weights<'a> {
        assert_eq!(bytes.len(), self.pages.page_bytes, "a page is parsed as a whole");
        let end = HEADER_BYTES + self.count_in(page) as usize * self.kind.bytes();
        Weights::from_bytes(self.kind, &bytes[HEADER_BYTES..end])
    }

    /// Weights of a page: all that fit, but for the last page.
    #[inline]
    pub fn count_in(&self, page: u64) -> u64 {
        let per_page = self.per_page() as u64;
        self.pages.section.items.saturating_sub(page * per_page).min(per_page)
    }

    pub(crate) fn section(&self) -> Section {
        self.pages.section
    }
}
