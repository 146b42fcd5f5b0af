//! The configuration of a run: memory, threads, strategy, depth, cancellation.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cenote_device::profile::Profile;
use cenote_device::setters;
pub use cenote_device::threads::THREADS_MAX;
use cenote_device::threads::cores;

/// How the active lists are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Strategy {
    /// Planned by the device's profile: adjacent pages become one request, gaps are read where that
    /// is cheaper than another request, and pages stay in memory as far as they fit.
    #[default]
    Auto,
    /// CAVE's `ProcessQueueBlock` (Algorithm 1): every active page once per step, one page per
    /// request, k_r requests in flight, a Clock cache.
    Block,
    /// CAVE's `ProcessQueue` (Algorithm 1): vertex by vertex, k_r requests of one page in flight,
    /// a Clock cache; a page that was evicted is read again.
    Vertex,
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Strategy::Auto => "auto",
            Strategy::Block => "block",
            Strategy::Vertex => "vertex",
        })
    }
}

impl FromStr for Strategy {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        match text {
            "auto" => Ok(Strategy::Auto),
            "block" => Ok(Strategy::Block),
            "vertex" => Ok(Strategy::Vertex),
            other => Err(format!("unknown strategy '{other}': auto, block or vertex")),
        }
    }
}

/// Cancels a run: when any clone is raised, or when a closure returns true.
#[derive(Clone, Default)]
pub struct Cancel {
    flag: Arc<AtomicBool>,
    condition: Option<Arc<dyn Fn() -> bool + Send + Sync>>,
}

impl Cancel {
    /// Also cancels the run when `is_cancelled` returns true. All workers call it, between pages.
    pub fn when(is_cancelled: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self { flag: Arc::default(), condition: Some(Arc::new(is_cancelled)) }
    }

    /// Cancels every run that holds a clone of this.
    pub fn raise(&self) {
        self.flag.store(true, Ordering::Relaxed);
    }

    /// Whether the run is cancelled.
    #[inline]
    pub fn is_raised(&self) -> bool {
        self.flag.load(Ordering::Relaxed) || self.condition.as_ref().is_some_and(|met| met())
    }
}

impl fmt::Debug for Cancel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cancel(raised: {})", self.flag.load(Ordering::Relaxed))
    }
}

/// The configuration of a run; most programs set only the memory.
///
/// ```
/// # use cenote_engine::{EngineConfig, Strategy};
/// let config = EngineConfig::with_memory(256 << 20).threads(2).strategy(Strategy::Block);
/// assert_eq!(config.threads, 2);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EngineConfig {
    /// Memory budget in bytes: vertex state, index, buffers and cached pages.
    pub memory_bytes: u64,
    /// Worker threads, 1 to [`THREADS_MAX`].
    pub threads: usize,
    /// How lists are read.
    pub strategy: Strategy,
    /// The measured performance of the device.
    pub profile: Profile,
    /// Requests in flight over all workers; unset: from the profile.
    pub depth: Option<usize>,
    /// The most bytes of cached pages; unset: what the budget leaves.
    pub cache_bytes: Option<u64>,
    /// Whether visits read weights, so that their pages are cached too. Algorithms set it.
    pub weighted: bool,
    /// Whether most visits are of few pages that the next visits need again: pages in memory then
    /// save more than large requests, and those that were read last stay. Algorithms set it.
    pub few_pages: bool,
    /// Whether each visit reads all pages, or most pages are read once: then, of little memory,
    /// more requests in flight save more time than a few cached pages. Without effect on a device
    /// with buffers of its own. Algorithms set it.
    pub passes: bool,
    /// Keeps a record of every step for [`Engine::explain`](crate::Engine::explain).
    pub explain: bool,
    /// The most records of steps: beyond it, records of steps that follow each other are merged.
    pub steps_max: usize,
    /// Folder for the file of vertex state that does not fit in memory; unset: it must fit. Only
    /// algorithms that say so put their state in a file, and only with [`Strategy::Auto`].
    pub state_dir: Option<PathBuf>,
    /// Cancels the run.
    pub cancel: Cancel,
}

impl EngineConfig {
    /// A run within `memory_bytes` on all cores, planned for an assumed device.
    pub fn with_memory(memory_bytes: u64) -> Self {
        Self {
            memory_bytes,
            threads: cores(),
            strategy: Strategy::Auto,
            profile: Profile::assumed(),
            depth: None,
            cache_bytes: None,
            weighted: false,
            few_pages: false,
            passes: false,
            explain: false,
            steps_max: usize::MAX,
            state_dir: None,
            cancel: Cancel::default(),
        }
    }

    /// Bytes per second that the profile gives for writes of `request_bytes`, several in flight.
    pub fn write_bytes_per_second(&self, request_bytes: u64) -> f64 {
        self.profile.model().at(request_bytes).write_iops_max * request_bytes as f64
    }

    setters! {
        memory_bytes: u64,
        threads: usize,
        strategy: Strategy,
        profile: Profile,
        depth: Option<usize>,
        cache_bytes: Option<u64>,
        weighted: bool,
        few_pages: bool,
        passes: bool,
        explain: bool,
        steps_max: usize,
        state_dir: Option<PathBuf>,
        cancel: Cancel,
    }
}
