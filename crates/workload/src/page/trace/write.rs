//! Writes the text format.

use std::io::Write;

use crate::error::{Result, WorkloadError};
use crate::page::PageOp;

/// Writes a load as lines `R page` and `W page`, and returns their number. Ends at the first error
/// of the load. `out` should be buffered.
pub fn write_text<W: Write>(
    out: &mut W,
    load: impl IntoIterator<Item = Result<PageOp>>,
) -> Result<u64> {
    let mut lines = 0;
    for op in load {
        let PageOp { page, write } = op?;
        let kind = if write { 'W' } else { 'R' };
        writeln!(out, "{kind} {page}").map_err(|source| WorkloadError::Write { source })?;
        lines += 1;
    }
    out.flush().map_err(|source| WorkloadError::Write { source })?;
    Ok(lines)
}
