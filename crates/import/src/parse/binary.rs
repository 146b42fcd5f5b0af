//! Parses binary blocks: pairs of integers, rows of edges, binary adjacency lists.

use super::{BlockStats, Fault, Sink};

pub fn parse_u32<S: Sink>(block: &[u8], sink: &mut S) -> Result<BlockStats, Fault> {
    let (pairs, rest) = block.as_chunks::<8>();
    assert!(rest.is_empty(), "blocks of pairs are cut between pairs");
    for pair in pairs {
        let pair = u64::from_le_bytes(*pair);
        edge(sink, pair & u64::from(u32::MAX), pair >> 32)?;
    }
    Ok(BlockStats::default())
}

pub fn parse_u64<S: Sink>(block: &[u8], sink: &mut S) -> Result<BlockStats, Fault> {
    let (ids, rest) = block.as_chunks::<8>();
    assert!(rest.is_empty() && ids.len() % 2 == 0, "blocks of pairs are cut between pairs");
    for pair in ids.as_chunks::<2>().0 {
        edge(sink, u64::from_le_bytes(pair[0]), u64::from_le_bytes(pair[1]))?;
    }
    Ok(BlockStats::default())
}

#[inline]
fn edge<S: Sink>(sink: &mut S, source: u64, target: u64) -> Result<(), Fault> {
    let source = sink.integer(source)?;
    let target = sink.integer(target)?;
    sink.edge(source, target, 0)
}

pub fn parse_weighted_rows<S: Sink>(block: &[u8], sink: &mut S) -> Result<BlockStats, Fault> {
    let (words, rest) = block.as_chunks::<8>();
    assert!(rest.is_empty() && words.len() % 3 == 0, "blocks of rows are cut between rows");
    for row in words.as_chunks::<3>().0 {
        let [source, target, weight] = row.map(u64::from_le_bytes);
        let (source, target) = (sink.integer(source)?, sink.integer(target)?);
        sink.edge(source, target, weight)?;
    }
    Ok(BlockStats::default())
}

/// Parses vertices: integers of 32 bits.
pub fn parse_vertices_u32<S: Sink>(block: &[u8], sink: &mut S) -> Result<BlockStats, Fault> {
    let (ids, rest) = block.as_chunks::<4>();
    assert!(rest.is_empty(), "blocks of ids are cut between ids");
    ids.iter().try_for_each(|id| vertex(sink, u64::from(u32::from_le_bytes(*id))))?;
    Ok(BlockStats::default())
}

/// Parses vertices: integers of 64 bits.
pub fn parse_vertices_u64<S: Sink>(block: &[u8], sink: &mut S) -> Result<BlockStats, Fault> {
    let (ids, rest) = block.as_chunks::<8>();
    assert!(rest.is_empty(), "blocks of ids are cut between ids");
    ids.iter().try_for_each(|id| vertex(sink, u64::from_le_bytes(*id)))?;
    Ok(BlockStats::default())
}

#[inline]
fn vertex<S: Sink>(sink: &mut S, id: u64) -> Result<(), Fault> {
    let id = sink.integer(id)?;
    sink.vertex(id)
}

/// Parses vertices: names, each after its length.
pub fn parse_vertex_names<S: Sink>(block: &[u8], sink: &mut S) -> Result<BlockStats, Fault> {
    let mut rest = block;
    for row in 0.. {
        if rest.is_empty() {
            break;
        }
        let name = name(&mut rest);
        let id = sink.id(name).map_err(|fault| at_row(fault, row, name))?;
        sink.vertex(id)?;
    }
    Ok(BlockStats::default())
}

/// Parses names, each after its length, and the ordered bits of a weight after each pair if
/// `weighted`.
pub fn parse_names<S: Sink>(
    block: &[u8],
    weighted: bool,
    sink: &mut S,
) -> Result<BlockStats, Fault> {
    let mut rest = block;
    for row in 0.. {
        if rest.is_empty() {
            break;
        }
        let source = name(&mut rest);
        let source = sink.id(source).map_err(|fault| at_row(fault, row, source))?;
        let target = name(&mut rest);
        let target = sink.id(target).map_err(|fault| at_row(fault, row, target))?;
        let mut weight = 0;
        if weighted {
            let (bits, after) = rest.split_first_chunk::<8>().expect("rows are whole in a block");
            weight = u64::from_le_bytes(*bits);
            rest = after;
        }
        sink.edge(source, target, weight)?;
    }
    Ok(BlockStats::default())
}

fn name<'a>(rest: &mut &'a [u8]) -> &'a [u8] {
    let (len, after) = rest.split_first_chunk::<4>().expect("names are whole in a block");
    let (name, after) = after.split_at(u32::from_le_bytes(*len) as usize);
    *rest = after;
    name
}

pub(super) fn at_row(fault: Fault, row: u64, name: &[u8]) -> Fault {
    match fault {
        Fault::Token { expected } => {
            let found = crate::error::excerpt(name);
            Fault::Row { row, expected: format!("{expected}, found \"{found}\"") }
        }
        other => other,
    }
}

/// Converts binary adjacency lists (`u32 degree, u32 target...` per vertex) to pairs of `u32`,
/// whatever pieces the bytes arrive in.
#[derive(Debug, Default)]
pub struct Lists {
    vertex: u64,
    left: u32,
    inside: bool,
    word: [u8; 4],
    word_bytes: usize,
}

impl Lists {
    pub fn new() -> Self {
        Self::default()
    }

    /// Converts bytes while `pairs` has room. Returns the bytes read and the bytes written.
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

    /// The number of lists, unless the last one is incomplete.
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
