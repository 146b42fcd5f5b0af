//! Vertices given by the user's ids: one by one, or in files with an id a line.

use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use cenote_store::superblock::IdKind;
use cenote_store::{Graph, Ids, VertexId};

use crate::error::{Error, Result};

/// The most bytes of a line.
const LINE_BYTES_MAX: u64 = 1 << 20;

/// Vertices of files take at most `1 / BUDGET_SHARE` of a run's memory budget.
const BUDGET_SHARE: u64 = 4;

/// Vertices given by the caller.
#[derive(Clone, Debug, Default)]
pub(crate) struct Keys {
    ids: Vec<String>,
    files: Vec<PathBuf>,
}

impl Keys {
    /// Adds a vertex by its id.
    pub fn push(&mut self, id: impl ToString) {
        self.ids.push(id.to_string());
    }

    /// Adds the ids of a file.
    pub fn push_file(&mut self, path: impl Into<PathBuf>) {
        self.files.push(path.into());
    }

    /// Whether no vertex is given.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty() && self.files.is_empty()
    }

    /// The files.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// The vertices, in the given order; those of files within a part of the memory budget.
    pub fn vertices(&self, graph: &Graph, memory_bytes: u64) -> Result<Vec<VertexId>> {
        let ids = graph.ids()?;
        let named = self.ids.iter().map(|id| vertex_of(graph, &ids, id, ""));
        let mut vertices = named.collect::<Result<Vec<_>>>()?;
        let most = (memory_bytes / BUDGET_SHARE / size_of::<VertexId>() as u64) as usize;
        for path in &self.files {
            let (mut lines, before) = (IdLines::open(path)?, vertices.len());
            while let Some(id) = lines.next()? {
                if vertices.len() >= most {
                    let reason = format!(
                        "more ids than a quarter of the memory budget of {memory_bytes} bytes \
                         holds; give more `memory`"
                    );
                    return Err(Error::input(path, reason));
                }
                vertices.push(vertex_of(graph, &ids, &id, &lines.place())?);
            }
            if vertices.len() == before {
                return Err(Error::input(path, "it has no id; one a line is needed"));
            }
        }
        Ok(vertices)
    }
}

/// Pairs of vertices given by the caller.
#[derive(Clone, Debug, Default)]
pub(crate) struct PairKeys {
    ids: Vec<[String; 2]>,
    file: Option<PathBuf>,
}

impl PairKeys {
    /// Adds a pair by its ids.
    pub fn push(&mut self, source: impl ToString, target: impl ToString) {
        self.ids.push([source.to_string(), target.to_string()]);
    }

    /// Sets the file with further pairs.
    pub fn set_file(&mut self, path: impl Into<PathBuf>) {
        self.file = Some(path.into());
    }

    /// The file.
    pub fn files(&self) -> Vec<PathBuf> {
        self.file.clone().into_iter().collect()
    }

    /// The pairs, in the given order; those of the file within a part of the memory budget.
    pub fn pairs(&self, graph: &Graph, memory_bytes: u64) -> Result<Vec<(VertexId, VertexId)>> {
        let ids = graph.ids()?;
        let pair = |[source, target]: [&str; 2], place: &str| -> Result<(VertexId, VertexId)> {
            Ok((vertex_of(graph, &ids, source, place)?, vertex_of(graph, &ids, target, place)?))
        };
        let named = self.ids.iter().map(|ends| pair([&ends[0], &ends[1]], ""));
        let mut pairs = named.collect::<Result<Vec<_>>>()?;
        let Some(path) = &self.file else { return Ok(pairs) };
        let most = (memory_bytes / BUDGET_SHARE / size_of::<[VertexId; 2]>() as u64) as usize;
        let (mut lines, before) = (IdLines::open(path)?, pairs.len());
        while let Some(line) = lines.next()? {
            let place = lines.place();
            let Some(ends) = split_pair(&line) else {
                let reason = "expected two ids, with a tab, a comma or white space between";
                return Err(Error::InvalidInput(format!("{place}: {reason}")));
            };
            if pairs.len() >= most {
                let reason = format!(
                    "more pairs than a quarter of the memory budget of {memory_bytes} bytes \
                     holds; give more `memory`"
                );
                return Err(Error::input(path, reason));
            }
            pairs.push(pair(ends, &place)?);
        }
        match pairs.len() == before {
            true => Err(Error::input(path, "it has no pair; two ids a line are needed")),
            false => Ok(pairs),
        }
    }
}

/// The two ids of a line.
fn split_pair(line: &str) -> Option<[&str; 2]> {
    let between: fn(char) -> bool = match line {
        _ if line.contains('\t') => |c| c == '\t',
        _ if line.contains(',') => |c| c == ',',
        _ => char::is_whitespace,
    };
    let mut ids = line.split(between).map(str::trim).filter(|id| !id.is_empty());
    let pair = [ids.next()?, ids.next()?];
    ids.next().is_none().then_some(pair)
}

/// The vertex with the user's `id`; `place` is where the id was read.
pub(crate) fn vertex_of(graph: &Graph, ids: &Ids, id: &str, place: &str) -> Result<VertexId> {
    ids.vertex_of(id)?.ok_or_else(|| unknown_vertex(graph, ids, id, place))
}

/// The error of an id that no vertex has; `place` is where it was read.
pub(crate) fn unknown_vertex(graph: &Graph, ids: &Ids, id: &str, place: &str) -> Error {
    let live = ids.live_vertices();
    let known = match ids.kind() {
        IdKind::Dense if live < ids.vertices() => {
            format!("its {live} vertices have integer ids")
        }
        IdKind::Dense => format!("its vertices are 0 to {}", ids.vertices().saturating_sub(1)),
        IdKind::Integers => format!("its {live} vertices have integer ids"),
        IdKind::Strings => format!("its {live} vertices have names"),
    };
    let (graph, id) = (graph.device().name(), id.to_owned());
    let place = if place.is_empty() { String::new() } else { format!("{place}: ") };
    Error::UnknownVertex { graph, id, known, place }
}

/// A file with an id a line; `-` is standard input. Lines are streamed.
pub struct IdLines {
    name: String,
    /// Lines read.
    number: u64,
    source: BufReader<Box<dyn Read>>,
}

impl fmt::Debug for IdLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IdLines({})", self.place())
    }
}

impl IdLines {
    /// Opens a file.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be opened.
    pub fn open(path: &Path) -> Result<Self> {
        let (name, source): (_, Box<dyn Read>) = if path == Path::new("-") {
            ("standard input".to_owned(), Box::new(std::io::stdin()))
        } else {
            let name = path.display().to_string();
            let file =
                File::open(path).map_err(Error::io(format!("cannot read the ids in {name}")))?;
            (name, Box::new(file))
        };
        Ok(Self { name, number: 0, source: BufReader::new(source) })
    }

    /// The next line that is not blank; none after the last.
    ///
    /// # Errors
    /// A line that is too long for an id, or not UTF-8.
    pub fn next(&mut self) -> Result<Option<String>> {
        loop {
            self.number += 1;
            let mut line = Vec::new();
            let mut source = (&mut self.source).take(LINE_BYTES_MAX);
            let bytes = source.read_until(b'\n', &mut line);
            let bytes = bytes.map_err(Error::io(self.place()))? as u64;
            if bytes == 0 {
                return Ok(None);
            }
            if bytes >= LINE_BYTES_MAX {
                return Err(Error::InvalidInput(format!("{}: too long for an id", self.place())));
            }
            let Ok(line) = String::from_utf8(line) else {
                let reason = format!("{}: an id has to be UTF-8", self.place());
                return Err(Error::InvalidInput(reason));
            };
            if !line.trim().is_empty() {
                return Ok(Some(line.trim().to_owned()));
            }
        }
    }

    /// The file, and the number of the last line read.
    pub fn place(&self) -> String {
        self.place_of(self.number)
    }

    /// The number of the last line read.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The file, and the number of a line.
    pub fn place_of(&self, number: u64) -> String {
        format!("{}: line {number}", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::split_pair;

    #[test]
    fn two_ids_a_line_may_have_a_tab_a_comma_or_spaces_between() {
        for line in ["ada bob", "ada   bob", "ada\tbob", "ada,bob", "ada, bob"] {
            assert_eq!(split_pair(line), Some(["ada", "bob"]), "{line}");
        }
        assert_eq!(split_pair("ada b\tcem d"), Some(["ada b", "cem d"]));
        for line in ["ada", "ada bob cem", ",", "ada,", "a\tb\tc"] {
            assert_eq!(split_pair(line), None, "{line}");
        }
    }
}
