//! Windows of consecutive pages, which the engine reads at a time, and the pieces of lists in them.

use std::iter::Peekable;
use std::ops::Range;
use std::slice::Iter;

use cenote_engine::{
    ActiveSet, Adjacency, Engine, Kernel, List, NamedPages, Page, PageTask, Purpose,
};
use cenote_store::{Direction, VertexId};

/// The pages with active lists, in file order and some at a time.
pub(super) struct Windows<'a> {
    lists: &'a Adjacency,
    active: ActiveSet<'a>,
    /// The active vertices whose pages are not all done, if they are listed.
    vertices: Option<Peekable<Iter<'a, VertexId>>>,
    next_page: u64,
    pages_max: u64,
}

impl<'a> Windows<'a> {
    pub fn new(lists: &'a Adjacency, active: ActiveSet<'a>, pages_max: u64) -> Self {
        // The list of an `ActiveSet` lives as long as its frontier, not as long as the set.
        let listed = match active {
            ActiveSet::In(frontier) => frontier.list(),
            _ => None,
        };
        let vertices = listed.map(|list| list.iter().peekable());
        Self { lists, active, vertices, next_page: 0, pages_max }
    }

    /// The pages of the next window; none after the last.
    pub fn next(&mut self) -> Option<Vec<PageTask>> {
        let mut tasks = Vec::new();
        while (tasks.len() as u64) < self.pages_max {
            let Some(page) = self.page() else { break };
            self.next_page = page + 1;
            tasks.push(PageTask { page, from: 0, to: 0 });
        }
        (!tasks.is_empty()).then_some(tasks)
    }

    /// The first page from `next_page` on that has an active list.
    fn page(&mut self) -> Option<u64> {
        let Some(vertices) = &mut self.vertices else {
            let mut rest = self.next_page..self.lists.pages();
            return rest.find(|&page| self.active.any_in(self.lists.vertices_in(page)));
        };
        while let Some(&&vertex) = vertices.peek() {
            let pages = self.lists.pages_of(vertex);
            if *pages.end() >= self.next_page {
                return Some(self.next_page.max(*pages.start()));
            }
            vertices.next();
        }
        None
    }
}

/// The pieces of active lists in a page.
#[derive(Debug, Default)]
pub(super) struct Part {
    page: u64,
    /// The vertices of the pieces, which are not empty.
    pub vertices: Vec<VertexId>,
    /// For each its end in `targets`.
    pub ends: Vec<u32>,
    pub targets: Vec<VertexId>,
    /// Empty without weights.
    pub weights: Vec<f64>,
    /// Entries of the last list in pages behind.
    pub missing: u64,
    /// Its length.
    pub last_degree: u64,
}

impl Part {
    fn push(&mut self, list: &List<'_>) {
        self.vertices.push(list.vertex);
        self.targets.extend_from_slice(list.targets);
        self.ends.push(self.targets.len() as u32);
        self.last_degree = list.degree;
        self.missing = list.degree - list.skip - list.targets.len() as u64;
    }
}

/// Reads the pages of a window. The parts of pages that have one ascend.
pub(super) fn read(
    engine: &Engine,
    direction: Direction,
    weights: bool,
    active: ActiveSet<'_>,
    tasks: &[PageTask],
) -> cenote_engine::Result<Vec<Part>> {
    let (kernel, pages) = (Collect(active), NamedPages::of_pass(tasks));
    let parts = match weights {
        false => engine.visit_pages("window", direction, pages, &kernel)?,
        true => engine.visit_weighted_pages("window", direction, pages, &kernel)?,
    };
    let mut parts: Vec<Part> = parts.into_iter().flatten().collect();
    parts.sort_unstable_by_key(|part| part.page);
    Ok(parts)
}

/// Collects the pieces of active lists, page by page.
struct Collect<'a>(ActiveSet<'a>);

impl Collect<'_> {
    /// The active lists of a page that are not empty, each with its place among all.
    fn lists<'p>(&self, page: &Page<'p>) -> impl Iterator<Item = (usize, List<'p>)> {
        let is_active = |list: &List<'_>| !list.targets.is_empty() && self.0.contains(list.vertex);
        page.lists().enumerate().filter(move |(_, list)| is_active(list))
    }
}

impl Kernel for Collect<'_> {
    type Local = Vec<Part>;

    fn local(&self) -> Vec<Part> {
        Vec::new()
    }

    fn page(&self, parts: &mut Vec<Part>, page: &Page<'_>, purpose: &Purpose<'_>) {
        let (mut lists, mut entries) = (0, 0);
        for (_, list) in self.lists(page) {
            lists += 1;
            entries += list.targets.len();
        }
        if lists == 0 {
            return;
        }
        let mut part = Part {
            page: purpose.task.page,
            vertices: Vec::with_capacity(lists),
            ends: Vec::with_capacity(lists),
            targets: Vec::with_capacity(entries),
            ..Part::default()
        };
        self.lists(page).for_each(|(_, list)| part.push(&list));
        if let Some((range, weights)) = &purpose.weights {
            part.weights.reserve_exact(entries);
            for (i, _) in self.lists(page) {
                let own = weights.slice(page.start(i) - range.start..page.end(i) - range.start);
                part.weights.extend((0..own.len()).map(|at| own.get(at).to_f64()));
            }
        }
        parts.push(part);
    }

    fn entries(&self, page: &Page<'_>, _: PageTask) -> Range<usize> {
        let is_active = |i: &usize| self.0.contains(page.first_vertex() + *i as VertexId);
        let first = (0..page.list_count()).find(is_active);
        let last = (0..page.list_count()).rfind(is_active);
        first.zip(last).map_or(0..0, |(first, last)| page.start(first)..page.end(last))
    }
}
