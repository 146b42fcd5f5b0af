//! Earlier answers for components, from which a run goes on: that of a run, or one in a file that a
//! run wrote.
//!
//! The metadata of the Parquet file says which graph and which epoch the answer belongs to. What a
//! file says is verified as far as that takes no pass over the graph: its columns; that its rows
//! are the vertices of that epoch, each once; that each component is named after its smallest id;
//! and the sums of the metadata. That the components are those of the graph is trusted.

use std::fmt;
use std::fs::File;
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

use cenote_algo::wcc;
use cenote_import::{Format, ImportError, InputSpec, for_each_edge};
use cenote_store::superblock::IdKind;
use cenote_store::{Id, IdRef, Ids, LookupConfig, VertexId};
use parquet::basic::Type;
use parquet::file::metadata::ParquetMetaDataReader;

use crate::error::{Error, Result};
use crate::graph::StoredGraph;
use crate::run::Job;
use crate::watch::CancelledBy;

/// Kind and version of the answer.
const ANSWER: (&str, &str) = ("cenote.answer", "wcc 1");
const GRAPH: &str = "cenote.graph";
const FILE: &str = "cenote.file";
const EPOCH: &str = "cenote.epoch";
const LOGGED: &str = "cenote.logged";
const VERTICES: &str = "cenote.vertices";
const COMPONENTS: &str = "cenote.components";
const CHECKSUM: &str = "cenote.checksum";

/// Rows that are looked up together, and most bytes of their ids.
const BATCH_ROWS: usize = 1 << 14;
const BATCH_TEXT_BYTES: usize = 1 << 20;

/// Memory of these rows, with what is looked up.
const BATCH_BYTES: u64 = 4 << 20;

/// Labels that are summed up between releases of their memory.
const CHECKED_TOGETHER: usize = 1 << 20;

/// A vertex without a label yet.
const NONE: VertexId = VertexId::MAX;

/// How often a state is read again that a writer changes meanwhile.
const TRIES: u32 = 20;

/// An answer for an earlier state of the graph.
#[derive(Debug)]
pub struct Earlier {
    pub(super) graph: Arc<StoredGraph>,
    labels: Labels,
}

/// The answer of a run.
type OfRun = Box<dyn Deref<Target = wcc::Wcc> + Send + Sync>;

enum Labels {
    Answer(OfRun),
    File(Vec<VertexId>),
}

impl fmt::Debug for Labels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Answer(_) => "of a run",
            Self::File(_) => "of a file",
        })
    }
}

impl Earlier {
    pub(super) fn of_answer(graph: Arc<StoredGraph>, answer: OfRun) -> Self {
        Self { graph, labels: Labels::Answer(answer) }
    }

    /// The labels of all vertices of the earlier state.
    pub(super) fn labels(&self) -> &[VertexId] {
        match &self.labels {
            Labels::Answer(wcc) => wcc.labels(),
            Labels::File(labels) => labels,
        }
    }
}

/// The metadata of an answer. `file` distinguishes the file of the graph from all others.
pub(super) fn metadata(
    wcc: &wcc::Wcc,
    graph: &StoredGraph,
    file: Option<&str>,
) -> Vec<(&'static str, String)> {
    let superblock = graph.superblock();
    let logged = u64::from(graph.has_logged());
    let mut entries = vec![
        (ANSWER.0, ANSWER.1.to_owned()),
        (GRAPH, format!("{:016x}", superblock.salt)),
        (EPOCH, superblock.epoch.to_string()),
        (LOGGED, logged.to_string()),
        (VERTICES, superblock.live_vertices().to_string()),
        (COMPONENTS, wcc.components.to_string()),
        (CHECKSUM, format!("{:016x}", checksum(wcc.labels(), || wcc.release()))),
    ];
    entries.extend(file.map(|file| (FILE, file.to_owned())));
    entries
}

/// Differs where labels do, but for one chance in 2^64. Calls `between` now and then.
fn checksum(labels: &[VertexId], between: impl Fn()) -> u64 {
    let add = |sum: u64, label: &VertexId| {
        (sum.rotate_left(5) ^ u64::from(*label)).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    };
    labels.chunks(CHECKED_TOGETHER).fold(labels.len() as u64, |sum, labels| {
        between();
        labels.iter().fold(sum, add)
    })
}

/// What the metadata of a file says.
struct Claims {
    graph: String,
    file: Option<String>,
    epoch: u64,
    is_logged: bool,
    vertices: u64,
    components: u64,
    checksum: String,
}

/// Reads the answer of a file, with the state of the graph that it belongs to; or the reason why
/// everything has to be computed.
///
/// # Errors
/// The file is no answer for components, or contradicts the state of the graph or itself.
pub(super) fn read(path: &Path, job: &Job<'_>) -> Result<Result<Earlier, String>> {
    let claims = Claims::read(path, job.graph)?;
    let superblock = job.graph.superblock();
    if claims.graph != format!("{:016x}", superblock.salt) {
        return Ok(Err("the answer is of another graph".to_owned()));
    }
    let Some(file) = &job.file else {
        return Ok(Err("the file of the graph cannot be told from a copy of it".to_owned()));
    };
    if claims.file.as_ref() != Some(file) {
        let reason = "the answer is of another file: a copy, or one that was replaced since";
        return Ok(Err(reason.to_owned()));
    }
    if claims.is_logged {
        let reason = "the answer is of a state with changes in its log, which is not kept: \
                      make a snapshot first, and give the run `at` with it";
        return Ok(Err(reason.to_owned()));
    }
    if claims.epoch > superblock.epoch {
        return Ok(Err(format!("the answer is of epoch {}, which is later", claims.epoch)));
    }
    let Some(state) = state_of(job.graph, claims.epoch)? else {
        return Ok(Err(format!(
            "the state of epoch {} is gone: keep it with a snapshot",
            claims.epoch
        )));
    };
    let state = Arc::new(state);
    let labels = read_labels(path, &claims, &state, job)?;
    Ok(Ok(Earlier { graph: state, labels: Labels::File(labels) }))
}

/// The state of an epoch without changes in its log: a snapshot, or the newest commit.
fn state_of(graph: &StoredGraph, epoch: u64) -> Result<Option<StoredGraph>> {
    let mut tries = 0;
    loop {
        // A writer may commit while a state is read.
        match find_state(graph, epoch) {
            Err(_) if tries < TRIES => tries += 1,
            found => return Ok(found?),
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
}

fn find_state(graph: &StoredGraph, epoch: u64) -> cenote_store::Result<Option<StoredGraph>> {
    let newest = StoredGraph::open_committed(Arc::clone(graph.device()))?;
    if newest.superblock().epoch == epoch {
        return Ok(Some(newest));
    }
    let snapshots = newest.snapshots()?;
    let Some(snapshot) = snapshots.iter().find(|snapshot| snapshot.epoch == epoch) else {
        return Ok(None);
    };
    let device = Arc::clone(graph.device());
    let state = StoredGraph::open_at(device, &snapshot.name, |_| LookupConfig::default())?;
    Ok(Some(state).filter(|state| state.superblock().epoch == epoch))
}

impl Claims {
    fn read(path: &Path, graph: &StoredGraph) -> Result<Self> {
        let context = |action| format!("{}: cannot {action}", path.display());
        let file = File::open(path).map_err(|source| Error::from_io(context("open"), source))?;
        let is_file = file.metadata().is_ok_and(|metadata| metadata.is_file());
        if !is_file {
            return Err(Error::input(path, "it is no file: give the Parquet file of an answer"));
        }
        let broken = |error| {
            let reason = format!("it is no readable Parquet file (damaged or cut off?): {error}");
            Error::input(path, reason)
        };
        let metadata = ParquetMetaDataReader::new().parse_and_finish(&file).map_err(broken)?;
        let metadata = metadata.file_metadata();
        let entries = metadata.key_value_metadata().map_or(&[][..], Vec::as_slice);
        let entry = |key: &str| {
            let found = entries.iter().find(|entry| entry.key == key)?;
            found.value.clone()
        };
        let expected = "an answer that `wcc` of this version has written as .parquet";
        if entry(ANSWER.0).as_deref() != Some(ANSWER.1) {
            return Err(Error::input(path, format!("it is not {expected}")));
        }
        let lacks = |key: &str| {
            Error::input(path, format!("its metadata has no valid `{key}`: expected {expected}"))
        };
        let text = |key: &str| entry(key).ok_or_else(|| lacks(key));
        let number = |key: &str| text(key)?.parse::<u64>().map_err(|_| lacks(key));
        let schema = metadata.schema_descr();
        let columns: Vec<(String, Type)> = (0..schema.num_columns())
            .map(|at| (schema.column(at).path().string(), schema.column(at).physical_type()))
            .collect();
        let kind = match graph.superblock().ids {
            IdKind::Strings => Type::BYTE_ARRAY,
            IdKind::Dense | IdKind::Integers => Type::INT64,
        };
        let graph_of = text(GRAPH)?;
        let is_here = graph_of == format!("{:016x}", graph.superblock().salt);
        let names = ["vertex", "component"].map(|name| (name.to_owned(), kind));
        if is_here && columns != names {
            let reason =
                "its columns are not `vertex` and `component` with ids of the graph's kind";
            return Err(Error::input(path, reason));
        }
        Ok(Self {
            graph: graph_of,
            file: entry(FILE),
            epoch: number(EPOCH)?,
            is_logged: number(LOGGED)? > 0,
            vertices: number(VERTICES)?,
            components: number(COMPONENTS)?,
            checksum: text(CHECKSUM)?,
        })
    }
}

/// The labels of all vertices of a state by the rows of a file, which are verified.
fn read_labels(
    path: &Path,
    claims: &Claims,
    state: &StoredGraph,
    job: &Job<'_>,
) -> Result<Vec<VertexId>> {
    let expected = state.superblock().live_vertices();
    if claims.vertices != expected {
        let (found, epoch) = (claims.vertices, claims.epoch);
        let reason =
            format!("it has {found} vertices by its metadata, but epoch {epoch} has {expected}");
        return Err(Error::input(path, reason));
    }
    let free_bytes = wcc::free_bytes_since(job.graph, &job.engine, state)?;
    let read_bytes = free_bytes.saturating_sub(BATCH_BYTES);
    let read_bytes = usize::try_from(read_bytes).unwrap_or(usize::MAX);
    let ids = state.ids()?;
    let mut rows = Rows {
        path,
        ids: &ids,
        labels: vec![NONE; state.vertices()],
        batch: Vec::new(),
        text_bytes: 0,
        before: None,
        done: 0,
    };
    let mut failure = None;
    let mut visit = |row: [IdRef<'_>; 2], _| {
        failure = rows.push(row).err();
        failure.is_none()
    };
    let has_names = ids.kind() == IdKind::Strings;
    let spec = InputSpec { format: Some(Format::Parquet), ..InputSpec::new(path) };
    let cancel = job.engine.cancel.clone();
    let progress = CancelledBy(move || cancel.is_raised());
    let read =
        for_each_edge(&[spec.into()], has_names, true, None, read_bytes, &progress, &mut visit);
    if let Some(error) = failure {
        return Err(error);
    }
    match read {
        Ok(()) => rows.flush()?,
        Err(ImportError::Memory { given, needed, what, .. }) => {
            // The file is named already.
            let error = ImportError::Memory { input: None, given, needed, what };
            return Err(Error::input(path, format!("{error}: give the run more `memory`")));
        }
        // Of the file, whatever is wrong with it.
        Err(error @ ImportError::Format { .. }) => {
            return Err(Error::InvalidInput(error.to_string()));
        }
        Err(error) => return Err(error.into()),
    }
    let (done, mut labels) = (rows.done, rows.labels);
    if done != expected {
        return Err(Error::input(path, format!("it has {done} rows, but {expected} vertices")));
    }
    for vertex in state.deleted() {
        labels[*vertex as usize] = *vertex;
    }
    let is_root = |(vertex, label): &(usize, &VertexId)| *vertex == **label as usize;
    let components = labels.iter().enumerate().filter(is_root).count() - state.deleted().len();
    if components as u64 != claims.components
        || claims.checksum != format!("{:016x}", checksum(&labels, || ()))
    {
        return Err(Error::input(path, "its rows are not those of its metadata: it was changed"));
    }
    Ok(labels)
}

/// The rows of an answer, which come by ascending ids.
struct Rows<'a> {
    path: &'a Path,
    ids: &'a Ids,
    labels: Vec<VertexId>,
    /// Rows that are not looked up yet.
    batch: Vec<[Id; 2]>,
    text_bytes: usize,
    /// The id of the last row.
    before: Option<Id>,
    /// Rows that were looked up.
    done: u64,
}

impl Rows<'_> {
    fn push(&mut self, [vertex, component]: [IdRef<'_>; 2]) -> Result<()> {
        if self.before.as_ref().is_some_and(|before| before.as_ref() >= vertex) {
            return Err(self.wrong(self.batch.len(), "the ids of its rows do not ascend"));
        }
        for id in [vertex, component] {
            self.text_bytes += if let IdRef::String(text) = id { text.len() } else { 0 };
        }
        self.before = Some(vertex.to_id());
        self.batch.push([vertex.to_id(), component.to_id()]);
        if self.batch.len() == BATCH_ROWS || self.text_bytes >= BATCH_TEXT_BYTES {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        let rows = std::mem::take(&mut self.batch);
        let vertices: Vec<IdRef<'_>> = rows.iter().map(|[vertex, _]| vertex.as_ref()).collect();
        let vertices = self.ids.vertices_of(&vertices)?;
        let mut names: Vec<IdRef<'_>> = rows.iter().map(|[_, name]| name.as_ref()).collect();
        names.sort_unstable();
        names.dedup();
        let named = self.ids.vertices_of(&names)?;
        for (at, ([id, name], vertex)) in rows.iter().zip(vertices).enumerate() {
            let Some(vertex) = vertex else {
                return Err(self.wrong(at, &format!("the graph has no vertex `{}`", shown(id))));
            };
            let place = names.partition_point(|other| *other < name.as_ref());
            // Rows ascend, so that the smallest id of a component comes first.
            let label = named[place].filter(|label| match *label == vertex {
                true => true,
                false => self.labels[*label as usize] == *label,
            });
            let Some(label) = label else {
                let reason = format!("`{}` is not the smallest id of a component", shown(name));
                return Err(self.wrong(at, &reason));
            };
            self.labels[vertex as usize] = label;
        }
        self.done += rows.len() as u64;
        self.text_bytes = 0;
        Ok(())
    }

    #[cold]
    fn wrong(&self, at: usize, reason: &str) -> Error {
        Error::input(self.path, format!("row {}: {reason}", self.done + at as u64 + 1))
    }
}

fn shown(id: &Id) -> String {
    let mut text = id.to_string();
    text.truncate(text.floor_char_boundary(80));
    text
}
