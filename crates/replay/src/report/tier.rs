//! Replays through tiers.

use cenote::report::format::count;
use cenote::report::page::{Page, Table};

use super::Replayed;
use crate::tier::TierReplay;
use crate::tier::row::Row;

/// Columns of text; the others hold numbers.
const WORDS: usize = 3;

impl TierReplay {
    /// The tiers, and a line for each load.
    pub fn lines(&self) -> String {
        let TierReplay { tiers, clients, interval_us, seed, rows, .. } = self;
        let arrivals = match (clients, interval_us) {
            (Some(clients), _) => format!("{clients} clients"),
            (None, us) => format!("a request every {} us", us.unwrap_or_default()),
        };
        let mut lines = vec![format!("tiers {tiers}; {arrivals}; seed {seed}")];
        for row in rows {
            let (ops, pages) = (count(row.ops), count(row.pages.into()));
            let line = format!("{}: {ops} accesses to {pages} pages", row.workload);
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        lines.join("\n")
    }

    /// All rows in one table.
    pub fn table(&self) -> Table {
        let tiers = self.rows.iter().map(|row| row.tiers.len()).max().unwrap_or(0);
        let mut header: Vec<String> =
            ["workload", "capacity", "policy", "seconds", "mean us", "p99 us"]
                .map(str::to_owned)
                .into();
        header.extend((2..=tiers).rev().map(|from| format!("up from {from}")));
        header.extend(["move I/O", "CPU us", "B/page"].map(str::to_owned));
        let rows = self.rows.iter().map(cells).collect();
        Table { title: String::new(), header, words: WORDS, rows }
    }

    /// A report to look at; `command` is the call that it quotes.
    pub fn page(&self, command: Option<&str>) -> Page {
        let replayed = Replayed {
            title: "Tier replay",
            subject: &self.tiers,
            lines: &self.lines(),
            chart: self.chart(),
            highest: false,
            table: self.table(),
            replay: self,
        };
        replayed.page(command)
    }
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
