//! Replays through a pool.

use cenote::memory::size;
use cenote::report::format::count;
use cenote::report::page::{Page, Table};

use super::Replayed;
use crate::pool::PoolReplay;
use crate::pool::row::Row;

const NONE: &str = "-";

/// Columns of text; the others hold numbers.
const WORDS: usize = 4;

impl PoolReplay {
    /// The device, and a line for each load.
    pub fn lines(&self) -> String {
        let PoolReplay { device, page_bytes, seed, cleaner_batch, loads, rows, .. } = self;
        let first = &rows[0];
        let mut lines = vec![format!(
            "{device}: alpha {:.2}, k_r {}, k_w {}; n_w {}, cleaner's batch {cleaner_batch}; pages \
             of {}, seed {seed}",
            first.alpha,
            first.k_r,
            first.k_w,
            first.n_w,
            size(*page_bytes),
        )];
        lines.extend(loads.iter().map(|load| {
            let (ops, pages, frames) =
                (count(load.ops), count(load.pages), count(load.frames as u64));
            format!("{}: {ops} accesses to {pages} pages, pool of {frames}", load.name)
        }));
        lines.join("\n")
    }

    /// All rows in one table.
    pub fn table(&self) -> Table {
        let swept = self.rows.iter().find_map(|row| row.sweep.as_ref()).map(|sweep| sweep.name);
        let mut header = vec!["workload", "policy", "writer", "prefetch"];
        header.extend(swept);
        header.extend(["seconds", "hits", "reads", "writes", "extra", "batches"]);
        header.extend(["speedup", "PIO", "curves"]);
        Table {
            title: String::new(),
            header: header.into_iter().map(str::to_owned).collect(),
            words: WORDS,
            rows: self.rows.iter().map(cells).collect(),
        }
    }

    /// A report to look at; `command` is the call that it quotes.
    pub fn page(&self, command: Option<&str>) -> Page {
        let replayed = Replayed {
            title: "Pool replay",
            subject: &self.device,
            lines: &self.lines(),
            chart: self.chart(),
            highest: true,
            table: self.table(),
            replay: self,
        };
        replayed.page(command)
    }
}

fn cells(row: &Row) -> Vec<String> {
    let mut cells: Vec<String> =
        [&row.workload, row.policy, row.writer, row.prefetch].map(str::to_owned).into();
    cells.extend(row.sweep.as_ref().map(|sweep| sweep.value.to_string()));
    let hit_share = row.hits as f64 / (row.hits + row.misses).max(1) as f64;
    // These writers work in the background, which the predictions leave out.
    let predicted = |speedup: f64| match row.writer {
        "cleaner" | "ace-bg" => NONE.to_owned(),
        _ => format!("{speedup:.2}"),
    };
    let extra = row.extra_writes.filter(|_| row.writer != "classical");
    cells.extend([
        seconds(row),
        format!("{:.1}%", hit_share * 100.0),
        count(row.misses + row.prefetched),
        count(row.logical_writes),
        extra.map_or(NONE.to_owned(), |extra| format!("{:+.2}%", extra * 100.0)),
        count(row.write_batches),
        row.speedup.map_or(NONE.to_owned(), |speedup| format!("{speedup:.2}")),
        predicted(row.pio_speedup),
        predicted(row.curve_speedup),
    ]);
    cells
}

/// The median, and the range of the repetitions.
fn seconds(row: &Row) -> String {
    let digits = if row.seconds < 10.0 { 3 } else { 1 };
    let median = format!("{:.digits$}", row.seconds);
    if row.repeats == 1 {
        return median;
    }
    format!("{median} ({:.digits$}..{:.digits$})", row.seconds_min, row.seconds_max)
}
