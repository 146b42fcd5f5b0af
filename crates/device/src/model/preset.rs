//! The devices of the papers, by name.
//!
//! Preset A holds the dissertation's parameters (tables 2.1, 2.2 and 6.2); preset B the same
//! group's measurements of 2024, job by job. They differ for the same drive: a device's state
//! changes its alpha.

use super::knee::{SATURATION_SHARE, saturation_depth};
use super::{Curve, CurvePoint, DeviceModel, SizeModel, Timing};
use crate::op::Op;

/// The source of a preset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collection {
    /// The parameters that the papers state.
    Paper,
    /// Measured in 2024, with whole curves.
    Measured2024,
}

/// A device of the papers.
#[derive(Clone, Debug)]
pub struct Preset {
    /// Its name, such as `optane-p4800x`.
    pub name: &'static str,
    /// Its source.
    pub collection: Collection,
    build: fn() -> DeviceModel,
}

impl Preset {
    /// All presets.
    pub fn all() -> &'static [Self] {
        PRESETS
    }

    /// Finds a preset, whatever the case of its letters.
    pub fn by_name(name: &str) -> Option<&'static Self> {
        PRESETS.iter().find(|p| p.name.eq_ignore_ascii_case(name))
    }

    /// The device.
    pub fn model(&self) -> DeviceModel {
        (self.build)()
    }
}

macro_rules! presets {
    ($($name:literal, $collection:ident, $build:expr;)*) => {
        const PRESETS: &[Preset] = &[$(Preset {
            name: $name,
            collection: Collection::$collection,
            build: || $build.model($name),
        }),*];
    };
}

presets! {
    "optane-p4800x", Paper, OPTANE;
    "p4510", Paper, P4510;
    "p4510-raw", Paper, P4510_RAW;
    "sata-s4610", Paper, SATA_S4610;
    "aws-io-60k", Paper, AWS_IO;
    "hdd-2t", Paper, HDD;
    "dc-p4500", Paper, DC_P4500;
    "optane-p4800x-2024", Measured2024, OPTANE_2024;
    "p4510-2024", Measured2024, P4510_2024;
    "samsung-nvme-2024", Measured2024, SAMSUNG_2024;
    "computational-nvme-2024", Measured2024, COMPUTATIONAL_2024;
}

/// A row of the papers' tables. Latencies are those of 4 KiB; the tables give none for 8 KiB, so
/// the transfer of the other 4 KiB at full bandwidth is added.
struct Paper {
    source: &'static str,
    read_us: f64,
    write_us: f64,
    /// (bytes, alpha, k_r, k_w, greatest reads per second).
    rows: &'static [(u64, f64, u32, u32, f64)],
}

// Greatest reads per second at 4 KiB: 4x one at a time (text of 2.5.2).
const OPTANE: Paper = Paper {
    source: "dissertation tables 2.1, 2.2: Optane P4800X 375 GB",
    read_us: 6.8,
    write_us: 7.6,
    rows: &[(4096, 1.1, 6, 5, 588e3), (8192, 1.0, 4, 4, 299e3)],
};

// 1,900 MB/s (text of 2.5.6).
const P4510: Paper = Paper {
    source: "dissertation tables 2.1, 2.2: P4510 1 TB with a file system",
    read_us: 12.4,
    write_us: 19.6,
    rows: &[(4096, 2.8, 80, 8, 464e3), (8192, 1.9, 40, 7, 232e3)],
};

// 1.7x the reads of the same drive with a file system; latency as there, for want of another.
const P4510_RAW: Paper = Paper {
    source: "dissertation tables 2.1, 2.2: P4510 1 TB raw through SPDK",
    read_us: 12.4,
    write_us: 19.6,
    rows: &[(4096, 3.0, 16, 6, 789e3), (8192, 3.0, 15, 4, 394e3)],
};

// The data sheet's 96,000 reads per second; at 8 KiB what k_w and the latency leave possible.
const SATA_S4610: Paper = Paper {
    source: "dissertation tables 2.1, 2.2: SATA S4610 240 GB",
    read_us: 100.0,
    write_us: 130.0,
    rows: &[(4096, 1.5, 25, 9, 96e3), (8192, 1.3, 21, 5, 49e3)],
};

// Capped by software at 60,000 requests or 240 MB/s.
const AWS_IO: Paper = Paper {
    source: "dissertation tables 2.1, 2.2: virtual SSD of 60,000 IOPS",
    read_us: 180.0,
    write_us: 200.0,
    rows: &[(4096, 2.0, 11, 19, 60e3), (8192, 1.9, 6, 10, 30e3)],
};

// At 1 MiB the data sheet's 136 MB/s, so that a disk is not slow where it should be fast.
const HDD: Paper = Paper {
    source: "dissertation tables 2.1, 6.2: hard disk 2 TB",
    read_us: 7000.0,
    write_us: 7300.0,
    rows: &[
        (4096, 1.0, 1, 1, 1e6 / 7000.0),
        (8192, 1.0, 1, 1, 1e6 / 7030.0),
        (1 << 20, 1.0, 1, 1, 1e6 / 14_700.0),
    ],
};

// The advertised 427,000 reads and 36,000 writes that alpha 11.9 was taken from.
const DC_P4500: Paper = Paper {
    source: "dissertation table 6.2: DC-P4500",
    read_us: 8.2,
    write_us: 78.4,
    rows: &[(4096, 11.9, 40, 8, 427e3)],
};

impl Paper {
    fn model(&self, name: &str) -> DeviceModel {
        let mut sizes = Vec::new();
        let mut curves = Vec::new();
        for &(bytes, alpha, k_r, k_w, read_max) in self.rows {
            let transfer = (bytes - self.rows[0].0) as f64 / bytes as f64;
            let one_at_a_time = k_r == 1;
            let (read_us, write_us, write_max) = if one_at_a_time {
                let read_us = 1e6 / read_max;
                let write_us = read_us + self.write_us - self.read_us;
                (read_us, write_us, 1e6 / write_us)
            } else {
                let write_max = read_max / alpha;
                let read_us = self.read_us + transfer * 1e6 / read_max;
                (read_us, self.write_us + transfer * 1e6 / write_max, write_max)
            };
            curves.push(rise(Op::Read, bytes, read_us, k_r, read_max));
            curves.push(rise(Op::Write, bytes, write_us, k_w, write_max));
            sizes.push(SizeModel {
                bytes,
                alpha,
                k_r,
                k_w,
                read_iops_max: read_max,
                write_iops_max: write_max,
                read_us_qd1: read_us,
                write_us_qd1: write_us,
            });
        }
        DeviceModel {
            name: name.to_owned(),
            source: self.source.to_owned(),
            timing: Timing::Curve,
            sizes,
            curves,
        }
    }
}

/// A curve that starts at the latency of one request and saturates at k: just over 90% of the
/// maximum at k, all of it at 1.25 k.
fn rise(op: Op, bytes: u64, us: f64, k: u32, iops_max: f64) -> Curve {
    let points = if k == 1 {
        vec![point(1, iops_max)]
    } else {
        let full = (k * 5).div_ceil(4).max(k + 1);
        vec![
            point(1, 1e6 / us),
            point(k, (SATURATION_SHARE + 0.01) * iops_max),
            point(full, iops_max),
        ]
    };
    Curve { op, bytes, points }
}

fn point(depth: u32, iops: f64) -> CurvePoint {
    CurvePoint { depth, iops, p50_us: f64::from(depth) * 1e6 / iops }
}

/// Concurrencies, and thousands of requests per second at each.
type KiloIops = (&'static [u32], &'static [f64]);

/// The measurements of a drive in 2024.
struct Measured {
    source: &'static str,
    read_4k: KiloIops,
    write_4k: KiloIops,
    read_8k: KiloIops,
    write_8k: KiloIops,
    /// Sequential reads and writes of 128 KiB, in MB/s.
    sequential: (f64, f64),
}

/// One to ten jobs, and the concurrency at which the maximum was measured. Shorter lists of
/// throughputs end earlier.
const EACH: &[u32] = &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 128];

// Reads that 10 jobs do not saturate rise linearly to the maximum that the drive reached with 128
// requests in flight. Writes of 8 KiB were logged at 4 KiB by mistake, so their maximum is taken as
// half of the 4 KiB one where nothing better was logged.
const OPTANE_2024: Measured = Measured {
    source: "measured 2024, fio 3.35: Optane P4800X",
    read_4k: (EACH, &[80.0, 151.0, 235.0, 301.0, 362.0, 419.0, 482.0, 531.0, 571.0, 591.0]),
    write_4k: (EACH, &[70.0, 118.0, 172.0, 210.0, 249.0, 289.0, 320.0, 351.0, 379.0, 401.0]),
    read_8k: (EACH, &[80.0, 140.0, 214.0, 270.0, 299.0]),
    write_8k: (&[1, 2, 4, 8], &[62.0, 105.0, 170.0, 200.0]),
    sequential: (2500.0, 2000.0),
};

const P4510_2024: Measured = Measured {
    source: "measured 2024, fio 3.35: P4510",
    read_4k: (EACH, &[13.0, 25.3, 37.2, 48.9, 58.8, 71.3, 82.5, 93.5, 103.0, 113.0, 473.0]),
    write_4k: (EACH, &[80.0, 152.0, 194.0, 230.0, 239.0, 250.0]),
    read_8k: (EACH, &[12.3, 23.3, 33.7, 43.4, 52.2, 58.5, 67.2, 74.5, 81.6, 88.2, 239.0]),
    write_8k: (EACH, &[70.0, 120.0, 140.0]),
    sequential: (2850.0, 1100.0),
};

const SAMSUNG_2024: Measured = Measured {
    source: "measured 2024, fio 3.35: Samsung NVMe 1.92 TB",
    read_4k: (EACH, &[15.4, 30.6, 45.6, 60.4, 75.1, 89.9, 104.0, 118.0, 132.0, 146.0, 925.0]),
    write_4k: (EACH, &[83.0, 163.0, 227.0, 291.0, 340.0, 381.0, 439.0, 482.0, 513.0, 522.0]),
    read_8k: (&[1, 10, 128], &[14.2, 122.0, 740.0]),
    write_8k: (&[1, 4, 8], &[74.0, 200.0, 261.0]),
    sequential: (6500.0, 2800.0),
};

const COMPUTATIONAL_2024: Measured = Measured {
    source: "measured 2024, fio 3.35: computational NVMe 3.84 TB",
    read_4k: (EACH, &[12.5, 25.0, 37.3, 49.5, 61.6, 72.7, 85.4, 97.1, 109.0, 120.0, 872.0]),
    write_4k: (EACH, &[46.0, 91.0, 125.0, 153.0, 182.0, 206.0, 225.0, 242.0, 257.0, 271.0]),
    read_8k: (&[1, 10, 128], &[11.8, 107.0, 436.0]),
    write_8k: (&[1, 4, 8], &[40.0, 105.0, 135.0]),
    sequential: (3700.0, 3000.0),
};

impl Measured {
    fn model(&self, name: &str) -> DeviceModel {
        let curve = |op, bytes, (depths, kiops): KiloIops| {
            let points = depths.iter().zip(kiops).map(|(&depth, &kiops)| point(depth, kiops * 1e3));
            Curve { op, bytes, points: points.collect() }
        };
        let curves = vec![
            curve(Op::Read, 4096, self.read_4k),
            curve(Op::Write, 4096, self.write_4k),
            curve(Op::Read, 8192, self.read_8k),
            curve(Op::Write, 8192, self.write_8k),
            large(Op::Read, self.read_4k, self.sequential.0),
            large(Op::Write, self.write_4k, self.sequential.1),
        ];
        let sizes = [4096, 8192, LARGE].map(|bytes| size_of_curves(&curves, bytes)).to_vec();
        DeviceModel {
            name: name.to_owned(),
            source: self.source.to_owned(),
            timing: Timing::Curve,
            sizes,
            curves,
        }
    }
}

const LARGE: u64 = 128 << 10;

/// The curve of 128 KiB requests: the measured bandwidth; the latency at depth 1, which was not
/// measured, is that of 4 KiB and the transfer.
fn large(op: Op, (_, small_kiops): KiloIops, megabytes: f64) -> Curve {
    let iops_max = megabytes * 1e6 / LARGE as f64;
    let us = 1e3 / small_kiops[0] + 1e6 / iops_max;
    let full = (us * iops_max / 1e6).ceil() as u32;
    let mut points = vec![point(1, 1e6 / us)];
    if full > 1 {
        points.push(point(full, iops_max));
    }
    Curve { op, bytes: LARGE, points }
}

/// The parameters that follow from a read and a write curve of one size.
fn size_of_curves(curves: &[Curve], bytes: u64) -> SizeModel {
    let of = |op| {
        let curve = curves.iter().find(|c| c.op == op && c.bytes == bytes);
        let points = curve.expect("both curves of the size exist").throughput();
        let k = saturation_depth(&points, SATURATION_SHARE).expect("a curve has points");
        (k, points.iter().map(|p| p.1).fold(0.0, f64::max), 1e6 / points[0].1)
    };
    let (k_r, read_iops_max, read_us_qd1) = of(Op::Read);
    let (k_w, write_iops_max, write_us_qd1) = of(Op::Write);
    SizeModel {
        bytes,
        alpha: read_iops_max / write_iops_max,
        k_r,
        k_w,
        read_iops_max,
        write_iops_max,
        read_us_qd1,
        write_us_qd1,
    }
}
