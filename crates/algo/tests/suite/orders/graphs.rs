//! Graphs in other orders of their vertices.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::sync::Arc;

use cenote_device::backend::sim::{SimConfig, SimDevice};
use cenote_device::model::preset::Preset;
use cenote_engine::{Graph, Order};
use cenote_store::order::Tables;
use cenote_store::{
    Codec, Counts, GraphSpec, GraphWriter, HubNeighboursChoice, IdsSource, Weight, WeightType,
};

use crate::plain::{Plain, Random};

/// The vertex of every rank.
pub fn vertex_of(plain: &Plain, order: Order) -> Vec<u32> {
    let n = plain.vertices();
    let mut ranks: Vec<u32> = (0..n).collect();
    ranks.sort_by_key(|&rank| Reverse(plain.lists[rank as usize].len()));
    match order {
        Order::Natural => ranks.sort_unstable(),
        Order::Degree => {}
        Order::Bfs => {
            let (mut met, mut queue) = (vec![false; n as usize], VecDeque::new());
            let starts = std::mem::take(&mut ranks);
            for start in starts {
                queue.push_back(start);
                while let Some(rank) = queue.pop_front() {
                    if !std::mem::replace(&mut met[rank as usize], true) {
                        ranks.push(rank);
                        queue.extend(&plain.lists[rank as usize]);
                    }
                }
            }
        }
        Order::Cluster => ranks = clusters(plain),
        Order::Random { seed } => {
            let mut random = Random(seed);
            (1..n).rev().for_each(|i| ranks.swap(i as usize, random.below(i + 1) as usize));
        }
    }
    inverse(&ranks)
}

/// The ranks by clusters of up to so many, each grown breadth first; the next begins with the first
/// rank that an earlier one touched.
fn clusters(plain: &Plain) -> Vec<u32> {
    const SIZE: usize = 150;
    let n = plain.lists.len();
    let (mut ranks, mut joined) = (Vec::with_capacity(n), vec![false; n]);
    let mut seeds = VecDeque::new();
    for start in 0..n as u32 {
        seeds.push_back(start);
        while let Some(seed) = seeds.pop_front() {
            let (mut queue, mut size) = (VecDeque::from([seed]), 0);
            while let Some(rank) = queue.pop_front() {
                if size == SIZE {
                    seeds.push_back(rank);
                } else if !std::mem::replace(&mut joined[rank as usize], true) {
                    ranks.push(rank);
                    size += 1;
                    queue.extend(&plain.lists[rank as usize]);
                }
            }
        }
    }
    ranks
}

pub fn inverse(table: &[u32]) -> Vec<u32> {
    let mut inverse = vec![0; table.len()];
    (0..).zip(table).for_each(|(i, &at)| inverse[at as usize] = i);
    inverse
}

/// The weight of an edge between two ids, the same both ways; many are equal and some are 0.
pub fn weight(kind: WeightType, a: u32, b: u32) -> Weight {
    let number = (a.min(b) * 31 + a.max(b) * 17) % 7;
    match kind {
        WeightType::F32 => Weight::F32(number as f32 / 4.0),
        WeightType::F64 => Weight::F64(f64::from(number) * 0.3),
        WeightType::U32 => Weight::U32(number),
        WeightType::I64 => Weight::I64(i64::from(number)),
    }
}

/// A graph in an order and a codec, perhaps with weights (then without in-edges).
pub fn stored(
    plain: &Plain,
    order: Order,
    codec: Codec,
    weights: Option<WeightType>,
) -> Arc<Graph> {
    stored_in_pages(plain, 4096, (order, codec), weights)
}

/// As [`stored`], in pages of so many bytes.
pub fn stored_in_pages(
    plain: &Plain,
    page_bytes: usize,
    (order, codec): (Order, Codec),
    weights: Option<WeightType>,
) -> Arc<Graph> {
    let vertex_of = vertex_of(plain, order);
    let rank_of = inverse(&vertex_of);
    let model = Preset::by_name("optane-p4800x").unwrap().model();
    let device = || Arc::new(SimDevice::new(SimConfig::new(model.clone())));
    let in_edges = plain.in_edges;
    let loops = (0..).zip(&plain.lists).filter(|(v, list)| list.contains(v)).count() as u64;
    let entries: u64 = plain.lists.iter().map(|list| list.len() as u64).sum();
    let spec = GraphSpec {
        page_bytes,
        vertices: plain.lists.len() as u64,
        directed: plain.directed,
        in_edges,
        duplicates_kept: false,
        self_loops_kept: true,
        salt: 7,
    };
    let file = device();
    let writer = match weights {
        Some(kind) => GraphWriter::create_weighted(file.clone(), spec, (codec, kind), device()),
        None => GraphWriter::create_with_codec(file.clone(), spec, codec),
    };
    let hub_neighbours = match weights {
        None if plain.vertices().is_multiple_of(2) => HubNeighboursChoice::Yes,
        _ => HubNeighboursChoice::No,
    };
    let mut writer = writer.unwrap().with_hub_neighbours(hub_neighbours);
    let push = |writer: &mut GraphWriter, lists: &[Vec<u32>]| {
        for &rank in &rank_of {
            let mut list: Vec<u32> =
                lists[rank as usize].iter().map(|&target| vertex_of[target as usize]).collect();
            list.sort_unstable();
            writer.push_list(&list).unwrap();
            if let Some(kind) = weights {
                let weight = |&v: &u32| weight(kind, rank, rank_of[v as usize]);
                writer.extend_weights(&list.iter().map(weight).collect::<Vec<_>>()).unwrap();
            }
        }
    };
    push(&mut writer, &plain.lists);
    if in_edges {
        writer.begin_in().unwrap();
        push(&mut writer, &plain.in_lists());
    }
    let edges = if plain.directed { entries } else { (entries + loops) / 2 };
    let tables = Tables { order, vertex_of: &vertex_of, rank_of: &rank_of };
    let tables = (order != Order::Natural).then_some(tables);
    let counts = Counts { edges, duplicates: 0, self_loops: loops };
    writer.finish_in_order(IdsSource::Dense, tables, counts).unwrap();
    Arc::new(Graph::open(file).unwrap())
}
