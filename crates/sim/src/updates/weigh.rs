//! Histories of graphs with weights.

use cenote_store::{Batch, Direction, Graph, Op, StoreError, VertexId, Weight, edges};

use super::edge_weights::{any_number, weight};
use super::history::{History, State};
use crate::random::Random;

/// Lists of fewer vertices are looked up one by one.
const LOOKED_UP_MAX: usize = 40;

impl History {
    /// Gives the changes of a batch weights if edges have some, and lets some set one.
    pub(super) fn weigh(&self, batch: &mut Batch, random: &mut Random) {
        let Some(kind) = self.options.weights else { return };
        for change in &mut batch.changes {
            let is_of_edge = matches!(change.op, Op::Add | Op::Delete);
            if is_of_edge && random.chance(25) {
                change.op = Op::Set;
            }
            let edge = self.edge(change);
            let number = match (change.op, self.last().weights.get(&edge)) {
                (Op::Delete, _) if random.chance(50) => None,
                (Op::Delete, Some(weight)) if random.chance(70) => Some(*weight),
                (Op::Add | Op::Delete | Op::Set, _) => Some(any_number(random)),
                _ => None,
            };
            batch.weights.push(number.map(|number| weight(kind, number)));
        }
    }

    /// The first difference between the weights of a graph and those of a state, if any.
    pub(super) fn weight_difference(
        &self,
        graph: &Graph,
        state: &State,
    ) -> Result<Option<String>, StoreError> {
        let Some(kind) = self.options.weights else { return Ok(None) };
        let expected: Vec<_> =
            state.weights.iter().map(|(&edge, &number)| (edge, weight(kind, number))).collect();
        let mut found = Vec::new();
        edges::for_each_edge(graph, &mut |_, _| {}, &mut |u, v, weight| {
            found.push(((u, v), weight.expect("the graph has weights")));
            Ok(())
        })?;
        if found != expected {
            return Ok(Some(format!("weights {found:?}, not {expected:?}")));
        }
        let vertices = graph.vertices();
        for direction in [Direction::Out, Direction::In] {
            if vertices > LOOKED_UP_MAX || graph.adjacency(direction).is_none() {
                continue;
            }
            for vertex in 0..vertices as VertexId {
                let (mut list, mut found) = (Vec::new(), Vec::new());
                graph.read_list(direction, vertex, &mut list)?;
                graph.read_weights(direction, vertex, &mut found)?;
                let weight = |&other: &VertexId| {
                    let (u, v) = match direction {
                        Direction::Out => (vertex, other),
                        Direction::In => (other, vertex),
                    };
                    let is_turned = !self.options.directed && u > v;
                    weight(kind, state.weights[&if is_turned { (v, u) } else { (u, v) }])
                };
                let expected: Vec<Weight> = list.iter().map(weight).collect();
                if found != expected {
                    let fault = format!("{direction:?} weights of {vertex}: {found:?}");
                    return Ok(Some(format!("{fault}, not {expected:?}")));
                }
            }
        }
        Ok(None)
    }
}
