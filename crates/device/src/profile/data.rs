//! A profile as data: measurements, conditions and identity.

use serde::{Deserialize, Serialize};

use super::calm::Calm;
use super::identity::Identity;
use crate::model::{Curve, CurvePoint, DeviceModel, SizeModel, Timing, knee};
use crate::op::Op;

/// Version of the JSON format; newer ones are refused.
pub const PROFILE_VERSION: u32 = 1;

/// Depths of a profile: powers of two from 1 to 128.
pub const DEPTHS: [u32; 8] = [1, 2, 4, 8, 16, 32, 64, 128];

/// Request sizes of a full profile: powers of two from 4 KiB to 1 MiB.
pub const SIZES: [u64; 9] =
    [4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20];

/// The measured performance of a device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// Version of this JSON.
    pub version: u32,
    /// Short name of the device, its identity's key.
    pub device: String,
    /// True if nothing was measured and the figures are a cautious guess.
    pub assumed: bool,
    /// Identifies the device.
    pub identity: Identity,
    /// How, and in which state of the device, it was measured.
    pub conditions: Conditions,
    /// Parameters by request size, ascending.
    pub sizes: Vec<SizeProfile>,
    /// Every measured point.
    pub curves: Vec<CurveProfile>,
}

/// How a profile was measured, and the state of the device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Conditions {
    /// Seconds since 1970 at the end of the measurement; 0 if nothing was measured.
    pub unix_seconds: u64,
    /// Seconds that the measurement took, by the device's clock.
    pub seconds: f64,
    /// The backend that moved the bytes.
    pub backend: String,
    /// True for the short sweep.
    pub quick: bool,
    /// Seconds per measured cell, and how often each was repeated.
    pub cell_seconds: f64,
    /// Repetitions of each cell.
    pub repetitions: u32,
    /// Bytes of the region that requests fell on.
    pub region_bytes: u64,
    /// True if the region was a scratch file, written in full before it was read.
    pub scratch: bool,
    /// Seconds of uncounted requests at the start, without writing the scratch file.
    pub warm_up_seconds: f64,
    /// Bytes that the measured requests read and wrote; the filling of the scratch file is apart.
    pub bytes_moved: u64,
    /// How calm drive and machine were; unset in profiles from before this was recorded.
    pub calm: Option<Calm>,
    /// Type of the file system, if any.
    pub filesystem: Option<String>,
    /// Bytes of the file system.
    pub filesystem_bytes: Option<u64>,
    /// Share of the file system that was in use, 0 to 1: a full drive writes slower.
    pub filesystem_used_share: Option<f64>,
    /// Remarks for the reader, such as why writes were not measured.
    pub notes: Vec<String>,
    /// The rule by which k was found.
    pub k_rule: String,
}

/// Parameters of requests of one size. Writes are `None` where they were not measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SizeProfile {
    /// Bytes of a request.
    pub bytes: u64,
    /// Greatest read bandwidth over greatest write bandwidth.
    pub alpha: Option<f64>,
    /// Time of a full batch of k_w writes over that of k_r reads: alpha as PIO uses it.
    pub alpha_batch: Option<f64>,
    /// Read concurrency.
    pub k_r: u32,
    /// Write concurrency.
    pub k_w: Option<u32>,
    /// Smallest depth at which the median read takes 1.5 times as long as at depth 1.
    pub read_knee: Option<u32>,
    /// Smallest depth at which the median write takes 1.5 times as long as at depth 1.
    pub write_knee: Option<u32>,
    /// Random reads per second at most.
    pub read_iops_max: f64,
    /// Random writes per second at most.
    pub write_iops_max: Option<f64>,
    /// Median latency of a random read alone, in microseconds.
    pub read_us_qd1: f64,
    /// Median latency of a random write alone, in microseconds.
    pub write_us_qd1: Option<f64>,
    /// Sequential reads per second at most.
    pub read_sequential_iops_max: Option<f64>,
    /// Sequential writes per second at most.
    pub write_sequential_iops_max: Option<f64>,
}

/// Where requests fall.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pattern {
    /// Uniformly over the region, aligned to the request's size.
    Random,
    /// One after the other, from the start again at the end.
    Sequential,
}

/// The points of one operation, pattern and size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CurveProfile {
    /// Read or write.
    pub op: Op,
    /// Random or sequential.
    pub pattern: Pattern,
    /// Bytes of a request.
    pub bytes: u64,
    /// Points, depths ascending.
    pub points: Vec<ProfilePoint>,
}

/// One measured cell: medians over its repetitions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProfilePoint {
    /// Requests in flight.
    pub depth: u32,
    /// Requests per second.
    pub iops: f64,
    /// The slowest repetition's.
    pub iops_min: f64,
    /// The fastest repetition's.
    pub iops_max: f64,
    /// Median latency in microseconds.
    pub p50_us: f64,
    /// 99th percentile of the latency, in microseconds.
    pub p99_us: f64,
    /// Repetitions.
    pub repetitions: u32,
    /// CPU time of the issuing thread over elapsed time: near 1, the processor was the bottleneck
    /// and not the device.
    #[serde(default)]
    pub cpu_share: f64,
}

impl ProfilePoint {
    /// Half of the range over repetitions, relative to the median.
    pub fn spread(&self) -> f64 {
        if self.iops == 0.0 { 0.0 } else { (self.iops_max - self.iops_min) / (2.0 * self.iops) }
    }
}

impl CurveProfile {
    /// Depth and requests per second of every point.
    pub fn throughput(&self) -> Vec<(u32, f64)> {
        self.points.iter().map(|p| (p.depth, p.iops)).collect()
    }

    /// Depth and median latency of every point.
    fn latency(&self) -> Vec<(u32, f64)> {
        self.points.iter().map(|p| (p.depth, p.p50_us)).collect()
    }

    fn iops_max(&self) -> f64 {
        self.points.iter().map(|p| p.iops).fold(0.0, f64::max)
    }
}

impl Profile {
    /// The curve of an operation, pattern and size.
    pub fn curve(&self, op: Op, pattern: Pattern, bytes: u64) -> Option<&CurveProfile> {
        self.curves.iter().find(|c| c.op == op && c.pattern == pattern && c.bytes == bytes)
    }

    /// The parameters at a measured size.
    pub fn size(&self, bytes: u64) -> Option<&SizeProfile> {
        self.sizes.iter().find(|s| s.bytes == bytes)
    }

    /// The model of the device, from the random curves. More depth never counts as less
    /// throughput. Writes that were not measured are taken to be as fast as reads.
    ///
    /// # Panics
    /// If there are no sizes; [`Profile::fault`] reports that.
    pub fn model(&self) -> DeviceModel {
        let random = self.curves.iter().filter(|c| c.pattern == Pattern::Random);
        DeviceModel {
            name: self.device.clone(),
            source: if self.assumed { "assumed".into() } else { "measured".into() },
            timing: Timing::Curve,
            sizes: self.sizes.iter().map(SizeProfile::model).collect(),
            curves: random.map(CurveProfile::model).collect(),
        }
    }

    /// Finds the parameters of each size with random reads in the curves.
    pub fn summarise(curves: &[CurveProfile], share: f64) -> Vec<SizeProfile> {
        let mut bytes: Vec<u64> = curves.iter().map(|c| c.bytes).collect();
        bytes.sort_unstable();
        bytes.dedup();
        bytes.into_iter().filter_map(|bytes| SizeProfile::of(curves, bytes, share)).collect()
    }

    /// Why this profile is unusable, if it is: a file may hold any JSON.
    pub fn fault(&self) -> Option<String> {
        if self.sizes.is_empty() {
            return Some("it holds no sizes".into());
        }
        if !self.sizes.is_sorted_by(|a, b| a.bytes < b.bytes) || self.sizes[0].bytes == 0 {
            return Some("its sizes do not ascend".into());
        }
        for size in &self.sizes {
            let values = [Some(size.read_iops_max), Some(size.read_us_qd1), size.alpha];
            let writes = [size.alpha_batch, size.write_iops_max, size.write_us_qd1];
            let good = |v: &Option<f64>| v.is_none_or(|v| v.is_finite() && v > 0.0);
            if !values.iter().chain(&writes).all(good) || size.k_r == 0 || size.k_w == Some(0) {
                return Some(format!("its figures for {} bytes are not positive", size.bytes));
            }
        }
        self.curves.iter().find_map(CurveProfile::fault)
    }
}

impl CurveProfile {
    fn fault(&self) -> Option<String> {
        let positive = |p: &ProfilePoint| {
            p.depth > 0 && [p.iops, p.p50_us].iter().all(|v| v.is_finite() && *v > 0.0)
        };
        let ascending = self.points.is_sorted_by(|a, b| a.depth < b.depth);
        if self.points.is_empty() || !ascending || !self.points.iter().all(positive) {
            return Some(format!("its {} curve of {} bytes is broken", self.op, self.bytes));
        }
        None
    }

    fn model(&self) -> Curve {
        let mut running = 0.0_f64;
        let points = self.points.iter().map(|p| {
            running = running.max(p.iops);
            CurvePoint { depth: p.depth, iops: running, p50_us: p.p50_us }
        });
        Curve { op: self.op, bytes: self.bytes, points: points.collect() }
    }
}

impl SizeProfile {
    fn of(curves: &[CurveProfile], bytes: u64, share: f64) -> Option<Self> {
        let find = |op, pattern| {
            curves.iter().find(|c| {
                c.op == op && c.pattern == pattern && c.bytes == bytes && !c.points.is_empty()
            })
        };
        let reads = find(Op::Read, Pattern::Random)?;
        let writes = find(Op::Write, Pattern::Random);
        let k = |curve: &CurveProfile| knee::saturation_depth(&curve.throughput(), share);
        let sequential = |op| find(op, Pattern::Sequential).map(CurveProfile::iops_max);
        let mut size = Self {
            bytes,
            alpha: writes.map(|w| reads.iops_max() / w.iops_max()),
            alpha_batch: None,
            k_r: k(reads)?,
            k_w: writes.and_then(k),
            read_knee: knee::latency_knee(&reads.latency()),
            write_knee: writes.and_then(|w| knee::latency_knee(&w.latency())),
            read_iops_max: reads.iops_max(),
            write_iops_max: writes.map(CurveProfile::iops_max),
            read_us_qd1: reads.points[0].p50_us,
            write_us_qd1: writes.map(|w| w.points[0].p50_us),
            read_sequential_iops_max: sequential(Op::Read),
            write_sequential_iops_max: sequential(Op::Write),
        };
        if writes.is_some() {
            size.alpha_batch = Some(size.model().alpha_batch());
        }
        Some(size)
    }

    /// The parameters as the model holds them; unmeasured writes are taken to be like reads.
    pub fn model(&self) -> SizeModel {
        SizeModel {
            bytes: self.bytes,
            alpha: self.alpha.unwrap_or(1.0),
            k_r: self.k_r,
            k_w: self.k_w.unwrap_or(self.k_r),
            read_iops_max: self.read_iops_max,
            write_iops_max: self.write_iops_max.unwrap_or(self.read_iops_max),
            read_us_qd1: self.read_us_qd1,
            write_us_qd1: self.write_us_qd1.unwrap_or(self.read_us_qd1),
        }
    }
}

impl Profile {
    /// The profile of a device that obeys `model`, without measuring.
    pub fn of_model(model: &DeviceModel) -> Self {
        let mut curves = Vec::new();
        for op in [Op::Read, Op::Write] {
            for bytes in SIZES {
                let points = DEPTHS.iter().map(|&depth| {
                    let iops = model.iops(op, bytes, depth);
                    let us = f64::from(depth) * 1e6 / iops;
                    ProfilePoint {
                        depth,
                        iops,
                        iops_min: iops,
                        iops_max: iops,
                        p50_us: us,
                        p99_us: us,
                        repetitions: 0,
                        cpu_share: 0.0,
                    }
                });
                let points = points.collect();
                curves.push(CurveProfile { op, pattern: Pattern::Random, bytes, points });
            }
        }
        Self {
            version: PROFILE_VERSION,
            device: model.name.clone(),
            assumed: false,
            identity: Identity::named(&model.name),
            conditions: Conditions {
                notes: vec![format!("taken from a model: {}", model.source)],
                k_rule: k_rule(knee::SATURATION_SHARE),
                ..Conditions::default()
            },
            sizes: Self::summarise(&curves, knee::SATURATION_SHARE),
            curves,
        }
    }

    /// A cautious guess for a drive that was not profiled, flagged as assumed: an NVMe drive of the
    /// lower middle class, 100,000 reads of 4 KiB or 2 GB/s.
    pub fn assumed() -> Self {
        let sizes = [4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20].map(|bytes: u64| {
            let transfer_us = bytes as f64 / 2000.0;
            let (read_iops_max, write_iops_max) =
                (1e6 / (8.0 + transfer_us), 1e6 / (12.0 + 2.0 * transfer_us));
            let (read_us_qd1, write_us_qd1) = (90.0 + transfer_us, 40.0 + 2.0 * transfer_us);
            let k = |iops: f64, us: f64| (0.9 * iops * us / 1e6).ceil() as u32;
            SizeModel {
                bytes,
                alpha: read_iops_max / write_iops_max,
                k_r: k(read_iops_max, read_us_qd1),
                k_w: k(write_iops_max, write_us_qd1),
                read_iops_max,
                write_iops_max,
                read_us_qd1,
                write_us_qd1,
            }
        });
        let model = DeviceModel {
            name: "assumed".into(),
            source: "a cautious guess; `cenote profile DIR` measures the drive".into(),
            timing: Timing::Curve,
            sizes: sizes.to_vec(),
            curves: Vec::new(),
        };
        Self { assumed: true, ..Self::of_model(&model) }
    }
}

impl Profile {
    /// How calm it was during the measurement. Of a profile from before this was recorded, only
    /// the spread is known.
    pub fn calm(&self) -> Calm {
        self.conditions.calm.unwrap_or_else(|| Calm::new(self.spread(None), None, None))
    }

    /// The median spread of repetitions over all points, or over those of requests of `bytes`; 0
    /// without points.
    pub fn spread(&self, bytes: Option<u64>) -> f64 {
        let curves = self.curves.iter().filter(|c| bytes.is_none_or(|bytes| c.bytes == bytes));
        let mut spreads: Vec<f64> = curves.flat_map(|c| &c.points).map(|p| p.spread()).collect();
        spreads.sort_by(f64::total_cmp);
        spreads.get(spreads.len() / 2).copied().unwrap_or(0.0)
    }
}

pub(super) fn k_rule(share: f64) -> String {
    format!(
        "smallest depth that reaches {:.0}% of the maximal random throughput, curve smoothed by \
         its running maximum, straight lines between measured depths",
        share * 100.0
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::preset::Preset;

    #[test]
    fn profile_of_a_model_finds_its_parameters() {
        let model = Preset::by_name("aws-io-60k").unwrap().model();
        let profile = Profile::of_model(&model);
        let size = profile.size(4096).unwrap();
        assert!((size.alpha.unwrap() - 2.0).abs() < 0.01);
        // Powers of two and straight lines between them blur k; the sweep narrows it down.
        assert!((10..=14).contains(&size.k_r), "{}", size.k_r);
        assert!(!profile.assumed && profile.fault().is_none());
    }

    #[test]
    fn assumed_profile_is_flagged_and_sound() {
        let profile = Profile::assumed();
        assert!(profile.assumed);
        assert_eq!(profile.fault(), None);
        assert!((profile.model().iops(Op::Read, 4096, 128) - 100e3).abs() < 1e3);
    }

    #[test]
    fn a_profile_from_before_is_as_calm_as_its_repetitions_were_alike() {
        let mut profile = Profile::assumed();
        assert_eq!(profile.calm(), Calm::default());
        for point in profile.curves.iter_mut().flat_map(|c| &mut c.points) {
            (point.iops_min, point.iops_max) = (0.5 * point.iops, 1.5 * point.iops);
        }
        let calm = profile.calm();
        assert!(calm.busy && (calm.spread - 0.5).abs() < 1e-9, "{calm:?}");
    }

    #[test]
    fn contract_fields_are_in_the_json() {
        let json = serde_json::to_value(Profile::assumed()).unwrap();
        assert!(json["device"].is_string() && json["curves"].is_array());
        let size = json["sizes"][0].as_object().unwrap();
        for field in [
            "bytes",
            "alpha",
            "k_r",
            "k_w",
            "read_iops_max",
            "write_iops_max",
            "read_us_qd1",
            "write_us_qd1",
        ] {
            assert!(size[field].is_number(), "{field}");
        }
    }

    #[test]
    fn broken_figures_are_named() {
        let mut profile = Profile::assumed();
        profile.sizes[0].read_iops_max = 0.0;
        assert!(profile.fault().unwrap().contains("4096"));
        let mut profile = Profile::assumed();
        profile.curves[0].points.swap(0, 1);
        assert!(profile.fault().unwrap().contains("read curve"));
        let mut profile = Profile::assumed();
        profile.sizes.clear();
        assert!(profile.fault().is_some());
    }
}
