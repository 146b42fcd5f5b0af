//! Values of vertices: files of vertices may have them, and a graph gets them by commits before it
//! gets its name.
//!
//! The files are read before the import, which says whether there are values and finds the wrong
//! ones, and again when the graph is written and its vertices are known.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use cenote_device::Device;
use cenote_store::superblock::IdKind as StoredIdKind;
use cenote_store::{Batch, Change, Id, IdRef, Op, Store, Value, ValueType};

use crate::config::{Format, ImportConfig, Input, InputSpec};
use crate::each::for_each_value;
use crate::error::{ImportError, Result};
use crate::input;
use crate::report::{Phase, Progress};
use crate::workspace::Workspace;

/// Values that one commit sets, and most bytes of their ids: some 10 MiB.
pub(crate) const VALUES_TOGETHER: usize = 1 << 16;
pub(crate) const TEXT_TOGETHER: usize = 4 << 20;

/// Memory for reading the files: `1 / READ_SHARE` of that of the import, or so little that no
/// import has less.
const READ_SHARE: usize = 4;
const READ_BYTES_MIN: usize = 1 << 20;

/// Sets the values of a graph that is written but not published.
pub(crate) type SetValues<'a> = dyn Fn(&Store) -> Result<()> + Sync + 'a;

/// The workspace of a graph that gets values before it is published.
pub(crate) struct WithValues<'a> {
    workspace: &'a dyn Workspace,
    set: &'a SetValues<'a>,
    output: Mutex<Option<Arc<dyn Device>>>,
}

impl<'a> WithValues<'a> {
    pub fn new(workspace: &'a dyn Workspace, set: &'a SetValues<'a>) -> Self {
        Self { workspace, set, output: Mutex::new(None) }
    }

    /// Bytes of the graph with its values.
    pub fn output_bytes(&self) -> Result<u64> {
        let output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(output.as_ref().expect("the graph was written").len_bytes()?)
    }
}

impl Workspace for WithValues<'_> {
    fn spill(&self) -> Result<Arc<dyn Device>> {
        self.workspace.spill()
    }

    fn output(&self) -> Result<Arc<dyn Device>> {
        let output = self.workspace.output()?;
        let mut kept = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        *kept = Some(Arc::clone(&output));
        Ok(output)
    }

    fn publish(&self) -> Result<()> {
        let output = self.output.lock().unwrap_or_else(PoisonError::into_inner).clone();
        (self.set)(&Store::open(output.expect("the graph was written"))?)?;
        self.workspace.publish()
    }
}

/// The files of vertices that have values.
pub(crate) struct GivenValues<'a> {
    files: Vec<InputSpec>,
    kind: ValueType,
    memory_bytes: usize,
    progress: Quiet<'a>,
}

impl<'a> GivenValues<'a> {
    /// Reads the files of vertices. `None` if they have no values.
    pub fn of(
        inputs: &[Input<'_>],
        config: &ImportConfig,
        progress: &'a dyn Progress,
    ) -> Result<Option<Self>> {
        let file = |input: &Input<'_>| match input {
            // One that is read once has no values: see `Content::Vertices`.
            Input::File(spec) if spec.is_vertices && !input.is_read_once() => Some(spec.clone()),
            _ => None,
        };
        let mut files = Vec::new();
        for spec in inputs.iter().filter_map(file) {
            if input::format_of(&spec)? == Format::Vertices {
                files.push(spec);
            }
        }
        let mut kind = config.values;
        let (mut found, progress) = (0u64, Quiet(progress));
        let memory_bytes = (config.memory_bytes / READ_SHARE).max(READ_BYTES_MIN);
        let mut visit = |_: IdRef<'_>, text: &str| {
            found += 1;
            value_of(text, &mut kind).map(drop)
        };
        let read = for_each_value(&files, true, memory_bytes, &progress, &mut visit);
        read.map_err(|error| of_whole(error, config.memory_bytes))?;
        let kind = kind.filter(|_| found > 0);
        Ok(kind.map(|kind| Self { files, kind, memory_bytes, progress }))
    }

    /// Sets the values; of a vertex with several the last one.
    pub fn set(&self, store: &Store) -> Result<()> {
        let has_names = store.superblock().ids == StoredIdKind::Strings;
        let (mut values, mut text_bytes) = (BTreeMap::new(), 0);
        let mut failure = None;
        let mut visit = |id: IdRef<'_>, text: &str| {
            let value = value_of(text, &mut Some(self.kind))?;
            text_bytes += if let IdRef::String(name) = id { name.len() } else { 0 };
            values.insert(id.to_id(), value);
            if values.len() == VALUES_TOGETHER || text_bytes >= TEXT_TOGETHER {
                text_bytes = 0;
                let set = set_values(store, &std::mem::take(&mut values));
                // The reader ends with any error.
                failure = set.err();
            }
            if failure.is_some() { Err(String::new()) } else { Ok(()) }
        };
        let memory_bytes = self.memory_bytes;
        let read = for_each_value(&self.files, has_names, memory_bytes, &self.progress, &mut visit);
        match failure {
            Some(error) => Err(error),
            None => read.and_then(|()| set_values(store, &values)),
        }
    }
}

/// An error of the share of the memory names the memory of the whole import.
fn of_whole(error: ImportError, given: usize) -> ImportError {
    match error {
        ImportError::Memory { input, needed, what, .. } => {
            // Blocks of text grow with the memory, too.
            let needed = needed.saturating_add(needed / 16).saturating_mul(READ_SHARE);
            ImportError::Memory { input, given, needed, what }
        }
        other => other,
    }
}

/// A value of a type, which the first one sets.
fn value_of(text: &str, kind: &mut Option<ValueType>) -> std::result::Result<Value, String> {
    let own = kind.or_else(|| ValueType::of_text(text));
    *kind = own;
    let value = own.and_then(|own| own.parse(text));
    let expected = own.map_or("a finite number", ValueType::expected);
    value.ok_or_else(|| format!("behind the id nothing or its value, {expected}"))
}

fn set_values(store: &Store, values: &BTreeMap<Id, Value>) -> Result<()> {
    match batch_of(store, values)? {
        Some(batch) if batch.changes.is_empty() => Ok(()),
        Some(batch) => Ok(store.update(&batch).map(drop)?),
        None => {
            let reason = "a file of vertices changed while the graph was imported";
            Err(ImportError::Options(reason.to_owned()))
        }
    }
}

/// A batch that sets values by the ids of their vertices; `None` if the graph lacks one of them.
pub(crate) fn batch_of(
    store: &Store,
    values: &BTreeMap<Id, Value>,
) -> cenote_store::Result<Option<Batch>> {
    let ascending: Vec<IdRef<'_>> = values.keys().map(Id::as_ref).collect();
    let mut batch = Batch::default();
    for (vertex, value) in store.vertices_of(&ascending)?.into_iter().zip(values.values()) {
        let Some(vertex) = vertex else { return Ok(None) };
        batch.changes.push(Change::of_vertex(Op::SetValue, vertex));
        batch.values.push(*value);
    }
    Ok(Some(batch))
}

/// Passes on whether the caller cancels, and drops the progress.
struct Quiet<'a>(&'a dyn Progress);

impl Progress for Quiet<'_> {
    fn begin(&self, _: Phase, _: Option<u64>) {}

    fn advance(&self, _: u64) {}

    fn cancelled(&self) -> bool {
        self.0.cancelled()
    }
}
