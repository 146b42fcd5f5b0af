//! Data on stdout: lines, tables and JSON.

use std::fmt;
use std::io::{self, Write};

use anyhow::{Context, Result};
pub use cenote::memory::size;
pub use cenote::report::format::count;
use comfy_table::{Cell, CellAlignment, Table};
use serde::Serialize;

/// What went wrong where stdout takes no more.
pub const FAILED: &str = "cannot write to stdout";

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
