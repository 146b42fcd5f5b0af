//! Progress on stderr: a bar on a terminal, lines elsewhere, or JSON.

mod line;

use std::io::IsTerminal;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use cenote::import::Phase;
use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use self::line::State;
pub use self::line::Unit;

/// Work that ends earlier shows nothing but a bar.
const FIRST: Duration = Duration::from_secs(1);

/// How progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    /// A bar, if stderr is a terminal
    Bar,
    /// A line every ten seconds
    Plain,
    /// A JSON object a line, every second: stage, done, total, unit, `bytes_per_second`,
    /// `eta_seconds`, `elapsed_seconds`
    Json,
    /// Nothing
    None,
}

/// The variable that sets the mode where no flag does.
const VARIABLE: &str = "CENOTE_PROGRESS";

static MODE: OnceLock<Mode> = OnceLock::new();
static QUIET: OnceLock<()> = OnceLock::new();

/// The bar on the screen, so that warnings can be printed above it.
static CURRENT: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Flags of every verb.
#[derive(clap::Args, Clone, Copy, Debug)]
pub struct Flags {
    /// Print neither progress nor warnings
    #[arg(long, short, global = true, display_order = 900)]
    quiet: bool,
    /// How progress is shown on stderr [default: bar on a terminal, else plain; or
    /// CENOTE_PROGRESS]
    #[arg(long, global = true, value_enum, value_name = "bar|plain|json|none")]
    #[arg(hide_possible_values = true, display_order = 901, conflicts_with = "quiet")]
    progress: Option<Mode>,
}

impl Flags {
    /// Sets what holds for the process.
    pub fn apply(self) {
        let variable = || {
            let text = std::env::var(VARIABLE).ok()?;
            Mode::from_str(&text, true).ok()
        };
        let usual = || if std::io::stderr().is_terminal() { Mode::Bar } else { Mode::Plain };
        if self.quiet {
            let _ = QUIET.set(());
        }
        let given = if self.quiet { Some(Mode::None) } else { self.progress };
        // Set once, since a process has one command line.
        let _ = MODE.set(given.or_else(variable).unwrap_or_else(usual));
    }
}

/// Whether warnings are printed.
pub fn is_quiet() -> bool {
    QUIET.get().is_some()
}

fn mode() -> Mode {
    MODE.get().copied().unwrap_or(Mode::None)
}

/// Whether progress is shown at all.
pub fn is_shown() -> bool {
    mode() != Mode::None
}

/// The progress of some work, until it is dropped.
#[derive(Debug)]
pub struct Progress {
    bar: Option<ProgressBar>,
    shared: Arc<Shared>,
    ticker: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug)]
struct Shared {
    done: AtomicU64,
    state: Mutex<State>,
    /// Signalled when the work has ended.
    ended: Condvar,
}

impl Progress {
    /// Progress from 0 to `total`, if that is known.
    pub fn new(label: &str, total: Option<u64>, unit: Unit) -> Self {
        let mode = mode();
        // Hidden if stderr is not a terminal.
        let target = || ProgressDrawTarget::stderr_with_hz(10);
        let bar = (mode == Mode::Bar).then(|| ProgressBar::with_draw_target(total, target()));
        let state = Mutex::new(State::new(label, total, unit));
        let shared = Arc::new(Shared { done: AtomicU64::new(0), state, ended: Condvar::new() });
        // Without a thread there is no progress, and the work goes on.
        let ticker = matches!(mode, Mode::Plain | Mode::Json).then(|| {
            let shared = Arc::clone(&shared);
            Builder::new().spawn(move || shared.tick(mode)).ok()
        });
        let progress = Self { bar, shared, ticker: Mutex::new(ticker.flatten()) };
        progress.stage(label, total, unit);
        current().clone_from(&progress.bar);
        progress
    }

    /// Progress in bytes of a number that is not known yet.
    pub fn bytes(label: &str) -> Self {
        Self::new(label, None, Unit::Bytes)
    }

    /// Begins another stage of the same work.
    pub fn stage(&self, label: &str, total: Option<u64>, unit: Unit) {
        self.shared.done.store(0, Ordering::Relaxed);
        self.shared.state().begin(label, total, unit);
        let Some(bar) = &self.bar else { return };
        bar.set_style(
            ProgressStyle::with_template(unit.template(total.is_some()))
                .expect("the template is valid"),
        );
        bar.set_message(label.to_owned());
        match total {
            Some(total) => bar.set_length(total),
            None => bar.unset_length(),
        }
        bar.reset();
    }

    /// Advances by `amount`.
    pub fn advance(&self, amount: u64) {
        let before = self.shared.done.fetch_add(amount, Ordering::Relaxed);
        if let Some(bar) = &self.bar {
            bar.set_position(before + amount);
        }
    }

    /// Sets the position.
    pub fn at(&self, position: u64) {
        self.shared.done.store(position, Ordering::Relaxed);
        if let Some(bar) = &self.bar {
            bar.set_position(position);
        }
    }

    /// Ends the work: nothing is shown any more.
    pub fn end(&self) {
        self.shared.state().end();
        self.shared.ended.notify_all();
        let ticker = self.ticker.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(ticker) = ticker {
            // A panic of the ticker has ended the lines, which is all.
            let _ = ticker.join();
        }
        clear();
    }

    /// Sets position and total.
    pub fn set(&self, position: u64, total: u64) {
        let (label, known, unit) = self.shared.state().stage();
        if known != Some(total) {
            self.stage(&label, Some(total), unit);
        }
        self.at(position);
    }
}

/// Shows the phases of an import.
pub fn of_import(bar: &Progress) -> impl FnMut(Phase, u64, Option<u64>) + Send + '_ {
    |phase, done, total| match done {
        0 => bar.stage(phase.name(), total, Unit::Bytes),
        _ => bar.at(done),
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.end();
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Prints lines until the work has ended.
    fn tick(&self, mode: Mode) {
        let period = Duration::from_secs(if mode == Mode::Json { 1 } else { 10 });
        let mut next = Instant::now() + FIRST;
        let mut state = self.state();
        while !state.is_ended() {
            let now = Instant::now();
            if now < next {
                let waited = self.ended.wait_timeout(state, next - now);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
                continue;
            }
            next = now + period;
            let done = self.done.load(Ordering::Relaxed);
            match mode {
                Mode::Json => eprintln!("{}", state.json(done, now)),
                _ => eprintln!("cenote: {}", state.plain(done, now)),
            }
        }
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
