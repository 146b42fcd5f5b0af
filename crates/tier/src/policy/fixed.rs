//! `static`: no page ever moves. It shows what pages cost where they happen to lie.

use super::saved::{Load, Owner};
use super::{Access, Context, Policy, PolicyKind};
use crate::error::Result;
use crate::placement::{Move, Page, Placement};

/// Moves nothing.
#[derive(Debug)]
pub struct Fixed {
    owner: Owner,
}

impl Fixed {
    pub(super) fn new(context: &Context<'_>) -> Self {
        Self { owner: Owner::new(PolicyKind::Static, context) }
    }
}

impl Policy for Fixed {
    fn access(&mut self, _: &Access<'_>, _: &Placement, _: &mut Vec<Move>) {}

    fn memory_bytes(&self) -> usize {
        0
    }

    fn save(&self) -> Result<Vec<u8>> {
        self.owner.pack(())
    }

    fn heat(&self, _: Page) -> Option<f64> {
        None
    }
}

impl Load for Fixed {
    fn load(&mut self, _: &Placement, bytes: &[u8]) -> Result<()> {
        self.owner.unpack(bytes).map(|((), _)| ())
    }
}
