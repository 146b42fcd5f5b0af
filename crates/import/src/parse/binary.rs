//! Little-endian pairs.

use super::{Fault, Sink};

/// Parses whole pairs of `u32`.
pub fn parse_u32<S: Sink>(block: &[u8], sink: &mut S) -> Result<(), Fault> {
    let (pairs, rest) = block.as_chunks::<8>();
    assert!(rest.is_empty(), "blocks of pairs are cut between pairs");
    for pair in pairs {
        let pair = u64::from_le_bytes(*pair);
        edge(sink, pair & u64::from(u32::MAX), pair >> 32)?;
    }
    Ok(())
}

/// Parses whole pairs of `u64`.
pub fn parse_u64<S: Sink>(block: &[u8], sink: &mut S) -> Result<(), Fault> {
    let (ids, rest) = block.as_chunks::<8>();
    assert!(rest.is_empty() && ids.len() % 2 == 0, "blocks of pairs are cut between pairs");
    for pair in ids.as_chunks::<2>().0 {
        edge(sink, u64::from_le_bytes(pair[0]), u64::from_le_bytes(pair[1]))?;
    }
    Ok(())
}

#[inline]
fn edge<S: Sink>(sink: &mut S, source: u64, target: u64) -> Result<(), Fault> {
    let source = sink.integer(source)?;
    let target = sink.integer(target)?;
    sink.edge(source, target, 0)
}

/// Turns binary adjacency lists (`u32 degree, u32 target...` per vertex) into pairs of `u32`,
/// however the bytes arrive.
#[derive(Debug, Default)]
pub struct Lists {
    vertex: u64,
    /// Targets of the list that are still to come.
    left: u32,
    inside: bool,
    word: [u8; 4],
    word_bytes: usize,
}

impl Lists {
    /// At the first list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes bytes, and puts pairs into `pairs` while there is room for one. Returns the bytes
    /// taken and the bytes put.
    pub fn step(&mut self, bytes: &[u8], pairs: &mut [u8]) -> (usize, usize) {
        let (mut used, mut made) = (0, 0);
        while used < bytes.len() && made + 8 <= pairs.len() {
            self.word[self.word_bytes] = bytes[used];
            self.word_bytes += 1;
            used += 1;
            if self.word_bytes < 4 {
                continue;
            }
            self.word_bytes = 0;
            if self.inside {
                let source = (self.vertex as u32).to_le_bytes();
                pairs[made..made + 4].copy_from_slice(&source);
                pairs[made + 4..made + 8].copy_from_slice(&self.word);
                made += 8;
                self.left -= 1;
            } else {
                self.left = u32::from_le_bytes(self.word);
                self.inside = true;
            }
            if self.left == 0 {
                self.inside = false;
                self.vertex += 1;
            }
        }
        (used, made)
    }

    /// The number of lists, if the last one is whole.
    pub fn finish(&self) -> Result<u64, String> {
        if self.inside || self.word_bytes > 0 {
            let (vertex, left) = (self.vertex, self.left);
            return Err(format!(
                "ends within the list of vertex {vertex}, {left} targets before its end; is it cut \
                 off?"
            ));
        }
        Ok(self.vertex)
    }
}
