//! [`Graph::msf`](crate::Graph::msf).

use cenote_algo::msf::{self, ForestEdge, Total};
use cenote_store::{Ids, Weight, WeightType};
use serde::{Serialize, Serializer};

use crate::error::Result;
use crate::run::{Algorithm, Column, Job, Listed};

/// A minimum spanning forest; [`cenote_algo::msf`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Msf;

/// Summary of a minimum spanning forest.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct MsfSummary {
    /// Edges of the forest.
    pub edges: u64,
    /// Components, those of one vertex included.
    pub components: u64,
    /// The sum of the weights.
    #[serde(serialize_with = "number")]
    pub weight: Total,
}

/// An integer, if it has at most 64 bits, else a float.
fn number<S: Serializer>(total: &Total, serializer: S) -> Result<S::Ok, S::Error> {
    match *total {
        Total::Float(weight) => serializer.serialize_f64(weight),
        Total::Integer(weight) => match i64::try_from(weight) {
            Ok(weight) => serializer.serialize_i64(weight),
            Err(_) => serializer.serialize_f64(weight as f64),
        },
    }
}

impl Algorithm for Msf {
    const NAME: &'static str = "msf";
    type Config = ();
    type Output = msf::Msf;
    type Summary = MsfSummary;

    fn config(&self, _: &Job<'_>) -> Result<()> {
        Ok(())
    }

    calls!(msf: estimate() run() verify());

    fn iterations(found: &msf::Msf) -> u64 {
        found.passes
    }

    fn summary(_: &(), _: &Ids, found: &msf::Msf) -> Result<MsfSummary> {
        let edges = found.len() as u64;
        Ok(MsfSummary { edges, components: found.components, weight: found.total })
    }

    fn columns(found: &msf::Msf) -> Vec<Column<'_>> {
        let edge = |row: u32| -> ForestEdge { found.edge(row as usize) };
        let weight = match found.kind() {
            None | Some(WeightType::U32) => Column::count("weight", move |row| {
                Some(match edge(row).weight {
                    Weight::U32(weight) => weight.into(),
                    other => other.to_f64() as u64,
                })
            }),
            Some(WeightType::I64) => Column::signed("weight", move |row| match edge(row).weight {
                Weight::I64(weight) => weight,
                other => other.to_f64() as i64,
            }),
            Some(WeightType::F32 | WeightType::F64) => {
                Column::real("weight", move |row| edge(row).weight.to_f64())
            }
        };
        vec![Column::vertex("target", move |row| Some(edge(row).target)), weight]
    }

    fn rows(found: &msf::Msf) -> Option<Listed<'_>> {
        let vertex = Box::new(|row: u32| found.edge(row as usize).source);
        // A forest has fewer edges than vertices.
        Some(Listed { key: "source", count: found.len() as u32, vertex })
    }
}
