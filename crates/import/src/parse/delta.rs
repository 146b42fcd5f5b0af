//! Reads the numbers of encoding DELTA_BINARY_PACKED without memory: the lengths of strings, before
//! these are decoded.
//!
//! Source: "Encodings", <https://github.com/apache/parquet-format/blob/master/Encodings.md>,
//! DELTA_BINARY_PACKED = 5, DELTA_LENGTH_BYTE_ARRAY = 6, DELTA_BYTE_ARRAY = 7.

use std::collections::VecDeque;

/// What is wrong with encoded numbers.
pub(super) type Result<T> = std::result::Result<T, &'static str>;

const ENDED: &str = "encoded differences end too early";
const WRONG: &str = "encoded differences have an impossible header";
/// Most numbers of a block.
const BLOCK_MAX: u64 = 1 << 30;

/// Numbers of at most 32 bits (lengths) or 64 (ids).
pub(super) struct Deltas<'p> {
    bytes: &'p [u8],
    /// Where the next block begins, or the mini block if one is left.
    at: usize,
    /// Numbers that were not read.
    left: usize,
    minis: usize,
    mini_values: usize,
    /// Widths of the mini blocks that are left in the block.
    widths: &'p [u8],
    mini: Mini<'p>,
    width_max: u8,
    first: Option<i64>,
    last: i64,
    min_delta: i64,
}

#[derive(Default)]
struct Mini<'p> {
    bytes: &'p [u8],
    width: usize,
    at: usize,
    left: usize,
}

impl<'p> Deltas<'p> {
    pub fn new(bytes: &'p [u8], width_max: u8) -> Result<Self> {
        let mut at = 0;
        let [block, minis, left] = [(); 3].map(|()| number(bytes, &mut at));
        let (block, minis, left) = (block?, minis?, left?);
        let first = zigzag(number(bytes, &mut at)?);
        let is_even = block % 128 == 0
            && (1..=BLOCK_MAX).contains(&minis)
            && block % minis == 0
            && block / minis % 32 == 0;
        if !is_even || block == 0 || block > BLOCK_MAX || i64::try_from(left).is_err() {
            return Err(WRONG);
        }
        let (minis, mini_values) = (minis as usize, (block / minis) as usize);
        let (widths, mini) = (&bytes[..0], Mini::default());
        let (left, first, last, min_delta) = (left as usize, Some(first), 0, 0);
        Ok(Self {
            bytes,
            at,
            left,
            minis,
            mini_values,
            widths,
            mini,
            width_max,
            first,
            last,
            min_delta,
        })
    }

    /// Numbers that were not read, as the header counts them.
    pub fn left(&self) -> usize {
        self.left
    }

    /// The next number.
    pub fn next(&mut self) -> Result<Option<i64>> {
        if self.left == 0 {
            return Ok(None);
        }
        if let Some(first) = self.first.take() {
            self.last = first;
        } else {
            if self.mini.left == 0 {
                self.next_mini()?;
            }
            let delta = self.mini.next() as i64;
            self.last = self.last.wrapping_add(self.min_delta).wrapping_add(delta);
            if self.width_max == 32 {
                self.last = i64::from(self.last as i32);
            }
        }
        self.left -= 1;
        Ok(Some(self.last))
    }

    /// Passes over all numbers that are left. Returns where the bytes behind them begin, which may
    /// be behind the last byte.
    pub fn end(mut self) -> Result<usize> {
        if self.left > 0 && self.first.take().is_some() {
            self.left -= 1;
        }
        self.left -= self.mini.left.min(self.left);
        while self.left > 0 {
            self.next_mini()?;
            self.left -= self.mini.left.min(self.left);
        }
        // Mini blocks without numbers have no bytes, whatever their width.
        Ok(self.at)
    }

    fn next_mini(&mut self) -> Result<()> {
        if self.widths.is_empty() {
            self.min_delta = zigzag(number(self.bytes, &mut self.at)?);
            if self.width_max == 32 && i32::try_from(self.min_delta).is_err() {
                return Err(WRONG);
            }
            let widths = self.bytes.get(self.at..).and_then(|rest| rest.get(..self.minis));
            self.widths = widths.ok_or(ENDED)?;
            self.at += self.minis;
        }
        let (&width, widths) = self.widths.split_first().expect("a block has mini blocks");
        self.widths = widths;
        if width > self.width_max {
            return Err(WRONG);
        }
        let width = usize::from(width);
        let used_bytes = (width * self.left.min(self.mini_values)).div_ceil(8);
        let bytes = self.bytes.get(self.at..).unwrap_or_default();
        if bytes.len() < used_bytes {
            return Err(ENDED);
        }
        self.at += width * self.mini_values / 8;
        self.mini = Mini { bytes, width, at: 0, left: self.mini_values };
        Ok(())
    }
}

impl Mini<'_> {
    fn next(&mut self) -> u64 {
        let mut bits = [0; 16];
        let rest = &self.bytes[(self.at / 8).min(self.bytes.len())..];
        let some = rest.len().min(16);
        bits[..some].copy_from_slice(&rest[..some]);
        let shifted = u128::from_le_bytes(bits) >> (self.at % 8);
        self.at += self.width;
        self.left -= 1;
        (shifted & ((1u128 << self.width) - 1)) as u64
    }
}

fn zigzag(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

fn number(bytes: &[u8], at: &mut usize) -> Result<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.get(*at).ok_or(ENDED)?;
        *at += 1;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(number);
        }
    }
    Err(WRONG)
}

/// Checks the lengths of strings of encoding DELTA_LENGTH_BYTE_ARRAY, whose bytes follow.
pub(super) fn check_lengths(bytes: &[u8]) -> Result<()> {
    let text = behind(bytes)?;
    let (mut lengths, mut text_bytes) = (Deltas::new(bytes, 32)?, 0usize);
    while let Some(length) = lengths.next()? {
        text_bytes = text_bytes.saturating_add(length_of(length)?);
    }
    if text_bytes > text.len() { Err(ENDED) } else { Ok(()) }
}

/// Checks the lengths of strings of encoding DELTA_BYTE_ARRAY: those of the parts that each shares
/// with the one before, those of the parts that follow, and the bytes of these. Returns the most
/// bytes that so many strings in a row take decoded.
pub(super) fn decoded_bytes(bytes: &[u8], strings: usize) -> Result<usize> {
    let suffixes = behind(bytes)?;
    let text = behind(suffixes)?;
    let (mut shared, mut own) = (Deltas::new(bytes, 32)?, Deltas::new(suffixes, 32)?);
    if shared.left() != own.left() {
        return Err(WRONG);
    }
    let mut lengths = VecDeque::with_capacity(strings + 1);
    let (mut before, mut text_bytes, mut sum, mut most) = (0, 0, 0, 0);
    while let (Some(prefix), Some(suffix)) = (shared.next()?, own.next()?) {
        let (prefix, suffix) = (length_of(prefix)?, length_of(suffix)?);
        text_bytes += suffix;
        if prefix > before {
            return Err(WRONG);
        }
        if text_bytes > text.len() {
            return Err(ENDED);
        }
        before = prefix + suffix;
        sum += before;
        lengths.push_back(before);
        if lengths.len() > strings {
            sum -= lengths.pop_front().expect("one was just added");
        }
        most = most.max(sum);
    }
    Ok(most)
}

/// The bytes behind encoded lengths.
fn behind(bytes: &[u8]) -> Result<&[u8]> {
    bytes.get(Deltas::new(bytes, 32)?.end()?..).ok_or(ENDED)
}

fn length_of(number: i64) -> Result<usize> {
    usize::try_from(number).map_err(|_| "a string has a negative length")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn put(mut number: u64, bytes: &mut Vec<u8>) {
        while number >= 0x80 {
            bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        bytes.push(number as u8);
    }

    /// Encodes numbers in blocks of 128 with 4 mini blocks.
    fn encoded(numbers: &[i32]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let zigzag = |number: i64| (number << 1 ^ number >> 63) as u64;
        [128, 4, numbers.len() as u64].into_iter().for_each(|n| put(n, &mut bytes));
        put(zigzag(numbers.first().map_or(0, |&first| first.into())), &mut bytes);
        let deltas: Vec<i32> = numbers.windows(2).map(|w| w[1].wrapping_sub(w[0])).collect();
        for block in deltas.chunks(128) {
            let min = *block.iter().min().expect("a chunk is not empty");
            put(zigzag(min.into()), &mut bytes);
            let above: Vec<u32> = block.iter().map(|d| d.wrapping_sub(min) as u32).collect();
            let width = |mini: &[u32]| mini.iter().map(|d| 32 - d.leading_zeros()).max();
            let widths: Vec<u32> = above.chunks(32).map(|mini| width(mini).unwrap_or(0)).collect();
            // What follows the last mini block has any width.
            bytes.extend((0..4).map(|at| widths.get(at).map_or(99, |&width| width as u8)));
            for (mini, &width) in above.chunks(32).zip(&widths) {
                let mut bits = vec![0u8; 4 * width as usize];
                for (at, &delta) in mini.iter().enumerate() {
                    for bit in (0..width as usize).filter(|bit| delta >> bit & 1 != 0) {
                        let place = at * width as usize + bit;
                        bits[place / 8] |= 1 << (place % 8);
                    }
                }
                bytes.extend(bits);
            }
        }
        bytes
    }

    fn decoded(bytes: &[u8]) -> Result<Vec<i64>> {
        let mut deltas = Deltas::new(bytes, 32)?;
        let mut numbers = Vec::new();
        while let Some(number) = deltas.next()? {
            numbers.push(number);
        }
        Ok(numbers)
    }

    proptest! {
        #[test]
        fn numbers_come_back_and_their_end_is_found(
            numbers in prop::collection::vec(prop_oneof![any::<i32>(), 0..9i32], 0..400),
            more in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            let mut bytes = encoded(&numbers);
            let end = bytes.len();
            bytes.extend(more);
            let expected: Vec<i64> = numbers.iter().map(|&number| number.into()).collect();
            prop_assert_eq!(decoded(&bytes), Ok(expected));
            prop_assert_eq!(Deltas::new(&bytes, 32).unwrap().end(), Ok(end));
        }

        #[test]
        fn any_bytes_are_numbers_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            if let Ok(deltas) = Deltas::new(&bytes, 64)
                && deltas.left() < 1 << 16
            {
                let _ = (deltas.end(), decoded(&bytes));
                let _ = (check_lengths(&bytes), decoded_bytes(&bytes, 10));
            }
        }
    }

    #[test]
    fn the_most_of_strings_in_a_row_is_found() {
        let texts = |shared: &[i32], own: &[i32], text: usize| {
            let mut bytes = [encoded(shared), encoded(own)].concat();
            bytes.extend(vec![b'x'; text]);
            bytes
        };
        // Lengths 5, 5, 9, 2.
        let bytes = texts(&[0, 5, 5, 2], &[5, 0, 4, 0], 9);
        assert_eq!(decoded_bytes(&bytes, 1), Ok(9));
        assert_eq!(decoded_bytes(&bytes, 2), Ok(14));
        assert_eq!(decoded_bytes(&bytes, 100), Ok(21));
        for (shared, own, text) in [
            (&[0, 6][..], &[5, 0][..], 5),
            (&[0, -1], &[5, 0], 5),
            (&[0, 0], &[5, -1], 5),
            (&[0], &[5, 0], 5),
            (&[0, 5], &[5, 1], 5),
        ] {
            assert!(decoded_bytes(&texts(shared, own, text), 9).is_err(), "{shared:?} {own:?}");
        }
        let lengths = |lengths: &[i32], text: usize| {
            check_lengths(&[encoded(lengths), vec![b'x'; text]].concat())
        };
        assert_eq!(lengths(&[3, 4], 7), Ok(()));
        assert_eq!(lengths(&[3, 4], 6), Err(ENDED));
        assert!(lengths(&[3, -1], 6).is_err());
    }
}
