//! Chooses extents and depth from a profile.
//!
//! - [`Plan`]: request size and depth that reach nearly the best bytes per second in the memory
//!   given
//! - [`Planner`]: turns ascending page numbers into extents: adjacent pages become one request,
//!   and a gap is read through where that costs no more than a second request
//! - [`DepthControl`]: corrects the depth of a reader while it runs
//!
//! The cost of a request of n pages is the reciprocal of the throughput that the profile shows
//! for that size at the plan's depth: the time for which it occupies the device.

mod depth;
mod extent;

pub use depth::DepthControl;
pub use extent::{Extent, Extents};

use crate::model::DeviceModel;
use crate::op::Op;
use crate::profile::Profile;

/// Nearly the best: smaller and shallower requests that reach this share are preferred.
const GOOD_SHARE: f64 = 0.95;

/// Requests up to this size are preferred: larger ones hold up the work on what they bring.
const MODERATE_BYTES: u64 = 256 << 10;

/// Larger requests must be this much faster: less is within the noise of a quick profile.
const LARGE_GAIN: f64 = 1.3;

/// Request sizes and depths to choose from.
const REQUEST_BYTES_MAX: u64 = 1 << 20;
const DEPTH_MAX: u32 = 256;

/// How to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Bytes of a request at most; a multiple of the page size.
    pub request_bytes: usize,
    /// Requests in flight, over all workers.
    pub depth: usize,
    /// Unwanted pages that are read through between two single pages.
    pub gap_pages: u64,
}

impl Plan {
    /// Memory that the buffers of all requests in flight take.
    pub fn buffer_bytes(&self) -> usize {
        self.request_bytes * self.depth
    }
}

/// Plans the reads of one device. Cheap to share: immutable once made.
#[derive(Clone, Debug)]
pub struct Planner {
    plan: Plan,
    page_bytes: u64,
    model: DeviceModel,
    /// Seconds that a request of n pages occupies the device, at index n; 0 at index 0.
    cost: Box<[f64]>,
    /// Greatest length in pages that an extent of n pages may grow to by taking one page more.
    reach: Box<[u64]>,
}

impl Planner {
    /// Plans reads of pages of `page_bytes` (a power of two) with at most `buffer_bytes` of
    /// buffers over all `workers`.
    ///
    /// If the memory does not hold one page for each worker, the plan is that minimum all the
    /// same; see [`Plan::buffer_bytes`].
    pub fn new(profile: &Profile, page_bytes: usize, buffer_bytes: usize, workers: usize) -> Self {
        assert!(page_bytes.is_power_of_two(), "page sizes are powers of two");
        let model = profile.model();
        let (page, workers) = (page_bytes as u64, workers.max(1) as u32);
        let choice = choose(&model, page, buffer_bytes as u64, workers);
        let cost = costs(&model, page, choice);
        let reach = reaches(&cost);
        let plan = Plan {
            request_bytes: choice.bytes as usize,
            depth: choice.depth as usize,
            gap_pages: reach[1].saturating_sub(2),
        };
        Self { plan, page_bytes: page, model, cost, reach }
    }

    /// Request size, depth and gap.
    pub fn plan(&self) -> Plan {
        self.plan
    }

    /// Bytes of a page.
    pub fn page_bytes(&self) -> usize {
        self.page_bytes as usize
    }

    /// Pages of the longest extent.
    pub fn extent_pages_max(&self) -> u64 {
        self.reach.len() as u64 - 1
    }

    /// Extents that cover the wanted pages, which ascend (repetitions are fine). Extents ascend,
    /// do not overlap, begin and end with a wanted page, and are no longer than a request.
    pub fn extents<I: IntoIterator<Item = u64>>(&self, wanted: I) -> Extents<'_, I::IntoIter> {
        Extents::new(&self.reach, wanted.into_iter())
    }

    /// Seconds for which a request of `pages` occupies the device.
    ///
    /// # Panics
    /// If `pages` is longer than an extent of this plan.
    pub fn extent_seconds(&self, pages: u64) -> f64 {
        self.cost[pages as usize]
    }

    /// Seconds that `requests` moving `bytes` altogether take: at the plan's depth, or at the
    /// concurrency that so few requests reach.
    pub fn predicted_seconds(&self, requests: u64, bytes: u64) -> f64 {
        if requests == 0 {
            return 0.0;
        }
        let depth = requests.min(self.plan.depth as u64) as u32;
        let mean_bytes = (bytes / requests).max(1);
        requests as f64 / self.model.iops(Op::Read, mean_bytes, depth)
    }

    /// Bytes per second that full-sized requests reach.
    pub fn bytes_per_second(&self) -> f64 {
        self.model.bytes_per_second(
            Op::Read,
            self.plan.request_bytes as u64,
            self.plan.depth as u32,
        )
    }
}

#[derive(Clone, Copy, Debug)]
struct Choice {
    bytes: u64,
    depth: u32,
}

/// The least memory (bytes x depth) that reaches [`GOOD_SHARE`] of the best bytes per second, and
/// then as much depth as small requests profit from and the memory holds.
fn choose(model: &DeviceModel, page: u64, buffer_bytes: u64, workers: u32) -> Choice {
    let fits = |bytes: u64, depth: u32| bytes * u64::from(depth) <= buffer_bytes;
    let candidates = |limit: u64| {
        let sizes = std::iter::successors(Some(page), |b| Some(b * 2));
        let sizes = sizes.take_while(move |b| *b == page || *b <= limit);
        sizes.flat_map(move |bytes| {
            depths(workers)
                .filter(move |d| fits(bytes, *d))
                .map(move |depth| Choice { bytes, depth })
        })
    };
    let speed = |c: &Choice| model.bytes_per_second(Op::Read, c.bytes, c.depth);
    let best = |limit| candidates(limit).map(|c| speed(&c)).fold(0.0, f64::max);
    let (moderate, large) = (best(MODERATE_BYTES), best(REQUEST_BYTES_MAX));
    let (limit, target) = if large > moderate * LARGE_GAIN {
        (REQUEST_BYTES_MAX, large * GOOD_SHARE)
    } else {
        (MODERATE_BYTES, moderate * GOOD_SHARE)
    };
    let chosen = candidates(limit)
        .filter(|c| speed(c) >= target)
        .min_by_key(|c| (c.bytes * u64::from(c.depth), c.bytes));
    let Some(choice) = chosen else {
        return Choice { bytes: page, depth: workers };
    };
    // Lone pages want more requests in flight than long extents do.
    let small = model.channels(Op::Read, page);
    let deeper = depths(workers).filter(|d| fits(choice.bytes, *d));
    let depth = deeper.take_while(|d| *d < small + workers).last().unwrap_or(0);
    Choice { depth: depth.max(choice.depth), ..choice }
}

/// Depths to choose from: the same for every worker, each next one about a quarter more.
fn depths(workers: u32) -> impl Iterator<Item = u32> {
    let each = std::iter::successors(Some(1_u32), |d| Some(d + (d / 4).max(1)));
    let limit = DEPTH_MAX.max(workers);
    each.map(move |d| d * workers).take_while(move |d| *d <= limit)
}

/// Cost of requests of 1 to the plan's greatest number of pages, in seconds.
///
/// Measured figures wiggle. The table is made to rise with length, and no page more is made to
/// cost more than a page of the longest request does: then merging adjacent pages always pays,
/// and no set of extents costs more than reading everything.
fn costs(model: &DeviceModel, page: u64, choice: Choice) -> Box<[f64]> {
    let pages = (choice.bytes / page) as usize;
    let measured = |n: usize| 1.0 / model.iops(Op::Read, n as u64 * page, choice.depth);
    let mut cost = vec![0.0; pages + 1];
    for n in 1..=pages {
        cost[n] = measured(n).max(cost[n - 1]);
    }
    let per_page = cost[pages] / pages as f64;
    for n in (1..pages).rev() {
        cost[n] = cost[n].max(cost[n + 1] - per_page);
    }
    cost.into()
}

/// For each length in pages, the greatest length to which taking one more page may stretch it:
/// as long as that costs no more than a request of its own for that page.
fn reaches(cost: &[f64]) -> Box<[u64]> {
    let longest = cost.len() - 1;
    let reach = |length: usize| {
        // Rounding must not forbid what the table allows.
        let limit = (cost[length] + cost[1]) * (1.0 + 1e-9);
        cost.partition_point(|c| *c <= limit) - 1
    };
    (0..=longest).map(|length| if length == 0 { 0 } else { reach(length) as u64 }).collect()
}

#[cfg(test)]
mod tests;
