//! A queue served by threads with pread/pwrite, where io_uring is refused or would cost more.
//!
//! A queue spawns workers as requests overlap, at most one per request in flight, so that the
//! device sees the requested depth. Workers and caller sleep on condition variables. A blocking
//! queue has no workers: the thread that waits carries the requests out.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::{Builder, JoinHandle};

use super::Target;
use crate::clock::{Clock, RealClock};
use crate::error::{DeviceError, IoFault, Result};
use crate::op::Op;
use crate::request::{Completion, Request, assert_request, assert_wait};
use crate::{Queue, QueueConfig};

/// Most workers of one queue; deeper queues have this many requests at the device. More would cost
/// more scheduling than the drive gains.
pub const WORKERS_MAX: usize = 512;

/// Stack of a worker, which calls little but pread.
const STACK_BYTES: usize = 64 << 10;

/// A request and the time of its submission.
struct Job {
    request: Request,
    submitted_ns: u64,
}

struct Finished {
    job: Job,
    outcome: std::result::Result<usize, IoFault>,
}

/// Shared by caller and workers.
#[derive(Default)]
struct Exchange {
    jobs: VecDeque<Job>,
    finished: Vec<Finished>,
    workers_idle: usize,
    /// Finished jobs after which to wake the sleeping caller; 0 while it is awake.
    wanted: usize,
    closing: bool,
}

struct Shared {
    exchange: Mutex<Exchange>,
    work: Condvar,
    done: Condvar,
    file: Arc<File>,
    block_bytes: usize,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Exchange> {
        self.exchange.lock().expect("no holder of this lock panics")
    }
}

pub(super) struct ThreadQueue {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
    pushed: Vec<Request>,
    in_flight: usize,
    depth: usize,
    blocking: bool,
    device_name: String,
    clock: Arc<RealClock>,
}

impl ThreadQueue {
    pub(super) fn open(target: &Target, config: &QueueConfig) -> Self {
        let shared = Shared {
            exchange: Mutex::default(),
            work: Condvar::new(),
            done: Condvar::new(),
            file: Arc::clone(&target.file),
            block_bytes: target.block_bytes,
        };
        Self {
            shared: Arc::new(shared),
            workers: Vec::new(),
            pushed: Vec::with_capacity(config.depth),
            in_flight: 0,
            depth: config.depth,
            blocking: config.blocking,
            device_name: target.name.clone(),
            clock: Arc::clone(&target.clock),
        }
    }

    /// Spawns workers until every waiting job has one, up to depth and [`WORKERS_MAX`].
    fn spawn_workers(&mut self, jobs_waiting: usize, workers_idle: usize) -> Result<()> {
        let wanted = self.workers.len() + jobs_waiting.saturating_sub(workers_idle);
        while self.workers.len() < wanted.min(self.depth).min(WORKERS_MAX) {
            let shared = Arc::clone(&self.shared);
            let builder = Builder::new().name("cenote-io".to_owned()).stack_size(STACK_BYTES);
            match builder.spawn(move || work(&shared)) {
                Ok(worker) => self.workers.push(worker),
                // Fewer workers also finish all jobs.
                Err(_) if !self.workers.is_empty() => break,
                Err(source) => {
                    let action = "start an I/O thread for";
                    let device = self.device_name.clone();
                    return Err(DeviceError::File { device, action, source });
                }
            }
        }
        Ok(())
    }

    /// Carries out what was pushed on the calling thread, which would only wait for a worker.
    fn run_here(&mut self, completions: &mut Vec<Completion>) {
        self.in_flight -= self.pushed.len();
        for request in self.pushed.drain(..) {
            let submitted_ns = self.clock.now_ns();
            let finished =
                run(&self.shared.file, Job { request, submitted_ns }, self.shared.block_bytes);
            completions.push(complete(finished, self.clock.now_ns()));
        }
    }
}

impl Queue for ThreadQueue {
    fn depth(&self) -> usize {
        self.depth
    }

    fn in_flight(&self) -> usize {
        self.in_flight
    }

    fn push(&mut self, request: Request) {
        assert_request(&request, self.shared.block_bytes, self.in_flight, self.depth);
        self.in_flight += 1;
        self.pushed.push(request);
    }

    fn submit(&mut self) -> Result<()> {
        if self.blocking {
            return Ok(());
        }
        // Without workers, an earlier submit failed to spawn one: try again.
        let is_served = self.in_flight == 0 || !self.workers.is_empty();
        if self.pushed.is_empty() && is_served {
            return Ok(());
        }
        let submitted_ns = self.clock.now_ns();
        let count = self.pushed.len();
        let mut exchange = self.shared.lock();
        exchange.jobs.extend(self.pushed.drain(..).map(|request| Job { request, submitted_ns }));
        let (waiting, idle) = (exchange.jobs.len(), exchange.workers_idle);
        drop(exchange);
        for _ in 0..count.min(idle) {
            self.shared.work.notify_one();
        }
        self.spawn_workers(waiting, idle)
    }

    fn reap(&mut self, wait_for: usize, completions: &mut Vec<Completion>) -> Result<()> {
        assert_wait(wait_for, self.in_flight);
        let is_single = self.in_flight == 1 && self.pushed.len() == 1 && wait_for == 1;
        if self.blocking || is_single {
            self.run_here(completions);
            return Ok(());
        }
        self.submit()?;
        let mut exchange = self.shared.lock();
        while exchange.finished.len() < wait_for {
            exchange.wanted = wait_for;
            exchange = self.shared.done.wait(exchange).expect("no holder of this lock panics");
        }
        exchange.wanted = 0;
        if exchange.finished.is_empty() {
            return Ok(());
        }
        let now_ns = self.clock.now_ns();
        self.in_flight -= exchange.finished.len();
        completions.extend(exchange.finished.drain(..).map(|f| complete(f, now_ns)));
        Ok(())
    }
}

impl Drop for ThreadQueue {
    /// Waits until the workers, which own the buffers, have finished all jobs.
    fn drop(&mut self) {
        self.shared.lock().closing = true;
        self.shared.work.notify_all();
        for worker in self.workers.drain(..) {
            // A panic of a worker is ignored.
            let _ = worker.join();
        }
    }
}

fn complete(finished: Finished, now_ns: u64) -> Completion {
    let latency_ns = now_ns.saturating_sub(finished.job.submitted_ns);
    finished.job.request.complete(finished.outcome, latency_ns)
}

/// The loop of a worker: takes jobs, runs them and returns them.
fn work(shared: &Shared) {
    let mut exchange = shared.lock();
    loop {
        if let Some(job) = exchange.jobs.pop_front() {
            drop(exchange);
            let finished = run(&shared.file, job, shared.block_bytes);
            exchange = shared.lock();
            exchange.finished.push(finished);
            if exchange.wanted > 0 && exchange.finished.len() >= exchange.wanted {
                exchange.wanted = 0;
                shared.done.notify_one();
            }
        } else if exchange.closing {
            return;
        } else {
            exchange.workers_idle += 1;
            exchange = shared.work.wait(exchange).expect("no holder of this lock panics");
            exchange.workers_idle -= 1;
        }
    }
}

/// Transfers the whole request, up to the end of the file or an error.
fn run(file: &File, mut job: Job, block_bytes: usize) -> Finished {
    let Request { op, offset, len, buffer, .. } = &mut job.request;
    let mut done = 0;
    let outcome = loop {
        let rest = &mut buffer[done..*len];
        let at = *offset + done as u64;
        let moved = match op {
            Op::Read => file.read_at(rest, at),
            Op::Write => file.write_at(rest, at),
        };
        match moved {
            Ok(bytes) => {
                done += bytes;
                // Nothing or a partial block moved: the file ends here.
                if bytes == 0 || !bytes.is_multiple_of(block_bytes) || done == *len {
                    break Ok(done);
                }
            }
            Err(signal) if signal.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => break Err(IoFault { errno: error.raw_os_error().unwrap_or(libc::EIO) }),
        }
    };
    Finished { job, outcome }
}
