//! The lists of many vertices: read by all threads with many requests in flight, told in the order
//! in which they were asked for.

use std::io::{BufRead, BufReader, Lines, Read};
use std::path::Path;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::Scope;

use anyhow::{Context, Result};
use cenote_store::{Direction, Graph, Ids, VertexId};

use super::Found;
use crate::cancel;
use crate::graph_file::vertex_of;

/// Vertices that one thread looks up at once.
const WINDOW_VERTICES: usize = 4096;

/// Ids as they come: those of the command line, then the lines of a file or of standard input.
pub struct Asked<'a> {
    given: std::slice::Iter<'a, String>,
    file: Option<IdFile>,
}

/// A file with an id a line, or standard input.
struct IdFile {
    name: String,
    /// Lines read.
    number: usize,
    lines: Lines<BufReader<Box<dyn Read>>>,
}

impl IdFile {
    fn open(path: &Path) -> Result<Self> {
        let name = path.display().to_string();
        let source: Box<dyn Read> = if name == "-" {
            Box::new(std::io::stdin())
        } else {
            let cannot = || format!("cannot read the ids in {name}");
            Box::new(std::fs::File::open(path).with_context(cannot)?)
        };
        Ok(Self { name, number: 0, lines: BufReader::new(source).lines() })
    }
}

impl<'a> Asked<'a> {
    pub fn new(given: &'a [String], file: Option<&Path>) -> Result<Self> {
        Ok(Self { given: given.iter(), file: file.map(IdFile::open).transpose()? })
    }

    /// The next vertex; none after the last.
    fn next(&mut self, graph: &Graph, ids: &Ids) -> Result<Option<VertexId>> {
        if let Some(id) = self.given.next() {
            return vertex_of(graph, ids, id).map(Some);
        }
        let Some(IdFile { name, number, lines }) = &mut self.file else { return Ok(None) };
        loop {
            let Some(line) = lines.next() else { return Ok(None) };
            *number += 1;
            let place = || format!("{name}: line {number}");
            let line = line.with_context(place)?;
            if !line.trim().is_empty() {
                return vertex_of(graph, ids, line.trim()).map(Some).with_context(place);
            }
        }
    }
}

/// How the lists are read.
pub struct Plan {
    pub direction: Direction,
    pub threads: usize,
    /// Pages whose lists are in memory at once.
    pub pages: u64,
}

/// Tells the lists of all vertices that are asked for.
pub fn run(
    graph: &Graph,
    asked: &mut Asked<'_>,
    plan: &Plan,
    tell: &mut dyn FnMut(Found) -> Result<()>,
) -> Result<()> {
    let ids = graph.ids()?;
    std::thread::scope(|scope| {
        let readers: Vec<_> =
            (0..plan.threads).map(|_| Reader::start(scope, graph, plan.direction)).collect();
        let (mut carried, mut batch) = (None, Vec::new());
        loop {
            cancel::check()?;
            // The next lists are on their way while these are told.
            let next = next_batch(graph, &ids, asked, plan, &mut carried)?;
            parts(&readers, &next).for_each(|(reader, part)| reader.ask(part));
            for (reader, part) in parts(&readers, &batch) {
                for (&vertex, list) in part.iter().zip(reader.take()?) {
                    tell(Found::new(graph, &ids, plan.direction, vertex, &list)?)?;
                }
            }
            if next.is_empty() {
                return Ok(());
            }
            batch = next;
        }
    })
}

/// Each reader's part of a batch.
fn parts<'a>(
    readers: &'a [Reader],
    batch: &'a [VertexId],
) -> impl Iterator<Item = (&'a Reader, &'a [VertexId])> {
    let share = batch.len().div_ceil(readers.len()).max(1);
    readers.iter().zip(batch.chunks(share))
}

/// A thread that reads lists, and keeps its queue to the device.
struct Reader {
    asked: Sender<Vec<VertexId>>,
    found: Receiver<cenote_store::Result<Vec<Vec<VertexId>>>>,
}

impl Reader {
    fn start<'scope, 'env>(
        scope: &'scope Scope<'scope, 'env>,
        graph: &'env Graph,
        direction: Direction,
    ) -> Self {
        let ((asked, orders), (results, found)) =
            (mpsc::channel::<Vec<VertexId>>(), mpsc::channel());
        scope.spawn(move || {
            let mut lookup = None;
            for vertices in orders {
                if lookup.is_none() {
                    match graph.lookup() {
                        Ok(made) => lookup = Some(made),
                        Err(error) => drop(results.send(Err(error))),
                    }
                }
                let Some(lookup) = &mut lookup else { continue };
                if results.send(lookup.read(direction, &vertices)).is_err() {
                    break;
                }
            }
        });
        Self { asked, found }
    }

    fn ask(&self, vertices: &[VertexId]) {
        // A reader that is gone has panicked, which `take` tells.
        let _ = self.asked.send(vertices.to_vec());
    }

    fn take(&self) -> Result<Vec<Vec<VertexId>>> {
        Ok(self.found.recv().context("a thread that reads lists ended early")??)
    }
}

/// The vertices that are read next. One whose pages do not fit any more is carried over.
fn next_batch(
    graph: &Graph,
    ids: &Ids,
    asked: &mut Asked<'_>,
    plan: &Plan,
    carried: &mut Option<VertexId>,
) -> Result<Vec<VertexId>> {
    let (mut vertices, mut pages) = (Vec::new(), 0);
    let most = plan.threads * WINDOW_VERTICES;
    while vertices.len() < most {
        let next = match carried.take() {
            Some(vertex) => Some(vertex),
            None => asked.next(graph, ids)?,
        };
        let Some(vertex) = next else { break };
        let list = graph.adjacency(plan.direction).map(|lists| lists.pages_of(vertex));
        pages += list.map_or(0, |pages| pages.end() - pages.start() + 1);
        if pages > plan.pages && !vertices.is_empty() {
            *carried = Some(vertex);
            break;
        }
        vertices.push(vertex);
    }
    Ok(vertices)
}
