//! The values of vertices that changed between two states of a graph.

use super::stored::StoredValues;
use super::value::Value;
use crate::VertexId;
use crate::diff::check_comparable;
use crate::error::{Result, StoreError};
use crate::graph::Graph;

/// Calls `visit` with every vertex of `after` that has another value than in `before`: first with
/// those that have none any more, then with the others, each ascending by vertex. A deleted vertex
/// is passed over. Returns how many values were set, and how many removed. Pages that the two
/// states share are not read.
///
/// # Errors
/// [`StoreError::NotComparable`] if they are not states of one graph; errors of reading, and those
/// of `visit`, which end it.
pub fn for_each_changed_value<E: From<StoreError>>(
    before: &Graph,
    after: &Graph,
    visit: &mut dyn FnMut(VertexId, Option<Value>) -> Result<(), E>,
) -> Result<(u64, u64), E> {
    check_comparable(before, after)?;
    let (mut set, mut removed) = (0, 0);
    if before.superblock().value_type.is_some() {
        for_each_change(before, after, &mut |vertex, value| {
            if value.is_some() || after.is_deleted(vertex) {
                return Ok(());
            }
            removed += 1;
            visit(vertex, None)
        })?;
    }
    for_each_change(before, after, &mut |vertex, value| {
        if value.is_none() {
            return Ok(());
        }
        set += 1;
        visit(vertex, value)
    })?;
    Ok((set, removed))
}

/// Calls `visit` with the new value of each vertex that has another one, ascending.
fn for_each_change<E: From<StoreError>>(
    before: &Graph,
    after: &Graph,
    visit: &mut dyn FnMut(VertexId, Option<Value>) -> Result<(), E>,
) -> Result<(), E> {
    let [mut old, mut new] = [Side::new(before)?, Side::new(after)?];
    loop {
        while old.skips_with(&new, before, after) {
            old.page += 1;
            new.page += 1;
        }
        let (vertex, value) = match (old.item()?, new.item()?) {
            (None, None) => return Ok(()),
            (Some((a, before)), Some((b, after))) if a == b => {
                (old.at, new.at) = (old.at + 1, new.at + 1);
                if before == after {
                    continue;
                }
                (b, Some(after))
            }
            (Some((a, _)), later) if later.is_none_or(|(b, _)| a < b) => {
                old.at += 1;
                (a, None)
            }
            (_, later) => {
                new.at += 1;
                let (vertex, value) = later.expect("one of the two has an item");
                (vertex, Some(value))
            }
        };
        visit(vertex, value)?;
    }
}

/// The values of one state, page by page.
struct Side<'g> {
    stored: Option<StoredValues<'g>>,
    /// The next page.
    page: u64,
    items: Vec<(VertexId, Value)>,
    at: usize,
}

impl<'g> Side<'g> {
    fn new(graph: &'g Graph) -> Result<Self> {
        let stored = StoredValues::open(&graph.pages)?;
        Ok(Self { stored, page: 0, items: Vec::new(), at: 0 })
    }

    /// The next logical page, if nothing is left of the one before.
    fn next_page(&self) -> Option<u64> {
        let section = self.stored.as_ref()?.section();
        let is_between = self.at == self.items.len() && self.page < section.pages;
        is_between.then_some(section.first_page + self.page)
    }

    /// Whether both are at a page that they share.
    fn skips_with(&self, other: &Self, own: &Graph, others: &Graph) -> bool {
        match (self.next_page(), other.next_page()) {
            (Some(mine), Some(theirs)) => own.same_page(mine, others) == Some(theirs),
            _ => false,
        }
    }

    fn item(&mut self) -> Result<Option<(VertexId, Value)>> {
        if self.next_page().is_some() {
            let stored = self.stored.as_ref().expect("it has a page");
            self.items = stored.with_page(self.page, |page| page.values().collect())?;
            (self.page, self.at) = (self.page + 1, 0);
        }
        Ok(self.items.get(self.at).copied())
    }
}
