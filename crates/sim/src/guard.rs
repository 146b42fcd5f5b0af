//! Converts panics and hangs to errors.

use std::any::Any;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use crate::Outcome;

/// A simulation that takes longer hangs: rounds take milliseconds.
pub const PATIENCE: Duration = Duration::from_secs(90);

/// Runs `work` on a thread of its own, which is abandoned if it hangs.
pub fn guarded<T: Send + 'static>(
    patience: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> Outcome<T> {
    let (sender, receiver) = sync_channel(1);
    let worker = thread::Builder::new().name("simulation".into()).spawn(move || {
        // Fails only after a timeout, when the receiver is gone.
        let _ = sender.send(work());
    });
    let worker = worker.map_err(|error| format!("cannot start a thread: {error}"))?;
    match receiver.recv_timeout(patience) {
        Ok(done) => Ok(done),
        Err(RecvTimeoutError::Timeout) => Err(format!("it hangs: no end after {patience:?}")),
        Err(RecvTimeoutError::Disconnected) => match worker.join() {
            Err(panic) => Err(format!("it panicked: {}", message(panic.as_ref()))),
            Ok(()) => Err("it ended without a result".into()),
        },
    }
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panics_and_hangs_are_reported_and_results_pass() {
        assert_eq!(guarded(PATIENCE, || 7), Ok(7));
        let panicked = guarded(PATIENCE, || std::panic::resume_unwind(Box::new("on purpose")));
        assert_eq!(panicked, Err::<(), _>("it panicked: on purpose".into()));
        let (_keep, never) = sync_channel::<()>(0);
        let hang = guarded(Duration::from_millis(20), move || never.recv().is_ok());
        assert!(hang.is_err_and(|fault| fault.contains("it hangs")));
    }
}
