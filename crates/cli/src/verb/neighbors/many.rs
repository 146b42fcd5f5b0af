//! The lists of many vertices: read by all threads with many requests in flight, told in the order
//! in which they were asked for.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{Builder, Scope};

use anyhow::{Context, Result, ensure};
use cenote_store::{Direction, Graph, Ids, VertexId};

use crate::cancel;
use crate::graph_file::vertex_of;
use crate::output::size;

/// Vertices that one thread looks up at once.
const WINDOW_VERTICES: usize = 4096;

/// Memory of an entry of a list: as it came and put together, while as much is told of the lists
/// before.
const ENTRY_BYTES: u64 = 16;

/// Memory of a weighted entry of the one list that is told: weights, and put into order.
const WEIGHTED_ENTRY_BYTES: u64 = 64;

/// Lists of less are read whatever the budget says.
const LIST_BYTES_FREE: u64 = 8 << 20;

/// A line of more bytes is no id.
const LINE_BYTES_MAX: u64 = 1 << 20;

/// Ids as they come: those of the command line, then the lines of a file or of standard input.
pub struct Asked<'a> {
    given: std::slice::Iter<'a, String>,
    file: Option<IdFile>,
}

/// A file with an id a line, or standard input.
struct IdFile {
    name: String,
    /// Lines read.
    number: u64,
    source: BufReader<Box<dyn Read>>,
}

impl IdFile {
    fn open(path: &Path) -> Result<Self> {
        let (name, source): (_, Box<dyn Read>) = if path == Path::new("-") {
            ("standard input".to_owned(), Box::new(std::io::stdin()))
        } else {
            let name = path.display().to_string();
            let cannot = || format!("cannot read the ids in {name}");
            let file = std::fs::File::open(path).with_context(cannot)?;
            (name, Box::new(file))
        };
        Ok(Self { name, number: 0, source: BufReader::new(source) })
    }

    /// The next line that is not blank; none after the last.
    fn next(&mut self) -> Result<Option<String>> {
        loop {
            self.number += 1;
            let mut line = Vec::new();
            let mut source = (&mut self.source).take(LINE_BYTES_MAX);
            let bytes = source.read_until(b'\n', &mut line).with_context(|| self.place())?;
            if bytes == 0 {
                return Ok(None);
            }
            ensure!((bytes as u64) < LINE_BYTES_MAX, "{}: too long for an id", self.place());
            let line = String::from_utf8(line).ok();
            let line = line.with_context(|| format!("{}: an id has to be UTF-8", self.place()))?;
            if !line.trim().is_empty() {
                return Ok(Some(line.trim().to_owned()));
            }
        }
    }

    fn place(&self) -> String {
        format!("{}: line {}", self.name, self.number)
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
        let Some(file) = &mut self.file else { return Ok(None) };
        let Some(line) = file.next()? else { return Ok(None) };
        vertex_of(graph, ids, &line).map(Some).with_context(|| file.place())
    }
}

/// How the lists are read.
pub struct Plan {
    pub direction: Direction,
    pub threads: usize,
    /// Memory of the lists that are read and told at once.
    pub lists_bytes: u64,
}

impl Plan {
    /// Most memory that the list of a vertex takes.
    fn bytes_of(&self, graph: &Graph, vertex: VertexId) -> u64 {
        let Some(lists) = graph.adjacency(self.direction) else { return 0 };
        let pages = lists.pages_of(vertex);
        let entries = (pages.end() - pages.start() + 1) * lists.page_entries_max();
        entries * if graph.is_weighted() { WEIGHTED_ENTRY_BYTES } else { ENTRY_BYTES }
    }
}

/// Tells the lists of all vertices that are asked for.
pub fn run(
    graph: &Graph,
    asked: &mut Asked<'_>,
    plan: &Plan,
    tell: &mut dyn FnMut(VertexId, &[VertexId]) -> Result<()>,
) -> Result<()> {
    let ids = graph.ids()?;
    std::thread::scope(|scope| {
        let readers = (0..plan.threads).map(|_| Reader::start(scope, graph, plan.direction));
        let readers: Vec<_> = readers.collect::<Result<_>>()?;
        let (mut carried, mut batch) = (None, Vec::new());
        loop {
            // The next lists are on their way while these are told.
            let next = next_batch(graph, &ids, asked, plan, &mut carried)?;
            parts(&readers, &next).for_each(|(reader, part)| reader.ask(part));
            for (reader, part) in parts(&readers, &batch) {
                for (&vertex, list) in part.iter().zip(reader.take()?) {
                    cancel::check()?;
                    tell(vertex, &list)?;
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
    ) -> Result<Self> {
        let ((asked, orders), (results, found)) =
            (mpsc::channel::<Vec<VertexId>>(), mpsc::channel());
        let read = move || {
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
        };
        Builder::new()
            .spawn_scoped(scope, read)
            .context("cannot start the threads that read lists: give fewer --threads")?;
        Ok(Self { asked, found })
    }

    fn ask(&self, vertices: &[VertexId]) {
        // A reader that is gone has panicked, which `take` tells.
        let _ = self.asked.send(vertices.to_vec());
    }

    fn take(&self) -> Result<Vec<Vec<VertexId>>> {
        Ok(self.found.recv().context("a thread that reads lists ended early")??)
    }
}

/// The vertices that are read next. One whose list does not fit any more is carried over.
fn next_batch(
    graph: &Graph,
    ids: &Ids,
    asked: &mut Asked<'_>,
    plan: &Plan,
    carried: &mut Option<VertexId>,
) -> Result<Vec<VertexId>> {
    let (mut vertices, mut bytes) = (Vec::new(), 0);
    let most = plan.threads * WINDOW_VERTICES;
    while vertices.len() < most {
        cancel::check()?;
        let next = match carried.take() {
            Some(vertex) => Some(vertex),
            None => asked.next(graph, ids)?,
        };
        let Some(vertex) = next else { break };
        let list_bytes = plan.bytes_of(graph, vertex);
        bytes += list_bytes;
        if bytes > plan.lists_bytes && !vertices.is_empty() {
            *carried = Some(vertex);
            break;
        }
        ensure!(
            list_bytes <= plan.lists_bytes.max(LIST_BYTES_FREE),
            "{}: the list of vertex {} may take {} of memory and there are {} for lists: \
             give --memory {}MiB",
            graph.device().name(),
            ids.id_of(vertex)?,
            size(list_bytes),
            size(plan.lists_bytes),
            (2 * list_bytes + graph.memory_bytes() as u64).div_ceil(1 << 20) + 1
        );
        vertices.push(vertex);
    }
    Ok(vertices)
}
