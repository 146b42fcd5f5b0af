//! `payback`: cost and benefit with access rates that are learned. Cenote's own.
//!
//! As in [`super::cost_benefit`] a page is promoted if its expected accesses pay for the move. Here
//! the expectation is measured. Pages are sorted into *kinds* by tier and by a short and a long
//! average of their accesses. An accessed page is watched for a while as one of its kind; the
//! expected rate of a kind is the number of accesses to its watched pages over the watched time. So
//!
//! - if the hot pages are already promoted, a second access on the slowest tier soon has no weight,
//!   and no page moves; under uniform load all kinds have the same rate, and nothing moves;
//! - when the hot set changes, pages accessed for the first time are found to be accessed again,
//!   and after a few hundred accesses pages are promoted at their first access.
//!
//! Pages that would be demoted are watched in the same way. The page to promote counts with the
//! lower bound of its kind's rate, the page to demote with the upper bound (one standard deviation
//! of a count), so pages with rates that cannot be distinguished are not exchanged.
//!
//! Open watches count with the time that has passed. A kind halves its counts once it has watched
//! for long enough, so it follows the workload. Kinds also differ by the share of recent accesses
//! that went to slow tiers: while a new hot set arrives, first accesses are worth more, and at the
//! second change of the hot set these kinds are already known.
//!
//! A measured rate may not last, as in bursts. So promoted pages are on trial for a while, and the
//! ratio of their accesses to the expected ones scales all expectations of their tier. Past trials
//! decay, so that promotions are tried again.
//!
//! The constants were chosen on one seed. Results change by a few percent around them, but more
//! with the horizon (docs/tiers.md).

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::cost_model::CostModel;
use super::heat::{Cell, Heat, Heats};
use super::lowest::Lowest;
use super::saved::{Load, StateHeader, check, is_share, take_all};
use super::{Access, Context, Options, Policy, PolicyKind};
use crate::error::Result;
use crate::placement::{Move, Page, Placement, Tier};
use crate::spec::TierSpec;

/// Bounds between kinds by the short average, this access included, and by the long average.
const SHORT_BOUNDS: [f32; 7] = [0.05, 0.5, 1.1, 1.6, 2.5, 4.5, 9.0];
const LONG_BOUNDS: [f32; 4] = [1.5, 3.0, 8.0, 24.0];

/// Bounds by the share of recent accesses that went to this tier or a slower one.
const RUSH_BOUNDS: [f32; 5] = [0.1, 0.2, 0.35, 0.55, 0.75];
const KINDS: usize = (SHORT_BOUNDS.len() + 1) * (LONG_BOUNDS.len() + 1) * (RUSH_BOUNDS.len() + 1);

/// Options of `payback`. Times are in accesses per page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PaybackConfig {
    /// Window of the short average.
    pub short: f64,
    /// Window of the long average.
    pub long: f64,
    /// For how long a page is watched.
    pub watch: f64,
    /// Time in which a move must pay off.
    pub horizon: f64,
    /// Watches that a kind remembers.
    pub memory: f64,
    /// Weight of the initial estimate of a kind's rate, in watches.
    pub prior: f64,
    /// Window, in accesses, of the share of slower tiers.
    pub rush: f64,
    /// Standard deviations between a rate and its bounds.
    pub doubt: f64,
    /// For how long a promoted page is on trial.
    pub trial: f64,
    /// Weight, in accesses, of the assumption that expectations hold.
    pub trust: f64,
    /// Factor by which past trials decay in the time of one trial.
    pub fade: f64,
}

impl PaybackConfig {
    pub(super) fn parse(options: &mut Options<'_>) -> Result<Self> {
        Ok(Self {
            short: options.number("short", 0.0625, 1e-6..=1e6)?,
            long: options.number("long", 4.0, 1e-6..=1e6)?,
            watch: options.number("watch", 0.125, 1e-6..=1e6)?,
            horizon: options.number("horizon", 1.0, 1e-6..=1e6)?,
            memory: options.number("memory", 64.0, 1.0..=1e9)?,
            prior: options.number("prior", 1.0, 0.0..=1e9)?,
            doubt: options.number("doubt", 1.0, 0.0..=100.0)?,
            trial: options.number("trial", 0.25, 1e-6..=1e6)?,
            trust: options.number("trust", 300.0, 1.0..=1e12)?,
            fade: options.number("fade", 0.7, 0.0..=1.0)?,
            rush: options.number("rush", 32.0, 1.0..=1e9)?,
        })
    }
}

/// The measurements of a kind of pages.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Kind {
    /// Accesses to watched pages, and the time of closed watches.
    accesses: f64,
    watched: f64,
    /// Open watches, and the sum of their start times.
    #[serde(skip)]
    open: u64,
    #[serde(skip)]
    begun: u64,
}

impl Kind {
    /// Whether a saved value is possible.
    fn can_be(&self) -> bool {
        let is_sum = |sum: f64| sum.is_finite() && sum >= 0.0;
        is_sum(self.accesses) && is_sum(self.watched)
    }

    fn open(&mut self, begun: u64) {
        self.open += 1;
        self.begun = self.begun.wrapping_add(begun);
    }

    fn close(&mut self, begun: u64, now: u64) {
        self.open -= 1;
        self.begun = self.begun.wrapping_sub(begun);
        self.watched += (now - begun) as f64;
    }

    /// Watched time until now.
    fn time(&self, now: u64) -> f64 {
        self.watched + self.open.wrapping_mul(now).wrapping_sub(self.begun) as f64
    }
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Watch {
    page: Page,
    kind: u16,
    begun: u64,
}

/// Expected and counted accesses of pages that were promoted to a tier.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Record {
    /// Counted accesses, and those expected in closed trials.
    got: f64,
    promised: f64,
    /// Of open trials: the sum of their rates, and of rate x start.
    rates: f64,
    begun: f64,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Trial {
    page: Page,
    begun: u64,
    rate: f64,
}

/// Trials of one tier, of equal length.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Trials {
    queue: VecDeque<Trial>,
    record: Record,
}

impl Trials {
    /// Ratio of counted to expected accesses until now, at most 1.
    fn kept(&self, now: u64, weight: f64) -> f64 {
        let Record { got, promised, rates, begun } = self.record;
        let promised = promised + rates * now as f64 - begun;
        ((got + weight) / (promised.max(0.0) + weight)).min(1.0)
    }

    /// Whether a saved value is possible.
    fn can_be(&self, now: u64) -> bool {
        let Record { got, promised, rates, begun } = self.record;
        [got, promised, rates, begun].iter().all(|sum| sum.is_finite())
            && self.queue.iter().all(|trial| trial.begun <= now && trial.rate.is_finite())
    }

    fn begin(&mut self, page: Page, rate: f64, now: u64) {
        self.queue.push_back(Trial { page, begun: now, rate });
        self.record.rates += rate;
        self.record.begun += rate * now as f64;
    }

    /// Ends the first trial if its time is over; returns its page.
    fn end(&mut self, now: u64, length: u64) -> Option<Page> {
        let Trial { page, begun, rate } = *self.queue.front()?;
        if now - begun < length {
            return None;
        }
        self.queue.pop_front();
        let record = &mut self.record;
        record.rates -= rate;
        record.begun -= rate * begun as f64;
        if self.queue.is_empty() {
            (record.rates, record.begun) = (0.0, 0.0);
        }
        record.promised += rate * (now - begun) as f64;
        Some(page)
    }
}

/// The policy.
#[derive(Debug)]
pub struct Payback {
    header: StateHeader,
    config: PaybackConfig,
    heats: Heats,
    coldest: Lowest,
    costs: CostModel,
    kinds: Vec<Kind>,
    /// By page, the kind of its watch plus 1, or 0.
    watched_as: Vec<u16>,
    watches: VecDeque<Watch>,
    /// By page, the tier for which it is on trial plus 1, or 0; by tier, its trials.
    on_trial: Vec<u8>,
    trials: Vec<Trials>,
    /// By tier, the share of recent accesses that went to it or to slower tiers.
    rush: Vec<f32>,
    rush_window: f32,
    /// In accesses.
    watch: u64,
    horizon: f64,
    trial: u64,
}

fn bucket(bounds: &[f32], value: f32) -> usize {
    bounds.iter().filter(|bound| value >= **bound).count()
}

impl Payback {
    pub(super) fn new(config: PaybackConfig, context: &Context<'_>) -> Self {
        let placement = context.placement;
        let pages = placement.pages();
        let heats = Heats::new(pages, config.short, config.long);
        let coldest = Lowest::new(placement, |page| heats.rank(page));
        Self {
            header: StateHeader::new(PolicyKind::Payback(config), context),
            config,
            heats,
            coldest,
            costs: CostModel::new(context),
            kinds: vec![Kind::default(); 2 * KINDS * placement.tiers()],
            watched_as: vec![0; pages as usize],
            watches: VecDeque::new(),
            on_trial: vec![0; pages as usize],
            trials: (0..placement.tiers()).map(|_| Trials::default()).collect(),
            rush: vec![0.0; placement.tiers()],
            rush_window: config.rush as f32,
            watch: ((config.watch * f64::from(pages)) as u64).max(1),
            horizon: config.horizon * f64::from(pages),
            trial: ((config.trial * f64::from(pages)) as u64).max(1),
        }
    }

    /// The kind of a page that was just accessed or that may be demoted (`leaves`).
    fn kind(&self, tier: Tier, heat: Heat, leaves: bool) -> usize {
        let short = bucket(&SHORT_BOUNDS, heat.short);
        let long = bucket(&LONG_BOUNDS, heat.long);
        let at = usize::from(tier + u8::from(leaves));
        let rush = bucket(&RUSH_BOUNDS, self.rush[at]);
        let within = short * (LONG_BOUNDS.len() + 1) + long;
        let within = within * (RUSH_BOUNDS.len() + 1) + rush;
        (usize::from(tier) * 2 + usize::from(leaves)) * KINDS + within
    }

    /// Expected accesses to a page of a kind within the horizon: the lower (`doubt` -1) or upper
    /// (1) bound, by the configured number of standard deviations.
    fn expected(&self, kind: usize, before: f32, doubt: f64) -> f64 {
        let known = &self.kinds[kind];
        let prior = self.config.prior * self.watch as f64;
        let prior_rate = f64::from(before / self.heats.short);
        let accesses = known.accesses + prior * prior_rate;
        let doubtful = accesses + doubt * self.config.doubt * accesses.sqrt();
        let time = known.time(self.heats.accesses()) + prior;
        doubtful.max(0.0) / time.max(1.0) * self.horizon
    }

    /// Watches a page, unless it is watched already.
    fn begin(&mut self, page: Page, kind: usize) {
        let watched_as = &mut self.watched_as[page as usize];
        if *watched_as > 0 {
            return;
        }
        let begun = self.heats.accesses();
        *watched_as = kind as u16 + 1;
        self.watches.push_back(Watch { page, kind: kind as u16, begun });
        self.kinds[kind].open(begun);
    }

    /// Starts the trial of a promoted page.
    fn try_out(&mut self, page: Page, above: Tier, expected: f64) {
        if self.on_trial[page as usize] == 0 {
            self.on_trial[page as usize] = above + 1;
            let rate = expected / self.horizon;
            self.trials[usize::from(above)].begin(page, rate, self.heats.accesses());
        }
    }

    /// Counts an access for watches and trials, and ends those whose time is over.
    fn observe(&mut self, page: Page) {
        let now = self.heats.accesses();
        if let Some(kind) = self.watched_as[page as usize].checked_sub(1) {
            self.kinds[usize::from(kind)].accesses += 1.0;
        }
        if let Some(tier) = self.on_trial[page as usize].checked_sub(1) {
            self.trials[usize::from(tier)].record.got += 1.0;
        }
        for trials in &mut self.trials {
            if now.is_multiple_of(self.trial) {
                trials.record.got *= self.config.fade;
                trials.record.promised *= self.config.fade;
            }
            while let Some(page) = trials.end(now, self.trial) {
                self.on_trial[page as usize] = 0;
            }
        }
        while let Some(&Watch { page, kind, begun }) = self.watches.front() {
            if now - begun < self.watch {
                break;
            }
            self.watches.pop_front();
            self.watched_as[page as usize] = 0;
            let kind = &mut self.kinds[usize::from(kind)];
            kind.close(begun, now);
            if kind.watched > self.config.memory * self.watch as f64 {
                kind.watched /= 2.0;
                kind.accesses /= 2.0;
            }
        }
    }
}

impl Policy for Payback {
    fn access(&mut self, access: &Access<'_>, placement: &Placement, moves: &mut Vec<Move>) {
        let page = access.page;
        let heat = self.heats.touch(page);
        self.costs.record(access.write);
        self.observe(page);
        let here = placement.tier_of(page);
        for (tier, rush) in self.rush.iter_mut().enumerate() {
            let here = f32::from(u8::from(usize::from(here) >= tier));
            *rush += (here - *rush) / self.rush_window;
        }
        let Some(above) = here.checked_sub(1) else { return };
        let kind = self.kind(here, heat, false);
        let now = self.heats.accesses();
        let kept = self.trials[usize::from(above)].kept(now, self.config.trust);
        let expected = kept * self.expected(kind, heat.short - 1.0, -1.0);
        self.begin(page, kind);
        let exchange = !placement.has_room(above);
        let payback = self.costs.payback(here, above, exchange);
        if expected <= payback {
            return;
        }
        if !exchange {
            self.try_out(page, above, expected / kept);
            moves.push(Move { page, to: above });
            return;
        }
        let heats = &self.heats;
        let Some((_, victim)) = self.coldest.get(above, placement, |p| heats.rank(p)) else {
            return;
        };
        let victim_heat = self.heats.now(victim);
        let victim_kind = self.kind(above, victim_heat, true);
        let given_up = self.expected(victim_kind, victim_heat.short, 1.0);
        self.begin(victim, victim_kind);
        if expected - given_up > payback {
            self.try_out(page, above, expected / kept);
            moves.extend([Move { page: victim, to: here }, Move { page, to: above }]);
        }
    }

    fn moved(&mut self, page: Page, _from: Tier, to: Tier) {
        self.coldest.push(to, page, self.heats.rank(page));
    }

    fn set_speeds(&mut self, tiers: &[TierSpec]) {
        self.costs.set_speeds(tiers);
    }

    fn memory_bytes(&self) -> usize {
        let watched = self.watched_as.capacity() * size_of::<u16>();
        let watches = self.watches.capacity() * size_of::<Watch>();
        let trials: usize = self.trials.iter().map(|trials| trials.queue.capacity()).sum();
        let on_trial = self.on_trial.capacity() + trials * size_of::<Trial>();
        self.heats.memory_bytes() + self.coldest.memory_bytes() + watched + watches + on_trial
    }

    fn save(&self) -> Result<Vec<u8>> {
        let learned = (&self.kinds, &self.watches, &self.trials, &self.rush);
        self.header.pack((self.heats.state(), self.costs.state(), learned))
    }

    /// By the long average: the short one says little without the kind.
    fn heat(&self, page: Page) -> Option<f64> {
        self.heats.rates(page).map(|[_, long]| long)
    }
}

/// The saved state: kinds, watches, trials, rush.
type Learned = (Vec<Kind>, VecDeque<Watch>, Vec<Trials>, Vec<f32>);

impl Payback {
    fn load_learned(&mut self, (kinds, watches, trials, rush): Learned) -> Result<()> {
        let now = self.heats.accesses();
        let tiers = self.trials.len();
        let count = self.kinds.len();
        take_all(&mut self.kinds, kinds, count, "kinds of pages", Kind::can_be)?;
        take_all(&mut self.rush, rush, tiers, "rush by tier", |&rush| is_share(rush.into()))?;
        take_all(&mut self.trials, trials, tiers, "trials by tier", |t| t.can_be(now))?;
        self.watched_as.fill(0);
        for &Watch { page, kind, begun } in &watches {
            let watched_as = self.watched_as.get_mut(page as usize).filter(|kind| **kind == 0);
            let found = watched_as.zip(self.kinds.get_mut(usize::from(kind)));
            let Some((watched_as, known)) = found.filter(|_| begun <= now) else {
                return check(false, || format!("watch of page {page}"));
            };
            *watched_as = kind + 1;
            known.open(begun);
        }
        self.watches = watches;
        self.on_trial.fill(0);
        for (tier, trials) in self.trials.iter().enumerate() {
            for &Trial { page, .. } in &trials.queue {
                let on_trial = self.on_trial.get_mut(page as usize).filter(|tier| **tier == 0);
                let Some(on_trial) = on_trial else {
                    return check(false, || format!("trial of page {page}"));
                };
                *on_trial = tier as u8 + 1;
            }
        }
        Ok(())
    }
}

impl Load for Payback {
    fn load(&mut self, placement: &Placement, bytes: &[u8]) -> Result<()> {
        type Saved = ((Vec<Cell>, u64), f64, Learned);
        let ((heats, costs, learned), pages): (Saved, _) = self.header.unpack(bytes)?;
        self.heats.load(heats, pages)?;
        self.costs.load(costs)?;
        self.load_learned(learned)?;
        self.coldest = Lowest::new(placement, |page| self.heats.rank(page));
        Ok(())
    }
}
