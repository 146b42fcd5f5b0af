//! The speedups as SVG: bars for each workload and policy, or lines over what is varied.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use plotters::prelude::*;

use crate::replay::row::Row;
use crate::svg::{self, Area, Bars, Drawn, chart, legend};

const PIXELS: (u32, u32) = (1200, 600);

/// Draws the rows that are compared with a classical writer.
pub fn draw(rows: &[Row], path: &Path) -> Result<()> {
    svg::write(path, PIXELS, |root| draw_all(rows, root))
}

fn draw_all(rows: &[Row], root: &Area<'_>) -> Drawn {
    let title = rows.first().map_or("no rows", |row| row.device.as_str());
    let inner = root.titled(&format!("Speedup on {title}"), ("sans-serif", 24))?;
    let compared: Vec<(&Row, f64)> =
        rows.iter().filter_map(|row| Some((row, drawn_speedup(row)?))).collect();
    let top = compared.iter().map(|(_, speedup)| *speedup).fold(1.0, f64::max) * 1.15;
    if compared.iter().any(|(row, _)| row.sweep.is_some()) {
        draw_lines(&inner, &compared, top)
    } else {
        draw_bars(root, &inner, &compared, top)
    }
}

/// What is drawn of a row: nothing of the writers that others are compared with.
fn drawn_speedup(row: &Row) -> Option<f64> {
    row.speedup.filter(|speedup| row.writer != "classical" && speedup.is_finite())
}

/// The rows whose names are equal, in the order in which the names first came.
fn grouped<'a>(
    rows: &[(&'a Row, f64)],
    name: impl Fn(&Row) -> String,
) -> Vec<(String, Vec<(&'a Row, f64)>)> {
    let mut places = BTreeMap::new();
    let mut groups: Vec<(String, Vec<(&Row, f64)>)> = Vec::new();
    for &(row, speedup) in rows {
        let name = name(row);
        let place = *places.entry(name.clone()).or_insert(groups.len());
        if place == groups.len() {
            groups.push((name, Vec::new()));
        }
        groups[place].1.push((row, speedup));
    }
    groups
}

fn writer_of(row: &Row) -> String {
    if row.prefetch == "none" {
        return row.writer.to_owned();
    }
    format!("{}, prefetch {}", row.writer, row.prefetch)
}

fn draw_bars(whole: &Area<'_>, area: &Area<'_>, rows: &[(&Row, f64)], top: f64) -> Drawn {
    let group_of = |row: &Row| format!("{} {}", row.workload, row.policy);
    let groups: Vec<String> = grouped(rows, group_of).into_iter().map(|(name, _)| name).collect();
    let place = |row: &Row| groups.iter().position(|name| *name == group_of(row)).unwrap_or(0);
    let series = grouped(rows, writer_of).into_iter().map(|(writer, rows)| {
        (writer, rows.into_iter().map(|(row, speedup)| (place(row), speedup)).collect())
    });
    let series = series.collect();
    let unit = "times the classical writer";
    Bars { unit, groups, series, top, level: Some(1.0) }.draw(whole, area)
}

fn draw_lines(root: &Area<'_>, rows: &[(&Row, f64)], top: f64) -> Drawn {
    let at = |row: &Row| row.sweep.as_ref().map_or(0.0, |sweep| sweep.value);
    let least = rows.iter().map(|(row, _)| at(row)).fold(f64::MAX, f64::min);
    let greatest = rows.iter().map(|(row, _)| at(row)).fold(f64::MIN, f64::max);
    let name = rows.iter().find_map(|(row, _)| row.sweep.as_ref()).map_or("", |s| s.name);
    let unit = if matches!(name, "read-share" | "pool") { "%" } else { "" };
    let mut chart = chart(root).build_cartesian_2d(least..greatest.max(least + 1e-9), 0.0..top)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .y_desc("times the classical writer")
        .x_desc(format!("{name} {unit}"))
        .draw()?;
    let lines = grouped(rows, |row| format!("{} {} {}", row.workload, row.policy, writer_of(row)));
    for (number, (name, rows)) in lines.iter().enumerate() {
        let colour = Palette99::pick(number).to_rgba();
        let points: Vec<(f64, f64)> =
            rows.iter().map(|(row, speedup)| (at(row), *speedup)).collect();
        chart
            .draw_series(LineSeries::new(points.iter().copied(), colour.stroke_width(2)))?
            .label(name.as_str())
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], colour.stroke_width(2)));
        chart.draw_series(points.iter().map(|&at| Circle::new(at, 4, colour.filled())))?;
    }
    legend(&mut chart, SeriesLabelPosition::UpperRight)
}
