//! Reads edges without importing them: each is passed on, by the user's ids, in the order of the
//! input.

use std::sync::{Mutex, PoisonError};

use cenote_store::{IdRef, Weight, WeightType};

use crate::blocks::{self, Meter, Pass, PassError, Worker};
use crate::budget::Budget;
use crate::config::{Format, Input, InputSpec};
use crate::driver::{block_bytes, check_file};
use crate::error::{ImportError, Result};
use crate::input::{self, Unchanged};
use crate::once::OpenCopies;
use crate::parse::token::{check_name, integer_id};
use crate::parse::{Fault, Sink};
use crate::report::{Phase, Progress};
use crate::rows::RowReader;

/// Called with the ids of an edge and its weight; ends the reading by returning false.
pub type VisitEdge<'v> = dyn FnMut([IdRef<'_>; 2], Option<Weight>) -> bool + Send + 'v;

/// Reads files, or edges in memory, and calls `visit` with each edge, in their order. Ids are
/// strings if `has_names`, else integers. Where they are strings, integers are refused if any of
/// the inputs is in memory, and become strings if all are files. `directed` decides what symmetric
/// formats list; without `weights` those of the inputs are passed over. Vertices without an edge
/// are skipped. Takes at most `memory_bytes` for parsing.
///
/// # Errors
/// [`ImportError::Cancelled`] if `visit` returned false; errors of reading and parsing, after
/// `visit` was called with the edges before the fault.
pub fn for_each_edge(
    inputs: &[Input<'_>],
    has_names: bool,
    directed: bool,
    weights: Option<WeightType>,
    memory_bytes: usize,
    progress: &dyn Progress,
    visit: &mut VisitEdge<'_>,
) -> Result<()> {
    for input in inputs {
        let is_vertices = match input {
            Input::File(file) => {
                check_file(file, weights)?;
                file.is_vertices || input::format_of(file)? == Format::Vertices
            }
            Input::Edges(edges) => {
                edges.check(weights)?;
                false
            }
            Input::Vertices(_) => true,
        };
        if is_vertices {
            let (input, reason) = (input.name(), "a list of vertices has no edges".to_owned());
            return Err(ImportError::Format { input, reason });
        }
    }
    // In memory an integer has a type; files may be of pairs of integers, which an import beside
    // strings makes strings of, too.
    let is_typed = |input: &Input<'_>| matches!(input, Input::Edges(_));
    let only_strings = inputs.iter().any(is_typed);
    let visit = Visit { visit: Mutex::new(visit), weights, only_strings };
    read(inputs, (has_names, directed), memory_bytes, progress, &visit)
}

/// Called with the id of a vertex and the text of its value; an error says what was expected.
pub(crate) type VisitValue<'v> =
    dyn FnMut(IdRef<'_>, &str) -> std::result::Result<(), String> + Send + 'v;

/// Reads files of vertices as text and calls `visit` with each id that has a value. As
/// [`for_each_edge`].
pub(crate) fn for_each_value(
    files: &[InputSpec],
    has_names: bool,
    memory_bytes: usize,
    progress: &dyn Progress,
    visit: &mut VisitValue<'_>,
) -> Result<()> {
    if files.is_empty() {
        return Ok(());
    }
    let visit = Values(Mutex::new(visit));
    let files: Vec<Input<'_>> = files.iter().cloned().map(Input::File).collect();
    read(&files, (has_names, false), memory_bytes, progress, &visit)
}

/// Reads inputs, in their order, on one thread.
fn read<V: Visitor>(
    inputs: &[Input<'_>],
    (has_names, directed): (bool, bool),
    memory_bytes: usize,
    progress: &dyn Progress,
    visitor: &V,
) -> Result<()> {
    let (budget, meter, unchanged) =
        (Budget::new(memory_bytes), Meter::default(), Unchanged::new(inputs));
    let pass = Pass {
        inputs,
        budget: &budget,
        progress,
        // One worker keeps the order.
        workers: 1,
        block_bytes: block_bytes(memory_bytes, 1),
        directed,
        weights: visitor.weights(),
        copies: &NoCopies,
        again: false,
        edges_only: false,
        meter: &meter,
    };
    progress.begin(Phase::Read, input::total_bytes(inputs, visitor.weights()));
    let done = match has_names {
        true => blocks::run(&pass, || Ok(NameVisitor::new(visitor))).map(drop),
        false => blocks::run(&pass, || Ok(IntegerVisitor(visitor))).map(drop),
    };
    done.map_err(PassError::into_import)?;
    unchanged.check()
}

/// What is called with what is read.
trait Visitor: Sync {
    fn weights(&self) -> Option<WeightType> {
        None
    }

    /// Whether an integer is refused where ids are strings.
    fn only_strings(&self) -> bool {
        false
    }

    fn edge(&self, _: [IdRef<'_>; 2], _: u64) -> std::result::Result<(), Fault> {
        Ok(())
    }

    fn value(&self, _: IdRef<'_>, _: &[u8]) -> std::result::Result<(), Fault> {
        Ok(())
    }
}

struct Visit<'v, 'f> {
    visit: Mutex<&'v mut VisitEdge<'f>>,
    weights: Option<WeightType>,
    only_strings: bool,
}

impl Visitor for Visit<'_, '_> {
    fn weights(&self) -> Option<WeightType> {
        self.weights
    }

    fn only_strings(&self) -> bool {
        self.only_strings
    }

    fn edge(&self, pair: [IdRef<'_>; 2], weight: u64) -> std::result::Result<(), Fault> {
        let weight = self.weights.map(|kind| kind.weight(weight));
        let mut visit = self.visit.lock().unwrap_or_else(PoisonError::into_inner);
        if visit(pair, weight) { Ok(()) } else { Err(Fault::Import(ImportError::Cancelled)) }
    }
}

struct Values<'v, 'f>(Mutex<&'v mut VisitValue<'f>>);

impl Visitor for Values<'_, '_> {
    fn value(&self, id: IdRef<'_>, text: &[u8]) -> std::result::Result<(), Fault> {
        let mut visit = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // What is no text is no number either.
        let text = std::str::from_utf8(text).unwrap_or("?");
        visit(id, text).map_err(|expected| Fault::Token { expected })
    }
}

/// No input is read twice.
struct NoCopies;

impl OpenCopies for NoCopies {
    fn open(&self, _: usize, _: bool) -> Result<Option<RowReader<'_>>> {
        Ok(None)
    }
}

struct IntegerVisitor<'s, V>(&'s V);

impl<V: Visitor> Sink for IntegerVisitor<'_, V> {
    const INTEGERS: bool = true;

    fn id(&mut self, token: &[u8]) -> std::result::Result<u64, Fault> {
        integer_id(token).map_err(|fault| fault.fault(false))
    }

    fn integer(&mut self, id: u64) -> std::result::Result<u64, Fault> {
        Ok(id)
    }

    fn edge(&mut self, source: u64, target: u64, weight: u64) -> std::result::Result<(), Fault> {
        self.0.edge([source, target].map(IdRef::Integer), weight)
    }

    fn vertex(&mut self, _: u64) -> std::result::Result<(), Fault> {
        Ok(())
    }

    fn value(&mut self, id: u64, text: &[u8]) -> std::result::Result<(), Fault> {
        self.0.value(IdRef::Integer(id), text)
    }
}

impl<V: Visitor> Worker for IntegerVisitor<'_, V> {
    type Output = ();

    fn finish(self) -> Result<()> {
        Ok(())
    }
}

/// Numbers the names of a block by their places.
struct NameVisitor<'s, V> {
    visitor: &'s V,
    text: String,
    /// Ends of the names in the text.
    ends: Vec<usize>,
}

impl<'s, V> NameVisitor<'s, V> {
    fn new(visitor: &'s V) -> Self {
        Self { visitor, text: String::new(), ends: Vec::new() }
    }

    fn name(&self, number: u64) -> IdRef<'_> {
        let at = number as usize;
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        IdRef::String(&self.text[start..self.ends[at]])
    }
}

impl<V: Visitor> Sink for NameVisitor<'_, V> {
    const INTEGERS: bool = false;

    fn id(&mut self, token: &[u8]) -> std::result::Result<u64, Fault> {
        check_name(token)?;
        let Ok(name) = std::str::from_utf8(token) else {
            return Err(Fault::Token { expected: "ids in UTF-8 text".to_owned() });
        };
        self.text.push_str(name);
        self.ends.push(self.text.len());
        Ok(self.ends.len() as u64 - 1)
    }

    fn integer(&mut self, id: u64) -> std::result::Result<u64, Fault> {
        if self.visitor.only_strings() {
            let expected = format!("strings as ids, as those of the graph, not the integer {id}");
            return Err(Fault::Token { expected });
        }
        self.id(id.to_string().as_bytes())
    }

    fn edge(&mut self, source: u64, target: u64, weight: u64) -> std::result::Result<(), Fault> {
        self.visitor.edge([self.name(source), self.name(target)], weight)
    }

    fn vertex(&mut self, _: u64) -> std::result::Result<(), Fault> {
        Ok(())
    }

    fn value(&mut self, id: u64, text: &[u8]) -> std::result::Result<(), Fault> {
        self.visitor.value(self.name(id), text)
    }

    fn end_block(&mut self) {
        self.text.clear();
        self.ends.clear();
    }
}

impl<V: Visitor> Worker for NameVisitor<'_, V> {
    type Output = ();

    fn finish(self) -> Result<()> {
        Ok(())
    }
}
