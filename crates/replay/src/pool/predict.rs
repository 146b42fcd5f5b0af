//! Predictions of a replay's cost by the device's model.

use cenote_device::Op;
use cenote_device::model::DeviceModel;

/// A replay's requests to its device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requests {
    /// Pages read, prefetched ones included.
    pub reads: u64,
    /// Batches of concurrent reads: a miss with its prefetched pages is one.
    pub read_batches: u64,
    /// Write batches by their number of pages; the index is the number.
    pub write_batches: Vec<u64>,
}

impl Requests {
    /// Batches of writes.
    pub fn batches(&self) -> u64 {
        self.write_batches.iter().sum()
    }

    /// Pages written.
    pub fn writes(&self) -> u64 {
        self.sizes().map(|(pages, count)| pages * count).sum()
    }

    /// Pages of a batch, and batches of that many.
    fn sizes(&self) -> impl Iterator<Item = (u64, u64)> {
        (0..).zip(self.write_batches.iter().copied())
    }

    /// Turns of the device with writes in PIO: one for each k_w pages of a batch.
    fn write_turns(&self, k_w: u32) -> u64 {
        self.sizes().map(|(pages, count)| pages.div_ceil(u64::from(k_w)) * count).sum()
    }

    /// Cost in reads by PIO: a batch of reads costs 1, one of up to k_w writes alpha.
    pub fn cost(&self, alpha: f64, k_w: u32) -> f64 {
        self.read_batches as f64 + alpha * self.write_turns(k_w) as f64
    }

    /// Speedup of these requests in PIO over the same pages one by one.
    pub fn pio_speedup(&self, alpha: f64, k_w: u32) -> f64 {
        let one_by_one = self.reads as f64 + alpha * self.writes() as f64;
        ratio(one_by_one, self.cost(alpha, k_w))
    }

    /// The same by the device's curves: pages one by one at depth 1, a batch of n writes at depth
    /// n.
    pub fn curve_speedup(&self, model: &DeviceModel, page_bytes: u64) -> f64 {
        let alone = |op| 1.0 / model.iops(op, page_bytes, 1);
        let (read, write) = (alone(Op::Read), alone(Op::Write));
        let at_once = |pages: u32| f64::from(pages) / model.iops(Op::Write, page_bytes, pages);
        let batches = (0..).zip(&self.write_batches).skip(1);
        let batched: f64 = batches.map(|(pages, &count)| count as f64 * at_once(pages)).sum();
        let one_by_one = self.reads as f64 * read + self.writes() as f64 * write;
        ratio(one_by_one, self.read_batches as f64 * read + batched)
    }
}

/// The ratio, or 1 if there were no requests.
fn ratio(before: f64, after: f64) -> f64 {
    if after == 0.0 { 1.0 } else { before / after }
}

#[cfg(test)]
mod tests {
    use cenote_device::model::{Pio, preset::Preset};

    use super::*;

    fn requests(write_batches: &[u64]) -> Requests {
        Requests { reads: 100, read_batches: 100, write_batches: write_batches.to_vec() }
    }

    #[test]
    fn the_dissertations_example_is_exact() {
        // Half reads, half writes, alpha = k_w = 8: 4.5 (section 3.2.1). 104 of each.
        let batches = [0, 0, 0, 0, 0, 0, 0, 0, 13];
        let even = Requests { reads: 104, read_batches: 104, ..requests(&batches) };
        assert_eq!(even.pio_speedup(8.0, 8), 4.5);
        assert_eq!(even.cost(8.0, 8), 208.0);
        let ideal = DeviceModel::pio("x", 4096, 10.0, &Pio::new(0, 8, 8, 8.0));
        assert!((even.curve_speedup(&ideal, 4096) - 4.5).abs() < 1e-9);
    }

    #[test]
    fn one_by_one_nothing_is_gained() {
        let classical = requests(&[0, 50]);
        assert_eq!(classical.pio_speedup(2.8, 8), 1.0);
        let model = Preset::by_name("p4510").unwrap().model();
        assert!((classical.curve_speedup(&model, 4096) - 1.0).abs() < 1e-9);
        assert_eq!(Requests::default().pio_speedup(2.0, 4), 1.0);
    }

    #[test]
    fn batches_beyond_the_concurrency_take_another_turn() {
        let nine = requests(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 10]);
        assert_eq!((nine.writes(), nine.batches()), (90, 10));
        assert_eq!(nine.cost(2.0, 8), 140.0);
        assert_eq!(nine.cost(2.0, 9), 120.0);
    }

    #[test]
    fn a_device_whose_writes_gain_nothing_from_depth_predicts_no_gain() {
        let model = Preset::by_name("hdd-2t").unwrap().model();
        let eights = requests(&[0, 0, 0, 0, 0, 0, 0, 0, 10]);
        assert!((eights.curve_speedup(&model, 4096) - 1.0).abs() < 1e-9);
    }
}
