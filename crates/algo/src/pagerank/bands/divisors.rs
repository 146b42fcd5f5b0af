//! What the ranks of a window are divided by to get shares.

use cenote_engine::StateFile;

/// For each vertex of a window its out-degree or, by weight, the sum of the weights of its
/// out-list.
#[derive(Debug)]
pub(super) enum Divisors {
    Degrees(Vec<u32>),
    Totals(Vec<f64>),
}

impl Divisors {
    /// Bytes of a divisor.
    pub const fn bytes(weighted: bool) -> usize {
        if weighted { size_of::<f64>() } else { size_of::<u32>() }
    }

    /// None yet, with room for so many.
    pub fn with_capacity(weighted: bool, capacity: usize) -> Self {
        match weighted {
            true => Divisors::Totals(Vec::with_capacity(capacity)),
            false => Divisors::Degrees(Vec::with_capacity(capacity)),
        }
    }

    /// Moves them out, and leaves none.
    pub fn take(&mut self) -> Self {
        match self {
            Divisors::Degrees(degrees) => Divisors::Degrees(std::mem::take(degrees)),
            Divisors::Totals(totals) => Divisors::Totals(std::mem::take(totals)),
        }
    }

    pub fn push(&mut self, divisor: f64) {
        match self {
            Divisors::Degrees(degrees) => degrees.push(divisor as u32),
            Divisors::Totals(totals) => totals.push(divisor),
        }
    }

    pub fn clear(&mut self) {
        match self {
            Divisors::Degrees(degrees) => degrees.clear(),
            Divisors::Totals(totals) => totals.clear(),
        }
    }

    pub fn resize(&mut self, len: usize) {
        match self {
            Divisors::Degrees(degrees) => degrees.resize(len, 0),
            Divisors::Totals(totals) => totals.resize(len, 0.0),
        }
    }

    /// That of the vertex at a place of the window.
    #[inline(always)]
    pub fn of(&self, at: usize) -> f64 {
        match self {
            Divisors::Degrees(degrees) => f64::from(degrees[at]),
            Divisors::Totals(totals) => totals[at],
        }
    }

    /// Reads as many as there are from an array that begins at `place`, from `first` on.
    pub fn read(&mut self, file: &StateFile, place: u64, first: u64) -> cenote_engine::Result<()> {
        match self {
            Divisors::Degrees(degrees) => file.read(place + 4 * first, degrees),
            Divisors::Totals(totals) => file.read(place + 8 * first, totals),
        }
    }

    /// Writes them to where [`Self::read`] finds them.
    pub fn write(&self, file: &StateFile, place: u64, first: u64) -> cenote_engine::Result<()> {
        match self {
            Divisors::Degrees(degrees) => file.write(place + 4 * first, degrees),
            Divisors::Totals(totals) => file.write(place + 8 * first, totals),
        }
    }
}
