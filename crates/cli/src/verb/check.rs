//! `cenote check`: verifies every byte of a graph file, or of a sharded graph.

use anyhow::{Result, bail};
use cenote::Graph;
use cenote::shards;
use serde::Serialize;

use crate::args::Report;
use crate::graph_file::{GraphArg, SnapshotArg};
use crate::output::{self, count};
use crate::progress::{Progress, Unit};
use crate::verb::Outcome;

/// Verify every byte of a graph file
///
/// Reads only. Prints each fault with its page. Snapshots are verified as well, each as a whole, or
/// with --at one of them and nothing else. Of the folder of a sharded graph the manifest and all
/// files are verified, and that they fit each other. Exit status 0: the graph is whole; 1: it has a
/// fault; 2: it could not be checked.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  cenote check kron.cenote
  cenote check kron.cenote --json
  cenote check kron.shards")]
pub struct Args {
    #[command(flatten)]
    graph: GraphArg,
    #[command(flatten)]
    at: SnapshotArg,
    #[command(flatten)]
    report: Report,
}

#[derive(Debug, Serialize)]
struct Summary<'a> {
    graph: &'a str,
    whole: bool,
    pages: u64,
    faults_total: u64,
    faults: Vec<Fault<'a>>,
}

#[derive(Debug, Serialize)]
struct Fault<'a> {
    page: Option<u64>,
    message: &'a str,
}

/// Checks the graph and prints the report.
pub fn run(args: &Args) -> Result<Outcome> {
    let path = &args.graph.graph;
    if path.is_dir() {
        return run_on_shards(args);
    }
    let name = path.display().to_string();
    let bar = Progress::new("check", None, Unit::Items);
    let report = match &args.at.at {
        Some(snapshot) => Graph::check_at(path, snapshot, &mut shown_on(&bar))?,
        None => Graph::check(path, &mut shown_on(&bar))?,
    };
    drop(bar);
    if args.report.json {
        output::json(&Summary {
            graph: &name,
            whole: report.is_whole(),
            pages: report.pages,
            faults_total: report.faults_total,
            faults: report.faults.iter().map(fault_of).collect(),
        })?;
    } else if report.is_whole() {
        output::line(format_args!("{name}: whole, all {} pages", count(report.pages)))?;
    } else {
        for fault in &report.faults {
            output::line(fault)?;
        }
        output::line(format_args!("{name}: faults: {}", count(report.faults_total)))?;
    }
    Ok(if report.is_whole() { Outcome::Done } else { Outcome::AnsweredNo })
}

/// Progress on a bar. A check goes on until it is done: a signal ends the whole process.
fn shown_on(bar: &Progress) -> impl FnMut(u64, u64) -> bool + '_ {
    |done, total| {
        bar.set(done, total);
        true
    }
}

/// Checks a sharded graph.
fn run_on_shards(args: &Args) -> Result<Outcome> {
    let path = &args.graph.graph;
    let name = path.display().to_string();
    if args.at.at.is_some() {
        bail!("{name}: --at: a sharded graph has no snapshots");
    }
    let bar = Progress::new("check", None, Unit::Items);
    let report = shards::check(path, &mut shown_on(&bar))?;
    drop(bar);
    let messages: Vec<String> = report.faults.iter().map(ToString::to_string).collect();
    if args.report.json {
        let faults = report.faults.iter().zip(&messages);
        output::json(&Summary {
            graph: &name,
            whole: report.is_whole(),
            pages: report.pages,
            faults_total: report.faults_total,
            faults: faults.map(|(fault, message)| Fault { page: fault.page, message }).collect(),
        })?;
    } else {
        messages.iter().try_for_each(output::line)?;
        match report.is_whole() {
            true => output::line(format_args!("{name}: whole, all {} pages", count(report.pages)))?,
            false => output::line(format_args!("{name}: faults: {}", count(report.faults_total)))?,
        }
    }
    Ok(if report.is_whole() { Outcome::Done } else { Outcome::AnsweredNo })
}

fn fault_of(fault: &cenote::graph::Fault) -> Fault<'_> {
    Fault { page: fault.page, message: &fault.message }
}
