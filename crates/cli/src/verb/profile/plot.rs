//! Draws the curves of a profile as SVG: throughput and latency by depth, reads and writes.

use std::ops::Range;
use std::path::Path;

use anyhow::Result;
use cenote_device::Op;
use cenote_device::profile::{CurveProfile, Pattern, Profile, ProfilePoint};
use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::prelude::*;

use crate::svg::{self, Area, Drawn, legend};

/// Pixels of the four charts together.
const PIXELS: (u32, u32) = (1200, 900);

/// The contents of a chart.
#[derive(Clone, Copy)]
struct Chart {
    op: Op,
    title: &'static str,
    unit: &'static str,
    value: fn(&CurveProfile, &ProfilePoint) -> f64,
    /// For latencies, which span decades.
    logarithmic: bool,
}

const CHARTS: [Chart; 4] = [
    Chart {
        op: Op::Read,
        title: "Random reads",
        unit: "MB/s",
        value: megabytes,
        logarithmic: false,
    },
    Chart {
        op: Op::Write,
        title: "Random writes",
        unit: "MB/s",
        value: megabytes,
        logarithmic: false,
    },
    Chart {
        op: Op::Read,
        title: "Random reads",
        unit: "median latency in us",
        value: |_, point| point.p50_us,
        logarithmic: true,
    },
    Chart {
        op: Op::Write,
        title: "Random writes",
        unit: "median latency in us",
        value: |_, point| point.p50_us,
        logarithmic: true,
    },
];

fn megabytes(curve: &CurveProfile, point: &ProfilePoint) -> f64 {
    point.iops * curve.bytes as f64 / 1e6
}

/// Draws all curves into one file.
pub fn draw(profile: &Profile, path: &Path) -> Result<()> {
    svg::write(path, PIXELS, |root| draw_all(profile, root))
}

fn draw_all(profile: &Profile, root: &Area<'_>) -> Drawn {
    let root = root.titled(&profile.device, ("sans-serif", 24))?;
    for (area, chart) in root.split_evenly((2, 2)).iter().zip(CHARTS) {
        draw_chart(profile, area, chart)?;
    }
    Ok(())
}

fn draw_chart(profile: &Profile, area: &Area<'_>, chart: Chart) -> Drawn {
    let curves: Vec<&CurveProfile> = profile
        .curves
        .iter()
        .filter(|c| c.op == chart.op && c.pattern == Pattern::Random)
        .collect();
    let points = || curves.iter().flat_map(|c| c.points.iter().map(|p| (*c, p)));
    let greatest = points().map(|(c, p)| (chart.value)(c, p)).fold(0.0, f64::max);
    let least = points().map(|(c, p)| (chart.value)(c, p)).fold(f64::MAX, f64::min);
    let depth_max = points().map(|(_, p)| p.depth).max();
    let Some(depth_max) = depth_max else {
        let style = ("sans-serif", 16).into_text_style(area);
        area.draw_text(&format!("{}: not measured", chart.title), &style, (20, 20))?;
        return Ok(());
    };
    let depths = 1.0..f64::from(depth_max) * 1.1;
    if chart.logarithmic {
        let values = (least * 0.8..greatest * 1.3).log_scale();
        draw_axes(profile, area, chart, &curves, depths, values)
    } else {
        draw_axes(profile, area, chart, &curves, depths, 0.0..greatest * 1.05)
    }
}

fn draw_axes<Y>(
    profile: &Profile,
    area: &Area<'_>,
    chart: Chart,
    curves: &[&CurveProfile],
    depths: Range<f64>,
    values: Y,
) -> Drawn
where
    Y: AsRangedCoord<Value = f64>,
    Y::CoordDescType: ValueFormatter<f64>,
{
    let mut context = ChartBuilder::on(area)
        .caption(format!("{}, {}", chart.title, chart.unit), ("sans-serif", 16))
        .margin(10)
        .x_label_area_size(36)
        .y_label_area_size(64)
        .build_cartesian_2d(depths.log_scale().base(2.0), values)?;
    context
        .configure_mesh()
        .x_desc("requests in flight (filled: k)")
        .y_desc(chart.unit)
        .x_label_formatter(&|depth| format!("{depth:.0}"))
        .y_label_formatter(&|value| format!("{value:.0}"))
        .light_line_style(TRANSPARENT)
        .draw()?;
    for (index, curve) in curves.iter().enumerate() {
        let colour = Palette99::pick(index).to_rgba();
        let line: Vec<(f64, f64)> =
            curve.points.iter().map(|p| (f64::from(p.depth), (chart.value)(curve, p))).collect();
        context
            .draw_series(LineSeries::new(line.iter().copied(), colour.stroke_width(2)))?
            .label(format!("{} KiB", curve.bytes >> 10))
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], colour.stroke_width(2)));
        let k = profile.size(curve.bytes).and_then(|s| match chart.op {
            Op::Read => Some(s.k_r),
            Op::Write => s.k_w,
        });
        let saturated = |depth: f64| k.is_some_and(|k| depth >= f64::from(k));
        let at_k = line.iter().find(|(depth, _)| saturated(*depth));
        context.draw_series(line.iter().map(|at| {
            let style = if Some(at) == at_k { colour.filled() } else { colour.stroke_width(1) };
            Circle::new(*at, 4, style)
        }))?;
    }
    legend(&mut context, SeriesLabelPosition::UpperLeft)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plot_shows_every_size_and_both_operations() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("drive.svg");
        draw(&Profile::assumed(), &path).unwrap();
        let svg = std::fs::read_to_string(&path).unwrap();
        for expected in ["<svg", "Random reads", "Random writes", "4 KiB", "1024 KiB", "</svg>"] {
            assert!(svg.contains(expected), "{expected} is missing");
        }
    }

    #[test]
    fn writes_that_were_not_measured_are_said_to_be_so() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("drive.svg");
        let mut profile = Profile::assumed();
        profile.curves.retain(|c| c.op == Op::Read);
        draw(&profile, &path).unwrap();
        assert!(std::fs::read_to_string(&path).unwrap().contains("not measured"));
    }
}
