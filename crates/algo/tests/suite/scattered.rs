//! Graphs whose pages lie all over the device, in the order of no section, with weights in another
//! order than their lists: what many commits leave. Every answer is that of the verifiers, which
//! read the graph list by list.

use std::sync::Arc;

use cenote_algo::pagerank::{self, PageRankConfig};
use cenote_algo::sssp::{self, SsspConfig};
use cenote_algo::walk::{self, DeadEnds, Output, Starts, WalkConfig};
use cenote_algo::wcc;
use cenote_device::Buffer;
use cenote_device::backend::sim::{SimConfig, SimDevice};
use cenote_device::model::preset::Preset;
use cenote_engine::{EngineConfig, Strategy, VertexId};
use cenote_store::format::{Codec, HEADER_BYTES, PageKind};
use cenote_store::header::PageHeader;
use cenote_store::hub_neighbours::HubNeighboursChoice;
use cenote_store::superblock::SectionKind;
use cenote_store::{
    Counts, Direction, Graph, GraphSpec, GraphWriter, IdsSource, LookupConfig, Store, Weight,
    WeightType, check,
};

const PAGE: usize = 4096;
const VERTICES: u32 = 3_000;

/// Three hubs whose lists run over pages, and short lists.
fn lists() -> Vec<Vec<u32>> {
    let mut lists = vec![Vec::new(); VERTICES as usize];
    let mut edge = |u: u32, v: u32| {
        lists[u as usize].push(v);
        lists[v as usize].push(u);
    };
    for v in 0..VERTICES {
        for hub in [5, 1_500, 2_990] {
            if v != hub && ![5, 1_500, 2_990].contains(&v) {
                edge(hub, v);
            }
        }
        for step in [37, 801] {
            edge(v, (v + step) % VERTICES);
        }
    }
    for list in &mut lists {
        list.sort_unstable();
        list.dedup();
    }
    lists
}

fn stored(codec: Codec) -> Arc<SimDevice> {
    let model = Preset::by_name("optane-p4800x").unwrap().model();
    let device = || Arc::new(SimDevice::new(SimConfig::new(model.clone())));
    let spec = GraphSpec {
        page_bytes: PAGE,
        vertices: u64::from(VERTICES),
        directed: false,
        in_edges: false,
        duplicates_kept: false,
        self_loops_kept: false,
        salt: 7,
    };
    let (file, format) = (device(), (codec, WeightType::U32));
    let writer = GraphWriter::create_weighted(file.clone(), spec, format, device()).unwrap();
    let mut writer = writer.with_hub_neighbours(HubNeighboursChoice::Yes);
    let lists = lists();
    for (u, list) in (0..).zip(&lists) {
        writer.push_list(list).unwrap();
        let weight = |v: &u32| Weight::U32(1 + (u ^ v) % 97 + (u + v) % 13);
        writer.extend_weights(&list.iter().map(weight).collect::<Vec<_>>()).unwrap();
    }
    let entries: u64 = lists.iter().map(|list| list.len() as u64).sum();
    let counts = Counts { edges: entries / 2, duplicates: 0, self_loops: 0 };
    writer.finish(IdsSource::Dense, counts).unwrap();
    file
}

fn read(graph: &Graph, page: u64) -> Buffer {
    let (offset, buffer) = (graph.physical(page) * PAGE as u64, Buffer::new(PAGE).unwrap());
    cenote_device::read_exact(graph.device().as_ref(), offset, PAGE, buffer).unwrap()
}

/// Turns the order of the weights round, page of lists by page of lists, and writes pages to new
/// places, some of them several times.
fn scatter(device: &Arc<SimDevice>) -> Arc<Graph> {
    let store = Store::open(device.clone()).unwrap();
    let graph = store.graph(|_| LookupConfig::default()).unwrap();
    let section = |kind| *graph.superblock().section(kind).unwrap();
    let (weights, index) = (section(SectionKind::OutWeights), section(SectionKind::OutWeightIndex));
    let mut transaction = store.begin().unwrap();
    let size = graph.superblock().weights.unwrap().format().bytes();
    let per_page = (PAGE - HEADER_BYTES) / size;
    let all: Vec<u8> = weights
        .range()
        .flat_map(|page| read(&graph, page)[HEADER_BYTES..][..per_page * size].to_vec())
        .collect();
    let column = graph.load_weights(Direction::Out).unwrap().unwrap();
    let pages = graph.adjacency(Direction::Out).unwrap().pages();
    let (mut turned, mut words) = (Vec::new(), vec![0u64; pages as usize]);
    for page in (0..pages).rev() {
        let of_page = column.addresses_of(page);
        words[page as usize] = ((turned.len() / size) as u64) << 16 | (of_page.end - of_page.start);
        turned.extend_from_slice(&all[of_page.start as usize * size..of_page.end as usize * size]);
    }
    for (i, chunk) in turned.chunks(per_page * size).enumerate() {
        let header = PageHeader {
            entries: (chunk.len() / size) as u32,
            head_skip: (i * per_page) as u64,
            ..PageHeader::new(PageKind::Weights)
        };
        let fill = |page: &mut [u8]| page[HEADER_BYTES..][..chunk.len()].copy_from_slice(chunk);
        transaction.write(weights.first_page + i as u64, header, fill).unwrap();
    }
    let words: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    for (page, chunk) in index.range().zip(words.chunks((PAGE - HEADER_BYTES) / 8 * 8)) {
        let header =
            PageHeader { entries: chunk.len() as u32 / 8, ..PageHeader::new(PageKind::Index) };
        let fill = |page: &mut [u8]| page[HEADER_BYTES..][..chunk.len()].copy_from_slice(chunk);
        transaction.write(page, header, fill).unwrap();
    }
    transaction.commit().unwrap();
    for step in [3, 2, 5] {
        let graph = store.graph(|_| LookupConfig::default()).unwrap();
        let mut transaction = store.begin().unwrap();
        let pages = graph.superblock().sections.iter().flat_map(|section| section.range());
        for page in pages.filter(|page| page % step == 0).collect::<Vec<_>>().into_iter().rev() {
            let bytes = read(&graph, page);
            let fill = |page: &mut [u8]| page.copy_from_slice(&bytes);
            transaction.write(page, PageHeader::read(&bytes), fill).unwrap();
        }
        transaction.commit().unwrap();
    }
    Arc::new(store.graph(|_| LookupConfig::default()).unwrap())
}

#[test]
fn answers_do_not_depend_on_where_pages_lie() {
    for codec in Codec::ALL {
        let device = stored(codec);
        let graph = scatter(&device);
        let report = check(&graph, &mut |_, _| true).unwrap();
        assert!(report.is_whole(), "{report:#?}");
        let lists = graph.adjacency(Direction::Out).unwrap();
        let pages = lists.first_page()..lists.first_page() + lists.pages();
        assert!(graph.extents(pages.clone()).count() as u64 > (pages.end - pages.start) / 3);
        for strategy in [Strategy::Auto, Strategy::Block, Strategy::Vertex] {
            for memory in [64 << 20, 4 << 20] {
                let config = EngineConfig::with_memory(memory).strategy(strategy).threads(2);
                ask(&graph, &config);
            }
        }
    }
}

fn ask(graph: &Arc<Graph>, config: &EngineConfig) {
    let found = wcc::run(graph, config.clone()).unwrap();
    assert_eq!(found.components, 1);
    wcc::verify(graph, &found).unwrap();
    let ranks = PageRankConfig::default().iterations(3);
    let found = pagerank::run(graph, config.clone(), &ranks).unwrap();
    pagerank::verify(graph, &ranks, &found).unwrap();
    let search = SsspConfig::default().sources(vec![17]).parents(true);
    let found = sssp::run(graph, config.clone(), &search).unwrap();
    sssp::verify(graph, &found).unwrap();
    let walks = WalkConfig::default()
        .walkers(500)
        .starts(Starts::All)
        .steps(4)
        .restart(0.0)
        .dead_ends(DeadEnds::End)
        .weighted(true)
        .seed(3)
        .p(1.0)
        .q(1.0);
    let mut rows: Vec<(u64, Vec<VertexId>)> = Vec::new();
    let mut sink = |walk, row: &[VertexId]| {
        rows.push((walk, row.to_vec()));
        Ok(())
    };
    let folder = std::env::temp_dir();
    let output = Output { folder: &folder, sink_bytes: 0, sink: &mut sink };
    walk::run(graph, config.clone(), &walks, Some(output)).unwrap();
    let sampled = rows.iter().step_by(5);
    walk::verify(graph, &walks, sampled.map(|(walk, row)| (*walk, row.as_slice()))).unwrap();
}
