//! Writes the values of vertices that a batch changes.

use std::collections::BTreeMap;

use crate::VertexId;
use crate::error::Result;
use crate::format::Codec;
use crate::graph::Graph;
use crate::sink::PageTarget;
use crate::store::draft::{Draft, SectionEdit};
use crate::superblock::SectionKind;
use crate::values::{StoredValues, ValueType, fill, per_page};

/// Bits of the new values by vertex; `None` where a vertex has none any more.
pub(super) type ChangedValues = BTreeMap<VertexId, Option<u64>>;

/// Writes the pages in which a value changes; what a page cannot hold goes to new ones behind it.
/// Whether any value changed. `kind` is the type of new values, if there are any.
pub(super) fn write_values(
    draft: &mut Draft<'_>,
    graph: &Graph,
    kind: Option<ValueType>,
    changed: &ChangedValues,
) -> Result<bool> {
    let stored = StoredValues::open(&graph.pages)?;
    let section = stored.as_ref().map(StoredValues::section);
    let (pages, before) = section.map_or((0, 0), |section| (section.pages, section.items));
    let (mut items, mut kept_to, mut is_changed) = (before, 0, false);
    let mut edit = SectionEdit::new(draft)?;
    let mut changed = changed.iter().map(|(vertex, bits)| (*vertex, *bits)).peekable();
    while let Some(&(vertex, _)) = changed.peek() {
        let (mut old, mut page, mut end) = (Vec::new(), 0, None);
        if let Some(stored) = &stored {
            page = stored.page_of(vertex)?;
            old = stored.with_page(page, |page| page.items().collect())?;
            if page + 1 < pages {
                end = Some(stored.with_page(page + 1, |page| page.vertices[0])?);
            }
        }
        let mut own = ChangedValues::new();
        while let Some((vertex, bits)) =
            changed.next_if(|(vertex, _)| end.is_none_or(|end| *vertex < end))
        {
            own.insert(vertex, bits);
        }
        let new = merged(&old, own);
        if new == old {
            continue;
        }
        is_changed = true;
        items = items - old.len() as u64 + new.len() as u64;
        edit.keep(kept_to..page);
        kept_to = pages.min(page + 1);
        let count = new.len().div_ceil(per_page(edit.page_bytes())).max(1);
        for some in new.chunks(new.len().div_ceil(count).max(1)) {
            let header = fill(edit.page(), some);
            edit.seal(header)?;
        }
    }
    edit.keep(kept_to..pages);
    if !is_changed {
        return Ok(false);
    }
    if items == 0 {
        drop(edit);
        draft.remove(SectionKind::VertexValues);
        draft.superblock().value_type = None;
        return Ok(true);
    }
    edit.finish(SectionKind::VertexValues, Codec::Raw, items);
    let superblock = draft.superblock();
    superblock.value_type = superblock.value_type.or(kind);
    Ok(true)
}

fn merged(old: &[(VertexId, u64)], mut changed: ChangedValues) -> Vec<(VertexId, u64)> {
    for (vertex, bits) in old {
        changed.entry(*vertex).or_insert(Some(*bits));
    }
    changed.into_iter().filter_map(|(vertex, bits)| Some((vertex, bits?))).collect()
}
