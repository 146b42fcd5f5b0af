//! Numbers of the names that a worker parses.

use crate::ids::strings::Dictionary;
use crate::parse::Fault;
use crate::parse::token::check_name;

/// A worker's look-ups in the dictionary of names.
pub(crate) struct NameNumbers<'a, 'b> {
    names: &'a Dictionary<'b>,
    /// The last two names with their numbers: sources often come in runs.
    last: [(Vec<u8>, u64); 2],
    turn: usize,
}

impl<'a, 'b> NameNumbers<'a, 'b> {
    pub fn new(names: &'a Dictionary<'b>) -> Self {
        Self { names, last: Default::default(), turn: 0 }
    }

    /// The number of a name, which the dictionary adds unless it is there.
    pub fn number(&mut self, token: &[u8]) -> Result<u64, Fault> {
        self.turn ^= 1;
        let (last, last_number) = &mut self.last[self.turn];
        if last == token && !token.is_empty() {
            return Ok(*last_number);
        }
        check_name(token)?;
        let number = self.names.intern(token)?;
        last.clear();
        last.extend_from_slice(token);
        *last_number = number;
        Ok(number)
    }
}
