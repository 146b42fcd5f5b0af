//! Walks through a struct in Thrift's compact protocol and keeps nothing of it.
//!
//! Source: "Thrift Compact protocol encoding",
//! <https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md>.

use std::io::{self, BufRead};

/// Structs and lists within each other, at most; the decoder accepts no more either.
const DEPTH_MAX: usize = 64;

const INTEGERS: std::ops::RangeInclusive<u8> = 4..=6;
const DOUBLE: u8 = 7;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const SET: u8 = 10;
const MAP: u8 = 11;
const STRUCT: u8 = 12;
const UUID: u8 = 13;

/// What is found, at a place: the numbers of the fields on the way from the outermost struct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// An integer, as its zigzag code says.
    Integer(i64),
    /// A string of so many bytes.
    Binary(u64),
    /// A list of so many elements, by its header.
    List(u64),
    /// The end of a struct.
    End,
}

/// A reader of at most `left` bytes.
pub(super) struct Walker<R> {
    reader: R,
    left: u64,
    place: Vec<i16>,
}

pub(super) fn broken(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

impl<R: BufRead> Walker<R> {
    pub fn new(reader: R, bytes: u64) -> Self {
        Self { reader, left: bytes, place: Vec::new() }
    }

    /// Walks through the outermost struct.
    pub fn walk(
        &mut self,
        visit: &mut impl FnMut(&[i16], Found) -> io::Result<()>,
    ) -> io::Result<()> {
        self.fields(visit)
    }

    fn fields(
        &mut self,
        visit: &mut impl FnMut(&[i16], Found) -> io::Result<()>,
    ) -> io::Result<()> {
        if self.place.len() == DEPTH_MAX {
            return Err(broken("its metadata is nested too deeply"));
        }
        let mut id = 0i16;
        loop {
            let header = self.byte()?;
            if header & 15 == 0 {
                return visit(&self.place, Found::End);
            }
            id = match header >> 4 {
                0 => self.integer()? as i16,
                delta => id.wrapping_add(i16::from(delta)),
            };
            self.place.push(id);
            // A field's type says whether it is true.
            if header & 15 > 2 {
                self.value(header & 15, visit)?;
            }
            self.place.pop();
        }
    }

    fn value(
        &mut self,
        kind: u8,
        visit: &mut impl FnMut(&[i16], Found) -> io::Result<()>,
    ) -> io::Result<()> {
        match kind {
            1..=3 => self.byte().map(drop),
            kind if INTEGERS.contains(&kind) => {
                let integer = self.integer()?;
                visit(&self.place, Found::Integer(integer))
            }
            DOUBLE => self.skip(8),
            BINARY => {
                let bytes = self.number()?;
                self.skip(bytes)?;
                visit(&self.place, Found::Binary(bytes))
            }
            LIST | SET => self.list(visit),
            MAP => self.map(visit),
            STRUCT => self.fields(visit),
            UUID => self.skip(16),
            _ => Err(broken("its metadata has a field of no known type")),
        }
    }

    fn list(&mut self, visit: &mut impl FnMut(&[i16], Found) -> io::Result<()>) -> io::Result<()> {
        let header = self.byte()?;
        let count = if header >> 4 == 15 { self.number()? } else { u64::from(header >> 4) };
        // Each element takes a byte or more.
        if count > self.left {
            return Err(broken("a list in its metadata is longer than the metadata"));
        }
        visit(&self.place, Found::List(count))?;
        (0..count).try_for_each(|_| self.value(header & 15, visit))
    }

    fn map(&mut self, visit: &mut impl FnMut(&[i16], Found) -> io::Result<()>) -> io::Result<()> {
        let count = self.number()?;
        if count == 0 {
            return Ok(());
        }
        let kinds = self.byte()?;
        for _ in 0..count {
            self.value(kinds >> 4, visit)?;
            self.value(kinds & 15, visit)?;
        }
        Ok(())
    }

    fn byte(&mut self) -> io::Result<u8> {
        if self.left == 0 {
            return Err(broken("its metadata ends within a field"));
        }
        let mut byte = [0];
        self.reader.read_exact(&mut byte)?;
        self.left -= 1;
        Ok(byte[0])
    }

    fn number(&mut self) -> io::Result<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(broken("its metadata has a number of more than 64 bits"))
    }

    fn integer(&mut self) -> io::Result<i64> {
        let number = self.number()?;
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    fn skip(&mut self, bytes: u64) -> io::Result<()> {
        if bytes > self.left {
            return Err(broken("a string in its metadata is longer than the metadata"));
        }
        let mut left = bytes;
        while left > 0 {
            let ready = self.reader.fill_buf()?.len() as u64;
            if ready == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let some = ready.min(left);
            self.reader.consume(some as usize);
            left -= some;
        }
        self.left -= bytes;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walk(bytes: &[u8]) -> io::Result<Vec<(Vec<i16>, Found)>> {
        let mut found = Vec::new();
        Walker::new(bytes, bytes.len() as u64).walk(&mut |place, what| {
            found.push((place.to_vec(), what));
            Ok(())
        })?;
        Ok(found)
    }

    #[test]
    fn fields_lists_and_structs_are_found_at_their_places() {
        // 1: i32 -3; 2: list of two structs {4: "ab"}, {}; 3: true; 19: map of i8 to double.
        let mut bytes = vec![0x15, 5, 0x19, 0x2c, 0x48, 2, b'a', b'b', 0, 0, 0x11];
        bytes.extend([0x0b, 38, 1, 0x37, 9]);
        bytes.extend([0; 9]);
        let expected = [
            (vec![1], Found::Integer(-3)),
            (vec![2], Found::List(2)),
            (vec![2, 4], Found::Binary(2)),
            (vec![2], Found::End),
            (vec![2], Found::End),
            (vec![], Found::End),
        ];
        assert_eq!(walk(&bytes).unwrap(), expected);
        for end in 0..bytes.len() - 1 {
            assert!(walk(&bytes[..end]).is_err(), "cut at {end}");
        }
    }

    #[test]
    fn sizes_beyond_the_end_and_endless_nesting_are_errors() {
        for bytes in [
            &[0x19, 0xfc, 0xff, 0xff, 0xff, 0xff, 7][..],
            &[0x18, 0xff, 0xff, 0xff, 0xff, 7, 0],
            &[0x16, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0],
            &[0x1e, 0],
            &[0x1c; 100],
            &[0x19; 100],
        ] {
            assert!(walk(bytes).is_err(), "{bytes:x?}");
        }
    }
}
