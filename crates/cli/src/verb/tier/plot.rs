//! Runtimes as SVG: a group of bars for each workload and capacity, a bar for each policy.

use std::path::Path;

use anyhow::{Result, anyhow, ensure};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::row::Row;

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

/// Draws all rows.
pub fn draw(rows: &[Row], path: &Path) -> Result<()> {
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, PIXELS).into_drawing_area();
        draw_bars(rows, &root).map_err(|e| anyhow!("the plot failed: {e}"))?;
    }
    Ok(std::fs::write(path, svg)?)
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
    root.fill(&WHITE)?;
    let area = root.titled("Runtime by policy", ("sans-serif", 24))?;
    let groups = distinct(rows, group_of);
    let policies = distinct(rows, |row| row.policy.clone());
    let top = rows.iter().map(|row| row.runtime_s).fold(0.0, f64::max) * 1.15 + 1e-9;
    let end = (groups.len() as f64 - 0.5).max(0.5);
    let mut chart = ChartBuilder::on(&area)
        .margin(10)
        .x_label_area_size(40)
        .y_label_area_size(60)
        .build_cartesian_2d(-0.5..end, 0.0..top)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .disable_x_axis()
        .light_line_style(TRANSPARENT)
        .y_desc("seconds")
        .draw()?;
    let style = ("sans-serif", 12).into_text_style(root).pos(Pos::new(HPos::Center, VPos::Top));
    for (group, name) in groups.iter().enumerate() {
        // Every second name a line lower, so that long ones do not run into each other.
        let (x, y) = chart.backend_coord(&(group as f64, 0.0));
        let y = y + 6 + 14 * (group % 2) as i32;
        root.draw(&Text::new(name.clone(), (x, y), style.clone()))?;
    }
    let width = FILLED / policies.len().max(1) as f64;
    for (number, policy) in policies.iter().enumerate() {
        let colour = Palette99::pick(number).to_rgba();
        let bars = rows.iter().filter(|row| row.policy == *policy).map(|row| {
            let group = groups.iter().position(|name| *name == group_of(row)).unwrap_or(0) as f64;
            let left = group - FILLED / 2.0 + width * number as f64;
            Rectangle::new([(left, 0.0), (left + width * 0.95, row.runtime_s)], colour.filled())
        });
        chart
            .draw_series(bars)?
            .label(policy.as_str())
            .legend(move |(x, y)| Rectangle::new([(x, y - 5), (x + 12, y + 5)], colour.filled()));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.3))
        .draw()?;
    root.present()?;
    Ok(())
}
