//! A progress bar on stderr, if that is a terminal.

use std::sync::{Mutex, MutexGuard, PoisonError};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// The bar on the screen, so that warnings can be printed above it.
static CURRENT: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// The unit of a bar.
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
    /// A bar from 0 to `total`; a spinner if the total is unknown.
    pub fn new(label: &str, total: Option<u64>, unit: Unit) -> Self {
        // Hidden if stderr is not a terminal.
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr_with_hz(10));
        let progress = Self(bar);
        progress.stage(label, total, unit);
        *current() = Some(progress.0.clone());
        progress
    }

    /// Begins another stage of the same work.
    pub fn stage(&self, label: &str, total: Option<u64>, unit: Unit) {
        let template = match (total, unit) {
            (Some(_), Unit::Bytes) => {
                "{msg} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta}"
            }
            (Some(_), Unit::Items) => "{msg} {wide_bar} {human_pos}/{human_len} {per_sec} {eta}",
            (None, Unit::Bytes) => "{msg} {spinner} {bytes} {bytes_per_sec}",
            (None, Unit::Items) => "{msg} {spinner} {human_pos} {per_sec}",
        };
        self.0.set_style(ProgressStyle::with_template(template).expect("the template is valid"));
        self.0.set_message(label.to_owned());
        match total {
            Some(total) => self.0.set_length(total),
            None => self.0.unset_length(),
        }
        self.0.reset();
    }

    /// Advances the bar by `amount`.
    pub fn advance(&self, amount: u64) {
        self.0.inc(amount);
    }

    /// Sets position and total.
    pub fn set(&self, position: u64, total: u64) {
        if self.0.length() != Some(total) {
            self.stage(&self.0.message(), Some(total), Unit::Items);
        }
        self.0.set_position(position);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        clear();
    }
}

/// Removes the bar, if there is one.
pub fn clear() {
    if let Some(bar) = current().take() {
        bar.finish_and_clear();
    }
}

/// Prints to stderr above the bar.
pub fn above(print: impl FnOnce()) {
    match current().as_ref() {
        Some(bar) => bar.suspend(print),
        None => print(),
    }
}

fn current() -> MutexGuard<'static, Option<ProgressBar>> {
    CURRENT.lock().unwrap_or_else(PoisonError::into_inner)
}
