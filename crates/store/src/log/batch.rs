//! A batch as it is in the log.

use bytemuck::{Pod, Zeroable};

use super::PendingCounts;
use crate::VertexId;
use crate::error::{PageFault, at_most, equal, other};
use crate::format::ID_BYTES_MAX;
use crate::ids::Id;
use crate::superblock::IdKind;

/// Batches and their parts begin at multiples of so many bytes.
const ALIGN: usize = 8;

/// A change that had an effect: an edge that was not there is added, or one that was there is
/// deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LoggedChange {
    pub is_added: bool,
    pub source: VertexId,
    pub target: VertexId,
    /// The pages of the epoch's lists that hold the place of the entry: of the source's list, and
    /// of the target's in an undirected graph or one with in-edges, else 0.
    pub pages: [u64; 2],
}

/// Bytes of ids in the log.
pub(crate) fn encoded_id_bytes(ids: &[Id]) -> usize {
    let bytes = |id: &Id| match id {
        Id::Integer(_) => 8,
        Id::String(string) => 4 + string.len(),
    };
    ids.iter().map(bytes).sum()
}

/// A batch of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LoggedBatch {
    pub new_ids: Vec<Id>,
    pub changes: Vec<LoggedChange>,
    /// The graph after the batch.
    pub counts: PendingCounts,
}

/// Bit of the first page of a change: the edge is deleted.
const DELETED: u64 = 1 << 63;

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct RawBatch {
    /// Of the whole batch.
    bytes: u32,
    new_ids: u32,
    changes: u32,
    degree_max_vertex: u32,
    vertices: u64,
    edges: u64,
    degree_max: u64,
}

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct RawChange {
    source: u32,
    target: u32,
    pages: [u64; 2],
}

impl LoggedBatch {
    /// Bytes of a change.
    pub const CHANGE_BYTES: usize = size_of::<RawChange>();

    /// Appends the encoding to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        let PendingCounts { vertices, edges, degree_max, degree_max_vertex, .. } = self.counts;
        let (new_ids, changes) = (self.new_ids.len() as u32, self.changes.len() as u32);
        let mut raw =
            RawBatch { bytes: 0, new_ids, changes, degree_max_vertex, vertices, edges, degree_max };
        out.extend_from_slice(bytemuck::bytes_of(&raw));
        for id in &self.new_ids {
            match id {
                Id::Integer(integer) => out.extend_from_slice(&integer.to_le_bytes()),
                Id::String(string) => {
                    out.extend_from_slice(&(string.len() as u32).to_le_bytes());
                    out.extend_from_slice(string.as_bytes());
                }
            }
        }
        out.resize(start + (out.len() - start).next_multiple_of(ALIGN), 0);
        for change in &self.changes {
            let LoggedChange { is_added, source, target, mut pages } = *change;
            pages[0] |= if is_added { 0 } else { DELETED };
            out.extend_from_slice(bytemuck::bytes_of(&RawChange { source, target, pages }));
        }
        raw.bytes = u32::try_from(out.len() - start).expect("a batch of the log is small");
        out[start..start + size_of::<RawBatch>()].copy_from_slice(bytemuck::bytes_of(&raw));
    }

    /// Bytes of the encoding of a batch with these ids and so many changes.
    pub fn encoded_bytes(new_ids: &[Id], changes: usize) -> usize {
        let ids = encoded_id_bytes(new_ids).next_multiple_of(ALIGN);
        size_of::<RawBatch>() + ids + changes * size_of::<RawChange>()
    }

    /// Decodes the first batch of `bytes` and steps over it. `stored_out` and `stored_in` of the
    /// counts are not in the log and stay 0.
    pub fn decode(bytes: &mut &[u8], ids: IdKind) -> Result<Self, PageFault> {
        let cut = || other("a batch is cut short");
        let raw = bytes.get(..size_of::<RawBatch>()).ok_or_else(cut)?;
        let raw: RawBatch = bytemuck::pod_read_unaligned(raw);
        let mut rest = bytes.get(..raw.bytes as usize).ok_or_else(cut)?;
        *bytes = &bytes[rest.len()..];
        rest = rest.get(size_of::<RawBatch>()..).ok_or_else(cut)?;
        let whole = rest.len();
        at_most("ids of a batch", raw.new_ids.into(), whole as u64)?;
        let mut new_ids = Vec::with_capacity(raw.new_ids as usize);
        for _ in 0..raw.new_ids {
            new_ids.push(take_id(&mut rest, ids)?);
        }
        let read = whole - rest.len();
        let padding = read.next_multiple_of(ALIGN) - read;
        let (padding, changes) = rest.split_at_checked(padding).ok_or_else(cut)?;
        if padding.iter().any(|byte| *byte != 0) {
            return Err(other("bytes that should be zero are not"));
        }
        let size = size_of::<RawChange>();
        equal("bytes of the changes", changes.len() as u64, u64::from(raw.changes) * size as u64)?;
        let changes = changes.chunks_exact(size).map(|change| {
            let RawChange { source, target, pages } = bytemuck::pod_read_unaligned(change);
            let is_added = pages[0] & DELETED == 0;
            LoggedChange { is_added, source, target, pages: [pages[0] & !DELETED, pages[1]] }
        });
        let counts = PendingCounts {
            vertices: raw.vertices,
            edges: raw.edges,
            degree_max: raw.degree_max,
            degree_max_vertex: raw.degree_max_vertex,
            ..PendingCounts::default()
        };
        Ok(Self { new_ids, changes: changes.collect(), counts })
    }
}

fn take_id(rest: &mut &[u8], kind: IdKind) -> Result<Id, PageFault> {
    let mut take = |len: usize| -> Result<&[u8], PageFault> {
        let (taken, behind) =
            rest.split_at_checked(len).ok_or_else(|| other("an id is cut short"))?;
        *rest = behind;
        Ok(taken)
    };
    if kind != IdKind::Strings {
        return Ok(Id::Integer(bytemuck::pod_read_unaligned(take(8)?)));
    }
    let len: u32 = bytemuck::pod_read_unaligned(take(4)?);
    at_most("bytes of an id", len.into(), ID_BYTES_MAX as u64)?;
    let text = std::str::from_utf8(take(len as usize)?);
    Ok(Id::String(text.map_err(|_| other("an id is not UTF-8"))?.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(new_ids: Vec<Id>) -> LoggedBatch {
        let change = |is_added, source| LoggedChange { is_added, source, target: 7, pages: [5, 9] };
        let counts = PendingCounts { vertices: 12, edges: 4, ..PendingCounts::default() };
        LoggedBatch { new_ids, changes: vec![change(true, 1), change(false, 2)], counts }
    }

    #[test]
    fn batches_come_back_one_after_the_other_and_no_prefix_is_taken_for_one() {
        let strings = ["", "ä", "a longer one"].map(|id| Id::String(id.into()));
        for (kind, ids) in [
            (IdKind::Strings, strings.to_vec()),
            (IdKind::Integers, vec![Id::Integer(u64::MAX), Id::Integer(3)]),
            (IdKind::Dense, vec![]),
        ] {
            let (first, second) = (batch(ids.clone()), batch(vec![]));
            let mut bytes = Vec::new();
            first.encode(&mut bytes);
            assert_eq!(bytes.len(), LoggedBatch::encoded_bytes(&ids, 2));
            let len = bytes.len();
            second.encode(&mut bytes);
            let mut rest = bytes.as_slice();
            assert_eq!(LoggedBatch::decode(&mut rest, kind), Ok(first));
            assert_eq!(LoggedBatch::decode(&mut rest, kind), Ok(second));
            assert!(rest.is_empty());
            for cut in 0..len {
                assert!(LoggedBatch::decode(&mut &bytes[..cut], kind).is_err(), "{cut} bytes");
            }
        }
    }

    #[test]
    fn no_flipped_byte_of_a_batch_makes_the_decoder_panic() {
        let mut bytes = Vec::new();
        batch(vec![Id::String("name".into())]).encode(&mut bytes);
        for at in 0..bytes.len() {
            for flip in [1, 0x80, 0xff] {
                bytes[at] ^= flip;
                let _ = LoggedBatch::decode(&mut bytes.as_slice(), IdKind::Strings);
                let _ = LoggedBatch::decode(&mut bytes.as_slice(), IdKind::Integers);
                bytes[at] ^= flip;
            }
        }
    }
}
