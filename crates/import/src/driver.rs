//! The import from start to end: three passes and what lies between them.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use cenote_device::clock::{Clock, RealClock};
use cenote_device::{Device, DeviceError};

use crate::blocks::{self, Pass, PassError, PassResult, Worker};
use crate::budget::{Budget, Held};
use crate::build::{self, BuildSizes, Built, Reversed, Source};
use crate::collect::{self, Collected, CollectorSizes, IntegerCollector, NameCollector, Shared};
use crate::config::{Format, IdKind, ImportConfig, InputSpec};
use crate::error::{ImportError, Result};
use crate::ids::integers::IntegerSet;
use crate::ids::map::{IdMap, Placed, RankMap};
use crate::ids::strings::Dictionary;
use crate::input;
use crate::long_list::LongList;
use crate::mapper::{Mapped, Mapper, Rule, mix};
use crate::order;
use crate::parse::weighted::WeightPlace;
use crate::partition::{KeySpace, Range, Ranges, Spread, Spreader};
use crate::report::{ImportReport, Phase, Progress};
use crate::spill::{Extent, SpillFile, SpillReader, full_disk};
use crate::stdin::Copied;
use crate::threads;
use crate::workspace::{FileWorkspace, Workspace};
use cenote_store::hub_neighbours::HubNeighboursChoice;
use cenote_store::order::Tables;
use cenote_store::{Counts, GraphSpec, GraphWriter, IdsSource, StoreError, WeightType};

/// Imports `inputs` into the graph file `out`. On any error nothing is left behind.
pub fn import(
    inputs: &[InputSpec],
    out: &Path,
    config: &ImportConfig,
    progress: &dyn Progress,
) -> Result<ImportReport> {
    let workspace = FileWorkspace::new(out, config.temp_dir.as_deref(), config.overwrite)?;
    import_into(inputs, &workspace, config, progress)
}

/// Seconds since the clock was made. Phases are timed in real time: parsing is no device's work.
fn seconds_since(clock: &RealClock) -> f64 {
    clock.now_ns() as f64 / 1e9
}

/// Imports `inputs` into the output of a workspace.
pub fn import_into(
    inputs: &[InputSpec],
    workspace: &dyn Workspace,
    config: &ImportConfig,
    progress: &dyn Progress,
) -> Result<ImportReport> {
    check_options(inputs, config)?;
    let started = RealClock::default();
    let budget = Budget::new(config.memory_bytes);
    let stdin = keep_stdin(inputs, workspace, config)?;
    let _stdin_memory = match &stdin {
        Some(_) => Some(budget.hold(Copied::<io::Stdin>::MEMORY, "a copy of standard input")?),
        None => None,
    };
    let stdin = stdin.as_ref();
    let budget = &budget;
    let import = Import { inputs, workspace, config, progress, budget, stdin, temporary: false };
    let mut report = import.run()?;
    report.seconds = seconds_since(&started);
    report.peak_memory_bytes = budget.peak() as u64;
    Ok(report)
}

/// Standard input is copied where its ids may turn out to be strings after all.
fn keep_stdin(
    inputs: &[InputSpec],
    workspace: &dyn Workspace,
    config: &ImportConfig,
) -> Result<Option<Copied<io::Stdin>>> {
    let kept = inputs.iter().any(InputSpec::is_stdin) && config.ids == IdKind::Auto;
    kept.then(|| Copied::new(io::stdin(), workspace.spill()?)).transpose()
}

fn check_options(inputs: &[InputSpec], config: &ImportConfig) -> Result<()> {
    let wrong = |reason: &str| Err(ImportError::Options(reason.to_owned()));
    if inputs.is_empty() {
        return wrong("no input given");
    }
    if inputs.iter().filter(|spec| spec.is_stdin()).count() > 1 {
        return wrong("standard input can be read only once");
    }
    if config.in_edges && !config.directed {
        return wrong(
            "--in-edges is for directed graphs: an undirected one has every edge at both \
                      ends anyway",
        );
    }
    if config.hub_neighbours == HubNeighboursChoice::Yes && config.directed && !config.in_edges {
        return wrong(
            "--hub-neighbours yes: a search finds its way back by hub neighbours: give --in-edges too",
        );
    }
    let pages = 4096..=65536;
    if !config.page_bytes.is_power_of_two() || !pages.contains(&config.page_bytes) {
        return wrong("a page has 4096, 8192, 16384, 32768 or 65536 bytes");
    }
    inputs.iter().try_for_each(|spec| {
        let format = input::format_of(spec)?;
        match config.weights {
            Some(kind) => check_weights(spec, format, kind),
            None => Ok(()),
        }
    })
}

/// Whether weights can be had from an input.
fn check_weights(spec: &InputSpec, format: Format, kind: WeightType) -> Result<()> {
    let refuse = |reason: String| Err(ImportError::Format { input: spec.name(), reason });
    if !format.has_weights() {
        let reason = format!("format {format} has no place for weights; import without --weights");
        return refuse(reason);
    }
    let place = WeightPlace::new(kind, spec.weight_column.as_deref());
    if format == Format::Edges && place.is_id() {
        return refuse("--weight-column: ids are in columns 1 and 2; give 3 or more".to_owned());
    }
    Ok(())
}

/// Everything a step needs to know.
#[derive(Clone, Copy)]
pub(super) struct Import<'a> {
    pub(super) inputs: &'a [InputSpec],
    pub(super) workspace: &'a dyn Workspace,
    pub(super) config: &'a ImportConfig,
    pub(super) progress: &'a dyn Progress,
    pub(super) budget: &'a Budget,
    pub(super) stdin: Option<&'a Copied<io::Stdin>>,
    /// The graph is for the import itself: it needs no ids.
    pub(super) temporary: bool,
}

/// What the first pass leaves to the others.
pub(super) struct Gathered<'a> {
    pub(super) ids: IdMap<'a>,
    pub(super) collected: Collected,
    /// Where the pairs lie; `None`: read the inputs again.
    spill: Option<SpillFile>,
    lines: u64,
    lines_with_more: u64,
    input_bytes: u64,
    unpacked_bytes: u64,
}

/// Edges spread over ranges of keys.
pub(super) struct Partitioned {
    space: KeySpace,
    pub(super) file: SpillFile,
    ranges: Ranges,
    spread: Spread,
    block_bytes: usize,
    loops: u64,
    /// Tells this graph's checksums from those of others.
    salt: u64,
}

impl<'a> Import<'a> {
    fn run(&self) -> Result<ImportReport> {
        let start = RealClock::default();
        let mut gathered = self.gather()?;
        if gathered.ids.len() == 0 {
            let names: Vec<String> = self.inputs.iter().map(InputSpec::name).collect();
            return Err(ImportError::Empty { inputs: names.join(", ") });
        }
        let seconds_read = seconds_since(&start);
        let start = RealClock::default();
        let order_spill_bytes = self.place(&mut gathered)?;
        let seconds_order = seconds_since(&start);
        let start = RealClock::default();
        let partitioned = self.partition(&gathered)?;
        let mut spill_bytes = order_spill_bytes + partitioned.file.bytes();
        spill_bytes += gathered.spill.as_ref().map_or(0, SpillFile::bytes);
        let Gathered { ids, collected, spill, lines, lines_with_more, .. } = gathered;
        // The pairs are not needed any more: their disk space goes to the output.
        drop(spill);
        let seconds_partition = seconds_since(&start);
        let start = RealClock::default();
        let output = self.workspace.output()?;
        let written = self.write(&ids, &collected, &partitioned, output).map_err(|error| {
            let needed = partitioned.graph_bytes(ids.len()) * (1 + u64::from(self.config.in_edges));
            explain_output(error, needed, "the graph", "--out")
        })?;
        self.workspace.publish()?;
        spill_bytes += written.spill_bytes;
        Ok(ImportReport {
            vertices: ids.len(),
            edges: written.edges,
            stored_edges: written.stored,
            duplicates: written.duplicates,
            self_loops: partitioned.loops,
            input_edges: collected.edges,
            input_lines: lines,
            lines_with_more_columns: lines_with_more,
            ids: ids.kind(),
            order: self.config.order.name(),
            weights: self.config.weights.map(WeightType::name),
            input_bytes: gathered.input_bytes,
            unpacked_bytes: gathered.unpacked_bytes,
            spill_bytes,
            output_bytes: written.output_bytes,
            peak_memory_bytes: 0,
            seconds: 0.0,
            seconds_read,
            seconds_order,
            seconds_partition,
            seconds_write: seconds_since(&start),
            threads: self.config.workers(),
            backend: partitioned.file.backend(),
        })
    }

    fn pass(&self, again: bool) -> Pass<'a> {
        let workers = self.config.workers();
        Pass {
            inputs: self.inputs,
            budget: self.budget,
            progress: self.progress,
            workers,
            block_bytes: share(self.budget.limit(), 64 * workers, 16 << 10, 1 << 20),
            directed: self.config.directed,
            weights: self.config.weights,
            stdin: self.stdin.map(|copied| (copied, again)),
        }
    }

    fn collector_sizes(&self) -> CollectorSizes {
        let (limit, workers) = (self.budget.limit(), self.config.workers());
        CollectorSizes {
            spill_block: share(limit, 64 * workers, 4 << 10, 256 << 10),
            sample: share(limit / 16, 64 * workers, 1 << 9, 1 << 16),
            weight_bytes: self.config.weight_bytes(),
        }
    }

    /// The first pass.
    fn gather(&self) -> Result<Gathered<'a>> {
        self.progress.begin(Phase::Read, input::total_bytes(self.inputs));
        match self.config.ids {
            IdKind::String => self.gather_names(false),
            IdKind::Integer => self.gather_integers(false).map_err(|error| match error {
                PassError::Import(error) => error,
                PassError::NotInteger => unreachable!("only `auto` asks for another kind"),
            }),
            IdKind::Auto => match self.gather_integers(true) {
                Ok(gathered) => Ok(gathered),
                Err(PassError::Import(error)) => Err(error),
                Err(PassError::NotInteger) => {
                    self.progress.begin(Phase::Read, input::total_bytes(self.inputs));
                    self.gather_names(true)
                }
            },
        }
    }

    fn gather_integers(&self, auto: bool) -> std::result::Result<Gathered<'a>, PassError> {
        let (pass, sizes) = (self.pass(false), self.collector_sizes());
        let _memory = self.hold_collectors(&pass, sizes)?;
        let spill = if self.can_reread() { None } else { Some(self.spill_file()?) };
        // The set may take what the buffers of this pass leave.
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
        let (pass, sizes) = (self.pass(again), self.collector_sizes());
        let _memory = self.hold_collectors(&pass, sizes)?;
        let spill = self.spill_file()?;
        let names = Dictionary::new(self.budget)?;
        let make = || NameCollector::new(&names, &spill, sizes);
        let result = blocks::run(&pass, make).map_err(|error| match error {
            PassError::Import(error) => error,
            PassError::NotInteger => unreachable!("strings may be anything"),
        })?;
        let ids = IdMap::natural(RankMap::Strings(names.finish(pass.workers)?));
        Ok(gathered(ids, Some(spill), result))
    }

    fn hold_collectors(&self, pass: &Pass<'_>, sizes: CollectorSizes) -> Result<Held<'a>> {
        self.budget.hold(pass.workers * sizes.memory(), "spilling the edges")
    }

    fn spill_file(&self) -> Result<SpillFile> {
        // Text takes about as many bytes as its pairs.
        let needed = input::total_bytes(self.inputs).unwrap_or(0);
        Ok(SpillFile::new(self.workspace.spill()?, needed))
    }

    /// Plain binary pairs are read twice instead of being written and read.
    fn can_reread(&self) -> bool {
        self.inputs.iter().all(|spec| {
            let binary = matches!(input::format_of(spec), Ok(Format::U32 | Format::U64));
            binary && !spec.is_stdin() && input::is_plain_file(spec)
        })
    }

    /// The second pass.
    pub(super) fn partition(&self, gathered: &Gathered<'_>) -> Result<Partitioned> {
        let ids = &gathered.ids;
        let space = KeySpace::new(ids.len());
        let rule =
            Rule { space, directed: self.config.directed, loops: self.config.keep_self_loops };
        let mut sample = Vec::new();
        for &(source, target) in &gathered.collected.sample {
            rule.keys(ids.dense(source), ids.dense(target), |key| sample.push(key));
        }
        let keys_max = rule.keys_max(gathered.collected.edges);
        let whole = Range { low: 0, last: space.last() };
        let plan = self.plan(keys_max)?;
        let _memory = self.budget.hold(plan.memory, "partitioning the edges")?;
        let ranges = Ranges::balanced(whole, sample, plan.ranges);
        let widest = ranges.as_slice().iter().map(|range| range.key_bytes()).max().unwrap_or(8);
        let widest = widest + self.config.weight_bytes();
        let file = SpillFile::new(self.workspace.spill()?, keys_max * widest as u64);
        let outputs = self.spread(gathered, rule, &ranges, &file, plan.block_bytes)?;
        let mut spread = Spread::new(ranges.as_slice().len());
        let (mut loops, mut salt) = (0, 0u64);
        for output in outputs {
            spread.add(output.spread);
            loops += output.loops;
            salt = salt.wrapping_add(output.sum);
        }
        let block_bytes = plan.block_bytes;
        let salt = mix(salt ^ ids.len());
        Ok(Partitioned { space, file, ranges, spread, block_bytes, loops, salt })
    }

    fn spread(
        &self,
        gathered: &Gathered<'_>,
        rule: Rule,
        ranges: &Ranges,
        file: &SpillFile,
        block_bytes: usize,
    ) -> Result<Vec<Mapped>> {
        let ids = &gathered.ids;
        let make = || {
            let spreader = Spreader::new(ranges, file, block_bytes, self.config.weight_bytes())?;
            let last = u32::try_from(ids.len() - 1).expect("dense ids are u32");
            Ok(Mapper::new(ids, last, rule, spreader))
        };
        let Some(spill) = &gathered.spill else {
            self.progress.begin(Phase::Partition, input::total_bytes(self.inputs));
            return match blocks::run(&self.pass(false), make) {
                Ok(result) => Ok(result.outputs),
                Err(PassError::Import(error)) => Err(error),
                Err(PassError::NotInteger) => unreachable!("pairs are integers"),
            };
        };
        self.progress.begin(Phase::Partition, Some(spill.bytes()));
        let tag = |wide: bool| move |extent: &Extent| (*extent, wide);
        let narrow = gathered.collected.narrow.iter().map(tag(false));
        let wide = gathered.collected.wide.iter().map(tag(true));
        let extents = Shared::new(narrow.chain(wide).collect());
        let block = self.collector_sizes().spill_block;
        let results = Mutex::new(Vec::new());
        threads::share(self.config.workers(), || {
            let result = self.map_spilled(make, spill, block, &extents);
            results.lock().unwrap_or_else(PoisonError::into_inner).push(result);
        });
        results.into_inner().unwrap_or_else(PoisonError::into_inner).into_iter().collect()
    }

    /// One worker of the second pass over spilled pairs.
    fn map_spilled<'m>(
        &self,
        make: impl Fn() -> Result<Mapper<'m>>,
        spill: &SpillFile,
        block_bytes: usize,
        extents: &Shared<(Extent, bool)>,
    ) -> Result<Mapped> {
        let mut mapper = make()?;
        let mut reader = SpillReader::new(spill, block_bytes)?;
        while let Some((first, wide)) = extents.next() {
            if self.progress.cancelled() {
                return Err(ImportError::Cancelled);
            }
            // A few at a time, all of a kind, so that reads overlap.
            let mut next = Some(first);
            let mut other = None;
            reader.for_each(
                || {
                    let now = next.take();
                    if now.is_some() {
                        next = match extents.next() {
                            Some((extent, kind)) if kind == wide => Some(extent),
                            different => {
                                other = different;
                                None
                            }
                        };
                    }
                    now
                },
                |bytes, records| {
                    if self.progress.cancelled() {
                        return Err(ImportError::Cancelled);
                    }
                    self.progress.advance(bytes.len() as u64);
                    mapper.spilled(bytes, records, wide)
                },
            )?;
            if let Some((extent, kind)) = other {
                let mut one = Some(extent);
                reader.for_each(|| one.take(), |bytes, n| mapper.spilled(bytes, n, kind))?;
            }
        }
        mapper.finish()
    }

    /// How many ranges, and how large their blocks.
    fn plan(&self, keys_max: u64) -> Result<Plan> {
        let workers = self.config.workers();
        let free = self.budget.free();
        let sets = BuildSizes::sets(workers);
        // What a set of sort buffers can hold, with a reserve for a sample that misleads.
        let key_bytes = BuildSizes::bytes_per_key(self.config.weight_bytes());
        let fits = (free / 2 / sets / key_bytes).clamp(1, RANGE_KEYS_BEST) as u64;
        let reading = blocks::pass_memory(workers, self.pass(false).block_bytes)
            .max(workers * SpillReader::memory(self.collector_sizes().spill_block));
        let for_blocks = free.saturating_sub(reading) / 4 * 3 / workers;
        let most = (for_blocks / BLOCK_BYTES_MIN).saturating_sub(4).clamp(1, RANGES_MAX);
        let ranges = keys_max.div_ceil(fits).clamp(1, most as u64) as usize;
        let block_bytes = share(for_blocks, ranges + 4, BLOCK_BYTES_MIN, BLOCK_BYTES_MAX);
        let memory = workers * Spreader::memory(ranges, block_bytes)
            + if self.can_reread() { 0 } else { reading };
        Ok(Plan { ranges, block_bytes, memory })
    }

    /// The third pass: the graph on a device that is `output`'s, or gives its bytes back soon.
    pub(super) fn write(
        &self,
        ids: &IdMap<'_>,
        collected: &Collected,
        parts: &Partitioned,
        output: Arc<dyn Device>,
    ) -> Result<Written> {
        let config = self.config;
        let mut writer = self.writer(ids, parts, output)?;
        let mut held = self.budget.hold(writer.memory_bytes(), "writing the graph")?;
        let keys: u64 = parts.keys();
        // The index, the degrees and their classes that the writer collects.
        let classes = if config.hub_neighbours.is_made(ids.len(), keys) { ids.len() } else { 0 };
        let ahead = keys * 4 / u64::from(config.page_bytes) * 9 + ids.len() * 2 + classes;
        held.grow(ahead as usize, "the index of the graph")?;
        // Not before the end, but an end that fails should fail here.
        drop(self.budget.hold(ids.ranks_bytes(), RANKS)?);
        let reversed = config.in_edges.then(|| self.reversed(ids, collected, parts)).transpose()?;
        let (built, backward) = {
            self.progress.begin(Phase::Write, Some(keys * 8));
            let reversed = reversed.as_ref().map(|r| Reversed {
                file: &r.file,
                ranges: &r.ranges,
                block_bytes: r.block_bytes,
            });
            let source = parts.source(config.keep_duplicates);
            let extra = reversed.as_ref().map_or(0, |r| {
                config.workers() * Spreader::memory(r.ranges.as_slice().len(), r.block_bytes)
            });
            self.build(source, reversed, extra, parts.block_bytes, &mut writer, ids.len())?
        };
        let mut stored = built.stored;
        let mut spill_bytes = 0;
        if let (Some(mut reversed), Some(spread)) = (reversed, backward) {
            reversed.spread = spread;
            spill_bytes += reversed.file.bytes();
            writer.begin_in()?;
            self.progress.begin(Phase::WriteIn, Some(built.stored * 8));
            let source = reversed.source(config.keep_duplicates);
            let vertices = ids.len();
            let block_bytes = reversed.block_bytes;
            stored += self.build(source, None, 0, block_bytes, &mut writer, vertices)?.0.stored;
        }
        writer.end_lists()?;
        self.write_hub_neighbours(&mut writer, built.stored, &mut held)?;
        let counts = self.counts(&built, parts);
        let superblock = self.finish(writer, ids, counts)?;
        Ok(Written {
            edges: counts.edges,
            stored,
            duplicates: counts.duplicates,
            output_bytes: superblock.pages_total * u64::from(config.page_bytes),
            spill_bytes,
        })
    }

    fn writer(
        &self,
        ids: &IdMap<'_>,
        parts: &Partitioned,
        output: Arc<dyn Device>,
    ) -> Result<GraphWriter> {
        let config = self.config;
        let spec = GraphSpec {
            page_bytes: config.page_bytes as usize,
            vertices: ids.len(),
            directed: config.directed,
            in_edges: config.in_edges,
            duplicates_kept: config.keep_duplicates,
            self_loops_kept: config.keep_self_loops,
            salt: parts.salt,
        };
        let writer = match config.weights {
            Some(kind) => {
                let scratch = self.workspace.spill()?;
                GraphWriter::create_weighted(output, spec, (config.codec, kind), scratch)?
            }
            None => GraphWriter::create_with_codec(output, spec, config.codec)?,
        };
        Ok(writer.with_hub_neighbours(if self.temporary {
            HubNeighboursChoice::No
        } else {
            config.hub_neighbours
        }))
    }

    /// The hub neighbours of a graph whose lists of a direction have so many entries.
    fn write_hub_neighbours(
        &self,
        writer: &mut GraphWriter,
        entries: u64,
        held: &mut Held,
    ) -> Result<()> {
        if !writer.wants_hub_neighbours() {
            return Ok(());
        }
        let workers = self.config.workers();
        let pages = entries * 5 / u64::from(self.config.page_bytes) + 1;
        let bytes = GraphWriter::hub_neighbours_bytes(pages, workers);
        held.grow(bytes, "finding hub neighbours (`--hub-neighbours no` does without)")?;
        self.progress.begin(Phase::HubNeighbours, Some(entries * 4));
        let go_on = &mut |bytes| {
            self.progress.advance(bytes);
            !self.progress.cancelled()
        };
        if writer.write_hub_neighbours(workers, go_on)? {
            Ok(())
        } else {
            Err(ImportError::Cancelled)
        }
    }

    fn counts(&self, built: &Built, parts: &Partitioned) -> Counts {
        let (edges, repeated) = if self.config.directed {
            (built.stored, built.repeated)
        } else {
            ((built.stored + built.loops) / 2, built.repeated / 2)
        };
        let duplicates = repeated + built.repeated_loops;
        Counts { edges, duplicates, self_loops: parts.loops }
    }

    /// What the lists do not tell: ids and order. A graph that nobody will ask for them has none.
    fn finish(
        &self,
        writer: GraphWriter,
        ids: &IdMap<'_>,
        counts: Counts,
    ) -> Result<cenote_store::Superblock> {
        if self.temporary {
            return Ok(writer.finish(IdsSource::Dense, counts)?);
        }
        let _memory = self.budget.hold(ids.ranks_bytes(), RANKS)?;
        let ranks = ids.placed.as_ref().map(|placed| order::inverse(&placed.vertex_of));
        let tables = ids.placed.as_ref().zip(ranks.as_ref());
        let tables = tables.map(|(Placed { order, vertex_of, .. }, rank_of)| Tables {
            order: *order,
            vertex_of,
            rank_of,
        });
        let ended = || io::Error::other("ids end early");
        let superblock = match &ids.ranks {
            RankMap::Integers(map) if map.is_identity() => {
                writer.finish_in_order(IdsSource::Dense, tables, counts)?
            }
            RankMap::Integers(map) => {
                let mut all = map.ids();
                let mut next = || all.next().ok_or_else(ended);
                writer.finish_in_order(IdsSource::Integers(&mut next), tables, counts)?
            }
            RankMap::Strings(map) => {
                let mut rank = 0;
                let mut next = |name: &mut Vec<u8>| {
                    name.extend_from_slice(map.name(rank));
                    rank += 1;
                    Ok(())
                };
                writer.finish_in_order(IdsSource::Strings(&mut next), tables, counts)?
            }
        };
        Ok(superblock)
    }

    /// Ranges for the lists of sources, from the sample.
    fn reversed(
        &self,
        ids: &IdMap<'_>,
        collected: &Collected,
        parts: &Partitioned,
    ) -> Result<Partitioned> {
        let space = parts.space;
        let sample = &collected.sample;
        let sample = sample.iter().map(|&(s, t)| space.key(ids.dense(t), ids.dense(s))).collect();
        let plan = self.plan(parts.keys())?;
        let whole = Range { low: 0, last: space.last() };
        let ranges = Ranges::balanced(whole, sample, plan.ranges);
        // The sort buffers need their part, too.
        let block_bytes = (plan.block_bytes / 4).next_multiple_of(4096).max(BLOCK_BYTES_MIN);
        let record = 8 + self.config.weight_bytes() as u64;
        let file = SpillFile::new(self.workspace.spill()?, parts.keys() * record);
        let spread = Spread::new(0);
        Ok(Partitioned { space, file, ranges, spread, block_bytes, loops: 0, salt: 0 })
    }

    fn build(
        &self,
        source: Source<'_>,
        reversed: Option<Reversed<'_>>,
        extra: usize,
        block_bytes: usize,
        writer: &mut GraphWriter,
        vertices: u64,
    ) -> Result<(Built, Option<Spread>)> {
        let workers = self.config.workers();
        let entries = share(self.budget.limit(), 128, 1 << 16, 64 << 20) / 4;
        let weight_bytes = self.config.weight_bytes();
        let weighted = weight_bytes > 0;
        let lists = LongList::memory(entries, weighted);
        let fixed = extra + lists + workers * SpillReader::memory(block_bytes);
        let _fixed = self.budget.hold(fixed, "sorting the edges")?;
        let largest = source.spread.keys_of_largest_range();
        let set_bytes = BuildSizes::sets(workers) * BuildSizes::bytes_per_key(weight_bytes);
        let most = (self.budget.free() / set_bytes).min(SET_KEYS_MAX);
        let set_keys = (largest.max(1) as usize).min(most);
        let needed = set_bytes * SET_KEYS_MIN;
        if most < SET_KEYS_MIN {
            let refused = self.budget.hold(needed, "sorting the edges").err();
            return Err(refused.unwrap_or(ImportError::Cancelled));
        }
        let _sets = self.budget.hold(set_bytes * set_keys, "sorting the edges")?;
        let sizes = BuildSizes { workers, set_keys, block_bytes, weight_bytes };
        let long_list = LongList::new(self.workspace, entries, weighted);
        build::build(source, reversed, sizes, writer, long_list, vertices, self.progress)
    }
}

const RANKS: &str = "the ranks of all vertices";
/// Keys of a range that sorts fastest: 16 MiB, the cache of a core or two.
const RANGE_KEYS_BEST: usize = 2 << 20;
const RANGES_MAX: usize = 4096;
const BLOCK_BYTES_MIN: usize = 4 << 10;
const BLOCK_BYTES_MAX: usize = 128 << 10;
const SET_KEYS_MIN: usize = 1 << 12;
/// Places in a sort are `u32`.
const SET_KEYS_MAX: usize = 1 << 30;

/// A power of two: the `parts`-th part of `whole`, within bounds.
fn share(whole: usize, parts: usize, least: usize, most: usize) -> usize {
    let part = whole / parts;
    let power = if part == 0 { 1 } else { 1 << part.ilog2() };
    power.clamp(least, most)
}

struct Plan {
    ranges: usize,
    block_bytes: usize,
    memory: usize,
}

pub(super) struct Written {
    edges: u64,
    stored: u64,
    duplicates: u64,
    pub(super) output_bytes: u64,
    pub(super) spill_bytes: u64,
}

impl Partitioned {
    fn keys(&self) -> u64 {
        self.spread.keys()
    }

    /// What the graph takes on disk, about: the lists of one direction and all that is told once.
    pub(super) fn graph_bytes(&self, vertices: u64) -> u64 {
        self.keys() * 17 / 4 + vertices * 16
    }

    fn source(&self, keep_duplicates: bool) -> Source<'_> {
        let Partitioned { space, file, ranges, spread, .. } = self;
        Source { space: *space, file, ranges, spread, keep_duplicates }
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

/// A full disk under the graph, with what it needs.
pub(super) fn explain_output(
    error: ImportError,
    needed: u64,
    role: &'static str,
    remedy: &'static str,
) -> ImportError {
    match error {
        ImportError::Store(StoreError::Device(DeviceError::Io {
            device,
            op,
            offset,
            len,
            fault,
        })) => {
            let error = DeviceError::Io { device, op, offset, len, fault };
            full_disk(error, offset, needed, role, remedy)
        }
        other => other,
    }
}
