//! The changes of a batch by the user's ids, as compact columns.

use cenote_store::superblock::IdKind;
use cenote_store::{IdColumn, IdRef, Op, Value, Weight};

/// Bytes that a change takes at most until its commit ends, without the text of ids: 17 to 33 here,
/// the sorted ids and their vertices, the stored batch with its answers, entries to be sorted.
const CHANGE_BYTES: u64 = 256;

/// And with a weight: here and in the stored batch, and those of the lists.
const WEIGHT_BYTES: u64 = 64;

/// The text of an id is here, and once more if it is new.
const TEXT_COPIES: u64 = 2;

/// The changes of a batch.
#[derive(Debug)]
pub(super) struct Changes {
    ops: Vec<Op>,
    /// Two for each change.
    ends: IdColumn,
    /// One for each change of a graph with weights, else none.
    weights: Vec<Option<Weight>>,
    is_weighted: bool,
    /// One for each change that sets a value.
    values: Vec<Value>,
}

impl Changes {
    pub fn new(kind: IdKind, is_weighted: bool) -> Self {
        let ends = IdColumn::new(kind);
        Self { ops: Vec::new(), ends, weights: Vec::new(), is_weighted, values: Vec::new() }
    }

    pub fn len(&self) -> usize {
        self.ops.len()
    }

    /// The bytes of memory until the end of the commit, with a further change of so many bytes of
    /// text.
    pub fn bytes_with(&self, text: usize) -> u64 {
        let own = self.ends.text_bytes() as u64;
        let change = CHANGE_BYTES + if self.is_weighted { WEIGHT_BYTES } else { 0 };
        (self.len() as u64 + 1) * change + (own + text as u64) * TEXT_COPIES
    }

    /// Adds a change; its ids are of the kind of the graph's.
    pub fn push(&mut self, op: Op, pair: [IdRef<'_>; 2], weight: Option<Weight>) {
        self.ops.push(op);
        if self.is_weighted {
            self.weights.push(weight);
        }
        pair.into_iter().for_each(|id| self.ends.push(id));
    }

    pub fn clear(&mut self) {
        self.ops.clear();
        self.weights.clear();
        self.values.clear();
        self.ends.clear();
    }

    /// The changes in order.
    pub fn iter(&self) -> impl Iterator<Item = (Op, [IdRef<'_>; 2])> {
        (0..self.len()).map(|at| (self.ops[at], [self.ends.get(2 * at), self.ends.get(2 * at + 1)]))
    }

    /// The weight of a change; nothing in a graph without weights.
    pub fn weight(&self, at: usize) -> Option<Option<Weight>> {
        self.weights.get(at).copied()
    }

    /// Adds the value that the last change sets.
    pub fn push_value(&mut self, value: Value) {
        self.values.push(value);
    }

    /// The values that changes set, in their order.
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    /// All ids, each once, ascending; and the places among them of the ends, two for each change.
    pub fn distinct(&self) -> (Vec<IdRef<'_>>, Vec<usize>) {
        self.ends.distinct()
    }
}
