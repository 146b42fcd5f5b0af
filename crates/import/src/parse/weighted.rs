//! Parses edge lists with weights: two ids and a number a line.

use super::token::{digits, for_each_line, is_blank_or_comment, is_separator, tokens};
use super::{BlockStats, Fault, Sink};
use cenote_store::WeightType;

#[derive(Clone, Debug)]
pub struct WeightPlace {
    kind: WeightType,
    /// Column from 0; the ids are in the first two.
    column: usize,
    /// Name of the weight if Python data such as `{'weight': 0.5}` follows the ids, as NetworkX
    /// writes it.
    name: String,
}

impl WeightPlace {
    /// Uses the given column: its number, or a name in Python data.
    pub(crate) fn new(kind: WeightType, asked: Option<&str>) -> Self {
        let number = asked.and_then(|asked| asked.parse::<usize>().ok());
        let name = asked.filter(|_| number.is_none()).unwrap_or("weight").to_owned();
        Self { kind, column: number.map_or(2, |number| number.saturating_sub(1)), name }
    }

    pub(crate) fn is_id(&self) -> bool {
        self.column < 2
    }

    fn expected(&self) -> Fault {
        let (column, expected) = (self.column + 1, self.kind.expected());
        Fault::Token { expected: format!("an edge: two ids, and in column {column} {expected}") }
    }

    /// Parses the weight in the part of a line after its second id.
    fn weight(&self, rest: &[u8]) -> Result<u64, Fault> {
        let rest = rest.trim_ascii();
        let token = if rest.first() == Some(&b'{') {
            in_braces(rest, &self.name)
        } else {
            tokens(rest).nth(self.column - 2)
        };
        token.and_then(|token| self.kind.parse(token)).ok_or_else(|| self.expected())
    }
}

/// The value of a name in `{'name': value, ...}`.
fn in_braces<'a>(text: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let quoted = [format!("'{name}':"), format!("\"{name}\":")];
    let after = quoted.iter().find_map(|quoted| {
        memchr::memmem::find(text, quoted.as_bytes()).map(|at| &text[at + quoted.len()..])
    })?;
    let end = memchr::memchr2(b',', b'}', after)?;
    Some(after[..end].trim_ascii())
}

pub fn parse<S: Sink>(
    block: &[u8],
    place: &WeightPlace,
    sink: &mut S,
) -> Result<BlockStats, Fault> {
    let lines = for_each_line(block, |index, line| {
        let edge = match plain_pair(line) {
            Some((source, target, rest)) if S::INTEGERS => {
                place.weight(rest).and_then(|weight| sink.edge(source, target, weight))
            }
            _ => any_line(line, place, sink),
        };
        edge.map_err(|fault| fault.at(index, line))
    })?;
    Ok(BlockStats { lines, ..BlockStats::default() })
}

/// Parses two integers, each followed by one separator. Returns them and the rest of the line.
fn plain_pair(line: &[u8]) -> Option<(u64, u64, &[u8])> {
    let (source, len) = digits(line)?;
    let rest = &line[len..];
    if len == 0 || !is_separator(*rest.first()?) {
        return None;
    }
    let (target, len) = digits(&rest[1..])?;
    let rest = &rest[1 + len..];
    (len > 0 && is_separator(*rest.first()?)).then_some((source, target, rest))
}

/// General path: comments, blanks, strings, several separators.
fn any_line<S: Sink>(line: &[u8], place: &WeightPlace, sink: &mut S) -> Result<(), Fault> {
    if is_blank_or_comment(line) {
        return Ok(());
    }
    let mut ids = tokens(line);
    let (Some(source), Some(target)) = (ids.next(), ids.next()) else {
        return Err(place.expected());
    };
    // Tokens are subslices of the line.
    let end = target.as_ptr().addr() + target.len() - line.as_ptr().addr();
    let (source, target) = (sink.id(source)?, sink.id(target)?);
    let weight = place.weight(&line[end..])?;
    sink.edge(source, target, weight)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_stand_in_a_column_or_in_braces() {
        let weight = |asked, rest: &str| {
            let place = WeightPlace::new(WeightType::F64, asked);
            place.weight(rest.as_bytes()).ok().map(|bits| WeightType::F64.weight(bits).to_f64())
        };
        assert_eq!(weight(None, " 1.5"), Some(1.5));
        assert_eq!(weight(None, "\t1.5 7"), Some(1.5));
        assert_eq!(weight(Some("4"), " 1.5 7"), Some(7.0));
        assert_eq!(weight(Some("4"), " 1.5"), None);
        assert_eq!(weight(None, " {'weight': 2.5}"), Some(2.5));
        assert_eq!(weight(Some("km"), " {'weight': 2.5, 'km': 4}"), Some(4.0));
        assert_eq!(weight(None, " {}"), None);
        assert_eq!(weight(None, ""), None);
        assert_eq!(weight(None, " nan"), None);
    }
}
