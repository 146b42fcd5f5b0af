//! The layout of TPC-C's tables and indexes in the file.
//!
//! First the nine tables as heaps, then the indexes, each contiguous with its size at the end of
//! the load.

/// Districts of a warehouse (clause 1.2.1).
pub(super) const DISTRICTS: u64 = 10;
/// Customers of a district.
pub(super) const CUSTOMERS: u64 = 3_000;
/// Items, which all warehouses stock.
pub(super) const ITEMS: u64 = 100_000;
/// Orders of a district at the start.
pub(super) const ORDERS: u64 = 3_000;
/// The first order of a district that is not delivered at the start (clause 4.3.3.1).
pub(super) const UNDELIVERED: u64 = 2_100;
/// Lines of an order: exactly at the start, and on average (of 5 to 15) later.
pub(super) const LINES: u64 = 10;
/// Last names (clause 4.3.2.3).
pub(super) const NAMES: u64 = 1_000;

/// Bytes of an entry of an index on numbers: a key of up to four numbers and a pointer.
const ENTRY_BYTES: u64 = 24;
/// Bytes of an entry of the index on names: warehouse, district, last and first name, a pointer.
const NAME_ENTRY_BYTES: u64 = 48;

/// The nine tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Table {
    /// A row for each warehouse: its tax and its sum of payments.
    Warehouse,
    /// Ten of a warehouse: tax, payments, the next order's number.
    District,
    /// 3,000 of a district.
    Customer,
    /// A row for each payment. Grows.
    History,
    /// Orders not yet delivered. Grows at the end, shrinks at the front.
    NewOrder,
    /// All orders. Grows.
    Orders,
    /// 5 to 15 of an order. Grows.
    OrderLine,
    /// 100,000 for all warehouses. Never written.
    Item,
    /// 100,000 of a warehouse.
    Stock,
}

impl Table {
    /// In the order of the file.
    pub const ALL: [Self; 9] = [
        Self::Warehouse,
        Self::District,
        Self::Customer,
        Self::History,
        Self::NewOrder,
        Self::Orders,
        Self::OrderLine,
        Self::Item,
        Self::Stock,
    ];

    /// Bytes of a row (clause 4.2.2's table of typical sizes).
    pub const fn row_bytes(self) -> u64 {
        match self {
            Self::Warehouse => 89,
            Self::District => 95,
            Self::Customer => 655,
            Self::History => 46,
            Self::NewOrder => 8,
            Self::Orders => 24,
            Self::OrderLine => 54,
            Self::Item => 82,
            Self::Stock => 306,
        }
    }

    /// Rows at the start (clause 1.2.1), with ten lines for every order.
    pub const fn rows(self, warehouses: u64) -> u64 {
        let districts = warehouses * DISTRICTS;
        match self {
            Self::Warehouse => warehouses,
            Self::District => districts,
            Self::Customer | Self::History => districts * CUSTOMERS,
            Self::NewOrder => districts * (ORDERS - UNDELIVERED),
            Self::Orders => districts * ORDERS,
            Self::OrderLine => districts * ORDERS * LINES,
            Self::Item => ITEMS,
            Self::Stock => warehouses * ITEMS,
        }
    }
}

/// The indexes. History has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Index {
    /// By warehouse.
    Warehouse,
    /// By warehouse and district.
    District,
    /// By warehouse, district and number.
    Customer,
    /// By warehouse, district, last name and first name.
    CustomerName,
    /// By warehouse, district and order.
    NewOrder,
    /// By warehouse, district and order.
    Orders,
    /// By warehouse, district, customer and order.
    OrdersCustomer,
    /// By warehouse, district, order and line.
    OrderLine,
    /// By number.
    Item,
    /// By warehouse and item.
    Stock,
}

impl Index {
    /// In the order of the file.
    pub const ALL: [Self; 10] = [
        Self::Warehouse,
        Self::District,
        Self::Customer,
        Self::CustomerName,
        Self::NewOrder,
        Self::Orders,
        Self::OrdersCustomer,
        Self::OrderLine,
        Self::Item,
        Self::Stock,
    ];
}

/// The table or index of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Area {
    /// Rows of a table.
    Rows(Table),
    /// A page of an index, `height` levels above the leaves.
    Index {
        /// The index.
        index: Index,
        /// 0 for a leaf.
        height: usize,
    },
}

/// A table's rows, packed in the order of their insertion.
#[derive(Clone, Debug)]
struct Heap {
    first: u64,
    pages: u64,
    rows_per_page: u64,
}

/// A B-tree with full pages, in its shape at the end of the load.
#[derive(Clone, Debug)]
struct Tree {
    first: u64,
    leaf_entries: u64,
    /// Children of an inner page.
    fanout: u64,
    /// Number of pages and first page of each level, from the leaves to the root.
    levels: Vec<(u64, u64)>,
    pages: u64,
}

impl Tree {
    fn new(first: u64, entries: u64, leaf_entries: u64, fanout: u64) -> Self {
        let mut counts = vec![entries.div_ceil(leaf_entries).max(1)];
        while let Some(&below) = counts.last().filter(|&&below| below > 1) {
            counts.push(below.div_ceil(fanout));
        }
        let pages = counts.iter().sum();
        let mut start = first + pages;
        let levels = counts
            .into_iter()
            .map(|count| {
                start -= count;
                (count, start)
            })
            .collect();
        Self { first, leaf_entries, fanout, levels, pages }
    }
}

/// All pages of the database.
#[derive(Clone, Debug)]
pub struct Layout {
    heaps: Vec<Heap>,
    trees: Vec<Tree>,
    pages: u64,
}

impl Layout {
    /// The layout for `rows` at the end of the load, in the order of [`Table::ALL`].
    pub(super) fn new(rows: [u64; 9], page_bytes: u64) -> Self {
        let mut pages = 0;
        let mut heaps = Vec::new();
        for (table, rows) in Table::ALL.into_iter().zip(rows) {
            let rows_per_page = page_bytes / table.row_bytes();
            let heap = Heap { first: pages, pages: rows.div_ceil(rows_per_page), rows_per_page };
            pages += heap.pages;
            heaps.push(heap);
        }
        let mut trees = Vec::new();
        for index in Index::ALL {
            let (table, bytes) = match index {
                Index::Warehouse => (Table::Warehouse, ENTRY_BYTES),
                Index::District => (Table::District, ENTRY_BYTES),
                Index::Customer => (Table::Customer, ENTRY_BYTES),
                Index::CustomerName => (Table::Customer, NAME_ENTRY_BYTES),
                Index::NewOrder => (Table::NewOrder, ENTRY_BYTES),
                Index::Orders | Index::OrdersCustomer => (Table::Orders, ENTRY_BYTES),
                // Room for the average number of lines of every order, since positions use it.
                Index::OrderLine => (Table::Orders, ENTRY_BYTES * LINES),
                Index::Item => (Table::Item, ENTRY_BYTES),
                Index::Stock => (Table::Stock, ENTRY_BYTES),
            };
            let tree = Tree::new(
                pages,
                rows[table as usize],
                page_bytes / bytes,
                page_bytes / ENTRY_BYTES,
            );
            pages += tree.pages;
            trees.push(tree);
        }
        Self { heaps, trees, pages }
    }

    /// Pages of all tables and indexes.
    pub fn pages(&self) -> u64 {
        self.pages
    }

    /// Pages of a table, without its indexes.
    pub fn table_pages(&self, table: Table) -> u64 {
        self.heaps[table as usize].pages
    }

    /// Levels of an index, leaves included.
    pub fn levels(&self, index: Index) -> usize {
        self.trees[index as usize].levels.len()
    }

    /// The table or index of `page`; `None` beyond the end.
    pub fn area(&self, page: u64) -> Option<Area> {
        for (heap, table) in self.heaps.iter().zip(Table::ALL) {
            if (heap.first..heap.first + heap.pages).contains(&page) {
                return Some(Area::Rows(table));
            }
        }
        let lies = |tree: &&Tree| (tree.first..tree.first + tree.pages).contains(&page);
        let place = self.trees.iter().position(|tree| lies(&tree))?;
        let height = self.trees[place].levels.iter().position(|&(_, start)| page >= start)?;
        Some(Area::Index { index: Index::ALL[place], height })
    }

    pub(super) fn row(&self, table: Table, row: u64) -> u64 {
        let heap = &self.heaps[table as usize];
        debug_assert!(row / heap.rows_per_page < heap.pages, "{table:?} has no row {row}");
        heap.first + row / heap.rows_per_page
    }

    /// The leaf of the entry at `position` in the order of the keys.
    pub(super) fn leaf(&self, index: Index, position: u64) -> u64 {
        let tree = &self.trees[index as usize];
        let (count, start) = tree.levels[0];
        debug_assert!(position / tree.leaf_entries < count, "{index:?} has no entry {position}");
        start + position / tree.leaf_entries
    }

    /// The pages from the root to just above the leaf of the entry at `position`.
    pub(super) fn inner(&self, index: Index, position: u64) -> impl Iterator<Item = u64> {
        let tree = &self.trees[index as usize];
        let leaf = position / tree.leaf_entries;
        (1..tree.levels.len())
            .rev()
            .map(move |height| tree.levels[height].1 + leaf / tree.fanout.pow(height as u32))
    }
}
