//! The five transactions: their page accesses, in order.

use super::book::Order;
use super::layout::{CUSTOMERS, DISTRICTS, ITEMS, LINES, NAMES, ORDERS, UNDELIVERED};
use super::plan::{Naming, Plan};
use super::{Index, Table, Tpcc, Transaction};
use cenote_workload::page::PageOp;

/// Orders that a Stock-Level reads (clause 2.8.2.2).
const RECENT_ORDERS: u64 = 20;

/// Customers of a district that share a last name.
const NAMESAKES: u64 = CUSTOMERS / NAMES;

impl Tpcc {
    pub(super) fn run(&mut self, plan: &Plan) {
        match plan.kind {
            Transaction::NewOrder => self.new_order(plan),
            Transaction::Payment => self.payment(plan),
            Transaction::OrderStatus => self.order_status(plan),
            Transaction::Delivery => self.delivery(plan),
            Transaction::StockLevel => self.stock_level(plan),
        }
    }

    /// Clause 2.4.2.2.
    fn new_order(&mut self, plan: &Plan) {
        let Plan { warehouse, district, lines, undone, .. } = *plan;
        let customer = self.constants.customer(plan);
        self.find(Table::Warehouse, Index::Warehouse, warehouse);
        self.change(Table::District, Index::District, district);
        self.find(Table::Customer, Index::Customer, district * CUSTOMERS + customer);
        let order = self.book.upcoming(customer, lines);
        let number = self.book.next(district);
        self.insert_order(district, number, &order);
        for line in 0..lines {
            let item = if undone {
                self.constants.undone_item(plan, line)
            } else {
                self.constants.item(order.row, line, self.book.start_orders())
            };
            if undone && line == lines - 1 {
                // The item does not exist, so only the index is read.
                self.descend(Index::Item, item);
                return;
            }
            self.find(Table::Item, Index::Item, item);
            let supplier = self.constants.supplier(plan, line);
            self.change(Table::Stock, Index::Stock, supplier * ITEMS + item);
            self.write_row(Table::OrderLine, order.lines_first + line);
            self.insert_entry(Index::OrderLine, self.key(district, number));
        }
        self.book.enter(district, &order);
    }

    /// The rows of a new order in Orders and New-Order.
    fn insert_order(&mut self, district: u64, number: u64, order: &Order) {
        self.write_row(Table::Orders, order.row);
        self.insert_entry(Index::Orders, self.key(district, number));
        self.insert_entry(Index::OrdersCustomer, self.customer_key(district, order.customer));
        self.write_row(Table::NewOrder, self.new_order_row(district, number, order));
        self.insert_entry(Index::NewOrder, self.new_order_key(district, number));
    }

    /// Clause 2.5.2.2.
    fn payment(&mut self, plan: &Plan) {
        self.change(Table::Warehouse, Index::Warehouse, plan.warehouse);
        self.change(Table::District, Index::District, plan.district);
        let payer_district = self.constants.payer_district(plan);
        let customer = self.find_customer(payer_district, self.constants.naming(plan));
        self.write_row(Table::Customer, payer_district * CUSTOMERS + customer);
        self.write_row(Table::History, self.history);
        self.history += 1;
    }

    /// Clause 2.6.2.2.
    fn order_status(&mut self, plan: &Plan) {
        let district = plan.district;
        let customer = self.find_customer(district, self.constants.naming(plan));
        self.descend(Index::OrdersCustomer, self.customer_key(district, customer));
        let number = self.book.last_of(district, customer);
        let order = self.book.order(district, number);
        self.read_row(Table::Orders, order.row);
        self.descend(Index::OrderLine, self.key(district, number));
        self.touch_lines(&order, false);
    }

    /// Clause 2.7.4.2.
    fn delivery(&mut self, plan: &Plan) {
        for district in plan.warehouse * DISTRICTS..(plan.warehouse + 1) * DISTRICTS {
            let Some(number) = self.book.deliver(district) else {
                // All are delivered: the look-up at the end of the district finds none.
                self.descend(
                    Index::NewOrder,
                    self.new_order_key(district, self.book.next(district)),
                );
                continue;
            };
            let order = self.book.order(district, number);
            let entry = self.new_order_key(district, number);
            self.descend(Index::NewOrder, entry);
            let row = self.new_order_row(district, number, &order);
            self.read_row(Table::NewOrder, row);
            self.write_row(Table::NewOrder, row);
            self.accesses.push(PageOp::write(self.layout.leaf(Index::NewOrder, entry)));
            self.descend(Index::Orders, self.key(district, number));
            self.read_row(Table::Orders, order.row);
            self.write_row(Table::Orders, order.row);
            self.descend(Index::OrderLine, self.key(district, number));
            self.touch_lines(&order, true);
            self.change(Table::Customer, Index::Customer, district * CUSTOMERS + order.customer);
        }
    }

    /// Clause 2.8.2.2.
    fn stock_level(&mut self, plan: &Plan) {
        self.find(Table::District, Index::District, plan.district);
        let end = self.book.next(plan.district);
        let recent = end - RECENT_ORDERS..end;
        self.descend(Index::OrderLine, self.key(plan.district, recent.start));
        let mut items = Vec::with_capacity(RECENT_ORDERS as usize * LINES as usize);
        let mut leaf = self.layout.leaf(Index::OrderLine, self.key(plan.district, recent.start));
        for number in recent {
            let next = self.layout.leaf(Index::OrderLine, self.key(plan.district, number));
            if next != leaf {
                self.accesses.push(PageOp::read(next));
                leaf = next;
            }
            let order = self.book.order(plan.district, number);
            self.touch_lines(&order, false);
            let start_orders = self.book.start_orders();
            items.extend(
                (0..order.lines).map(|line| self.constants.item(order.row, line, start_orders)),
            );
        }
        // Each item once, in the order of the index, as a join of sorted inputs would.
        items.sort_unstable();
        items.dedup();
        for item in items {
            self.find(Table::Stock, Index::Stock, plan.warehouse * ITEMS + item);
        }
    }

    /// Finds a customer by number or name; returns the number within the district.
    fn find_customer(&mut self, district: u64, naming: Naming) -> u64 {
        let name = match naming {
            Naming::Number(customer) => {
                self.find(Table::Customer, Index::Customer, district * CUSTOMERS + customer);
                return customer;
            }
            Naming::LastName(name) => name,
        };
        let entry = district * CUSTOMERS + name * NAMESAKES;
        self.descend(Index::CustomerName, entry);
        let leaf = self.layout.leaf(Index::CustomerName, entry);
        let last_leaf = self.layout.leaf(Index::CustomerName, entry + NAMESAKES - 1);
        if last_leaf != leaf {
            self.accesses.push(PageOp::read(last_leaf));
        }
        for namesake in 0..NAMESAKES {
            self.read_row(Table::Customer, district * CUSTOMERS + name + namesake * NAMES);
        }
        // By first name, any of the three may be the middle one, but always the same.
        name + (name + district) % NAMESAKES * NAMES
    }

    /// Reads an index from the root to the leaf, and the row's page.
    fn find(&mut self, table: Table, index: Index, row: u64) {
        self.descend(index, row);
        self.read_row(table, row);
    }

    /// Finds a row and changes it in place.
    fn change(&mut self, table: Table, index: Index, row: u64) {
        self.find(table, index, row);
        self.write_row(table, row);
    }

    /// Reads an index from the root to the leaf.
    fn descend(&mut self, index: Index, position: u64) {
        self.accesses.extend(self.layout.inner(index, position).map(PageOp::read));
        self.accesses.push(PageOp::read(self.layout.leaf(index, position)));
    }

    /// Reads an index from the root to above the leaf, and writes the leaf.
    fn insert_entry(&mut self, index: Index, position: u64) {
        self.accesses.extend(self.layout.inner(index, position).map(PageOp::read));
        self.accesses.push(PageOp::write(self.layout.leaf(index, position)));
    }

    /// The pages of an order's lines, each once.
    fn touch_lines(&mut self, order: &Order, write: bool) {
        let first = self.layout.row(Table::OrderLine, order.lines_first);
        let last = self.layout.row(Table::OrderLine, order.lines_first + order.lines - 1);
        for page in first..=last {
            self.accesses.push(PageOp::read(page));
            if write {
                self.accesses.push(PageOp::write(page));
            }
        }
    }

    fn read_row(&mut self, table: Table, row: u64) {
        self.accesses.push(PageOp::read(self.layout.row(table, row)));
    }

    fn write_row(&mut self, table: Table, row: u64) {
        self.accesses.push(PageOp::write(self.layout.row(table, row)));
    }

    /// The position of an order in the indexes by district and order.
    fn key(&self, district: u64, number: u64) -> u64 {
        self.orders_before[district as usize] + number
    }

    /// The position of a customer's orders in the index by customer: each customer has an equal
    /// part of the district's.
    fn customer_key(&self, district: u64, customer: u64) -> u64 {
        let before = self.orders_before[district as usize];
        before + customer * (self.orders_before[district as usize + 1] - before) / CUSTOMERS
    }

    /// The position in the index of New-Order, which lacks the orders delivered at the start.
    fn new_order_key(&self, district: u64, number: u64) -> u64 {
        self.key(district, number) - (district + 1) * UNDELIVERED
    }

    /// The row in New-Order: the initial rows by district, then those of the run.
    fn new_order_row(&self, district: u64, number: u64, order: &Order) -> u64 {
        let start = ORDERS - UNDELIVERED;
        if number < ORDERS {
            return district * start + number - UNDELIVERED;
        }
        order.row - self.book.start_orders() * UNDELIVERED / ORDERS
    }
}
