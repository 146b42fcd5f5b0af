//! The report of a drive's profile.

use cenote_device::Op;
use cenote_device::plan::Planner;
use cenote_device::profile::{CurveProfile, Pattern, Profile, ProfilePoint, SizeProfile};
use cenote_device::threads::cores;
use serde_json::json;

use super::format::{Unit, count, number, percent, rate, seconds, utc};
use super::machine::Machine;
use super::page::{Axis, Block, Chart, Figure, Finding, Page, Section, Series, Shape, Table, fact};
use crate::memory::size;

/// Bytes of a page and of buffers that the plan is made for.
const PAGE_BYTES: usize = 4096;
const BUFFER_BYTES: usize = 16 << 20;

/// The most curves of a chart.
const CURVES_MAX: usize = 5;

/// The report of a profile; `command` is what measured it.
pub fn page(profile: &Profile, command: Option<&str>) -> Page {
    let conditions = &profile.conditions;
    let identity = &profile.identity;
    let planner = Planner::new(profile, PAGE_BYTES, BUFFER_BYTES, cores());
    let mut facts: Vec<(String, String)> = Vec::new();
    facts.extend(command.map(|command| fact("command", command)));
    facts.extend(identity.model.as_ref().map(|model| fact("drive", model.clone())));
    facts.extend(identity.bytes.map(|bytes| fact("drive's size", size(bytes))));
    let region = if conditions.scratch { "a scratch file" } else { "read in place" };
    facts.push(fact("region", format!("{}, {region}", size(conditions.region_bytes))));
    facts.push(fact(
        "measured",
        format!(
            "{}, {} on {}, each cell {} and {} times",
            utc(conditions.unix_seconds),
            seconds(conditions.seconds),
            conditions.backend,
            seconds(conditions.cell_seconds),
            conditions.repetitions
        ),
    ));
    facts.extend(conditions.filesystem.as_ref().map(|kind| {
        let used = conditions.filesystem_used_share.map(percent);
        fact("file system", format!("{kind}, {} full", used.as_deref().unwrap_or("unknown")))
    }));
    facts.push(fact("calm", profile.calm().to_string()));
    facts.push(fact("k", conditions.k_rule.clone()));
    facts.extend(conditions.notes.iter().map(|note| fact("note", note.clone())));
    facts.extend(Machine::here().facts().into_iter().filter(|(name, _)| name != "time"));
    Page {
        title: "Profile".to_owned(),
        subject: profile.device.clone(),
        subtitle: identity.model.clone().unwrap_or_default(),
        figures: figures(profile),
        findings: findings(profile, &planner),
        sections: vec![
            Section {
                title: "Throughput and latency".to_owned(),
                intro: "Random requests, by how many are in flight. A curve ends its rise at k: \
                        more requests at once only wait longer."
                    .to_owned(),
                blocks: charts(profile),
            },
            Section {
                title: "By request size".to_owned(),
                intro: "Alpha is the greatest read over the greatest write bandwidth. The knee is \
                        the smallest depth with a median latency over 1.5 times that of depth 1."
                    .to_owned(),
                blocks: vec![Block::Table(table(profile))],
            },
            Section {
                title: "Conditions".to_owned(),
                intro: String::new(),
                blocks: vec![Block::Facts(facts)],
            },
        ],
        data: json!({ "report": "profile", "profile": profile, "command": command }),
    }
}

fn figures(profile: &Profile) -> Vec<Figure> {
    let sizes = &profile.sizes;
    let most = |value: &dyn Fn(&SizeProfile) -> Option<f64>| {
        let all = sizes.iter().filter_map(|at| Some((value(at)? * at.bytes as f64, at.bytes)));
        all.max_by(|a, b| a.0.total_cmp(&b.0))
    };
    let mut figures = Vec::new();
    let mut bandwidth = |name: &str, found: Option<(f64, u64)>| {
        figures.extend(found.map(|(bytes_per_second, bytes)| {
            Figure::new(name, rate(bytes_per_second), format!("random, {} each", size(bytes)))
        }));
    };
    bandwidth("Reads", most(&|at| Some(at.read_iops_max)));
    bandwidth("Writes", most(&|at| at.write_iops_max));
    if let Some(page) = sizes.first() {
        let bytes = size(page.bytes);
        let alone = seconds(page.read_us_qd1 / 1e6);
        let note = format!("median of {bytes} alone");
        figures.push(Figure::new("Time of a read", alone, note));
        figures.push(Figure::new(
            "k_r",
            count(page.k_r.into()),
            format!("reads of {bytes} at once"),
        ));
        figures.extend(page.k_w.map(|k_w| {
            Figure::new("k_w", count(k_w.into()), format!("writes of {bytes} at once"))
        }));
        figures.extend(page.alpha.map(|alpha| {
            Figure::new("Alpha", number(alpha), format!("reads over writes, {bytes}"))
        }));
    }
    figures
}

fn findings(profile: &Profile, planner: &Planner) -> Vec<Finding> {
    let plan = planner.plan();
    let text = format!(
        "Runs that read many pages ask for up to {} at once, {} requests in flight, and read gaps \
         of up to {} pages through, since another request costs more.",
        size(plan.request_bytes as u64),
        plan.depth,
        plan.gap_pages
    );
    let possible = rate(planner.bytes_per_second());
    let mut findings = vec![Finding::new("Planned reads", possible, text)];
    let points = profile.curves.iter().flat_map(|curve| &curve.points);
    let spread = points.map(ProfilePoint::spread).fold(0.0, f64::max);
    let text = "Half of the range of a cell's repetitions, relative to their median, of the cell \
                where it is largest. A shared drive varies more than one of its own.";
    findings.push(Finding::new("Largest spread", percent(spread), text));
    findings
}

fn charts(profile: &Profile) -> Vec<Block> {
    let mut blocks = Vec::new();
    for (op, name) in [(Op::Read, "reads"), (Op::Write, "writes")] {
        let random = profile.curves.iter();
        let random: Vec<&CurveProfile> =
            random.filter(|curve| curve.op == op && curve.pattern == Pattern::Random).collect();
        if random.is_empty() {
            continue;
        }
        let every = random.len().div_ceil(CURVES_MAX).max(1);
        let shown = || random.iter().step_by(every).copied();
        let lines = |value: &dyn Fn(&CurveProfile, &ProfilePoint) -> f64| {
            let series = shown().map(|curve| {
                let points = curve.points.iter();
                let points = points.map(|point| (f64::from(point.depth), value(curve, point)));
                let name = size(curve.bytes).replace(".0 ", " ");
                Series::new(name, Shape::DottedLine, points.collect())
            });
            series.collect::<Vec<Series>>()
        };
        let x = || Axis::log(format!("{name} in flight"), Unit::PowersOfTwo);
        blocks.push(Block::Chart(Chart {
            title: format!("Throughput of {name}"),
            x: x(),
            y: Axis::linear("bytes per second", Unit::BytesPerSecond),
            series: lines(&|curve, point| point.iops * curve.bytes as f64),
            ..Chart::default()
        }));
        blocks.push(Block::Chart(Chart {
            title: format!("Latency of {name}"),
            x: x(),
            y: Axis::log("median", Unit::Seconds),
            series: lines(&|_, point| point.p50_us / 1e6),
            ..Chart::default()
        }));
    }
    blocks
}

fn table(profile: &Profile) -> Table {
    let header = [
        "size",
        "alpha",
        "k_r",
        "knee",
        "reads/s",
        "read rate",
        "alone",
        "k_w",
        "knee",
        "writes/s",
        "write rate",
        "alone",
    ];
    let none = || "-".to_owned();
    let whole = |value: Option<u32>| value.map_or_else(none, |value| count(value.into()));
    let per_second = |value: Option<f64>| value.map_or_else(none, |v| count(v.round() as u64));
    let time = |us: Option<f64>| us.map_or_else(none, |us| seconds(us / 1e6));
    let rows = profile.sizes.iter().map(|at| {
        let bytes = |iops: Option<f64>| iops.map_or_else(none, |v| rate(v * at.bytes as f64));
        vec![
            size(at.bytes).replace(".0 ", " "),
            at.alpha.map_or_else(none, number),
            count(at.k_r.into()),
            whole(at.read_knee),
            per_second(Some(at.read_iops_max)),
            bytes(Some(at.read_iops_max)),
            time(Some(at.read_us_qd1)),
            whole(at.k_w),
            whole(at.write_knee),
            per_second(at.write_iops_max),
            bytes(at.write_iops_max),
            time(at.write_us_qd1),
        ]
    });
    Table {
        title: String::new(),
        words: 1,
        rows: rows.collect(),
        header: header.map(str::to_owned).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_without_writes_has_a_page() {
        let mut profile = Profile::assumed();
        profile.curves.retain(|curve| curve.op == Op::Read);
        for at in &mut profile.sizes {
            (at.alpha, at.k_w, at.write_iops_max, at.write_us_qd1) = (None, None, None, None);
        }
        let html = page(&profile, None).to_html();
        assert!(html.contains("Throughput of reads") && !html.contains("of writes"));
        let html = page(&Profile::assumed(), Some("cenote profile .")).to_html();
        assert!(
            html.contains("Latency of writes") && html.contains("<code>cenote profile .</code>")
        );
    }
}
