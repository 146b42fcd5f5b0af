//! Answers straight from edges, without a graph file: one pass, and nothing is written to disk.
//!
//! - [`Straight`]: the inputs and the options of a run
//! - [`Finding`]: what is found of the vertices
//! - [`EdgeAnswer`], [`EdgeStats`], [`EdgeReport`]: the answer, written and summed up as that of a
//!   graph; [`EdgeBatches`]: as Arrow batches

mod answer;

use std::fmt::Debug;
use std::path::PathBuf;

use cenote_import::{ImportError, PassStats, Progress, VertexIds};
use cenote_store::superblock::IdKind as StoredKind;
use serde::Serialize;

pub(crate) use self::answer::id_at;
pub use self::answer::{EdgeAnswer, EdgeBatches, EdgeReport, EdgeStats};
use crate::error::{Error, Result};
use crate::import::{
    ArrowBatches, Edge, EdgeId, Edges, Format, Hooks, IdKind, Input, InputSpec, Phase, Vertices,
};
use crate::memory::{budget_of_machine, cpu_seconds, half_of_machine};
use crate::output;
use crate::output::table::{self, Column};

/// What is found of the vertices of edges in one pass.
pub trait Finding: Clone + Debug + Default {
    /// Its name in reports: that of the algorithm of graphs with the same answer.
    const NAME: &'static str;
    /// The work in words, for the error of a too small budget.
    const WORK: &'static str;
    /// What is found, by the ascending order of the ids.
    type Output: Debug;
    /// A summary of it, as that of the algorithm of graphs.
    type Summary: Serialize + Debug;

    /// Reads the edges.
    ///
    /// # Errors
    /// Those of an import.
    fn find(
        &self,
        inputs: &[Input<'_>],
        common: &Common,
        progress: &dyn Progress,
    ) -> std::result::Result<Self::Output, ImportError>;

    /// The ids of the vertices.
    fn ids(output: &Self::Output) -> &VertexIds;

    /// Statistics of the pass.
    fn stats(output: &Self::Output) -> &PassStats;

    /// The values of all vertices.
    fn columns(output: &Self::Output) -> Vec<Column<'_>>;

    /// A summary of the answer.
    fn summary(output: &Self::Output) -> Self::Summary;
}

/// Options that all findings share.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Common {
    /// Kind of the ids.
    pub ids: IdKind,
    /// Memory budget in bytes.
    pub memory_bytes: usize,
    /// Worker threads; 0: one for each core.
    pub threads: usize,
    /// Folder for copies of inputs that can be read only once; `None`: that of the system.
    pub temp_dir: Option<PathBuf>,
}

/// A run straight over edges in files, on standard input or in memory:
/// [`Components`](crate::Components), [`Degrees`](crate::Degrees).
#[derive(Default)]
#[must_use = "nothing is read before `run`"]
pub struct Straight<'a, F> {
    inputs: Vec<Input<'a>>,
    pub(crate) finding: F,
    common: Common,
    memory: Option<String>,
    out: Option<PathBuf>,
    hooks: Hooks<'a>,
}

impl<'a, F: Finding> Straight<'a, F> {
    /// A run over no edges yet, in half of the machine's memory, with all cores.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the edges of an iterator: `(source, target)` with integer or string ids.
    pub fn edges<I>(self, edges: I) -> Self
    where
        I: IntoIterator<Item: Edge, IntoIter: Send + 'a>,
    {
        self.input(Edges::iter(edges))
    }

    /// Adds edges in memory.
    pub fn slice<E: Edge + Sync>(self, edges: &'a [E]) -> Self {
        self.input(Edges::slice(edges))
    }

    /// Adds the batches of a reader, such as one of the Arrow C data interface. [`ArrowBatches`]
    /// selects the columns.
    pub fn arrow(self, reader: impl arrow_array::RecordBatchReader + Send + 'a) -> Self {
        self.input(ArrowBatches::new(reader))
    }

    /// Adds vertices by their ids, which may have no edge.
    pub fn vertices<I>(self, ids: I) -> Self
    where
        I: IntoIterator<Item: EdgeId, IntoIter: Send + 'a>,
    {
        self.input(Vertices::iter(ids))
    }

    /// Adds the vertices of a file: text with an id a line, or `.u32` and `.u64` integers.
    pub fn vertices_path(self, path: impl Into<PathBuf>) -> Self {
        self.input(InputSpec::vertices(path))
    }

    /// Adds a file, whose extension is its format.
    pub fn path(self, path: impl Into<PathBuf>) -> Self {
        self.input(InputSpec::new(path))
    }

    /// Adds standard input.
    pub fn stdin(self, format: Format) -> Self {
        self.input(InputSpec::with_format("-", format))
    }

    /// Adds any input.
    pub fn input(mut self, input: impl Into<Input<'a>>) -> Self {
        self.inputs.push(input.into());
        self
    }

    /// The kind of ids [default: strings where an input has the type of strings, else integers if
    /// all of them are].
    pub fn ids(mut self, ids: IdKind) -> Self {
        self.common.ids = ids;
        self
    }

    /// Memory budget, such as `512MiB` or `25%` of the machine's [default: half of it].
    pub fn memory(mut self, size: impl ToString) -> Self {
        self.memory = Some(size.to_string());
        self
    }

    /// Worker threads [default: one for each core].
    pub fn threads(mut self, threads: usize) -> Self {
        self.common.threads = threads;
        self
    }

    /// Folder for the copy of an input that can be read only once, while its ids may turn out to be
    /// strings [default: that of the system]. With [`ids`](Self::ids) nothing is copied.
    pub fn temp_dir(mut self, folder: impl Into<PathBuf>) -> Self {
        self.common.temp_dir = Some(folder.into());
        self
    }

    /// Writes the answer to a file: `.parquet`, `.csv` or `.npy`. A path that cannot be written to
    /// is refused before anything is read.
    pub fn out(mut self, path: impl Into<PathBuf>) -> Self {
        self.out = Some(path.into());
        self
    }

    /// Calls `report` with the phase, the bytes done in it, and its total bytes, if known.
    pub fn progress(mut self, report: impl FnMut(Phase, u64, Option<u64>) + Send + 'a) -> Self {
        self.hooks.set_progress(report);
        self
    }

    /// Stops soon after `is_cancelled` returns true.
    pub fn cancel(mut self, is_cancelled: impl Fn() -> bool + Sync + 'a) -> Self {
        self.hooks.set_cancel(is_cancelled);
        self
    }

    /// Reads the edges and computes the answer, which is empty if there are no edges and no
    /// vertices, in files as well as in memory.
    ///
    /// # Errors
    /// [`Error::MemoryBudget`] if the vertices do not fit the memory; inputs that cannot be read,
    /// or that are not what their format says; an output that cannot be written; cancellation.
    pub fn run(mut self) -> Result<EdgeAnswer<F>> {
        self.common.memory_bytes = self.memory_bytes()?;
        let paths: Vec<PathBuf> =
            self.inputs.iter().filter_map(|input| Some(input.path()?.to_owned())).collect();
        if let Some(path) = &self.out {
            let kind = match self.common.ids {
                IdKind::String => StoredKind::Strings,
                IdKind::Auto | IdKind::Integer => StoredKind::Integers,
            };
            table::check_kind(path, kind)?;
            output::check(path, &paths)?;
        }
        let cpu_before = cpu_seconds();
        let found = self.finding.find(&self.inputs, &self.common, &self.hooks);
        let found = found.map_err(of_edges::<F>)?;
        let cpu_seconds = cpu_seconds() - cpu_before;
        let answer: EdgeAnswer<F> =
            EdgeAnswer::new(found, (self.common.memory_bytes, cpu_seconds), paths);
        if let Some(path) = &self.out {
            answer.write_unless(path, &|| self.hooks.is_cancelled())?;
        }
        Ok(answer)
    }

    /// The memory budget in bytes.
    fn memory_bytes(&self) -> Result<usize> {
        let wrong = |reason: String| Error::parameter("memory", reason);
        let bytes = match &self.memory {
            None => half_of_machine()?,
            Some(text) => {
                let size = text.parse().map_err(|reason| wrong(format!("is {text}: {reason}")))?;
                budget_of_machine(size)?
            }
        };
        usize::try_from(bytes).map_err(|_| wrong(format!("is {bytes}: it is too large")))
    }
}

/// An error of reading edges.
fn of_edges<F: Finding>(error: ImportError) -> Error {
    let (given, needed, breakdown) = match error {
        ImportError::Memory { input, given, needed, what } => {
            let of = input.map_or_else(String::new, |input| format!(" of {input}"));
            (given, needed, format!("the budget ended with {what}{of}"))
        }
        ImportError::Straight { given, needed, vertices, part, .. } => {
            let less = "a graph file takes less, which `cenote import` makes of the edges";
            (given, needed, format!("about, by {vertices} vertices in {part}; {less}"))
        }
        // An input that is no list of edges is no corrupt graph.
        ImportError::Format { .. } => return Error::InvalidInput(error.to_string()),
        other => return other.into(),
    };
    Error::MemoryBudget {
        what: F::WORK.to_owned(),
        given: given as u64,
        needed: needed as u64,
        suggested: (needed as u64).div_ceil(1 << 20),
        breakdown,
    }
}
