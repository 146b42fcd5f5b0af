//! How long it takes to open a graph with a full log, and after it is merged:
//! `open_bench FILE CHANGES`.
//!
//! Commits small batches of so many random edges each until the log is nearly full, in bytes or in
//! changes; the file should be one that may be thrown away. Then the graph is
//! opened for reading and for changes, three times each, is merged, and opened again. Each opening
//! ends with the list of one vertex or a first change, so that indexes are loaded. Prints a JSON
//! row each.

#![expect(clippy::print_stdout, reason = "it prints what it measures")]

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use cenote::{Graph, Update};
use serde_json::json;

/// Changes that the log of a graph takes.
const CHANGES_MAX: u64 = 1 << 18;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, changes] = arguments.as_slice() else {
        return Err("usage: open_bench FILE CHANGES".into());
    };
    let (path, commits) = (Path::new(file), fill(Path::new(file), changes.parse()?)?);
    measure(path, "full log", commits)?;
    Update::open(path)?.merge()?;
    measure(path, "merged", commits)
}

/// Commits batches until the log has 98 of 100 of the bytes or of the changes that it takes; how
/// many. A block of the log is a page, and holds a batch of up to 168 changes.
fn fill(path: &Path, changes: usize) -> Outcome<u64> {
    let graph = Graph::open(path)?;
    let (ids, vertices) = (graph.ids()?, graph.vertices());
    let mut random = 1_u64;
    let mut next = || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        ids.id_of(((random >> 20) % vertices) as u32)
    };
    let mut update = Update::options().synced(false).open(path)?;
    let (mut commits, mut commits_max) = (0, u64::MAX);
    while commits < commits_max && update.logged() < CHANGES_MAX / 100 * 98 {
        for _ in 0..changes {
            update.add(next()?, next()?)?;
        }
        update.commit()?;
        if commits == 0 {
            let info = Graph::open(path)?.info()?;
            commits_max = info.log_bytes / u64::from(info.page_size) / 100 * 98;
        }
        commits += 1;
    }
    Ok(commits)
}

fn measure(path: &Path, what: &str, commits: u64) -> Outcome<()> {
    for round in 0..3 {
        let started = Instant::now();
        let graph = Graph::open(path)?;
        let id = graph.ids()?.id_of(0)?;
        let lists = graph.neighbors().of(id).threads(1).collect()?;
        let read = started.elapsed().as_secs_f64();
        let info = graph.info()?;
        drop(graph);
        let started = Instant::now();
        let update = Update::open(path)?;
        let changed = started.elapsed().as_secs_f64();
        drop(update);
        println!(
            "{}",
            json!({"bench": "open", "what": what, "round": round, "degree": lists[0].len(),
                   "commits": commits, "logged_changes": info.logged_changes,
                   "log_bytes": info.log_bytes, "file_bytes": info.file_bytes,
                   "pages": info.pages, "reading_seconds": read, "changing_seconds": changed})
        );
    }
    Ok(())
}
