//! Broken input files of every format: a clean error without output, or a whole graph.

use std::sync::Arc;

use cenote_device::backend::sim::FaultPlan;
use cenote_import::{Format, IdKind, ImportConfig, ImportError};

use crate::disk::{SimWorkspace, random_drive};
use crate::faults::{End, clean};
use crate::house::{compare_stored, import_bytes, open_whole, options};
use crate::input::{self, DENSE_FORMATS, INTEGER_FORMATS};
use crate::oracle::Oracle;
use crate::random::Random;
use crate::shape::{NAMINGS, Naming, Shape};
use crate::{Outcome, demand};

/// A mutated header may promise a huge graph, so the simulated disk limits the output.
const CAPACITY_BYTES: u64 = 32 << 20;

/// Tokens that may break parsers.
const TOKENS: [&[u8]; 24] = [
    b"\n",
    b"\r\n",
    b"\0",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"#",
    b"%",
    b"%%MatrixMarket matrix coordinate real symmetric\n",
    b"\"",
    b"\"\"",
    b",",
    b"\t",
    b" ",
    b"-1",
    b"1.5",
    b"nan",
    b"1e9",
    b"0",
    b"4294967295",
    b"4294967296",
    b"18446744073709551615",
    b"18446744073709551616",
    b"\x1f\x8b\x08\0\0\0\0\0",
    b"\x28\xb5\x2f\xfd",
];

/// Writes a file, mutates it and imports it.
pub fn mutated(random: &mut Random) -> Outcome<End> {
    let shape = random.pick(&[Shape::Tiny, Shape::Tiny, Shape::Path, Shape::Islands, Shape::Ring]);
    let edges = shape.edges(random);
    let naming = random.pick(&NAMINGS);
    let (naming, format) = if random.chance(50) {
        (Naming::Dense, random.pick(&DENSE_FORMATS))
    } else {
        (naming, random.pick(&INTEGER_FORMATS))
    };
    let mut options = options(random);
    options.ids = random.pick(&[IdKind::Auto, IdKind::Auto, IdKind::Integer, IdKind::String]);
    let mut bytes = input::write(format, naming, &edges);
    if format == Format::U64 && naming == Naming::Names {
        return Ok(End::Right);
    }
    let context = format!("{format}, {options:?}");
    if random.chance(15) {
        return sound(&bytes, (format, naming), &edges, &options, random)
            .map(|()| End::Right)
            .map_err(|fault| format!("unbroken {context}: {fault}"));
    }
    for _ in 0..1 + random.below(4) {
        mutate(&mut bytes, random);
    }
    broken(&bytes, format, &options, random).map_err(|fault| {
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(300)]).into_owned();
        format!("{context}: {fault}; the input begins {shown:?}")
    })
}

pub(super) fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    let place = |random: &mut Random, bytes: &[u8]| {
        // Bytes of headers matter most.
        let reach = if random.chance(30) { bytes.len().min(60) } else { bytes.len() };
        random.index(reach + 1)
    };
    let (a, b) = (place(random, bytes), place(random, bytes));
    let span = a.min(b)..a.max(b);
    match random.below(7) {
        0 if a < bytes.len() => bytes[a] = random.bits() as u8,
        1 if a < bytes.len() => bytes[a] ^= 1 << random.below(8),
        2 => bytes.truncate(a),
        3 => drop(bytes.drain(a..(a + random.index(20)).min(bytes.len()))),
        4 if span.len() < 4000 => {
            let copied = bytes[span].to_vec();
            let target = place(random, bytes);
            bytes.splice(target..target, copied);
        }
        _ => drop(bytes.splice(a..a, random.pick(&TOKENS).iter().copied())),
    }
}

fn workspace(random: &mut Random) -> SimWorkspace {
    let full = FaultPlan { capacity_bytes: Some(CAPACITY_BYTES), ..FaultPlan::none() };
    SimWorkspace::new(random_drive(random), full.clone(), full)
}

pub(super) fn broken(
    bytes: &[u8],
    format: Format,
    options: &ImportConfig,
    random: &mut Random,
) -> Outcome<End> {
    let workspace = workspace(random);
    match import_bytes(bytes, format, options, &workspace) {
        Err(error) => {
            demand(!workspace.is_published(), || format!("published in spite of: {error}"))?;
            clean(&error)?;
            if let ImportError::Line { line, .. } = error {
                let lines = bytes.split(|&byte| byte == b'\n').count() as u64;
                let within = (1..=lines).contains(&line);
                demand(within || is_packed(bytes), || format!("line {line} of {lines}: {error}"))?;
            }
            Ok(End::Error)
        }
        Ok(report) => {
            let device = workspace.written().ok_or("no output")?;
            let graph = open_whole(Arc::new(device.restart(FaultPlan::none())))?;
            let found = (graph.vertices() as u64, graph.superblock().edges);
            let reported = (report.vertices, report.edges);
            demand(found == reported, || {
                format!("import reports {reported:?}, the graph has {found:?}")
            })?;
            Ok(End::Right)
        }
    }
}

/// Whether the file is compressed, so that its lines cannot be counted here.
fn is_packed(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\x1f\x8b") || bytes.starts_with(b"\x28\xb5\x2f\xfd")
}

/// Checks that an unbroken file gives the right graph.
fn sound(
    bytes: &[u8],
    (format, naming): (Format, Naming),
    edges: &[(u64, u64)],
    options: &ImportConfig,
    random: &mut Random,
) -> Outcome {
    let options = options.clone().ids(IdKind::Auto);
    // The other dense formats also hold vertices without edges, or repeated edges.
    if !INTEGER_FORMATS.contains(&format) && format != Format::U32 {
        return Ok(());
    }
    let workspace = workspace(random);
    import_bytes(bytes, format, &options, &workspace).map_err(|e| format!("refused: {e}"))?;
    let device = workspace.written().ok_or("no output")?;
    compare_stored(&*open_whole(device)?, &Oracle::import(edges, naming, &options))
}
