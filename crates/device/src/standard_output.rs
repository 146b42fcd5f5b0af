//! Whether standard output was open when the process started.
//!
//! Before `main`, the standard library opens `/dev/null` in place of a closed standard descriptor.
//! Output is then lost without an error, and `main` cannot distinguish this from a redirection. So
//! an initialiser of the program checks the descriptor earlier.

use std::sync::atomic::{AtomicBool, Ordering};

static CLOSED: AtomicBool = AtomicBool::new(false);

/// Whether standard output was closed when the process started.
pub fn was_closed() -> bool {
    CLOSED.load(Ordering::Relaxed)
}

extern "C" fn check() {
    // SAFETY: reads the flags of a descriptor, and fails where it is not open.
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
    CLOSED.store(flags == -1, Ordering::Relaxed);
}

// SAFETY: the section holds pointers to C functions, which the loader calls before `main`. This one
// takes no arguments, allocates nothing and needs nothing of Rust's runtime.
#[used]
#[unsafe(link_section = ".init_array")]
static CHECK: extern "C" fn() = check;
