//! What a search found of its targets.

use cenote_store::{Id, Ids, VertexId};
use serde::Serialize;

use crate::error::Result;

/// What became of a target.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Target {
    /// What the user calls it.
    pub target: Id,
    /// Whether it can be reached.
    pub reachable: bool,
    /// Least number of edges to it, where the search finds that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<u32>,
    /// The vertices on the way, the target among them, where the search finds them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<Vec<Id>>,
}

impl Target {
    /// What `reachable` says of each target.
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

    /// Adds the way.
    pub(super) fn set_path(&mut self, ids: &Ids, path: Option<Vec<VertexId>>) -> Result<()> {
        if let Some(path) = path {
            let path = path.into_iter().map(|v| Ok(ids.id_of(v)?));
            self.path = Some(path.collect::<Result<_>>()?);
        }
        Ok(())
    }
}
