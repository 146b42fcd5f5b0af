//! Prints the space that the page format takes beyond 4 bytes per list entry and 2 per list, for
//! the actual packing and for one where long lists start on a new page:
//! `cargo run --release --example overhead FILE...` with edge lists (plain or gzip, undirected).

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;

const HEADER_BYTES: usize = 48;
const HEAD_ENTRIES_MIN: usize = 16;

fn main() -> io::Result<()> {
    for file in std::env::args_os().skip(1) {
        let path = Path::new(&file);
        let degrees = degrees_of(path)?;
        let name = path.file_stem().unwrap_or_default().display();
        for page_bytes in [4096, 16384, 65536] {
            let used = overhead(&degrees, page_bytes, true) * 100.0;
            let aligned = overhead(&degrees, page_bytes, false) * 100.0;
            println!(
                "{name}: pages of {page_bytes}: {used:.2}%, long lists on a new page {aligned:.2}%"
            );
        }
    }
    Ok(())
}

/// Bytes of the pages beyond entries and offsets, per byte of entries.
fn overhead(degrees: &[usize], page_bytes: usize, may_start: bool) -> f64 {
    let pages = pages_of(degrees, page_bytes, may_start);
    let entries = 4 * degrees.iter().sum::<usize>();
    (pages * page_bytes - entries - 2 * degrees.len()) as f64 / entries as f64
}

/// Next-fit in vertex order, as `FORMAT.md` describes it.
fn pages_of(degrees: &[usize], page_bytes: usize, may_start: bool) -> usize {
    let payload = page_bytes - HEADER_BYTES;
    let (mut pages, mut free) = (0, 0);
    for &degree in degrees {
        let is_long = degree > page_bytes / 64;
        let starts = is_long && may_start && free >= 2 + 4 * HEAD_ENTRIES_MIN;
        if free < 2 + 4 * degree && !starts {
            (pages, free) = (pages + 1, payload);
        }
        let mut rest = degree;
        loop {
            free -= 2;
            let here = rest.min(free / 4);
            (rest, free) = (rest - here, free - 4 * here);
            if rest == 0 {
                break;
            }
            (pages, free) = (pages + 1, payload);
        }
    }
    pages
}

/// The degrees of the simple undirected graph, in the order of the numeric ids.
fn degrees_of(path: &Path) -> io::Result<Vec<usize>> {
    let file = File::open(path)?;
    let is_gzip = path.extension().is_some_and(|extension| extension == "gz");
    let reader: Box<dyn Read> =
        if is_gzip { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) };
    let mut edges = Vec::new();
    for line in BufReader::new(reader).lines() {
        let line = line?;
        let mut numbers = line.split_whitespace().map_while(|word| word.parse::<u64>().ok());
        if let (Some(u), Some(v)) = (numbers.next(), numbers.next())
            && u != v
        {
            edges.push((u.min(v), u.max(v)));
        }
    }
    edges.sort_unstable();
    edges.dedup();
    let mut degrees = HashMap::new();
    for (u, v) in edges {
        *degrees.entry(u).or_insert(0) += 1;
        *degrees.entry(v).or_insert(0) += 1;
    }
    let mut degrees: Vec<_> = degrees.into_iter().collect();
    degrees.sort_unstable();
    Ok(degrees.into_iter().map(|(_, degree)| degree).collect())
}
