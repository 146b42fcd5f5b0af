//! Row groups of Parquet files: a worker decodes one, piece by piece, while others decode others.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError, RwLock};

use super::{Block, Faults, Pass, PassError};
use crate::error::ImportError;
use crate::parse::columns::{Columns, Group};
use crate::parse::{Sink, decoded};

/// A row group to decode.
pub(super) struct RowGroup<'a> {
    pub file: Arc<File<'a>>,
    pub index: usize,
}

/// A file whose row groups are decoded.
pub(super) struct File<'a> {
    pub columns: Columns<'a>,
    /// Held by the workers at its row groups; by one alone if its pages need all memory.
    turn: RwLock<()>,
}

impl<'a> File<'a> {
    pub fn new(columns: Columns<'a>) -> Self {
        Self { columns, turn: RwLock::new(()) }
    }
}

/// Decodes and parses the row group of a block.
pub(super) fn parse<S: Sink>(
    pass: &Pass<'_>,
    group: &RowGroup<'_>,
    block: &Block<'_>,
    sink: &mut S,
    faults: &Faults,
) -> std::result::Result<(), PassError> {
    let columns = &group.file.columns;
    let mut done = 0;
    let together = {
        let _turn = group.file.turn.read().unwrap_or_else(PoisonError::into_inner);
        let opened = columns.group(group.index, pass.workers)?;
        parse_rows(pass, opened, block, sink, faults, &mut done)
    };
    match together {
        // Others have pages in memory, too. Alone, a page may take all of it.
        Err(PassError::Import(ImportError::Memory { .. })) if pass.workers > 1 => {
            let _turn = group.file.turn.write().unwrap_or_else(PoisonError::into_inner);
            let opened = columns.group(group.index, 1)?;
            parse_rows(pass, opened, block, sink, faults, &mut done)?;
        }
        result => result?,
    }
    let bytes = columns.group_bytes() - columns.bytes_of_rows(group.index, done);
    pass.meter.read.fetch_add(bytes, Ordering::Relaxed);
    pass.report();
    Ok(())
}

/// Parses the rows behind the `done` first ones, which it counts.
fn parse_rows<S: Sink>(
    pass: &Pass<'_>,
    mut group: Group<'_, '_>,
    block: &Block<'_>,
    sink: &mut S,
    faults: &Faults,
    done: &mut u64,
) -> std::result::Result<(), PassError> {
    let mut at = 0;
    loop {
        if pass.progress.cancelled() {
            return Err(ImportError::Cancelled.into());
        }
        if faults.before(block.sequence) {
            return Ok(());
        }
        let first_row = block.first_line + at;
        let edges = group.next(pass.block_bytes, first_row)?;
        if edges.len() == 0 {
            return Ok(());
        }
        at += edges.len() as u64;
        // A group that begins anew is cut into the same pieces.
        if at <= *done {
            continue;
        }
        let parsed = decoded::parse(&edges, sink);
        sink.end_block();
        parsed.map_err(|fault| super::explain(fault, block, first_row, pass.inputs))?;
        let read = group.bytes_of_rows(at) - group.bytes_of_rows(*done);
        pass.meter.read.fetch_add(read, Ordering::Relaxed);
        *done = at;
        for count in [&pass.meter.unpacked, &pass.meter.parsed] {
            count.fetch_add(edges.row_bytes() as u64, Ordering::Relaxed);
        }
    }
}
