//! Parses adjacency lists and METIS.

use super::token::{for_each_line, integer_id, is_blank_or_comment, tokens};
use super::{BlockStats, Fault, Problem, Sink};
use cenote_device::mix;
use cenote_store::WeightType;

pub fn parse_adjacency<S: Sink>(block: &[u8], sink: &mut S) -> Result<BlockStats, Fault> {
    let lines = for_each_line(block, |index, line| {
        if is_blank_or_comment(line) {
            return Ok(());
        }
        let mut list = || {
            let mut ids = tokens(line);
            let source = sink.id(ids.next().unwrap_or_default())?;
            sink.vertex(source)?;
            for target in ids {
                let target = sink.id(target)?;
                sink.edge(source, target, 0)?;
            }
            Ok(())
        };
        list().map_err(|fault: Fault| fault.at(index, line))
    })?;
    Ok(BlockStats { lines, ..BlockStats::default() })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetisHeader {
    vertices: u64,
    edges: u64,
    /// Numbers before the neighbours in a line.
    leading: usize,
    /// Whether a weight follows every neighbour.
    edge_weights: bool,
    /// Type of the weights, if they are imported.
    weights: Option<WeightType>,
}

impl MetisHeader {
    /// Parses `n m [fmt [ncon]]`; the digits of fmt: vertex sizes, vertex weights, edge weights.
    pub(crate) fn parse(line: &[u8]) -> Result<Self, Problem> {
        let wrong = || Problem::Line("a METIS header: vertices, edges, [fmt [ncon]]".to_owned());
        let words: Vec<&[u8]> = tokens(line).collect();
        let [vertices, edges, rest @ ..] = &words[..] else { return Err(wrong()) };
        let number = |word: &[u8]| integer_id(word).map_err(|_| wrong());
        let format = rest.first().copied().unwrap_or(b"0");
        if rest.len() > 2 || format.len() > 3 || format.iter().any(|b| !matches!(b, b'0' | b'1')) {
            return Err(wrong());
        }
        let flag = |from_right: usize| {
            format.len().checked_sub(from_right).is_some_and(|at| format[at] == b'1')
        };
        let constraints = rest.get(1).map_or(Ok(1), |word| number(word))?;
        let weights = if flag(2) { usize::try_from(constraints).map_err(|_| wrong())? } else { 0 };
        Ok(Self {
            vertices: number(vertices)?,
            edges: number(edges)?,
            leading: usize::from(flag(3)) + weights,
            edge_weights: flag(1),
            weights: None,
        })
    }

    /// Sets the type of the weights. They must be in the file if they are imported.
    pub(crate) fn with_weights(self, weights: Option<WeightType>) -> Result<Self, Problem> {
        if weights.is_some() && !self.edge_weights {
            let reason =
                "its METIS header says that there are no edge weights; import without `weights`";
            return Err(Problem::Whole(reason.to_owned()));
        }
        Ok(Self { weights, ..self })
    }

    pub(crate) fn check_end(&self, rows: u64, found: &BlockStats) -> Result<(), String> {
        if rows < self.vertices {
            let vertices = self.vertices;
            return Err(format!(
                "the header says {vertices} vertices, but {rows} lines follow; is it cut off?"
            ));
        }
        if found.symmetry != 0 {
            return Err(
                "some edges are listed from one end only (or with two weights), but METIS graphs \
                        list each from both; import it with `format` adjacency if it is meant so"
                    .to_owned(),
            );
        }
        let (arcs, loops) = (found.records, found.loops);
        let possible = [arcs / 2 + loops, arcs / 2 + loops / 2, arcs / 2];
        if !possible.contains(&self.edges) {
            let edges = self.edges;
            return Err(format!(
                "the header says {edges} edges, but {} were found; is it cut off?",
                possible[0]
            ));
        }
        Ok(())
    }
}

/// Number of comment lines in whole lines of METIS.
pub(crate) fn count_comments(lines: &[u8]) -> u64 {
    let first = u64::from(lines.starts_with(b"%"));
    first + memchr::memmem::find_iter(lines, b"\n%").count() as u64
}

/// Parses lines of METIS; `first_row` is the number of vertex lines before. An edge of an
/// undirected graph is taken from its smaller end only.
pub fn parse_metis<S: Sink>(
    block: &[u8],
    header: &MetisHeader,
    first_row: u64,
    directed: bool,
    sink: &mut S,
) -> Result<BlockStats, Fault> {
    let mut row = first_row;
    let mut stats = BlockStats::default();
    stats.lines = for_each_line(block, |index, line| {
        if line.starts_with(b"%") {
            return Ok(());
        }
        row += 1;
        let mut list = || metis_line(line, row, header, directed, sink, &mut stats);
        list().map_err(|fault: Fault| fault.at(index, line))
    })?;
    Ok(stats)
}

fn metis_line<S: Sink>(
    line: &[u8],
    row: u64,
    header: &MetisHeader,
    directed: bool,
    sink: &mut S,
    stats: &mut BlockStats,
) -> Result<(), Fault> {
    let expected = |expected: String| Fault::Token { expected };
    let mut words = tokens(line);
    if row > header.vertices {
        return match words.next() {
            None => Ok(()),
            Some(_) => Err(expected(format!("no line after the {} vertices", header.vertices))),
        };
    }
    let source = sink.integer(row)?;
    sink.vertex(source)?;
    for _ in 0..header.leading {
        words.next().ok_or_else(|| expected("the weights of the vertex".to_owned()))?;
    }
    while let Some(word) = words.next() {
        let neighbour = integer_id(word).ok().filter(|id| (1..=header.vertices).contains(id));
        let neighbour = neighbour
            .ok_or_else(|| expected(format!("neighbours from 1 to {}", header.vertices)))?;
        let mut weight = 0;
        if header.edge_weights {
            let none = || expected("a weight after each neighbour".to_owned());
            let word = words.next().ok_or_else(none)?;
            if let Some(kind) = header.weights {
                weight = kind.parse(word).ok_or_else(|| Fault::weight(kind))?;
            }
        }
        let (small, large) = (row.min(neighbour), row.max(neighbour));
        let mark = mix(small.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ large);
        let mark = if weight == 0 { mark } else { mix(mark ^ weight) };
        match row.cmp(&neighbour) {
            std::cmp::Ordering::Less => stats.symmetry = stats.symmetry.wrapping_add(mark),
            std::cmp::Ordering::Equal => stats.loops += 1,
            std::cmp::Ordering::Greater => stats.symmetry = stats.symmetry.wrapping_sub(mark),
        }
        stats.records += u64::from(row != neighbour);
        if directed || row <= neighbour {
            let target = sink.integer(neighbour)?;
            sink.edge(source, target, weight)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metis_headers_give_the_weights() {
        let header = |text: &str| MetisHeader::parse(text.as_bytes()).unwrap();
        let plain =
            MetisHeader { vertices: 3, edges: 2, leading: 0, edge_weights: false, weights: None };
        assert_eq!(header("3 2"), plain);
        assert_eq!(header("3 2 0"), plain);
        assert_eq!(header("3 2 1"), MetisHeader { edge_weights: true, ..plain });
        assert_eq!(header("3 2 011 2"), MetisHeader { edge_weights: true, leading: 2, ..plain });
        assert_eq!(header("3 2 110"), MetisHeader { leading: 2, ..plain });
        for wrong in ["", "3", "a b", "3 2 7", "3 2 0 1 1"] {
            assert!(MetisHeader::parse(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }
}
