//! Performance of a tier: latency and concurrency of reads and writes.

use std::fmt;
use std::str::FromStr;

use cenote_device::Op;
use cenote_device::model::DeviceModel;

use crate::error::{Result, TierError, require};

/// Most tiers of one device.
pub const TIERS_MAX: usize = 16;

/// A tier's device in the Parametric I/O Model, for requests of one page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TierSpec {
    /// Latency of a read.
    pub read_ns: u64,
    /// Latency of a write: alpha times that of a read.
    pub write_ns: u64,
    /// Reads that it does at once.
    pub k_r: u32,
    /// Writes that it does at once.
    pub k_w: u32,
}

impl TierSpec {
    /// A device by its read latency in microseconds, its asymmetry and its concurrency.
    pub fn new(read_us: f64, alpha: f64, k_r: u32, k_w: u32) -> Result<Self> {
        let time = |us: f64| (0.001..=1e9).contains(&us);
        require(time(read_us), "read latency", read_us, "0.001 to 10^9 us")?;
        require((0.01..=1e4).contains(&alpha), "alpha", alpha, "0.01 to 10000")?;
        require(time(read_us * alpha), "write latency", read_us * alpha, "0.001 to 10^9 us")?;
        for k in [k_r, k_w] {
            require((1..=4096).contains(&k), "concurrency", k, "1 to 4096")?;
        }
        let ns = |us: f64| (us * 1e3).round() as u64;
        Ok(Self { read_ns: ns(read_us), write_ns: ns(read_us * alpha), k_r, k_w })
    }

    /// The three tiers of the dissertation (6.6.1): 30, 200 and 500 us, alpha 1.5, 2 and 4. Their
    /// concurrency is not in the text; 8, 4 and 2 are the threads of its emulator.
    pub fn text() -> [Self; 3] {
        let tier = |read_ns, write_ns, k| Self { read_ns, write_ns, k_r: k, k_w: k };
        [tier(30_000, 45_000, 8), tier(200_000, 400_000, 4), tier(500_000, 2_000_000, 2)]
    }

    /// A drive, for requests of so many bytes. The time of a request is that of one alone, or that
    /// at concurrency k if it is longer: a drive limited by its rate answers the first ones fast.
    pub fn of_model(model: &DeviceModel, bytes: u64) -> Result<Self> {
        let size = model.at(bytes);
        let us = |op| size.us_qd1(op).max(f64::from(size.k(op)) * 1e6 / size.iops_max(op));
        let alpha = (us(Op::Write) / us(Op::Read)).clamp(0.01, 1e4);
        Self::new(us(Op::Read), alpha, size.k_r.clamp(1, 4096), size.k_w.clamp(1, 4096))
    }

    /// Time of a request.
    pub fn time_ns(&self, op: Op) -> u64 {
        match op {
            Op::Read => self.read_ns,
            Op::Write => self.write_ns,
        }
    }

    /// Requests of a kind that it does at once.
    pub fn k(&self, op: Op) -> u32 {
        match op {
            Op::Read => self.k_r,
            Op::Write => self.k_w,
        }
    }

    /// Cost of a write in reads.
    pub fn alpha(&self) -> f64 {
        self.write_ns as f64 / self.read_ns as f64
    }

    /// Share of the device's time that a read takes: its latency over k_r.
    pub fn read_share_ns(&self) -> f64 {
        self.read_ns as f64 / f64::from(self.k_r)
    }

    /// Share of the device's time that a write takes: its latency over k_w.
    pub fn write_share_ns(&self) -> f64 {
        self.write_ns as f64 / f64::from(self.k_w)
    }

    /// The same for an access that is a write with probability `write_share`.
    pub fn access_share_ns(&self, write_share: f64) -> f64 {
        self.read_share_ns() * (1.0 - write_share) + self.write_share_ns() * write_share
    }
}

/// `READ:ALPHA:K` or `READ:ALPHA:K_R/K_W`, READ in microseconds or, with `ms`, milliseconds:
/// `200us:2:4`.
impl FromStr for TierSpec {
    type Err = TierError;

    fn from_str(text: &str) -> Result<Self> {
        let expected = "READ:ALPHA:K or READ:ALPHA:K_R/K_W, such as 200us:2:4";
        let fault = || TierError::spec("tier", format!("'{text}'"), expected);
        let parts: Vec<&str> = text.trim().split(':').collect();
        let [read, alpha, k] = parts[..] else { return Err(fault()) };
        let (k_r, k_w) = k.split_once('/').unwrap_or((k, k));
        let number = |text: &str| text.trim().parse::<f64>().map_err(|_| fault());
        let count = |text: &str| text.trim().parse::<u32>().map_err(|_| fault());
        let read = read.trim();
        let read_us = match read.strip_suffix("ms") {
            Some(read_ms) => number(read_ms)? * 1e3,
            None => number(read.strip_suffix("us").unwrap_or(read))?,
        };
        Self::new(read_us, number(alpha)?, count(k_r)?, count(k_w)?)
    }
}

impl fmt::Display for TierSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}us:{}:{}", self.read_ns as f64 / 1e3, self.alpha(), self.k_r)?;
        if self.k_w == self.k_r { Ok(()) } else { write!(f, "/{}", self.k_w) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tier_is_parsed_and_printed_the_same() {
        for text in ["30us:1.5:8", "200us:2:4/2", "0.5us:1:1"] {
            assert_eq!(text.parse::<TierSpec>().unwrap().to_string(), text);
        }
        assert_eq!("500:4:2".parse(), Ok(TierSpec::text()[2]));
        assert_eq!("0.5ms:4:2".parse(), Ok(TierSpec::text()[2]));
        for wrong in ["", "30", "30us:1", "x:1:1", "30us:0:1", "30us:1:0", "30us:1:1/0", "-1:1:1"] {
            assert!(wrong.parse::<TierSpec>().is_err(), "{wrong} was taken");
        }
        for wrong in ["nan:1:1", "inf:1:1", "1:nan:1", "1:1:1:1", "1:1:99999"] {
            assert!(wrong.parse::<TierSpec>().is_err(), "{wrong} was taken");
        }
    }
}
