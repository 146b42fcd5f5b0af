//! Checks the ids: strictly ascending, hence distinct, and one for every vertex.

use super::{Check, check_pages};
use crate::error::{PageFault, Result, equal, other, zero_behind};
use crate::format::HEADER_BYTES;
use crate::header::PageHeader;
use crate::ids::Records;
use crate::superblock::SectionKind::{AppendedIntegers, AppendedStrings, Integers, Strings};
use crate::words::words;

pub(super) fn check_ids(check: &mut Check<'_>) -> Result<()> {
    let superblock = check.graph.superblock();
    let appended_from = superblock.vertices - superblock.appended();
    let kinds =
        [(Integers, Strings, 0, true), (AppendedIntegers, AppendedStrings, appended_from, false)];
    for (integers, strings, first, ascend) in kinds {
        if let Some(&section) = superblock.section(integers) {
            let mut order =
                IntegerOrder { rest: section.items, position: first, last: None, ascend };
            check_pages(check, section, &mut |bytes, header| order.page(bytes, header))?;
        }
        if let Some(&section) = superblock.section(strings) {
            let mut order = StringOrder { count: first, ascend, ..StringOrder::default() };
            check_pages(check, section, &mut |bytes, _| order.page(bytes))?;
            if ascend && (order.count != section.items || order.records.is_open()) {
                let (what, found) = ("number of ids", order.count);
                let fault = PageFault::Mismatch { what, found, expected: section.items };
                let last = section.first_page + section.pages.saturating_sub(1);
                check.note_page(last, section.kind.name(), fault)?;
            }
        }
    }
    // Loading the appended ids finds ids that occur twice.
    match check.graph.ids() {
        Err(error) if check.report.faults_total == 0 => check.note(error),
        _ => Ok(()),
    }
}

struct IntegerOrder {
    rest: u64,
    position: u64,
    last: Option<u64>,
    ascend: bool,
}

impl IntegerOrder {
    fn page(&mut self, bytes: &[u8], header: &PageHeader) -> Result<(), PageFault> {
        let ids = words(bytes, header, self.rest)?;
        equal("first vertex of a page of ids", header.first.into(), self.position)?;
        for id in ids {
            if self.ascend && self.last.is_some_and(|last| last >= *id) {
                return Err(other(format!("the ids do not ascend at {id}")));
            }
            self.last = Some(*id);
        }
        self.rest -= ids.len() as u64;
        self.position += ids.len() as u64;
        zero_behind("id", &bytes[HEADER_BYTES + ids.len() * 8..])
    }
}

#[derive(Default)]
struct StringOrder {
    records: Records,
    count: u64,
    last: String,
    ascend: bool,
}

impl StringOrder {
    fn page(&mut self, bytes: &[u8]) -> Result<(), PageFault> {
        let (count, last, ascend) = (&mut self.count, &mut self.last, self.ascend);
        let visited = self.records.page(bytes, &mut |name| {
            let (vertex, string) = (name.vertex, name.text()?);
            equal("vertex of an id", vertex.into(), *count)?;
            if ascend && *count > 0 && last.as_str() >= string {
                return Err(other(format!("the ids do not ascend at vertex {vertex}")));
            }
            *count += 1;
            last.clear();
            last.push_str(string);
            Ok(true)
        })?;
        visited.map(drop)
    }
}
