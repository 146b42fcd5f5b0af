//! Chooses places of a list by random numbers that depend on its vertex's id and a seed alone.

use cenote_algo::mix::{GOLDEN, mix};
use cenote_store::Id;
use rustc_hash::FxHashSet;

/// Places among which a repeated one is found faster by comparing them all.
const COMPARED_MAX: usize = 64;

/// The key of the random numbers of a vertex.
pub(crate) fn key_of(id: &Id, seed: u64) -> u64 {
    let seed = mix(seed.wrapping_add(GOLDEN));
    match id {
        Id::Integer(id) => mix(seed ^ mix(id.wrapping_add(GOLDEN))),
        Id::String(id) => {
            let words = id.as_bytes().chunks(8).map(|part| {
                let mut word = [0; 8];
                word[..part.len()].copy_from_slice(part);
                u64::from_le_bytes(word)
            });
            let length = id.len() as u64;
            words.fold(mix(seed ^ length), |key, word| mix(key.wrapping_add(GOLDEN) ^ word))
        }
    }
}

/// The random number of a draw, uniform over all 64-bit integers.
fn random(key: u64, draw: usize) -> u64 {
    mix(key.wrapping_add((draw as u64 + 1).wrapping_mul(GOLDEN)))
}

/// A random number of a draw, uniform below a limit.
fn below(limit: u64, key: u64, draw: usize) -> u64 {
    ((u128::from(random(key, draw)) * u128::from(limit)) >> 64) as u64
}

/// A random number of a draw, above 0 and below 1.
fn uniform(key: u64, draw: usize) -> f64 {
    ((random(key, draw) >> 11) as f64 + 0.5) / (1u64 << 53) as f64
}

/// Appends at most `fanout` places of a list of so many entries, ascending.
pub(super) fn push_places(
    degree: u64,
    weights: Option<&[f64]>,
    fanout: usize,
    key: u64,
    replace: bool,
    places: &mut Vec<u64>,
) {
    let start = places.len();
    match (weights, replace) {
        (None, false) => return push_distinct(degree, fanout, key, places),
        (Some(weights), false) => return places.extend(distinct_by_weight(weights, fanout, key)),
        (None, true) if degree == 0 => {}
        (None, true) => places.extend((0..fanout).map(|draw| below(degree, key, draw))),
        (Some(weights), true) => places.extend(by_weight(weights, fanout, key)),
    }
    places[start..].sort_unstable();
}

/// Places, each with a probability proportional to its weight; none if there is no weight above 0.
fn by_weight(weights: &[f64], fanout: usize, key: u64) -> Vec<u64> {
    // Scaled, so that no sum is infinite.
    let largest = weights.iter().copied().fold(0.0, f64::max);
    if largest == 0.0 {
        return Vec::new();
    }
    let mut total = 0.0;
    let sums: Vec<f64> = weights
        .iter()
        .map(|weight| {
            total += weight / largest;
            total
        })
        .collect();
    let place = |draw| {
        let point = uniform(key, draw) * total;
        // The last place with a weight, if rounding makes the point the total.
        let last = sums.partition_point(|sum| *sum < total);
        sums.partition_point(|sum| *sum <= point).min(last) as u64
    };
    (0..fanout).map(place).collect()
}

/// At most `fanout` places with a weight above 0, ascending, by the smallest of the exponential
/// keys of Efraimidis and Spirakis (IPL 2006).
fn distinct_by_weight(weights: &[f64], fanout: usize, key: u64) -> Vec<u64> {
    let positive = weights.iter().enumerate().filter(|(_, weight)| **weight > 0.0);
    let mut keys: Vec<(f64, usize)> =
        positive.map(|(place, weight)| (-uniform(key, place).ln() / weight, place)).collect();
    if fanout < keys.len() {
        keys.select_nth_unstable_by(fanout, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        keys.truncate(fanout);
    }
    let mut places: Vec<u64> = keys.into_iter().map(|(_, place)| place as u64).collect();
    places.sort_unstable();
    places
}

/// Appends at most `fanout` places of a list, ascending, each set of them equally likely: Floyd's
/// sampling (Bentley and Floyd, CACM 1987).
fn push_distinct(degree: u64, fanout: usize, key: u64, places: &mut Vec<u64>) {
    let start = places.len();
    let Some(first) = degree.checked_sub(fanout as u64).filter(|first| *first > 0) else {
        return places.extend(0..degree);
    };
    let mut many = FxHashSet::default();
    for (draw, last) in (first..degree).enumerate() {
        let place = below(last + 1, key, draw);
        let is_again = match fanout {
            ..=COMPARED_MAX => places[start..].contains(&place),
            // All others are less than `last`.
            _ => !many.insert(place) && many.insert(last),
        };
        places.push(if is_again { last } else { place });
    }
    places[start..].sort_unstable();
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeSet, HashMap};

    use super::*;

    fn places(
        degree: u64,
        weights: Option<&[f64]>,
        fanout: usize,
        key: u64,
        replace: bool,
    ) -> Vec<u64> {
        let mut places = vec![9];
        push_places(degree, weights, fanout, key, replace, &mut places);
        assert_eq!(places.remove(0), 9, "those before stay");
        places
    }

    #[test]
    fn each_set_of_places_is_equally_likely() {
        let mut counts: HashMap<Vec<u64>, u64> = HashMap::new();
        let trials = 60_000;
        for vertex in 0..trials {
            let chosen = places(5, None, 2, key_of(&Id::Integer(vertex), 3), false);
            *counts.entry(chosen).or_default() += 1;
        }
        // Ten sets; the expected count is 6,000, its standard deviation 73.
        assert_eq!(counts.len(), 10);
        assert!(counts.values().all(|count| count.abs_diff(trials / 10) < 400), "{counts:?}");
    }

    /// Counts of the chosen places over many vertices.
    fn counts(weights: Option<&[f64]>, fanout: usize, replace: bool) -> HashMap<Vec<u64>, u64> {
        let mut counts = HashMap::new();
        for vertex in 0..60_000 {
            let key = key_of(&Id::Integer(vertex), 3);
            *counts.entry(places(4, weights, fanout, key, replace)).or_default() += 1;
        }
        counts
    }

    /// Pearson's statistic of counts against probabilities.
    fn chi_squared(counts: &HashMap<Vec<u64>, u64>, expected: &[(&[u64], f64)]) -> f64 {
        let of = |(places, share): &(&[u64], f64)| {
            let count = counts.get(*places).copied().unwrap_or(0) as f64;
            (count - share * 60_000.0).powi(2) / (share * 60_000.0)
        };
        assert_eq!(counts.len(), expected.len(), "{counts:?}");
        expected.iter().map(of).sum()
    }

    #[test]
    fn places_are_chosen_in_proportion_to_weights() {
        let weights: &[f64] = &[1.0, 2.0, 0.0, 5.0];
        // One after the other: the set {a, b} has wa wb (1 / (8 - wa) + 1 / (8 - wb)) / 8.
        let pair = |a: f64, b: f64| a * b * (1.0 / (8.0 - a) + 1.0 / (8.0 - b)) / 8.0;
        let sets: [(&[u64], f64); 3] =
            [(&[0, 1], pair(1.0, 2.0)), (&[0, 3], pair(1.0, 5.0)), (&[1, 3], pair(2.0, 5.0))];
        let statistic = chi_squared(&counts(Some(weights), 2, false), &sets);
        assert!(statistic < 13.8, "{statistic}: two degrees of freedom, one in a thousand");
        let singles: [(&[u64], f64); 3] = [(&[0], 0.125), (&[1], 0.25), (&[3], 0.625)];
        for replace in [false, true] {
            let statistic = chi_squared(&counts(Some(weights), 1, replace), &singles);
            assert!(statistic < 13.8, "{statistic}, {replace}");
        }
        let uniform: [(&[u64], f64); 4] = [(&[0], 0.25), (&[1], 0.25), (&[2], 0.25), (&[3], 0.25)];
        let statistic = chi_squared(&counts(None, 1, true), &uniform);
        assert!(statistic < 16.3, "{statistic}: three degrees of freedom");
    }

    #[test]
    fn odd_weights_choose_what_they_can() {
        let key = 1;
        assert_eq!(places(3, Some(&[0.0, 0.0, 0.0]), 2, key, true), [0_u64; 0]);
        assert_eq!(places(3, Some(&[0.0, 1e-300, 0.0]), 2, key, true), [1, 1]);
        assert_eq!(places(3, Some(&[0.0, 1e-300, 0.0]), 2, key, false), [1]);
        assert_eq!(places(2, Some(&[f64::MAX, f64::MAX]), 9, key, false), [0, 1]);
        assert_eq!(places(2, Some(&[f64::MAX, f64::MAX]), 9, key, true).len(), 9);
        assert_eq!(
            (places(0, None, 3, key, true), places(0, Some(&[]), 3, key, false)),
            (vec![], vec![])
        );
        let repeated = places(2, None, 50, key, true);
        assert!(repeated.len() == 50 && repeated.is_sorted() && repeated.contains(&1));
    }

    #[test]
    fn many_places_are_found_as_few_are() {
        // Floyd's sampling as it is written, by a set in order.
        let floyd = |degree: u64, fanout: usize, key| {
            let mut chosen = BTreeSet::new();
            for (draw, last) in (degree - fanout as u64..degree).enumerate() {
                let place = below(last + 1, key, draw);
                if !chosen.insert(place) {
                    chosen.insert(last);
                }
            }
            chosen.into_iter().collect::<Vec<_>>()
        };
        for (degree, fanout) in [(11, 10), (65, 64), (66, 65), (300, 200), (1 << 40, 100)] {
            for key in 0..50 {
                let found = places(degree, None, fanout, mix(key), false);
                assert_eq!(found, floyd(degree, fanout, mix(key)), "{fanout} of {degree}");
            }
        }
        assert_eq!(places(3, None, 3, 1, false), [0, 1, 2]);
        assert_eq!(places(3, None, usize::MAX, 1, false), [0, 1, 2]);
    }

    #[test]
    fn names_have_different_keys() {
        let names = ["a", "b", "ab", "aa", "a\u{1}", "abcdefgh", "abcdefghi", ""];
        let keys: BTreeSet<u64> =
            names.iter().map(|name| key_of(&Id::String((*name).into()), 1)).collect();
        assert_eq!(keys.len(), names.len());
    }
}
