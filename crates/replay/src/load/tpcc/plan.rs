//! Random numbers of transactions, which are functions of the seed and the transaction's number.

use super::layout::{CUSTOMERS, DISTRICTS, ITEMS, NAMES};
use super::{TpccConfig, Transaction};
use cenote_workload::random::Counter;

/// Lines of a New-Order (clause 2.4.1.3).
const LINES_FEWEST: u64 = 5;
pub(super) const LINES_MOST: u64 = 15;

/// Percentages (clauses 2.4.1.4, 2.4.1.5, 2.5.1.2).
const UNDONE_PERCENT: u64 = 1;
const REMOTE_LINE_PERCENT: u64 = 1;
const REMOTE_PAYMENT_PERCENT: u64 = 15;
const BY_NAME_PERCENT: u64 = 60;

/// Draws of a transaction: those of [`Draw`], then those of its lines.
const DRAWS: u64 = 64;

#[derive(Clone, Copy)]
enum Draw {
    Kind,
    Warehouse,
    District,
    Lines,
    Undone,
    ByName,
    /// Two numbers for NURand.
    Customer,
    Remote = 8,
    RemoteWarehouse,
    RemoteDistrict,
    /// Two numbers for each line.
    Line = 16,
}

/// How a transaction identifies its customer within the district.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Naming {
    Number(u64),
    LastName(u64),
}

/// The random choices of a transaction. Districts are numbered over all warehouses.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub kind: Transaction,
    pub index: u64,
    pub warehouse: u64,
    pub district: u64,
    /// Lines of a New-Order.
    pub lines: u64,
    /// A New-Order that is rolled back.
    pub undone: bool,
}

/// Constants of a load's random numbers.
#[derive(Clone, Debug)]
pub(super) struct Constants {
    warehouses: u64,
    weights: [u64; 5],
    weight: u64,
    draws: Counter,
    items: Counter,
    undone_items: Counter,
    customers: Nurand,
    names: Nurand,
    stocked: Nurand,
}

impl Constants {
    pub(super) fn new(config: &TpccConfig) -> Self {
        let constants = Counter::new(config.seed, 2);
        let weights = config.mix.0.map(u64::from);
        Self {
            warehouses: config.warehouses,
            weights,
            weight: weights.iter().sum(),
            draws: Counter::new(config.seed, 0),
            items: Counter::new(config.seed, 1),
            undone_items: Counter::new(config.seed, 3),
            customers: Nurand::new(1024, 1, CUSTOMERS, constants.at(0)),
            names: Nurand::new(256, 0, NAMES, constants.at(1)),
            stocked: Nurand::new(8192, 1, ITEMS, constants.at(2)),
        }
    }

    fn draw(&self, transaction: u64, draw: Draw, bound: u64) -> u64 {
        self.draws.below(transaction * DRAWS + draw as u64, bound)
    }

    fn happens(&self, transaction: u64, draw: Draw, percent: u64) -> bool {
        self.draw(transaction, draw, 100) < percent
    }

    pub(super) fn plan(&self, index: u64) -> Plan {
        let mut ticket = self.draw(index, Draw::Kind, self.weight);
        let mut kind = Transaction::NewOrder;
        for (candidate, weight) in Transaction::ALL.into_iter().zip(self.weights) {
            kind = candidate;
            if ticket < weight {
                break;
            }
            ticket -= weight;
        }
        let warehouse = self.draw(index, Draw::Warehouse, self.warehouses);
        let district = warehouse * DISTRICTS + self.draw(index, Draw::District, DISTRICTS);
        let lines = LINES_FEWEST + self.draw(index, Draw::Lines, LINES_MOST - LINES_FEWEST + 1);
        let undone = self.happens(index, Draw::Undone, UNDONE_PERCENT);
        Plan { kind, index, warehouse, district, lines, undone }
    }

    /// The customer by number, as in New-Order.
    pub(super) fn customer(&self, plan: &Plan) -> u64 {
        let place = plan.index * DRAWS + Draw::Customer as u64;
        self.customers.draw(self.draws, place)
    }

    /// The customer of Payment and Order-Status.
    pub(super) fn naming(&self, plan: &Plan) -> Naming {
        if !self.happens(plan.index, Draw::ByName, BY_NAME_PERCENT) {
            return Naming::Number(self.customer(plan));
        }
        let place = plan.index * DRAWS + Draw::Customer as u64;
        Naming::LastName(self.names.draw(self.draws, place))
    }

    /// The district of a payment's customer.
    pub(super) fn payer_district(&self, plan: &Plan) -> u64 {
        if !self.happens(plan.index, Draw::Remote, REMOTE_PAYMENT_PERCENT) {
            return plan.district;
        }
        let place = plan.index * DRAWS + Draw::RemoteWarehouse as u64;
        let warehouse = self.other_warehouse(place, plan.warehouse);
        warehouse * DISTRICTS + self.draw(plan.index, Draw::RemoteDistrict, DISTRICTS)
    }

    /// The warehouse that supplies a line of a New-Order.
    pub(super) fn supplier(&self, plan: &Plan, line: u64) -> u64 {
        let place = plan.index * DRAWS + Draw::Line as u64 + 2 * line;
        if self.draws.below(place, 100) >= REMOTE_LINE_PERCENT {
            return plan.warehouse;
        }
        self.other_warehouse(place + 1, plan.warehouse)
    }

    /// Any warehouse but `home`, if there is one.
    fn other_warehouse(&self, place: u64, home: u64) -> u64 {
        if self.warehouses == 1 {
            return home;
        }
        let other = self.draws.below(place, self.warehouses - 1);
        other + u64::from(other >= home)
    }

    /// The item of a line of the order with this row: uniform for the orders of the start (clause
    /// 4.3.3.1), then NURand.
    pub(super) fn item(&self, row: u64, line: u64, start_orders: u64) -> u64 {
        let place = 2 * (row * (LINES_MOST + 1) + line);
        if row < start_orders {
            return self.items.below(place, ITEMS);
        }
        self.stocked.draw(self.items, place)
    }

    /// The item of a line of a New-Order that is rolled back.
    pub(super) fn undone_item(&self, plan: &Plan, line: u64) -> u64 {
        self.stocked.draw(self.undone_items, plan.index * DRAWS + 2 * line)
    }
}

/// NURand (clause 2.1.6): the bitwise "or" of a small and a large number has many bits set, so some
/// numbers are hot. Numbers count from 0 here; in the clause some count from 1.
#[derive(Clone, Debug)]
struct Nurand {
    /// The clause's A + 1.
    span: u64,
    /// The clause's x, the first number of the large one's range.
    first: u64,
    count: u64,
    /// The clause's C, fixed for a load, from 0 to A.
    run: u64,
}

impl Nurand {
    fn new(span: u64, first: u64, count: u64, random: u64) -> Self {
        Self { span, first, count, run: random % span }
    }

    /// Uses the random numbers `place` and `place + 1`.
    fn draw(&self, random: Counter, place: u64) -> u64 {
        let small = random.below(place, self.span);
        let large = self.first + random.below(place + 1, self.count);
        ((small | large) + self.run) % self.count
    }
}

#[cfg(test)]
mod tests {
    use super::super::TpccMix;
    use super::*;

    #[test]
    fn rare_events_have_the_percentages_of_their_clauses() {
        let config = TpccConfig { warehouses: 7, mix: TpccMix::STANDARD, ..Default::default() };
        let constants = Constants::new(&config);
        let (mut undone, mut by_name, mut payer, mut line) = (0, 0, 0, 0);
        let mut suppliers = [0u64; 7];
        let plans = 100_000;
        for plan in (0..plans).map(|index| constants.plan(index)) {
            undone += u64::from(plan.undone);
            by_name += u64::from(matches!(constants.naming(&plan), Naming::LastName(..NAMES)));
            payer += u64::from(constants.payer_district(&plan) / DISTRICTS != plan.warehouse);
            let supplier = constants.supplier(&plan, 14);
            line += u64::from(supplier != plan.warehouse);
            suppliers[supplier as usize] += 1;
            assert!((5..=15).contains(&plan.lines));
        }
        for (what, found, percent) in [
            ("undone", undone, 1u32),
            ("by name", by_name, 60),
            ("remote payer", payer, 15),
            ("remote line", line, 1),
        ] {
            let share = f64::from(percent) / 100.0;
            let tolerance = 6.0 * (plans as f64 * share * (1.0 - share)).sqrt();
            let off = (found as f64 - share * plans as f64).abs();
            assert!(off < tolerance, "{what}: {found} of {plans}, expected {percent}%");
        }
        assert!(suppliers.iter().all(|count| (13_500..15_100).contains(count)), "{suppliers:?}");
    }

    #[test]
    fn one_warehouse_has_no_remote_one() {
        let constants = Constants::new(&TpccConfig::default());
        for plan in (0..2_000).map(|index| constants.plan(index)) {
            assert_eq!(constants.supplier(&plan, 0), 0);
            assert!(constants.payer_district(&plan) < DISTRICTS);
        }
    }

    #[test]
    fn nurand_has_the_skew_of_its_definition() {
        // The exact distribution, by summing over both draws, against the drawn one.
        let (span, count, run) = (64u64, 300u64, 11u64);
        let nurand = Nurand { span, first: 1, count, run };
        let mut expected = vec![0.0; count as usize];
        for small in 0..span {
            for large in 1..=count {
                expected[(((small | large) + run) % count) as usize] += 1.0 / (span * count) as f64;
            }
        }
        let random = Counter::new(3, 0);
        let draws = 300_000u64;
        let mut found = vec![0u64; count as usize];
        for draw in 0..draws {
            found[nurand.draw(random, 2 * draw) as usize] += 1;
        }
        for (value, (&found, &share)) in found.iter().zip(&expected).enumerate() {
            let mean = share * draws as f64;
            let deviation = (mean * (1.0 - share)).sqrt().max(1.0);
            assert!(
                (found as f64 - mean).abs() < 5.0 * deviation,
                "value {value}: {found} draws, expected {mean}"
            );
        }
    }
}
