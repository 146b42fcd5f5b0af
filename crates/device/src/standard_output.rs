//! Whether standard output was open when the process began.
//!
//! Before `main`, the standard library opens `/dev/null` in place of a standard descriptor that is
//! closed. What is printed is then lost without an error, and `main` cannot tell this from a caller
//! who wants it so. So the descriptor is looked at earlier, among the program's initialisers.

use std::sync::atomic::{AtomicBool, Ordering};

static CLOSED: AtomicBool = AtomicBool::new(false);

/// Whether standard output was closed when the process began.
pub fn was_closed() -> bool {
    CLOSED.load(Ordering::Relaxed)
}

extern "C" fn look() {
    // SAFETY: reads the flags of a descriptor, and fails where it is not open.
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
    CLOSED.store(flags == -1, Ordering::Relaxed);
}

// SAFETY: the section holds pointers to C functions, which the loader calls before `main`. This one
// takes no arguments, allocates nothing and needs nothing of Rust's runtime.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;
