//! A block's map entry in one word: place, stage of a migration, and writes in flight.

use crate::placement::Tier;

/// A slot of a tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) tier: Tier,
    pub(super) slot: u32,
}

/// The stage of a block's migration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Idle,
    /// The block is being copied; a write cancels that.
    Copying,
    /// The new place is being journalled; writes wait.
    Committing,
    /// The journal failed, so a restart finds the old or the new place. The block is read-only.
    Doubtful,
}

/// Bits from the lowest: slot 32, tier 5, stage 2, fresh 1, writers 16.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry(u64);

const TIER_AT: u32 = 32;
const STAGE_AT: u32 = 37;
const FRESH: u64 = 1 << 39;
const WRITER: u64 = 1 << 40;
const WRITERS_MAX: u64 = 0xffff;
const NO_TIER: u64 = 31;
const PLACE: u64 = (1 << STAGE_AT) - 1;

impl Entry {
    /// A block without a slot.
    pub(super) const ABSENT: Self = Self(NO_TIER << TIER_AT);

    pub(super) fn of(place: Place) -> Self {
        Self(u64::from(place.tier) << TIER_AT | u64::from(place.slot))
    }

    pub(super) fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    pub(super) fn bits(self) -> u64 {
        self.0
    }

    #[inline]
    pub(super) fn place(self) -> Option<Place> {
        let tier = self.0 >> TIER_AT & NO_TIER;
        (tier != NO_TIER).then_some(Place { tier: tier as Tier, slot: self.0 as u32 })
    }

    pub(super) fn at(self, place: Place) -> Self {
        Self(self.0 & !PLACE | Self::of(place).0)
    }

    pub(super) fn stage(self) -> Stage {
        match self.0 >> STAGE_AT & 3 {
            0 => Stage::Idle,
            1 => Stage::Copying,
            2 => Stage::Committing,
            _ => Stage::Doubtful,
        }
    }

    pub(super) fn staged(self, stage: Stage) -> Self {
        Self(self.0 & !(3 << STAGE_AT) | (stage as u64) << STAGE_AT)
    }

    /// Without a place; writes in flight stay counted until they end.
    pub(super) fn without_place(self) -> Self {
        Self((self.0 / WRITER * WRITER) | Self::ABSENT.0)
    }

    /// Whether the place is not on stable storage yet.
    pub(super) fn is_fresh(self) -> bool {
        self.0 & FRESH != 0
    }

    pub(super) fn fresh(self, fresh: bool) -> Self {
        Self(if fresh { self.0 | FRESH } else { self.0 & !FRESH })
    }

    /// Writes in flight.
    pub(super) fn writers(self) -> u64 {
        self.0 / WRITER
    }

    /// With one more write in flight; `None` if the counter is full.
    pub(super) fn with_writer(self) -> Option<Self> {
        (self.writers() < WRITERS_MAX).then(|| Self(self.0 + WRITER))
    }

    pub(super) fn without_writer(self) -> Self {
        debug_assert!(self.writers() > 0, "a write ends once");
        Self(self.0 - WRITER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_an_entry_do_not_touch_each_other() {
        let place = Place { tier: 15, slot: u32::MAX };
        let entry = Entry::of(place).staged(Stage::Doubtful).fresh(true);
        let entry = entry.with_writer().and_then(Entry::with_writer).unwrap();
        assert_eq!((entry.place(), entry.stage()), (Some(place), Stage::Doubtful));
        assert!(entry.is_fresh() && entry.writers() == 2);
        let other = Place { tier: 0, slot: 7 };
        let entry = entry.at(other).staged(Stage::Copying).fresh(false).without_writer();
        assert_eq!((entry.place(), entry.stage()), (Some(other), Stage::Copying));
        assert!(!entry.is_fresh() && entry.writers() == 1);
        assert_eq!(Entry::ABSENT.place(), None);
        let cut = entry.with_writer().unwrap().without_place();
        assert_eq!((cut.place(), cut.stage(), cut.writers()), (None, Stage::Idle, 2));
        assert_eq!(cut.without_writer().without_writer(), Entry::ABSENT);
        let full = (0..WRITERS_MAX).try_fold(Entry::of(other), |entry, _| entry.with_writer());
        assert!(
            full.is_some_and(|full| full.with_writer().is_none() && full.place() == Some(other))
        );
    }
}
