//! A graph in shards and in lists, the runs of supersteps, and plain answers.

use std::collections::BTreeMap;

use cenote::import::WeightType;
use cenote::shards::{
    Manifest, OpenShard, Received, ShardAlgorithm, ShardRun, Sharding, Step, Values,
};
use cenote::{Graph, Import};

/// Of a graph at least: the last ones have no edges.
const VERTICES: u64 = 400;
pub const MEMORY: u64 = 16 << 20;
pub const ALL: u64 = u64::MAX;

/// Edges with a hub, a path, repetitions, self-loops and components of their own.
pub fn edges() -> Vec<(u64, u64, u32)> {
    let hub = (1..90).map(|v| (5, v * 4 % 360, 3));
    let path = (200..300).map(|v| (v, v + 1, 1 + (v % 9) as u32));
    let others = (0..900u64).map(|i| (i * i % 211, i * 7 % 173, 1 + (i % 5) as u32));
    let apart = (360..400).map(|v| (v, 360 + v * 3 % 40, 7));
    hub.chain(path).chain(others).chain(apart).chain([(9, 9, 1), (399, 399, 1)]).collect()
}

/// The same and many more edges, so that searches ask hub neighbours, also when they reach the
/// path: they do not reach vertices from 301 on, which have long lists.
pub fn many_edges() -> Vec<(u64, u64, u32)> {
    let more = (0..12_000u64).map(|i| (i % 199, i / 199 * 7 % 197, 1));
    let not_reached = (0..8_000u64).map(|i| (301 + i % 97, 301 + i / 97, 1));
    edges().into_iter().chain(more).chain(not_reached).collect()
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    Undirected,
    Directed,
    InEdges,
}

pub const KINDS: [Kind; 3] = [Kind::Undirected, Kind::Directed, Kind::InEdges];

/// A graph in shards, and its lists: of each vertex the targets with weights, and the sources.
pub struct Set {
    pub folder: tempfile::TempDir,
    pub graphs: Vec<Graph>,
    pub starts: Vec<u64>,
    pub kind: Kind,
    /// The budget of a shard.
    pub memory: u64,
    pub out: Vec<Vec<(usize, u64)>>,
    pub inward: Vec<Vec<usize>>,
}

impl Set {
    pub fn new(kind: Kind, shards: u64) -> Self {
        Self::of(&edges(), kind, shards)
    }

    pub fn with_hub_neighbours(kind: Kind, shards: u64) -> Self {
        let set = Self::of(&many_edges(), kind, shards);
        let has = |graph: &Graph| graph.stored().superblock().hub_neighbours_of_part().is_some();
        assert!(set.graphs.iter().all(has), "shards have the hub neighbours of the graph");
        set
    }

    pub fn of(edges: &[(u64, u64, u32)], kind: Kind, shards: u64) -> Self {
        let vertices = edges.iter().map(|&(a, b, _)| a.max(b) + 1).max().unwrap().max(VERTICES);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("graph.cenote");
        let import = Import::new()
            .edges(edges.iter().map(|&(a, b, w)| (a, b, f64::from(w))))
            .vertices(0..vertices)
            .keep_self_loops()
            .weights(WeightType::U32)
            .memory("64MiB");
        let import = match kind {
            Kind::Undirected => import,
            Kind::Directed => import.directed(),
            Kind::InEdges => import.directed().in_edges(),
        };
        import.run(&path).unwrap();
        let out = folder.path().join("shards");
        Sharding::new(&Graph::open(&path).unwrap(), shards).write(&out).unwrap();
        let manifest = Manifest::read(&out).unwrap();
        let mut starts: Vec<u64> = manifest.shards.iter().map(|s| s.first_vertex).collect();
        starts.push(manifest.vertices);
        let open = |file: &String| Graph::open(out.join(file)).unwrap();
        let graphs = manifest.shards.iter().map(|shard| open(&shard.file)).collect();
        let mut lightest = BTreeMap::new();
        for &(a, b, w) in edges {
            let both = if kind == Kind::Undirected { vec![(a, b), (b, a)] } else { vec![(a, b)] };
            for pair in both {
                let weight = lightest.entry(pair).or_insert(u64::from(w));
                *weight = (*weight).min(w.into());
            }
        }
        let mut lists = vec![Vec::new(); vertices as usize];
        let mut inward = vec![Vec::new(); vertices as usize];
        for ((a, b), w) in lightest {
            lists[a as usize].push((b as usize, w));
            inward[b as usize].push(a as usize);
        }
        Self { folder, graphs, starts, kind, memory: MEMORY, out: lists, inward }
    }

    pub fn shards(&self) -> Vec<OpenShard<'_>> {
        let is_directed = self.kind != Kind::Undirected;
        let open = |(at, graph)| OpenShard::new(graph, at, &self.starts, is_directed).unwrap();
        let shards: Vec<OpenShard<'_>> = self.graphs.iter().enumerate().map(open).collect();
        let mirrored: Vec<Vec<Vec<u32>>> = (0..shards.len())
            .map(|owner| {
                let first = self.starts[owner];
                let known = shards.iter().enumerate().map(|(at, shard)| {
                    let part = shard.part();
                    let run = part.runs[owner].clone();
                    let run = if at == owner { 0..0 } else { run };
                    run.map(|v| (part.numbers[v as usize] - first) as u32).collect()
                });
                known.collect()
            })
            .collect();
        shards.into_iter().zip(mirrored).map(|(shard, lists)| shard.connected(lists)).collect()
    }

    /// Runs supersteps until `decide` returns `None`. Before every third superstep the state is
    /// copied to a new run, or to the same one after it was started again. Returns the columns.
    pub fn run(
        &self,
        algorithm: &ShardAlgorithm,
        threads: usize,
        first: Vec<u64>,
        mut decide: impl FnMut(u64, &[BTreeMap<&'static str, u64>]) -> Option<Vec<u64>>,
    ) -> Vec<Values> {
        let shards = self.shards();
        let start = |shard: &OpenShard<'_>| {
            shard.run(algorithm, self.memory, Some(threads), || false).unwrap()
        };
        let mut runs: Vec<ShardRun> = shards.iter().map(start).collect();
        let boundary: usize =
            shards.iter().map(|shard| shard.part().places() - shard.part().own_count()).sum();
        let (mut shared, mut inbox): (_, Vec<Vec<Option<cenote::shards::Message>>>) =
            (first, vec![Vec::new(); runs.len()]);
        for superstep in 0.. {
            assert!(superstep < 2_000, "{algorithm:?} does not end");
            if superstep % 3 == 2 {
                for (run, shard) in runs.iter_mut().zip(&shards) {
                    let state = run.state();
                    if superstep % 2 == 0 || !run.restart(algorithm).unwrap() {
                        *run = start(shard);
                    }
                    let of = |name: &str| state.iter().find(|(known, _)| *known == name);
                    run.restore(|name| of(name).map(|(_, values)| values.bytes())).unwrap();
                }
            }
            let steps: Vec<Step> = runs
                .iter_mut()
                .zip(&inbox)
                .map(|(run, mail)| {
                    let received: Vec<Option<Received<'_>>> = mail
                        .iter()
                        .map(|message| {
                            message.as_ref().map(|message| Received {
                                positions: message.positions.as_deref().map(bytes),
                                values: message.values.bytes(),
                            })
                        })
                        .collect();
                    run.step(superstep, &shared, &received).unwrap()
                })
                .collect();
            let sent: usize = steps
                .iter()
                .flat_map(|step| step.messages.iter().flatten())
                .map(|m| m.values.bytes().len() + m.positions.as_ref().map_or(0, |p| 4 * p.len()))
                .sum();
            assert!(sent <= 8 * boundary, "{algorithm:?}: {sent} bytes, {boundary} in boundaries");
            let reports: Vec<BTreeMap<&'static str, u64>> =
                steps.iter().map(|step| step.report.iter().copied().collect()).collect();
            match decide(superstep, &reports) {
                Some(next) => shared = next,
                None => break,
            }
            inbox = (0..runs.len())
                .map(|to| steps.iter().map(|step| step.messages[to].clone()).collect())
                .collect();
        }
        let columns: Vec<_> = runs.iter().map(ShardRun::columns).collect();
        let of = |at: usize| columns.iter().map(|columns| columns[at].1.clone()).collect();
        (0..columns[0].len()).map(|at| joined(of(at))).collect()
    }

    pub fn both(&self) -> Vec<Vec<usize>> {
        let lists = self.out.iter().zip(&self.inward);
        lists
            .map(|(out, inward)| {
                let mut all: Vec<usize> = out.iter().map(|(target, _)| *target).collect();
                if self.kind != Kind::Undirected {
                    all.extend(inward);
                }
                all
            })
            .collect()
    }

    pub fn hub(&self) -> u64 {
        self.shards().iter().map(OpenShard::hub).max_by_key(|(_, degree)| *degree).unwrap().0
    }

    pub fn components(&self) -> Vec<u64> {
        let lists = self.both();
        let mut labels: Vec<u64> = (0..self.out.len() as u64).collect();
        loop {
            let before = labels.clone();
            for (v, list) in lists.iter().enumerate() {
                for &u in list {
                    let least = labels[v].min(labels[u]);
                    (labels[v], labels[u]) = (least, least);
                }
            }
            if before == labels {
                return labels;
            }
        }
    }

    /// The distances with weights, or with 1 for each.
    pub fn distances(&self, source: usize, weighted: bool) -> Vec<u64> {
        let mut distances = vec![u64::MAX; self.out.len()];
        distances[source] = 0;
        for _ in 0..self.out.len() {
            for (v, list) in self.out.iter().enumerate() {
                for &(u, weight) in list {
                    let length = if weighted { weight } else { 1 };
                    distances[u] = distances[u].min(distances[v].saturating_add(length));
                }
            }
        }
        distances
    }

    pub fn labels(&self, iterations: usize) -> Vec<u64> {
        let lists = self.both();
        let mut labels: Vec<u64> = (0..self.out.len() as u64).collect();
        for _ in 0..iterations {
            let most = |(v, list): (usize, &Vec<usize>)| {
                let mut counts = BTreeMap::new();
                list.iter().for_each(|&u| *counts.entry(labels[u]).or_insert(0) += 1);
                let best = counts.into_iter().max_by_key(|&(l, c)| (c, std::cmp::Reverse(l)));
                best.map_or(labels[v], |(label, _)| label)
            };
            labels = lists.iter().enumerate().map(most).collect();
        }
        labels
    }

    pub fn found_cores(&self, threads: usize) -> Vec<Values> {
        self.run(&ShardAlgorithm::Kcore, threads, vec![], |superstep, reports| {
            let goes_on = any(reports, "sent") || any(reports, "waiting");
            (superstep == 0 || goes_on).then(Vec::new)
        })
    }

    pub fn cores(&self) -> Vec<u32> {
        let lists = self.both();
        let mut cores = vec![0; lists.len()];
        let mut is_alive = vec![true; lists.len()];
        for k in 0.. {
            if !is_alive.contains(&true) {
                return cores;
            }
            loop {
                let left = |v: usize| lists[v].iter().filter(|&&u| u != v && is_alive[u]).count();
                let gone: Vec<usize> =
                    (0..lists.len()).filter(|&v| is_alive[v] && left(v) <= k).collect();
                if gone.is_empty() {
                    break;
                }
                for v in gone {
                    (is_alive[v], cores[v]) = (false, k as u32);
                }
            }
        }
        unreachable!("each k removes a vertex, or there is none")
    }
}

/// One column of the parts of all shards.
fn joined(parts: Vec<Values>) -> Values {
    let all = parts.into_iter().reduce(|all, part| match (all, part) {
        (Values::U32(all), Values::U32(part)) => Values::U32([all, part].concat()),
        (Values::U64(all), Values::U64(part)) => Values::U64([all, part].concat()),
        (Values::F64(all), Values::F64(part)) => Values::F64([all, part].concat()),
        _ => panic!("columns of one type"),
    });
    all.expect("there is a shard")
}

fn bytes(positions: &[u32]) -> &[u8] {
    // As they lie in memory.
    let values = positions.iter().flat_map(|at| at.to_ne_bytes()).collect::<Vec<u8>>();
    Box::leak(values.into_boxed_slice())
}

pub fn any(reports: &[BTreeMap<&'static str, u64>], name: &str) -> bool {
    reports.iter().any(|report| report[name] > 0)
}

pub fn sum(reports: &[BTreeMap<&'static str, u64>], name: &str) -> u64 {
    reports.iter().fold(0, |sum, report| sum.wrapping_add(report[name]))
}
