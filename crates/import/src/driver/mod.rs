//! Runs an import: three passes and the steps between them.
//!
//! - `gather`: the first pass reads the inputs and collects ids
//! - `partition`: the second pass maps pairs to keys and partitions them by ranges
//! - `write`: the third pass sorts ranges and writes the graph
//! - `sizing`: computes the memory that an import needs
//! - `hint`: names a sufficient budget where an import had too little
//! - `census`: counts for that what the inputs have

mod census;
mod gather;
mod hint;
mod partition;
mod sizing;
mod write;

use std::sync::OnceLock;

use cenote_device::DeviceError;
use cenote_device::clock::{Clock, RealClock};
use cenote_store::format::FREE_SPACE_MAX;
use cenote_store::hub_neighbours::HubNeighboursChoice;
use cenote_store::order::Order;
use cenote_store::{StoreError, WeightType};

use self::sizing::{Known, Sizing};
use crate::blocks::Meter;
use crate::budget::Budget;
use crate::config::{Format, ImportConfig, Input, InputSpec, THREADS_MAX};
use crate::error::{ImportError, Result, full_disk};
use crate::ids::kind::id_kind;
use crate::input::{self, Unchanged};
use crate::once::{Copies, OpenCopies};
use crate::parse::weighted::WeightPlace;
use crate::report::{ImportReport, Progress};
use crate::rows::STREAM_MEMORY;
use crate::spill::SpillFile;
use crate::stored::StoredSource;
use crate::workspace::Workspace;

pub(super) use self::gather::Gathered;
pub(super) use self::sizing::block_bytes;
pub use self::sizing::{Streamed, StreamedIds};

/// What an import is given.
#[derive(Clone, Copy)]
pub(super) struct Run<'a> {
    inputs: &'a [Input<'a>],
    workspace: &'a dyn Workspace,
    config: &'a ImportConfig,
    progress: &'a dyn Progress,
    /// The stored graph of the inputs; their ids are then the ranks of its own.
    pub(super) stored: Option<StoredSource<'a>>,
}

impl<'a> Run<'a> {
    pub(super) fn new(
        inputs: &'a [Input<'a>],
        workspace: &'a dyn Workspace,
        config: &'a ImportConfig,
        progress: &'a dyn Progress,
    ) -> Self {
        Self { inputs, workspace, config, progress, stored: None }
    }
}

/// Runs an import.
pub(super) fn run(given: &Run<'_>) -> Result<ImportReport> {
    let Run { inputs, workspace, config, progress, stored } = *given;
    check_options(inputs, config)?;
    let started = RealClock::default();
    let ids = id_kind(inputs, config.ids, config.memory_bytes);
    let config = &ImportConfig { ids, ..config.clone() };
    let budget = &Budget::new(config.memory_bytes);
    let (meter, known) = (&Meter::default(), &OnceLock::new());
    if let Some(stored) = &stored {
        // Set once, since nothing has been read yet.
        let _ = known.set(Known::of_stored(stored));
    }
    let unchanged = &Unchanged::new(inputs);
    let copies = &Copies::new(inputs, workspace, config)?;
    let rows = inputs.iter().filter(|input| !matches!(input, Input::File(_))).count();
    let streams_bytes = copies.memory() + rows * STREAM_MEMORY;
    let import = Import {
        inputs,
        workspace,
        config,
        progress,
        budget,
        copies,
        streams_bytes,
        unchanged,
        meter,
        known,
        stored,
        temporary: false,
    };
    let run = || {
        let held_bytes = stored.map_or(0, |stored| stored.held_bytes);
        let _stored = budget.hold(held_bytes, "the stored graph")?;
        let copies = "copies of inputs that can be read only once";
        let _memory = budget.hold(streams_bytes, copies)?;
        import.run()
    };
    let mut report = run().map_err(|error| import.with_sufficient_memory(error))?;
    report.seconds = seconds_since(&started);
    report.peak_memory_bytes = budget.peak() as u64;
    Ok(report)
}

/// Seconds in real time since the clock was created, which include parsing.
pub(super) fn seconds_since(clock: &RealClock) -> f64 {
    clock.now_ns() as f64 / 1e9
}

fn names(inputs: &[Input<'_>]) -> String {
    inputs.iter().map(Input::name).collect::<Vec<_>>().join(", ")
}

/// The error that there is neither an edge nor a vertex.
pub(super) fn nothing_in(inputs: &[Input<'_>]) -> ImportError {
    let is_of_files = inputs.iter().any(|input| input.path().is_some());
    ImportError::Empty { inputs: names(inputs), is_of_files }
}

pub(super) fn check_options(inputs: &[Input<'_>], config: &ImportConfig) -> Result<()> {
    let wrong = |reason: &str| Err(ImportError::Options(reason.to_owned()));
    if inputs.is_empty() {
        return wrong("no input given");
    }
    let is_stdin = |input: &&Input<'_>| matches!(input, Input::File(spec) if spec.is_stdin());
    if inputs.iter().filter(is_stdin).count() > 1 {
        return wrong("standard input can be read only once");
    }
    if config.threads > THREADS_MAX {
        let threads = config.threads;
        return wrong(&format!("`threads` is {threads}; an import uses at most {THREADS_MAX}"));
    }
    if config.in_edges && !config.directed {
        return wrong(
            "`in_edges` is for directed graphs: an undirected one has every edge at both ends \
             anyway",
        );
    }
    if config.hub_neighbours == HubNeighboursChoice::Yes && config.directed && !config.in_edges {
        return wrong(
            "`hub_neighbours`: a search finds its way back by hub neighbours: ask for `in_edges` \
             too",
        );
    }
    let pages = 4096..=65536;
    if !config.page_bytes.is_power_of_two() || !pages.contains(&config.page_bytes) {
        return wrong("a page has 4096, 8192, 16384, 32768 or 65536 bytes");
    }
    check_free_space(config)?;
    inputs.iter().try_for_each(|input| match input {
        Input::File(spec) => check_file(spec, config.weights),
        Input::Edges(edges) => edges.check(config.weights),
        Input::Vertices(_) => Ok(()),
    })
}

pub(super) fn check_free_space(config: &ImportConfig) -> Result<()> {
    if config.free_space <= FREE_SPACE_MAX {
        return Ok(());
    }
    let percent = config.free_space;
    Err(ImportError::Options(format!(
        "`free_space` is {percent}%; of a page at most {FREE_SPACE_MAX}% can stay free"
    )))
}

/// Checks that a file is no folder, that its format is known, and that it has weights if they are
/// imported.
pub(super) fn check_file(spec: &InputSpec, weights: Option<WeightType>) -> Result<()> {
    input::refuse_folder(spec)?;
    let format = input::format_of(spec)?;
    let Some(kind) = weights.filter(|_| !spec.is_vertices) else { return Ok(()) };
    let refuse = |reason: String| Err(ImportError::Format { input: spec.name(), reason });
    if !format.has_weights() {
        return refuse(format!(
            "format {format} has no place for weights; import without `weights`"
        ));
    }
    let place = WeightPlace::new(kind, spec.weight_column.as_deref());
    if format == Format::Edges && place.is_id() {
        return refuse("`weight_column`: ids are in columns 1 and 2; give 3 or more".to_owned());
    }
    Ok(())
}

#[derive(Clone, Copy)]
pub(super) struct Import<'a> {
    pub(super) inputs: &'a [Input<'a>],
    pub(super) workspace: &'a dyn Workspace,
    pub(super) config: &'a ImportConfig,
    pub(super) progress: &'a dyn Progress,
    pub(super) budget: &'a Budget,
    pub(super) copies: &'a dyn OpenCopies,
    /// Memory of copies and of inputs that are no files, during the whole import.
    pub(super) streams_bytes: usize,
    pub(super) unchanged: &'a Unchanged<'a>,
    pub(super) meter: &'a Meter,
    pub(super) known: &'a OnceLock<Known>,
    pub(super) stored: Option<StoredSource<'a>>,
    pub(super) temporary: bool,
}

impl<'a> Import<'a> {
    fn run(&self) -> Result<ImportReport> {
        let start = RealClock::default();
        let mut gathered = self.gather()?;
        if gathered.ids.len() == 0 {
            return Err(nothing_in(self.inputs));
        }
        let seconds_read = seconds_since(&start);
        let start = RealClock::default();
        let choice = self.choose_order(&mut gathered)?;
        let seconds_chosen = seconds_since(&start);
        let order = choice.as_ref().map_or(self.config.order, |choice| choice.order);
        let config = ImportConfig { order, auto_order: false, ..self.config.clone() };
        let report = Import { config: &config, ..*self }.write_graph(gathered)?;
        let seconds_order = seconds_chosen + report.seconds_order;
        let spill_bytes = report.spill_bytes + choice.as_ref().map_or(0, |choice| choice.spilled);
        let order_memory_bytes = choice.as_ref().and_then(|choice| choice.memory_bytes);
        let order_reason = choice.map(|choice| choice.why);
        Ok(ImportReport {
            seconds_read,
            seconds_order,
            spill_bytes,
            order_reason,
            order_memory_bytes,
            ..report
        })
    }

    /// A budget of at least so many bytes that suffices for an order, behind the first pass.
    pub(super) fn sufficient_for(&self, order: Order, least: usize) -> usize {
        let config = ImportConfig { order, ..self.config.clone() };
        let known = self.known.get().expect("the first pass is over");
        Sizing { config: &config, ..self.sizing() }.sufficient(known, least)
    }

    /// Writes the graph of what was gathered.
    fn write_graph(&self, mut gathered: Gathered<'a>) -> Result<ImportReport> {
        let start = RealClock::default();
        let order_spill_bytes = self.place(&mut gathered)?;
        let seconds_order = seconds_since(&start);
        let start = RealClock::default();
        let partitioned = self.partition(&gathered)?;
        let mut spill_bytes = order_spill_bytes;
        spill_bytes += gathered.spill.as_ref().map_or(0, SpillFile::device_bytes);
        let Gathered { ids, collected, spill, lines, lines_with_more, .. } = gathered;
        // The pairs are not needed any more; dropping them frees disk space for the output.
        drop(spill);
        let seconds_partition = seconds_since(&start);
        let start = RealClock::default();
        let output = self.workspace.output()?;
        let written = self.write(&ids, &collected, &partitioned, output).map_err(|error| {
            let needed = partitioned.graph_bytes(ids.len()) * (1 + u64::from(self.config.in_edges));
            explain_output(error, needed, "the graph", "out")
        })?;
        if let Some(stored) = &self.stored {
            stored.check(ids.len(), written.edges)?;
        }
        self.workspace.publish()?;
        // Behind the write, which may have needed the memory of blocks.
        spill_bytes += partitioned.file.device_bytes() + written.spill_bytes;
        Ok(ImportReport {
            vertices: ids.len(),
            edges: written.edges,
            stored_edges: written.stored,
            duplicates: written.duplicates,
            self_loops: partitioned.loops,
            input_edges: collected.edges,
            input_lines: lines,
            lines_with_more_columns: lines_with_more,
            ids: self.stored.map_or(ids.kind(), |stored| stored.ids.kind()),
            order: self.config.order.name(),
            order_reason: None,
            order_memory_bytes: None,
            weights: self.config.weights.map(WeightType::name),
            input_bytes: gathered.input_bytes,
            unpacked_bytes: gathered.unpacked_bytes,
            spill_bytes,
            output_bytes: written.output_bytes,
            peak_memory_bytes: 0,
            seconds: 0.0,
            seconds_read: 0.0,
            seconds_order,
            seconds_partition,
            seconds_write: seconds_since(&start),
            threads: self.config.workers(),
            backend: partitioned.file.backend(),
        })
    }
}

/// Adds the needed bytes to an error of a full disk.
pub(super) fn explain_output(
    error: ImportError,
    needed: u64,
    role: &'static str,
    remedy: &'static str,
) -> ImportError {
    let ImportError::Store(StoreError::Device(error)) = error else { return error };
    let DeviceError::Io { offset, .. } = error else { return StoreError::Device(error).into() };
    full_disk(error, offset, needed, role, remedy)
}
