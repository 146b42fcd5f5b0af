//! Pages that went up, and what became of them: whether what is expected comes true, and for how
//! long heat lasts.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::super::saved::{check, take_all};
use super::kinds::Exposure;
use crate::error::Result;
use crate::placement::{Page, Tier};

/// Pages of one tier, and what they were promised.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Record {
    /// Accesses that they got, and were to get in the time of closed trials.
    got: f64,
    promised: f64,
    /// Of open trials: the sum of their rates, and of rate times beginning.
    rates: f64,
    begun: f64,
}

/// One page that went up.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Trial {
    page: Page,
    begun: u64,
    rate: f64,
}

/// Trials of one tier.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Tried {
    queue: VecDeque<Trial>,
    record: Record,
}

/// Whether pages that went up get what was expected; a trial for each, by tier.
#[derive(Debug)]
pub(super) struct Trials {
    tiers: Vec<Tried>,
    /// By page, the tier for which it is on trial, plus 1.
    tried_for: Vec<u8>,
    /// In accesses.
    length: u64,
    /// What is left of past trials after as long as one lasts.
    fade: f64,
    /// Accesses by which they are known.
    trust: f64,
}

impl Trials {
    pub(super) fn new(pages: u32, tiers: usize, length: u64, fade: f64, trust: f64) -> Self {
        let tried_for = vec![0; pages as usize];
        let tiers = (0..tiers).map(|_| Tried::default()).collect();
        Self { tiers, tried_for, length, fade, trust }
    }

    /// The share of what was promised that pages of a tier got, until now.
    pub(super) fn kept(&self, tier: Tier, now: u64) -> f64 {
        let Record { got, promised, rates, begun } = self.tiers[usize::from(tier)].record;
        let promised = promised + rates * now as f64 - begun;
        ((got + self.trust) / (promised.max(0.0) + self.trust)).min(1.0)
    }

    /// A page goes up to a tier, because so many accesses are expected in each one.
    pub(super) fn begin(&mut self, page: Page, tier: Tier, rate: f64, now: u64) {
        let tried_for = &mut self.tried_for[page as usize];
        if *tried_for > 0 {
            return;
        }
        *tried_for = tier + 1;
        let Tried { queue, record } = &mut self.tiers[usize::from(tier)];
        queue.push_back(Trial { page, begun: now, rate });
        record.rates += rate;
        record.begun += rate * now as f64;
    }

    /// An access; ends trials that have lasted.
    pub(super) fn saw(&mut self, page: Page, now: u64) {
        if let Some(tier) = self.tried_for[page as usize].checked_sub(1) {
            self.tiers[usize::from(tier)].record.got += 1.0;
        }
        let fade = if now.is_multiple_of(self.length) { self.fade } else { 1.0 };
        for Tried { queue, record } in &mut self.tiers {
            record.got *= fade;
            record.promised *= fade;
            while let Some(trial) = queue.pop_front_if(|t| now - t.begun >= self.length) {
                self.tried_for[trial.page as usize] = 0;
                record.rates -= trial.rate;
                record.begun -= trial.rate * trial.begun as f64;
                if queue.is_empty() {
                    (record.rates, record.begun) = (0.0, 0.0);
                }
                record.promised += trial.rate * (now - trial.begun) as f64;
            }
        }
    }

    /// What is to be saved.
    pub(super) fn state(&self) -> &[Tried] {
        &self.tiers
    }

    /// Takes on what was saved.
    pub(super) fn load(&mut self, saved: Vec<Tried>, now: u64) -> Result<()> {
        take_all(&mut self.tiers, saved, "trials by tier", |Tried { queue, record }| {
            let Record { got, promised, rates, begun } = *record;
            [got, promised, rates, begun].iter().all(|sum| sum.is_finite())
                && queue.iter().all(|trial| trial.begun <= now && trial.rate.is_finite())
        })?;
        self.tried_for.fill(0);
        let queues = self.tiers.iter().enumerate();
        let pages = queues.flat_map(|(t, tried)| tried.queue.iter().map(move |r| (r.page, t)));
        mark_all(&mut self.tried_for, pages)
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let trials: usize = self.tiers.iter().map(|tried| tried.queue.capacity()).sum();
        self.tried_for.capacity() + trials * size_of::<Trial>()
    }
}

/// Marks pages with their tier plus 1: each at most once.
fn mark_all(marks: &mut [u8], pages: impl Iterator<Item = (Page, usize)>) -> Result<()> {
    for (page, tier) in pages {
        let mark = marks.get_mut(page as usize).filter(|mark| **mark == 0);
        check(mark.is_some(), || format!("trial of page {page}"))?;
        mark.into_iter().for_each(|mark| *mark = tier as u8 + 1);
    }
    Ok(())
}

/// The mark of a page that is no longer young.
const OLD: u8 = 1 << 7;

/// How often pages of an age were asked for.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Age {
    accesses: f64,
    lived: Exposure,
}

/// Pages of one tier since they went up, while they are young, and later.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Lived {
    young: VecDeque<(Page, u64)>,
    old: VecDeque<(Page, u64)>,
    ages: [Age; 2],
}

/// For how long heat lasts: of pages that went up, how often they are asked for later by how often
/// at first. Both are counted after the decision, so it does not matter by what luck it was taken.
#[derive(Debug)]
pub(super) struct Lives {
    tiers: Vec<Lived>,
    /// By page, the tier to which it went, plus 1, and whether it is [`OLD`].
    lives_on: Vec<u8>,
    /// For how long a page is young, and how long it is looked at in all, in accesses.
    youth: u64,
    horizon: u64,
    /// What is left of the past after an access per page; accesses by which it is known.
    fade: f64,
    trust: f64,
}

impl Lives {
    pub(super) fn new(pages: u32, tiers: usize, times: [u64; 2], fade: f64, trust: f64) -> Self {
        let [youth, horizon] = times;
        let tiers = (0..tiers).map(|_| Lived::default()).collect();
        let lives_on = vec![0; pages as usize];
        Self { tiers, lives_on, youth: youth.min(horizon), horizon, fade, trust }
    }

    /// The share of the accesses within the horizon that a page of a tier gets of what its rate at
    /// first would make.
    pub(super) fn share(&self, tier: Tier, now: u64) -> f64 {
        let [young, old] = &self.tiers[usize::from(tier)].ages;
        let rate = young.accesses / young.lived.time(now).max(1.0);
        let wanted = old.lived.time(now) * rate + self.trust;
        let lasts = ((old.accesses + self.trust) / wanted).min(1.0);
        let youth = self.youth as f64 / self.horizon as f64;
        youth + (1.0 - youth) * lasts
    }

    /// A page goes up to a tier.
    pub(super) fn begin(&mut self, page: Page, tier: Tier, now: u64) {
        let lives_on = &mut self.lives_on[page as usize];
        if *lives_on == 0 {
            *lives_on = tier + 1;
            let lived = &mut self.tiers[usize::from(tier)];
            lived.young.push_back((page, now));
            lived.ages[0].lived.begin(now);
        }
    }

    /// An access; pages grow older.
    pub(super) fn saw(&mut self, page: Page, now: u64) {
        let lives_on = self.lives_on[page as usize];
        if let Some(tier) = (lives_on & !OLD).checked_sub(1) {
            let age = usize::from(lives_on & OLD > 0);
            self.tiers[usize::from(tier)].ages[age].accesses += 1.0;
        }
        let fades = now.is_multiple_of(self.lives_on.len() as u64);
        let fade = if fades { self.fade } else { 1.0 };
        let (youth, rest) = (self.youth, self.horizon - self.youth);
        for Lived { young, old, ages } in &mut self.tiers {
            for age in &mut *ages {
                age.accesses *= fade;
                age.lived.closed *= fade;
            }
            while let Some((page, begun)) = young.pop_front_if(|(_, begun)| now - *begun >= youth) {
                ages[0].lived.end(begun, now);
                ages[1].lived.begin(now);
                old.push_back((page, now));
                self.lives_on[page as usize] |= OLD;
            }
            while let Some((page, begun)) = old.pop_front_if(|(_, begun)| now - *begun >= rest) {
                ages[1].lived.end(begun, now);
                self.lives_on[page as usize] = 0;
            }
        }
    }

    /// What is to be saved.
    pub(super) fn state(&self) -> &[Lived] {
        &self.tiers
    }

    /// Takes on what was saved.
    pub(super) fn load(&mut self, saved: Vec<Lived>, now: u64) -> Result<()> {
        take_all(&mut self.tiers, saved, "lives by tier", |Lived { young, old, ages }| {
            let is_sum = |sum: f64| sum.is_finite() && sum >= 0.0;
            ages.iter().all(|age| is_sum(age.accesses) && is_sum(age.lived.closed))
                && young.iter().chain(old).all(|(_, begun)| *begun <= now)
        })?;
        self.lives_on.fill(0);
        let pages = |of: fn(&Lived) -> &VecDeque<(Page, u64)>| {
            let tiers = self.tiers.iter().enumerate();
            tiers.flat_map(move |(tier, lived)| of(lived).iter().map(move |(p, _)| (*p, tier)))
        };
        mark_all(&mut self.lives_on, pages(|lived| &lived.young).chain(pages(|lived| &lived.old)))?;
        for Lived { young, old, ages } in &mut self.tiers {
            young.iter().for_each(|(_, begun)| ages[0].lived.begin(*begun));
            for (page, begun) in old.iter() {
                ages[1].lived.begin(*begun);
                self.lives_on[*page as usize] |= OLD;
            }
        }
        Ok(())
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let entries = |lived: &Lived| lived.young.capacity() + lived.old.capacity();
        let entries: usize = self.tiers.iter().map(entries).sum();
        self.lives_on.capacity() + entries * size_of::<(Page, u64)>()
    }
}
