//! Which labels another shard knows.

use super::{GIANT, NONE};
use crate::shards::exchange::{self, Message, Received};

/// The attached vertices of a list that is exchanged with another shard, and the labels that it
/// knows. A vertex leaves when the other shard knows that it is in the giant component.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// Positions in the list, ascending.
    positions: Vec<u32>,
    /// The label of each that the other shard knows.
    labels: Vec<u32>,
}

impl Known {
    /// The other shard knows no labels of these vertices.
    pub fn nothing_of(positions: Vec<u32>) -> Self {
        let labels = vec![NONE; positions.len()];
        Self { positions, labels }
    }

    /// The vertices of which a message has labels, which the sender knows.
    pub fn of(message: &Received<'_>) -> Self {
        let mut known = Self::default();
        exchange::for_each(message, |position, label: u32| {
            if label != NONE {
                known.positions.push(position as u32);
                known.labels.push(label);
            }
        });
        known
    }

    /// Notes that the other shard knows the labels that it has sent, of these vertices and others.
    pub fn note(&mut self, message: &Received<'_>) {
        let mut at = 0;
        exchange::for_each(message, |position, label: u32| {
            let is_before = |of: &&u32| (**of as usize) < position;
            at += self.positions[at..].iter().take_while(is_before).count();
            if label != NONE && self.positions.get(at) == Some(&(position as u32)) {
                self.labels[at] = label;
            }
        });
    }

    /// A message with the labels that the other shard does not know, for a list of `len` vertices.
    pub fn send(&mut self, len: usize, label: impl Fn(u32) -> u32) -> Option<Message> {
        let (mut positions, mut labels) = (Vec::new(), Vec::new());
        let mut kept = 0;
        for at in 0..self.positions.len() {
            let position = self.positions[at];
            let label = label(position);
            if label < self.labels[at] {
                positions.push(position);
                labels.push(label);
            }
            // No smaller label will follow.
            if label != GIANT {
                (self.positions[kept], self.labels[kept]) = (position, label);
                kept += 1;
            }
        }
        self.positions.truncate(kept);
        self.labels.truncate(kept);
        exchange::message(len, positions, labels, NONE)
    }
}
