//! The order book: rows, customers and delivery of all orders.
//!
//! The initial orders follow a rule and take no memory. Orders of the run take 12 bytes each, a
//! customer with an order during the run 20 to 40, a district 56.

use rustc_hash::FxHashMap;

use super::layout::{CUSTOMERS, LINES, ORDERS, UNDELIVERED};

/// A customer's initial order is `customer x STRIDE`, with the inverse `INVERSE` (modulo the number
/// of orders): every customer has one (clause 4.3.3.1).
const STRIDE: u64 = 1_237;
const INVERSE: u64 = 2_173;

const LINES_BITS: u32 = 4;
const CUSTOMER_BITS: u32 = 12;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Order {
    /// Its row among all orders.
    pub row: u64,
    /// Its customer within the district.
    pub customer: u64,
    /// The row of its first line.
    pub lines_first: u64,
    /// Number of lines.
    pub lines: u64,
}

#[derive(Clone, Debug)]
struct District {
    /// For each order of the run, its index among those of all districts.
    sequence: Vec<u32>,
    /// The oldest order that is not delivered.
    undelivered: u64,
}

/// The orders of all districts.
#[derive(Clone, Debug)]
pub(super) struct Book {
    districts: Vec<District>,
    /// First line, customer and number of lines of each order of the run.
    packed: Vec<u64>,
    /// The last order of each customer with an order during the run.
    last: FxHashMap<u64, u64>,
    lines_end: u64,
}

impl Book {
    pub(super) fn new(districts: u64) -> Self {
        let district = District { sequence: Vec::new(), undelivered: UNDELIVERED };
        Self {
            districts: vec![district; districts as usize],
            packed: Vec::new(),
            last: FxHashMap::default(),
            lines_end: districts * ORDERS * LINES,
        }
    }

    /// The number of a district's next order.
    pub(super) fn next(&self, district: u64) -> u64 {
        ORDERS + self.districts[district as usize].sequence.len() as u64
    }

    /// The next order over all districts, with its rows.
    pub(super) fn upcoming(&self, customer: u64, lines: u64) -> Order {
        let row = self.start_orders() + self.packed.len() as u64;
        Order { row, customer, lines_first: self.lines_end, lines }
    }

    /// Enters the order of [`Book::upcoming`].
    pub(super) fn enter(&mut self, district: u64, order: &Order) {
        let number = self.next(district);
        self.last.insert(district * CUSTOMERS + order.customer, number);
        self.districts[district as usize].sequence.push(self.packed.len() as u32);
        let head = order.lines_first << CUSTOMER_BITS | order.customer;
        self.packed.push(head << LINES_BITS | order.lines);
        self.lines_end += order.lines;
    }

    /// The order with this number in a district.
    pub(super) fn order(&self, district: u64, number: u64) -> Order {
        if number < ORDERS {
            let row = district * ORDERS + number;
            let customer = number * INVERSE % ORDERS;
            return Order { row, customer, lines_first: row * LINES, lines: LINES };
        }
        let sequence = self.districts[district as usize].sequence[(number - ORDERS) as usize];
        let packed = self.packed[sequence as usize];
        Order {
            row: self.start_orders() + u64::from(sequence),
            customer: packed >> LINES_BITS & ((1 << CUSTOMER_BITS) - 1),
            lines_first: packed >> (LINES_BITS + CUSTOMER_BITS),
            lines: packed & ((1 << LINES_BITS) - 1),
        }
    }

    /// The number of a customer's latest order.
    pub(super) fn last_of(&self, district: u64, customer: u64) -> u64 {
        let run = self.last.get(&(district * CUSTOMERS + customer));
        run.copied().unwrap_or(customer * STRIDE % ORDERS)
    }

    /// Takes the oldest undelivered order of a district; `None` if all are delivered.
    pub(super) fn deliver(&mut self, district: u64) -> Option<u64> {
        let next = self.next(district);
        let oldest = &mut self.districts[district as usize].undelivered;
        (*oldest < next).then(|| {
            *oldest += 1;
            *oldest - 1
        })
    }

    pub(super) fn start_orders(&self) -> u64 {
        self.districts.len() as u64 * ORDERS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_customer_has_one_order_at_the_start() {
        let book = Book::new(1);
        for customer in 0..CUSTOMERS {
            assert_eq!(book.order(0, book.last_of(0, customer)).customer, customer);
        }
    }

    #[test]
    fn an_entered_order_is_found_again() {
        let mut book = Book::new(3);
        let entered =
            [(1, 17, 15), (2, 2_999, 5), (1, 17, 9)].map(|(district, customer, lines)| {
                let order = book.upcoming(customer, lines);
                book.enter(district, &order);
                order
            });
        assert_eq!(book.order(1, ORDERS), entered[0]);
        assert_eq!(book.order(2, ORDERS), entered[1]);
        assert_eq!(book.order(1, ORDERS + 1), entered[2]);
        assert_eq!((book.last_of(1, 17), book.last_of(2, 2_999)), (ORDERS + 1, ORDERS));
        assert_eq!(entered[1].lines_first, entered[0].lines_first + 15);
    }

    #[test]
    fn deliveries_take_the_oldest_and_stop_at_the_last() {
        let mut book = Book::new(1);
        for expected in UNDELIVERED..ORDERS {
            assert_eq!(book.deliver(0), Some(expected));
        }
        assert_eq!(book.deliver(0), None);
    }
}
