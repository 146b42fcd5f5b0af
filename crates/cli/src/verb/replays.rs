//! What `pool replay` and `tier replay` share: flags of loads, the progress bar.

use std::sync::{Mutex, PoisonError};

use anyhow::{Result, anyhow};
use cenote::memory::MemorySize;
use cenote::report::page::Table;
use cenote_replay::load::LoadConfig;
use cenote_replay::{Control, ReplayError};
use cenote_workload::page::trace::TraceFormat;

use crate::args::bytes;
use crate::cancel;
use crate::output;
use crate::progress::{Progress, Unit};

/// Flags of loads.
#[derive(Debug, clap::Args)]
pub struct LoadFlags {
    /// Accesses, at most those of a trace [default of generated loads: 2000000 for a pool, 200000
    /// on a file, 1000000 for tiers]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1 << 48))]
    ops: Option<u64>,
    /// Seed of the load, and on tiers of the initial placement
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Exponent of zipf
    #[arg(long, value_name = "X", default_value_t = 0.99)]
    skew: f64,
    /// Bytes of a page
    #[arg(long, value_name = "SIZE", default_value = "4096")]
    page_bytes: MemorySize,
    /// Format of the traces [default: by their names]
    #[arg(long, value_name = "FORMAT")]
    format: Option<TraceFormat>,
}

impl LoadFlags {
    /// Sets the flags' values.
    pub fn set(&self, load: &mut LoadConfig) -> Result<()> {
        (load.ops, load.seed, load.skew) = (self.ops, self.seed, self.skew);
        load.page_bytes = bytes("--page-bytes", self.page_bytes)?;
        load.format = self.format;
        Ok(())
    }
}

/// A share from 0 to 1, or in percent with its sign: `0.9`, `90%`.
pub fn share(text: &str) -> Result<f64, String> {
    let (number, scale) = match text.strip_suffix('%') {
        Some(number) => (number, 100.0),
        None => (text, 1.0),
    };
    let share = number.trim().parse::<f64>().map(|n| n / scale).unwrap_or(f64::NAN);
    if (0.0..=1.0).contains(&share) {
        return Ok(share);
    }
    Err("expected a share such as 0.9 or 90%".to_owned())
}

/// Replays with a progress bar, until Ctrl-C; errors name flags in place of parameters.
pub fn with_bar<T>(
    replay: impl FnOnce(Control<'_>) -> std::result::Result<T, ReplayError>,
) -> Result<T> {
    let bar = Progress::new("replay", None, Unit::Items);
    let stage = Mutex::new("");
    let progress = |now: cenote_replay::Progress| {
        let mut known = stage.lock().unwrap_or_else(PoisonError::into_inner);
        if *known != now.stage {
            *known = now.stage;
            let unit = if now.stage == "create" { Unit::Bytes } else { Unit::Items };
            bar.stage(now.stage, Some(now.total), unit);
        }
        bar.set(now.done, now.total);
    };
    let control = Control { progress: &progress, cancelled: &cancel::cancelled };
    replay(control).map_err(|error| anyhow!(flags(&error.to_string())))
}

/// The rows of a replay as a table to print.
pub fn rows(table: Table) -> comfy_table::Table {
    output::table(table.header, table.rows, table.words)
}

/// Replaces parameters in backticks by flags: `n_w` by --n-w.
fn flags(message: &str) -> String {
    let mut text = String::new();
    for (place, piece) in message.split('`').enumerate() {
        let is_name =
            !piece.is_empty() && piece.bytes().all(|c| c == b'_' || c.is_ascii_lowercase());
        match (place % 2, is_name) {
            (0, _) => text += piece,
            (_, true) => text += &format!("--{}", piece.replace('_', "-")),
            (_, false) => text += &format!("`{piece}`"),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_taken_with_and_without_percent() {
        assert_eq!((share("0.9"), share("90%"), share("1")), (Ok(0.9), Ok(0.9), Ok(1.0)));
        for wrong in ["", "-1", "1.1", "101%", "nan", "x%"] {
            assert!(share(wrong).is_err(), "{wrong} was taken");
        }
    }

    #[test]
    fn parameters_in_messages_become_flags() {
        assert_eq!(
            flags("`warm_up` of 3: run `cenote profile`"),
            "--warm-up of 3: run `cenote profile`"
        );
    }
}
