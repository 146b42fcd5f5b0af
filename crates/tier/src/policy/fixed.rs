//! `static`: moves no page.

use super::saved::{Load, StateHeader};
use super::{Access, Context, Policy, PolicyKind};
use crate::error::Result;
use crate::placement::{Move, Page, Placement};

/// Moves nothing.
#[derive(Debug)]
pub struct Fixed {
    header: StateHeader,
}

impl Fixed {
    pub(super) fn new(context: &Context<'_>) -> Self {
        Self { header: StateHeader::new(PolicyKind::Static, context) }
    }
}

impl Policy for Fixed {
    fn access(&mut self, _: &Access<'_>, _: &Placement, _: &mut Vec<Move>) {}

    fn memory_bytes(&self) -> usize {
        0
    }

    fn save(&self) -> Result<Vec<u8>> {
        self.header.pack(())
    }

    fn heat(&self, _: Page) -> Option<f64> {
        None
    }
}

impl Load for Fixed {
    fn load(&mut self, _: &Placement, bytes: &[u8]) -> Result<()> {
        self.header.unpack(bytes).map(|((), _)| ())
    }
}
