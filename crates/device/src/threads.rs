//! How many threads work is divided among.

use std::sync::OnceLock;

/// The most worker threads of an engine, an import or a replay.
pub const THREADS_MAX: usize = 512;

/// The cores that this process may use, at most [`THREADS_MAX`]; 1 if the system does not say.
///
/// Asked once: for each answer files of the process's control group are read.
pub fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| {
        std::thread::available_parallelism().map_or(1, usize::from).min(THREADS_MAX)
    })
}
