//! The kind of ids of inputs, as far as their types say it.

use std::sync::atomic::AtomicUsize;

use crate::budget::Budget;
use crate::config::{Format, IdKind, Input};
use crate::input::format_of;
use crate::parse::columns;

/// The kind of ids to import: [`IdKind::Auto`] stands for strings where an input says that it has
/// some, so that `007` and `7` stay two ids. Text does not say it.
pub(crate) fn id_kind(inputs: &[Input<'_>], asked: IdKind, memory_bytes: usize) -> IdKind {
    let budget = Budget::new(memory_bytes);
    match asked {
        IdKind::Auto if inputs.iter().any(|input| has_strings(input, &budget)) => IdKind::String,
        asked => asked,
    }
}

/// Whether ids have the type of strings, whatever they are.
fn has_strings(input: &Input<'_>, budget: &Budget) -> bool {
    match input {
        Input::Edges(edges) => edges.has_names(),
        Input::Vertices(vertices) => vertices.rows().has_names(),
        Input::File(spec) if matches!(format_of(spec), Ok(Format::Parquet)) => {
            // A file that cannot be opened is an error of the pass over it.
            columns::open(spec, None, (budget, &AtomicUsize::new(0)))
                .is_ok_and(|columns| columns.names())
        }
        Input::File(_) => false,
    }
}
