//! The result of a search for a target.

use cenote_store::{Id, Ids, VertexId};
use serde::Serialize;

use crate::error::Result;

/// The result of a search for a target.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Target {
    /// The user's id.
    pub target: Id,
    /// Whether it can be reached.
    pub reachable: bool,
    /// The least number of edges to it, if the search finds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<u32>,
    /// The vertices of a path to it, if the search finds them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<Vec<Id>>,
}

impl Target {
    /// All targets, with the result of `reachable`.
    pub(super) fn all(
        ids: &Ids,
        targets: &[VertexId],
        reachable: impl Fn(VertexId) -> bool,
    ) -> Result<Vec<Self>> {
        let of = |&v: &VertexId| {
            let target = ids.id_of(v)?;
            Ok(Self { target, reachable: reachable(v), level: None, path: None })
        };
        targets.iter().map(of).collect()
    }

    /// Sets the path.
    pub(super) fn set_path(&mut self, ids: &Ids, path: Option<Vec<VertexId>>) -> Result<()> {
        if let Some(path) = path {
            let path = path.into_iter().map(|v| Ok(ids.id_of(v)?));
            self.path = Some(path.collect::<Result<_>>()?);
        }
        Ok(())
    }
}
