//! How hot pages are: two moving averages of their accesses, one that forgets fast and one that
//! forgets slowly, and an order by heat for whoever has to leave.
//!
//! Cooling is lazy: a page's averages are those of its last access, and are worth
//! e^(-idle / window) of that now. The order is that of the slow average, which never changes while
//! pages are idle (see [`super::lrfu`]).

use serde::{Deserialize, Serialize};

use super::lowest::{Rank, rank_of};
use super::saved::{take_accesses, take_all};
use crate::error::Result;
use crate::placement::Page;

/// Accesses of a page, each worth less the older it is: by the short and by the long window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Heat {
    pub(super) short: f32,
    pub(super) long: f32,
}

/// What is stored of a page.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Cell {
    heat: Heat,
    /// The number of the last access, in the low bits: 2^32 accesses later it is forgotten.
    last: u32,
}

/// The heat of all pages.
#[derive(Debug)]
pub(super) struct Heats {
    cells: Vec<Cell>,
    /// Accesses in which an average falls to 1/e.
    pub(super) short: f32,
    pub(super) long: f32,
    accesses: u64,
}

impl Heats {
    /// Cold pages; windows in accesses per page.
    pub(super) fn new(pages: u32, short: f64, long: f64) -> Self {
        let accesses = |window: f64| (window * f64::from(pages)).max(1.0) as f32;
        let cells = vec![Cell::default(); pages as usize];
        Self { cells, short: accesses(short), long: accesses(long), accesses: 0 }
    }

    /// A page is asked for; its heat with this access.
    pub(super) fn touch(&mut self, page: Page) -> Heat {
        self.accesses += 1;
        let Heat { short, long } = self.now(page);
        let heat = Heat { short: short + 1.0, long: long + 1.0 };
        self.cells[page as usize] = Cell { heat, last: self.accesses as u32 };
        heat
    }

    /// The heat of a page now.
    pub(super) fn now(&self, page: Page) -> Heat {
        let Cell { heat, last } = self.cells[page as usize];
        let idle = (self.accesses as u32).wrapping_sub(last) as f32;
        Heat {
            short: heat.short * (-idle / self.short).exp(),
            long: heat.long * (-idle / self.long).exp(),
        }
    }

    /// Accesses so far.
    pub(super) fn accesses(&self) -> u64 {
        self.accesses
    }

    /// What orders pages by their slow average, whenever they are compared: ln(long) + last /
    /// window. A page that was never used ranks below all others.
    pub(super) fn rank(&self, page: Page) -> Rank {
        let Cell { heat, last } = self.cells[page as usize];
        // The whole number of the last access, from its low bits: it is no later than now.
        let idle = (self.accesses as u32).wrapping_sub(last);
        let last = self.accesses.saturating_sub(idle.into());
        rank_of(f64::from(heat.short).ln() + last as f64 / f64::from(self.short))
    }

    /// The share of all accesses that a page gets, by the short and by the long average; nothing
    /// where there is no such page.
    pub(super) fn rates(&self, page: Page) -> Option<[f64; 2]> {
        self.cells.get(page as usize)?;
        let heat = self.now(page);
        Some([heat.short / self.short, heat.long / self.long].map(f64::from))
    }

    /// What is to be saved.
    pub(super) fn state(&self) -> (&[Cell], u64) {
        (&self.cells, self.accesses)
    }

    /// Takes on what was saved.
    pub(super) fn load(&mut self, (cells, accesses): (Vec<Cell>, u64)) -> Result<()> {
        // An average of a page that is always asked for comes to 1 / (1 - e^(-1/window)).
        let (short, long) = (self.short + 2.0, self.long + 2.0);
        take_accesses(&mut self.accesses, accesses)?;
        take_all(&mut self.cells, cells, "heat of pages", |Cell { heat, last }| {
            let is_heat = (0.0..=short).contains(&heat.short) && (0.0..=long).contains(&heat.long);
            is_heat && u64::from(*last) <= accesses
        })
    }

    /// Bytes that it holds.
    pub(super) fn memory_bytes(&self) -> usize {
        self.cells.capacity() * size_of::<Cell>()
    }
}
