//! Serial iteration over all lists with one page in memory, for verifiers.

use cenote_device::{Buffer, read_exact};
use cenote_store::{Direction, Graph, List, Weights};

use crate::error::Result;

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
    let page_bytes = graph.page_bytes();
    let per_page = column.per_page() as u64;
    let mut buffer = Buffer::new(page_bytes)?;
    let adjacency = graph.adjacency(direction).expect("the caller asked for in-edges");
    let (mut at, mut held, mut of_page) = (0, u64::MAX, u64::MAX);
    let mut failed = Ok(());
    for_each_list(graph, direction, |list| {
        if list.page != of_page {
            of_page = list.page;
            at = column.addresses_of(of_page - adjacency.first_page()).start;
        }
        let mut rest = *list;
        while !rest.targets.is_empty() && failed.is_ok() {
            let page = at / per_page;
            if page != held {
                let offset = graph.physical(column.first_page() + page) * page_bytes as u64;
                let empty = Buffer::new(page_bytes);
                let read = empty.and_then(|buffer| {
                    read_exact(graph.device().as_ref(), offset, page_bytes, buffer)
                });
                match read.map_err(Into::into).and_then(|read| {
                    column.parse(page, &read)?;
                    Ok(read)
                }) {
                    Ok(read) => (buffer, held) = (read, page),
                    Err(error) => {
                        failed = Err(error);
                        return;
                    }
                }
            }
            let weights = column.reparse(page, &buffer);
            let from = (at % per_page) as usize;
            let now = rest.targets.len().min(weights.len() - from);
            let piece = List { targets: &rest.targets[..now], ..rest };
            take(&piece, Some(weights.slice(from..from + now)));
            let skip = rest.skip + now as u64;
            rest = List { skip, targets: &rest.targets[now..], ..rest };
            at += now as u64;
        }
    })?;
    failed
}
