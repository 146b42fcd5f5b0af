//! Draws charts: a picture that stretches with the page, and labels of its axes beside it, which do
//! not.

use std::fmt::Write;

use super::axis::Scale;
use super::markup::{escape, key};
use super::page::{Axis, Chart, Series, Shape};

/// Units of the picture from edge to edge.
const SPAN: f64 = 1000.0;

/// Styles of series and of lines to compare with, after which they begin again.
pub const STYLES: usize = 6;
const LINES: usize = 3;

/// The scales of a chart.
struct Frame {
    x: Scale,
    y: Scale,
}

impl Frame {
    fn of(chart: &Chart) -> Self {
        let points = || chart.series.iter().flat_map(|series| series.points.iter());
        let shapes = || chart.series.iter().map(|series| series.shape);
        let xs = points().map(|point| point.0).chain(chart.marks.iter().map(|mark| mark.at));
        let ys = points().map(|point| point.1).chain(chart.levels.iter().map(|level| level.at));
        // Columns stand on the axis: the smallest must be seen.
        let stands = chart.y.log && shapes().any(|shape| shape == Shape::Columns);
        let low = points().map(|point| point.1).filter(|y| *y > 0.0).fold(f64::MAX, f64::min);
        let below = (stands && low < f64::MAX).then_some(low / 2.0);
        Self { x: Scale::new(&chart.x, xs, true), y: Scale::new(&chart.y, ys.chain(below), false) }
    }

    fn x(&self, value: f64) -> f64 {
        self.x.place(value) * SPAN
    }

    fn y(&self, value: f64) -> f64 {
        (1.0 - self.y.place(value)) * SPAN
    }
}

/// Writes a chart.
pub fn draw(out: &mut String, chart: &Chart) {
    let frame = Frame::of(chart);
    let low = if chart.low { " low" } else { "" };
    let _ = write!(out, "<figure class=\"chart{low}\"><figcaption>");
    let _ = write!(out, "<span class=\"name\">{}</span>", escape(&chart.title));
    legend(out, chart);
    out.push_str("</figcaption>");
    band_names(out, chart, &frame);
    let _ = write!(
        out,
        "<div class=\"plot\"><svg viewBox=\"0 0 {SPAN} {SPAN}\" preserveAspectRatio=\"none\" \
         role=\"img\" aria-label=\"{}\">",
        escape(&format!("{}: {} over {}", chart.title, chart.y.label, chart.x.label))
    );
    back(out, chart, &frame);
    for (place, series) in chart.series.iter().enumerate() {
        shape(out, series, place % STYLES + 1, &frame);
    }
    for (place, level) in chart.levels.iter().enumerate() {
        let (style, y) = (place % LINES + 1, frame.y(level.at));
        let _ = write!(out, "<path class=\"mark l{style}\" d=\"M0 {y:.1}H{SPAN}\"/>");
    }
    for (place, mark) in chart.marks.iter().enumerate() {
        let (style, x) = ((chart.levels.len() + place) % LINES + 1, frame.x(mark.at));
        let _ = write!(out, "<path class=\"mark l{style}\" d=\"M{x:.1} 0V{SPAN}\"/>");
    }
    out.push_str("</svg>");
    labels(out, &chart.y, &frame.y, "y", |place| format!("top:{:.2}%", (1.0 - place) * 100.0));
    labels(out, &chart.x, &frame.x, "x", |place| format!("left:{:.2}%", place * 100.0));
    let _ = write!(out, "</div><p class=\"axis\">{}</p></figure>", escape(&chart.x.label));
}

fn labels(
    out: &mut String,
    axis: &Axis,
    scale: &Scale,
    class: &str,
    place: impl Fn(f64) -> String,
) {
    for (number, &tick) in scale.ticks.iter().enumerate() {
        let is_odd = number % 2 == 1 && scale.ticks.len() > 3;
        let odd = if is_odd { " odd" } else { "" };
        let (style, text) = (place(scale.place(tick)), axis.unit.text(tick));
        let _ = write!(out, "<span class=\"tick {class}{odd}\" style=\"{style}\">");
        let _ = write!(out, "{}</span>", escape(&text));
    }
}

/// The names of series, where there are several, and of the lines to compare with.
fn legend(out: &mut String, chart: &Chart) {
    let series = chart.series.iter().enumerate().filter(|_| chart.series.len() > 1);
    let series = series.map(|(place, series)| (format!("s{}", place % STYLES + 1), &series.name));
    let levels = chart.levels.iter().map(|level| (level, &chart.y));
    let marks = chart.marks.iter().map(|mark| (mark, &chart.x));
    let lines = levels.chain(marks).enumerate().map(|(place, (mark, axis))| {
        let text = format!("{} {}", mark.name, axis.unit.text(mark.at));
        (format!("dash l{}", place % LINES + 1), text)
    });
    let keys: Vec<(String, String)> =
        series.map(|(class, name)| (class, name.clone())).chain(lines).collect();
    let _ = write!(out, "<span class=\"unit\">{}</span>", escape(&chart.y.label));
    key(out, keys.iter().map(|(class, name)| (class.as_str(), name.as_str())));
}

fn band_names(out: &mut String, chart: &Chart, frame: &Frame) {
    if chart.bands.iter().all(|band| band.name.is_empty()) {
        return;
    }
    let room = if chart.bands.len() > 12 { 0.12 } else { 0.05 };
    let many = if chart.bands.len() > 5 { " many" } else { "" };
    let _ = write!(out, "<div class=\"bands{many}\">");
    for band in &chart.bands {
        let (start, end) = (frame.x.place(band.start), frame.x.place(band.end));
        let name = escape(&band.name);
        let _ = write!(
            out,
            "<span title=\"{name}\" style=\"left:{:.2}%;width:{:.2}%\">",
            start * 100.0,
            (end - start) * 100.0,
        );
        // A name that has no room for some letters is only a title.
        if end - start > room {
            out.push_str(&name);
        }
        out.push_str("</span>");
    }
    out.push_str("</div>");
}

/// The grid and the bands.
fn back(out: &mut String, chart: &Chart, frame: &Frame) {
    for band in chart.bands.iter().step_by(2) {
        let (start, end) = (frame.x(band.start), frame.x(band.end));
        let _ = write!(
            out,
            "<rect class=\"band\" x=\"{start:.1}\" y=\"0\" width=\"{:.1}\" height=\"{SPAN}\"/>",
            end - start
        );
    }
    out.push_str("<path class=\"grid\" d=\"");
    for &tick in &frame.y.ticks {
        let _ = write!(out, "M0 {:.1}H{SPAN}", frame.y(tick));
    }
    out.push_str("\"/>");
}

fn shape(out: &mut String, series: &Series, style: usize, frame: &Frame) {
    let points = series.points.iter().filter(|(x, y)| x.is_finite() && y.is_finite());
    let points: Vec<(f64, f64)> = points.map(|&(x, y)| (frame.x(x), frame.y(y))).collect();
    let Some((first, last)) = points.first().zip(points.last()) else { return };
    let mut path = String::new();
    if series.shape == Shape::Columns {
        for pair in points.windows(2) {
            let ((x, y), right) = (pair[0], pair[1].0);
            let _ = write!(path, "M{x:.1} {SPAN}V{y:.1}H{right:.1}V{SPAN}Z");
        }
        let _ = write!(out, "<path class=\"columns s{style}\" d=\"{path}\"/>");
        return;
    }
    for (place, (x, y)) in points.iter().enumerate() {
        let _ = write!(path, "{}{x:.1} {y:.1}", if place == 0 { 'M' } else { 'L' });
    }
    if series.shape == Shape::Area {
        let (start, end) = (first.0, last.0);
        let area = format!("{path}L{end:.1} {SPAN}L{start:.1} {SPAN}Z");
        let _ = write!(out, "<path class=\"area s{style}\" d=\"{area}\"/>");
    }
    if series.shape != Shape::Dots {
        let _ = write!(out, "<path class=\"line s{style}\" d=\"{path}\"/>");
    }
    if matches!(series.shape, Shape::Dots | Shape::DottedLine) {
        let dots: String = points.iter().fold(String::new(), |mut dots, (x, y)| {
            let _ = write!(dots, "M{x:.1} {y:.1}h0");
            dots
        });
        let _ = write!(out, "<path class=\"dots s{style}\" d=\"{dots}\"/>");
    }
}
