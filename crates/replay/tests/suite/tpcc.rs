//! What the TPC-C page load must look like.

use std::collections::HashMap;

use cenote_replay::load::tpcc::{
    Area, Index, Table, Tpcc, TpccConfig, TpccMix, Transaction, WAREHOUSES_MAX,
};
use cenote_workload::page::{PageLoad, PageOp};

fn load(warehouses: u64, transactions: u64, mix: TpccMix) -> Tpcc {
    let config = TpccConfig::default().warehouses(warehouses).transactions(transactions).mix(mix);
    Tpcc::new(config).expect("valid")
}

fn area(load: &Tpcc, op: PageOp) -> Area {
    load.layout().area(op.page).unwrap_or_else(|| panic!("{op:?} lies beyond the file"))
}

/// Every access of a load with its transaction and area.
fn all(mut load: Tpcc) -> Vec<(Transaction, Vec<(PageOp, Area)>)> {
    let mut transactions = Vec::new();
    while let Some((kind, ops)) = load.next_transaction() {
        let ops = ops.to_vec();
        let ops = ops.into_iter().map(|op| (op, area(&load, op))).collect();
        transactions.push((kind, ops));
    }
    transactions
}

#[test]
fn a_page_holds_the_rows_that_leutenegger_and_dias_count() {
    // SIGMOD 1993, table 1: rows in a page of 4 KiB.
    for (table, rows) in [
        (Table::Warehouse, 46),
        (Table::District, 43),
        (Table::Customer, 6),
        (Table::Stock, 13),
        (Table::Item, 49),
        (Table::Orders, 170),
        (Table::NewOrder, 512),
        (Table::OrderLine, 75),
        (Table::History, 89),
    ] {
        assert_eq!(4096 / table.row_bytes(), rows, "{table:?}");
        let pages = load(3, 0, TpccMix::STANDARD).layout().table_pages(table);
        let least = table.rows(3).div_ceil(rows);
        // A spare order for each district may need a page more.
        assert!((least..=least + 1).contains(&pages), "{table:?}: {pages} pages, not {least}");
    }
}

#[test]
fn tables_have_the_rows_of_the_specification() {
    let rows = Table::ALL.map(|table| table.rows(7));
    assert_eq!(
        rows,
        [7, 70, 210_000, 210_000, 63_000, 210_000, 2_100_000, 100_000, 700_000],
        "warehouse, district, customer, history, new-order, orders, order-line, item, stock"
    );
}

#[test]
fn transactions_come_at_their_shares_and_alone_when_asked() {
    let standard = load(2, 50_000, TpccMix::STANDARD);
    let mut counts = [0u32; 5];
    (0..50_000).for_each(|index| counts[standard.transaction(index) as usize] += 1);
    for (kind, percent) in Transaction::ALL.into_iter().zip([45.0, 43.0, 4.0, 4.0, 4.0]) {
        let mean = 500.0 * percent;
        let tolerance = 6.0 * f64::sqrt(mean * (1.0 - percent / 100.0));
        let found = f64::from(counts[kind as usize]);
        assert!((found - mean).abs() < tolerance, "{}: {found}, not {mean}", kind.name());
    }
    for kind in Transaction::ALL {
        let alone = load(1, 50, TpccMix::only(kind));
        assert_eq!(alone.name(), format!("TPC-C {}", kind.name()));
        let reads_only = matches!(kind, Transaction::OrderStatus | Transaction::StockLevel);
        for (found, ops) in all(alone) {
            assert_eq!(found, kind);
            assert!(!ops.is_empty());
            assert_eq!(ops.iter().any(|(op, _)| op.write), !reads_only, "{}", kind.name());
        }
    }
}

#[test]
fn the_iterator_and_the_transactions_yield_the_same() {
    let mut by_op = load(2, 300, TpccMix::STANDARD);
    let mut by_transaction = load(2, 300, TpccMix::STANDARD);
    let ops: Vec<PageOp> = by_op.by_ref().map(|op| op.expect("no errors")).collect();
    let mut joined = Vec::new();
    while let Some((_, ops)) = by_transaction.next_transaction() {
        joined.extend_from_slice(ops);
    }
    assert_eq!(ops, joined);
    assert_eq!(by_op.ops(), Some(ops.len() as u64));
    assert_eq!(by_transaction.ops(), by_op.ops());
    assert_eq!(load(2, 300, TpccMix::STANDARD).ops(), None, "not known before the end");
    assert!(by_op.next().is_none());
    let other = TpccConfig::default().warehouses(2).transactions(300).seed(2);
    let other: Vec<PageOp> =
        Tpcc::new(other).expect("valid").map(|op| op.expect("no errors")).collect();
    assert_ne!(ops, other);
}

#[test]
fn a_load_is_the_same_forever() {
    let ops: Vec<PageOp> =
        load(1, 500, TpccMix::STANDARD).map(|op| op.expect("no errors")).collect();
    let hash = ops.iter().fold(0u64, |hash, op| {
        hash.wrapping_mul(0x100_0000_01B3) ^ (op.page << 1 | u64::from(op.write))
    });
    assert_eq!(
        (ops.len(), hash),
        (61_528, 6_404_582_264_799_855_138),
        "the load of a seed changed"
    );
}

#[test]
fn every_access_lies_in_the_file_for_any_size() {
    for page_bytes in [1024, 4096, 8192, 65_536, 1 << 24] {
        for warehouses in [1, 2, 5] {
            let config = TpccConfig::default()
                .warehouses(warehouses)
                .transactions(2_000)
                .page_bytes(page_bytes);
            let mut load = Tpcc::new(config).expect("valid");
            let pages = load.pages().expect("known");
            let highest = load.by_ref().map(|op| op.expect("no errors").page).max();
            assert!(highest.expect("not empty") < pages, "{page_bytes} {warehouses}");
        }
    }
}

#[test]
fn inner_pages_are_hot_and_only_read() {
    let load = load(4, 2_000, TpccMix::STANDARD);
    let layout = load.layout().clone();
    let mut heat: HashMap<u64, u64> = HashMap::new();
    let mut inner = HashMap::new();
    for (op, area) in all(load).into_iter().flat_map(|(_, ops)| ops) {
        *heat.entry(op.page).or_default() += 1;
        if let Area::Index { index, height: 1.. } = area {
            assert!(!op.write, "{index:?}: an inner page is written");
            inner.insert(op.page, index);
        }
    }
    let mean = |pages: Vec<u64>| pages.iter().sum::<u64>() as f64 / pages.len() as f64;
    let hot =
        mean(heat.iter().filter(|(page, _)| inner.contains_key(page)).map(|p| *p.1).collect());
    let rest =
        mean(heat.iter().filter(|(page, _)| !inner.contains_key(page)).map(|p| *p.1).collect());
    assert!(hot > 10.0 * rest, "inner pages {hot} accesses each, others {rest}");
    // 400,000 rows of stock: 2,353 leaves under 14 pages under a root.
    assert_eq!(layout.levels(Index::Stock), 3);
    assert_eq!(layout.levels(Index::Warehouse), 1);
}

#[test]
fn a_look_up_walks_from_the_root_to_the_leaf() {
    let load = load(20, 500, TpccMix::STANDARD);
    let layout = load.layout().clone();
    for (kind, ops) in all(load) {
        for pair in ops.windows(2) {
            let [(_, before), (op, area)] = pair else { unreachable!("windows of two") };
            if let Area::Index { index, height: height @ 1.. } = *before {
                let next = Area::Index { index, height: height - 1 };
                assert_eq!(*area, next, "{}: {op:?} leaves the path", kind.name());
            }
            if let Area::Index { index, height: 1.. } = *area {
                let above = matches!(*before, Area::Index { index: same, height } if same == index
                    && area != before && height > 0);
                let at_root = *area == Area::Index { index, height: layout.levels(index) - 1 };
                assert!(above || at_root, "{}: {op:?} skips the root", kind.name());
            }
        }
    }
}

#[test]
fn inserts_append() {
    let load = load(2, 3_000, TpccMix([1, 1, 0, 0, 0]));
    let start = load.layout().clone();
    let mut tails: HashMap<Table, Vec<u64>> = HashMap::new();
    for (op, area) in all(load).into_iter().flat_map(|(_, ops)| ops) {
        if let (true, Area::Rows(table)) = (op.write, area) {
            tails.entry(table).or_default().push(op.page);
        }
    }
    for table in [Table::History, Table::Orders, Table::OrderLine, Table::NewOrder] {
        let pages = &tails[&table];
        // A rolled-back order leaves no rows: the next one begins where it did.
        let back = if table == Table::OrderLine { 1 } else { 0 };
        assert!(pages.is_sorted_by(|a, b| *b + back >= *a), "{table:?} goes back");
        assert!(pages.last() > pages.first(), "{table:?} does not grow");
        assert_eq!(start.area(pages[0]), Some(Area::Rows(table)));
    }
}

#[test]
fn deliveries_take_the_oldest_orders_until_none_is_left() {
    // 900 undelivered orders in each of ten districts: the 901st delivery finds nothing.
    let transactions = all(load(1, 901, TpccMix::only(Transaction::Delivery)));
    let written = |ops: &[(PageOp, Area)], table| {
        let area = Area::Rows(table);
        ops.iter().filter(|(op, found)| op.write && *found == area).map(|(op, _)| op.page).collect()
    };
    let mut before: Vec<u64> = Vec::new();
    for (_, ops) in &transactions[..900] {
        let pages: Vec<u64> = written(ops, Table::NewOrder);
        assert_eq!(pages.len(), 10);
        assert!(before.iter().zip(&pages).all(|(old, new)| old <= new), "an older order is left");
        let customers: Vec<u64> = written(ops, Table::Customer);
        assert_eq!(customers.len(), 10);
        before = pages;
    }
    assert!(transactions[900].1.iter().all(|(op, _)| !op.write), "delivered an order twice");
}

#[test]
fn a_stock_level_reads_the_lines_of_twenty_orders_and_their_stock() {
    for (_, ops) in all(load(1, 100, TpccMix::only(Transaction::StockLevel))) {
        let count = |wanted| ops.iter().filter(|(_, area)| *area == wanted).count();
        // 20 orders of 10 lines at the start, 75 lines a page: three or four pages, most twice
        // or more, and 200 items of which few are the same.
        assert!((20..=40).contains(&count(Area::Rows(Table::OrderLine))));
        assert!((190..=200).contains(&count(Area::Rows(Table::Stock))));
    }
}

#[test]
fn items_and_customers_are_as_skewed_as_nurand_makes_them() {
    let mut stock: HashMap<u64, u64> = HashMap::new();
    let load = load(1, 20_000, TpccMix::only(Transaction::NewOrder));
    let fifth = load.layout().table_pages(Table::Stock) as usize / 5;
    for (_, ops) in all(load) {
        for (op, area) in ops {
            if op.write && area == Area::Rows(Table::Stock) {
                *stock.entry(op.page).or_default() += 1;
            }
        }
    }
    let mut heat: Vec<u64> = stock.into_values().collect();
    heat.sort_unstable_by(|a, b| b.cmp(a));
    let (all, hot) = (heat.iter().sum::<u64>(), heat[..fifth].iter().sum::<u64>());
    // Summed over both numbers that NURand draws, with 13 rows a page: 75.4%. Picking the hottest
    // pages of a sample favours those that were lucky.
    let share = hot as f64 / all as f64;
    assert!((0.75..0.78).contains(&share), "the hottest fifth takes {share}");
    assert!((9.5..10.5).contains(&(all as f64 / 20_000.0)), "lines an order: {all}");
}

#[test]
fn impossible_parameters_are_errors_that_name_them() {
    let config = TpccConfig::default;
    for (name, config) in [
        ("warehouses", config().warehouses(0)),
        ("warehouses", config().warehouses(WAREHOUSES_MAX + 1)),
        ("transactions", config().transactions(u64::MAX)),
        ("page-bytes", config().page_bytes(512)),
        ("mix", config().mix(TpccMix([0; 5]))),
    ] {
        let message = Tpcc::new(config).expect_err(name).to_string();
        assert!(message.starts_with(name) && message.contains("expected"), "{message}");
    }
}

#[test]
fn a_load_moves_between_threads_as_any_other() {
    let config = TpccConfig::default().transactions(1);
    let load: Box<dyn PageLoad + Send> = Box::new(Tpcc::new(config).expect("valid"));
    let name = std::thread::spawn(move || load.name()).join().expect("no panic");
    assert_eq!(name, "TPC-C");
}
