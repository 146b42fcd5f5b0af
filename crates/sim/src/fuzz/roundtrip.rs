//! Exports and imports again: an export, compressed or not, gives the same graph; a broken one
//! gives an error or a whole graph.

use std::io::Write;

use cenote::export::{export_parquet, export_text};
use cenote_device::backend::sim::FaultPlan;
use cenote_import::Format;
use cenote_store::Graph;
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::disk::SimWorkspace;
use crate::faults::End;
use crate::fuzz::inputs::{broken, mutate};
use crate::house::{Case, compare_stored, import_bytes, open_whole};
use crate::random::Random;
use crate::{Outcome, demand};

/// The bytes of an export, and the number of vertices that it lacks.
struct Exported {
    bytes: Vec<u8>,
    format: Format,
    isolated: u64,
}

fn export(graph: &Graph, random: &mut Random) -> Outcome<Exported> {
    let mut bytes = Vec::new();
    let format = random.pick(&[Format::Edges, Format::Parquet]);
    let report = match format {
        Format::Parquet => export_parquet(graph, &mut bytes, &mut |_, _| {}),
        _ => export_text(graph, &mut bytes, &mut |_, _| {}),
    };
    let isolated = report.map_err(|e| format!("export failed: {e}"))?.isolated;
    let bytes = if format == Format::Parquet { bytes } else { pack(bytes, random)? };
    Ok(Exported { bytes, format, isolated })
}

fn pack(bytes: Vec<u8>, random: &mut Random) -> Outcome<Vec<u8>> {
    let failed = |e: std::io::Error| format!("packing failed: {e}");
    match random.below(3) {
        0 => {
            let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
            packer.write_all(&bytes).and_then(|()| packer.finish()).map_err(failed)
        }
        1 => zstd::encode_all(&bytes[..], 1).map_err(failed),
        _ => Ok(bytes),
    }
}

/// Imports, exports and imports again.
pub fn live(random: &mut Random) -> Outcome {
    let case = Case::random(random);
    let context = |fault| format!("{:?} graph, {:?} ids: {fault}", case.shape, case.naming);
    again(&case, random).map_err(context)
}

fn again(case: &Case, random: &mut Random) -> Outcome {
    let graph = open_whole(case.store()?.device)?;
    let exported = export(&graph, random)?;
    if exported.isolated > 0 {
        return Ok(());
    }
    let none = FaultPlan::none;
    let workspace = SimWorkspace::new(case.drive.clone(), none(), none());
    // The export lacks what the first import left out, so an import that keeps all must agree.
    let options = case
        .options
        .clone()
        .keep_duplicates(case.options.keep_duplicates || random.chance(50))
        .keep_self_loops(case.options.keep_self_loops || random.chance(50));
    let format = exported.format;
    let report = import_bytes(&exported.bytes, format, &options, &workspace)
        .map_err(|e| format!("the export as {format} is refused: {e}"))?;
    let (edges, expected) = (report.input_edges, graph.superblock().edges);
    demand(edges == expected, || format!("{edges} edges exported, not {expected}"))?;
    let device = workspace.written().ok_or("no output")?;
    let again = open_whole(device)?;
    compare_stored(&again, &case.oracle()).map_err(|e| format!("{format} again: {e}"))
}

/// Mutates an export and imports it.
pub fn mutated(random: &mut Random) -> Outcome<End> {
    let case = Case::random(random);
    let graph = open_whole(case.store()?.device)?;
    let mut exported = export(&graph, random)?;
    for _ in 0..1 + random.below(3) {
        mutate(&mut exported.bytes, random);
    }
    let Exported { bytes, format, .. } = exported;
    broken(&bytes, format, &case.options, random).map_err(|fault| format!("{format}: {fault}"))
}
