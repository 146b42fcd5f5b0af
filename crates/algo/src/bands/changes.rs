//! Sweeps over the vertices whose neighbours changed.

use cenote_engine::{ActiveSet, Bitmap, Engine, Frontier, Kernel, List};

use super::plan::list_max;
use crate::neighbourhood::directions;
use crate::report::Result;

/// Neighbours of what changed are collected if at most one vertex in so many did.
const COLLECT_SHARE: u64 = 4;

/// Which values change, and which may change next.
pub(crate) struct Changes<'a> {
    engine: &'a Engine,
    /// Of the iteration.
    pub changed: Bitmap,
    /// The vertices with a neighbour that changed, where they are collected. Before that, it is
    /// those that changed.
    frontier: Frontier,
    is_collected: bool,
}

impl<'a> Changes<'a> {
    /// Bytes of memory.
    pub fn bytes_for(vertices: usize, threads: usize) -> u64 {
        let list_max = list_max(vertices);
        Bitmap::bytes_for(vertices) + Frontier::bytes_with_list_max(vertices, threads, list_max)
    }

    /// None yet: all vertices are active.
    pub fn new(engine: &'a Engine) -> Result<Self> {
        let n = engine.graph().vertices();
        let (changed, frontier) = (Bitmap::new(n)?, Frontier::with_list_max(n, list_max(n))?);
        Ok(Self { engine, changed, frontier, is_collected: false })
    }

    /// The vertices whose values may change.
    pub fn active(&self) -> ActiveSet<'_> {
        if self.is_collected { ActiveSet::In(&self.frontier) } else { ActiveSet::All }
    }

    /// Ends an iteration; returns how many values changed.
    pub fn take(&mut self, label: &str) -> Result<u64> {
        let (count, graph) = (self.changed.count(), self.engine.graph());
        self.is_collected = count <= graph.vertices() as u64 / COLLECT_SHARE;
        if self.is_collected {
            self.frontier.set(self.changed.iter());
            self.changed.clear();
            let touch = Touch(&self.changed);
            for &direction in directions(graph.is_directed()) {
                let active = ActiveSet::In(&self.frontier);
                self.engine.visit(format!("{label}: neighbours"), direction, active, &touch)?;
            }
            self.frontier.set(self.changed.iter());
        }
        self.changed.clear();
        Ok(count)
    }
}

/// Collects neighbours.
struct Touch<'a>(&'a Bitmap);

impl Kernel for Touch<'_> {
    type Local = ();

    fn local(&self) {}

    fn list(&self, (): &mut (), list: &List<'_>) {
        for &target in list.targets.iter().filter(|&&target| !self.0.contains(target)) {
            self.0.insert(target);
        }
    }
}
