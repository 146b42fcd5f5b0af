//! Reads headers of text inputs: column names, Matrix Market and METIS headers.

use std::sync::Arc;

use crate::config::{Format, InputSpec};
use crate::error::{ImportError, Result, excerpt};
use crate::input;
use crate::parse::Problem;
use crate::parse::delimited::Layout;
use crate::parse::lists::MetisHeader;
use crate::parse::matrix::{Banner, MatrixHeader};
use crate::parse::token::{LINE_ENDS, bare_carriage_return};
use crate::parse::weighted::WeightPlace;
use cenote_store::WeightType;

#[derive(Clone, Debug)]
pub(super) enum Content {
    Edges,
    WeightedEdges(Arc<WeightPlace>),
    /// A word behind an id is its value, or an error where `only_ids`.
    Vertices {
        only_ids: bool,
    },
    Adjacency,
    Delimited(Arc<Layout>),
    Metis {
        header: Arc<MetisHeader>,
        first_row: u64,
    },
    Matrix(Arc<MatrixHeader>),
    U32,
    U64,
    /// Pairs of `u64` whose rows are counted from `first_line`.
    Rows,
    /// Rows with the ordered bits of a weight after each pair.
    WeightedRows,
    /// Vertices `first..first + count` exist.
    VertexRun {
        first: u64,
        count: u64,
    },
    /// Names, each after its length in a little-endian `u32`; two are an edge, followed by the
    /// ordered bits of its weight if weights are imported.
    Names {
        weighted: bool,
    },
    /// Vertices: integers of 32 bits.
    VerticesU32,
    /// Vertices: integers of 64 bits.
    VerticesU64,
    /// Vertices: names, each after its length in a little-endian `u32`.
    VertexNames,
}

impl Content {
    pub fn is_text(&self) -> bool {
        use Content::{Names, Rows, U32, U64, VertexNames, VertexRun, WeightedRows};
        use Content::{VerticesU32, VerticesU64};
        let is_vertices =
            matches!(self, VertexRun { .. } | VerticesU32 | VerticesU64 | VertexNames);
        !is_vertices && !matches!(self, U32 | U64 | Rows | WeightedRows | Names { .. })
    }
}

const LINE_BYTES_MAX: usize = 256 << 10;

/// Numbers promised by a header, to be compared with those found.
#[derive(Debug)]
pub(super) enum End {
    Metis(Arc<MetisHeader>, u64),
    Matrix(Arc<MatrixHeader>),
}

pub(super) struct Head<'a> {
    format: Format,
    spec: &'a InputSpec,
    directed: bool,
    weights: Option<WeightType>,
    banner: Option<Banner>,
    content: Option<Content>,
}

impl<'a> Head<'a> {
    pub fn new(
        format: Format,
        spec: &'a InputSpec,
        directed: bool,
        weights: Option<WeightType>,
    ) -> Self {
        let content = match format {
            Format::Edges => Some(match weights {
                Some(kind) => {
                    let place = WeightPlace::new(kind, spec.weight_column.as_deref());
                    Content::WeightedEdges(Arc::new(place))
                }
                None => Content::Edges,
            }),
            Format::Vertices => {
                let only_ids = spec.is_vertices && input::is_read_once(spec);
                Some(Content::Vertices { only_ids })
            }
            Format::Adjacency => Some(Content::Adjacency),
            _ => None,
        };
        Self { format, spec, directed, weights, banner: None, content }
    }

    /// Parses header lines at the start of `bytes`, of which the first is number `line`. Returns
    /// the number of bytes parsed.
    pub fn take(&mut self, bytes: &[u8], name: &str, line: u64) -> Result<usize> {
        let mut at = 0;
        let mut number = line;
        while self.content.is_none() && at < bytes.len() {
            let end = memchr::memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |n| at + n + 1);
            let text = bytes[at..end].strip_suffix(b"\n").unwrap_or(&bytes[at..end]);
            let text = text.strip_suffix(b"\r").unwrap_or(text);
            let used = self.line(text).map_err(|problem| match problem {
                Problem::Line(expected) => ImportError::Line {
                    input: name.to_owned(),
                    line: number,
                    expected,
                    text: excerpt(text),
                },
                Problem::Whole(reason) => ImportError::Format { input: name.to_owned(), reason },
            })?;
            if !used {
                break;
            }
            at = end;
            number += 1;
        }
        Ok(at)
    }

    /// The content after the header, `None` before its end. `rows` are the METIS rows so far.
    pub fn content(&self, rows: u64) -> Option<Content> {
        let mut content = self.content.clone();
        if let Some(Content::Metis { first_row, .. }) = &mut content {
            *first_row = rows;
        }
        content
    }

    /// Ends the input. Returns the numbers to be compared with those found.
    pub fn end(self, rows: u64, name: &str) -> Result<Option<End>> {
        match self.content {
            Some(Content::Metis { header, .. }) => Ok(Some(End::Metis(header, rows))),
            Some(Content::Matrix(header)) => Ok(Some(End::Matrix(header))),
            Some(_) => Ok(None),
            None => {
                let reason = match self.format {
                    Format::Metis => "is empty: a METIS file begins with a line `n m`",
                    Format::MatrixMarket => {
                        "ends before the line `rows columns entries` of Matrix Market"
                    }
                    // Without a line there is no edge.
                    _ => return Ok(None),
                };
                Err(ImportError::Format { input: name.to_owned(), reason: reason.to_owned() })
            }
        }
    }

    /// Parses a line. Returns whether it belonged to the header.
    fn line(&mut self, text: &[u8]) -> std::result::Result<bool, Problem> {
        if text.len() > LINE_BYTES_MAX {
            return Err(Problem::Line(format!(
                "a header in lines of up to {LINE_BYTES_MAX} bytes"
            )));
        }
        if bare_carriage_return(text).is_some() && !text.contains(&b'"') {
            return Err(Problem::Line(LINE_ENDS.to_owned()));
        }
        match self.format {
            Format::Csv | Format::Tsv => {
                let (layout, used) =
                    Layout::from_first_line(text, self.format, self.spec, self.weights)?;
                self.content = Some(Content::Delimited(Arc::new(layout)));
                Ok(used)
            }
            Format::Metis => {
                if !text.starts_with(b"%") {
                    let header = Arc::new(MetisHeader::parse(text)?.with_weights(self.weights)?);
                    self.content = Some(Content::Metis { header, first_row: 0 });
                }
                Ok(true)
            }
            Format::MatrixMarket => {
                self.matrix_line(text)?;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    fn matrix_line(&mut self, text: &[u8]) -> std::result::Result<(), Problem> {
        match self.banner {
            None => self.banner = Some(Banner::parse(text)?),
            Some(banner) => {
                if !text.starts_with(b"%") && !text.trim_ascii().is_empty() {
                    let header = MatrixHeader::parse(banner, text)?;
                    let header = header.with_weights(self.weights, self.directed)?;
                    self.content = Some(Content::Matrix(Arc::new(header)));
                }
            }
        }
        Ok(())
    }
}
