//! Prints the rows of a replay as a table.

use cenote_replay::tier::row::Row;
use comfy_table::Table;

use crate::output::{self, count};

/// Columns of text; the others hold numbers.
pub const WORDS: usize = 3;

/// All rows in one table.
pub fn table(rows: &[Row]) -> Table {
    let tiers = rows.iter().map(|row| row.tiers.len()).max().unwrap_or(0);
    let mut header: Vec<String> =
        ["workload", "capacity", "policy", "seconds", "mean us", "p99 us"]
            .map(str::to_owned)
            .into();
    header.extend((2..=tiers).rev().map(|from| format!("up from {from}")));
    header.extend(["move I/O", "CPU us", "B/page"].map(str::to_owned));
    output::table(header, rows.iter().map(cells), WORDS)
}

fn cells(row: &Row) -> Vec<String> {
    let mut cells = vec![
        row.workload.clone(),
        row.capacity.clone(),
        row.policy.clone(),
        format!("{:.2}", row.runtime_s),
        format!("{:.0}", row.response_us_mean),
        format!("{:.0}", row.response_us_p99),
    ];
    for from in (2..=row.tiers.len()).rev() {
        let up = row.migration_pairs.iter().filter(|pair| pair.from == from && pair.to < from);
        cells.push(count(up.map(|pair| pair.pages).sum()));
    }
    cells.extend([
        format!("{:.1}%", 100.0 * row.migration_io_share),
        format!("{:.3}", row.cpu_us_per_access),
        format!("{:.1}", row.bytes_per_page),
    ]);
    cells
}
