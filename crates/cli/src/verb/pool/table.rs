//! Prints the rows of a replay as a table.

use cenote_replay::pool::row::Row;
use comfy_table::Table;

use crate::output::{self, count};

const NONE: &str = "-";

/// Columns of text; the others hold numbers.
pub const WORDS: usize = 4;

/// All rows in one table.
pub fn table(rows: &[Row]) -> Table {
    let swept = rows.iter().find_map(|row| row.sweep.as_ref()).map(|sweep| sweep.name);
    let mut header = vec!["workload", "policy", "writer", "prefetch"];
    header.extend(swept);
    header.extend(["seconds", "hits", "reads", "writes", "extra", "batches"]);
    header.extend(["speedup", "PIO", "curves"]);
    output::table(header, rows.iter().map(cells), WORDS)
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
