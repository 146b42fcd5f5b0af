//! Runs the first pass.

use super::Import;
use super::sizing::{Known, block_bytes};
use crate::blocks::{self, Pass, PassError, PassResult};
use crate::budget::Held;
use crate::collect::{self, Collected, CollectorSizes, IntegerCollector, NameCollector};
use crate::config::{IdKind, Input};
use crate::error::Result;
use crate::ids::integers::IntegerSet;
use crate::ids::map::{IdMap, RankMap};
use crate::ids::memory::IdsMemory;
use crate::ids::strings::Dictionary;
use crate::input;
use crate::report::Phase;
use crate::spill::SpillFile;

pub(crate) struct Gathered<'a> {
    pub(crate) ids: IdMap<'a>,
    pub(crate) collected: Collected,
    /// The spilled pairs; `None`: the inputs are read again.
    pub(super) spill: Option<SpillFile>,
    pub(super) lines: u64,
    pub(super) lines_with_more: u64,
    pub(super) input_bytes: u64,
    pub(super) unpacked_bytes: u64,
}

impl<'a> Import<'a> {
    pub(super) fn pass(&self, again: bool) -> Pass<'a> {
        let workers = self.config.workers();
        Pass {
            inputs: self.inputs,
            budget: self.budget,
            progress: self.progress,
            workers,
            block_bytes: block_bytes(self.budget.limit(), workers),
            directed: self.config.directed,
            weights: self.config.weights,
            copies: self.copies,
            again,
            edges_only: false,
            meter: self.meter,
        }
    }

    pub(super) fn input_bytes(&self) -> Option<u64> {
        input::total_bytes(self.inputs, self.config.weights)
    }

    pub(super) fn gather(&self) -> Result<Gathered<'a>> {
        let gathered = self.gather_any()?;
        self.unchanged.check()?;
        let known = Known {
            vertices: gathered.ids.len(),
            edges: gathered.collected.edges,
            ids: IdsMemory {
                held: self.budget.used() - self.streams_bytes,
                bitmap: gathered.ids.bitmap_bytes(),
                collecting: IntegerSet::COLLECTING_BYTES,
                ..IdsMemory::default()
            },
        };
        // Set once, since an import has one first pass.
        let _ = self.known.set(known);
        Ok(gathered)
    }

    fn gather_any(&self) -> Result<Gathered<'a>> {
        self.progress.begin(Phase::Read, self.input_bytes());
        match self.config.ids {
            IdKind::String => self.gather_names(false),
            IdKind::Integer => self.gather_integers(false).map_err(PassError::into_import),
            IdKind::Auto => match self.gather_integers(true) {
                Ok(gathered) => Ok(gathered),
                Err(PassError::Import(error)) => Err(error),
                Err(PassError::NotInteger) => {
                    self.progress.begin(Phase::Read, self.input_bytes());
                    self.gather_names(true)
                }
            },
        }
    }

    fn gather_integers(&self, auto: bool) -> std::result::Result<Gathered<'a>, PassError> {
        let (pass, sizes) = (self.pass(false), self.sizing().collectors(self.budget.limit()));
        let _memory = self.hold_collectors(&pass, sizes)?;
        let _stored = self.hold_stored_pass()?;
        let spill = if self.can_reread() { None } else { Some(self.spill_file()?) };
        // The set may take what is left beside the buffers of this pass.
        let buffers = blocks::pass_memory(pass.workers, pass.block_bytes);
        let set = {
            let _reserved = self.budget.hold(buffers, "reading the input")?;
            IntegerSet::new(self.budget)?
        };
        let make = || IntegerCollector::new(&set, spill.as_ref(), sizes, auto);
        let result = blocks::run(&pass, make)?;
        let ids = IdMap::natural(RankMap::Integers(set.finish()?));
        Ok(gathered(ids, spill, result))
    }

    fn gather_names(&self, again: bool) -> Result<Gathered<'a>> {
        let (pass, sizes) = (self.pass(again), self.sizing().collectors(self.budget.limit()));
        let _memory = self.hold_collectors(&pass, sizes)?;
        let spill = self.spill_file()?;
        let names = Dictionary::new(self.budget)?;
        let make = || NameCollector::new(&names, &spill, sizes);
        let result = blocks::run(&pass, make).map_err(PassError::into_import)?;
        let ids = IdMap::natural(RankMap::Strings(names.finish(pass.workers)?));
        Ok(gathered(ids, Some(spill), result))
    }

    fn hold_collectors(&self, pass: &Pass<'_>, sizes: CollectorSizes) -> Result<Held<'a>> {
        self.budget.hold(pass.workers * sizes.memory(), "spilling the edges")
    }

    /// The memory of a pass over the stored graph, if that is what is imported.
    pub(super) fn hold_stored_pass(&self) -> Result<Held<'a>> {
        self.budget.hold(self.stored_pass_bytes(), "reading the stored graph")
    }

    pub(super) fn stored_pass_bytes(&self) -> usize {
        self.stored.map_or(0, |stored| stored.pass_bytes())
    }

    fn spill_file(&self) -> Result<SpillFile> {
        // Pairs take about as many bytes as their text.
        let needed = self.input_bytes().unwrap_or(0);
        // Ids are still to come, and the blocks of the ranges.
        let reserve = self.budget.limit() / 2;
        Ok(SpillFile::new(self.workspace.spill()?, needed, self.budget, reserve))
    }

    /// Whether the inputs are plain pairs, which are read twice instead of being spilled.
    pub(super) fn can_reread(&self) -> bool {
        self.inputs.iter().all(Input::is_plain_pairs)
    }
}

fn gathered<'a>(
    ids: IdMap<'a>,
    spill: Option<SpillFile>,
    result: PassResult<Collected>,
) -> Gathered<'a> {
    Gathered {
        ids,
        spill,
        collected: collect::join(result.outputs),
        lines: result.totals.iter().map(|total| total.lines).sum(),
        lines_with_more: result.totals.iter().map(|total| total.lines_with_more).sum(),
        input_bytes: result.input_bytes,
        unpacked_bytes: result.unpacked_bytes,
    }
}
