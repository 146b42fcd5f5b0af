//! The answer of a run, one value a vertex: in memory, or in a mapped state file.

use std::ops::Deref;

use bytemuck::AnyBitPattern;
use cenote_device::HugeVec;
use cenote_device::unnamed::Mapping;

/// Values of all vertices. Those in a file are read when they are used, and the system may take
/// their memory back.
#[derive(Debug)]
pub enum StateArray<T> {
    /// In memory.
    Memory(HugeVec<T>),
    /// In a state file.
    File(Mapping<T>),
}

impl<T> StateArray<T> {
    /// Gives the memory of values in a file back, until they are used again.
    pub fn release(&self) {
        if let Self::File(mapping) = self {
            mapping.release();
        }
    }
}

impl<T: AnyBitPattern> Deref for StateArray<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            Self::Memory(values) => values,
            Self::File(mapping) => mapping,
        }
    }
}

impl<T> From<HugeVec<T>> for StateArray<T> {
    fn from(values: HugeVec<T>) -> Self {
        Self::Memory(values)
    }
}
