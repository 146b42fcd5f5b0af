//! Graphs for tests, on a simulated drive.

use std::sync::Arc;

use cenote_device::backend::sim::{SimConfig, SimDevice};
use cenote_device::model::DeviceModel;
use cenote_device::model::preset::Preset;
use cenote_store::{Counts, Graph, GraphSpec, GraphWriter, IdsSource};

/// A directed graph without in-edges that has these lists.
pub fn of(lists: Vec<Vec<u32>>) -> Arc<Graph> {
    let preset = Preset::by_name("p4510").expect("a simulated drive does not fail");
    on(preset.model(), lists)
}

/// The same on a drive of this model.
pub fn on(model: DeviceModel, mut lists: Vec<Vec<u32>>) -> Arc<Graph> {
    let device = Arc::new(SimDevice::new(SimConfig::new(model)));
    let spec = GraphSpec {
        page_bytes: 4096,
        vertices: lists.len() as u64,
        directed: true,
        in_edges: false,
        duplicates_kept: false,
        self_loops_kept: false,
        salt: 7,
    };
    let mut writer =
        GraphWriter::create(device.clone(), spec).expect("a simulated drive does not fail");
    for list in &mut lists {
        list.sort_unstable();
        writer.push_list(list).expect("a simulated drive does not fail");
    }
    let edges = lists.iter().map(|list| list.len() as u64).sum();
    writer
        .finish(IdsSource::Dense, Counts { edges, duplicates: 0, self_loops: 0 })
        .expect("a simulated drive does not fail");
    Arc::new(Graph::open(device).expect("a simulated drive does not fail"))
}
