//! A device's performance as plain data: written by the profiler, read by the planner, obeyed by
//! the simulated device.
//!
//! - [`DeviceModel`]: throughput and latency of a device by operation, size and concurrency
//! - [`Pio`]: the parameters of the Parametric I/O Model
//! - [`preset`]: the devices of the papers
//! - [`knee`]: the rule that finds k in a curve
//!
//! Alpha has two meanings. In presets and profiles it is the ratio of the greatest read and the
//! greatest write bandwidth (dissertation 2.5.8). In PIO it is the cost of one write in reads. They
//! agree only where k_r = k_w, so the ideal PIO device is a model of its own
//! ([`DeviceModel::ideal`]), and a profile reports the alpha of PIO as
//! [`SizeModel::alpha_batch`].

pub mod knee;
mod pio;
pub mod preset;

use serde::{Deserialize, Serialize};

pub use pio::Pio;

use crate::op::Op;

/// How the simulated device computes latencies from the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Timing {
    /// As in PIO: every request takes the same time, k of them run at once, the others queue. Uses
    /// [`DeviceModel::service_ns`] and [`DeviceModel::channels`].
    Ideal,
    /// Latency grows with concurrency by the curves. Uses [`DeviceModel::latency_ns`].
    Curve,
}

/// A device: its parameters by request size, and the curves they come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceModel {
    /// Short name, such as `optane-p4800x`.
    pub name: String,
    /// Where the numbers come from, in one line.
    pub source: String,
    /// How the simulator computes latencies.
    pub timing: Timing,
    /// Parameters by ascending size, at least one.
    pub sizes: Vec<SizeModel>,
    /// Throughput and latency by concurrency; empty for an ideal device.
    pub curves: Vec<Curve>,
}

/// Parameters of a device for requests of one size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SizeModel {
    /// Bytes of a request.
    pub bytes: u64,
    /// Asymmetry; see the module for its two meanings.
    pub alpha: f64,
    /// Read concurrency.
    pub k_r: u32,
    /// Write concurrency.
    pub k_w: u32,
    /// Reads per second at most.
    pub read_iops_max: f64,
    /// Writes per second at most.
    pub write_iops_max: f64,
    /// Latency of a read alone, in microseconds.
    pub read_us_qd1: f64,
    /// Latency of a write alone, in microseconds.
    pub write_us_qd1: f64,
}

/// Throughput and latency of one operation and size by concurrency.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// Read or write.
    pub op: Op,
    /// Bytes of a request.
    pub bytes: u64,
    /// Points by ascending depth, at least one.
    pub points: Vec<CurvePoint>,
}

/// One point of a [`Curve`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CurvePoint {
    /// Requests in flight.
    pub depth: u32,
    /// Requests per second.
    pub iops: f64,
    /// Median latency in microseconds.
    pub p50_us: f64,
}

impl SizeModel {
    /// Requests per second at most.
    pub fn iops_max(&self, op: Op) -> f64 {
        match op {
            Op::Read => self.read_iops_max,
            Op::Write => self.write_iops_max,
        }
    }

    /// Latency of a request alone, in microseconds.
    pub fn us_qd1(&self, op: Op) -> f64 {
        match op {
            Op::Read => self.read_us_qd1,
            Op::Write => self.write_us_qd1,
        }
    }

    /// k_r or k_w.
    pub fn k(&self, op: Op) -> u32 {
        match op {
            Op::Read => self.k_r,
            Op::Write => self.k_w,
        }
    }

    /// The alpha of PIO: the time of a full batch of k_w writes over that of k_r reads.
    pub fn alpha_batch(&self) -> f64 {
        (f64::from(self.k_w) / self.write_iops_max) / (f64::from(self.k_r) / self.read_iops_max)
    }

    /// PIO with this size's parameters.
    pub fn pio(&self, memory_bytes: u64) -> Pio {
        Pio::new(memory_bytes, self.k_r, self.k_w, self.alpha)
    }
}

impl Curve {
    /// Requests per second at a concurrency: linear between points, constant after the last,
    /// proportional before the first.
    pub fn iops(&self, depth: f64) -> f64 {
        line(self.points.iter().map(|p| (f64::from(p.depth), p.iops)), depth, true)
    }

    /// Median latency in microseconds at a concurrency; after the last point, where throughput is
    /// constant, it grows with the queue.
    pub fn p50_us(&self, depth: f64) -> f64 {
        let inside = line(self.points.iter().map(|p| (f64::from(p.depth), p.p50_us)), depth, false);
        let last = self.points.last().map_or(depth, |p| f64::from(p.depth));
        inside * (depth / last).max(1.0)
    }

    /// Depth and throughput of every point.
    pub fn throughput(&self) -> Vec<(u32, f64)> {
        self.points.iter().map(|p| (p.depth, p.iops)).collect()
    }
}

/// The value at `x` of the polyline through `points` (x ascending).
fn line(points: impl Iterator<Item = (f64, f64)>, x: f64, proportional_before: bool) -> f64 {
    let mut before: Option<(f64, f64)> = None;
    for (px, py) in points {
        if x <= px {
            return match before {
                Some((qx, qy)) => qy + (py - qy) * (x - qx) / (px - qx),
                None if proportional_before => py * x / px,
                None => py,
            };
        }
        before = Some((px, py));
    }
    before.map_or(0.0, |p| p.1)
}

impl DeviceModel {
    /// The ideal device of PIO(M, k_r, k_w, alpha) at one request size: reads take `read_us`,
    /// writes alpha times as long, k of a kind run at once. Other sizes behave alike.
    pub fn pio(name: &str, bytes: u64, read_us: f64, pio: &Pio) -> Self {
        let write_us = read_us * pio.alpha;
        let size = SizeModel {
            bytes,
            alpha: pio.alpha,
            k_r: pio.k_r,
            k_w: pio.k_w,
            read_iops_max: f64::from(pio.k_r) * 1e6 / read_us,
            write_iops_max: f64::from(pio.k_w) * 1e6 / write_us,
            read_us_qd1: read_us,
            write_us_qd1: write_us,
        };
        Self {
            name: name.to_owned(),
            source: "ideal device of the Parametric I/O Model".to_owned(),
            timing: Timing::Ideal,
            sizes: vec![size],
            curves: Vec::new(),
        }
    }

    /// The ideal PIO device with this one's alpha, k_r, k_w and read latency at `bytes`.
    pub fn ideal(&self, bytes: u64) -> Self {
        let size = self.at(bytes);
        Self::pio(&format!("{}-ideal", self.name), bytes, size.read_us_qd1, &size.pio(0))
    }

    /// Parameters at any size: interpolated by the logarithm of the size between known sizes, those
    /// of the smallest below it, and at the bytes per second of the largest above it.
    pub fn at(&self, bytes: u64) -> SizeModel {
        if self.timing == Timing::Ideal {
            return SizeModel { bytes, ..self.sizes[0] };
        }
        let (below, above, share) = self.around(bytes);
        let (low, high) = (&self.sizes[below], &self.sizes[above]);
        if below == above {
            return if bytes > low.bytes {
                self.beyond(bytes)
            } else {
                SizeModel { bytes, ..*low }
            };
        }
        let k = |a: u32, b: u32| mix_log(f64::from(a), f64::from(b), share).round() as u32;
        SizeModel {
            bytes,
            alpha: mix_log(low.alpha, high.alpha, share),
            k_r: k(low.k_r, high.k_r),
            k_w: k(low.k_w, high.k_w),
            read_iops_max: mix_log(low.read_iops_max, high.read_iops_max, share),
            write_iops_max: mix_log(low.write_iops_max, high.write_iops_max, share),
            read_us_qd1: mix_log(low.read_us_qd1, high.read_us_qd1, share),
            write_us_qd1: mix_log(low.write_us_qd1, high.write_us_qd1, share),
        }
    }

    /// Requests per second at a concurrency.
    pub fn iops(&self, op: Op, bytes: u64, depth: u32) -> f64 {
        let depth = f64::from(depth);
        if self.timing == Timing::Ideal {
            let size = &self.sizes[0];
            return depth.min(f64::from(size.k(op))) * 1e6 / size.us_qd1(op);
        }
        let (below, above, share) = self.around(bytes);
        if below == above && bytes > self.sizes[below].bytes {
            let size = self.beyond(bytes);
            return (depth * 1e6 / size.us_qd1(op)).min(size.iops_max(op));
        }
        let low = self.iops_known(op, below, depth);
        if below == above {
            return low;
        }
        mix_log(low, self.iops_known(op, above, depth), share)
    }

    /// Bytes per second at a concurrency.
    pub fn bytes_per_second(&self, op: Op, bytes: u64, depth: u32) -> f64 {
        self.iops(op, bytes, depth) * bytes as f64
    }

    /// Mean latency in nanoseconds, at least 1, of a request when `concurrency` requests of its
    /// kind (itself included) are in flight: by Little's law, so a device that obeys it has exactly
    /// the throughput of the model.
    pub fn latency_ns(&self, op: Op, bytes: u64, concurrency: u32) -> u64 {
        let concurrency = concurrency.max(1);
        nanoseconds(f64::from(concurrency) * 1e6 / self.iops(op, bytes, concurrency))
    }

    /// Latency of a request alone, in nanoseconds, at least 1.
    pub fn service_ns(&self, op: Op, bytes: u64) -> u64 {
        nanoseconds(self.at(bytes).us_qd1(op))
    }

    /// Requests of a kind that the ideal device runs at once: k_r or k_w.
    pub fn channels(&self, op: Op, bytes: u64) -> u32 {
        self.at(bytes).k(op)
    }

    /// The curve of an operation at a known size.
    pub fn curve(&self, op: Op, bytes: u64) -> Option<&Curve> {
        self.curves.iter().find(|c| c.op == op && c.bytes == bytes)
    }

    /// Throughput at a known size: by the curve, or else a linear rise to the maximum.
    fn iops_known(&self, op: Op, index: usize, depth: f64) -> f64 {
        let size = &self.sizes[index];
        match self.curve(op, size.bytes) {
            Some(curve) => curve.iops(depth),
            None => (depth * 1e6 / size.us_qd1(op)).min(size.iops_max(op)),
        }
    }

    /// Indexes of the known sizes around `bytes`, and its position between them (0 to 1).
    fn around(&self, bytes: u64) -> (usize, usize, f64) {
        assert!(!self.sizes.is_empty(), "a model has at least one size");
        let above = self.sizes.partition_point(|s| s.bytes < bytes);
        if above == self.sizes.len() {
            return (above - 1, above - 1, 0.0);
        }
        if above == 0 || self.sizes[above].bytes == bytes {
            return (above, above, 0.0);
        }
        let (low, high) = (self.sizes[above - 1].bytes as f64, self.sizes[above].bytes as f64);
        (above - 1, above, (bytes as f64 / low).ln() / (high / low).ln())
    }

    /// Parameters beyond the largest known size: the same bytes per second, a latency longer by the
    /// transfer of the additional bytes, and k by Little's law.
    fn beyond(&self, bytes: u64) -> SizeModel {
        let last = *self.sizes.last().expect("a model has at least one size");
        let share = last.bytes as f64 / bytes as f64;
        let more = (bytes - last.bytes) as f64 * 1e6 / last.bytes as f64;
        let (read_iops_max, write_iops_max) =
            (last.read_iops_max * share, last.write_iops_max * share);
        let read_us_qd1 = last.read_us_qd1 + more / last.read_iops_max;
        let write_us_qd1 = last.write_us_qd1 + more / last.write_iops_max;
        let k =
            |iops: f64, us: f64| (knee::SATURATION_SHARE * iops * us / 1e6).ceil().max(1.0) as u32;
        SizeModel {
            bytes,
            alpha: last.alpha,
            k_r: k(read_iops_max, read_us_qd1),
            k_w: k(write_iops_max, write_us_qd1),
            read_iops_max,
            write_iops_max,
            read_us_qd1,
            write_us_qd1,
        }
    }
}

/// Interpolates two positive values by their logarithms: share 0 is `low`, 1 is `high`.
fn mix_log(low: f64, high: f64, share: f64) -> f64 {
    if low == high {
        return low;
    }
    (low.ln() + (high.ln() - low.ln()) * share).exp()
}

fn nanoseconds(us: f64) -> u64 {
    ((us * 1e3).round() as u64).max(1)
}

#[cfg(test)]
mod tests;
