//! Heat of pages: a short and a long moving average of their accesses, and an order for demotion.
//!
//! Cooling is lazy: stored averages are those of the last access, and decay by e^(-idle / window).
//! The order is that of the short average, which never changes while pages are idle (see
//! [`super::lrfu`]).

use serde::{Deserialize, Serialize};

use super::lowest::{Rank, rank_of};
use super::saved::{take_accesses, take_all};
use crate::error::Result;
use crate::placement::Page;

/// Decayed counts of a page's accesses, by the short and by the long window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Heat {
    pub(super) short: f32,
    pub(super) long: f32,
}

/// The stored heat of a page.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Cell {
    heat: Heat,
    /// Low bits of the number of the last access; ambiguous after 2^32 accesses.
    last: u32,
}

/// Converts a window from accesses per page to accesses.
fn window_accesses(window: f64, pages: u32) -> f32 {
    (window * f64::from(pages)).max(1.0) as f32
}

#[derive(Debug)]
pub(super) struct Heats {
    cells: Vec<Cell>,
    /// The short and the long window, in accesses per page.
    windows: [f64; 2],
    /// The windows in accesses, in which an average falls to 1/e.
    pub(super) short: f32,
    pub(super) long: f32,
    accesses: u64,
}

impl Heats {
    /// Cold pages; windows in accesses per page.
    pub(super) fn new(pages: u32, short: f64, long: f64) -> Self {
        let windows = [short, long];
        let [short, long] = windows.map(|window| window_accesses(window, pages));
        Self { cells: vec![Cell::default(); pages as usize], windows, short, long, accesses: 0 }
    }

    /// Records an access; returns the page's heat with it.
    pub(super) fn touch(&mut self, page: Page) -> Heat {
        self.accesses += 1;
        let Heat { short, long } = self.now(page);
        let heat = Heat { short: short + 1.0, long: long + 1.0 };
        self.cells[page as usize] = Cell { heat, last: self.accesses as u32 };
        heat
    }

    pub(super) fn now(&self, page: Page) -> Heat {
        let Cell { heat, last } = self.cells[page as usize];
        let idle = (self.accesses as u32).wrapping_sub(last) as f32;
        Heat {
            short: heat.short * (-idle / self.short).exp(),
            long: heat.long * (-idle / self.long).exp(),
        }
    }

    pub(super) fn accesses(&self) -> u64 {
        self.accesses
    }

    /// The rank of a page by its short average, at any time: ln(short) + last / window. A page that
    /// was never used ranks below all others.
    pub(super) fn rank(&self, page: Page) -> Rank {
        let Cell { heat, last } = self.cells[page as usize];
        // The number of the last access, from its low bits: it is no later than now.
        let idle = (self.accesses as u32).wrapping_sub(last);
        let last = self.accesses.saturating_sub(idle.into());
        rank_of(f64::from(heat.short).ln() + last as f64 / f64::from(self.short))
    }

    /// A page's share of all accesses by the short and by the long average, if it exists.
    pub(super) fn rates(&self, page: Page) -> Option<[f64; 2]> {
        self.cells.get(page as usize)?;
        let heat = self.now(page);
        Some([heat.short / self.short, heat.long / self.long].map(f64::from))
    }

    pub(super) fn state(&self) -> (&[Cell], u64) {
        (&self.cells, self.accesses)
    }

    /// Restores the saved state of the first `pages`.
    pub(super) fn load(&mut self, (cells, accesses): (Vec<Cell>, u64), pages: u32) -> Result<()> {
        let grown = [self.short, self.long];
        [self.short, self.long] = self.windows.map(|window| window_accesses(window, pages));
        // The average of a page with every access is 1 / (1 - e^(-1/window)).
        let (short, long) = (self.short + 2.0, self.long + 2.0);
        take_accesses(&mut self.accesses, accesses)?;
        take_all(&mut self.cells, cells, pages as usize, "heat of pages", |cell| {
            let Cell { heat, last } = cell;
            let is_heat = (0.0..=short).contains(&heat.short) && (0.0..=long).contains(&heat.long);
            is_heat && u64::from(*last) <= accesses
        })?;
        if (pages as usize) < self.cells.len() {
            self.widen(pages, grown);
        }
        Ok(())
    }

    /// Widens the windows; the first `pages` keep their present shares of accesses.
    fn widen(&mut self, pages: u32, [short, long]: [f32; 2]) {
        for page in 0..pages {
            let now = self.now(page);
            let heat = Heat {
                short: (now.short * (short / self.short)).min(short + 1.0),
                long: (now.long * (long / self.long)).min(long + 1.0),
            };
            self.cells[page as usize] = Cell { heat, last: self.accesses as u32 };
        }
        (self.short, self.long) = (short, long);
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.cells.capacity() * size_of::<Cell>()
    }
}
