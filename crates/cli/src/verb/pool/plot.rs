//! The speedups as SVG: bars for each workload and policy, or lines over what is varied.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Result, anyhow, ensure};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::replay::row::Row;

const PIXELS: (u32, u32) = (1200, 600);

/// Share of a group's width that its bars fill.
const FILLED: f64 = 0.8;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = std::result::Result<(), Box<dyn std::error::Error>>;

/// Refuses a name that would promise another format, before anything is run.
pub fn check_name(path: &Path) -> Result<()> {
    let is_svg = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("svg"));
    ensure!(is_svg, "{}: --plot writes SVG: give a name that ends in .svg", path.display());
    Ok(())
}

/// Draws the rows that are compared with a classical writer.
pub fn draw(rows: &[Row], path: &Path) -> Result<()> {
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, PIXELS).into_drawing_area();
        draw_all(rows, &root).map_err(|e| anyhow!("the plot failed: {e}"))?;
    }
    Ok(std::fs::write(path, svg)?)
}

fn draw_all(rows: &[Row], root: &Area<'_>) -> Drawn {
    root.fill(&WHITE)?;
    let title = rows.first().map_or("no rows", |row| row.device.as_str());
    let inner = root.titled(&format!("Speedup on {title}"), ("sans-serif", 24))?;
    let compared: Vec<(&Row, f64)> =
        rows.iter().filter_map(|row| Some((row, drawn_speedup(row)?))).collect();
    let top = compared.iter().map(|(_, speedup)| *speedup).fold(1.0, f64::max) * 1.15;
    if compared.iter().any(|(row, _)| row.sweep.is_some()) {
        draw_lines(&inner, &compared, top)?;
    } else {
        draw_bars(root, &inner, &compared, top)?;
    }
    root.present()?;
    Ok(())
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
    let groups = grouped(rows, |row| format!("{} {}", row.workload, row.policy));
    let writers = grouped(rows, writer_of);
    let names: Vec<&str> = groups.iter().map(|(name, _)| name.as_str()).collect();
    let end = names.len() as f64 - 0.5;
    let mut chart = chart(area).build_cartesian_2d(-0.5..end.max(0.5), 0.0..top)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .disable_x_axis()
        .light_line_style(TRANSPARENT)
        .y_desc("times the classical writer")
        .draw()?;
    let style = ("sans-serif", 12).into_text_style(whole).pos(Pos::new(HPos::Center, VPos::Top));
    for (group, name) in names.iter().enumerate() {
        // Every second name a line lower, so that long ones do not run into each other.
        let (x, y) = chart.backend_coord(&(group as f64, 0.0));
        let y = y + 6 + 14 * (group % 2) as i32;
        whole.draw(&Text::new((*name).to_owned(), (x, y), style.clone()))?;
    }
    let width = FILLED / writers.len().max(1) as f64;
    for (number, (writer, rows)) in writers.iter().enumerate() {
        let colour = Palette99::pick(number).to_rgba();
        let bars = rows.iter().map(|(row, speedup)| {
            let name = format!("{} {}", row.workload, row.policy);
            let group = names.iter().position(|n| *n == name).unwrap_or(0) as f64;
            let left = group - FILLED / 2.0 + width * number as f64;
            Rectangle::new([(left, 0.0), (left + width * 0.95, *speedup)], colour.filled())
        });
        chart
            .draw_series(bars)?
            .label(writer.as_str())
            .legend(move |(x, y)| Rectangle::new([(x, y - 5), (x + 12, y + 5)], colour.filled()));
    }
    chart.draw_series(LineSeries::new([(-0.5, 1.0), (end, 1.0)], BLACK))?;
    legend(&mut chart)
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
    legend(&mut chart)
}

fn chart<'a, 'b>(root: &'a Area<'b>) -> ChartBuilder<'a, 'b, SVGBackend<'b>> {
    let mut builder = ChartBuilder::on(root);
    builder.margin(10).x_label_area_size(40).y_label_area_size(60);
    builder
}

fn legend<'a, X, Y>(chart: &mut ChartContext<'a, SVGBackend<'a>, Cartesian2d<X, Y>>) -> Drawn
where
    X: Ranged<ValueType = f64>,
    Y: Ranged<ValueType = f64>,
{
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.3))
        .draw()?;
    Ok(())
}
