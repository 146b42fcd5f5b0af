//! Damage to pages of weights: `check` names the page, look-ups end with an error, and nothing
//! panics; with wrong checksums, and with right ones that hide impossible weights.

use std::ops::Range;

use crate::graphs::{MemoryDevice, Random};
use cenote_store::format::{HEADER_BYTES, SLOTS};
use cenote_store::header::PageHeader;
use cenote_store::{
    Codec, Counts, Direction, Graph, GraphSpec, GraphWriter, IdsSource, StoreError, Weight,
    WeightType, check_device,
};

const PAGE: usize = 4096;
const SALT: u64 = 7;

/// A directed graph with a list that runs over pages, weights from 1/4 to 250, and the pages where
/// they lie.
fn stored(kind: WeightType) -> (MemoryDevice, Range<usize>) {
    let mut random = Random(3);
    let mut lists: Vec<Vec<u32>> = vec![Vec::new(); 2700];
    for list in &mut lists[..300] {
        list.extend((0..2700).filter(|_| random.below(500) == 0));
    }
    lists[7] = (0..2700).collect();
    let weight = |number: u64| match kind {
        WeightType::F32 => Weight::F32(number as f32 / 4.0),
        WeightType::F64 => Weight::F64(number as f64 / 4.0),
        WeightType::U32 => Weight::U32(number as u32),
        WeightType::I64 => Weight::I64(number as i64),
    };
    let device = MemoryDevice::with_bytes(Vec::new());
    let scratch = MemoryDevice::with_bytes(Vec::new());
    let spec = GraphSpec {
        page_bytes: PAGE,
        vertices: lists.len() as u64,
        directed: true,
        in_edges: false,
        duplicates_kept: false,
        self_loops_kept: true,
        salt: SALT,
    };
    let format = (Codec::Raw, kind);
    let mut writer =
        GraphWriter::create_weighted(device.shared(), spec, format, scratch.shared()).unwrap();
    for list in &lists {
        writer.push_list(list).unwrap();
        let weights: Vec<Weight> = list.iter().map(|_| weight(1 + random.below(1000))).collect();
        writer.extend_weights(&weights).unwrap();
    }
    let edges = lists.iter().map(|list| list.len() as u64).sum();
    writer.finish(IdsSource::Dense, Counts { edges, duplicates: 0, self_loops: 0 }).unwrap();
    let graph = Graph::open(device.shared()).unwrap();
    let column = graph.weights(Direction::Out).unwrap();
    let first = column.first_page() as usize;
    (device, first..first + column.pages() as usize)
}

/// All weights, by look-ups.
fn read_all(device: &MemoryDevice) -> Result<Vec<Weight>, StoreError> {
    let graph = Graph::open(device.shared())?;
    let mut all = Vec::new();
    for vertex in 0..graph.vertices() as u32 {
        graph.read_weights(Direction::Out, vertex, &mut all)?;
    }
    Ok(all)
}

fn pages_at_fault(device: &MemoryDevice) -> Vec<Option<u64>> {
    let report = check_device(device.shared(), &mut |_, _| true).unwrap();
    report.faults.iter().map(|fault| fault.page).collect()
}

#[test]
fn a_flipped_bit_in_any_page_of_weights_names_the_page() {
    for (_, kind) in WeightType::NAMES {
        let (device, pages) = stored(kind);
        assert!(pages.len() > 2, "{pages:?}");
        let whole = read_all(&device).unwrap();
        assert_eq!(pages_at_fault(&device), []);
        let mut random = Random(kind as u64);
        for page in pages {
            for _ in 0..60 {
                let (byte, bit) =
                    (page * PAGE + random.below(PAGE as u64) as usize, random.below(8));
                let flip = || device.change(|bytes| bytes[byte] ^= 1 << bit);
                flip();
                let error = read_all(&device).expect_err("a flipped bit").to_string();
                assert!(error.contains(&format!("page {page}")), "byte {byte}: {error}");
                assert!(pages_at_fault(&device).contains(&Some(page as u64)), "byte {byte}");
                flip();
            }
        }
        assert_eq!(read_all(&device).unwrap(), whole);
    }
}

#[test]
fn weights_cut_off_or_swapped_are_found() {
    let (device, pages) = stored(WeightType::F64);
    let whole = device.bytes();
    for page in pages.clone() {
        device.change(|bytes| bytes.truncate(page * PAGE + 100));
        let error = Graph::open(device.shared()).unwrap_err();
        assert!(matches!(error, StoreError::Truncated { .. }), "{error}");
        device.change(|bytes| *bytes = whole.clone());
    }
    device.change(|bytes| {
        let (first, second) = (pages.start * PAGE, (pages.start + 1) * PAGE);
        let (low, high) = bytes.split_at_mut(second);
        low[first..first + PAGE].swap_with_slice(&mut high[..PAGE]);
    });
    assert!(read_all(&device).is_err());
    assert!(pages_at_fault(&device).contains(&Some(pages.start as u64)));
}

/// Changes a page and makes its checksum right again.
fn forge(device: &MemoryDevice, page: usize, change: impl FnOnce(&mut [u8])) {
    device.change(|bytes| {
        let bytes = &mut bytes[page * PAGE..(page + 1) * PAGE];
        change(bytes);
        // The slots have the salt in them.
        let salt = if page < SLOTS as usize { 0 } else { SALT };
        PageHeader::read(bytes).seal(bytes, salt, page as u64);
    });
}

/// Where a slot has the features that a program must know, and the bytes of a weight.
const FEATURES: usize = 64;
const WEIGHT_BYTES: usize = 177;

#[test]
fn bytes_of_a_weight_that_its_type_does_not_have_are_refused() {
    let (device, _) = stored(WeightType::U32);
    let (before, whole) = (device.bytes(), read_all(&device).unwrap());
    let slot = (0..2).find(|slot| before[slot * PAGE + WEIGHT_BYTES] == 2);
    let slot = slot.expect("weights from 1 to 1000 take two bytes");
    assert_eq!(before[slot * PAGE + FEATURES], 1 << 7);
    let forged = |device: &MemoryDevice, narrow: bool, bytes: u8| {
        forge(device, slot, |page| {
            page[FEATURES] = u8::from(narrow) << 7;
            page[WEIGHT_BYTES] = bytes;
        });
        let opened = Graph::open(device.shared()).map(drop).map_err(|error| error.to_string());
        device.change(|all| *all = before.clone());
        opened
    };
    assert_eq!(forged(&device, true, 2), Ok(()));
    for (narrow, bytes) in [(true, 0), (true, 3), (true, 4), (true, 8), (false, 1), (false, 2)] {
        let error = forged(&device, narrow, bytes).unwrap_err();
        let expected = format!("{bytes} bytes for a weight of type u32");
        assert!(error.contains(&expected) && !error.contains('\n'), "{narrow} {bytes}: {error}");
    }
    // Another number of bytes than that of the pages.
    for (narrow, bytes) in [(true, 1), (false, 0)] {
        let error = forged(&device, narrow, bytes).unwrap_err();
        assert!(error.contains("pages of weights"), "{narrow} {bytes}: {error}");
    }
    assert_eq!(read_all(&device).unwrap(), whole);
    let (floats, _) = stored(WeightType::F64);
    forge(&floats, slot, |page| {
        page[FEATURES] = 1 << 7;
        page[WEIGHT_BYTES] = 4;
    });
    let error = Graph::open(floats.shared()).unwrap_err().to_string();
    assert!(error.contains("4 bytes for a weight of type f64"), "{error}");
}

#[test]
fn forged_weights_are_found_whatever_their_checksum() {
    let put = |bytes: &mut [u8], value: &[u8]| {
        bytes[HEADER_BYTES..HEADER_BYTES + value.len()].copy_from_slice(value);
    };
    // What no page may hold ends a look-up; what the superblock denies is for `check` to find.
    let cases: [(WeightType, Vec<u8>, bool); 7] = [
        (WeightType::F32, f32::NAN.to_le_bytes().to_vec(), true),
        (WeightType::F32, f32::INFINITY.to_le_bytes().to_vec(), true),
        (WeightType::F64, f64::NEG_INFINITY.to_le_bytes().to_vec(), true),
        (WeightType::F32, (-1f32).to_le_bytes().to_vec(), false),
        (WeightType::F64, 1e300f64.to_le_bytes().to_vec(), false),
        (WeightType::U32, u32::MAX.to_le_bytes().to_vec(), false),
        (WeightType::I64, i64::MIN.to_le_bytes().to_vec(), false),
    ];
    for (kind, value, ends) in cases {
        let (device, pages) = stored(kind);
        forge(&device, pages.start, |bytes| put(bytes, &value));
        assert_eq!(read_all(&device).is_err(), ends, "{kind:?} {value:?}");
        assert!(!pages_at_fault(&device).is_empty(), "{kind:?} {value:?}");
    }
    // Headers with another number of weights, or another place of them: an error, or a
    // field that weights do not use.
    let (device, pages) = stored(WeightType::F32);
    let (before, whole) = (device.bytes(), read_all(&device).unwrap());
    let mut errors = 0;
    for place in 4..HEADER_BYTES {
        forge(&device, pages.start, |bytes| bytes[place] ^= 0x15);
        match read_all(&device) {
            Ok(same) => assert_eq!(same, whole, "byte {place} of the header"),
            Err(_) => {
                errors += 1;
                let faults = pages_at_fault(&device);
                assert!(faults.contains(&Some(pages.start as u64)), "byte {place}");
            }
        }
        device.change(|bytes| *bytes = before.clone());
    }
    assert!(errors >= 8 + 4, "the count and the first address are checked: {errors} errors");
}
