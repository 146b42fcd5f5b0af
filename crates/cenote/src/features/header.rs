//! The header of a file of features, and what it says about its graph.

use cenote_algo::mix::mix;
use cenote_store::header::checksum;
use cenote_store::{Id, VertexId};

use super::{PAGE_BYTES, ROW_BYTES};
use crate::error::Result;
use crate::graph::{StoredGraph, id_key};

const MAGIC: &[u8; 8] = b"CENOTEFT";
const VERSION: u32 = 1;

/// Ids that the fingerprint of a numbering looks at.
const IDS_SAMPLED: u64 = 64;

/// The type of the numbers of features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FeatureType {
    /// 0 or 1 in a byte.
    Bool = 1,
    /// 8-bit integers.
    I8,
    /// 8-bit integers without a sign.
    U8,
    /// 16-bit integers.
    I16,
    /// 16-bit integers without a sign.
    U16,
    /// 32-bit integers.
    I32,
    /// 32-bit integers without a sign.
    U32,
    /// 64-bit integers.
    I64,
    /// 64-bit integers without a sign.
    U64,
    /// Half precision.
    F16,
    /// Single precision.
    F32,
    /// Double precision.
    F64,
}

impl FeatureType {
    /// All types with their names, in the order of their codes.
    pub const NAMES: [(&'static str, Self); 12] = [
        ("bool", Self::Bool),
        ("int8", Self::I8),
        ("uint8", Self::U8),
        ("int16", Self::I16),
        ("uint16", Self::U16),
        ("int32", Self::I32),
        ("uint32", Self::U32),
        ("int64", Self::I64),
        ("uint64", Self::U64),
        ("float16", Self::F16),
        ("float32", Self::F32),
        ("float64", Self::F64),
    ];

    /// Its name in NumPy.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize - 1].0
    }

    /// Bytes of a number.
    pub fn bytes(self) -> u64 {
        match self {
            Self::Bool | Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 | Self::F16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }
}

/// What a file says about its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub kind: FeatureType,
    pub columns: u32,
    pub rows: u64,
    /// Of the graph.
    pub salt: u64,
    /// See [`numbering`].
    pub numbering: u64,
}

impl Header {
    pub fn row_bytes(&self) -> u64 {
        u64::from(self.columns) * self.kind.bytes()
    }

    /// Pages of the file.
    pub fn pages(&self) -> u64 {
        1 + (self.rows * self.row_bytes()).div_ceil(ROW_BYTES)
    }

    pub fn to_page(self) -> Vec<u8> {
        let mut page = vec![0; PAGE_BYTES];
        page[8..16].copy_from_slice(MAGIC);
        page[16..20].copy_from_slice(&VERSION.to_le_bytes());
        page[20..24].copy_from_slice(&(PAGE_BYTES as u32).to_le_bytes());
        page[24..28].copy_from_slice(&(self.kind as u32).to_le_bytes());
        page[28..32].copy_from_slice(&self.columns.to_le_bytes());
        for (at, word) in (32..).step_by(8).zip([self.rows, self.salt, self.numbering]) {
            page[at..at + 8].copy_from_slice(&word.to_le_bytes());
        }
        seal(&mut page, self.salt, 0);
        page
    }

    /// The header in a page, or what is wrong with it.
    pub fn of_page(page: &[u8]) -> Result<Self, String> {
        let four = |at: usize| u32::from_le_bytes(page[at..at + 4].try_into().expect("four"));
        let eight = |at: usize| u64::from_le_bytes(page[at..at + 8].try_into().expect("eight"));
        if page[8..16] != *MAGIC {
            return Err("it is no file of features".to_owned());
        }
        let salt = eight(40);
        if four(16) != VERSION {
            let version = four(16);
            return Err(format!("its version is {version}: this library reads {VERSION}"));
        }
        verify(page, salt, 0)?;
        let code = four(24) as usize;
        let kind = FeatureType::NAMES.get(code.wrapping_sub(1)).map(|(_, kind)| *kind);
        let kind = kind.ok_or_else(|| format!("page 0: no type has the code {code}"))?;
        let (columns, rows, numbering) = (four(28), eight(32), eight(48));
        if four(20) as usize != PAGE_BYTES || columns == 0 || rows > u64::from(VertexId::MAX) {
            return Err("page 0: its sizes are impossible".to_owned());
        }
        Ok(Self { kind, columns, rows, salt, numbering })
    }
}

/// Writes the checksum of a page.
pub(super) fn seal(page: &mut [u8], salt: u64, number: u64) {
    let sum = checksum(page, salt, number);
    page[..4].copy_from_slice(&sum.to_le_bytes());
}

/// What is wrong with a page, if it is not what was written.
pub(super) fn verify(page: &[u8], salt: u64, number: u64) -> Result<(), String> {
    let stored = u32::from_le_bytes(page[..4].try_into().expect("four bytes"));
    let computed = checksum(page, salt, number);
    if stored == computed {
        return Ok(());
    }
    Err(format!("page {number}: the checksum is {stored:#010x}, its bytes have {computed:#010x}"))
}

/// A fingerprint of the numbers of the first vertices of a graph: of its order, and of the ids of
/// 64 of them, from the first to the last.
pub(super) fn numbering(graph: &StoredGraph, rows: u64) -> Result<u64> {
    let ids = graph.ids()?;
    let order = format!("{:?}", graph.superblock().order);
    let mut key = mix(rows ^ id_key(&Id::String(order), graph.superblock().salt));
    let last = rows.saturating_sub(1);
    let mut sampled: Vec<u64> =
        (0..IDS_SAMPLED.min(rows)).map(|i| last * i / (IDS_SAMPLED - 1)).collect();
    sampled.push(last);
    sampled.dedup();
    for vertex in sampled.into_iter().filter(|vertex| *vertex < rows) {
        key = mix(key ^ id_key(&ids.id_of(vertex as VertexId)?, vertex));
    }
    Ok(key)
}
