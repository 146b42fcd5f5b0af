//! The map file read as FORMAT.md of `cenote-store` describes, by a reader that shares nothing with
//! the device's.

use std::sync::Arc;

use cenote_device::Device;
use cenote_device::backend::sim::FaultPlan;
use cenote_tier::device::{Migrator, TieredDevice, Worker, WorkerConfig};
use cenote_tier::placement::Move;
use cenote_tier::spec::TierSpec;

use crate::oracle;
use crate::support::{self, BLOCK, Random};

const PAGE: usize = 4096;
const FIRST_PAGES: usize = 40_960;

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

/// CRC-32C bit by bit.
fn crc(parts: &[&[u8]]) -> u32 {
    let mut sum = u32::MAX;
    for byte in parts.iter().flat_map(|part| part.iter()) {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            sum = if sum & 1 == 1 { (sum >> 1) ^ 0x82f6_3b78 } else { sum >> 1 };
        }
    }
    !sum
}

/// The map file as the document names its parts.
struct Map<'a> {
    bytes: &'a [u8],
    id: &'a [u8],
    journal_pages: usize,
}

impl<'a> Map<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        assert_eq!(bytes[..8], *b"\x89CTIERS\n");
        for header in [&bytes[..16_384], &bytes[16_384..32_768]] {
            assert_eq!(word(header, 8), crc(&[&header[16..32], &header[4..8], &header[12..]]));
            assert_eq!((word(header, 12), header[32], word(header, 36)), (2, 255, BLOCK as u32));
        }
        Self { bytes, id: &bytes[16..32], journal_pages: word(bytes, 40) as usize }
    }

    /// A page of this kind, if it is one.
    fn page(&self, at: usize, kind: u32, epoch: u64, index: usize) -> Option<&'a [u8]> {
        let page = self.bytes.get(at..at + PAGE)?;
        let whole = word(page, 4) == crc(&[self.id, &page[..4], &page[8..]]);
        let wanted = (kind, epoch, index as u32);
        (whole && (word(page, 0), long(page, 8), word(page, 16)) == wanted).then_some(page)
    }

    fn head(&self, epoch: u64) -> Option<&'a [u8]> {
        self.page(32_768 + epoch as usize % 2 * PAGE, 0x4845_4144, epoch, 0)
    }

    fn newest(&self) -> u64 {
        let epochs = [0, 1].map(|copy| long(self.bytes, 32_768 + copy * PAGE + 8));
        epochs.into_iter().filter(|&epoch| self.head(epoch).is_some()).max().expect("a head")
    }

    /// Tier and slot of each block, and the length, of an undamaged map.
    fn read(&self) -> (Vec<Option<(u8, u32)>>, u64) {
        let epoch = self.newest();
        let head = self.head(epoch).unwrap();
        let mut length = long(head, 32);
        let mut places = Vec::new();
        for block in 0..word(head, 24) as usize {
            let (page, entry) = (block / 506, block % 506);
            let segment = 2 * (page / 64) + epoch as usize % 2;
            let at =
                FIRST_PAGES + 4 * self.journal_pages * PAGE + (segment * 64 + page % 64) * PAGE;
            let page = self.page(at, 0x4d41_5020, epoch, page).expect("a page of the copy");
            let entry = &page[48 + 8 * entry..56 + 8 * entry];
            places.push((entry[4] > 0).then(|| (entry[4] - 1, word(entry, 0))));
        }
        let mut previous = 0;
        for index in 0..self.journal_pages {
            let at = |mirror: usize| {
                let journal = 2 * mirror + epoch as usize % 2;
                FIRST_PAGES + (journal * self.journal_pages + index) * PAGE
            };
            let page = |mirror| self.page(at(mirror), 0x4a52_4e4c, epoch, index);
            let Some(page) = page(0).filter(|page| word(page, 28) == previous) else { break };
            assert_eq!(Some(page), self.page(at(1), 0x4a52_4e4c, epoch, index), "the mirror");
            assert!(word(page, 20) <= index as u32, "stable");
            length = long(page, 32);
            places.resize(length.div_ceil(BLOCK) as usize, None);
            for record in page[48..].chunks(16).take(word(page, 24) as usize) {
                places[word(record, 0) as usize] = Some((record[8], word(record, 4)));
            }
            previous = word(page, 4);
        }
        (places, length)
    }
}

#[test]
fn the_map_file_is_as_the_document_describes() {
    let slots = [20, 50, 900];
    let sims: Vec<_> = (0..4).map(|at| support::sim(FaultPlan::seeded(at))).collect();
    let parts = support::parts(&sims[1..], &slots);
    let map = Arc::clone(&sims[0]) as _;
    let device = TieredDevice::create(map, parts, &support::config(5)).unwrap();
    let mut migrator = Migrator::new(&device, 8).unwrap();
    let mut random = Random(3);
    let mut epochs = Vec::new();
    for round in 0..40 {
        let blocks = 100 + 15 * round % 700;
        for _ in 0..40 {
            let block = random.below(blocks);
            oracle::write(&device, block * BLOCK, BLOCK as usize, round as u32 + 1).unwrap();
            let to = random.below(slots.len() as u64) as u8;
            migrator.carry_out(&[Move { page: random.below(blocks) as u32, to }]).unwrap();
        }
        device.set_len(blocks * BLOCK).unwrap();
        device.sync().unwrap();
        let bytes = sims[0].contents();
        let map = Map::new(&bytes);
        epochs.push(map.newest());
        let (places, length) = map.read();
        assert_eq!(length, blocks * BLOCK, "round {round}");
        assert_eq!(places.len().max(blocks as usize), blocks as usize, "round {round}");
        let contents = oracle::contents(&device);
        let tiers: Vec<_> = sims[1..].iter().map(|sim| sim.contents()).collect();
        for (block, wanted) in contents.chunks(BLOCK as usize).enumerate() {
            let place = places.get(block).copied().flatten();
            let case = format!("round {round}, block {block}");
            assert_eq!(place.map(|(tier, _)| tier), device.tier_of(block as u32), "{case}");
            let Some((tier, slot)) = place else {
                assert!(wanted.iter().all(|byte| *byte == 0), "{case}");
                continue;
            };
            let at = 65_536 + slot as usize * BLOCK as usize;
            let found = &tiers[usize::from(tier)][at..at + BLOCK as usize];
            assert!(found == wanted, "{case}: its slot holds something else");
        }
    }
    assert!(epochs.last() > Some(&4), "the epoch is {:?}", epochs.last());
}

#[test]
fn the_state_of_a_policy_is_as_the_document_describes() {
    let sims: Vec<_> = (0..3).map(|at| support::sim(FaultPlan::seeded(at))).collect();
    let parts = support::parts(&sims[1..], &[4, 40]);
    let map = Arc::clone(&sims[0]) as _;
    let device = TieredDevice::create(map, parts, &support::config(5)).unwrap();
    device.set_len(20 * BLOCK).unwrap();
    oracle::write(&device, 0, BLOCK as usize, 1).unwrap();
    let config = WorkerConfig::new("tlfu".parse().unwrap(), TierSpec::text()[..2].to_vec())
        .batch(4)
        .recorded_bytes_max(0);
    let (_, state) = Worker::start(&device, config).unwrap().stop().unwrap();
    assert_eq!(state[..8], *b"\x89CTHEAT\n");
    let id = [7; 16];
    assert_eq!(word(&state, 8), crc(&[&id, &state[4..8], &state[12..]]));
    assert_eq!((word(&state, 12), &state[16..32]), (1, &id[..]));
    let (blocks, name, rest) = (word(&state, 32), word(&state, 36), long(&state, 40));
    assert_eq!((blocks, name), (20, 4));
    assert_eq!(state.len() as u64, 48 + 20 + 4 + rest);
    assert_eq!(state[48..52], *b"tlfu");
    let tiers: Vec<u8> = (0..20).map(|block| device.tier_of(block).unwrap_or(1)).collect();
    assert_eq!(state[52..72], tiers);
}
