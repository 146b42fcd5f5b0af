//! How a run is to be done.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cenote_device::profile::Profile;
use cenote_device::setters;

/// Worker threads at most.
pub const THREADS_MAX: usize = 512;

/// How a frontier's lists reach the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Strategy {
    /// Planned by the device's profile: adjacent pages become one request, gaps are read through
    /// where that is cheaper, what fits in memory stays there.
    #[default]
    Auto,
    /// CAVE's `ProcessQueueBlock` (Algorithm 1): every active page once per step, one page a
    /// request, k_r requests in flight, a Clock cache.
    Block,
    /// CAVE's `ProcessQueue` (Algorithm 1): vertex by vertex, k_r requests of one page in flight,
    /// a Clock cache; a page that left the cache is read again.
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

/// Ends a run early: when any clone is raised, or when a closure says so.
#[derive(Clone, Default)]
pub struct Cancel {
    flag: Arc<AtomicBool>,
    asked: Option<Arc<dyn Fn() -> bool + Send + Sync>>,
}

impl Cancel {
    /// Also ends the run when `is_cancelled` returns true. All workers call it, between pages.
    pub fn when(is_cancelled: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self { flag: Arc::default(), asked: Some(Arc::new(is_cancelled)) }
    }

    /// Stops every run that holds a clone of this.
    pub fn raise(&self) {
        self.flag.store(true, Ordering::Relaxed);
    }

    /// Whether the run is to stop.
    #[inline]
    pub fn is_raised(&self) -> bool {
        self.flag.load(Ordering::Relaxed) || self.asked.as_ref().is_some_and(|asked| asked())
    }
}

impl fmt::Debug for Cancel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cancel(raised: {})", self.flag.load(Ordering::Relaxed))
    }
}

/// How a run is to be done; the defaults are the good choice.
///
/// ```
/// # use cenote_engine::{EngineConfig, Strategy};
/// let config = EngineConfig::with_memory(256 << 20).threads(2).strategy(Strategy::Block);
/// assert_eq!(config.threads, 2);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EngineConfig {
    /// Everything that a run may keep in memory, bytes: vertex state, index, buffers, cached pages.
    pub memory_bytes: u64,
    /// Worker threads.
    pub threads: usize,
    /// How lists are fetched.
    pub strategy: Strategy,
    /// What the device was measured to do.
    pub profile: Profile,
    /// Requests in flight over all workers; from the profile where it is not set.
    pub depth: Option<usize>,
    /// Bytes of pages to keep at most; what the budget leaves where it is not set.
    pub cache_bytes: Option<u64>,
    /// Whether visits bring weights; then their pages are worth keeping in memory, too. Algorithms
    /// set it.
    pub weighted: bool,
    /// Keeps a record of every step for [`Engine::explain`](crate::Engine::explain).
    pub explain: bool,
    /// Ends the run early.
    pub cancel: Cancel,
}

impl EngineConfig {
    /// A run within `memory_bytes` on all cores, planned for an assumed device.
    pub fn with_memory(memory_bytes: u64) -> Self {
        Self {
            memory_bytes,
            threads: std::thread::available_parallelism().map_or(1, usize::from).min(THREADS_MAX),
            strategy: Strategy::Auto,
            profile: Profile::assumed(),
            depth: None,
            cache_bytes: None,
            weighted: false,
            explain: false,
            cancel: Cancel::default(),
        }
    }

    setters! {
        memory_bytes: u64,
        threads: usize,
        strategy: Strategy,
        profile: Profile,
        depth: Option<usize>,
        cache_bytes: Option<u64>,
        weighted: bool,
        explain: bool,
        cancel: Cancel,
    }
}
