//! Serial iteration over all lists with one page in memory, for verifiers.

use cenote_device::{Buffer, read_exact};
use cenote_store::{Decoded, Direction, Graph, List, WeightColumn, WeightPlace, Weights};

use crate::error::Result;
use crate::weight_runs::parts;

/// Calls `take` for every list, or piece of one, in file order on this thread. Without lists of
/// the direction it does nothing.
pub fn for_each_list(
    graph: &Graph,
    direction: Direction,
    mut take: impl FnMut(&List<'_>),
) -> Result<()> {
    graph.scan(direction, &mut |_, page| {
        page.lists().for_each(|list| take(&list));
        Ok(())
    })?;
    Ok(())
}

/// As [`for_each_list`], for single pages, whose numbers count from the first page of lists.
pub fn for_each_list_of(
    graph: &Graph,
    direction: Direction,
    pages: impl IntoIterator<Item = u64>,
    mut take: impl FnMut(&List<'_>),
) -> Result<()> {
    let Some(adjacency) = graph.adjacency(direction) else { return Ok(()) };
    let (device, page_bytes) = (graph.device().as_ref(), graph.page_bytes());
    let (mut buffer, mut decoded) = (Buffer::new(page_bytes)?, Decoded::new());
    for page in pages {
        let offset = graph.physical(adjacency.first_page() + page) * page_bytes as u64;
        buffer = read_exact(device, offset, page_bytes, buffer)?;
        adjacency.parse(page, &buffer, &mut decoded)?.lists().for_each(|list| take(&list));
    }
    Ok(())
}

/// As [`for_each_list`], with the weights of each piece if the graph has weights; pieces also end
/// where a page of weights ends.
pub fn for_each_weighted_list(
    graph: &Graph,
    direction: Direction,
    mut take: impl FnMut(&List<'_>, Option<Weights<'_>>),
) -> Result<()> {
    let Some(column) = graph.load_weights(direction)? else {
        return for_each_list(graph, direction, |list| take(list, None));
    };
    let adjacency = graph.adjacency(direction).expect("the caller asked for in-edges");
    let mut stored = StoredWeights { graph, column, buffer: None };
    graph.scan(direction, &mut |number, page| {
        let runs = adjacency.weight_runs_of(number, column, &page, 0..page.entries().len())?;
        let mut end = 0;
        for list in page.lists() {
            let entries = end..end + list.targets.len();
            end = entries.end;
            for (part, place) in parts(list, entries, &runs) {
                match place {
                    WeightPlace::Stored(address) => stored.pieces(part, address, &mut take)?,
                    WeightPlace::Logged(weights) => take(&part, Some(weights)),
                }
            }
        }
        Ok(())
    })?;
    Ok(())
}

/// Weights on the device, of which the page that was read last is in memory.
struct StoredWeights<'g> {
    graph: &'g Graph,
    column: &'g WeightColumn,
    buffer: Option<(u64, Buffer)>,
}

impl StoredWeights<'_> {
    /// Calls `take` with the pieces of a list whose weights begin at `address`.
    fn pieces(
        &mut self,
        mut rest: List<'_>,
        mut address: u64,
        take: &mut impl FnMut(&List<'_>, Option<Weights<'_>>),
    ) -> cenote_store::Result<()> {
        let per_page = self.column.per_page() as u64;
        while !rest.targets.is_empty() {
            let page = address / per_page;
            let bytes = match self.buffer.take().filter(|(held, _)| *held == page) {
                Some((_, bytes)) => bytes,
                None => self.read(page)?,
            };
            let weights = self.column.reparse(page, &bytes);
            let from = (address % per_page) as usize;
            let now = rest.targets.len().min(weights.len() - from);
            let piece = List { targets: &rest.targets[..now], ..rest };
            take(&piece, Some(weights.slice(from..from + now)));
            let skip = rest.skip + now as u64;
            rest = List { skip, targets: &rest.targets[now..], ..rest };
            address += now as u64;
            self.buffer = Some((page, bytes));
        }
        Ok(())
    }

    fn read(&self, page: u64) -> cenote_store::Result<Buffer> {
        let page_bytes = self.graph.page_bytes();
        let offset = self.graph.physical(self.column.first_page() + page) * page_bytes as u64;
        let device = self.graph.device().as_ref();
        let bytes = read_exact(device, offset, page_bytes, Buffer::new(page_bytes)?)?;
        self.column.parse(page, &bytes)?;
        Ok(bytes)
    }
}
