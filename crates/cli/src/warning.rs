//! Prints warnings of the libraries, one line each on stderr: `cenote: warning: ...`.
//!
//! A small subscriber, since only the text of warnings is needed.

use std::fmt::{self, Write};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use crate::{one_line, progress};

/// Installs the subscriber for the whole process.
pub fn print_to_stderr() {
    // Fails only if a subscriber is installed already.
    let _ = tracing::subscriber::set_global_default(Stderr);
}

struct Stderr;

impl Subscriber for Stderr {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::WARN && metadata.is_event()
    }

    fn event(&self, event: &Event<'_>) {
        if progress::is_quiet() {
            return;
        }
        let line = one_line(&text(event));
        progress::above(|| eprintln!("cenote: warning: {line}"));
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        // Spans are never enabled, but the trait requires a number.
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// The message of an event, and its fields as `name=value`.
fn text(event: &Event<'_>) -> String {
    let mut words = Words::default();
    event.record(&mut words);
    words.message + &words.fields
}

#[derive(Default)]
struct Words {
    message: String,
    fields: String,
}

impl Visit for Words {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Writing to a String cannot fail.
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.fields, " {name}={value:?}"),
        };
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    struct Collect(Arc<Mutex<Vec<String>>>);

    impl Subscriber for Collect {
        fn enabled(&self, metadata: &Metadata<'_>) -> bool {
            Stderr.enabled(metadata)
        }
        fn event(&self, event: &Event<'_>) {
            self.0.lock().unwrap().push(text(event));
        }
        fn new_span(&self, attributes: &Attributes<'_>) -> Id {
            Stderr.new_span(attributes)
        }
        fn record(&self, _: &Id, _: &Record<'_>) {}
        fn record_follows_from(&self, _: &Id, _: &Id) {}
        fn enter(&self, _: &Id) {}
        fn exit(&self, _: &Id) {}
    }

    #[test]
    fn warnings_and_errors_are_printed_and_nothing_else() {
        let lines = Arc::new(Mutex::new(Vec::new()));
        tracing::subscriber::with_default(Collect(lines.clone()), || {
            tracing::info!("busy");
            tracing::warn!("io_uring is disabled: {}", "sysctl");
            tracing::error!(page = 3, "torn");
        });
        assert_eq!(*lines.lock().unwrap(), ["io_uring is disabled: sysctl", "torn page=3"]);
    }
}
