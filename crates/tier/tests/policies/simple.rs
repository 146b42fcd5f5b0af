//! Policies as their definitions say, looking at every page every time.

use cenote_tier::placement::{Move, Page, Placement, Tier};

/// A policy that remembers all accesses.
pub struct Simple {
    name: &'static str,
    /// Every access so far.
    past: Vec<Page>,
    /// Key and time of what is stored by page, where a definition needs that.
    stored: Vec<(f64, u64)>,
    keys: Vec<u64>,
    pages: u32,
}

pub fn simple(name: &'static str, placement: &Placement) -> Simple {
    let pages = placement.pages();
    let keys = vec![1 << 31; pages as usize];
    Simple { name, past: Vec::new(), stored: vec![(0.0, 0); pages as usize], keys, pages }
}

impl Simple {
    /// Times of a page's accesses, counted from 1, the latest first.
    fn times(&self, page: Page) -> impl Iterator<Item = u64> + '_ {
        let all = self.past.iter().enumerate().rev();
        all.filter(move |(_, p)| **p == page).map(|(index, _)| index as u64 + 1)
    }

    fn last(&self, page: Page) -> u64 {
        self.times(page).next().unwrap_or(0)
    }

    /// log2 of the sum of accesses that count half after so many, as of now.
    fn faded(&self, page: Page, half_life: f64) -> f64 {
        let lambda = 1.0 / (half_life * f64::from(self.pages));
        let now = self.past.len() as f64;
        let sum: f64 = self.times(page).map(|at| (-(now - at as f64) * lambda).exp2()).sum();
        sum.log2()
    }

    /// Temperature now, in parts of 2^32, by the rules of the temperature model.
    fn cooled(&self) -> u64 {
        self.past.len() as u64 * self.rate()
    }

    fn step(&self) -> u64 {
        u64::from(self.pages / 20).max(1)
    }

    fn rate(&self) -> u64 {
        ((1u64 << 32) / 100 / self.step()).max(1)
    }

    fn temperature(&self, page: Page) -> u64 {
        self.keys[page as usize].saturating_sub(self.cooled())
    }

    /// The mean over a tier: a page counts until the end of the timestep in which it cools to 0.
    fn mean(&self, tier: Tier, placement: &Placement) -> u64 {
        let timestep = self.past.len() as u64 / self.step();
        let mut sum = 0i128;
        let mut count = 0;
        for page in (0..self.pages).filter(|&page| placement.tier_of(page) == tier) {
            let key = self.keys[page as usize];
            if key / (self.rate() * self.step()) + 1 > timestep {
                sum += i128::from(key) - i128::from(self.cooled());
            }
            count += 1;
        }
        sum.max(0) as u64 / count.max(1)
    }

    fn after(requests: usize) -> u64 {
        let temperature = 1.0 - 0.5 / (0.2 * requests as f64).exp();
        (temperature * (1u64 << 32) as f64) as u64
    }

    fn remember(&mut self, page: Page) {
        self.past.push(page);
        let now = self.past.len() as u64;
        let (score, last) = &mut self.stored[page as usize];
        *score = 1.0 + *score * 0.8f64.powf((now - *last) as f64);
        *last = now;
        let window = self.past.iter().rev().take(self.pages as usize);
        let requests = window.filter(|p| **p == page).count();
        self.keys[page as usize] = Self::after(requests.min(255)) + self.cooled();
    }

    /// Who is lowest on a tier; of equal ones the first.
    fn lowest(&self, tier: Tier, placement: &Placement, key: impl Fn(Page) -> f64) -> Option<Page> {
        let here = (0..self.pages).filter(|&page| placement.tier_of(page) == tier);
        here.min_by(|a, b| key(*a).total_cmp(&key(*b)))
    }

    fn exchange(page: Page, victim: Page, here: Tier, above: Tier) -> Vec<Move> {
        vec![Move { page: victim, to: here }, Move { page, to: above }]
    }

    /// Takes an access; the moves that the definition asks for, or `None` where two sums are closer
    /// than their rounding.
    pub fn access(&mut self, page: Page, placement: &Placement) -> Option<Vec<Move>> {
        let before = self.last(page);
        self.remember(page);
        let unsure = self.is_unsure(page, placement);
        let moves = self.moves(page, before, placement);
        (!unsure).then_some(moves)
    }

    /// Whether the faded sum of `page` differs from another by rounding alone, as far as one can
    /// tell: after many accesses of one of two pages, two of the other make its sum half of all.
    fn is_unsure(&self, page: Page, placement: &Placement) -> bool {
        let Some(half_life) = self.half_life() else { return false };
        let here = placement.tier_of(page);
        let own = self.faded(page, half_life);
        let close = |other: Page| (self.faded(other, half_life) - own).abs() < 1e-8;
        let above = |other: &Page| placement.tier_of(*other) + 1 == here;
        (0..self.pages).filter(above).any(close)
    }

    /// Accesses per page after which an access counts half, where sums fade.
    fn half_life(&self) -> Option<f64> {
        match self.name {
            "lrfu" => Some(1.0),
            "exd" => Some(10.0),
            "lrfu:half-life=0.2" => Some(0.2),
            _ => None,
        }
    }

    fn moves(&self, page: Page, before: u64, placement: &Placement) -> Vec<Move> {
        let here = placement.tier_of(page);
        if self.name == "static" || here == 0 {
            return Vec::new();
        }
        let above = here - 1;
        let up = vec![Move { page, to: above }];
        if self.name.starts_with("temp") {
            return self.temp(page, here, placement);
        }
        if placement.has_room(above) {
            return up;
        }
        let last = |page| self.last(page) as f64;
        let count = |page| self.times(page).count() as f64;
        let (victim, rises) = match self.name {
            "tlru" | "tlru:no-margin" | "tlru:always" => {
                let Some(victim) = self.lowest(above, placement, last) else { return Vec::new() };
                let margin = if self.name == "tlru" { placement.count(above) } else { 0 };
                let claim = if self.name == "tlru:always" { self.last(page) } else { before };
                (victim, claim > self.last(victim) + margin)
            }
            "tlfu" => {
                let Some(victim) = self.lowest(above, placement, count) else { return Vec::new() };
                (victim, count(page) > count(victim))
            }
            "lrfu:code" => {
                let score = |page: Page| self.stored[page as usize].0;
                let Some(victim) = self.lowest(above, placement, score) else { return Vec::new() };
                (victim, score(page) > score(victim))
            }
            _ => {
                let half_life = self.half_life().expect("sums that fade");
                // Rounded, so that equal sums are equal whatever the order of their terms.
                let crf = |page| (self.faded(page, half_life) * 1e9).round();
                let Some(victim) = self.lowest(above, placement, crf) else { return Vec::new() };
                (victim, crf(page) > crf(victim))
            }
        };
        if rises { Self::exchange(page, victim, here, above) } else { Vec::new() }
    }

    fn temp(&self, page: Page, here: Tier, placement: &Placement) -> Vec<Move> {
        let above = here - 1;
        let floor = if above == 0 { Self::after(3) } else { Self::after(1) };
        let temperature = self.temperature(page);
        let rises = temperature > self.mean(above, placement)
            && (self.name == "temp:text" || temperature > floor);
        if !rises {
            return Vec::new();
        }
        if placement.has_room(above) {
            return vec![Move { page, to: above }];
        }
        let key = |page: Page| self.keys[page as usize] as f64;
        match self.lowest(above, placement, key) {
            Some(victim) => Self::exchange(page, victim, here, above),
            None => Vec::new(),
        }
    }
}
