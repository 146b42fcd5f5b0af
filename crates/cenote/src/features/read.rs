//! Fetches rows of features: the pages of a batch with many requests in flight, adjacent pages in
//! one request.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use cenote_device::plan::Planner;
use cenote_device::{Buffer, Device, read_exact};
use cenote_pool::scan::{Extent, Scan};
use cenote_store::VertexId;

use super::header::{FeatureType, Header, numbering, verify};
use super::{PAGE_BYTES, ROW_BYTES, ROWS_START};
use crate::drive::{DriveOptions, FileOnDrive, Warning};
use crate::error::{Error, Result};
use crate::graph::Graph;

/// Most bytes of requests in flight of one fetch.
const BUFFER_BYTES: usize = 16 << 20;

/// How often a fetch looks whether it is cancelled.
const PERIOD: Duration = Duration::from_millis(20);

/// An open file of features. Its rows are read by a thread of its own, since a queue of the drive
/// belongs to a thread; fetches of several threads follow one another.
pub struct Features {
    file: Arc<File>,
    warning: Option<Warning>,
    /// Of the thread that reads, once it has started.
    reader: Mutex<Option<Reader>>,
}

/// What is known of the file.
struct File {
    path: PathBuf,
    device: Arc<dyn Device>,
    header: Header,
    planner: Planner,
}

/// The thread that reads, and its requests.
struct Reader {
    fetches: Option<Sender<Fetch>>,
    thread: Option<JoinHandle<()>>,
}

/// Rows to read.
struct Fetch {
    vertices: Vec<VertexId>,
    /// As many bytes as the rows have.
    out: Vec<u8>,
    is_cancelled: Arc<AtomicBool>,
    reply: Sender<Result<Vec<u8>>>,
}

impl fmt::Debug for Features {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let File { path, header, .. } = self.file.as_ref();
        f.debug_struct("Features").field("path", path).field("header", header).finish()
    }
}

impl Features {
    pub(crate) fn open(graph: &Graph, path: &Path) -> Result<Self> {
        let FileOnDrive { device, drive, .. } = DriveOptions::default().open(path, true)?;
        let corrupt = |fault: String| fault_of(path, &fault);
        let bytes = device.len_bytes()?;
        if bytes < PAGE_BYTES as u64 {
            return Err(corrupt(format!("it has {bytes} bytes: it is no file of features")));
        }
        let page = read_exact(device.as_ref(), 0, PAGE_BYTES, Buffer::new(PAGE_BYTES)?)?;
        let header = Header::of_page(&page).map_err(corrupt)?;
        let expected = header.pages() * PAGE_BYTES as u64;
        if bytes != expected {
            let (rows, row_bytes) = (header.rows, header.row_bytes());
            let reason = format!("{rows} rows of {row_bytes} bytes take {expected}");
            return Err(corrupt(format!("it has {bytes} bytes, but {reason}: it is cut off")));
        }
        let stored = graph.stored();
        let is_of_graph = header.salt == stored.superblock().salt
            && header.rows <= stored.vertices() as u64
            && header.numbering == numbering(stored, header.rows)?;
        if !is_of_graph {
            let reason = "has the rows of another graph, or of another numbering of its vertices, \
                          as before a compaction: write it anew";
            return Err(Error::input(path, reason));
        }
        let planner = Planner::new(&drive.profile, PAGE_BYTES, BUFFER_BYTES, 1);
        let file = Arc::new(File { path: path.to_owned(), device, header, planner });
        Ok(Self { file, warning: drive.warning, reader: Mutex::default() })
    }

    /// Rows: the vertices that the graph had when the file was written, deleted ones included.
    pub fn rows(&self) -> u64 {
        self.file.header.rows
    }

    /// Numbers of a row.
    pub fn columns(&self) -> u32 {
        self.file.header.columns
    }

    /// The type of the numbers.
    pub fn kind(&self) -> FeatureType {
        self.file.header.kind
    }

    /// A condition of the drive that the caller should know.
    pub fn warning(&self) -> Option<&Warning> {
        self.warning.as_ref()
    }

    /// The rows of vertices, by their numbers and in the given order, as little-endian numbers row
    /// after row. The pages that they lie in are read once each, with many requests in flight.
    /// Besides the rows, it takes 12 bytes a vertex, and at most 16 MiB for requests, which are
    /// kept for the next call. `is_cancelled` is called some 50 times a second.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a vertex without a row; [`Error::Corrupt`] for a damaged page,
    /// which it names; [`Error::Cancelled`]; the file cannot be read.
    pub fn fetch(&self, vertices: &[VertexId], is_cancelled: &dyn Fn() -> bool) -> Result<Vec<u8>> {
        let Header { rows, .. } = self.file.header;
        if let Some(vertex) = vertices.iter().find(|vertex| u64::from(**vertex) >= rows) {
            let reason = format!("have {vertex}: {} has {rows} rows", self.file.path.display());
            return Err(Error::parameter("vertices", reason));
        }
        let row_bytes = self.file.header.row_bytes();
        let len = usize::try_from(row_bytes.saturating_mul(vertices.len() as u64));
        let mut out = Vec::new();
        if len.is_err() || out.try_reserve_exact(len.unwrap_or_default()).is_err() {
            let count = vertices.len();
            let reason = format!("are {count}: {row_bytes} bytes each do not fit memory");
            return Err(Error::parameter("vertices", reason));
        }
        out.resize(len.unwrap_or_default(), 0);
        let (reply, replied) = mpsc::channel();
        let cancelled = Arc::new(AtomicBool::new(is_cancelled()));
        let vertices = vertices.to_vec();
        self.submit(Fetch { vertices, out, is_cancelled: Arc::clone(&cancelled), reply })?;
        loop {
            match replied.recv_timeout(PERIOD) {
                Ok(rows) => return rows,
                Err(RecvTimeoutError::Timeout) => {
                    cancelled.fetch_or(is_cancelled(), Ordering::Relaxed);
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Error::Device("the thread that reads features ended early".into()));
                }
            }
        }
    }

    fn submit(&self, fetch: Fetch) -> Result<()> {
        let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        if reader.is_none() {
            *reader = Some(Reader::start(&self.file)?);
        }
        let fetches = reader.as_ref().and_then(|reader| reader.fetches.as_ref());
        // If the thread has panicked, no reply comes, which the caller reports.
        let _ = fetches.map(|fetches| fetches.send(fetch));
        Ok(())
    }
}

impl Reader {
    fn start(file: &Arc<File>) -> Result<Self> {
        let (fetches, received) = mpsc::channel::<Fetch>();
        let file = Arc::clone(file);
        let work = move || {
            let mut scan = None;
            for fetch in received {
                let reply = fetch.reply.clone();
                // The caller may have left.
                let _ = reply.send(file.fetch(fetch, &mut scan));
            }
        };
        let thread = Builder::new().name("cenote-features".to_owned()).spawn(work);
        let thread = thread.map_err(Error::io("cannot start the thread that reads features"))?;
        Ok(Self { fetches: Some(fetches), thread: Some(thread) })
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        drop(self.fetches.take());
        // A panic of the thread has been reported to the caller of the fetch.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

impl File {
    fn fetch(&self, fetch: Fetch, kept: &mut Option<Scan<()>>) -> Result<Vec<u8>> {
        let Fetch { vertices, mut out, is_cancelled, .. } = fetch;
        let mut order: Vec<usize> = (0..vertices.len()).collect();
        order.sort_unstable_by_key(|&at| vertices[at]);
        let mut scan = match kept.take() {
            Some(scan) => scan,
            None => self.scan()?,
        };
        let mut batch = Batch { file: self, vertices: &vertices, order: &order, out: &mut out };
        batch.read(&mut scan, &is_cancelled)?;
        // After an error it is dropped with its requests in flight.
        *kept = Some(scan);
        Ok(out)
    }

    fn scan(&self) -> Result<Scan<()>> {
        let plan = self.planner.plan();
        let scan = Scan::new(self.device.as_ref(), plan.depth, plan.request_bytes, PAGE_BYTES);
        scan.map_err(|error| Error::Device(error.into()))
    }
}

/// The rows of one fetch.
struct Batch<'a> {
    file: &'a File,
    vertices: &'a [VertexId],
    /// Indices of the vertices, by ascending vertex.
    order: &'a [usize],
    out: &'a mut [u8],
}

impl Batch<'_> {
    /// The pages of a row.
    fn pages_of(vertex: VertexId, row_bytes: u64) -> std::ops::RangeInclusive<u64> {
        let start = u64::from(vertex) * row_bytes;
        1 + start / ROW_BYTES..=1 + (start + row_bytes - 1) / ROW_BYTES
    }

    fn read(&mut self, scan: &mut Scan<()>, is_cancelled: &AtomicBool) -> Result<()> {
        let (order, vertices) = (self.order, self.vertices);
        let row_bytes = self.file.header.row_bytes();
        let mut last = 0;
        let wanted = order.iter().flat_map(|&at| Self::pages_of(vertices[at], row_bytes));
        // Rows of one vertex, or of neighbouring ones, have pages in common.
        let wanted = wanted.filter(|&page| {
            let is_new = page > last;
            last = last.max(page);
            is_new
        });
        let mut extents = self.file.planner.extents(wanted).peekable();
        let device = |error: cenote_pool::PoolError| Error::Device(error.into());
        while extents.peek().is_some() || scan.in_flight() > 0 {
            if is_cancelled.load(Ordering::Relaxed) {
                return Err(Error::Cancelled);
            }
            while scan.has_room() {
                let Some(extent) = extents.next() else { break };
                let (first_page, pages) = (extent.first_page, extent.pages);
                scan.start(Extent { first_page, pages, load: () });
            }
            scan.collect(true).map_err(device)?;
            while let Some(arrived) = scan.next_arrived() {
                let Extent { first_page, pages, .. } = arrived.extent;
                for page in first_page..first_page + pages {
                    self.arrived(page, arrived.page(page, PAGE_BYTES))?;
                }
                scan.recycle(arrived);
            }
        }
        Ok(())
    }

    /// Copies the parts of rows in a page; one that has none of them was read to fill a gap.
    fn arrived(&mut self, page: u64, bytes: &[u8]) -> Result<()> {
        let Header { salt, .. } = self.file.header;
        let row_bytes = self.file.header.row_bytes();
        let (start, end) = ((page - 1) * ROW_BYTES, page * ROW_BYTES);
        let first = self
            .order
            .partition_point(|&at| (u64::from(self.vertices[at]) + 1) * row_bytes <= start);
        let rows = self.order[first..].iter();
        let mut rows =
            rows.take_while(|at| u64::from(self.vertices[**at]) * row_bytes < end).peekable();
        if rows.peek().is_some() {
            verify(bytes, salt, page).map_err(|fault| fault_of(&self.file.path, &fault))?;
        }
        for &at in rows {
            let row = u64::from(self.vertices[at]) * row_bytes;
            let (from, to) = (row.max(start), (row + row_bytes).min(end));
            let into = at as u64 * row_bytes + from - row;
            let len = (to - from) as usize;
            let source = (from - start) as usize + ROWS_START;
            self.out[into as usize..][..len].copy_from_slice(&bytes[source..][..len]);
        }
        Ok(())
    }
}

fn fault_of(path: &Path, fault: &str) -> Error {
    Error::Corrupt(format!("{}: {fault}", path.display()).into())
}
