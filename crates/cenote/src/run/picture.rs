//! Pictures of answers: how the values of all vertices are distributed, in bounded memory.

use std::collections::BTreeMap;

use cenote_device::LogHistogram;
use cenote_store::{Direction, VertexId};

use crate::error::Result;
use crate::graph::StoredGraph;
use crate::output::table::Column;
use crate::report::format::{Unit, count};
use crate::report::page::{Axis, Bars, Block, Chart, Series, Shape};

/// Vertices between two looks at the cancellation.
const BATCH: usize = 1 << 16;

/// Bars of a histogram at most.
const BINS_MAX: u64 = 64;

/// Counters of group sizes take at most `1 / COUNTERS_SHARE` of the run's budget, whose buffers and
/// cached pages are free again; and this many bytes at least.
const COUNTERS_SHARE: u64 = 8;
const COUNTERS_BYTES_MIN: u64 = 1 << 20;

/// Buckets for each power of two.
const STEPS: u64 = 16;

/// The picture of a column: which distribution says most, by the name of its values.
enum Kind {
    /// Vertices by value, in bars: levels, distances, coefficients.
    Histogram(&'static str),
    /// How many vertices have at least a value, both axes logarithmic.
    Tail(&'static str),
    /// Sizes of the groups that have a label in common.
    Groups(&'static str),
    /// How many vertices have it.
    Members(&'static str),
}

impl Kind {
    fn of(column: &str) -> Option<Self> {
        Some(match column {
            "level" => Self::Histogram("Vertices by level"),
            "distance" => Self::Histogram("Vertices by distance"),
            "weight" => Self::Histogram("Vertices by weight"),
            "lcc" => Self::Histogram("Vertices by clustering coefficient"),
            "score" => Self::Histogram("Vertices by similarity"),
            "rank" => Self::Tail("Vertices by rank"),
            "betweenness" => Self::Tail("Vertices by betweenness"),
            // The degrees of the graph have a picture in every report.
            "in_degree" => Self::Tail("Vertices by in-degree"),
            "harmonic" => Self::Tail("Vertices by harmonic centrality"),
            "core" => Self::Tail("Vertices by core number"),
            "triangles" => Self::Tail("Vertices by triangles"),
            "component" => Self::Groups("Components by size"),
            "label" => Self::Groups("Communities by size"),
            "member" => Self::Members("Members"),
            "reached" => Self::Members("Reached"),
            _ => return None,
        })
    }
}

/// The values of columns.
pub(super) struct Values<'a> {
    pub graph: &'a StoredGraph,
    /// How many rows there are, if they are not the vertices.
    pub rows: Option<u32>,
    pub check: &'a dyn Fn() -> Result<()>,
}

impl Values<'_> {
    /// What has values.
    fn what(&self) -> &'static str {
        if self.rows.is_some() { "rows" } else { "vertices" }
    }

    /// The title of a picture of vertices, or of rows.
    fn title(&self, of_vertices: &str) -> String {
        match self.rows {
            None => of_vertices.to_owned(),
            Some(_) => of_vertices.replace("Vertices", "Rows"),
        }
    }

    /// Calls `visit` with every row, or with every vertex that is not deleted.
    fn each(&self, mut visit: impl FnMut(VertexId)) -> Result<()> {
        let end = self.rows.map_or(self.graph.vertices(), |rows| rows as usize);
        for vertex in 0..end {
            if vertex % BATCH == 0 {
                (self.check)()?;
            }
            let vertex = vertex as VertexId;
            if self.rows.is_some() || !self.graph.is_deleted(vertex) {
                visit(vertex);
            }
        }
        Ok(())
    }

    /// Calls `visit` with every value, or `None` where a vertex has none.
    fn numbers(&self, column: &Column<'_>, mut visit: impl FnMut(Option<f64>)) -> Result<()> {
        self.each(|vertex| {
            visit(match column {
                Column::Count(_, get) => get(vertex).map(|value| value as f64),
                Column::Signed(_, get) => Some(get(vertex) as f64),
                Column::Vertex(_, get) => get(vertex).map(f64::from),
                Column::Real(_, get) => Some(get(vertex)),
                Column::Measure(_, get) => get(vertex),
            });
        })
    }
}

/// The pictures of an answer, and that of the graph's degrees.
pub(super) fn pictures(
    columns: &[Column<'_>],
    values: &Values<'_>,
    memory_bytes: u64,
) -> Result<Vec<Block>> {
    let mut blocks = Vec::new();
    for column in columns {
        blocks.extend(match Kind::of(column.name()) {
            Some(Kind::Histogram(title)) => histogram(values, column, title)?,
            Some(Kind::Tail(title)) => tail(values, column, title)?,
            Some(Kind::Groups(title)) => groups(values, column, (title, memory_bytes))?,
            Some(Kind::Members(title)) => Some(members(values, column, title)?),
            None => None,
        });
    }
    blocks.extend(degrees(values.graph)?);
    Ok(blocks)
}

/// A hash of all values, by ascending vertex: equal for equal answers.
pub(super) fn fingerprint(columns: &[Column<'_>], values: &Values<'_>) -> Result<Option<String>> {
    if columns.is_empty() {
        return Ok(None);
    }
    let mut digest = crc_fast::Digest::new(crc_fast::CrcAlgorithm::Crc64Nvme);
    for column in columns {
        digest.update(column.name().as_bytes());
        values.numbers(column, |value| match value {
            Some(value) => digest.update(&value.to_bits().to_le_bytes()),
            None => digest.update(&[0]),
        })?;
    }
    Ok(Some(format!("{:016x}", digest.finalize())))
}

/// Bars of equal width from 0 to the greatest value: of one value each where that is enough.
fn histogram(values: &Values<'_>, column: &Column<'_>, title: &str) -> Result<Option<Block>> {
    let is_whole = matches!(column, Column::Count(..));
    let (mut greatest, mut least, mut found) = (0.0_f64, 0.0_f64, 0_u64);
    values.numbers(column, |value| {
        if let Some(value) = value.filter(|value| value.is_finite()) {
            (greatest, least, found) = (greatest.max(value), least.min(value), found + 1);
        }
    })?;
    if found == 0 {
        return Ok(None);
    }
    let width = match is_whole {
        true => ((greatest + 1.0) / BINS_MAX as f64).ceil(),
        false => ((greatest - least) / BINS_MAX as f64).max(f64::MIN_POSITIVE),
    };
    let place = |value: f64| ((value - least) / width) as usize;
    let last = place(greatest).min(BINS_MAX as usize - 1);
    let mut bins = vec![0_u64; last + 1];
    let mut missing = 0_u64;
    values.numbers(column, |value| match value.filter(|value| value.is_finite()) {
        Some(value) => bins[place(value).min(last)] += 1,
        None => missing += 1,
    })?;
    // A bar stands around its number.
    let shift = if is_whole && width == 1.0 { 0.5 } else { 0.0 };
    let edge = |bin: usize| least + bin as f64 * width - shift;
    let mut points: Vec<(f64, f64)> =
        bins.iter().enumerate().map(|(bin, &count)| (edge(bin), count as f64)).collect();
    points.push((edge(bins.len()), 0.0));
    let title = values.title(title);
    let title = match missing {
        0 => title,
        missing => format!("{title}; {} have none", count(missing)),
    };
    Ok(Some(Block::Chart(Chart {
        title,
        x: Axis::linear(column.name(), Unit::Number),
        y: Axis::linear(values.what(), Unit::Count),
        series: vec![Series::new(values.what(), Shape::Columns, points)],
        ..Chart::default()
    })))
}

/// How many have at least a value: a straight line where a power law holds.
fn tail_chart(title: String, x: Axis, y: &str, counts: &[(f64, u64)]) -> Option<Block> {
    let mut left: u64 = counts.iter().map(|(_, count)| count).sum();
    let points = counts.iter().map(|&(value, here)| {
        let point = (value, left as f64);
        left -= here;
        point
    });
    let points: Vec<(f64, f64)> = points.collect();
    let shape = if points.len() > 48 { Shape::Line } else { Shape::DottedLine };
    (!points.is_empty()).then(|| {
        Block::Chart(Chart {
            title,
            x,
            y: Axis::log(y, Unit::Count),
            series: vec![Series::new(y, shape, points)],
            ..Chart::default()
        })
    })
}

fn tail(values: &Values<'_>, column: &Column<'_>, title: &str) -> Result<Option<Block>> {
    // By the power of two and its sixteenth: at most some 30,000 buckets.
    let mut buckets: BTreeMap<i64, (f64, u64)> = BTreeMap::new();
    let mut missing = 0_u64;
    values.numbers(column, |value| match value.filter(|v| v.is_finite() && *v > 0.0) {
        Some(value) => {
            let bucket = (value.log2() * STEPS as f64).floor() as i64;
            let (least, count) = buckets.entry(bucket).or_insert((value, 0));
            (*least, *count) = (least.min(value), *count + 1);
        }
        None => missing += 1,
    })?;
    let title = values.title(title);
    let title = match missing {
        0 => title,
        missing => format!("{title}; {} have 0", count(missing)),
    };
    let unit = if matches!(column, Column::Count(..)) { Unit::Count } else { Unit::Number };
    let x = Axis::log(format!("{} of at least", column.name()), unit);
    let counts: Vec<(f64, u64)> = buckets.into_values().collect();
    Ok(tail_chart(title, x, values.what(), &counts))
}

/// The least value of each bucket of a histogram, and its count.
fn buckets(histogram: &LogHistogram<STEPS>) -> Vec<(f64, u64)> {
    histogram.buckets().map(|(range, count)| (*range.start() as f64, count)).collect()
}

/// Counts the vertices of each label, a range of labels at a time.
fn groups(
    values: &Values<'_>,
    column: &Column<'_>,
    (title, memory_bytes): (&str, u64),
) -> Result<Option<Block>> {
    let Column::Vertex(_, label) = column else { return Ok(None) };
    let vertices = values.graph.vertices();
    let bytes = (memory_bytes / COUNTERS_SHARE).max(COUNTERS_BYTES_MIN);
    let range = ((bytes / 4) as usize).min(vertices).max(1);
    let mut sizes = LogHistogram::<STEPS>::default();
    let mut counters = vec![0_u32; range];
    for start in (0..vertices).step_by(range) {
        counters.fill(0);
        values.each(|vertex| {
            let place = label(vertex).map(|label| (label as usize).wrapping_sub(start));
            if let Some(counter) = place.and_then(|place| counters.get_mut(place)) {
                *counter += 1;
            }
        })?;
        let found = counters.iter().filter(|size| **size > 0);
        found.for_each(|&size| sizes.record(size.into()));
    }
    let groups = title.split_whitespace().next().unwrap_or_default().to_lowercase();
    let title = format!("{title}: {}", count(sizes.count()));
    let x = Axis::log("vertices, at least", Unit::Count);
    Ok(tail_chart(title, x, &groups, &buckets(&sizes)))
}

fn members(values: &Values<'_>, column: &Column<'_>, title: &str) -> Result<Block> {
    let (mut within, mut without) = (0_u64, 0_u64);
    values.numbers(column, |value| match value {
        Some(value) if value > 0.0 => within += 1,
        _ => without += 1,
    })?;
    let row = |name: &str, count: u64| (name.to_owned(), vec![Some(count as f64)]);
    Ok(Block::Bars(Bars {
        title: title.to_owned(),
        unit: Unit::Count,
        rows: vec![row("yes", within), row("no", without)],
        ..Bars::default()
    }))
}

/// A picture of the lengths of a graph's lists; `None` if all are empty. Reads the degrees.
///
/// # Errors
/// Their pages cannot be read.
pub fn degrees(graph: &StoredGraph) -> Result<Option<Block>> {
    let mut lengths = LogHistogram::<STEPS>::default();
    let mut none = 0_u64;
    graph.degrees(Direction::Out, &mut |first, degrees| {
        for (vertex, &degree) in (first..).zip(degrees) {
            match degree {
                0 => none += u64::from(!graph.is_deleted(vertex)),
                degree => lengths.record(degree),
            }
        }
    })?;
    let title = match none {
        0 => "Vertices by degree".to_owned(),
        none => format!("Vertices by degree; {} have 0", count(none)),
    };
    let name = if graph.is_directed() { "out-degree of at least" } else { "degree of at least" };
    let x = Axis::log(name, Unit::Count);
    Ok(tail_chart(title, x, "vertices", &buckets(&lengths)))
}
