//! The corpus of one batch of walks.
//!
//! Steps arrive in any order, but rows must be complete and in order. Walks are divided into
//! groups; each step is a cell in the block of its group, full blocks go to an unnamed file, and at
//! the end the blocks of one group after another are read and sorted into rows. Memory: a block for
//! each group, and the rows of one group: about the square root of the corpus.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use cenote_engine::VertexId;

use super::rule::NONE;
use crate::report::{AlgoError, Result};

/// Position within the group's rows, and vertex.
type Cell = [u32; 2];
const CELL_BYTES: u64 = size_of::<Cell>() as u64;

/// Cells of a block.
const BLOCK: usize = 4096;
const BLOCK_BYTES: u64 = BLOCK as u64 * CELL_BYTES;

/// Cells that a worker collects for a group before it takes the group's lock.
const STAGE: usize = 64;

/// Receives the rows of a corpus in order: a walk's number and its vertices.
pub type Sink<'a> = dyn FnMut(u64, &[VertexId]) -> io::Result<()> + 'a;

/// How a batch is divided into groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// Walks.
    rows: u64,
    /// Vertices of a complete walk.
    columns: u64,
    group_rows: u64,
}

impl Layout {
    /// Chooses groups such that their blocks take about as much memory as the rows of one.
    pub fn new(rows: u64, columns: u64) -> Self {
        let row_bytes = columns * size_of::<VertexId>() as u64;
        let groups = ((rows as f64 * row_bytes as f64 / BLOCK_BYTES as f64).sqrt()) as u64;
        let group_rows = rows.div_ceil(groups.max(1)).max(1);
        // Places within a group are counted in 32 bits.
        let group_rows = group_rows.min((u64::from(u32::MAX) / columns).max(1));
        Self { rows, columns, group_rows }
    }

    fn groups(&self) -> u64 {
        self.rows.div_ceil(self.group_rows)
    }

    /// Bytes of a corpus that `workers` write.
    pub fn bytes(&self, workers: usize) -> u64 {
        let group_cells = self.group_rows * self.columns;
        let stages = (workers as u64 + 1) * STAGE as u64 * CELL_BYTES;
        // An open block per group, and the extents of those that were written.
        let places = (group_cells / BLOCK as u64 + 1) * 2 * size_of::<Extent>() as u64;
        let groups = self.groups() * (BLOCK_BYTES + STAGE as u64 * CELL_BYTES + stages + places);
        groups + group_cells * size_of::<VertexId>() as u64 + BLOCK_BYTES
    }
}

/// The location of a block in the file.
#[derive(Clone, Copy, Debug)]
struct Extent {
    offset: u64,
    cells: u32,
}

#[derive(Debug, Default)]
struct Group {
    open: Vec<Cell>,
    written: Vec<Extent>,
}

/// The steps of one batch, shared by the workers, each with a [`Stage`].
#[derive(Debug)]
pub(super) struct Corpus {
    layout: Layout,
    groups: Vec<Mutex<Group>>,
    file: File,
    end: AtomicU64,
    has_failed: AtomicBool,
    failure: Mutex<Option<io::Error>>,
}

/// Cells of one worker that are not in their group yet.
#[derive(Debug, Default)]
pub(super) struct Stage(Vec<Vec<Cell>>);

impl Corpus {
    /// An empty corpus whose blocks go to an unnamed file in `folder`.
    pub fn new(layout: Layout, folder: &Path) -> Result<Self> {
        let file = tempfile::tempfile_in(folder).map_err(failed)?;
        let group = || Group { open: Vec::with_capacity(BLOCK + STAGE), written: Vec::new() };
        Ok(Self {
            layout,
            groups: (0..layout.groups()).map(|_| Mutex::new(group())).collect(),
            file,
            end: AtomicU64::new(0),
            has_failed: AtomicBool::new(false),
            failure: Mutex::new(None),
        })
    }

    /// A stage for one worker.
    pub fn stage(&self) -> Stage {
        Stage(self.groups.iter().map(|_| Vec::with_capacity(STAGE)).collect())
    }

    /// Bytes written to the file.
    pub fn bytes(&self) -> u64 {
        self.end.load(Ordering::Relaxed)
    }

    /// Records that walk number `row` of the batch is at `vertex` after `step` steps.
    #[inline]
    pub fn put(&self, stage: &mut Stage, row: u32, step: u32, vertex: VertexId) {
        let row = u64::from(row);
        let (group, row) = (row / self.layout.group_rows, row % self.layout.group_rows);
        let cells = &mut stage.0[group as usize];
        cells.push([(row * self.layout.columns) as u32 + step, vertex]);
        if cells.len() == STAGE {
            self.merge(group as usize, cells);
        }
    }

    /// Moves all staged cells to their groups.
    pub fn flush(&self, stage: &mut Stage) {
        for (group, cells) in stage.0.iter_mut().enumerate() {
            self.merge(group, cells);
        }
    }

    fn merge(&self, group: usize, cells: &mut Vec<Cell>) {
        let mut group = self.groups[group].lock().unwrap_or_else(PoisonError::into_inner);
        group.open.append(cells);
        if group.open.len() >= BLOCK && !self.has_failed.load(Ordering::Relaxed) {
            let bytes: &[u8] = bytemuck::cast_slice(&group.open);
            let offset = self.end.fetch_add(bytes.len() as u64, Ordering::Relaxed);
            if let Err(error) = self.file.write_all_at(bytes, offset) {
                self.has_failed.store(true, Ordering::Relaxed);
                let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
                failure.get_or_insert(error);
            }
            let cells = group.open.len() as u32;
            group.written.push(Extent { offset, cells });
        }
        if group.open.len() >= BLOCK {
            group.open.clear();
        }
    }

    /// Returns the error of a block that could not be written.
    pub fn check(&self) -> Result<()> {
        match self.failure.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(error) => Err(failed(error)),
            None => Ok(()),
        }
    }

    /// Passes every walk of the batch to `sink`, in order; `first` is the number of the first walk.
    /// `check` may end it between groups.
    pub fn rows(
        self,
        first: u64,
        check: impl Fn() -> Result<()>,
        sink: &mut Sink<'_>,
    ) -> Result<()> {
        self.check()?;
        let Layout { rows, columns, group_rows } = self.layout;
        let mut places = vec![NONE; (group_rows.min(rows) * columns) as usize];
        let mut block: Vec<Cell> = vec![[0; 2]; BLOCK + STAGE];
        for (i, group) in self.groups.into_iter().enumerate() {
            check()?;
            let group = group.into_inner().unwrap_or_else(PoisonError::into_inner);
            places.fill(NONE);
            fill(&mut places, &group.open);
            for extent in &group.written {
                let cells = &mut block[..extent.cells as usize];
                let bytes = bytemuck::cast_slice_mut(cells);
                self.file.read_exact_at(bytes, extent.offset).map_err(failed)?;
                fill(&mut places, cells);
            }
            let start = i as u64 * group_rows;
            let rows_here = group_rows.min(rows - start);
            for (row, places) in (0..rows_here).zip(places.chunks_exact(columns as usize)) {
                let len = places.iter().position(|v| *v == NONE).unwrap_or(places.len());
                sink(first + start + row, &places[..len]).map_err(failed)?;
            }
        }
        Ok(())
    }
}

fn fill(places: &mut [VertexId], cells: &[Cell]) {
    cells.iter().for_each(|[place, vertex]| places[*place as usize] = *vertex);
}

fn failed(source: io::Error) -> AlgoError {
    AlgoError::Corpus { source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_in_any_order_become_rows() {
        let (rows, columns) = (3000u32, 11u32);
        let layout = Layout::new(rows.into(), columns.into());
        assert!(layout.groups() > 1, "{layout:?}");
        let corpus = Corpus::new(layout, &std::env::temp_dir()).unwrap();
        let mut stage = corpus.stage();
        // 7919 is prime, so this is a permutation of the cells.
        let cells = rows * columns;
        for i in 0..cells {
            let cell = (u64::from(i) * 7919 % u64::from(cells)) as u32;
            let (row, step) = (cell / columns, cell % columns);
            if step <= row % columns {
                corpus.put(&mut stage, row, step, cell);
            }
        }
        corpus.flush(&mut stage);
        assert!(corpus.bytes() > 0, "nothing was spilled");
        let mut next = 0;
        let check = || Ok(());
        corpus
            .rows(100, check, &mut |walk, row| {
                assert_eq!(walk, 100 + next);
                let first = next as u32 * columns;
                let len = next as u32 % columns + 1;
                assert_eq!(row, (first..first + len).collect::<Vec<_>>());
                next += 1;
                Ok(())
            })
            .unwrap();
        assert_eq!(next, u64::from(rows));
    }

    #[test]
    fn memory_grows_with_the_root_of_the_corpus() {
        let bytes = |rows| Layout::new(rows, 81).bytes(2);
        assert!(bytes(1) < 100 << 10);
        assert!(bytes(100_000_000) < 256 << 20, "{}", bytes(100_000_000));
        assert!(Layout::new(5, u64::from(u32::MAX)).group_rows == 1);
    }
}
