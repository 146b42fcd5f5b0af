//! The page accesses of TPC-C's transactions: a model of the benchmark without its data.
//!
//! Sources: TPC Benchmark C, Standard Specification, revision 5.11 (clauses are cited where they
//! are used), and for the model Leutenegger and Dias, "A modeling study of the TPC-C benchmark",
//! SIGMOD 1993: rows packed whole into pages, ten lines an order at the start, three customers per
//! last name, access skew by NURand.
//!
//! **As in the specification.** The nine tables with their row sizes and numbers of rows (1.2,
//! 4.2.2, 4.3.3); items, customers and last names by NURand (2.1.6); the customer by last name in
//! 60% of Payment and Order-Status; 1% of the lines of a New-Order from a remote warehouse, 15% of
//! the payments for a remote customer, 1% of the New-Orders rolled back at their last item; 5 to 15
//! lines an order; a Delivery takes the oldest undelivered order of each of the ten districts; a
//! Stock-Level reads the lines of a district's last 20 orders and the stock of their items.
//!
//! **Storage**, as in PostgreSQL, which the paper used: tables are heaps with rows in insertion
//! order, so History, Orders, Order-Line and New-Order grow at their end and each has one hot tail
//! page. Each table but History has a B-tree on its primary key; customers have one by name and
//! orders one by customer. A look-up reads the path from the root to the leaf and then the row's
//! page; an insert writes the heap's tail page and the leaf. A page that a transaction reads and
//! then changes is yielded twice, as a read and a write.
//!
//! **Simplified.** (1) An index has its final shape from the start: there are no splits, and inner
//! pages are only read. (2) Updates are in place: no row versions, no vacuum, and the space of a
//! delivered New-Order row is not reused. (3) Pages are full, without headers or free space. (4)
//! Exactly three customers of a district share each last name, and always the same one is the
//! middle one by first name. (5) Warehouse and district of a transaction are uniform; there are no
//! terminals and no think time, and transactions run one after another. (6) A rolled-back New-Order
//! has written its pages, but leaves no rows. (7) No log.

mod book;
mod layout;
mod plan;
mod transactions;

use book::Book;
use cenote_device::setters;
use cenote_workload::page::{PageLoad, PageOp};
use cenote_workload::{Result, WorkloadError};
pub use layout::{Area, Index, Layout, Table};
use layout::{DISTRICTS, ORDERS};
use plan::{Constants, Plan};

/// Most transactions of a load: orders of the run are numbered with 32 bits.
pub const TRANSACTIONS_MAX: u64 = u32::MAX as u64;

/// Most warehouses.
pub const WAREHOUSES_MAX: u64 = 1 << 20;

/// The five transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transaction {
    /// Enters an order of 5 to 15 lines (clause 2.4).
    NewOrder,
    /// Takes a customer's payment (clause 2.5).
    Payment,
    /// Shows a customer's last order (clause 2.6); only reads.
    OrderStatus,
    /// Delivers ten orders (clause 2.7).
    Delivery,
    /// Counts recently sold items that run short (clause 2.8); only reads.
    StockLevel,
}

fn require(
    holds: bool,
    name: &'static str,
    value: impl std::fmt::Debug,
    expected: impl Into<String>,
) -> Result<()> {
    if holds {
        return Ok(());
    }
    let (value, expected) = (format!("{value:?}"), expected.into());
    Err(WorkloadError::Parameter { name, value, expected })
}

impl Transaction {
    /// In the order of the specification.
    pub const ALL: [Self; 5] =
        [Self::NewOrder, Self::Payment, Self::OrderStatus, Self::Delivery, Self::StockLevel];

    /// The name in the specification.
    pub fn name(self) -> &'static str {
        match self {
            Self::NewOrder => "New-Order",
            Self::Payment => "Payment",
            Self::OrderStatus => "Order-Status",
            Self::Delivery => "Delivery",
            Self::StockLevel => "Stock-Level",
        }
    }
}

/// Weights of the transactions, in the order of [`Transaction::ALL`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TpccMix(pub [u32; 5]);

impl TpccMix {
    /// The mix of the paper: 45% New-Order, 43% Payment, 4% of each other.
    pub const STANDARD: Self = Self([45, 43, 4, 4, 4]);

    /// One transaction alone.
    pub fn only(transaction: Transaction) -> Self {
        let mut weights = [0; 5];
        weights[transaction as usize] = 1;
        Self(weights)
    }

    fn name(self) -> String {
        let alone = Transaction::ALL.into_iter().find(|&kind| Self::only(kind) == self);
        match alone {
            Some(kind) => format!("TPC-C {}", kind.name()),
            None => "TPC-C".to_owned(),
        }
    }
}

/// Configuration of a TPC-C load.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TpccConfig {
    /// Warehouses, each with about 85 MiB of rows at the start.
    pub warehouses: u64,
    /// Transactions of the load.
    pub transactions: u64,
    /// Bytes of a page.
    pub page_bytes: u64,
    /// Weights of the transactions.
    pub mix: TpccMix,
    /// Seed of the load.
    pub seed: u64,
}

impl Default for TpccConfig {
    fn default() -> Self {
        let mix = TpccMix::STANDARD;
        Self { warehouses: 1, transactions: 10_000, page_bytes: 4096, mix, seed: 1 }
    }
}

impl TpccConfig {
    setters! { warehouses: u64, transactions: u64, page_bytes: u64, mix: TpccMix, seed: u64 }
}

/// The page accesses of TPC-C. Memory: 12 bytes for each order of the run, 640 for each warehouse,
/// and 20 to 40 for each customer with an order.
#[derive(Clone, Debug)]
pub struct Tpcc {
    config: TpccConfig,
    constants: Constants,
    layout: Layout,
    /// By district, the orders of all districts before it at the end of the load; then all orders.
    orders_before: Vec<u64>,
    book: Book,
    history: u64,
    next: u64,
    /// The current transaction's accesses, and how many of them were yielded.
    accesses: Vec<PageOp>,
    yielded: usize,
    ops: u64,
    ended: bool,
}

impl Tpcc {
    /// Checks the parameters and counts the rows that the load will insert, in a pass over the
    /// transactions of some nanoseconds each.
    pub fn new(config: TpccConfig) -> Result<Self> {
        let TpccConfig { warehouses, transactions, page_bytes, mix, .. } = config;
        let within = (1..=WAREHOUSES_MAX).contains(&warehouses);
        require(within, "warehouses", warehouses, format!("1 to {WAREHOUSES_MAX}"))?;
        let expected = format!("at most {TRANSACTIONS_MAX}");
        require(transactions <= TRANSACTIONS_MAX, "transactions", transactions, expected)?;
        let within = (1024..=1 << 24).contains(&page_bytes);
        require(within, "page-bytes", page_bytes, "1024 (a customer takes 655) to 16777216")?;
        let weight: u64 = mix.0.iter().copied().map(u64::from).sum();
        require(weight > 0, "mix", mix.0, "a weight above 0")?;
        let constants = Constants::new(&config);
        let (rows, orders_before) = rows_at_end(&config, &constants);
        Ok(Self {
            constants,
            layout: Layout::new(rows, page_bytes),
            orders_before,
            book: Book::new(warehouses * DISTRICTS),
            history: Table::History.rows(warehouses),
            next: 0,
            accesses: Vec::new(),
            yielded: 0,
            ops: 0,
            ended: false,
            config,
        })
    }

    /// The layout of the tables and indexes.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The kind of transaction number `index`: a pure function of the parameters and the seed.
    pub fn transaction(&self, index: u64) -> Transaction {
        self.constants.plan(index).kind
    }

    /// The accesses of the next transaction, in order; `None` after the last. It skips the rest of
    /// a transaction that the iterator has begun, so use one or the other.
    pub fn next_transaction(&mut self) -> Option<(Transaction, &[PageOp])> {
        self.fill().map(|kind| {
            self.yielded = self.accesses.len();
            self.ops += self.accesses.len() as u64;
            (kind, self.accesses.as_slice())
        })
    }

    /// Computes the next transaction's accesses.
    fn fill(&mut self) -> Option<Transaction> {
        if self.next == self.config.transactions {
            self.ended = true;
            return None;
        }
        let plan = self.constants.plan(self.next);
        self.next += 1;
        self.accesses.clear();
        self.yielded = 0;
        self.run(&plan);
        Some(plan.kind)
    }
}

/// Rows of each table after the last transaction, and the orders before each district.
fn rows_at_end(config: &TpccConfig, constants: &Constants) -> ([u64; 9], Vec<u64>) {
    let districts = config.warehouses * DISTRICTS;
    let mut rows = Table::ALL.map(|table| table.rows(config.warehouses));
    let mut orders = vec![ORDERS; districts as usize];
    for index in 0..config.transactions {
        let Plan { kind, district, lines, undone, .. } = constants.plan(index);
        match kind {
            Transaction::NewOrder if !undone => {
                orders[district as usize] += 1;
                rows[Table::Orders as usize] += 1;
                rows[Table::NewOrder as usize] += 1;
                rows[Table::OrderLine as usize] += lines;
            }
            Transaction::Payment => rows[Table::History as usize] += 1,
            _ => {}
        }
    }
    // Room for a last order that is rolled back: one for each district, and fifteen lines.
    orders.iter_mut().for_each(|orders| *orders += 1);
    rows[Table::Orders as usize] += districts;
    rows[Table::NewOrder as usize] += districts;
    rows[Table::OrderLine as usize] += plan::LINES_MOST;
    let mut before = vec![0];
    let mut sum = 0;
    before.extend(orders.into_iter().map(|orders| {
        sum += orders;
        sum
    }));
    (rows, before)
}

impl Iterator for Tpcc {
    type Item = Result<PageOp>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.yielded == self.accesses.len() {
            self.fill()?;
        }
        let op = self.accesses[self.yielded];
        self.yielded += 1;
        self.ops += 1;
        Some(Ok(op))
    }
}

impl PageLoad for Tpcc {
    fn name(&self) -> String {
        self.config.mix.name()
    }

    fn pages(&self) -> Option<u64> {
        Some(self.layout.pages())
    }

    /// Known at the end of the load.
    fn ops(&self) -> Option<u64> {
        self.ended.then_some(self.ops)
    }
}
