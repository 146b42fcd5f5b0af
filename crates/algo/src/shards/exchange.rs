//! Values that shards send each other.
//!
//! Two shards exchange values of a fixed list of vertices: the boundary vertices of the one that
//! the other owns, ascending. So a message need not name vertices: it has the values of all of
//! them, or of a few with their positions in the list, whichever is shorter.

use cenote_engine::{Bitmap, HugeVec, VertexId};

use super::Part;
use super::state::{Item, Values, items};
use crate::parallel;

const POSITION_BYTES: usize = size_of::<u32>();

/// Values of a list of vertices: of all, or of those at some positions.
#[derive(Clone, Debug)]
pub struct Message {
    /// Ascending positions in the list; `None` for all.
    pub positions: Option<Vec<u32>>,
    /// A value for each of them.
    pub values: Values,
}

/// A message that arrived: bytes as they lie in memory of little-endian machines.
#[derive(Clone, Copy, Debug)]
pub struct Received<'a> {
    /// Four bytes a position; `None` for all.
    pub positions: Option<&'a [u8]>,
    /// The values.
    pub values: &'a [u8],
}

/// The shorter form of a message with the values at the positions below `len` that are `present`.
/// Where that is shorter, values elsewhere are sent too: the receiver must be able to ignore them.
fn encode<T: Item>(
    len: usize,
    present: impl Fn(usize) -> bool,
    value: impl Fn(usize) -> T,
) -> Option<Message> {
    let count = (0..len).filter(|&at| present(at)).count();
    if count == 0 {
        return None;
    }
    if !is_shorter_with_positions::<T>(count, len) {
        let values = T::values((0..len).map(value).collect());
        return Some(Message { positions: None, values });
    }
    let mut positions = Vec::with_capacity(count);
    positions.extend((0..len).filter(|&at| present(at)).map(|at| at as u32));
    let values = T::values(positions.iter().map(|&at| value(at as usize)).collect());
    Some(Message { positions: Some(positions), values })
}

/// Whether so many values with their positions take fewer bytes than those of all `len` positions.
fn is_shorter_with_positions<T>(count: usize, len: usize) -> bool {
    count * (POSITION_BYTES + size_of::<T>()) < len * size_of::<T>()
}

/// The shorter form of a message with these values at ascending positions below `len`; `none` is
/// sent for the others if all positions are sent.
pub(super) fn message<T: Item>(
    len: usize,
    positions: Vec<u32>,
    values: Vec<T>,
    none: T,
) -> Option<Message> {
    if positions.is_empty() {
        return None;
    }
    if is_shorter_with_positions::<T>(positions.len(), len) {
        return Some(Message { positions: Some(positions), values: T::values(values) });
    }
    let mut all = vec![none; len];
    positions.into_iter().zip(values).for_each(|(at, value)| all[at as usize] = value);
    Some(Message { positions: None, values: T::values(all) })
}

/// Messages to the owners with values of their vertices in the boundary here.
pub(super) fn to_owners<T: Item>(
    part: &Part,
    present: impl Fn(VertexId) -> bool + Sync,
    value: impl Fn(VertexId) -> T + Sync,
) -> Vec<Option<Message>> {
    parallel::collect_each(part.runs.len(), |to| {
        let run = part.boundary_of(to);
        let vertex = |at: usize| run.start + at as VertexId;
        encode(run.len(), |at| present(vertex(at)), |at| value(vertex(at)))
    })
}

/// The same of boundary vertices in a set, in a time that depends on how many these are; `none` is
/// sent for the others if that is shorter.
pub(super) fn members_to_owners<T: Item>(
    part: &Part,
    set: &Bitmap,
    none: T,
    value: impl Fn(VertexId) -> T + Sync,
) -> Vec<Option<Message>> {
    parallel::collect_each(part.runs.len(), |to| {
        let run = part.boundary_of(to);
        let positions: Vec<u32> = set.iter_in(run.clone()).map(|v| v - run.start).collect();
        let values = positions.iter().map(|at| value(run.start + at)).collect();
        message(run.len(), positions, values, none)
    })
}

/// Messages with values of own vertices to the shards that have them in their boundary.
pub(super) fn to_mirrors<T: Item>(
    part: &Part,
    present: impl Fn(VertexId) -> bool + Sync,
    value: impl Fn(VertexId) -> T + Sync,
) -> Vec<Option<Message>> {
    let first = part.own().start;
    parallel::collect_each(part.mirrored.len(), |to| {
        let own = &part.mirrored[to];
        let vertex = |at: usize| first + own[at];
        encode(own.len(), |at| present(vertex(at)), |at| value(vertex(at)))
    })
}

/// The same of own vertices in a set, as [`members_to_owners`].
pub(super) fn members_to_mirrors<T: Item>(
    part: &Part,
    set: &Bitmap,
    none: T,
    value: impl Fn(VertexId) -> T + Sync,
) -> Vec<Option<Message>> {
    let first = part.own().start;
    parallel::collect_each(part.mirrored.len(), |to| {
        let own = &part.mirrored[to];
        let (mut at, mut positions) = (0, Vec::new());
        for v in set.iter_in(part.own()) {
            at += own[at..].iter().take_while(|&&mirrored| mirrored < v - first).count();
            if own.get(at) == Some(&(v - first)) {
                positions.push(at as u32);
            }
        }
        let values = positions.iter().map(|&at| value(first + own[at as usize])).collect();
        message(own.len(), positions, values, none)
    })
}

/// Calls `take` with position and value of each item of a message.
pub(super) fn for_each<T: Item>(message: &Received<'_>, mut take: impl FnMut(usize, T)) {
    let values = items::<T>(message.values);
    match message.positions {
        None => values.enumerate().for_each(|(at, value)| take(at, value)),
        Some(positions) => {
            items::<u32>(positions).zip(values).for_each(|(at, value)| take(at as usize, value));
        }
    }
}

/// Calls `take` with each own vertex for which a shard sent a value, and the value.
pub(super) fn from_mirrors<T: Item>(
    part: &Part,
    inbox: &[Option<Received<'_>>],
    mut take: impl FnMut(VertexId, T),
) {
    let first = part.own().start;
    for (own, message) in part.mirrored.iter().zip(inbox) {
        if let Some(message) = message {
            for_each(message, |at, value| take(first + own[at], value));
        }
    }
}

/// Calls `take` with each boundary vertex for which its owner sent a value, and the value.
pub(super) fn from_owners<T: Item>(
    part: &Part,
    inbox: &[Option<Received<'_>>],
    mut take: impl FnMut(VertexId, T),
) {
    for (run, message) in part.runs.iter().zip(inbox) {
        if let Some(message) = message {
            for_each(message, |at, value| take(run.start + at as VertexId, value));
        }
    }
}

/// Messages that send nothing.
pub(super) fn quiet(part: &Part) -> Vec<Option<Message>> {
    part.runs.iter().map(|_| None).collect()
}

/// How many values messages have.
pub(super) fn sent(messages: &[Option<Message>]) -> u64 {
    messages.iter().flatten().map(|message| message.values.len() as u64).sum()
}

/// An array of so many values, each set by `store`.
pub(super) fn filled<T>(len: usize, store: impl Fn(&T) + Sync) -> crate::Result<HugeVec<T>>
where
    T: bytemuck::Zeroable + Send + Sync,
{
    let array = HugeVec::<T>::zeroed(len)?;
    parallel::for_each_of(&array, |_, value| store(value));
    Ok(array)
}
