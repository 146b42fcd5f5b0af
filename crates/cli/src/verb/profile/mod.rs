//! `cenote profile`: measures the drive under a path and saves its profile.
//!
//! - `plot`: draws the curves as SVG

mod plot;

use std::fmt;
use std::path::PathBuf;

use anyhow::{Context, Result};
use cenote::drive::Drive;
use cenote::memory::MemorySize;
use cenote::report;
use cenote_device::plan::Planner;
use cenote_device::profile::{
    Profile, ProfileConfig, ProfileStore, Progress as Step, SizeProfile, profile_path,
};
use comfy_table::Table;

use crate::args::{Report, ReportArgs, bytes, command_line};
use crate::cancel;
use crate::output::{self, size};
use crate::progress::{Progress, Unit};
use crate::svg;
use crate::verb::Outcome;

/// Bytes of buffers that the printed plan assumes.
const PLAN_BUFFER_BYTES: usize = 16 << 20;

/// Measure the drive under a directory, and save its profile
///
/// In a directory a scratch file is written, and removed afterwards. A raw device or a file is only
/// read. Later runs find the profile by the drive's identity, whatever the path.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  cenote profile . --quick
  cenote profile /mnt/fast --plot fast.svg
  cenote profile /dev/nvme0n1 --json
  cenote profile . --quick --report drive.html
  cenote profile . --saved")]
pub struct Args {
    /// A directory on the drive, or the drive itself (only read)
    #[arg(value_name = "DIR|DEVICE")]
    path: PathBuf,
    /// Fewer sizes and shorter measurements: within 20 seconds
    #[arg(long)]
    quick: bool,
    /// Size of the scratch file [default: 1GiB, or half of the free space if that is less]
    #[arg(long, value_name = "SIZE")]
    scratch: Option<MemorySize>,
    /// Measure nothing: show the profile that runs on this drive go by, saved or assumed
    #[arg(long, conflicts_with_all = ["quick", "scratch"])]
    saved: bool,
    /// Plot the curves to this file
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
    #[command(flatten)]
    page: ReportArgs,
    #[command(flatten)]
    report: Report,
}

/// Prints the profile of the drive, which is measured and saved first.
pub fn run(args: &Args) -> Result<Outcome> {
    if let Some(plot) = &args.plot {
        svg::check_name(plot)?;
    }
    let _guard = args.page.checked(&[&args.path])?;
    let (profile, origin) = if args.saved { found(args)? } else { measured(args)? };
    if let Some(path) = &args.plot {
        plot::draw(&profile, path).with_context(|| format!("cannot write {}", path.display()))?;
    }
    if let Some(path) = &args.page.report {
        let page = report::drive::page(&profile, Some(&command_line()));
        report::write(path, &[&args.path], &page)?;
    }
    if args.report.json {
        output::json(&profile)?;
    } else {
        output::line(Summary { profile: &profile, origin: &origin })?;
    }
    Ok(Outcome::Done)
}

/// The profile that runs on the drive go by, and where it comes from.
fn found(args: &Args) -> Result<(Profile, String)> {
    let drive = Drive::find(&args.path, None)?;
    let origin = drive.warning.map_or("saved earlier".to_owned(), |warning| warning.to_string());
    Ok((drive.profile, origin))
}

/// Measures the drive and saves its profile. Returns it and where it was saved.
fn measured(args: &Args) -> Result<(Profile, String)> {
    let scratch_bytes = args.scratch.map(|size| bytes("--scratch", size)).transpose()?;
    let config = if args.quick { ProfileConfig::quick() } else { ProfileConfig::full() };
    // The measurement of a file is read-only, so it is not a profile of the drive.
    let store = if args.path.is_file() { None } else { Some(ProfileStore::of_user()?) };
    store.iter().try_for_each(ProfileStore::check_writable)?;
    let profile = measure(args, &config, scratch_bytes)?;
    let saved = store.map(|store| store.save(&profile)).transpose()?;
    let origin = saved.map_or("not saved: a file is not its whole drive".to_owned(), |path| {
        format!("saved: {}", path.display())
    });
    Ok((profile, origin))
}

fn measure(args: &Args, config: &ProfileConfig, scratch_bytes: Option<u64>) -> Result<Profile> {
    let bar = Progress::new("profile", Some(1), Unit::Items);
    let mut stage = String::new();
    let result = profile_path(&args.path, config, scratch_bytes, &mut |step: &Step| {
        if stage != step.step {
            bar.stage(&step.step, Some(step.total), Unit::Items);
            stage.clone_from(&step.step);
        }
        bar.set(step.done, step.total);
        !cancel::cancelled()
    });
    cancel::check()?;
    Ok(result?)
}

/// Prints a profile as text.
struct Summary<'a> {
    profile: &'a Profile,
    /// Where it comes from, or where it is now.
    origin: &'a str,
}

impl fmt::Display for Summary<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { profile, origin } = self;
        writeln!(f, "{}", title(profile))?;
        writeln!(f, "{}\n", state(profile))?;
        writeln!(f, "{}\n", table(profile))?;
        writeln!(f, "k: {}", profile.conditions.k_rule)?;
        writeln!(f, "knee: smallest depth with a median latency over 1.5 times that of depth 1")?;
        writeln!(f, "alpha: greatest read over greatest write bandwidth, random requests")?;
        let planner = Planner::new(profile, 4096, PLAN_BUFFER_BYTES, 2);
        let plan = planner.plan();
        write!(
            f,
            "plan: requests of {}, {} in flight; gaps of up to {} pages are read through; \
             {:.0} MB/s",
            size(plan.request_bytes as u64),
            plan.depth,
            plan.gap_pages,
            planner.bytes_per_second() / 1e6,
        )?;
        for note in &profile.conditions.notes {
            write!(f, "\nnote: {note}")?;
        }
        write!(f, "\n{origin}")
    }
}

fn title(profile: &Profile) -> String {
    let identity = &profile.identity;
    let mut words = vec![profile.device.clone()];
    words.extend(identity.name.as_ref().map(|name| format!("block device {name}")));
    words.extend(identity.model.clone());
    words.extend(identity.bytes.map(size));
    words.join(", ")
}

/// The conditions of the measurement.
fn state(profile: &Profile) -> String {
    let conditions = &profile.conditions;
    let region = if conditions.scratch { "scratch file, written in full" } else { "read in place" };
    let mut words = vec![
        format!("{} of {region}", size(conditions.region_bytes)),
        format!("{:.0} s on {}", conditions.seconds, conditions.backend),
        format!("warmed for {:.1} s", conditions.warm_up_seconds),
    ];
    if let (Some(kind), Some(used)) = (&conditions.filesystem, conditions.filesystem_used_share) {
        words.push(format!("{kind} {:.0}% full", used * 100.0));
    }
    words.join("; ")
}

fn table(profile: &Profile) -> Table {
    let header = [
        "size",
        "alpha",
        "k_r",
        "knee_r",
        "reads/s",
        "MB/s",
        "us alone",
        "sequential MB/s",
        "k_w",
        "knee_w",
        "writes/s",
        "MB/s",
        "us alone",
        "spread",
    ];
    output::table(header, profile.sizes.iter().map(|size| row(profile, size)), 0)
}

fn row(profile: &Profile, of: &SizeProfile) -> Vec<String> {
    const NONE: &str = "-";
    let number = |value: Option<f64>, digits: usize| {
        value.map_or(NONE.to_owned(), |v| format!("{v:.digits$}"))
    };
    let depth = |value: Option<u32>| value.map_or(NONE.to_owned(), |k| k.to_string());
    let megabytes = |iops: Option<f64>| number(iops.map(|i| i * of.bytes as f64 / 1e6), 0);
    vec![
        format!("{} KiB", of.bytes >> 10),
        number(of.alpha, 2),
        of.k_r.to_string(),
        depth(of.read_knee),
        number(Some(of.read_iops_max), 0),
        megabytes(Some(of.read_iops_max)),
        number(Some(of.read_us_qd1), 1),
        megabytes(of.read_sequential_iops_max),
        depth(of.k_w),
        depth(of.write_knee),
        number(of.write_iops_max, 0),
        megabytes(of.write_iops_max),
        number(of.write_us_qd1, 1),
        format!("{:.0}%", spread(profile, of.bytes) * 100.0),
    ]
}

/// The median spread of repetitions over all points of a size.
fn spread(profile: &Profile, bytes: u64) -> f64 {
    let curves = profile.curves.iter().filter(|c| c.bytes == bytes);
    let mut spreads: Vec<f64> = curves.flat_map(|c| &c.points).map(|p| p.spread()).collect();
    spreads.sort_by(f64::total_cmp);
    spreads.get(spreads.len() / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_shows_every_size_and_the_plan() {
        let text = Summary { profile: &Profile::assumed(), origin: "not saved" }.to_string();
        for expected in ["4 KiB", "1024 KiB", "k_r", "plan: requests of", "not saved"] {
            assert!(text.contains(expected), "{expected} is missing in\n{text}");
        }
    }

    #[test]
    fn unmeasured_writes_are_dashes() {
        let mut profile = Profile::assumed();
        for size in &mut profile.sizes {
            (size.alpha, size.k_w, size.write_iops_max) = (None, None, None);
        }
        let cells = row(&profile, &profile.sizes[0]);
        assert_eq!((cells[1].as_str(), cells[8].as_str()), ("-", "-"));
    }
}
