//! A batch as it is in the log.

use bytemuck::{Pod, Zeroable};

use super::PendingCounts;
use crate::VertexId;
use crate::error::{PageFault, at_most, equal, other};
use crate::format::ID_BYTES_MAX;
use crate::ids::Id;
use crate::superblock::IdKind;
use crate::weights::WeightType;

/// Batches and their parts begin at multiples of so many bytes.
const ALIGN: usize = 8;

/// What a change of the log does with an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EdgeOp {
    Add,
    Delete,
    /// Sets the weight.
    Set,
}

/// A change that had an effect: an edge that was not there is added, or one that was there is
/// deleted or gets a weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LoggedChange {
    pub op: EdgeOp,
    pub source: VertexId,
    pub target: VertexId,
    /// Ordered bits of the weight that the edge gets; 0 if it is deleted or has none.
    pub weight: u64,
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

/// Bits of the first page of a change: the edge is deleted; its weight is set.
const DELETED: u64 = 1 << 63;
const SET: u64 = 1 << 62;

impl EdgeOp {
    /// How many entries more a list has.
    pub fn entries(self) -> i64 {
        match self {
            Self::Add => 1,
            Self::Delete => -1,
            Self::Set => 0,
        }
    }

    fn bits(self) -> u64 {
        match self {
            Self::Add => 0,
            Self::Delete => DELETED,
            Self::Set => SET,
        }
    }

    fn of_bits(bits: u64) -> Option<Self> {
        [Self::Add, Self::Delete, Self::Set].into_iter().find(|op| op.bits() == bits)
    }
}

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
    /// Bytes of a change, which in a graph with weights has one.
    pub const fn change_bytes(weights: Option<WeightType>) -> usize {
        size_of::<RawChange>() + if weights.is_some() { size_of::<u64>() } else { 0 }
    }

    /// Appends the encoding to `out`, for a graph with weights of this type, or without.
    pub fn encode(&self, weights: Option<WeightType>, out: &mut Vec<u8>) {
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
            let LoggedChange { op, source, target, weight, mut pages } = *change;
            pages[0] |= op.bits();
            out.extend_from_slice(bytemuck::bytes_of(&RawChange { source, target, pages }));
            if let Some(kind) = weights {
                let raw = if op == EdgeOp::Delete { 0 } else { kind.raw(weight) };
                out.extend_from_slice(&raw.to_le_bytes());
            }
        }
        raw.bytes = u32::try_from(out.len() - start).expect("a batch of the log is small");
        out[start..start + size_of::<RawBatch>()].copy_from_slice(bytemuck::bytes_of(&raw));
    }

    /// Bytes of the encoding of a batch with these ids and so many changes.
    pub fn encoded_bytes(new_ids: &[Id], changes: usize, weights: Option<WeightType>) -> usize {
        let ids = encoded_id_bytes(new_ids).next_multiple_of(ALIGN);
        size_of::<RawBatch>() + ids + changes * Self::change_bytes(weights)
    }

    /// Decodes the first batch of `bytes` and steps over it. `stored_out` and `stored_in` of the
    /// counts are not in the log and stay 0.
    pub fn decode(
        bytes: &mut &[u8],
        ids: IdKind,
        weights: Option<WeightType>,
    ) -> Result<Self, PageFault> {
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
        let size = Self::change_bytes(weights);
        equal("bytes of the changes", changes.len() as u64, u64::from(raw.changes) * size as u64)?;
        let changes = changes.chunks_exact(size).map(|change| decode_change(change, weights));
        let counts = PendingCounts {
            vertices: raw.vertices,
            edges: raw.edges,
            degree_max: raw.degree_max,
            degree_max_vertex: raw.degree_max_vertex,
            ..PendingCounts::default()
        };
        Ok(Self { new_ids, changes: changes.collect::<Result<_, _>>()?, counts })
    }
}

fn decode_change(bytes: &[u8], weights: Option<WeightType>) -> Result<LoggedChange, PageFault> {
    let (change, weight) = bytes.split_at(size_of::<RawChange>());
    let RawChange { source, target, pages: [first, second] } = bytemuck::pod_read_unaligned(change);
    let bits = first & (DELETED | SET);
    let op = EdgeOp::of_bits(bits).filter(|op| *op != EdgeOp::Set || weights.is_some());
    let op = op.ok_or_else(|| other("a change neither adds nor deletes an edge"))?;
    let weight = match weights {
        Some(kind) => {
            let raw = bytemuck::pod_read_unaligned(weight);
            if op == EdgeOp::Delete {
                equal("weight of a deletion", raw, 0)?;
                0
            } else {
                let ordered = kind.ordered_of_file(raw);
                ordered.ok_or_else(|| other("the weight of a change is none of its type"))?
            }
        }
        None => 0,
    };
    Ok(LoggedChange { op, source, target, weight, pages: [first & !bits, second] })
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

    const KINDS: [Option<WeightType>; 5] = [
        None,
        Some(WeightType::F32),
        Some(WeightType::F64),
        Some(WeightType::U32),
        Some(WeightType::I64),
    ];

    fn batch(new_ids: Vec<Id>, weights: Option<WeightType>) -> LoggedBatch {
        let weight = weights.and_then(|kind| kind.of_f64(3.0)).unwrap_or(0);
        let change = |op, source| {
            let weight = if op == EdgeOp::Delete { 0 } else { weight };
            LoggedChange { op, source, target: 7, weight, pages: [5, 9] }
        };
        let counts = PendingCounts { vertices: 12, edges: 4, ..PendingCounts::default() };
        let mut changes = vec![change(EdgeOp::Add, 1), change(EdgeOp::Delete, 2)];
        changes.extend(weights.map(|_| change(EdgeOp::Set, 3)));
        LoggedBatch { new_ids, changes, counts }
    }

    #[test]
    fn batches_come_back_one_after_the_other_and_no_prefix_is_taken_for_one() {
        let strings = ["", "ä", "a longer one"].map(|id| Id::String(id.into()));
        for (kind, ids) in [
            (IdKind::Strings, strings.to_vec()),
            (IdKind::Integers, vec![Id::Integer(u64::MAX), Id::Integer(3)]),
            (IdKind::Dense, vec![]),
        ] {
            for weights in KINDS {
                let (first, second) = (batch(ids.clone(), weights), batch(vec![], weights));
                let mut bytes = Vec::new();
                first.encode(weights, &mut bytes);
                let len = bytes.len();
                assert_eq!(len, LoggedBatch::encoded_bytes(&ids, first.changes.len(), weights));
                second.encode(weights, &mut bytes);
                let mut rest = bytes.as_slice();
                assert_eq!(LoggedBatch::decode(&mut rest, kind, weights), Ok(first));
                assert_eq!(LoggedBatch::decode(&mut rest, kind, weights), Ok(second));
                assert!(rest.is_empty());
                for cut in 0..len {
                    let decoded = LoggedBatch::decode(&mut &bytes[..cut], kind, weights);
                    assert!(decoded.is_err(), "{cut} bytes");
                }
            }
        }
    }

    #[test]
    fn what_is_no_weight_of_the_graph_is_an_error() {
        let encoded = |weights, raw: u64| {
            let mut bytes = Vec::new();
            batch(vec![], Some(weights)).encode(Some(weights), &mut bytes);
            let end = bytes.len();
            bytes[end - 8..].copy_from_slice(&raw.to_le_bytes());
            let decoded = LoggedBatch::decode(&mut bytes.as_slice(), IdKind::Dense, Some(weights));
            decoded.map(|batch| batch.changes[2].weight)
        };
        let (nan, minus_zero) = (f32::NAN.to_bits(), (-0f32).to_bits());
        for raw in [nan.into(), minus_zero.into(), 1 << 32] {
            assert!(encoded(WeightType::F32, raw).is_err(), "{raw:#x}");
        }
        assert!(encoded(WeightType::F64, f64::INFINITY.to_bits()).is_err());
        assert!(encoded(WeightType::U32, 1 << 32).is_err());
        assert_eq!(encoded(WeightType::U32, 9), Ok(9));
        assert_eq!(encoded(WeightType::F64, 0), Ok(WeightType::F64.of_f64(0.0).unwrap()));
        // Without weights none is set.
        let mut bytes = Vec::new();
        let change =
            LoggedChange { op: EdgeOp::Set, source: 1, target: 2, weight: 0, pages: [3, 4] };
        LoggedBatch { changes: vec![change], ..batch(vec![], None) }.encode(None, &mut bytes);
        assert!(LoggedBatch::decode(&mut bytes.as_slice(), IdKind::Dense, None).is_err());
    }

    #[test]
    fn no_flipped_byte_of_a_batch_makes_the_decoder_panic() {
        for weights in KINDS {
            let mut bytes = Vec::new();
            batch(vec![Id::String("name".into())], weights).encode(weights, &mut bytes);
            for at in 0..bytes.len() {
                for flip in [1, 0x80, 0xff] {
                    bytes[at] ^= flip;
                    for ids in [IdKind::Strings, IdKind::Integers] {
                        let _ = LoggedBatch::decode(&mut bytes.as_slice(), ids, weights);
                    }
                    bytes[at] ^= flip;
                }
            }
        }
    }
}
