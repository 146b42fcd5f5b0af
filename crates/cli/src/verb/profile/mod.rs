//! `cenote profile`: measures the drive under a path and saves its profile.
//!
//! - `plot`: draws the curves as SVG

mod plot;

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use cenote::drive::{Drive, Warning};
use cenote::memory::MemorySize;
use cenote::report;
use cenote_device::plan::Planner;
use cenote_device::profile::{
    Profile, ProfileConfig, ProfileStore, Progress as Step, Saved, SizeProfile, profile_path,
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
///
/// A profile that was measured while other programs used the drive or the processors says so. If
/// the saved profile is calmer, that one is kept, and the exit status is 1.
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
    /// Save the profile even if the machine was busy and the saved profile is calmer
    #[arg(long)]
    replace: bool,
    /// Measure nothing: show the profile that runs on this drive use, saved or assumed
    #[arg(long, conflicts_with_all = ["quick", "scratch", "replace"])]
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
        svg::check_name(plot, &[] as &[&Path])?;
    }
    let _guard = args.page.checked(&[&args.path])?;
    let (profile, origin) = if args.saved { found(args)? } else { measured(args)? };
    let calm = profile.calm();
    if calm.busy {
        tracing::warn!("the machine was busy while the drive was measured: {calm}");
    }
    if let Some(path) = &args.plot {
        plot::draw(&profile, path).with_context(|| format!("cannot write {}", path.display()))?;
    }
    if let Some(path) = &args.page.report {
        let page = report::drive::page(&profile, Some(&command_line()));
        report::write(path, &[&args.path], &page)?;
    }
    if args.report.json && args.saved {
        output::json(&profile)?;
    } else if args.report.json {
        let (saved, kept) = (origin.path(), origin.kept());
        output::json(&Measured { profile: &profile, saved, kept })?;
    } else {
        output::line(Summary { profile: &profile, origin: &origin })?;
    }
    Ok(if origin.kept().is_some() { Outcome::AnsweredNo } else { Outcome::Done })
}

/// The profile that runs on the drive use, and where it comes from.
fn found(args: &Args) -> Result<(Profile, Origin)> {
    let drive = Drive::find(&args.path, None)?;
    Ok((drive.profile, Origin::Found(drive.warning)))
}

/// Measures the drive and saves its profile.
fn measured(args: &Args) -> Result<(Profile, Origin)> {
    let scratch_bytes = args.scratch.map(|size| bytes("--scratch", size)).transpose()?;
    let config = if args.quick { ProfileConfig::quick() } else { ProfileConfig::full() };
    // The measurement of a file is read-only, so it is not a profile of the drive.
    let store = if args.path.is_file() { None } else { Some(ProfileStore::of_user()?) };
    store.iter().try_for_each(ProfileStore::check_writable)?;
    let profile = measure(args, &config, scratch_bytes)?;
    let saved = store.map(|store| match args.replace {
        true => store.save(&profile).map(Saved::At),
        false => store.save_if_calm(&profile),
    });
    let origin = saved.transpose()?.map_or(Origin::OfFile, Origin::Measured);
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

/// Where a profile comes from, and where it is now.
enum Origin {
    /// Saved earlier, or assumed with a warning.
    Found(Option<Warning>),
    Measured(Saved),
    /// Measured on a file, which is not its whole drive.
    OfFile,
}

impl Origin {
    /// The file that it was saved in now.
    fn path(&self) -> Option<&Path> {
        if let Self::Measured(saved) = self { saved.path() } else { None }
    }

    /// Why the saved profile was kept in its place, if it was.
    fn kept(&self) -> Option<String> {
        match self {
            Self::Measured(kept @ Saved::Kept { .. }) => Some(kept.to_string()),
            _ => None,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Found(None) => f.write_str("saved earlier"),
            Self::Found(Some(warning)) => warning.fmt(f),
            Self::Measured(saved @ Saved::At(_)) => saved.fmt(f),
            Self::Measured(kept) => write!(f, "{kept}; --replace saves it all the same"),
            Self::OfFile => f.write_str("not saved: a file is not its whole drive"),
        }
    }
}

/// The profile as JSON, with what became of it.
#[derive(serde::Serialize)]
struct Measured<'a> {
    #[serde(flatten)]
    profile: &'a Profile,
    /// The file that it was saved in; null if it was not.
    saved: Option<&'a Path>,
    /// Why the saved profile was kept in its place; null if it was not.
    kept: Option<String>,
}

/// Prints a profile as text.
struct Summary<'a> {
    profile: &'a Profile,
    origin: &'a Origin,
}

impl fmt::Display for Summary<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { profile, origin } = self;
        writeln!(f, "{}", title(profile))?;
        writeln!(f, "{}\n", state(profile))?;
        writeln!(f, "{}\n", table(profile))?;
        writeln!(f, "k: {}", profile.conditions.k_rule)?;
        writeln!(f, "knee: smallest depth with a median latency over 1.5 times that of depth 1")?;
        writeln!(f, "spread: half of the range of repetitions, over their median")?;
        writeln!(f, "calm: {}", profile.calm())?;
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
        format!("{:.0}%", profile.spread(Some(of.bytes)) * 100.0),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_shows_every_size_and_the_plan() {
        let text = Summary { profile: &Profile::assumed(), origin: &Origin::OfFile }.to_string();
        for expected in ["4 KiB", "1024 KiB", "k_r", "plan: requests of", "not saved"] {
            assert!(text.contains(expected), "{expected} is missing in\n{text}");
        }
    }

    #[test]
    fn a_profile_that_is_not_saved_says_why_and_how_to_save_it() {
        let calm = Profile::assumed().calm();
        let path = PathBuf::from("profiles/vda.json");
        let origin = Origin::Measured(Saved::Kept { path, saved: calm, measured: calm });
        assert!(origin.path().is_none());
        let profile = Profile::assumed();
        let text = Summary { profile: &profile, origin: &origin }.to_string();
        let line = text.lines().last().unwrap();
        let words = ["not saved: the machine was busy", "profiles/vda.json", "--replace"];
        assert!(words.iter().all(|words| line.contains(words)), "{line}");
        let json = Measured { profile: &profile, saved: origin.path(), kept: origin.kept() };
        let json = serde_json::to_value(json).unwrap();
        assert!(json["saved"].is_null() && json["kept"].is_string() && json["sizes"].is_array());
        let saved = Origin::Measured(Saved::At("profiles/vda.json".into()));
        assert!(saved.kept().is_none() && saved.to_string() == "saved: profiles/vda.json");
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
