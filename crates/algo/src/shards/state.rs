//! Arrays of a run on a shard: what a checkpoint keeps of it, and its answer.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::report::{AlgoError, Result};

/// Values that leave a run, by type.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Bytes.
    U8(Vec<u8>),
    /// Integers of 32 bits.
    U32(Vec<u32>),
    /// Integers of 64 bits.
    U64(Vec<u64>),
    /// Floating-point numbers.
    F64(Vec<f64>),
}

impl Values {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Self::U8(values) => values.len(),
            Self::U32(values) => values.len(),
            Self::U64(values) => values.len(),
            Self::F64(values) => values.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Their bytes, as they lie in memory.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::U8(values) => values,
            Self::U32(values) => bytemuck::cast_slice(values),
            Self::U64(values) => bytemuck::cast_slice(values),
            Self::F64(values) => bytemuck::cast_slice(values),
        }
    }
}

/// A type of values.
pub(super) trait Item: bytemuck::Pod + Send + Sync {
    fn values(items: Vec<Self>) -> Values;
}

impl Item for u8 {
    fn values(items: Vec<u8>) -> Values {
        Values::U8(items)
    }
}

impl Item for u32 {
    fn values(items: Vec<u32>) -> Values {
        Values::U32(items)
    }
}

impl Item for u64 {
    fn values(items: Vec<u64>) -> Values {
        Values::U64(items)
    }
}

impl Item for f64 {
    fn values(items: Vec<f64>) -> Values {
        Values::F64(items)
    }
}

/// The items of bytes.
pub(super) fn items<T: Item>(bytes: &[u8]) -> impl Iterator<Item = T> {
    bytes.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned)
}

/// An array of the state of a run.
#[derive(Clone, Copy, Debug)]
pub(super) enum Cells<'a> {
    U32(&'a [AtomicU32]),
    U64(&'a [AtomicU64]),
}

impl Cells<'_> {
    /// A copy.
    pub fn values(self) -> Values {
        match self {
            Self::U32(cells) => Values::U32(plain_u32(cells)),
            Self::U64(cells) => Values::U64(plain_u64(cells)),
        }
    }

    fn bytes(self) -> usize {
        match self {
            Self::U32(cells) => size_of_val(cells),
            Self::U64(cells) => size_of_val(cells),
        }
    }

    /// Takes the values of a copy.
    pub fn restore(self, name: &str, bytes: &[u8]) -> Result<()> {
        if bytes.len() != self.bytes() {
            return Err(AlgoError::Parameter {
                parameter: "checkpoint",
                given: format!("one whose array `{name}` has {} bytes", bytes.len()),
                expected: format!("this shard needs {}: remove the checkpoint", self.bytes()),
            });
        }
        match self {
            Self::U32(cells) => {
                let values = items::<u32>(bytes);
                cells.iter().zip(values).for_each(|(cell, v)| cell.store(v, Ordering::Relaxed));
            }
            Self::U64(cells) => {
                let values = items::<u64>(bytes);
                cells.iter().zip(values).for_each(|(cell, v)| cell.store(v, Ordering::Relaxed));
            }
        }
        Ok(())
    }
}

pub(super) fn plain_u32(cells: &[AtomicU32]) -> Vec<u32> {
    cells.iter().map(|cell| cell.load(Ordering::Relaxed)).collect()
}

pub(super) fn plain_u64(cells: &[AtomicU64]) -> Vec<u64> {
    cells.iter().map(|cell| cell.load(Ordering::Relaxed)).collect()
}
