//! A progress bar on stderr, only where stderr is a terminal.

use std::sync::{Mutex, MutexGuard, PoisonError};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// The bar on the screen, so that warnings can be printed above it.
static CURRENT: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// How a bar counts.
#[derive(Clone, Copy, Debug)]
pub enum Unit {
    /// Bytes, shown as MiB.
    Bytes,
    /// Anything else: edges, pages, iterations.
    Items,
}

/// A bar that is removed from the screen when it is dropped.
#[derive(Debug)]
pub struct Progress(ProgressBar);

impl Progress {
    /// A bar from 0 to `total`; a spinner where the total is not known.
    pub fn new(label: &str, total: Option<u64>, unit: Unit) -> Self {
        let numbers = match unit {
            Unit::Bytes => "{bytes}/{total_bytes} {bytes_per_sec}",
            Unit::Items => "{human_pos}/{human_len} {per_sec}",
        };
        let template = match total {
            Some(_) => format!("{{msg}} {{wide_bar}} {numbers} {{eta}}"),
            None => format!(
                "{{spinner}} {{msg}} {}",
                numbers.replace("/{total_bytes}", "").replace("/{human_len}", "")
            ),
        };
        let style = ProgressStyle::with_template(&template).expect("the template is valid");
        // Hidden by itself where stderr is not a terminal; ten redraws a second cost nothing.
        let target = ProgressDrawTarget::stderr_with_hz(10);
        let bar = ProgressBar::with_draw_target(total, target).with_style(style);
        bar.set_message(label.to_owned());
        *current() = Some(bar.clone());
        Self(bar)
    }

    /// Counts `amount` more as done.
    pub fn advance(&self, amount: u64) {
        self.0.inc(amount);
    }

    /// Sets what is done in all.
    pub fn set(&self, position: u64) {
        self.0.set_position(position);
    }

    /// Begins another stage of the same work.
    pub fn stage(&self, label: &str, total: u64) {
        self.0.set_message(label.to_owned());
        self.0.set_length(total);
        self.0.set_position(0);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        clear();
    }
}

/// Takes the bar off the screen, if there is one.
pub fn clear() {
    if let Some(bar) = current().take() {
        bar.finish_and_clear();
    }
}

/// Prints to stderr without tearing the bar.
pub fn above(print: impl FnOnce()) {
    match current().as_ref() {
        Some(bar) => bar.suspend(print),
        None => print(),
    }
}

fn current() -> MutexGuard<'static, Option<ProgressBar>> {
    CURRENT.lock().unwrap_or_else(PoisonError::into_inner)
}
