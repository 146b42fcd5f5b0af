//! A report as data.

use serde::Serialize;
use serde_json::Value;

use super::format::Unit;

/// A report: a verdict, then sections, then its data.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Page {
    /// What was done: `PageRank`.
    pub title: String,
    /// To what: the name of a graph or a drive.
    pub subject: String,
    /// A line about it.
    pub subtitle: String,
    /// The figures to read first.
    pub figures: Vec<Figure>,
    /// What follows from them.
    pub findings: Vec<Finding>,
    /// The sections.
    pub sections: Vec<Section>,
    /// Everything that was measured, for programs; embedded as JSON.
    pub data: Value,
}

/// A figure of the verdict.
#[derive(Clone, Debug, Serialize)]
pub struct Figure {
    /// What it is.
    pub label: String,
    /// Its value, with the unit.
    pub value: String,
    /// What to compare it with.
    pub note: String,
    /// The share of a limit that it is, 0 to 1.
    pub share: Option<f64>,
}

/// A sentence of the verdict.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// Its question: `bounded by`.
    pub label: String,
    /// Its answer in few words.
    pub value: String,
    /// Why.
    pub text: String,
}

/// A part of a report.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Section {
    /// Its heading.
    pub title: String,
    /// What it shows, and how to read it.
    pub intro: String,
    /// Its content.
    pub blocks: Vec<Block>,
}

/// A piece of a section.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Block {
    /// A chart.
    Chart(Chart),
    /// Horizontal bars with names.
    Bars(Bars),
    /// A table.
    Table(Table),
    /// Names and values.
    Facts(Vec<(String, String)>),
}

/// A chart over two axes.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Chart {
    /// What it shows.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The series.
    pub series: Vec<Series>,
    /// Horizontal lines to compare with.
    pub levels: Vec<Mark>,
    /// Vertical lines to compare with.
    pub marks: Vec<Mark>,
    /// Spans of the horizontal axis with names.
    pub bands: Vec<Band>,
    /// Whether it is low, for a column of charts with one axis.
    pub low: bool,
}

/// An axis.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Axis {
    /// What it counts.
    pub label: String,
    /// Its unit.
    pub unit: Unit,
    /// Whether equal distances are equal ratios; values must be above 0 then.
    pub log: bool,
    /// Values that it must include.
    pub includes: Vec<f64>,
}

/// The points of a chart, by ascending x.
#[derive(Clone, Debug, Serialize)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// How it is drawn.
    pub shape: Shape,
    /// The points.
    pub points: Vec<(f64, f64)>,
}

/// How a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// A line.
    Line,
    /// A line over a filled area.
    Area,
    /// Dots.
    Dots,
    /// A line with dots.
    DottedLine,
    /// A bar from each x to the next; the y of the last point is not drawn.
    Columns,
}

/// A line to compare with.
#[derive(Clone, Debug, Serialize)]
pub struct Mark {
    /// Its name.
    pub name: String,
    /// Where it is.
    pub at: f64,
}

/// A span of the horizontal axis.
#[derive(Clone, Debug, Serialize)]
pub struct Band {
    /// Its name.
    pub name: String,
    /// Where it begins.
    pub start: f64,
    /// Where it ends.
    pub end: f64,
}

/// Horizontal bars, side by side by name.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Bars {
    /// What they show.
    pub title: String,
    /// The unit.
    pub unit: Unit,
    /// The names of the series.
    pub series: Vec<String>,
    /// A group of bars for each name: a value for each series, if it has one.
    pub rows: Vec<(String, Vec<Option<f64>>)>,
    /// A value to compare with.
    pub level: Option<Mark>,
}

/// A table; columns after the first `words` are numbers.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Table {
    /// What it shows.
    pub title: String,
    /// Names of the columns.
    pub header: Vec<String>,
    /// Columns of words, at the left.
    pub words: usize,
    /// The rows.
    pub rows: Vec<Vec<String>>,
}

impl Figure {
    /// A figure without a limit.
    pub fn new(
        label: impl Into<String>,
        value: impl Into<String>,
        note: impl Into<String>,
    ) -> Self {
        Self { label: label.into(), value: value.into(), note: note.into(), share: None }
    }

    /// As a share of a limit.
    #[must_use]
    pub fn of(self, share: f64) -> Self {
        Self { share: share.is_finite().then_some(share), ..self }
    }
}

impl Finding {
    /// A finding.
    pub fn new(
        label: impl Into<String>,
        value: impl Into<String>,
        text: impl Into<String>,
    ) -> Self {
        Self { label: label.into(), value: value.into(), text: text.into() }
    }
}

impl Axis {
    /// A linear axis.
    pub fn linear(label: impl Into<String>, unit: Unit) -> Self {
        Self { label: label.into(), unit, ..Self::default() }
    }

    /// A logarithmic axis.
    pub fn log(label: impl Into<String>, unit: Unit) -> Self {
        Self { log: true, ..Self::linear(label, unit) }
    }

    /// As far as `value` at least.
    #[must_use]
    pub fn with(mut self, value: f64) -> Self {
        self.includes.push(value);
        self
    }
}

impl Series {
    /// A series.
    pub fn new(name: impl Into<String>, shape: Shape, points: Vec<(f64, f64)>) -> Self {
        Self { name: name.into(), shape, points }
    }
}

impl Mark {
    /// A line at a value.
    pub fn new(name: impl Into<String>, at: f64) -> Self {
        Self { name: name.into(), at }
    }
}

/// A name and a value of [`Block::Facts`].
pub fn fact(name: impl Into<String>, value: impl Into<String>) -> (String, String) {
    (name.into(), value.into())
}
