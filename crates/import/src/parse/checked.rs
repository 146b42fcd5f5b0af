//! Checks pages of a Parquet column before they are decoded: that what they hold fits the memory
//! decoded, and what the decoder takes for granted.

use parquet::basic::{Encoding, Type};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::schema::types::ColumnDescPtr;

use super::delta::{self, Deltas};
use super::levels::count_defined;
use super::pages::Memory;

/// Memory of a number that the decoder of strings keeps for each of a page: the lengths of both
/// parts, in memory that grows by doubling.
const LENGTHS_BYTES: usize = 16;
/// Bytes of the length before a string.
const STRING_LENGTH_BYTES: usize = 4;
/// Memory of a decoded string beside its bytes.
const STRING_BYTES: usize = 64;

/// The pages of another reader.
pub(super) struct Checked<R> {
    pages: R,
    column: ColumnDescPtr,
    memory: Memory,
    /// Strings that are decoded together, at most.
    batch: usize,
    has_dictionary: bool,
}

impl<R: PageReader> Checked<R> {
    pub fn new(pages: R, column: ColumnDescPtr, memory: Memory, batch: usize) -> Self {
        Self { pages, column, memory, batch, has_dictionary: false }
    }

    fn check(&mut self, page: &Page) -> std::result::Result<(), Refused> {
        let (bytes, count, encoding) = match page {
            Page::DictionaryPage { buf, num_values, .. } => {
                self.has_dictionary = true;
                return self.check_dictionary(buf, *num_values as usize);
            }
            Page::DataPage { buf, num_values, encoding, def_level_encoding, .. } => {
                let (values, count) =
                    self.behind_levels(buf, *num_values as usize, *def_level_encoding)?;
                (values, count, *encoding)
            }
            Page::DataPageV2 {
                buf,
                num_values,
                num_nulls,
                encoding,
                def_levels_byte_len,
                rep_levels_byte_len,
                ..
            } => {
                let levels = *def_levels_byte_len as usize + *rep_levels_byte_len as usize;
                let values = buf.get(levels..).ok_or("levels longer than their page")?;
                (values, Count::Exact(num_values.saturating_sub(*num_nulls) as usize), *encoding)
            }
        };
        let count = if self.column.max_def_level() == 0 { count.exact() } else { count };
        match encoding {
            Encoding::PLAIN_DICTIONARY | Encoding::RLE_DICTIONARY if !self.has_dictionary => {
                return Err("a page of places in a dictionary that is missing".into());
            }
            Encoding::PLAIN
                if self.column.physical_type() == Type::BYTE_ARRAY
                    && count_strings(bytes, count.most())? < count.most() =>
            {
                return Err("a page with fewer strings than it says".into());
            }
            Encoding::BYTE_STREAM_SPLIT
                if count.most() > bytes.len() / least_bytes(self.column.physical_type()) =>
            {
                return Err("a page with fewer numbers than it says".into());
            }
            Encoding::DELTA_BINARY_PACKED => {
                let width = if self.column.physical_type() == Type::INT32 { 32 } else { 64 };
                count.check(bytes, width)?;
                Deltas::new(bytes, width)?.end()?;
            }
            Encoding::DELTA_LENGTH_BYTE_ARRAY => {
                self.memory.decode(count.check(bytes, 32)? * LENGTHS_BYTES)?;
                delta::check_lengths(bytes)?;
            }
            Encoding::DELTA_BYTE_ARRAY => {
                let strings = count.check(bytes, 32)?;
                self.memory.decode(strings * LENGTHS_BYTES)?;
                // The last one of the strings before is kept for the next ones.
                let together = self.batch + 1;
                let decoded_bytes = delta::decoded_bytes(bytes, together)?;
                self.memory.decode(decoded_bytes + strings.min(together) * STRING_BYTES)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// The values of a page of the first version, and how many there are.
    fn behind_levels<'p>(
        &self,
        page: &'p [u8],
        count: usize,
        encoding: Encoding,
    ) -> std::result::Result<(&'p [u8], Count), Refused> {
        let levels = self.levels_bytes(page, count, encoding);
        let (levels, values) =
            page.split_at_checked(levels).ok_or("levels longer than their page")?;
        let count = match (self.column.max_def_level().unsigned_abs(), levels) {
            (most @ 1.., [_, _, _, _, levels @ ..]) if encoding == Encoding::RLE => {
                Count::Exact(count_defined(levels, most.into(), count))
            }
            _ => Count::AtMost(count),
        };
        Ok((values, count))
    }

    /// A dictionary takes memory by its number of values, so these must be there.
    fn check_dictionary(&self, page: &[u8], count: usize) -> std::result::Result<(), Refused> {
        let least = least_bytes(self.column.physical_type());
        let is_text = self.column.physical_type() == Type::BYTE_ARRAY;
        if count > page.len() / least || is_text && count_strings(page, count)? < count {
            return Err("a dictionary with fewer values than its header says".into());
        }
        Ok(())
    }

    /// Bytes of the levels in front of the values of a page of the first version.
    fn levels_bytes(&self, page: &[u8], values: usize, encoding: Encoding) -> usize {
        let level_max = self.column.max_def_level().unsigned_abs();
        match (level_max, encoding) {
            (0, _) => 0,
            (_, Encoding::RLE) => {
                let length = page.first_chunk().map_or(0, |&length| u32::from_le_bytes(length));
                4usize.saturating_add(length as usize)
            }
            (level_max, _) => {
                let bits = u16::BITS - level_max.leading_zeros();
                (values * bits as usize).div_ceil(8)
            }
        }
    }
}

/// The least bytes of a value; a string follows its length.
fn least_bytes(kind: Type) -> usize {
    match kind {
        Type::INT64 | Type::DOUBLE => 8,
        _ => STRING_LENGTH_BYTES,
    }
}

/// Counts strings, up to `most`, each after its length.
fn count_strings(mut bytes: &[u8], most: usize) -> std::result::Result<usize, Refused> {
    for count in 0..most {
        let Some((length, rest)) = bytes.split_first_chunk::<STRING_LENGTH_BYTES>() else {
            return if bytes.is_empty() { Ok(count) } else { Err("a cut length".into()) };
        };
        let length = u32::from_le_bytes(*length) as usize;
        bytes = rest.get(length..).ok_or("a string longer than its page")?;
    }
    Ok(most)
}

/// How many values a page has.
#[derive(Clone, Copy)]
enum Count {
    Exact(usize),
    /// There may be nulls.
    AtMost(usize),
}

impl Count {
    fn most(self) -> usize {
        let (Count::Exact(count) | Count::AtMost(count)) = self;
        count
    }

    fn exact(self) -> Self {
        Count::Exact(self.most())
    }

    /// The number of encoded differences, if it is possible.
    fn check(self, bytes: &[u8], width: u8) -> std::result::Result<usize, Refused> {
        let found = Deltas::new(bytes, width)?.left();
        let is_possible = match self {
            Count::Exact(count) => found == count,
            Count::AtMost(most) => found <= most && (found > 0 || most == 0),
        };
        if is_possible {
            Ok(found)
        } else {
            Err("a page with more or fewer values than it says".into())
        }
    }
}

/// Why a page is not decoded.
struct Refused(ParquetError);

impl From<&str> for Refused {
    fn from(reason: &str) -> Self {
        Self(ParquetError::General(reason.to_owned()))
    }
}

impl From<std::io::Error> for Refused {
    fn from(error: std::io::Error) -> Self {
        Self(ParquetError::General(error.to_string()))
    }
}

impl<R: PageReader> Iterator for Checked<R> {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Result<Page>> {
        self.get_next_page().transpose()
    }
}

impl<R: PageReader> PageReader for Checked<R> {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.pages.get_next_page()?;
        if let Some(page) = &page {
            self.check(page).map_err(|Refused(error)| error)?;
        }
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.pages.skip_next_page()
    }

    fn at_record_boundary(&mut self) -> Result<bool> {
        self.pages.at_record_boundary()
    }
}
