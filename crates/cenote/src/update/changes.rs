//! The changes of a batch by the user's ids, as compact columns.

use cenote_store::superblock::IdKind;
use cenote_store::{IdColumn, IdRef, Op, Value, Weight};

/// Bytes that a change takes at most until its commit ends, without the text of ids and what new
/// ids take: 17 to 33 here, the sorted ids and their vertices, the stored batch with its answers,
/// entries to be sorted, and those of lists. Measured: 68 to 72.
const CHANGE_BYTES: u64 = 96;

/// The same where ids are the numbers of their vertices, so that none are sorted and looked up, in
/// a graph without weights and copies of edges. Measured: 39.
const OWN_NUMBERS_BYTES: u64 = 64;

/// Of these, what a change takes that waits for a later commit.
const WAITING_BYTES: u64 = 40;

/// Bytes for each id that is new, as the id of a vertex and for its list. Measured: 95 to 103.
const NEW_ID_BYTES: u64 = 120;

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
    /// Ids below this are the numbers of their vertices.
    own_numbers: u64,
    /// Whether all ids are.
    has_own_numbers: bool,
}

impl Changes {
    pub fn new(kind: IdKind, is_weighted: bool) -> Self {
        let (ops, ends) = (Vec::new(), IdColumn::new(kind));
        let (weights, values) = (Vec::new(), Vec::new());
        Self { ops, ends, weights, is_weighted, values, own_numbers: 0, has_own_numbers: true }
    }

    /// Ids below this are the numbers of their vertices, from now on. It does not fall.
    pub fn set_own_numbers(&mut self, own_numbers: u64) {
        self.own_numbers = own_numbers;
    }

    pub fn len(&self) -> usize {
        self.ops.len()
    }

    /// The bytes of memory until the end of the commit, without those of new ids.
    pub fn bytes(&self) -> u64 {
        self.bytes_of(self.len(), 0)
    }

    /// The bytes of memory until the end of the commit, with a further change of these ids, without
    /// those of new ids.
    pub fn bytes_with(&self, pair: [IdRef<'_>; 2]) -> u64 {
        let text = self.ends.text_bytes() + text_bytes(pair);
        let has_own_numbers = self.has_own_numbers && self.are_own_numbers(pair);
        (self.len() as u64 + 1) * self.change_bytes(has_own_numbers) + text as u64 * TEXT_COPIES
    }

    /// The bytes of memory until the end of a commit of the first so many, with so many new ids.
    pub fn bytes_of(&self, changes: usize, new_ids: usize) -> u64 {
        let waiting = (self.len() - changes) as u64 * WAITING_BYTES;
        let text = self.ends.text_bytes() as u64 * TEXT_COPIES;
        let change = self.change_bytes(self.has_own_numbers && new_ids == 0);
        waiting + changes as u64 * change + new_ids as u64 * NEW_ID_BYTES + text
    }

    fn change_bytes(&self, has_own_numbers: bool) -> u64 {
        match has_own_numbers {
            _ if self.is_weighted => CHANGE_BYTES + WEIGHT_BYTES,
            true => OWN_NUMBERS_BYTES,
            false => CHANGE_BYTES,
        }
    }

    fn are_own_numbers(&self, pair: [IdRef<'_>; 2]) -> bool {
        pair.iter().all(|id| matches!(id, IdRef::Integer(id) if *id < self.own_numbers))
    }

    /// Adds a change; its ids are of the kind of the graph's.
    pub fn push(&mut self, op: Op, pair: [IdRef<'_>; 2], weight: Option<Weight>) {
        self.ops.push(op);
        self.has_own_numbers &= self.are_own_numbers(pair);
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
        self.has_own_numbers = true;
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

    /// Calls `find` with all ids, each once, ascending, so many at a time at most. Returns the
    /// places among them of the ends, two for each change.
    pub fn for_distinct<E>(
        &self,
        most: usize,
        find: &mut dyn FnMut(&[IdRef<'_>]) -> Result<(), E>,
    ) -> Result<Vec<u32>, E> {
        self.ends.for_distinct(most, find)
    }

    /// The ends, two for each change, if all are numbers below this one.
    pub fn integers_below(&self, end: u64) -> Option<&[u64]> {
        self.ends.integers_below(end)
    }

    /// The ops, one for each change.
    pub fn ops(&self) -> &[Op] {
        &self.ops
    }

    /// The weights, one for each change of a graph with weights, else none.
    pub fn weights(&self) -> &[Option<Weight>] {
        &self.weights
    }

    /// Removes the first changes.
    pub fn remove_first(&mut self, count: usize) {
        if count == self.len() {
            return self.clear();
        }
        let values = self.values_of(count);
        self.values.drain(..values);
        self.ops.drain(..count);
        if self.is_weighted {
            self.weights.drain(..count);
        }
        self.ends.remove_first(2 * count);
    }

    /// Removes all changes but the first ones.
    pub fn truncate(&mut self, count: usize) {
        if count < self.len() {
            let values = self.values_of(count);
            self.values.truncate(values);
            self.ops.truncate(count);
            self.weights.truncate(count);
            self.ends.truncate(2 * count);
        }
    }

    /// How many of the first changes set a value.
    fn values_of(&self, count: usize) -> usize {
        self.ops[..count].iter().filter(|op| **op == Op::SetValue).count()
    }
}

fn text_bytes(pair: [IdRef<'_>; 2]) -> usize {
    let bytes = |id| match id {
        IdRef::Integer(_) => 0,
        IdRef::String(name) => str::len(name),
    };
    pair.into_iter().map(bytes).sum()
}
