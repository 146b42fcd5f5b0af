//! Row groups of Parquet files: a worker decodes one, piece by piece, while others decode others.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError, RwLock};

use super::{Block, Faults, Pass, PassError, parse_content};
use crate::error::{ImportError, Result};
use crate::parse::columns::{Columns, Group};
use crate::parse::{BlockStats, Sink};

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

/// How far a row group was parsed.
#[derive(Default)]
struct Done {
    rows: u64,
    stats: BlockStats,
}

/// Decodes and parses the row group of a block.
pub(super) fn parse<S: Sink>(
    pass: &Pass<'_>,
    group: &RowGroup<'_>,
    block: &mut Block<'_>,
    sink: &mut S,
    faults: &Faults,
) -> std::result::Result<BlockStats, PassError> {
    let columns = &group.file.columns;
    let mut done = Done::default();
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
    let bytes = columns.group_bytes();
    pass.meter.read.fetch_add(bytes, Ordering::Relaxed);
    pass.report();
    Ok(done.stats)
}

/// Parses the rows behind those that are done already.
fn parse_rows<S: Sink>(
    pass: &Pass<'_>,
    mut group: Group<'_, '_>,
    block: &mut Block<'_>,
    sink: &mut S,
    faults: &Faults,
    done: &mut Done,
) -> std::result::Result<(), PassError> {
    let mut at = 0;
    loop {
        if pass.progress.cancelled() {
            return Err(ImportError::Cancelled.into());
        }
        if faults.before(block.sequence) {
            return Ok(());
        }
        block.bytes.clear();
        let first_row = block.first_line + at;
        let rows = fill(&mut group, pass, block, first_row)?;
        if rows == 0 {
            return Ok(());
        }
        at += rows;
        // A group that begins anew has the same pieces.
        if at <= done.rows {
            continue;
        }
        let parsed = parse_content(&block.bytes, &block.content, pass.directed, sink);
        sink.end_block();
        let found = parsed.map_err(|fault| super::explain(fault, block, first_row, pass.inputs))?;
        done.stats.add(&found);
        done.rows = at;
        for count in [&pass.meter.unpacked, &pass.meter.parsed] {
            count.fetch_add(block.bytes.len() as u64, Ordering::Relaxed);
        }
    }
}

fn fill(
    group: &mut Group<'_, '_>,
    pass: &Pass<'_>,
    block: &mut Block<'_>,
    first_row: u64,
) -> Result<u64> {
    group.fill(&mut block.bytes, pass.block_bytes, first_row)
}
