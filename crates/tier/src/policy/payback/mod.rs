//! `payback`: cost and benefit with a benefit that is learned, not assumed. Ours.
//!
//! Like [`super::cost_benefit`] a page goes up if the accesses that it is expected to get pay for
//! the move. But what a page's heat says of its future is measured all the time:
//!
//! - [`kinds`]: pages are sorted into kinds, by tier, by how hot they are by a fast and a slow
//!   average, and by how many of the last accesses went to slow tiers. Whoever is asked for is
//!   watched for a while, as one of its kind.
//! - [`trials`]: pages that went up are on trial. What they got of what was promised scales all
//!   promises: in bursts, rates do not last. How often they are asked for later, by how often at
//!   first, tells how far to look ahead.
//!
//! A page goes up if two things hold.
//!
//! 1. *It pays*: the accesses that pages of its kind get within the horizon, less those of the page
//!    that comes down, exceed the accesses that pay for the exchange. The one is taken by its lower
//!    bound, the other by its upper one (a standard deviation): what cannot be told apart is not
//!    exchanged.
//! 2. *It does not pay to wait.* When the page comes back, more is known of it; all that waiting
//!    costs is that one access. If it would go up then, going up now saves the one access, and, if
//!    it does not come back, loses the exchange. So what counts is how many of its kind come back,
//!    soon or within the horizon: what that saves is at most the price of the exchange plus one.
//!
//! So under uniform load no kind is better than another, and nobody moves; where hot pages are
//! already up, a second access in the slowest tier soon means nothing; and when the hot set
//! changes, those who come for the first time prove to come back, and within a few hundred accesses
//! go up at their first one. With the second change that is already known, since in a rush to slow
//! tiers pages are of other kinds than in calm times.
//!
//! The constants were chosen on one seed; results change by a few percent around them.

mod kinds;
mod trials;

use super::heat::{Cell, Heat, Heats};
use super::ledger::Ledger;
use super::lowest::Lowest;
use super::saved::{Load, Owner, is_share, take_all};
use super::{Access, Context, Options, Policy, PolicyKind};
use crate::error::Result;
use crate::placement::{Move, Page, Placement, Tier};
use kinds::{Estimate, KindId, Kinds, Return};
use trials::{Lived, Lives, Trials, Tried};

/// Times are in accesses per page, so that they mean the same for any number of pages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PaybackConfig {
    /// Of the average that forgets fast.
    pub short: f64,
    /// Of the average that forgets slowly.
    pub long: f64,
    /// For how long a page is watched.
    pub watch: f64,
    /// For how long it is watched on if it did not come back.
    pub rest: f64,
    /// Time in which a move must pay, where heat lasts.
    pub horizon: f64,
    /// Watches that a kind remembers.
    pub memory: f64,
    /// What the fast average counts for at first, in watches.
    pub prior: f64,
    /// What a pool counts for at most, in watches.
    pub pool: f64,
    /// Accesses by which the share of slower tiers is known.
    pub rush: f64,
    /// Standard deviations by which a rate may be wrong.
    pub doubt: f64,
    /// How much must speak for waiting: 1 is even, less prefers to move.
    pub patience: f64,
    /// How long a page that went up is on trial.
    pub trial: f64,
    /// Accesses by which trials and lives are known.
    pub trust: f64,
    /// What is left of past trials after as long as one lasts.
    pub fade: f64,
    /// For how long a page that went up is young.
    pub youth: f64,
    /// What is left of past lives after an access per page.
    pub forget: f64,
}

impl PaybackConfig {
    pub(super) fn parse(options: &mut Options<'_>) -> Result<Self> {
        Ok(Self {
            short: options.number("short", 0.0625, 1e-6..=1e6)?,
            long: options.number("long", 4.0, 1e-6..=1e6)?,
            watch: options.number("watch", 0.125, 1e-6..=1e6)?,
            rest: options.number("rest", 0.875, 1e-6..=1e6)?,
            horizon: options.number("horizon", 12.0, 1e-6..=1e6)?,
            memory: options.number("memory", 64.0, 1.0..=1e9)?,
            prior: options.number("prior", 0.5, 1e-3..=1e9)?,
            pool: options.number("pool", 2.0, 1e-3..=1e9)?,
            rush: options.number("rush", 32.0, 1.0..=1e9)?,
            doubt: options.number("doubt", 1.0, 0.0..=100.0)?,
            patience: options.number("patience", 0.85, 0.01..=100.0)?,
            trial: options.number("trial", 0.25, 1e-6..=1e6)?,
            trust: options.number("trust", 300.0, 1.0..=1e12)?,
            fade: options.number("fade", 0.7, 0.0..=1.0)?,
            youth: options.number("youth", 0.5, 1e-6..=1e6)?,
            forget: options.number("forget", 0.9, 0.0..=1.0)?,
        })
    }
}

/// The policy.
#[derive(Debug)]
pub struct Payback {
    owner: Owner,
    config: PaybackConfig,
    heats: Heats,
    coldest: Lowest,
    ledger: Ledger,
    kinds: Kinds,
    trials: Trials,
    lives: Lives,
    /// By tier, the share of the last accesses that went there or further down.
    rush: Vec<f32>,
    /// By tier, what the page gives up that had to come down last, or would have had to.
    given_up: Vec<f64>,
    /// In accesses.
    watch: f64,
    horizon: f64,
}

impl Payback {
    pub(super) fn new(config: PaybackConfig, context: &Context<'_>) -> Self {
        let placement = context.placement;
        let (pages, tiers) = (placement.pages(), placement.tiers());
        let accesses = |time: f64| ((time * f64::from(pages)) as u64).max(1);
        let PaybackConfig { watch, rest, horizon, memory, prior, pool, .. } = config;
        let PaybackConfig { trial, fade, trust, youth, forget, .. } = config;
        let (watch, horizon) = (accesses(watch), accesses(horizon));
        let heats = Heats::new(pages, config.short, config.long);
        Self {
            owner: Owner::new(PolicyKind::Payback(config), context),
            config,
            coldest: Lowest::new(placement, |page| heats.rank(page)),
            heats,
            ledger: Ledger::new(context),
            kinds: Kinds::new(pages, tiers, watch, accesses(rest), [memory, prior, pool]),
            trials: Trials::new(pages, tiers, accesses(trial), fade, trust),
            lives: Lives::new(pages, tiers, [accesses(youth), horizon], forget, trust),
            rush: vec![0.0; tiers],
            given_up: vec![0.0; tiers],
            watch: watch as f64,
            horizon: horizon as f64,
        }
    }

    /// The kind of a page of this heat: one that was just asked for, or one that may have to leave.
    fn kind(&self, tier: Tier, heat: Heat, leaves: bool) -> KindId {
        KindId::new(tier, leaves, heat, self.rush[usize::from(tier + u8::from(leaves))])
    }

    /// What to expect of pages of a kind; `before` is the fast average without the last access,
    /// and `most` what a move can save by the time they come back.
    fn estimate(&self, kind: KindId, before: f32, most: f64) -> Estimate {
        let rate = f64::from(before / self.heats.short) * self.watch;
        self.kinds.estimate(kind, &Estimate::of_rate(rate, most), self.heats.accesses())
    }

    /// Watches that fit the time for which heat on a tier lasts.
    fn horizon(&self, tier: Tier) -> f64 {
        self.horizon / self.watch * self.lives.share(tier, self.heats.accesses())
    }

    /// What a move can save by the time a page comes back: that access, and the price of a move.
    fn most(&self, here: Tier, above: Tier) -> f64 {
        1.0 + self.ledger.payback(here, above, true) + self.given_up[usize::from(above)]
    }

    /// Takes note of a page that is asked for again; it was idle for so many accesses.
    fn observe(&mut self, page: Page, heat: Heat, idle: u64) {
        let now = self.heats.accesses();
        self.trials.saw(page, now);
        self.lives.saw(page, now);
        if let Some(back) = self.kinds.saw(page, idle, now) {
            self.came_back(back, heat);
        }
        let heats = &self.heats;
        self.kinds.end(now, |page| heats.last(page));
    }

    /// A page came back to a tier above which there is another: what would have been saved if it
    /// had gone up before.
    fn came_back(&mut self, back: Return, heat: Heat) {
        let here = back.kind.tier();
        let Some(above) = here.checked_sub(1) else { return };
        let most = self.most(here, above);
        let next = self.estimate(self.kind(here, heat, false), heat.short - 1.0, most);
        let kept = self.trials.kept(above, self.heats.accesses());
        let expected = kept * self.horizon(above) * next.rate;
        self.kinds.credit(back, (1.0 + expected).min(most));
    }

    /// A page goes up, as so many accesses are expected in each one.
    fn try_out(&mut self, page: Page, above: Tier, rate: f64) {
        let now = self.heats.accesses();
        self.trials.begin(page, above, rate, now);
        self.lives.begin(page, above, now);
    }
}

impl Policy for Payback {
    fn access(&mut self, access: &Access<'_>, placement: &Placement, moves: &mut Vec<Move>) {
        let page = access.page;
        let idle = self.heats.idle(page) + 1;
        let heat = self.heats.touch(page);
        self.ledger.saw(access.write);
        self.observe(page, heat, idle);
        let here = placement.tier_of(page);
        for (tier, rush) in self.rush.iter_mut().enumerate() {
            let here = f32::from(u8::from(usize::from(here) >= tier));
            *rush += (here - *rush) / self.config.rush as f32;
        }
        let Some(above) = here.checked_sub(1) else { return };
        let now = self.heats.accesses();
        let kind = self.kind(here, heat, false);
        let estimate = self.estimate(kind, heat.short - 1.0, self.most(here, above));
        self.kinds.begin(page, kind, now);
        let exchange = !placement.has_room(above);
        let payback = self.ledger.payback(here, above, exchange);
        let horizon = self.horizon(above);
        let rate = estimate.rate_off_by(-self.config.doubt);
        let expected = self.trials.kept(above, now) * horizon * rate;
        let saved = estimate.saved(horizon) / self.config.patience;
        if expected <= payback {
            return;
        }
        if !exchange {
            if saved > payback {
                self.try_out(page, above, rate / self.watch);
                moves.push(Move { page, to: above });
            }
            return;
        }
        let heats = &self.heats;
        let Some((_, victim)) = self.coldest.get(above, placement, |p| heats.rank(p)) else {
            return;
        };
        let victim_heat = self.heats.now(victim);
        let victim_kind = self.kind(above, victim_heat, true);
        let leaving = self.estimate(victim_kind, victim_heat.short, 0.0);
        self.kinds.begin(victim, victim_kind, now);
        let given_up = horizon * leaving.rate;
        self.given_up[usize::from(above)] = given_up;
        let at_most = horizon * leaving.rate_off_by(self.config.doubt);
        if expected - at_most > payback && saved - given_up > payback {
            self.try_out(page, above, rate / self.watch);
            moves.extend([Move { page: victim, to: here }, Move { page, to: above }]);
        }
    }

    fn moved(&mut self, page: Page, _from: Tier, to: Tier) {
        self.coldest.push(to, page, self.heats.rank(page));
    }

    fn memory_bytes(&self) -> usize {
        let learned = [&self.kinds.memory_bytes(), &self.trials.memory_bytes()];
        let learned: usize = learned.into_iter().sum();
        self.heats.memory_bytes()
            + self.coldest.memory_bytes()
            + learned
            + self.lives.memory_bytes()
    }

    fn save(&self) -> Result<Vec<u8>> {
        let kinds = self.kinds.state(|page| self.heats.last(page));
        let learned = (kinds, self.trials.state(), self.lives.state(), &self.rush, &self.given_up);
        self.owner.pack((self.heats.state(), self.ledger.state(), learned))
    }

    /// By the slow average: the fast one tells little of any one page without its kind.
    fn heat(&self, page: Page) -> Option<f64> {
        self.heats.rates(page).map(|[_, long]| long)
    }
}

/// What is saved besides heats and costs.
type Learned = (kinds::Saved, Vec<Tried>, Vec<Lived>, Vec<f32>, Vec<f64>);

impl Load for Payback {
    fn load(&mut self, placement: &Placement, bytes: &[u8]) -> Result<()> {
        let (heats, ledger, learned): ((Vec<Cell>, u64), f64, Learned) =
            self.owner.unpack(bytes)?;
        let (kinds, trials, lives, rush, given_up) = learned;
        self.heats.load(heats)?;
        self.ledger.load(ledger)?;
        let (now, heats) = (self.heats.accesses(), &self.heats);
        self.kinds.load(kinds, now, |page| heats.last(page))?;
        self.trials.load(trials, now)?;
        self.lives.load(lives, now)?;
        take_all(&mut self.rush, rush, "rush by tier", |&rush| is_share(rush.into()))?;
        let can_be = |given_up: &f64| given_up.is_finite() && *given_up >= 0.0;
        take_all(&mut self.given_up, given_up, "what is given up by tier", can_be)?;
        self.coldest = Lowest::new(placement, |page| self.heats.rank(page));
        Ok(())
    }
}
