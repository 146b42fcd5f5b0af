//! One list after another, one page in memory: what verifiers read by, apart from the engine.

use cenote_device::{Buffer, read_exact};
use cenote_store::{Adjacency, Decoded, Direction, Graph, List};

use crate::error::Result;

/// Pages per read.
const BATCH_PAGES: u64 = 64;

/// Calls `take` for every list, or piece of one, in file order, on this thread.
///
/// # Panics
/// If `direction` is [`Direction::In`] on a directed graph without in-edges.
pub fn for_each_list(
    graph: &Graph,
    direction: Direction,
    mut take: impl FnMut(&List<'_>),
) -> Result<()> {
    let adjacency: &Adjacency = graph.adjacency(direction).expect("the caller asked for in-edges");
    let page_bytes = graph.page_bytes();
    let mut buffer = Buffer::new(BATCH_PAGES as usize * page_bytes)?;
    let mut decoded = Decoded::new();
    let mut page = 0;
    while page < adjacency.pages() {
        let count = BATCH_PAGES.min(adjacency.pages() - page);
        let offset = (adjacency.first_page() + page) * page_bytes as u64;
        let len = count as usize * page_bytes;
        buffer = read_exact(graph.device().as_ref(), offset, len, buffer)?;
        for (i, bytes) in buffer[..len].chunks_exact(page_bytes).enumerate() {
            let view = adjacency.parse(page + i as u64, bytes, &mut decoded)?;
            view.lists().for_each(|list| take(&list));
        }
        page += count;
    }
    Ok(())
}
