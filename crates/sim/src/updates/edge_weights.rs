//! The weights of the edges of a history.

use std::collections::BTreeMap;

use cenote_store::{VertexId, Weight, WeightType};

use crate::random::Random;

/// Weights of edges, by vertex as the edges of a state. They are small integers, of which every
/// type of weights holds sums.
pub type EdgeWeights = BTreeMap<(VertexId, VertexId), u32>;

/// The type of the weights of the history of a seed; three of five have none.
pub(super) fn weight_type(seed: u64) -> Option<WeightType> {
    let at = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    (at % 5 < 2).then(|| WeightType::NAMES[at as usize % 4].1)
}

/// A number as a weight of a type.
pub(super) fn weight(kind: WeightType, number: u32) -> Weight {
    match kind {
        WeightType::F32 => Weight::F32(number as f32),
        WeightType::F64 => Weight::F64(number.into()),
        WeightType::U32 => Weight::U32(number),
        WeightType::I64 => Weight::I64(number.into()),
    }
}

/// The weight of a change: now and then one that takes more bytes than those of the import.
pub(super) fn any_number(random: &mut Random) -> u32 {
    let larger = [300, 70_000];
    if random.below(100) == 0 { random.pick(&larger) } else { small_number(random) }
}

fn small_number(random: &mut Random) -> u32 {
    random.below(20) as u32
}

/// A weight for each edge, of one byte.
pub(super) fn random_weights<'e>(
    edges: impl IntoIterator<Item = &'e (VertexId, VertexId)>,
    random: &mut Random,
) -> EdgeWeights {
    edges.into_iter().map(|&edge| (edge, small_number(random))).collect()
}
