//! Kernels and containers that refuse io_uring. Each test runs again in a child process, since a
//! sandbox and a warning that comes once are matters of a process.

use std::fmt::Write as _;
use std::process::Command;
use std::sync::{Arc, Mutex};

use cenote_device::backend::file::{self, BackendChoice, IO_URING_SWITCH, OpenOptions};
use cenote_device::{Arena, QueueConfig};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};
use tracing::field::{Field, Visit};
use tracing::span;

use crate::support::{
    BLOCK, assert_pattern, directory, drain, pattern, read, request, write_pattern,
};

const CHILD: &str = "CENOTE_TEST_CHILD";

/// Runs `test` (its full name) in a child, unless this is the child.
fn in_child(test: &str, environment: &[(&str, &str)]) -> bool {
    if std::env::var_os(CHILD).is_some() {
        return true;
    }
    let child = Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture"])
        .env(CHILD, "1")
        .envs(environment.iter().copied())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success(), "{said}{}", String::from_utf8_lossy(&child.stderr));
    assert!(said.contains("1 passed"), "the child ran no test: {said}");
    false
}

/// Collects what is logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<(tracing::Level, String)>>>);

struct Message(String);

impl Visit for Message {
    fn record_debug(&mut self, _: &Field, value: &dyn std::fmt::Debug) {
        write!(self.0, "{value:?}").unwrap();
    }
}

impl tracing::Subscriber for Log {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let mut message = Message(String::new());
        event.record(&mut message);
        self.0.lock().unwrap().push((*event.metadata().level(), message.0));
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

impl Log {
    fn start() -> Self {
        let log = Self::default();
        tracing::subscriber::set_global_default(log.clone()).unwrap();
        log
    }

    fn of(&self, level: tracing::Level) -> Vec<String> {
        let events = self.0.lock().unwrap();
        events.iter().filter(|event| event.0 == level).map(|event| event.1.clone()).collect()
    }

    /// The only warning.
    fn warning(&self) -> String {
        let mut warnings = self.of(tracing::Level::WARN);
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        warnings.remove(0)
    }
}

/// From now on this thread and its children get `errno` for io_uring_setup.
fn forbid_io_uring(errno: i32) {
    let filter = SeccompFilter::new(
        [(libc::SYS_io_uring_setup, vec![])].into(),
        SeccompAction::Allow,
        SeccompAction::Errno(errno.cast_unsigned()),
        std::env::consts::ARCH.try_into().unwrap(),
    );
    let program: BpfProgram = filter.unwrap().try_into().unwrap();
    seccompiler::apply_filter(&program).unwrap();
}

/// Opens two files and moves bytes; both must be served by threads.
fn threads_serve(log: &Log) -> String {
    let directory = directory();
    for name in ["one", "two"] {
        let device = file::open(&directory.path().join(name), &OpenOptions::creating()).unwrap();
        assert_eq!(device.backend(), "threads");
        write_pattern(&*device, 1, 0, 4 * BLOCK);
        assert_pattern(&read(&*device, 0, 4 * BLOCK), 1, name);
    }
    let options = OpenOptions::reading().backend(BackendChoice::Uring);
    let error = file::open(&directory.path().join("one"), &options).unwrap_err().to_string();
    assert!(error.contains("cannot open an io_uring queue on: io_uring is"), "{error}");
    log.warning()
}

#[test]
fn environment_switch_leads_to_threads_and_one_warning() {
    let name = "refused::environment_switch_leads_to_threads_and_one_warning";
    if in_child(name, &[(IO_URING_SWITCH, "off")]) {
        let warning = threads_serve(&Log::start());
        assert!(warning.contains("unset CENOTE_IO_URING"), "{warning}");
        assert!(warning.ends_with("using threads"), "{warning}");
    }
}

#[test]
fn seccomp_filter_leads_to_threads_and_one_warning() {
    if in_child("refused::seccomp_filter_leads_to_threads_and_one_warning", &[]) {
        let log = Log::start();
        forbid_io_uring(libc::EPERM);
        let warning = threads_serve(&log);
        for part in ["io_uring is disabled", "sysctl kernel.io_uring_disabled=0", "seccomp profile"]
        {
            assert!(warning.contains(part), "{warning}");
        }
        assert!(warning.ends_with("using threads"), "{warning}");
    }
}

#[test]
fn kernel_without_io_uring_leads_to_threads_and_one_warning() {
    if in_child("refused::kernel_without_io_uring_leads_to_threads_and_one_warning", &[]) {
        let log = Log::start();
        forbid_io_uring(libc::ENOSYS);
        let warning = threads_serve(&log);
        assert!(warning.contains("io_uring is missing"), "{warning}");
    }
}

#[test]
fn sandbox_that_closes_after_opening_leads_to_threads() {
    let name = "refused::sandbox_that_closes_after_opening_leads_to_threads";
    if !in_child(name, &[]) {
        return;
    }
    if let Some(reason) = file::uring_refusal() {
        println!("skipped: {reason}");
        return;
    }
    let log = Log::start();
    let directory = directory();
    let device = file::open(&directory.path().join("file"), &OpenOptions::creating()).unwrap();
    assert_eq!(device.backend(), "io_uring");
    forbid_io_uring(libc::EPERM);
    let mut queue = device.queue(&QueueConfig::with_depth(2)).unwrap();
    queue.push(request(0, cenote_device::Op::Write, 0, BLOCK, pattern(1, BLOCK)));
    assert_eq!(drain(queue.as_mut())[0].result, Ok(BLOCK));
    assert_pattern(&read(&*device, 0, BLOCK), 1, "file");
    assert_eq!(device.backend(), "threads");
    assert!(log.warning().contains("io_uring is disabled"), "{}", log.warning());
}

/// Gives up every privilege of this thread, that of locking memory beyond the limit included.
fn drop_capabilities() {
    const VERSION_3: u32 = 0x2008_0522;
    let header = [VERSION_3, 0];
    let none = [0u32; 6];
    // SAFETY: capset reads a header of two words and six words of capability sets.
    let dropped = unsafe { libc::syscall(libc::SYS_capset, header.as_ptr(), none.as_ptr()) };
    assert_eq!(dropped, 0);
    // Enough for a ring, on kernels that count it, and not for the arena.
    let limit = libc::rlimit { rlim_cur: 256 << 10, rlim_max: 256 << 10 };
    // SAFETY: the pointer is to a live rlimit.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_MEMLOCK, &raw const limit) }, 0);
}

#[test]
fn locked_memory_limit_leaves_buffers_unregistered_and_says_so_quietly() {
    let name = "refused::locked_memory_limit_leaves_buffers_unregistered_and_says_so_quietly";
    if !in_child(name, &[]) {
        return;
    }
    if let Some(reason) = file::uring_refusal() {
        println!("skipped: {reason}");
        return;
    }
    let log = Log::start();
    let directory = directory();
    let device = file::open(&directory.path().join("file"), &OpenOptions::creating()).unwrap();
    drop_capabilities();
    for _ in 0..2 {
        let (arena, mut buffers) = Arena::carve(1 << 20, 1).unwrap();
        let config = QueueConfig::with_depth(1).arenas(vec![arena]);
        let mut queue = device.queue(&config).unwrap();
        let mut buffer = buffers.pop().unwrap();
        buffer[..BLOCK].copy_from_slice(&pattern(1, BLOCK));
        queue.push(request(0, cenote_device::Op::Write, 0, BLOCK, buffer));
        assert_eq!(drain(queue.as_mut())[0].result, Ok(BLOCK));
    }
    assert_eq!(device.backend(), "io_uring");
    let said = log.of(tracing::Level::DEBUG);
    let about = said.iter().filter(|message| message.contains("not registered")).count();
    assert_eq!(about, 1, "{said:?}");
    assert_eq!(log.of(tracing::Level::WARN), Vec::<String>::new());
}
