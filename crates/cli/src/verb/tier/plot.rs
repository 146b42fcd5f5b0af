//! Runtimes as SVG: a group of bars for each workload and capacity, a bar for each policy.

use std::path::Path;

use anyhow::Result;

use super::row::Row;
use crate::svg::{self, Area, Bars, Drawn};

const PIXELS: (u32, u32) = (1200, 600);

/// Draws all rows.
pub fn draw(rows: &[Row], path: &Path) -> Result<()> {
    svg::write(path, PIXELS, |root| draw_bars(rows, root))
}

/// The different values of a column, in the order in which they first came.
fn distinct(rows: &[Row], of: impl Fn(&Row) -> String) -> Vec<String> {
    let mut values: Vec<String> = Vec::new();
    for value in rows.iter().map(of) {
        if !values.contains(&value) {
            values.push(value);
        }
    }
    values
}

fn group_of(row: &Row) -> String {
    format!("{} {}", row.workload, row.capacity)
}

fn draw_bars(rows: &[Row], root: &Area<'_>) -> Drawn {
    let area = root.titled("Runtime by policy", ("sans-serif", 24))?;
    let groups = distinct(rows, group_of);
    let place = |row: &Row| groups.iter().position(|name| *name == group_of(row)).unwrap_or(0);
    let series = distinct(rows, |row| row.policy.clone()).into_iter().map(|policy| {
        let of_policy = rows.iter().filter(|row| row.policy == policy);
        let bars = of_policy.map(|row| (place(row), row.runtime_s)).collect();
        (policy, bars)
    });
    let series = series.collect();
    let top = rows.iter().map(|row| row.runtime_s).fold(0.0, f64::max) * 1.15 + 1e-9;
    Bars { unit: "seconds", groups, series, top, level: None }.draw(root, &area)
}
