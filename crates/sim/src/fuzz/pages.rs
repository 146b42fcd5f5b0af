//! Damaged pages with right checksums. The result must be an error or a graph that is consistent in
//! itself, never a panic, a hang, or an answer that does not follow from the lists.

use std::sync::Arc;

use cenote_device::Buffer;
use cenote_device::backend::sim::{FaultPlan, SimConfig, SimDevice};
use cenote_store::format::HEADER_BYTES;
use cenote_store::header::PageHeader;
use cenote_store::{Adjacency, Decoded, Direction, Graph, List, Page, StoreError, check};

use crate::disk::drive_with;
use crate::faults::{End, clean};
use crate::house::{Case, compare_answer, lists};
use crate::oracle::Oracle;
use crate::question::{Question, ask_within_budget, random_config};
use crate::random::Random;
use crate::{Outcome, demand};

/// Most vertices whose lists are read one by one.
const LISTS_READ_MAX: usize = 200;

/// A graph file in memory, its drive, and what seals its pages.
pub(super) struct Image {
    drive: SimConfig,
    pub bytes: Vec<u8>,
    page_bytes: usize,
    salt: u64,
}

impl Image {
    fn random(random: &mut Random) -> Outcome<Self> {
        let case = Case::random(random);
        let device = case.store()?.device;
        Self::of(case.drive, device).map(|(image, _)| image)
    }

    /// The file on a device, and its graph.
    pub fn of(drive: SimConfig, device: Arc<SimDevice>) -> Outcome<(Self, Graph)> {
        let bytes = device.contents();
        let graph = Graph::open(device).map_err(|e| format!("it does not open: {e}"))?;
        let (page_bytes, salt) = (graph.page_bytes(), graph.superblock().salt);
        Ok((Self { drive, bytes, page_bytes, salt }, graph))
    }

    pub fn pages(&self) -> usize {
        self.bytes.len() / self.page_bytes
    }

    fn page_mut(&mut self, page: usize) -> &mut [u8] {
        &mut self.bytes[page * self.page_bytes..][..self.page_bytes]
    }

    /// Mutates a page in a few places.
    pub fn damage(&mut self, page: usize, hot_bytes: usize, random: &mut Random) {
        let bytes = self.page_mut(page);
        for _ in 0..1 + random.below(3) {
            mutate(bytes, hot_bytes, random);
        }
    }

    /// Gives a page a right checksum.
    pub fn seal(&mut self, page: usize) {
        let salt = if page < 2 { 0 } else { self.salt };
        let bytes = self.page_mut(page);
        PageHeader::read(bytes).seal(bytes, salt, page as u64);
    }

    fn damage_and_seal(&mut self, page: usize, hot_bytes: usize, random: &mut Random) {
        self.damage(page, hot_bytes, random);
        self.seal(page);
    }

    pub fn open(&self) -> Result<Graph, StoreError> {
        Graph::open(drive_with(&self.drive, FaultPlan::none(), &self.bytes))
    }
}

/// Mutates a byte or a word: among the first `hot_bytes`, at the end, or anywhere.
pub(super) fn mutate(bytes: &mut [u8], hot_bytes: usize, random: &mut Random) {
    let width = random.pick(&[1, 1, 2, 4, 8]);
    let place = match random.below(10) {
        0..6 => 4 + random.index(hot_bytes - 4),
        6..8 => bytes.len() - 1 - random.index(64),
        _ => random.index(bytes.len()),
    };
    let start = (place / width * width).max(4);
    let field = &mut bytes[start..start + width];
    let mut word = [0; 8];
    word[..width].copy_from_slice(field);
    let old = u64::from_le_bytes(word);
    let new = match random.below(6) {
        0 => old ^ (1 << random.below(8 * width as u64)),
        1 => old.wrapping_add(1),
        2 => old.wrapping_sub(1),
        3 => 0,
        4 => u64::MAX >> random.below(4),
        _ => random.bits(),
    };
    field.copy_from_slice(&new.to_le_bytes()[..width]);
}

/// Damages an adjacency page and runs the parser on it, sometimes the whole system too.
pub fn adjacency(random: &mut Random) -> Outcome<Vec<End>> {
    let mut image = Image::random(random)?;
    let graph = image.open().map_err(|e| format!("it does not open: {e}"))?;
    let direction = random.pick(&[Direction::Out, Direction::In]);
    let adjacency = graph.adjacency(direction).or(graph.adjacency(Direction::Out));
    let adjacency = adjacency.ok_or("no lists")?;
    let mut ends = Vec::new();
    for _ in 0..20 {
        let relative = random.below(adjacency.pages());
        let page = (adjacency.first_page() + relative) as usize;
        let sound = image.page_mut(page).to_vec();
        image.damage_and_seal(page, HEADER_BYTES, random);
        ends.push(parse(adjacency, relative, image.page_mut(page), graph.vertices())?);
        if random.chance(5) {
            use_all(&image, random)?;
        }
        image.page_mut(page).copy_from_slice(&sound);
    }
    Ok(ends)
}

/// Checks that a page that parses has only vertices of the graph, within the lengths it states.
fn parse(adjacency: &Adjacency, relative: u64, bytes: &[u8], vertices: usize) -> Outcome<End> {
    let mut buffer = Buffer::new(bytes.len()).map_err(|e| format!("no memory: {e}"))?;
    buffer.copy_from_slice(bytes);
    let mut decoded = Decoded::new();
    let page = match adjacency.parse(relative, &buffer, &mut decoded) {
        Ok(page) => page,
        Err(error) => return clean(&error),
    };
    let mut entries = 0;
    for (i, list) in page.lists().enumerate() {
        let context = || format!("page {relative} parses, but its list {i} is {list:?}");
        let (start, len) = (list.skip, list.targets.len() as u64);
        demand(start.checked_add(len).is_some_and(|end| end <= list.degree), context)?;
        demand((list.vertex as usize) < vertices, context)?;
        demand(list.targets.iter().all(|&target| (target as usize) < vertices), context)?;
        demand(page.list(i) == list && page.list_of(list.vertex) == Some(list), context)?;
        entries += list.targets.len();
    }
    alone(adjacency, relative, &buffer, &page)?;
    demand(entries == page.entries().len(), || format!("page {relative}: entries of no list"))?;
    Ok(End::Right)
}

/// Checks that a list decoded alone equals that of the whole page.
fn alone(adjacency: &Adjacency, relative: u64, bytes: &[u8], page: &Page<'_>) -> Outcome {
    let mut decoded = Decoded::new();
    for list in page.lists() {
        let mut found = Vec::new();
        let mut take = |list: &List<'_>| found = list.targets.to_vec();
        let context = |e| format!("page {relative} parses, but not its list {list:?} alone: {e}");
        adjacency
            .reparse_lists(relative, bytes, &[list.vertex], &mut decoded, &mut take)
            .map_err(context)?;
        demand(found == list.targets, || {
            format!("page {relative}: vertex {} alone has {found:?}", list.vertex)
        })?;
    }
    Ok(())
}

/// Damages the superblock.
pub fn superblock(random: &mut Random) -> Outcome<Vec<End>> {
    let mut ends = Vec::new();
    let mut image = Image::random(random)?;
    let sound = image.page_mut(0).to_vec();
    for _ in 0..6 {
        image.damage_and_seal(0, 1900, random);
        ends.push(use_all(&image, random)?);
        image.page_mut(0).copy_from_slice(&sound);
    }
    Ok(ends)
}

/// Damages pages of any kind.
pub fn any_page(random: &mut Random) -> Outcome<Vec<End>> {
    let mut ends = Vec::new();
    let mut image = Image::random(random)?;
    let sound = image.bytes.clone();
    for _ in 0..4 {
        for _ in 0..1 + random.below(2) {
            let page = random.index(image.pages());
            image.damage_and_seal(page, 200, random);
        }
        ends.push(use_all(&image, random)?);
        image.bytes.copy_from_slice(&sound);
    }
    Ok(ends)
}

/// Opens, checks and reads a graph and asks all questions. If `check` finds nothing, every answer
/// must follow from the lists.
fn use_all(image: &Image, random: &mut Random) -> Outcome<End> {
    let graph = match image.open() {
        Ok(graph) => Arc::new(graph),
        Err(error) => return clean(&error),
    };
    let report = check(&graph, &mut |_, _| true).map_err(|e| format!("check fails: {e}"))?;
    if report.is_whole() {
        let out = lists(&graph, Direction::Out).map_err(|e| format!("whole, but: {e}"))?;
        let oracle = Oracle::of_lists(&out);
        for question in Question::all(graph.vertices(), random) {
            compare_answer(&graph, &oracle, question, &random_config(random))?;
        }
        return Ok(End::Right);
    }
    for fault in &report.faults {
        demand(!fault.message.contains('\n'), || format!("a fault is not one line: {fault}"))?;
    }
    read_all(&graph, random).or_else(|error| clean(&error).map(|_| ()))?;
    if graph.vertices() > 0 {
        for question in Question::all(graph.vertices(), random) {
            let config = random_config(random);
            // Any answer will do, as long as the run ends.
            if let Err(error) = ask_within_budget(question, &graph, &config) {
                clean(&error)?;
            }
        }
    }
    Ok(End::Error)
}

fn read_all(graph: &Graph, random: &mut Random) -> Result<(), StoreError> {
    for direction in [Direction::Out, Direction::In] {
        graph.degrees(direction, &mut |_, _| {})?;
        for _ in 0..LISTS_READ_MAX.min(graph.vertices()) {
            let vertex = random.index(graph.vertices()) as u32;
            graph.read_list(direction, vertex, &mut Vec::new())?;
        }
    }
    let ids = graph.ids()?;
    ids.for_each(0..graph.vertices() as u32, |_, _| Ok::<(), StoreError>(()))?;
    ids.vertex_of("n7")?;
    ids.vertex_of("7").map(|_| ())
}
