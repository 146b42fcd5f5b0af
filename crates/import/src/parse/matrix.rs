//! Parses Matrix Market, `coordinate`: entry (i, j) is the edge from i to j.

use super::token::{digits, for_each_line, tokens};
use super::{BlockStats, Fault, Problem, Sink};
use cenote_store::WeightType;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Banner {
    symmetric: bool,
    /// Whether entries below the diagonal are the negated ones above it.
    skew: bool,
    values: usize,
}

impl Banner {
    /// Parses `%%MatrixMarket matrix coordinate FIELD SYMMETRY`.
    pub(crate) fn parse(line: &[u8]) -> Result<Self, Problem> {
        let text = String::from_utf8_lossy(line).to_lowercase();
        let words: Vec<&str> = text.split_whitespace().collect();
        let ["%%matrixmarket", "matrix", layout, field, symmetry] = words[..] else {
            let banner = "%%MatrixMarket matrix coordinate FIELD SYMMETRY";
            return Err(Problem::Line(format!("the banner `{banner}`")));
        };
        if layout != "coordinate" {
            return Err(Problem::Line(
                "a `coordinate` matrix; dense ones are no graphs".to_owned(),
            ));
        }
        let values = match field {
            "pattern" => 0,
            "real" | "integer" | "double" => 1,
            "complex" => 2,
            _ => return Err(Problem::Line("pattern, real, integer or complex values".to_owned())),
        };
        let symmetric = match symmetry {
            "general" => false,
            "symmetric" | "skew-symmetric" | "hermitian" => true,
            _ => {
                let known = "general, symmetric, skew-symmetric or hermitian symmetry";
                return Err(Problem::Line(known.to_owned()));
            }
        };
        Ok(Self { symmetric, skew: symmetry == "skew-symmetric", values })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatrixHeader {
    size: u64,
    entries: u64,
    banner: Banner,
    /// Type of the weights, if they are imported.
    weights: Option<WeightType>,
}

impl MatrixHeader {
    /// Parses the line `rows columns entries`.
    pub(crate) fn parse(banner: Banner, line: &[u8]) -> Result<Self, Problem> {
        let numbers: Vec<_> = tokens(line).map(super::token::integer_id).collect();
        let [Ok(rows), Ok(columns), Ok(entries)] = numbers[..] else {
            return Err(Problem::Line("the size line: rows, columns, entries".to_owned()));
        };
        if rows != columns {
            return Err(Problem::Line(
                "a square matrix: rows and columns of another name different things".to_owned(),
            ));
        }
        Ok(Self { size: rows, entries, banner, weights: None })
    }

    /// Sets the type of the weights. If they are imported, each entry must have one real number,
    /// and each edge of an undirected graph one weight.
    pub(crate) fn with_weights(
        self,
        weights: Option<WeightType>,
        directed: bool,
    ) -> Result<Self, Problem> {
        let reason = match self.banner.values {
            _ if weights.is_none() => return Ok(self),
            0 => "is a pattern without values: import it without `weights`",
            1 if self.banner.skew && !directed => {
                "is skew-symmetric: the two directions of an edge differ in sign; import it \
                 with `directed`"
            }
            1 => return Ok(Self { weights, ..self }),
            _ => "has complex values, which are no weights: import it without `weights`",
        };
        Err(Problem::Whole(reason.to_owned()))
    }

    pub(crate) fn check_end(&self, entries: u64) -> Result<(), String> {
        let expected = self.entries;
        if entries == expected {
            return Ok(());
        }
        Err(format!("the header says {expected} entries, but {entries} were found; is it cut off?"))
    }
}

/// Parses lines of entries. An entry of a symmetric matrix, which stores one triangle, stands for
/// both directions in a directed graph.
pub fn parse<S: Sink>(
    block: &[u8],
    header: &MatrixHeader,
    directed: bool,
    sink: &mut S,
) -> Result<BlockStats, Fault> {
    let mut stats = BlockStats::default();
    stats.lines = for_each_line(block, |index, line| {
        if line.starts_with(b"%") || line.trim_ascii().is_empty() {
            return Ok(());
        }
        stats.records += 1;
        entry(line, header, directed, sink).map_err(|fault| fault.at(index, line))
    })?;
    Ok(stats)
}

fn entry<S: Sink>(
    line: &[u8],
    header: &MatrixHeader,
    directed: bool,
    sink: &mut S,
) -> Result<(), Fault> {
    let mut words = tokens(line);
    let mut index = || {
        let word = words.next().unwrap_or_default();
        digits(word)
            .filter(|(id, len)| *len == word.len() && (1..=header.size).contains(id))
            .map(|(id, _)| id)
            .ok_or_else(|| Fault::Token {
                expected: format!("an entry: row and column from 1 to {}", header.size),
            })
    };
    let (row, column) = (index()?, index()?);
    let mut words = words.peekable();
    let mut weight = 0;
    if let (Some(kind), Some(word)) = (header.weights, words.peek()) {
        weight = kind.parse(word).ok_or_else(|| Fault::weight(kind))?;
    }
    if words.count() < header.banner.values {
        let values = header.banner.values;
        return Err(Fault::Token { expected: format!("{values} value(s) after row and column") });
    }
    let (row, column) = (sink.integer(row)?, sink.integer(column)?);
    sink.edge(row, column, weight)?;
    if header.banner.symmetric && directed && row != column {
        let mirrored = match header.weights {
            Some(kind) if header.banner.skew => {
                kind.negated(weight).ok_or_else(|| Fault::weight(kind))?
            }
            _ => weight,
        };
        sink.edge(column, row, mirrored)?;
    }
    Ok(())
}
