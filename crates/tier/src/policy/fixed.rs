//! `static`: nobody ever moves. What pages cost where they happened to lie.

use super::{Access, Policy};
use crate::placement::{Move, Placement};

/// Moves nobody.
#[derive(Clone, Copy, Debug)]
pub struct Fixed;

impl Policy for Fixed {
    fn access(&mut self, _: &Access<'_>, _: &Placement, _: &mut Vec<Move>) {}

    fn memory_bytes(&self) -> usize {
        0
    }
}
