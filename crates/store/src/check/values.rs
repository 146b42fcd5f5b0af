//! Checks the values of vertices: at most one each, and none of a deleted vertex.

use super::{Check, check_pages};
use crate::error::{Result, equal, other};
use crate::superblock::{SECTION, SectionKind};
use crate::values::ValuePage;

pub(super) fn check_values(check: &mut Check<'_>) -> Result<()> {
    let graph = check.graph;
    let superblock = graph.superblock();
    let Some(&section) = superblock.section(SectionKind::VertexValues) else { return Ok(()) };
    let kind = superblock.value_type.expect("the superblock was checked");
    let (mut last, mut count) = (None, 0);
    let sound = check_pages(check, section, &mut |bytes, _| {
        let page = ValuePage::parse(bytes, kind, superblock.vertices)?;
        if last.is_some_and(|last| last >= page.vertices[0]) {
            return Err(other("the vertices of values do not ascend"));
        }
        if let Some(vertex) = page.vertices.iter().find(|vertex| graph.is_deleted(**vertex)) {
            return Err(other(format!("vertex {vertex} is deleted, but has a value")));
        }
        (last, count) = (page.vertices.last().copied(), count + page.vertices.len() as u64);
        Ok(())
    })?;
    match equal("values of vertices", section.items, count) {
        Err(fault) if sound => check.note_page(superblock.slot(), SECTION, fault),
        _ => Ok(()),
    }
}
