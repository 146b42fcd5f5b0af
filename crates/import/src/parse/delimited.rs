//! Parses CSV and TSV: chosen columns of several.

use super::choice::{ColumnChoice, Known};
use super::token::{for_each_line, integer_id};
use super::{BlockStats, Fault, Problem, Sink};
use crate::config::{Format, Header, InputSpec};
use cenote_store::WeightType;

#[derive(Clone, Debug)]
pub struct Layout {
    separator: u8,
    quotes: bool,
    source: usize,
    target: usize,
    /// Type and column of the weights, if they are imported.
    weight: Option<(WeightType, usize)>,
}

impl Layout {
    /// Chooses the columns by the first line. Also returns whether that line was a header.
    pub(crate) fn from_first_line(
        line: &[u8],
        format: Format,
        spec: &InputSpec,
        weights: Option<WeightType>,
    ) -> Result<(Self, bool), Problem> {
        let (separator, quotes) = if format == Format::Csv { (b',', true) } else { (b'\t', false) };
        let mut fields = Vec::new();
        split(line, separator, quotes, |field| fields.push(field.into_owned()))
            .map_err(|fault| Problem::Line(expected_of(fault)))?;
        let by_name = spec.source_column.is_some()
            || spec.target_column.is_some()
            || spec.weight_column.as_ref().is_some_and(|name| name.parse::<usize>().is_err());
        let header = match spec.header {
            Header::Yes => true,
            Header::No => false,
            Header::Auto => by_name || !fields.iter().take(2).all(|f| integer_id(f).is_ok()),
        };
        let names: Vec<String> = fields.iter().map(|f| String::from_utf8_lossy(f).into()).collect();
        let names: &[String] = if header { &names } else { &[] };
        let known = Known { names, count: fields.len(), nested: &[] };
        let asked = ColumnChoice::of(spec);
        let [source, target] = asked.ids(known)?;
        let weight = match weights {
            Some(kind) => Some((kind, asked.weight(known, [source, target])?)),
            None => None,
        };
        Ok((Self { separator, quotes, source, target, weight }, header))
    }
}

fn expected_of(fault: Fault) -> String {
    match fault {
        Fault::Token { expected } | Fault::Line { expected, .. } | Fault::Row { expected, .. } => {
            expected
        }
        Fault::NotInteger | Fault::Import(_) => "a line of column names".to_owned(),
    }
}

pub fn parse<S: Sink>(block: &[u8], layout: &Layout, sink: &mut S) -> Result<BlockStats, Fault> {
    let lines = if layout.quotes && memchr::memchr(b'"', block).is_some() {
        for_each_record(block, |index, record| edge(record, index, layout, sink))?
    } else {
        for_each_line(block, |index, line| edge(line, index, layout, sink))?
    };
    Ok(BlockStats { lines, ..BlockStats::default() })
}

/// As `for_each_line`, except that a line end within quotes does not end the record.
fn for_each_record(
    block: &[u8],
    mut each: impl FnMut(u64, &[u8]) -> Result<(), Fault>,
) -> Result<u64, Fault> {
    let (mut start, mut lines, mut first_line, mut quoted) = (0, 0, 0, false);
    let mut record = |bytes: &[u8], line| each(line, bytes.strip_suffix(b"\r").unwrap_or(bytes));
    for at in memchr::memchr2_iter(b'"', b'\n', block) {
        if block[at] == b'"' {
            quoted = !quoted;
            continue;
        }
        lines += 1;
        if !quoted {
            record(&block[start..at], first_line)?;
            start = at + 1;
            first_line = lines;
        }
    }
    if quoted {
        return Err(Fault::line(first_line, &block[start..], "a closing quote"));
    }
    if start < block.len() {
        record(&block[start..], first_line)?;
        lines += 1;
    }
    Ok(lines)
}

fn edge<S: Sink>(line: &[u8], index: u64, layout: &Layout, sink: &mut S) -> Result<(), Fault> {
    if line.is_empty() {
        return Ok(());
    }
    let mut ids = [None, None];
    let mut weight = layout.weight.is_none().then_some(0);
    let mut column = 0;
    let mut problem = None;
    split(line, layout.separator, layout.quotes, |field| {
        for (id, place) in ids.iter_mut().zip([layout.source, layout.target]) {
            if column == place {
                match sink.id(&field) {
                    Ok(number) => *id = Some(number),
                    Err(fault) => problem = problem.take().or(Some(fault)),
                }
            }
        }
        if let Some((kind, place)) = layout.weight
            && column == place
        {
            weight = kind.parse(field.trim_ascii());
            if weight.is_none() {
                problem = problem.take().or(Some(Fault::weight(kind)));
            }
        }
        column += 1;
    })
    .map_err(|fault| fault.at(index, line))?;
    if let Some(fault) = problem {
        return Err(fault.at(index, line));
    }
    let ([Some(source), Some(target)], Some(weight)) = (ids, weight) else {
        let last = layout.weight.map_or(0, |(_, place)| place);
        let wanted = layout.source.max(layout.target).max(last) + 1;
        let expected = format!("at least {wanted} columns, not {column}");
        return Err(Fault::line(index, line, expected));
    };
    sink.edge(source, target, weight)
}

/// Calls `each` with every field of a record, without its quotes.
fn split(
    line: &[u8],
    separator: u8,
    quotes: bool,
    mut each: impl FnMut(std::borrow::Cow<'_, [u8]>),
) -> Result<(), Fault> {
    let mut rest = line;
    loop {
        let ended;
        if quotes && rest.first() == Some(&b'"') {
            let (field, after) = quoted(&rest[1..])?;
            each(field);
            ended = after.is_empty();
            rest = match after.split_first() {
                Some((byte, after)) if *byte == separator => after,
                None => after,
                Some(_) => {
                    let expected = "a separator after a closing quote".to_owned();
                    return Err(Fault::Token { expected });
                }
            };
        } else {
            let end = memchr::memchr(separator, rest);
            each(rest[..end.unwrap_or(rest.len())].into());
            ended = end.is_none();
            rest = end.map_or(&[], |end| &rest[end + 1..]);
        }
        if ended {
            return Ok(());
        }
    }
}

/// A quoted field after its opening quote, and what follows its closing quote.
fn quoted(bytes: &[u8]) -> Result<(std::borrow::Cow<'_, [u8]>, &[u8]), Fault> {
    let mut copy: Option<Vec<u8>> = None;
    let mut start = 0;
    loop {
        let Some(at) = memchr::memchr(b'"', &bytes[start..]).map(|at| start + at) else {
            return Err(Fault::Token { expected: "a closing quote".to_owned() });
        };
        let piece = &bytes[start..at];
        if bytes.get(at + 1) == Some(&b'"') {
            let copy = copy.get_or_insert_default();
            copy.extend_from_slice(piece);
            copy.push(b'"');
            start = at + 2;
            continue;
        }
        let field = match copy {
            Some(mut copy) => {
                copy.extend_from_slice(piece);
                copy.into()
            }
            None => piece.into(),
        };
        return Ok((field, &bytes[at + 1..]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(line: &str) -> Vec<String> {
        let mut fields = Vec::new();
        split(line.as_bytes(), b',', true, |field| {
            fields.push(String::from_utf8(field.into_owned()).unwrap());
        })
        .unwrap();
        fields
    }

    #[test]
    fn quotes_hide_separators_and_double_to_stand_for_themselves() {
        assert_eq!(fields("a,b"), ["a", "b"]);
        assert_eq!(fields("a,"), ["a", ""]);
        assert_eq!(fields("\"a,b\",\"c\"\"d\",e"), ["a,b", "c\"d", "e"]);
        assert_eq!(fields("\"\",x"), ["", "x"]);
        assert!(split(b"\"a", b',', true, |_| {}).is_err());
        assert!(split(b"\"a\"b,c", b',', true, |_| {}).is_err());
    }
}
