//! `cenote demo`: import, profile and algorithms on real input, in a minute or two.
//!
//! Every step runs this same command in a new process, so that each has its own peak memory; the
//! table is made from their JSON.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::ANSWERED_NO;
use crate::cancel;
use crate::output::{self, count, size};
use crate::verb::Outcome;

/// Debian's package dependencies.
const DEBIAN: &[u8] = include_bytes!("../../data/debian-depends.tsv.zst");

/// The most bytes of a run's state: per vertex, and fixed.
const STATE_PER_VERTEX: u64 = 24;
const STATE_FIXED: u64 = 32 << 20;

/// Show all steps: import, profile, BFS, components, PageRank within a small memory budget
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  cenote demo
  cenote demo --scale 24 --dir big-demo --keep")]
pub struct Args {
    /// Folder to work in; created if missing
    #[arg(long, value_name = "DIR", default_value = "demo-out")]
    dir: PathBuf,
    /// The generated graph has 2^SCALE vertices and 16 times as many edges
    #[arg(long, value_name = "SCALE", default_value_t = 22,
          value_parser = clap::value_parser!(u32).range(10..=28))]
    scale: u32,
    /// Keep the graphs
    #[arg(long)]
    keep: bool,
}

/// Runs the demo.
pub fn run(args: &Args) -> Result<Outcome> {
    let started = Instant::now();
    std::fs::create_dir_all(&args.dir)
        .with_context(|| format!("cannot make {}", args.dir.display()))?;
    let demo = Demo { dir: &args.dir, command: std::env::current_exe()? };
    let outcome = demo.play(args.scale);
    if !args.keep {
        for name in FILES {
            // A file may be missing, and a failure to remove it does not matter.
            let _ = std::fs::remove_file(args.dir.join(name));
        }
        let _ = std::fs::remove_dir(&args.dir);
    }
    outcome?;
    output::line(format!("\nDone in {:.0} s.", started.elapsed().as_secs_f64()))?;
    Ok(Outcome::Done)
}

const FILES: [&str; 4] = ["debian-depends.tsv.zst", "debian.cenote", "kron.u32", "kron.cenote"];

struct Demo<'a> {
    dir: &'a Path,
    command: PathBuf,
}

impl Demo<'_> {
    fn play(&self, scale: u32) -> Result<()> {
        say("Drive: how many requests it takes at once, how much slower it writes than it reads")?;
        let profile = self.step(&["profile", &self.path(""), "--quick", "--json"])?;
        output::line(drive(&profile))?;

        say("A real graph: which Debian package depends on which")?;
        let debian = self.dir.join(FILES[0]);
        std::fs::write(&debian, DEBIAN)
            .with_context(|| format!("cannot write {}", debian.display()))?;
        self.import(FILES[0], FILES[1], &["--directed"])?;
        let ranks = self.step(&[
            "run",
            "pagerank",
            &self.path(FILES[1]),
            "--tolerance",
            "1e-8",
            "--memory",
            "64MiB",
            "--json",
        ])?;
        output::line(top(&ranks, 5))?;

        say(&format!("A larger one: Kronecker, 2^{scale} vertices, 16 edges each"))?;
        let seed = ["--seed", "1"];
        let scale = scale.to_string();
        let kron = self.path(FILES[2]);
        let mut generate = vec!["generate", "kron", "--scale", &scale, "--out", &kron];
        generate.extend(seed);
        self.step(&generate)?;
        self.import(FILES[2], FILES[3], &["--undirected"])?;
        let info = self.step(&["info", &self.path(FILES[3]), "--json"])?;
        let budget = budget(&info);
        output::line(format!(
            "  {} vertices, {} edges: {} of pages; memory budget of each run: {}",
            count(number(&info, "vertices")),
            count(number(&info, "edges")),
            size(number(&info, "page_bytes")),
            size(budget)
        ))?;

        say("BFS, components, PageRank")?;
        let mut table = table();
        for algorithm in ["bfs", "wcc", "pagerank"] {
            let run = self.step(&[
                "run",
                algorithm,
                &self.path(FILES[3]),
                "--memory",
                &budget.to_string(),
                "--json",
            ])?;
            table.add_row(row(&run));
        }
        output::line(table)
    }

    fn path(&self, name: &str) -> String {
        self.dir.join(name).display().to_string()
    }

    fn import(&self, input: &str, graph: &str, flags: &[&str]) -> Result<()> {
        let (input, graph) = (self.path(input), self.path(graph));
        let mut args = vec!["import", &input, "--out", &graph, "--overwrite", "--json"];
        args.extend(flags);
        let report = self.step(&args)?;
        output::line(format!(
            "  {} edges, {} duplicates and {} self-loops left out, in {:.1} s with {} of memory",
            count(number(&report, "edges")),
            count(number(&report, "duplicates")),
            count(number(&report, "self_loops")),
            report["seconds"].as_f64().unwrap_or(0.0),
            size(number(&report, "peak_rss_bytes"))
        ))
    }

    /// Prints the step as a command, runs it, and returns its JSON output, or null.
    fn step(&self, args: &[&str]) -> Result<Value> {
        cancel::check()?;
        output::line(format!("  $ cenote {}", args.join(" ")))?;
        let out = Command::new(&self.command)
            .args(args)
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()
            .with_context(|| format!("cannot run {}", self.command.display()))?;
        cancel::check()?;
        if !is_done(args, out.status) {
            bail!("`cenote {}` failed ({})", args.join(" "), out.status);
        }
        Ok(serde_json::from_slice(&out.stdout).unwrap_or(Value::Null))
    }
}

/// Whether a step did its work. A drive that was measured while the machine was busy is, too, where
/// its saved profile is calmer and therefore kept.
fn is_done(args: &[&str], status: ExitStatus) -> bool {
    status.success() || (args[0] == "profile" && status.code() == Some(ANSWERED_NO.into()))
}

fn say(title: &str) -> Result<()> {
    output::line(format!("\n{title}"))
}

fn number(json: &Value, field: &str) -> u64 {
    json[field].as_u64().unwrap_or(0)
}

/// A tenth of the graph, or the largest vertex state.
fn budget(info: &Value) -> u64 {
    let state = STATE_PER_VERTEX * number(info, "vertices") + STATE_FIXED;
    (number(info, "page_bytes") / 10).max(state)
}

fn drive(profile: &Value) -> String {
    let mut text = String::new();
    for size_profile in profile["sizes"].as_array().into_iter().flatten() {
        let bytes = number(size_profile, "bytes");
        let gigabytes = |field: &str| {
            size_profile[field]
                .as_f64()
                .map_or("-".to_owned(), |iops| format!("{:.2}", iops * bytes as f64 / 1e9))
        };
        let _ = writeln!(
            text,
            "  {:>9}: reads {} GB/s, k_r {}; writes {} GB/s, k_w {}; alpha {:.2}",
            size(bytes),
            gigabytes("read_iops_max"),
            size_profile["k_r"],
            gigabytes("write_iops_max"),
            size_profile["k_w"],
            size_profile["alpha"].as_f64().unwrap_or(f64::NAN)
        );
    }
    if let Some(kept) = profile["kept"].as_str() {
        let _ = writeln!(text, "  {kept}");
    }
    text.trim_end().to_owned()
}

fn top(ranks: &Value, places: usize) -> String {
    let ranked = ranks["result"]["top"].as_array().into_iter().flatten().take(places);
    let rows: Vec<String> = ranked
        .map(|entry| {
            let rank = entry["rank"].as_f64().unwrap_or(0.0);
            format!("  {rank:.4}  {}", entry["vertex"].as_str().unwrap_or("?"))
        })
        .collect();
    format!("  Most depended upon, by PageRank:\n{}", rows.join("\n"))
}

fn table() -> comfy_table::Table {
    let header =
        ["algorithm", "time", "read", "passes", "achieved / possible", "peak / budget", "answer"];
    output::table(header, Vec::<[String; 7]>::new(), header.len())
}

fn row(run: &Value) -> [String; 7] {
    let real = |field: &str| run[field].as_f64().unwrap_or(0.0);
    [
        run["algorithm"].as_str().unwrap_or("?").to_owned(),
        format!("{:.2} s", real("seconds")),
        size(number(run, "bytes_read")),
        format!("{:.2}", real("passes")),
        format!(
            "{:.2} / {:.2} GB/s",
            real("bytes_per_second") / 1e9,
            real("bytes_per_second_possible") / 1e9
        ),
        format!(
            "{} / {}",
            size(number(run, "peak_rss_bytes")),
            size(number(run, "memory_budget_bytes"))
        ),
        answer(run),
    ]
}

fn answer(run: &Value) -> String {
    let result = &run["result"];
    match run["algorithm"].as_str() {
        Some("bfs") => format!(
            "{} reached from {}, depth {}",
            count(number(result, "reached")),
            result["source"],
            result["depth"]
        ),
        Some("wcc") => format!(
            "{} components, the largest of {}",
            count(number(result, "components")),
            count(number(result, "largest"))
        ),
        _ => format!(
            "top: vertex {} with {:.2e}",
            result["top"][0]["vertex"],
            result["top"][0]["rank"].as_f64().unwrap_or(0.0)
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    #[test]
    fn a_profile_that_is_not_saved_ends_no_demo() {
        let ended = |code: i32| ExitStatus::from_raw(code << 8);
        for args in [["profile", "."], ["import", "."]] {
            assert!(is_done(&args, ended(0)) && !is_done(&args, ended(2)));
            assert_eq!(is_done(&args, ended(1)), args[0] == "profile");
            assert!(!is_done(&args, ExitStatus::from_raw(9)), "killed");
        }
        let kept = serde_json::json!({ "sizes": [], "kept": "not saved: the machine was busy" });
        assert_eq!(drive(&kept), "  not saved: the machine was busy");
    }
}
