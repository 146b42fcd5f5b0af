//! The user's own vertex ids: integers or strings in ascending order, read on demand.
//!
//! Vertex `v` is the `v`-th smallest id. So one ordered section serves both ways: from vertex to id
//! by position, from id to vertex by binary search over the pages. A search touches about
//! `log2(pages)` of them; the few read last stay in the graph's pool.
//!
//! - [`Ids`]: lookups and passes, whatever the kind
//! - [`IdTable`]: all ids in memory, for whoever names vertices in random order
//! - `stored`: how stored ids are searched
//! - `strings`: the records of a page of strings
//! - `write`: the sections as the writer makes them

mod stored;
mod strings;
mod table;
mod write;

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use crate::VertexId;
use crate::error::{Result, StoreError};
use crate::pages::Pages;
use crate::superblock::{IdKind, SectionKind};

pub use stored::StoredIds;
pub(crate) use strings::Records;
pub use table::IdTable;
pub(crate) use write::{write_integers, write_strings};

/// An id of the user's, borrowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IdRef<'a> {
    /// A number.
    Integer(u64),
    /// A name.
    String(&'a str),
}

/// An id of the user's.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Id {
    /// A number.
    Integer(u64),
    /// A name.
    String(String),
}

impl IdRef<'_> {
    /// A copy that owns its name.
    pub fn to_id(self) -> Id {
        match self {
            IdRef::Integer(integer) => Id::Integer(integer),
            IdRef::String(string) => Id::String(string.to_owned()),
        }
    }
}

impl fmt::Display for IdRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IdRef::Integer(integer) => integer.fmt(f),
            IdRef::String(string) => string.fmt(f),
        }
    }
}

impl Id {
    /// A borrow of it.
    pub fn as_ref(&self) -> IdRef<'_> {
        match self {
            Id::Integer(integer) => IdRef::Integer(*integer),
            Id::String(string) => IdRef::String(string),
        }
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_ref().fmt(f)
    }
}

/// The ids of a graph, by kind.
#[derive(Debug)]
pub enum Ids {
    /// They are the vertex numbers.
    Dense(DenseIds),
    /// They are stored integers.
    Integers(StoredIds),
    /// They are stored strings.
    Strings(StoredIds),
}

/// Ids that are the vertex numbers.
#[derive(Debug)]
pub struct DenseIds {
    file: Arc<str>,
    vertices: u64,
}

impl Ids {
    pub(crate) fn open(pages: &Arc<Pages>) -> Self {
        let superblock = &pages.layout.superblock;
        match superblock.ids {
            IdKind::Dense => {
                let (file, vertices) = (Arc::clone(&pages.layout.file), superblock.vertices);
                Self::Dense(DenseIds { file, vertices })
            }
            IdKind::Integers => Self::Integers(StoredIds::new(pages, SectionKind::Integers)),
            IdKind::Strings => Self::Strings(StoredIds::new(pages, SectionKind::Strings)),
        }
    }

    /// How the user names vertices.
    pub fn kind(&self) -> IdKind {
        match self {
            Self::Dense(_) => IdKind::Dense,
            Self::Integers(_) => IdKind::Integers,
            Self::Strings(_) => IdKind::Strings,
        }
    }

    /// Number of vertices.
    pub fn vertices(&self) -> u64 {
        match self {
            Self::Dense(dense) => dense.vertices,
            Self::Integers(stored) | Self::Strings(stored) => stored.vertices(),
        }
    }

    /// Memory that is held between calls: the pages read last. They are the graph's, whose memory
    /// counts them too.
    pub fn memory_bytes(&self) -> usize {
        match self {
            Self::Dense(_) => 0,
            Self::Integers(stored) | Self::Strings(stored) => stored.memory_bytes(),
        }
    }

    /// The vertex that the user calls `id`, if there is one.
    pub fn vertex_of(&self, id: &str) -> Result<Option<VertexId>> {
        match self {
            Self::Dense(dense) => {
                let vertex = integer_of(id).filter(|vertex| *vertex < dense.vertices);
                Ok(vertex.map(|vertex| vertex as VertexId))
            }
            Self::Integers(stored) => match integer_of(id) {
                Some(integer) => stored.vertex_of_integer(integer),
                None => Ok(None),
            },
            Self::Strings(stored) => stored.vertex_of_string(id),
        }
    }

    /// What the user calls `vertex`.
    pub fn id_of(&self, vertex: VertexId) -> Result<Id> {
        let (file, vertices) = match self {
            Self::Dense(dense) => (&dense.file, dense.vertices),
            Self::Integers(stored) | Self::Strings(stored) => (stored.file(), stored.vertices()),
        };
        if u64::from(vertex) >= vertices {
            let (file, vertex) = (file.to_string(), u64::from(vertex));
            return Err(StoreError::NoVertex { file, vertex, vertices });
        }
        match self {
            Self::Dense(_) => Ok(Id::Integer(u64::from(vertex))),
            Self::Integers(stored) => stored.integer_of(vertex).map(Id::Integer),
            Self::Strings(stored) => stored.string_of(vertex).map(Id::String),
        }
    }

    /// Streams the ids of a range of vertices in order. `visit` may stop the pass by an error.
    pub fn for_each<E: From<StoreError>>(
        &self,
        vertices: Range<VertexId>,
        mut visit: impl FnMut(VertexId, IdRef<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let end = u64::from(vertices.end).min(self.vertices()) as VertexId;
        let vertices = vertices.start..end;
        if vertices.is_empty() {
            return Ok(());
        }
        match self {
            Self::Dense(_) => {
                for vertex in vertices {
                    visit(vertex, IdRef::Integer(u64::from(vertex)))?;
                }
                Ok(())
            }
            Self::Integers(stored) => stored.for_each_integer(vertices, &mut visit),
            Self::Strings(stored) => stored.for_each_string(vertices, &mut visit),
        }
    }

    /// Reads all ids into memory, for access in random order.
    pub fn load(&self) -> Result<IdTable> {
        IdTable::load(self)
    }
}

/// Only digits: `+7` and ` 7` are not what the user's file said.
fn integer_of(id: &str) -> Option<u64> {
    id.bytes().all(|byte| byte.is_ascii_digit()).then(|| id.parse().ok()).flatten()
}
