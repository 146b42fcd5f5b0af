//! What the pictures of all verbs share: their files, their legends, and groups of bars.

use std::path::Path;

use anyhow::{Result, anyhow, ensure};
use plotters::coord::Shift;
use plotters::coord::ranged1d::Ranged;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// Share of a group's width that its bars fill.
const FILLED: f64 = 0.8;

/// A part of a picture.
pub type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Whether something could be drawn.
pub type Drawn = std::result::Result<(), Box<dyn std::error::Error>>;

/// Refuses a name that would promise another format, before anything is run.
pub fn check_name(path: &Path) -> Result<()> {
    let is_svg = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("svg"));
    ensure!(is_svg, "{}: --plot writes SVG: give a name that ends in .svg", path.display());
    Ok(())
}

/// Writes a picture on white.
pub fn write(path: &Path, pixels: (u32, u32), draw: impl FnOnce(&Area<'_>) -> Drawn) -> Result<()> {
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, pixels).into_drawing_area();
        let drawn = root.fill(&WHITE).map_err(Into::into).and_then(|()| draw(&root));
        let drawn = drawn.and_then(|()| Ok(root.present()?));
        drawn.map_err(|e| anyhow!("the plot failed: {e}"))?;
    }
    Ok(std::fs::write(path, svg)?)
}

/// A chart with room for the words at its axes.
pub fn chart<'a, 'b>(area: &'a Area<'b>) -> ChartBuilder<'a, 'b, SVGBackend<'b>> {
    let mut builder = ChartBuilder::on(area);
    builder.margin(10).x_label_area_size(40).y_label_area_size(60);
    builder
}

/// What the series of a chart are called.
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

/// Groups of bars, side by side.
pub struct Bars {
    /// What the bars measure.
    pub unit: &'static str,
    /// Names of the groups.
    pub groups: Vec<String>,
    /// Of each series its name, and its bars: group and height.
    pub series: Vec<(String, Vec<(usize, f64)>)>,
    /// Where the axis ends.
    pub top: f64,
    /// A height to compare with.
    pub level: Option<f64>,
}

impl Bars {
    /// Draws them in an area of the whole picture.
    pub fn draw(&self, whole: &Area<'_>, area: &Area<'_>) -> Drawn {
        let end = self.groups.len() as f64 - 0.5;
        let mut chart = chart(area).build_cartesian_2d(-0.5..end.max(0.5), 0.0..self.top)?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .disable_x_axis()
            .light_line_style(TRANSPARENT)
            .y_desc(self.unit)
            .draw()?;
        let place = Pos::new(HPos::Center, VPos::Top);
        let style = ("sans-serif", 12).into_text_style(whole).pos(place);
        for (group, name) in self.groups.iter().enumerate() {
            // Every second name a line lower, so that long ones do not run into each other.
            let (x, y) = chart.backend_coord(&(group as f64, 0.0));
            let y = y + 6 + 14 * (group % 2) as i32;
            whole.draw(&Text::new(name.clone(), (x, y), style.clone()))?;
        }
        let width = FILLED / self.series.len().max(1) as f64;
        for (number, (name, bars)) in self.series.iter().enumerate() {
            let colour = Palette99::pick(number).to_rgba();
            let bars = bars.iter().map(|&(group, height)| {
                let left = group as f64 - FILLED / 2.0 + width * number as f64;
                Rectangle::new([(left, 0.0), (left + width * 0.95, height)], colour.filled())
            });
            let key = move |(x, y)| Rectangle::new([(x, y - 5), (x + 12, y + 5)], colour.filled());
            chart.draw_series(bars)?.label(name.as_str()).legend(key);
        }
        if let Some(level) = self.level {
            chart.draw_series(LineSeries::new([(-0.5, level), (end, level)], BLACK))?;
        }
        legend(&mut chart, SeriesLabelPosition::UpperRight)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_svg_names_are_taken() {
        assert!(check_name(Path::new("a.SVG")).is_ok());
        assert!(check_name(Path::new("a.png")).is_err());
        assert!(check_name(Path::new("svg")).is_err());
    }
}
