//! Charts as SVG: bars and lines of replays, and what the charts of all verbs share.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, anyhow, ensure};
use cenote::OutputFile;
use cenote_import::output::occupant;
use cenote_replay::chart::{Body, Chart};
use plotters::coord::Shift;
use plotters::coord::ranged1d::Ranged;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// Share of a group's width that its bars fill.
const FILLED: f64 = 0.8;

/// An area of a drawing.
pub type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// The result of drawing.
pub type Drawn = std::result::Result<(), Box<dyn std::error::Error>>;

/// Refuses an extension other than `.svg`, and an input as output, before anything runs.
pub fn check_name(path: &Path, inputs: &[impl AsRef<Path>]) -> Result<()> {
    let is_svg = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("svg"));
    ensure!(is_svg, "{}: --plot writes SVG: give a name that ends in .svg", path.display());
    let inputs: Vec<&Path> = inputs.iter().map(AsRef::as_ref).collect();
    occupant(path, &inputs)?;
    Ok(())
}

/// Writes a drawing on white.
pub fn write(path: &Path, pixels: (u32, u32), draw: impl FnOnce(&Area<'_>) -> Drawn) -> Result<()> {
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, pixels).into_drawing_area();
        let drawn = root.fill(&WHITE).map_err(Into::into).and_then(|()| draw(&root));
        let drawn = drawn.and_then(|()| Ok(root.present()?));
        drawn.map_err(|e| anyhow!("the plot failed: {e}"))?;
    }
    let no_inputs: [&Path; 0] = [];
    let mut file = OutputFile::create(path, &no_inputs)?;
    file.write_all(svg.as_bytes()).with_context(|| format!("cannot write {}", path.display()))?;
    file.finish()?;
    Ok(())
}

fn chart<'a, 'b>(area: &'a Area<'b>) -> ChartBuilder<'a, 'b, SVGBackend<'b>> {
    let mut builder = ChartBuilder::on(area);
    builder.margin(10).x_label_area_size(40).y_label_area_size(60);
    builder
}

/// Draws the legend of a chart.
pub fn legend<'a, X, Y>(
    chart: &mut ChartContext<'a, SVGBackend<'a>, Cartesian2d<X, Y>>,
    position: SeriesLabelPosition,
) -> Drawn
where
    X: Ranged<ValueType = f64>,
    Y: Ranged<ValueType = f64>,
{
    chart
        .configure_series_labels()
        .position(position)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.3))
        .draw()?;
    Ok(())
}

/// Pixels of a chart.
const PIXELS: (u32, u32) = (1200, 600);

/// Draws one chart into a file.
pub fn draw(path: &Path, chart: &Chart) -> Result<()> {
    write(path, PIXELS, |root| {
        let area = root.titled(&chart.title, ("sans-serif", 24))?;
        match &chart.body {
            Body::Bars { groups, series } => draw_bars(root, &area, chart, groups, series),
            Body::Lines { x, series } => draw_lines(&area, chart, x, series),
        }
    })
    .with_context(|| format!("cannot write {}", path.display()))
}

/// The upper end of the y axis.
fn top(chart: &Chart, heights: impl Iterator<Item = f64>) -> f64 {
    heights.fold(chart.level.unwrap_or(1e-9), f64::max) * 1.15
}

fn draw_bars(
    whole: &Area<'_>,
    area: &Area<'_>,
    of: &Chart,
    groups: &[String],
    series: &[(String, Vec<(usize, f64)>)],
) -> Drawn {
    let end = (groups.len() as f64 - 0.5).max(0.5);
    let top = top(of, series.iter().flat_map(|(_, bars)| bars.iter().map(|bar| bar.1)));
    let mut chart = chart(area).build_cartesian_2d(-0.5..end, 0.0..top)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .disable_x_axis()
        .light_line_style(TRANSPARENT)
        .y_desc(of.unit)
        .draw()?;
    let style = ("sans-serif", 12).into_text_style(whole).pos(Pos::new(HPos::Center, VPos::Top));
    for (group, name) in groups.iter().enumerate() {
        // Every second name is a line lower, so that long names do not overlap.
        let (x, y) = chart.backend_coord(&(group as f64, 0.0));
        let y = y + 6 + 14 * (group % 2) as i32;
        whole.draw(&Text::new(name.clone(), (x, y), style.clone()))?;
    }
    let width = FILLED / series.len().max(1) as f64;
    for (number, (name, bars)) in series.iter().enumerate() {
        let colour = Palette99::pick(number).to_rgba();
        let bars = bars.iter().map(|&(group, height)| {
            let left = group as f64 - FILLED / 2.0 + width * number as f64;
            Rectangle::new([(left, 0.0), (left + width * 0.95, height)], colour.filled())
        });
        let key = move |(x, y)| Rectangle::new([(x, y - 5), (x + 12, y + 5)], colour.filled());
        chart.draw_series(bars)?.label(name.as_str()).legend(key);
    }
    if let Some(level) = of.level {
        chart.draw_series(LineSeries::new([(-0.5, level), (end, level)], BLACK))?;
    }
    legend(&mut chart, SeriesLabelPosition::UpperRight)
}

fn draw_lines(area: &Area<'_>, of: &Chart, x: &str, series: &[(String, Vec<(f64, f64)>)]) -> Drawn {
    let points = || series.iter().flat_map(|(_, line)| line.iter().copied());
    let least = points().map(|at| at.0).fold(f64::MAX, f64::min);
    let greatest = points().map(|at| at.0).fold(f64::MIN, f64::max).max(least + 1e-9);
    let top = top(of, points().map(|at| at.1));
    let mut chart = chart(area).build_cartesian_2d(least..greatest, 0.0..top)?;
    chart.configure_mesh().light_line_style(TRANSPARENT).y_desc(of.unit).x_desc(x).draw()?;
    for (number, (name, points)) in series.iter().enumerate() {
        let colour = Palette99::pick(number).to_rgba();
        chart
            .draw_series(LineSeries::new(points.iter().copied(), colour.stroke_width(2)))?
            .label(name.as_str())
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], colour.stroke_width(2)));
        chart.draw_series(points.iter().map(|&at| Circle::new(at, 4, colour.filled())))?;
    }
    legend(&mut chart, SeriesLabelPosition::UpperRight)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_svg_names_are_taken() {
        let no_inputs: [&Path; 0] = [];
        assert!(check_name(Path::new("a.SVG"), &no_inputs).is_ok());
        assert!(check_name(Path::new("a.png"), &no_inputs).is_err());
        assert!(check_name(Path::new("svg"), &no_inputs).is_err());
    }
}
