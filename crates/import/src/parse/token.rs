//! Parses ids and splits lines into them.

use super::Fault;
use crate::ids::strings::NAME_BYTES_MAX;

const INTEGER: &str = "an integer id from 0 to 18446744073709551615";

/// Whether a byte separates the ids of an edge list.
#[inline]
pub(crate) fn is_separator(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b',' | b'\r' | 0x0b | 0x0c)
}

/// Parses digits at the front. Returns the value and the number of digits, `None` above 2^64 - 1.
#[inline(always)]
pub(crate) fn digits(bytes: &[u8]) -> Option<(u64, usize)> {
    if let Some(word) = bytes.first_chunk::<8>() {
        let (value, len) = digits_of_word(u64::from_le_bytes(*word));
        if len < 8 {
            return Some((value, len));
        }
    }
    many_digits(bytes)
}

/// The value and the number of the digits at the front of eight bytes, of which the lowest is the
/// first.
#[inline(always)]
fn digits_of_word(word: u64) -> (u64, usize) {
    const TENS: u64 = 10 << 8 | 1;
    const HUNDREDS: u64 = 100 << 16 | 1;
    const TEN_THOUSANDS: u64 = 10_000 << 32 | 1;
    const EACH: u64 = 0x0101_0101_0101_0101;
    let digits = word ^ (EACH * 0x30);
    // The lowest byte above 9 has its highest bit set; a carry reaches only bytes above it.
    let others = (digits.wrapping_add(EACH * 0x76) | digits) & (EACH * 0x80);
    if others & 0x80 != 0 {
        return (0, 0);
    }
    let len = others.trailing_zeros() / 8;
    // Zeros move in below, as leading digits.
    let digits = digits << (64 - 8 * len);
    let pairs = (digits & (EACH * 0x0f)).wrapping_mul(TENS) >> 8;
    let fours = (pairs & 0x00ff_00ff_00ff_00ff).wrapping_mul(HUNDREDS) >> 16;
    let eight = (fours & 0x0000_ffff_0000_ffff).wrapping_mul(TEN_THOUSANDS) >> 32;
    (eight, len as usize)
}

/// [`digits`] for numbers of eight digits or more, and near the end of a block.
fn many_digits(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0u64;
    let mut len = 0;
    // 18 digits never overflow.
    while let Some(digit) = bytes.get(len).map(|b| b.wrapping_sub(b'0')).filter(|d| *d < 10) {
        if len >= 18 {
            value = value.checked_mul(10)?.checked_add(u64::from(digit))?;
        } else {
            value = value * 10 + u64::from(digit);
        }
        len += 1;
    }
    Some((value, len))
}

pub(crate) fn integer_id(token: &[u8]) -> Result<u64, TokenFault> {
    match digits(token) {
        Some((value, len)) if len == token.len() && len > 0 => Ok(value),
        _ if looks_like_number(token) => Err(TokenFault::WrongNumber),
        _ => Err(TokenFault::NotNumber),
    }
}

/// An integer id; [`Fault::NotInteger`] for a name where ids may turn out to be strings.
pub(crate) fn integer_id_or_name(token: &[u8], may_be_name: bool) -> Result<u64, Fault> {
    match integer_id(token) {
        Ok(id) => Ok(id),
        Err(TokenFault::NotNumber) if may_be_name && !token.is_empty() => {
            check_name(token)?;
            Err(Fault::NotInteger)
        }
        Err(fault) => Err(fault.fault(may_be_name)),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenFault {
    /// It is a number, but negative, fractional, infinite or too large.
    WrongNumber,
    NotNumber,
}

impl TokenFault {
    /// Converts to an error, which mentions strings if they are allowed.
    pub(crate) fn fault(self, strings_allowed: bool) -> Fault {
        let hint = if strings_allowed { " (if ids are names, say `ids` string)" } else { "" };
        Fault::Token { expected: format!("{INTEGER}{hint}") }
    }
}

fn looks_like_number(token: &[u8]) -> bool {
    let unsigned = token.strip_prefix(b"-").or(token.strip_prefix(b"+")).unwrap_or(token);
    let numeric = unsigned.first().is_some_and(|b| b.is_ascii_digit() || *b == b'.');
    let text = std::str::from_utf8(token).unwrap_or("x");
    let word = unsigned.eq_ignore_ascii_case(b"nan")
        || unsigned.eq_ignore_ascii_case(b"inf")
        || unsigned.eq_ignore_ascii_case(b"infinity");
    word || (numeric && text.parse::<f64>().is_ok())
}

/// Checks that a token is a valid string id.
pub(crate) fn check_name(token: &[u8]) -> Result<(), Fault> {
    if token.is_empty() || token.len() > NAME_BYTES_MAX {
        let expected = format!("an id of 1 to {NAME_BYTES_MAX} bytes, not {}", token.len());
        return Err(Fault::Token { expected });
    }
    if std::str::from_utf8(token).is_err() {
        return Err(Fault::Token { expected: "ids in UTF-8 text".to_owned() });
    }
    if token.contains(&0) {
        return Err(Fault::Token { expected: "ids without NUL bytes (zeros)".to_owned() });
    }
    Ok(())
}

pub(crate) const LINE_ENDS: &str = "lines that end with LF or CR LF, not with CR alone";

/// Position of a carriage return that is not at the end of a line.
pub(crate) fn bare_carriage_return(lines: &[u8]) -> Option<usize> {
    memchr::memchr_iter(b'\r', lines)
        .find(|at| !matches!(lines.get(at + 1), None | Some(b'\n' | b'\r')))
}

/// Rejects lines that end with CR alone, which would be parsed as one long line. A field in quotes
/// may contain CR.
pub(crate) fn require_line_ends(block: &[u8], quotes: bool) -> Result<(), Fault> {
    let Some(at) = bare_carriage_return(block) else { return Ok(()) };
    if quotes && memchr::memchr(b'"', block).is_some() {
        return Ok(());
    }
    let start = memchr::memrchr(b'\n', &block[..at]).map_or(0, |end| end + 1);
    let line = memchr::memchr_iter(b'\n', &block[..start]).count() as u64;
    let end = memchr::memchr(b'\n', &block[at..]).map_or(block.len(), |end| at + end);
    Err(Fault::line(line, &block[start..end], LINE_ENDS))
}

/// Calls `each` with the index and the bytes of every line, without the line end.
pub(crate) fn for_each_line(
    block: &[u8],
    mut each: impl FnMut(u64, &[u8]) -> Result<(), Fault>,
) -> Result<u64, Fault> {
    let mut lines = 0;
    let mut start = 0;
    while start < block.len() {
        let end = memchr::memchr(b'\n', &block[start..]).map_or(block.len(), |at| start + at);
        let line = &block[start..end];
        each(lines, line.strip_suffix(b"\r").unwrap_or(line))?;
        lines += 1;
        start = end + 1;
    }
    Ok(lines)
}

pub(crate) fn tokens(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|&byte| is_separator(byte)).filter(|token| !token.is_empty())
}

pub(crate) fn is_blank_or_comment(line: &[u8]) -> bool {
    let first = line.iter().find(|&&byte| !is_separator(byte));
    matches!(first, None | Some(b'#' | b'%'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_those_of_the_standard_parser() {
        let numbers = (0..20).flat_map(|zeros| {
            let power = 10u64.pow(zeros);
            [power - 1, power, power + 1, power / 3, power.wrapping_mul(7)]
        });
        for number in numbers.chain([u64::MAX]) {
            for lead in ["", "0", "000000000000"] {
                // Every byte may follow, at every distance from the end.
                for next in (0..=255u8).filter(|byte| !byte.is_ascii_digit()) {
                    for room in [0, 1, 8] {
                        let text = format!("{lead}{number}");
                        let mut bytes = text.clone().into_bytes();
                        bytes.push(next);
                        bytes.extend(std::iter::repeat_n(b'9', room));
                        assert_eq!(digits(&bytes), Some((number, text.len())), "{bytes:?}");
                    }
                }
            }
        }
        assert_eq!(digits(b"18446744073709551616 "), None);
        assert_eq!(digits(b""), Some((0, 0)));
        assert_eq!(digits(b"12345678"), Some((12_345_678, 8)));
    }

    #[test]
    fn integers_are_digits_below_two_to_the_64() {
        assert_eq!(integer_id(b"0"), Ok(0));
        assert_eq!(integer_id(b"007"), Ok(7));
        assert_eq!(integer_id(b"18446744073709551615"), Ok(u64::MAX));
        for wrong in ["18446744073709551616", "-1", "+1", "1.0", "1e3", "nan", "-inf", ".5", "NaN"]
        {
            assert_eq!(integer_id(wrong.as_bytes()), Err(TokenFault::WrongNumber), "{wrong}");
        }
        for name in ["a", "libc6", "0ad", "-", "1.2.3", "", "e5", "10.1-2"] {
            assert_eq!(integer_id(name.as_bytes()), Err(TokenFault::NotNumber), "{name}");
        }
    }
}
