//! Buffers for the parts of requests that are split.

use cenote_device::Buffer;

use super::page::PAGE_BYTES;

/// Gaps that a request reads through are at most its bytes divided by this.
pub(super) const READ_THROUGH_DIVISOR: usize = 2;

/// Most bytes of the buffers for the parts of one request of `bytes`, with the gaps and a quarter
/// more for size classes.
pub(super) fn parts_bytes(bytes: usize) -> usize {
    let most = bytes + bytes / READ_THROUGH_DIVISOR;
    most + most / 4 + 4 * PAGE_BYTES
}

/// A cache of buffers for parts of requests. Size classes are 5 to 8 times powers of two, in pages;
/// no more is kept than the requests in flight may need.
#[derive(Default)]
pub(super) struct Buffers {
    free: Vec<Vec<Buffer>>,
    free_bytes: usize,
    used_bytes: usize,
    /// Most bytes in all, by the largest request so far.
    limit: usize,
}

/// The size class for `bytes`: its size and number.
fn class_of(bytes: usize) -> (usize, usize) {
    let pages = bytes.div_ceil(PAGE_BYTES).max(1);
    let power = pages.next_power_of_two();
    if power < 8 {
        return (pages * PAGE_BYTES, pages);
    }
    let quarters = pages.div_ceil(power / 8);
    let class = 4 * power.trailing_zeros() as usize + quarters;
    (quarters * (power / 8) * PAGE_BYTES, class)
}

impl Buffers {
    /// Raises the limit for `depth` requests of `bytes`.
    pub(super) fn expect(&mut self, depth: usize, bytes: usize) {
        self.limit = self.limit.max(depth * parts_bytes(bytes));
    }

    pub(super) fn take(&mut self, bytes: usize) -> cenote_device::Result<Buffer> {
        let (bytes, class) = class_of(bytes);
        if let Some(buffer) = self.free.get_mut(class).and_then(Vec::pop) {
            self.free_bytes -= bytes;
            self.used_bytes += bytes;
            return Ok(buffer);
        }
        for kept in self.free.iter_mut().rev() {
            while self.used_bytes + self.free_bytes + bytes > self.limit {
                let Some(buffer) = kept.pop() else { break };
                self.free_bytes -= buffer.len();
            }
        }
        let buffer = Buffer::new(bytes)?;
        self.used_bytes += bytes;
        debug_assert!(self.used_bytes <= self.limit, "the limit covers all requests in flight");
        Ok(buffer)
    }

    pub(super) fn give_back(&mut self, buffer: Buffer) {
        let (bytes, class) = class_of(buffer.len());
        if self.free.len() <= class {
            self.free.resize_with(class + 1, Vec::new);
        }
        self.used_bytes -= bytes;
        self.free_bytes += bytes;
        self.free[class].push(buffer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_waste_a_quarter_at_most_and_each_has_a_number() {
        let mut before = (0, usize::MAX);
        for pages in 1..600 {
            let (bytes, class) = class_of(pages * PAGE_BYTES);
            assert!(bytes >= pages * PAGE_BYTES && bytes <= pages * PAGE_BYTES * 5 / 4);
            assert_eq!(class_of(bytes), (bytes, class), "a size is its own");
            assert_eq!(bytes == before.0, class == before.1, "{pages} pages");
            before = (bytes, class);
        }
    }

    #[test]
    fn no_more_is_kept_than_requests_can_ask_for() {
        let mut buffers = Buffers::default();
        buffers.expect(4, 1 << 16);
        for round in 0..50 {
            let taken: Vec<_> =
                (1..5).map(|at| buffers.take((round % 13 + at) * PAGE_BYTES).unwrap()).collect();
            taken.into_iter().for_each(|buffer| buffers.give_back(buffer));
            let kept: usize = buffers.free.iter().flatten().map(|buffer| buffer.len()).sum();
            assert_eq!((kept, buffers.used_bytes), (buffers.free_bytes, 0));
            assert!(kept <= 4 * parts_bytes(1 << 16), "{kept} bytes in round {round}");
        }
    }
}
