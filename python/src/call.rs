//! Long calls: without the interpreter's lock, ended by Ctrl-C, with progress.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use cenote::Error;
use pyo3::prelude::*;

use crate::errors::Failure;

/// The time between two looks at signals and progress.
const PERIOD: Duration = Duration::from_millis(50);

/// The progress of a call: its phase, what is done of it, all of it if known, and seconds.
type Report = (&'static str, u64, Option<u64>, f64);

/// What a call and the thread that works for it exchange.
pub struct Call {
    is_cancelled: AtomicBool,
    report: Mutex<Option<Report>>,
    began: Instant,
}

impl Default for Call {
    /// A call that begins now.
    fn default() -> Self {
        let began = Instant::now();
        Self { is_cancelled: AtomicBool::default(), report: Mutex::default(), began }
    }
}

impl Call {
    pub fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Relaxed)
    }

    /// Reports a phase, what is done of it, and all of it if known.
    pub fn report(&self, phase: &'static str, done: u64, total: Option<u64>) {
        let report = (phase, done, total, self.began.elapsed().as_secs_f64());
        *self.report.lock().unwrap_or_else(PoisonError::into_inner) = Some(report);
    }

    fn take_report(&self) -> Option<Report> {
        self.report.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Closures for the library's builders.
    pub fn canceller(self: &Arc<Self>) -> impl Fn() -> bool + Send + Sync + 'static {
        let call = Arc::clone(self);
        move || call.is_cancelled()
    }

    /// Runs `work` on another thread, without the interpreter's lock. Meanwhile the calling thread
    /// checks for signals such as Ctrl-C and calls `progress` with reports: Python runs handlers of
    /// signals on its main thread only. If a handler or `progress` raises an exception, the work is
    /// cancelled; when it has ended, the exception is raised.
    pub fn wait<T: Send>(
        &self,
        py: Python<'_>,
        progress: Option<&Py<PyAny>>,
        work: impl FnOnce() -> Result<T, Failure> + Send,
    ) -> PyResult<T> {
        self.is_cancelled.store(false, Ordering::Relaxed);
        let (result, raised) = py.detach(|| {
            thread::scope(|scope| {
                let (sender, ended) = sync_channel(1);
                let worker = thread::Builder::new().spawn_scoped(scope, move || {
                    let result = work();
                    let _ = sender.send(());
                    result
                });
                let worker = worker.map_err(|source| Error::Io {
                    context: "cannot start the thread that works for this call".to_owned(),
                    source,
                })?;
                let mut raised = None;
                while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(PERIOD) {
                    if raised.is_none() {
                        raised = Python::attach(|py| self.poll(py, progress)).err();
                        self.is_cancelled.store(raised.is_some(), Ordering::Relaxed);
                    }
                }
                Ok::<_, Failure>((worker.join(), raised))
            })
        })?;
        let result = result.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        match raised {
            Some(raised) => Err(raised),
            None => {
                let value = result?;
                self.poll(py, progress)?;
                Ok(value)
            }
        }
    }

    /// Raises a signal that arrived, and passes new progress to the callable.
    fn poll(&self, py: Python<'_>, progress: Option<&Py<PyAny>>) -> PyResult<()> {
        py.check_signals()?;
        if let (Some(progress), Some(report)) = (progress, self.take_report()) {
            progress.call1(py, report)?;
        }
        Ok(())
    }
}
