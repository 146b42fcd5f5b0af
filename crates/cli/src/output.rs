//! Data on stdout: lines, tables and JSON.

use std::fmt;
use std::io::{self, Write};

use anyhow::{Context, Result};
pub use cenote::memory::size;
use comfy_table::{Cell, CellAlignment, Table};
use serde::Serialize;

const FAILED: &str = "cannot write to stdout";

/// Writes `text` and a line feed.
pub fn line(text: impl fmt::Display) -> Result<()> {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{text}").and_then(|()| stdout.flush()).context(FAILED)
}

/// Writes bytes as they are; the caller buffers them.
pub fn bytes(bytes: &[u8]) -> Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes).and_then(|()| stdout.flush()).context(FAILED)
}

/// Writes one JSON object as one line.
pub fn json(value: &impl Serialize) -> Result<()> {
    line(serde_json::to_string(value)?)
}

/// Writes names and values in two columns.
pub fn facts(rows: &[(&str, String)]) -> Result<()> {
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let text: Vec<String> =
        rows.iter().map(|(name, value)| format!("{name:width$}  {value}")).collect();
    line(text.join("\n"))
}

/// A table; after the first `words` columns, cells are numbers and aligned right.
pub fn table<C: Into<Cell>, R: IntoIterator<Item: Into<Cell>>>(
    header: impl IntoIterator<Item = C>,
    rows: impl IntoIterator<Item = R>,
    words: usize,
) -> Table {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::ASCII_MARKDOWN);
    table.set_header(header.into_iter().map(Into::into).collect::<Vec<Cell>>());
    for row in rows {
        table.add_row(row.into_iter().map(Into::into).collect::<Vec<Cell>>());
    }
    for column in table.column_iter_mut().skip(words) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// A number with thousands separators: `1,234,567`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_stand_apart() {
        let cases = [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")];
        for (number, text) in cases {
            assert_eq!(count(number), text);
        }
    }
}
