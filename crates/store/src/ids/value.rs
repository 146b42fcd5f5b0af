//! A vertex id of the user.

use std::fmt;

/// A vertex id of the user, borrowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(untagged)]
pub enum IdRef<'a> {
    /// A number.
    Integer(u64),
    /// A name.
    String(&'a str),
}

/// A vertex id of the user.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(untagged)]
pub enum Id {
    /// A number.
    Integer(u64),
    /// A name.
    String(String),
}

impl IdRef<'_> {
    /// The owned id.
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
    /// The borrowed id.
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
