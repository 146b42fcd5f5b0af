//! Groups of flags that several verbs share.

use std::num::NonZeroUsize;

use clap::Args;

/// How many threads work.
#[derive(Args, Clone, Copy, Debug)]
pub struct Threads {
    /// Threads that work [default: one per core]
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
}

impl Threads {
    /// The number given, 0 if none was.
    pub fn given(self) -> usize {
        self.threads.map_or(0, NonZeroUsize::get)
    }

    /// The number given, or the cores that this process may use.
    pub fn count(self) -> usize {
        self.threads
            .or_else(|| std::thread::available_parallelism().ok())
            .map_or(1, NonZeroUsize::get)
    }
}

/// How a result is written.
#[derive(Args, Clone, Copy, Debug)]
pub struct Report {
    /// Write the result as one JSON object
    #[arg(long)]
    pub json: bool,
}
