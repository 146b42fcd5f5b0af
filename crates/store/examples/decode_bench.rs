//! Prints how many entries per second one core decodes from the pages of a graph in memory:
//! `cargo run --release --example decode_bench -- graph.cenote`.

use std::hint::black_box;
use std::time::Instant;

use cenote_device::backend::file::{self, OpenOptions};
use cenote_device::{Buffer, read_exact};
use cenote_store::header::checksum;
use cenote_store::{Decoded, Direction, Graph};

/// Each stretch of pages counts with its best time, so that what else the machine does matters
/// little.
const STRETCH_PAGES: usize = 64;
const ROUNDS: usize = 15;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for path in std::env::args_os().skip(1) {
        let device = file::open(path.as_ref(), &OpenOptions::reading())?;
        let graph = Graph::open(device)?;
        let adjacency = graph.adjacency(Direction::Out).ok_or("a graph has lists of targets")?;
        let (page_bytes, first) = (graph.page_bytes(), adjacency.first_page());
        let len = adjacency.pages() as usize * page_bytes;
        let offset = first * page_bytes as u64;
        let bytes = read_exact(graph.device().as_ref(), offset, len, Buffer::new(len)?)?;
        let page = |i: usize| &bytes[i * page_bytes..][..page_bytes];
        let (salt, mut decoded) = (graph.superblock().salt, Decoded::new());
        let best = |work: &mut dyn FnMut(usize)| {
            let rate = adjacency.stored_edges() as f64 / seconds(adjacency.pages() as usize, work);
            rate / 1e6
        };
        let sums = best(&mut |i| {
            black_box(checksum(page(i), salt, first + i as u64));
        });
        let mut view = |i: usize, verify: bool| {
            let (number, bytes) = (i as u64, page(i));
            let page = if verify {
                adjacency.parse(number, bytes, &mut decoded)
            } else {
                adjacency.reparse(number, bytes, &mut decoded)
            };
            black_box(page.map_or_else(|fault| panic!("{fault}"), |page| page.entries().len()));
        };
        let decode = best(&mut |i| view(i, false));
        let both = best(&mut |i| view(i, true));
        println!(
            "{}: {}, {len} bytes of pages; million entries a second: decoded {decode:.0}, \
             checksum {sums:.0}, together {both:.0}",
            path.display(),
            adjacency.codec().name()
        );
    }
    Ok(())
}

/// Of all pages once.
fn seconds(pages: usize, work: &mut dyn FnMut(usize)) -> f64 {
    let stretches = (0..pages).step_by(STRETCH_PAGES);
    stretches
        .map(|start| {
            let stretch = start..(start + STRETCH_PAGES).min(pages);
            let time = |_| {
                let begin = Instant::now();
                stretch.clone().for_each(&mut *work);
                begin.elapsed().as_secs_f64()
            };
            (0..ROUNDS).map(time).fold(f64::MAX, f64::min)
        })
        .sum()
}
