//! The plain serial verifier.

use cenote_engine::Graph;

use super::{Communities, CommunitiesConfig};
use crate::report::Result;

pub fn verify(_: &Graph, _: &CommunitiesConfig, _: &Communities) -> Result<()> {
    Ok(())
}
