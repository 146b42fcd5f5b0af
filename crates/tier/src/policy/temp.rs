//! `temp`: promotes a page that is warmer than the average of the next faster tier and demotes the
//! coldest page there (dissertation 6.5). The temperature is the same as ReStore's.
//!
//! By this rule alone (`temp:text`) a tier with some cold pages admits every accessed page. The
//! authors' program also requires a temperature above that of three requests (fastest tier) or one
//! (the others) in the window. That is the default.

use super::lowest::Lowest;
use super::saved::{Load, StateHeader};
use super::temperature::Temperatures;
use super::{Access, Context, Options, Policy, PolicyKind};
use crate::error::Result;
use crate::placement::{Move, Page, Placement, Tier};

/// Requests in the window whose temperature a page must exceed: fastest tier, other tiers.
const FLOORS: [usize; 2] = [3, 1];

/// Options of `temp`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TempConfig {
    /// Compare with the average only, as in the text.
    pub text: bool,
    /// Warming by a request: 0.2 in the text.
    pub gain: f64,
}

impl TempConfig {
    pub(super) fn parse(options: &mut Options<'_>) -> Result<Self> {
        Ok(Self { text: options.word("text"), gain: options.number("gain", 0.2, 0.001..=10.0)? })
    }
}

/// The policy.
#[derive(Debug)]
pub struct Temp {
    header: StateHeader,
    config: TempConfig,
    temperatures: Temperatures,
    coldest: Lowest,
}

impl Temp {
    pub(super) fn new(config: TempConfig, context: &Context<'_>) -> Self {
        let temperatures = Temperatures::new(context.placement, config.gain);
        let coldest = Lowest::new(context.placement, |page| temperatures.key(page));
        let header = StateHeader::new(PolicyKind::Temp(config), context);
        Self { header, config, temperatures, coldest }
    }

    /// Whether a page is warm enough for the next faster tier.
    fn rises(&self, page: Page, above: Tier, placement: &Placement) -> bool {
        let temperature = self.temperatures.now(page);
        let floor = self.temperatures.after(FLOORS[usize::from(above > 0)]);
        let mean = self.temperatures.sum(above) / placement.count(above).max(1);
        temperature > mean && (self.config.text || temperature > floor)
    }
}

impl Policy for Temp {
    fn access(&mut self, access: &Access<'_>, placement: &Placement, moves: &mut Vec<Move>) {
        let page = access.page;
        let here = placement.tier_of(page);
        let before = self.temperatures.touch(page, here);
        let key = self.temperatures.key(page);
        if key < before {
            self.coldest.push(here, page, key);
        }
        let Some(above) = here.checked_sub(1) else { return };
        if !self.rises(page, above, placement) {
            return;
        }
        if placement.has_room(above) {
            moves.push(Move { page, to: above });
            return;
        }
        let temperatures = &self.temperatures;
        if let Some((_, victim)) = self.coldest.get(above, placement, |p| temperatures.key(p)) {
            moves.extend([Move { page: victim, to: here }, Move { page, to: above }]);
        }
    }

    fn moved(&mut self, page: Page, from: Tier, to: Tier) {
        self.temperatures.moved(page, from, to);
        self.coldest.push(to, page, self.temperatures.key(page));
    }

    fn memory_bytes(&self) -> usize {
        self.temperatures.memory_bytes() + self.coldest.memory_bytes()
    }

    fn save(&self) -> Result<Vec<u8>> {
        self.header.pack(self.temperatures.state())
    }

    fn heat(&self, page: Page) -> Option<f64> {
        self.temperatures.heat(page)
    }
}

impl Load for Temp {
    fn load(&mut self, placement: &Placement, bytes: &[u8]) -> Result<()> {
        let (saved, pages) = self.header.unpack(bytes)?;
        self.temperatures.load(placement, saved, pages)?;
        self.coldest = Lowest::new(placement, |page| self.temperatures.key(page));
        Ok(())
    }
}
