//! Changes of many edges at once: those of files, of tables and of iterators.

use cenote_import::{ImportError, Input, for_each_edge};
use cenote_store::superblock::IdKind;
use cenote_store::{IdRef, Op, Weight};

use super::Update;
use crate::error::{Error, Result};
use crate::watch::CancelledBy;

/// Of the memory that changes may take, reading takes at most `1 / READ_SHARE`, and no more than
/// `READ_BYTES_MAX`.
const READ_SHARE: u64 = 4;
const READ_BYTES_MAX: u64 = 256 << 20;

impl Update {
    /// Adds the edges of files, of Arrow batches or of iterators with the next commit, in their
    /// order, each as by [`Update::add`] or [`Update::add_weighted`]. Returns their number. After
    /// an error none of them is left.
    ///
    /// # Errors
    /// As [`Update::add`], and of reading: inputs that cannot be read or parsed, or are lists of
    /// vertices; [`Error::MemoryBudget`] if the edges do not fit the memory beside the changes that
    /// wait and what reading takes; [`Error::Cancelled`].
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("friends.cenote");
    /// # cenote::Import::new().slice(&[("ada", "bob")]).memory("64MiB").run(&path)?;
    /// use cenote::import::Edges;
    ///
    /// let mut update = cenote::Update::open(&path)?;
    /// let edges = (0..1000).map(|i| (format!("a{i}"), format!("b{i}")));
    /// assert_eq!(update.add_all([Edges::iter(edges)])?, 1000);
    /// assert_eq!(update.commit()?.new_vertices, 2000);
    /// # Ok(())
    /// # }
    /// ```
    pub fn add_all<'i, I>(&mut self, edges: I) -> Result<u64>
    where
        I: IntoIterator<Item: Into<Input<'i>>>,
    {
        self.change_all(Op::Add, edges.into_iter().map(Into::into).collect())
    }

    /// Deletes the edges of files, of Arrow batches or of iterators with the next commit, each as
    /// by [`Update::delete`]; weights are passed over. As [`Update::add_all`].
    ///
    /// # Errors
    /// As [`Update::add_all`].
    pub fn delete_all<'i, I>(&mut self, edges: I) -> Result<u64>
    where
        I: IntoIterator<Item: Into<Input<'i>>>,
    {
        self.change_all(Op::Delete, edges.into_iter().map(Into::into).collect())
    }

    /// Drops the changes for the next commit but the first ones.
    pub fn truncate(&mut self, changes: usize) {
        self.changes.truncate(changes);
    }

    fn change_all(&mut self, op: Op, inputs: Vec<Input<'_>>) -> Result<u64> {
        let before = self.len();
        let room = self.memory_bytes.saturating_sub(self.held_bytes);
        let read_bytes = (room / READ_SHARE).min(READ_BYTES_MAX);
        self.held_bytes += read_bytes;
        let done = self.read_all(op, &inputs, read_bytes);
        self.held_bytes -= read_bytes;
        if done.is_err() {
            self.truncate(before);
        }
        done.map(|()| (self.len() - before) as u64)
    }

    fn read_all(&mut self, op: Op, inputs: &[Input<'_>], read_bytes: u64) -> Result<()> {
        let weights = self.weights.filter(|_| op != Op::Delete);
        let (has_names, directed) = (self.kind == IdKind::Strings, self.directed);
        let watch = self.watch.clone();
        let progress = CancelledBy(move || watch.check().is_err());
        let mut failure = None;
        let mut visit = |pair: [IdRef<'_>; 2], weight: Option<Weight>| {
            failure = self.push(op, pair, weight).err();
            failure.is_none()
        };
        let bytes = usize::try_from(read_bytes).unwrap_or(usize::MAX);
        let read =
            for_each_edge(inputs, has_names, directed, weights, bytes, &progress, &mut visit);
        match (failure, read) {
            (Some(error), _) => Err(error),
            (None, Ok(())) => Ok(()),
            // An input that is no list of edges is no corrupt graph.
            (None, Err(error @ ImportError::Format { .. })) => {
                Err(Error::InvalidInput(error.to_string()))
            }
            (None, Err(ImportError::Memory { given, needed, what, .. })) => {
                // Blocks of text grow with the memory, too.
                let needed = needed.saturating_add(needed / 16);
                let more = (needed.saturating_sub(given) as u64).saturating_mul(READ_SHARE);
                let needed = self.memory_bytes.saturating_add(more);
                Err(Error::MemoryBudget {
                    what: "reading edges".to_owned(),
                    given: self.memory_bytes,
                    needed,
                    suggested: needed.div_ceil(1 << 20),
                    breakdown: format!(
                        "{read_bytes} for reading, a quarter of what changes may take; it ended \
                         with {what}"
                    ),
                })
            }
            (None, Err(error)) => Err(error.into()),
        }
    }
}
