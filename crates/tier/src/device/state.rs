//! The state that a worker saves between runs: the policy's state, and the tier of each block as
//! known to the policy.
//!
//! Little-endian: magic (8 bytes), checksum (4), version (4), the set's id (16), blocks (4), bytes
//! of the policy's name (4) and of its state (8); then the name, a byte for each block's tier, the
//! state. The checksum is CRC-32C over the set's id and all bytes but the first four and its own.

use super::error::{Result, TieredError};
use super::header::SetId;
use super::page::checksum;
use crate::placement::Tier;

const MAGIC: [u8; 8] = *b"\x89CTHEAT\n";
const VERSION: u32 = 1;
const HEAD_BYTES: usize = 48;

/// A worker's saved state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct State {
    /// The policy's name and options as given.
    pub(super) policy: String,
    /// The tier of each block as known to the policy.
    pub(super) map: Vec<Tier>,
    /// The policy's own state.
    pub(super) knowledge: Vec<u8>,
}

impl State {
    pub(super) fn encode(&self, set: &SetId) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(
            HEAD_BYTES + self.policy.len() + self.map.len() + self.knowledge.len(),
        );
        bytes.extend(MAGIC);
        bytes.extend([0; 4]);
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend(set);
        bytes.extend((self.map.len() as u32).to_le_bytes());
        bytes.extend((self.policy.len() as u32).to_le_bytes());
        bytes.extend((self.knowledge.len() as u64).to_le_bytes());
        bytes.extend(self.policy.as_bytes());
        bytes.extend(&self.map);
        bytes.extend(&self.knowledge);
        let sum = checksum(set, &bytes[4..]);
        bytes[8..12].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// Decodes a state of this set and policy, saved while the device had at most `blocks`
    /// blocks.
    ///
    /// # Errors
    /// [`TieredError::State`] if it cannot be used.
    pub(super) fn decode(bytes: &[u8], set: &SetId, policy: &str, blocks: u32) -> Result<Self> {
        let state = Self::parse(bytes, set).map_err(|reason| TieredError::State { reason })?;
        let wrong = |reason| Err(TieredError::State { reason });
        if state.policy != policy {
            return wrong(format!("it is of the policy '{}', not of '{policy}'", state.policy));
        }
        if state.map.len() > blocks as usize {
            return wrong(format!("it is of {} blocks, there are {blocks}", state.map.len()));
        }
        Ok(state)
    }

    fn parse(bytes: &[u8], set: &SetId) -> std::result::Result<Self, String> {
        let damaged = || "it is damaged".to_owned();
        if bytes.get(..8) != Some(&MAGIC[..]) {
            return Err("it is none".into());
        }
        let Some((head, rest)) = bytes.split_at_checked(HEAD_BYTES) else {
            return Err(damaged());
        };
        let word = |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().expect("four bytes"));
        if word(12) != VERSION {
            return Err(format!("format version {}, this program knows {VERSION}", word(12)));
        }
        if head[16..32] != set[..] {
            return Err("it is of another graph".into());
        }
        if word(8) != checksum(set, &bytes[4..]) {
            return Err(damaged());
        }
        let knowledge = u64::from_le_bytes(head[40..48].try_into().expect("eight bytes"));
        let (blocks, name) = (word(32) as usize, word(36) as usize);
        if (blocks + name) as u64 + knowledge != rest.len() as u64 {
            return Err(damaged());
        }
        let (name, rest) = rest.split_at(name);
        let (map, knowledge) = rest.split_at(blocks);
        let policy = String::from_utf8(name.to_vec()).map_err(|_| damaged())?;
        Ok(Self { policy, map: map.to_vec(), knowledge: knowledge.to_vec() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_read_as_it_was_kept_and_refused_where_it_does_not_belong() {
        let state = State { policy: "tlru".into(), map: vec![0, 2, 1], knowledge: vec![9; 50] };
        let (set, other) = ([5; 16], [6; 16]);
        let bytes = state.encode(&set);
        let decoded = |bytes: &[u8], set, policy, blocks| {
            State::decode(bytes, set, policy, blocks).map_err(|error| error.to_string())
        };
        assert_eq!(decoded(&bytes, &set, "tlru", 3).as_ref(), Ok(&state));
        for (set, policy, blocks, reason) in [
            (&other, "tlru", 3, "another graph"),
            (&set, "tlfu", 3, "not of 'tlfu'"),
            (&set, "tlru", 2, "there are 2"),
        ] {
            let error = decoded(&bytes, set, policy, blocks).unwrap_err();
            assert!(error.contains(reason), "{error}");
        }
        for len in 0..bytes.len() {
            assert!(decoded(&bytes[..len], &set, "tlru", 3).is_err(), "{len} bytes");
        }
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << (at % 8);
            assert!(decoded(&damaged, &set, "tlru", 3).is_err(), "byte {at}");
        }
    }
}
