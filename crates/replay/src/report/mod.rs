//! Replays as tables and as reports to look at.
//!
//! - [`PoolReplay::lines`], [`TierReplay::lines`]: what was replayed
//! - [`PoolReplay::table`], [`TierReplay::table`]: all combinations, as people read them
//! - [`PoolReplay::page`], [`TierReplay::page`]: the page that [`cenote::report::write()`] writes

mod pool;
mod tier;

use cenote::report::Machine;
use cenote::report::format::{Unit, count, number};
use cenote::report::page::{
    Axis, Bars, Block, Chart, Figure, Finding, Mark, Page, Section, Series, Shape, Table, fact,
};
use serde::Serialize;

use crate::chart::{self, Body};
#[cfg(doc)]
use crate::{PoolReplay, TierReplay};

/// What a report of a replay shows.
struct Replayed<'a, R> {
    /// What was done: `Pool replay`.
    title: &'a str,
    /// The device or the tiers.
    subject: &'a str,
    /// What was replayed.
    lines: &'a str,
    chart: chart::Chart,
    /// Whether the highest bar is the best one.
    highest: bool,
    table: Table,
    /// Everything, as its JSON has it.
    replay: &'a R,
}

impl<R: Serialize> Replayed<'_, R> {
    fn page(self, command: Option<&str>) -> Page {
        let mut conditions: Vec<_> =
            command.map(|text| fact("command", text)).into_iter().collect();
        conditions.extend(Machine::here().facts());
        let loads = self.lines.lines().enumerate();
        let loads =
            loads.map(|(number, line)| fact(if number == 0 { "setup" } else { "load" }, line));
        let unit = self.chart.unit;
        let best = best(&self.chart.body, self.highest);
        let finding = best.map(|(name, value)| {
            let text = format!("{} {unit}, of all combinations.", number(value));
            Finding::new("Best", name, text)
        });
        let rows = self.table.rows.len() as u64;
        let section =
            |title: &str, blocks| Section { title: title.to_owned(), blocks, ..Section::default() };
        Page {
            title: self.title.to_owned(),
            subject: self.subject.to_owned(),
            subtitle: format!("{} combinations", count(rows)),
            figures: figures(&self.chart.body, self.highest, unit),
            findings: finding.into_iter().collect(),
            sections: vec![
                section("Comparison", vec![block(&self.chart)]),
                section("All figures", vec![Block::Table(self.table)]),
                section("Loads", vec![Block::Facts(loads.collect())]),
                section("Command and machine", vec![Block::Facts(conditions)]),
            ],
            data: serde_json::json!({
                "report": self.title.to_lowercase(),
                "replay": self.replay,
                "command": command,
            }),
        }
    }
}

/// Every value of a chart with its name.
fn values(body: &Body) -> Vec<(String, f64)> {
    match body {
        Body::Bars { groups, series } => {
            let bars =
                series.iter().flat_map(|(name, bars)| bars.iter().map(move |bar| (name, bar)));
            bars.map(|(name, (group, value))| (format!("{name}, {}", groups[*group]), *value))
                .collect()
        }
        Body::Lines { x, series } => {
            let points =
                series.iter().flat_map(|(name, line)| line.iter().map(move |point| (name, point)));
            points.map(|(name, (at, value))| (format!("{name}, {x} {at}"), *value)).collect()
        }
    }
}

fn best(body: &Body, highest: bool) -> Option<(String, f64)> {
    let values = values(body).into_iter();
    match highest {
        true => values.max_by(|a, b| a.1.total_cmp(&b.1)),
        false => values.min_by(|a, b| a.1.total_cmp(&b.1)),
    }
}

/// The best value of each series, at most six.
fn figures(body: &Body, highest: bool, unit: &str) -> Vec<Figure> {
    let one = |name: &String, values: &mut dyn Iterator<Item = f64>| {
        let pick = if highest { f64::max } else { f64::min };
        let value = values.reduce(pick)?;
        Some(Figure::new(name, number(value), format!("{unit}, at best")))
    };
    let figures: Vec<Figure> = match body {
        Body::Bars { series, .. } => series
            .iter()
            .filter_map(|(name, bars)| one(name, &mut bars.iter().map(|bar| bar.1)))
            .collect(),
        Body::Lines { series, .. } => series
            .iter()
            .filter_map(|(name, line)| one(name, &mut line.iter().map(|point| point.1)))
            .collect(),
    };
    figures.into_iter().take(6).collect()
}

/// A chart of a replay as a block of a page.
fn block(chart: &chart::Chart) -> Block {
    match &chart.body {
        Body::Bars { groups, series } => {
            let rows = groups.iter().enumerate().map(|(group, name)| {
                let value =
                    |bars: &[(usize, f64)]| bars.iter().find(|bar| bar.0 == group).map(|bar| bar.1);
                (name.clone(), series.iter().map(|(_, bars)| value(bars)).collect())
            });
            Block::Bars(Bars {
                title: format!("{}, {}", chart.title, chart.unit),
                unit: Unit::Number,
                series: series.iter().map(|(name, _)| name.clone()).collect(),
                rows: rows.collect(),
                level: chart.level.map(|at| Mark::new("classical writer", at)),
            })
        }
        Body::Lines { x, series } => Block::Chart(Chart {
            title: chart.title.clone(),
            x: Axis::linear(x, Unit::Number),
            y: Axis::linear(chart.unit, Unit::Number),
            series: series
                .iter()
                .map(|(name, line)| Series::new(name, Shape::DottedLine, line.clone()))
                .collect(),
            levels: chart.level.map(|at| Mark::new("classical writer", at)).into_iter().collect(),
            ..Chart::default()
        }),
    }
}
