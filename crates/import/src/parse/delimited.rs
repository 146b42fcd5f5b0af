//! CSV and TSV: two columns of several, found by name or place.

use super::token::{for_each_line, integer_id};
use super::{BlockStats, Fault, Sink};
use crate::config::{Format, Header, InputSpec};
use crate::error::excerpt;
use crate::head::Problem;
use cenote_store::WeightType;

/// Where the ids stand in a line.
#[derive(Clone, Debug)]
pub struct Layout {
    separator: u8,
    quotes: bool,
    source: usize,
    target: usize,
    /// Type and column of the weights, where they are imported.
    weight: Option<(WeightType, usize)>,
}

/// Names that tell the direction, in the order in which they are looked for.
const NAMES: [(&str, &str); 3] = [("source", "target"), ("src", "dst"), ("from", "to")];

impl Layout {
    /// From the first line, and whether that line was a header.
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
        let known: &[String] = if header { &names } else { &[] };
        let (source, target) = choose(spec, known, fields.len())?;
        let place = |kind| Ok((kind, choose_weight(spec, known, fields.len(), source, target)?));
        let weight = weights.map(place).transpose()?;
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

/// The two columns, from what was asked, or from well-known names, or the first two.
pub(crate) fn choose(
    spec: &InputSpec,
    names: &[String],
    count: usize,
) -> Result<(usize, usize), Problem> {
    let lower: Vec<String> = names.iter().map(|name| name.trim().to_lowercase()).collect();
    let place = |name: &str| lower.iter().position(|known| known == name);
    let told = NAMES.iter().find_map(|(source, target)| Some((place(source)?, place(target)?)));
    let (source, target) = told.unwrap_or((0, 1));
    let source = asked(spec.source_column.as_deref(), "`source_column`", names, count, source)?;
    let target = asked(spec.target_column.as_deref(), "`target_column`", names, count, target)?;
    if count < 2 {
        return Err(Problem::Line("at least two columns".to_owned()));
    }
    Ok((source, target))
}

/// The column of the weights, from what was asked, or from well-known names, or the first that is
/// left.
pub(crate) fn choose_weight(
    spec: &InputSpec,
    names: &[String],
    count: usize,
    source: usize,
    target: usize,
) -> Result<usize, Problem> {
    let is_id = |place: &usize| [source, target].contains(place);
    if spec.weight_column.is_some() {
        let wanted = spec.weight_column.as_deref();
        let place = asked(wanted, "`weight_column`", names, count, 0)?;
        if is_id(&place) {
            let reason = "`weight_column` is the column of an id; give another";
            return Err(Problem::Whole(reason.to_owned()));
        }
        return Ok(place);
    }
    let lower: Vec<String> = names.iter().map(|name| name.trim().to_lowercase()).collect();
    let named = ["weight", "w"].iter().find_map(|name| lower.iter().position(|n| n == name));
    let left: Vec<usize> = (0..count).filter(|place| !is_id(place)).collect();
    match (named, &left[..]) {
        (Some(place), _) if !is_id(&place) => Ok(place),
        (_, [only]) => Ok(*only),
        (_, [first, ..]) if names.is_empty() => Ok(*first),
        (_, []) => Err(Problem::Whole(
            "has no column of weights beside source and target: import it without `weights`"
                .to_owned(),
        )),
        _ => Err(Problem::Whole(
            "no column is named `weight`: say which one it is with `weight_column`".to_owned(),
        )),
    }
}

fn asked(
    wanted: Option<&str>,
    option: &str,
    names: &[String],
    count: usize,
    default: usize,
) -> Result<usize, Problem> {
    let Some(wanted) = wanted else { return Ok(default) };
    if let Some(place) = names.iter().position(|name| name == wanted) {
        return Ok(place);
    }
    match wanted.parse::<usize>() {
        Ok(number) if (1..=count).contains(&number) => Ok(number - 1),
        _ if names.is_empty() => Err(Problem::Whole(format!(
            "{option} {wanted}: there is no header; give a column number from 1 to {count}"
        ))),
        _ => {
            let known: Vec<_> = names.iter().map(|name| excerpt(name.as_bytes())).collect();
            let known = known.join(", ");
            Err(Problem::Whole(format!("{option} {wanted}: no such column; there are: {known}")))
        }
    }
}

/// Parses a block of whole records.
pub fn parse<S: Sink>(block: &[u8], layout: &Layout, sink: &mut S) -> Result<BlockStats, Fault> {
    let lines = if layout.quotes && memchr::memchr(b'"', block).is_some() {
        for_each_record(block, |index, record| edge(record, index, layout, sink))?
    } else {
        for_each_line(block, |index, line| edge(line, index, layout, sink))?
    };
    Ok(BlockStats { lines, ..BlockStats::default() })
}

/// As `for_each_line`, but a line end within quotes does not end the record.
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

/// Hands every field of a record to `each`, without its quotes.
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

    #[test]
    fn columns_are_found_by_name_or_place() {
        let mut spec = InputSpec::new("x.csv");
        let names: Vec<String> = ["w", "Dst", "src"].map(String::from).to_vec();
        assert_eq!(choose(&spec, &names, 3).unwrap(), (2, 1));
        spec.target_column = Some("w".into());
        assert_eq!(choose(&spec, &names, 3).unwrap(), (2, 0));
        spec.target_column = Some("3".into());
        assert_eq!(choose(&spec, &names, 3).unwrap(), (2, 2));
        spec.target_column = Some("x".into());
        let Err(Problem::Whole(reason)) = choose(&spec, &names, 3) else { panic!("unknown") };
        assert!(reason.contains("there are: w, Dst, src"), "{reason}");
    }
}
