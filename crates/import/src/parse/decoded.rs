//! Passes decoded columns to a sink.

use super::binary::at_row;
use super::{Fault, Sink};
use crate::rows::{EdgeColumns, IdColumn, check_name};

pub(crate) fn parse<T, S>(edges: &EdgeColumns<T>, sink: &mut S) -> Result<(), Fault>
where
    T: AsRef<[u8]>,
    S: Sink,
{
    match (&edges.source, &edges.target, &edges.weights) {
        (IdColumn::Integers(sources), IdColumn::Integers(targets), None) => {
            for (&source, &target) in sources.iter().zip(targets) {
                integers(source, target, 0, sink)?;
            }
        }
        (IdColumn::Integers(sources), IdColumn::Integers(targets), Some(weights)) => {
            for ((&source, &target), &weight) in sources.iter().zip(targets).zip(weights) {
                integers(source, target, weight, sink)?;
            }
        }
        (IdColumn::Names(sources), IdColumn::Names(targets), weights) => {
            for (row, (source, target)) in sources.iter().zip(targets).enumerate() {
                let source = number(source.as_ref(), row, sink)?;
                let target = number(target.as_ref(), row, sink)?;
                let weight = weights.as_ref().map_or(0, |weights| weights[row]);
                sink.edge(source, target, weight)?;
            }
        }
        _ => unreachable!("both columns are of a kind"),
    }
    Ok(())
}

#[inline]
fn integers<S: Sink>(source: u64, target: u64, weight: u64, sink: &mut S) -> Result<(), Fault> {
    let (source, target) = (sink.integer(source)?, sink.integer(target)?);
    sink.edge(source, target, weight)
}

/// The number of the name in a row.
fn number<S: Sink>(name: &[u8], row: usize, sink: &mut S) -> Result<u64, Fault> {
    let row = row as u64;
    check_name(name).map_err(|expected| Fault::Row { row, expected })?;
    sink.id(name).map_err(|fault| at_row(fault, row, name))
}
