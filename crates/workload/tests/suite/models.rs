//! Properties of the generated graphs.

use std::error::Error;

use cenote_workload::ba::{Ba, BaConfig};
use cenote_workload::grid::{Grid, GridConfig};
use cenote_workload::kron::{Kron, KronConfig};
use cenote_workload::smallworld::{SmallWorld, SmallWorldConfig};
use cenote_workload::uniform::{Uniform, UniformConfig};
use cenote_workload::{Edge, EdgeSource, WorkloadError, stream};

fn all(source: &dyn EdgeSource) -> Vec<Edge> {
    let mut edges = Vec::new();
    source.fill(0..source.edges(), &mut edges);
    assert_eq!(edges.len() as u64, source.edges());
    edges
}

fn degrees(source: &dyn EdgeSource) -> Vec<u64> {
    let mut degrees = vec![0; source.vertices() as usize];
    for vertex in all(source).into_iter().flatten() {
        degrees[vertex as usize] += 1;
    }
    degrees
}

/// One graph of every model.
fn models(seed: u64) -> Vec<Box<dyn EdgeSource>> {
    let probability = 0.1;
    vec![
        Box::new(Kron::new(KronConfig::default().scale(13).seed(seed)).expect("valid")),
        Box::new(Uniform::new(UniformConfig::new(9_001, 150_000).seed(seed)).expect("valid")),
        Box::new(Ba::new(BaConfig::new(20_000, 9).seed(seed)).expect("valid")),
        Box::new(Grid::new(GridConfig::new(301, 257)).expect("valid")),
        Box::new(
            SmallWorld::new(SmallWorldConfig::new(30_000, 10, probability).seed(seed))
                .expect("valid"),
        ),
    ]
}

#[test]
fn the_thread_count_does_not_change_the_edges() {
    for model in models(3) {
        let expected = all(model.as_ref());
        for threads in [1, 2, 3, 7] {
            let mut found = Vec::new();
            stream::for_each_in_order(model.as_ref(), threads, <[Edge]>::to_vec, |count, edges| {
                assert_eq!(count, edges.len() as u64);
                found.extend(edges);
                Ok::<(), WorkloadError>(())
            })
            .unwrap();
            assert!(found == expected, "{model:?} on {threads} threads");
        }
    }
}

#[test]
fn any_part_equals_the_same_part_of_the_whole() {
    for model in models(4) {
        let whole = all(model.as_ref());
        for start in [0, 1, 17, whole.len() - 5] {
            let mut part = Vec::new();
            model.fill(start as u64..start as u64 + 5, &mut part);
            assert_eq!(part, whole[start..start + 5], "{model:?} from {start}");
        }
    }
}

#[test]
fn vertices_stay_below_the_stated_number() {
    for model in models(5) {
        let largest = all(model.as_ref()).into_iter().flatten().max().unwrap();
        assert!(u64::from(largest) < model.vertices(), "{model:?}: vertex {largest}");
    }
}

#[test]
fn another_seed_is_another_graph() {
    let (first, second) = (models(1), models(2));
    for (one, other) in first.iter().zip(&second) {
        let random = !format!("{one:?}").starts_with("Grid");
        assert_eq!(all(one.as_ref()) != all(other.as_ref()), random, "{one:?}");
    }
}

#[test]
fn a_consumer_that_fails_ends_the_stream() {
    let model = models(1).remove(0);
    let mut taken = 0;
    let result = stream::for_each_in_order(model.as_ref(), 2, <[Edge]>::len, |_, _| {
        taken += 1;
        if taken == 2 { Err(Box::<dyn Error>::from("enough")) } else { Ok(()) }
    });
    assert_eq!((result.unwrap_err().to_string().as_str(), taken), ("enough", 2));
}

#[test]
fn kron_has_hubs_and_permutation_keeps_the_degrees() {
    let config = |permute| KronConfig::default().scale(14).permute(permute);
    let plain = degrees(&Kron::new(config(false)).unwrap());
    let permuted = degrees(&Kron::new(config(true)).unwrap());
    let hub = *plain.iter().max().unwrap();
    assert_eq!(plain[0], hub, "vertex 0 is the hub while labels are not permuted");
    // E[degree of 0] = 2 m .76^14 = 11,220.
    assert!((10_800..11_700).contains(&hub), "hub of degree {hub}");
    let sorted = |mut degrees: Vec<u64>| {
        degrees.sort_unstable();
        degrees
    };
    assert_ne!(plain, permuted);
    assert_eq!(sorted(plain), sorted(permuted));
}

#[test]
fn kron_without_neighbours_is_as_common_as_in_graph500() {
    // A vertex whose label has k ones is drawn with chance .76^(16-k) .24^k at each of 2 m ends.
    let degrees = degrees(&Kron::new(KronConfig::default().scale(16)).unwrap());
    let found = degrees.iter().filter(|&&degree| degree == 0).count() as f64;
    let draws = 2.0 * 16.0 * 65_536.0;
    let expected: f64 = (0..=16)
        .map(|ones: i32| {
            let chance = 0.76f64.powi(16 - ones) * 0.24f64.powi(ones);
            binomial(16, ones as u64) * (1.0 - chance).powf(draws)
        })
        .sum();
    assert!((found - expected).abs() < 0.02 * expected, "{found} found, {expected} expected");
}

fn binomial(n: u64, k: u64) -> f64 {
    (0..k).map(|i| (n - i) as f64 / (i + 1) as f64).product()
}

#[test]
fn uniform_degrees_are_poisson() {
    let config = UniformConfig::new(100_000, 500_000).seed(9);
    let degrees = degrees(&Uniform::new(config).unwrap());
    let variance = degrees.iter().map(|&degree| (degree as f64 - 10.0).powi(2)).sum::<f64>() / 1e5;
    // Mean 10 by construction; Poisson: variance 10, with a spread of 0.047 over the sample.
    assert!((variance - 10.0).abs() < 0.25, "variance {variance}");
    let probability =
        |degree: u64| (1..=degree).fold((-10.0f64).exp(), |mass, i| mass * 10.0 / i as f64);
    let chi: f64 = (3..=20)
        .map(|degree| {
            let expected = probability(degree) * 1e5;
            let found = degrees.iter().filter(|&&d| d == degree).count() as f64;
            (found - expected).powi(2) / expected
        })
        .sum();
    assert!(chi < 50.0, "chi squared {chi} over 18 classes");
}

#[test]
fn ba_degrees_fall_with_the_third_power() {
    let (vertices, edges_per_vertex) = (200_000, 4);
    let degrees = degrees(&Ba::new(BaConfig::new(vertices, edges_per_vertex).seed(2)).unwrap());
    assert!(degrees[1..].iter().all(|&degree| degree >= edges_per_vertex));
    // Bollobas et al.: P(degree >= d) = m (m + 1) / (d (d + 1)) for d >= m.
    for least in [8u64, 16, 32, 64] {
        let found = degrees.iter().filter(|&&degree| degree >= least).count() as f64;
        let expected = vertices as f64 * 20.0 / (least * (least + 1)) as f64;
        assert!((found / expected - 1.0).abs() < 0.08, "degree >= {least}: {found}, {expected}");
    }
}

#[test]
fn ba_targets_are_older_than_their_sources() {
    let config = BaConfig::new(50_000, 3).seed(8);
    for [source, target] in all(&Ba::new(config).unwrap()) {
        assert!(target < source, "{source} attached to {target}");
    }
}

#[test]
fn grid_degrees_are_those_of_corners_rims_and_inside() {
    let grid = Grid::new(GridConfig::new(5, 7)).unwrap();
    let mut counts = [0; 5];
    for degree in degrees(&grid) {
        counts[degree as usize] += 1;
    }
    assert_eq!(counts, [0, 0, 4, 2 * 3 + 2 * 5, 3 * 5]);
    assert_eq!(grid.edges(), 5 * 6 + 4 * 7);
}

#[test]
fn a_grid_of_one_row_or_column_is_a_path() {
    let row = Grid::new(GridConfig::new(1, 4)).unwrap();
    assert_eq!(all(&row), [[0, 1], [1, 2], [2, 3]]);
    let column = Grid::new(GridConfig::new(4, 1)).unwrap();
    assert_eq!(all(&column), [[0, 1], [1, 2], [2, 3]]);
}

#[test]
fn smallworld_rewires_its_share_of_the_edges() {
    let (vertices, neighbors) = (100_000u64, 6);
    for probability in [0.0, 0.25, 1.0] {
        let config = SmallWorldConfig::new(vertices, neighbors, probability).seed(6);
        let edges = all(&SmallWorld::new(config).unwrap());
        assert_eq!(edges.len() as u64, vertices * 3);
        let far = edges
            .iter()
            .filter(|[source, target]| {
                let step = (u64::from(*target) + vertices - u64::from(*source)) % vertices;
                assert_ne!(step, 0, "a self-loop");
                step > 3
            })
            .count() as f64;
        let expected = probability * 3e5;
        assert!((far - expected).abs() <= 0.01 * expected + 10.0, "p {probability}: {far} far");
    }
}

#[test]
fn parameters_outside_their_limits_are_named() {
    let refused = |result: Result<(), WorkloadError>, words: &str| {
        let message = result.unwrap_err().to_string();
        assert!(message.starts_with(words), "{message}");
    };
    let kron = |scale, edge_factor| {
        Kron::new(KronConfig::default().scale(scale).edge_factor(edge_factor)).map(drop)
    };
    refused(kron(0, 16), "scale is 0: expected 1 to 32");
    refused(kron(33, 16), "scale is 33");
    refused(kron(20, 0), "edge-factor is 0");
    let ring = |vertices, neighbors, probability| {
        SmallWorld::new(SmallWorldConfig::new(vertices, neighbors, probability).seed(0)).map(drop)
    };
    refused(ring(10, 3, 0.1), "neighbors is 3");
    refused(ring(10, 10, 0.1), "neighbors is 10");
    refused(ring(10, 4, f64::NAN), "probability is NaN");
    refused(ring(10, 4, -0.5), "probability is -0.5");
    refused(Grid::new(GridConfig::new(1, 1)).map(drop), "rows x columns is 1 x 1");
    refused(Grid::new(GridConfig::new(u64::MAX, 2)).map(drop), "rows x columns");
    let ba = BaConfig::new(1, 1).seed(0);
    refused(Ba::new(ba).map(drop), "vertices is 1");
}
