//! Bitmaps and frontiers compared with a tree set.

use std::collections::BTreeSet;

use cenote_engine::{ActiveSet, Bitmap, Frontier, FrontierPart, VertexId};

use crate::random::Random;
use crate::{Outcome, demand};

/// Applies random operations to both and compares all results.
pub fn agree(random: &mut Random) -> Outcome {
    let len = 1 + random.index(3000);
    bitmap(random, len)?;
    frontier(random, len)
}

fn failed(error: cenote_engine::DeviceError) -> String {
    format!("no memory for a set: {error}")
}

fn vertex(random: &mut Random, len: usize) -> VertexId {
    random.index(len) as VertexId
}

/// A range within the set, often with an end at a word boundary.
fn range(random: &mut Random, len: usize) -> std::ops::Range<VertexId> {
    let mut end = || {
        let v = random.index(len + 1);
        if random.chance(30) { v / 64 * 64 } else { v }
    };
    let (a, b) = (end(), end());
    a as VertexId..b as VertexId
}

fn bitmap(random: &mut Random, len: usize) -> Outcome {
    let mut set = Bitmap::new(len).map_err(failed)?;
    let mut tree = BTreeSet::new();
    for _ in 0..200 {
        let v = vertex(random, len);
        match random.below(10) {
            0..4 => {
                let same = set.insert(v) == tree.insert(v);
                demand(same, || format!("insert({v}) returns something else"))?;
            }
            4..6 => {
                set.remove(v);
                tree.remove(&v);
            }
            6 => {
                let other = Bitmap::new(len).map_err(failed)?;
                for v in (0..random.below(9)).map(|_| vertex(random, len)) {
                    other.insert(v);
                    tree.insert(v);
                }
                set.merge(&other);
            }
            7 if random.chance(10) => {
                set.clear();
                tree.clear();
            }
            _ => any_in(&ActiveSet::NotIn(&set), &range(random, len), |v| !tree.contains(&v))?,
        }
        let same = set.contains(v) == tree.contains(&v) && set.count() == tree.len() as u64;
        demand(same, || format!("the bitmap of {len} disagrees about {v} or its count"))?;
    }
    demand(set.iter().eq(tree), || format!("the bitmap of {len} lists other vertices"))
}

fn any_in(
    wanted: &ActiveSet<'_>,
    range: &std::ops::Range<VertexId>,
    is_wanted: impl Fn(VertexId) -> bool,
) -> Outcome {
    let expected = range.clone().any(is_wanted);
    let found = wanted.any_in(range.clone());
    demand(found == expected, || format!("any_in({range:?}) is {found}"))
}

fn frontier(random: &mut Random, len: usize) -> Outcome {
    let mut frontier = Frontier::new(len).map_err(failed)?;
    for _ in 0..6 {
        let mut tree = BTreeSet::new();
        let few = random.chance(50);
        let count = random.index(if few { 12 } else { len });
        let added: Vec<VertexId> = (0..count).map(|_| vertex(random, len)).collect();
        if random.chance(50) {
            frontier.set(&added);
            tree.extend(added);
        } else {
            frontier.clear();
            let workers = 1 + random.index(4);
            let mut parts: Vec<_> = (0..workers).map(|_| FrontierPart::default()).collect();
            for v in added {
                let is_new = frontier.add(v, &mut parts[random.index(workers)]);
                demand(is_new == tree.insert(v), || format!("add({v}) returns something else"))?;
            }
            frontier.seal(parts);
        }
        compare(&frontier, &tree, len)?;
        any_in(&ActiveSet::In(&frontier), &range(random, len), |v| tree.contains(&v))?;
    }
    Ok(())
}

fn compare(frontier: &Frontier, tree: &BTreeSet<VertexId>, len: usize) -> Outcome {
    let context = || format!("the frontier of {len} disagrees with {} vertices", tree.len());
    demand(frontier.count() == tree.len() as u64, context)?;
    demand(frontier.is_empty() == tree.is_empty(), context)?;
    demand(frontier.bits().iter().eq(tree.iter().copied()), context)?;
    let listed = frontier.list().is_none_or(|list| list.iter().eq(tree));
    demand(listed, context)
}
