//! Reports to look at: one HTML file that needs no network, no script and no other file.
//!
//! - [`Page`]: a report as data: a verdict, and sections of charts, bars, tables and facts
//! - `html`, `chart`, `axis`, `markup`: draw it; [`format`](mod@format): numbers and times as text
//! - [`Sampler`]: what the process reads and holds over time
//! - [`Machine`]: what it runs on
//! - [`WorkRecorder`], [`work`]: what reads and writes files, over time
//! - [`import`], [`merge`]: the pages of an import and of a merge
//! - [`drive`]: the page of a drive's profile
//! - [`write()`]: a page as a file

mod axis;
mod chart;
pub mod drive;
pub mod format;
mod html;
pub mod import;
mod machine;
mod markup;
pub mod merge;
pub mod page;
mod sampler;
pub mod work;

use std::io::Write;
use std::path::Path;

use cenote_import::output::Occupant;

pub use self::machine::Machine;
pub use self::page::Page;
pub(crate) use self::sampler::{BUSY, MOST};
pub use self::sampler::{Counters, Sample, Sampler};
pub use self::work::WorkRecorder;
use crate::error::{Error, Result};
use crate::output::OutputFile;
use crate::output::partial::PartialFile;

/// Checks, before anything runs, that a report can be written to `path`.
///
/// # Errors
/// [`Error::InvalidInput`] if it does not end in `.html`, must not be replaced, or is one of
/// `inputs`.
pub fn check(path: &Path, inputs: &[impl AsRef<Path>]) -> Result<()> {
    let occupant = crate::output::check(path, inputs)?;
    let is_html = path.extension().is_some_and(|ending| {
        ending.eq_ignore_ascii_case("html") || ending.eq_ignore_ascii_case("htm")
    });
    match (occupant, is_html) {
        // A stream has no ending.
        (Occupant::Stream, _) => Ok(()),
        // Whether there is a folder that takes files: this one is removed again.
        (_, true) => PartialFile::create(path).map(drop),
        (_, false) => Err(Error::input(path, "a report is a page: give a name that ends in .html")),
    }
}

/// Writes a report. The file appears under its name when it is complete; it may replace a regular
/// file, none of `inputs`. Returns the bytes written.
///
/// # Errors
/// As [`check`]; [`Error::Io`] if the file cannot be written.
pub fn write(path: &Path, inputs: &[impl AsRef<Path>], page: &Page) -> Result<u64> {
    check(path, inputs)?;
    let mut file = OutputFile::create(path, inputs)?;
    let failed = Error::io(format!("cannot write {}", path.display()));
    file.write_all(page.to_html().as_bytes()).map_err(failed)?;
    file.finish()
}
