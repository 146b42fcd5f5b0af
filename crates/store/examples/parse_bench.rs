//! Prints the time to verify a page, for each page size: `cargo run --release --example
//! parse_bench`. The pages lie in memory and exceed the last cache, as if read from a device.

use std::hint::black_box;
use std::time::Instant;

use cenote_device::Buffer;
use cenote_store::format::PageKind;
use cenote_store::header::{Identity, PageHeader, checksum};
use cenote_store::page::{Expected, Page};
use cenote_store::{Codec, Decoded};

const BYTES: usize = 128 << 20;
const LISTS: usize = 60;
const ROUNDS: usize = 5;
const VERTICES: u32 = 9_000_000;

fn main() -> Result<(), cenote_device::DeviceError> {
    let mut decoded = Decoded::new();
    println!("page   verify  checksum  view again   (ns a page, best of {ROUNDS})   GB/s verified");
    for page_bytes in [4096, 16384, 65536] {
        let memory = pages(page_bytes)?;
        let numbered = || memory.chunks(page_bytes).enumerate();
        let verify = best_ns(page_bytes, || {
            numbered().map(|(i, page)| parsed(Page::parse(page, &expected(i), &mut decoded))).sum()
        });
        let checksum = best_ns(page_bytes, || {
            numbered().map(|(i, page)| checksum(page, 7, i as u64) as usize).sum()
        });
        let again = best_ns(page_bytes, || {
            numbered()
                .map(|(i, page)| parsed(Page::reparse(page, &expected(i), &mut decoded)))
                .sum()
        });
        let rate = page_bytes as f64 / verify;
        println!("{page_bytes:>5} {verify:>7.1} {checksum:>9.1} {again:>11.1} {rate:>48.1}");
    }
    Ok(())
}

fn parsed(page: Result<Page<'_>, cenote_store::PageFault>) -> usize {
    page.map_or_else(|fault| panic!("{fault}"), |page| page.list_count())
}

fn expected(page: usize) -> Expected {
    Expected {
        identity: Identity { salt: 7, physical: page as u64, epoch: 1 },
        page: page as u64,
        codec: Codec::Raw,
        first: 0,
        lists: LISTS as u64,
        continues: false,
        vertices: VERTICES,
    }
}

/// Memory full of pages of [`LISTS`] lists each.
fn pages(page_bytes: usize) -> Result<Buffer, cenote_device::DeviceError> {
    let mut memory = Buffer::new(BYTES)?;
    let per_list = (page_bytes - 48 - 2 * LISTS) / 4 / LISTS;
    for (number, page) in memory.chunks_mut(page_bytes).enumerate() {
        for entry in 0..per_list * LISTS {
            let target = (entry as u32).wrapping_mul(2_654_435_761) % VERTICES;
            page[48 + entry * 4..][..4].copy_from_slice(&target.to_le_bytes());
        }
        for list in 0..LISTS {
            let start = (list * per_list) as u16;
            page[page_bytes - 2 * (list + 1)..][..2].copy_from_slice(&start.to_le_bytes());
        }
        let header = PageHeader {
            lists: LISTS as u16,
            entries: (per_list * LISTS) as u32,
            head_degree: per_list as u64,
            tail_degree: per_list as u64,
            ..PageHeader::new(PageKind::Adjacency)
        };
        header.seal(page, 7, number as u64);
    }
    Ok(memory)
}

fn best_ns(page_bytes: usize, mut pass: impl FnMut() -> usize) -> f64 {
    let pages = (BYTES / page_bytes) as f64;
    let mut best = f64::MAX;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        black_box(pass());
        best = best.min(start.elapsed().as_nanos() as f64 / pages);
    }
    best
}
