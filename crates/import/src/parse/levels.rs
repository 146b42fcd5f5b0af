//! Counts the values of a page of Parquet that are not null, from its definition levels: runs of
//! equal levels and groups of eight packed ones in turn (the format's RLE/bit-packing hybrid).

use super::pages::take_number;

/// Counts levels that equal `most` among the first `values`; those that cannot be read as if they
/// did, since the decoder may think so.
pub(super) fn count_defined(mut bytes: &[u8], most: u64, values: usize) -> usize {
    let width = (u64::BITS - most.leading_zeros()) as usize;
    let (mut left, mut defined) = (values, 0);
    while left > 0 {
        let Some(header) = take_number(&mut bytes) else { return defined + left };
        let Ok(length @ 1..) = u32::try_from(header >> 1) else { return defined + left };
        let length = length as usize;
        if header & 1 == 0 {
            let Some((level, rest)) = bytes.split_at_checked(width.div_ceil(8)) else {
                return defined + left;
            };
            let level = level.iter().rev().fold(0, |level, &byte| level << 8 | u64::from(byte));
            let run = length.min(left);
            defined += if level == most { run } else { 0 };
            (bytes, left) = (rest, left - run);
        } else {
            // Groups of eight levels: as many bytes as a level has bits.
            let packed = &bytes[..bytes.len().min(length.saturating_mul(width))];
            let count = left.min(packed.len() * 8 / width);
            defined += (0..count).filter(|at| level_at(packed, at * width, width) == most).count();
            (bytes, left) = (&bytes[packed.len()..], left - count);
        }
    }
    defined
}

/// The number in `width` bits of some bytes, the lowest bit first.
fn level_at(bytes: &[u8], bit: usize, width: usize) -> u64 {
    let bit_of = |bit: usize| u64::from(bytes[bit / 8] >> (bit % 8) & 1);
    (0..width).fold(0, |level, at| level | bit_of(bit + at) << at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defined_values_are_counted_in_runs_and_groups() {
        for (bytes, most, values, defined) in [
            (&[200, 1, 1][..], 1, 100, 100),
            (&[200, 1, 0], 1, 100, 0),
            (&[6, 1, 4, 0, 3, 0b1001_0110], 1, 13, 7),
            // Only the levels of the page, and those that are missing.
            (&[3, 0xff], 1, 3, 3),
            (&[200, 1, 1], 1, 7, 7),
            (&[5, 0b1001_0110], 1, 16, 12),
            (&[6], 1, 3, 3),
            (&[0x80], 1, 3, 3),
            (&[0xff, 0xff, 0xff, 0xff, 0x7f, 0], 1, 3, 3),
            (&[1], 1, 3, 3),
            (&[0, 200, 1, 0], 1, 3, 3),
            (&[], 1, 3, 3),
            // Levels of two bits: 2, 1, 0, 2, 2, 2, 1, 2, and a run of 2.
            (&[3, 0b1000_0110, 0b1001_1010, 8, 2], 2, 12, 9),
        ] {
            assert_eq!(count_defined(bytes, most, values), defined, "{bytes:?}");
        }
    }
}
