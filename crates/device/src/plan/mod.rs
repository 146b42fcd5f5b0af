//! Chooses extents and depth from a profile.
//!
//! - [`Plan`]: request size and depth that come close to the best bytes per second within the
//!   memory for buffers
//! - [`Planner`]: turns ascending page numbers into extents: adjacent pages become one request,
//!   and a gap is read through where that costs no more than a second request
//! - [`DepthControl`]: corrects the depth of a reader while it runs
//! - [`CostFit`]: corrects the cost of requests, and so the gaps, from what the run sees
//!
//! The cost of a request of n pages is the time for which it occupies the device: the reciprocal of
//! the profile's throughput for that size at the plan's depth.

mod cost;
mod depth;
mod extent;

pub use cost::{Correction, Cost, CostFit, Observed};
pub use depth::DepthControl;
pub use extent::{Extent, Extents};

use crate::model::DeviceModel;
use crate::op::Op;
use crate::profile::Profile;

/// Smaller and shallower requests are preferred if they reach this share of the best throughput.
const GOOD_SHARE: f64 = 0.95;

/// Requests up to this size are preferred: larger ones delay the processing of their pages.
const MODERATE_BYTES: u64 = 256 << 10;

/// Larger requests must be faster by this factor: less is within the noise of a quick profile.
const LARGE_GAIN: f64 = 1.3;

/// Where the memory holds fewer requests than these, it is divided among smaller ones: most
/// requests of a search are of a few pages.
const DEPTH_WANTED: u32 = 8;

/// The smaller requests must reach this share of the throughput of the larger ones, and be no
/// shorter than this.
const DEEPER_SHARE: f64 = 0.7;
const DEEPER_BYTES_MIN: u64 = 64 << 10;

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
    /// Most unwanted pages between two single pages that one request reads through.
    pub gap_pages: u64,
}

impl Plan {
    /// Bytes of the buffers of all requests in flight.
    pub fn buffer_bytes(&self) -> usize {
        self.request_bytes * self.depth
    }
}

/// Plans the reads of one device. Immutable.
#[derive(Clone, Debug)]
pub struct Planner {
    plan: Plan,
    page_bytes: u64,
    model: DeviceModel,
    /// Seconds that a request of n pages occupies the device, at index n; 0 at index 0.
    cost: Box<[f64]>,
    /// Greatest length in pages to which one more page may stretch an extent of n pages.
    reach: Box<[u64]>,
}

impl Planner {
    /// Plans reads of pages of `page_bytes` (a power of two) with at most `buffer_bytes` of
    /// buffers over all `workers`, but at least one page for each worker.
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
            gap_pages: gap_pages(&reach),
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

    /// The two parts of [`Planner::extent_seconds`].
    ///
    /// # Panics
    /// If `pages` is longer than an extent of this plan.
    pub fn extent_cost(&self, pages: u64) -> Cost {
        let cost = self.cost[pages as usize];
        let request = self.request_seconds().min(cost);
        Cost { request, pages: cost - request }
    }

    /// The part of the cost that every request has: that of one page without what a page costs
    /// more in the longest request.
    fn request_seconds(&self) -> f64 {
        let longest = self.cost.len() - 1;
        if longest == 1 {
            return self.cost[1];
        }
        let per_page = (self.cost[longest] - self.cost[1]) / (longest - 1) as f64;
        (self.cost[1] - per_page).max(0.0)
    }

    /// The same plan with corrected costs: other gaps are read through.
    #[must_use]
    pub fn corrected(&self, correction: Correction) -> Self {
        let cost = (0..self.cost.len() as u64).map(|pages| match pages {
            0 => 0.0,
            _ => {
                let Cost { request, pages } = self.extent_cost(pages);
                request * correction.request + pages * correction.pages
            }
        });
        let cost = smoothed(cost.collect());
        let reach = reaches(&cost);
        let plan = Plan { gap_pages: gap_pages(&reach), ..self.plan };
        Self { plan, cost, reach, page_bytes: self.page_bytes, model: self.model.clone() }
    }

    /// Seconds that `requests` of `bytes` in total take, at the plan's depth or, if there are
    /// fewer, all at once.
    pub fn predicted_seconds(&self, requests: u64, bytes: u64) -> f64 {
        if requests == 0 {
            return 0.0;
        }
        let depth = requests.min(self.plan.depth as u64) as u32;
        let mean_bytes = (bytes / requests).max(1);
        requests as f64 / self.model.iops(Op::Read, mean_bytes, depth)
    }

    /// Bytes per second of full-sized requests.
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

/// The least memory (bytes x depth) that reaches [`GOOD_SHARE`] of the best bytes per second, with
/// the depth then raised as far as small requests profit and the memory allows; up to
/// [`DEPTH_WANTED`] by smaller requests.
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
    // Single pages need more requests in flight than long extents.
    let small = model.channels(Op::Read, page);
    let raised = |choice: Choice, enough: u32| {
        let deeper = depths(workers).filter(|d| fits(choice.bytes, *d));
        let depth = deeper.take_while(|d| *d < enough + workers).last().unwrap_or(0);
        Choice { depth: depth.max(choice.depth), ..choice }
    };
    let mut choice = raised(choice, small);
    let (wanted, slowest) = (DEPTH_WANTED.min(small), speed(&choice) * DEEPER_SHARE);
    while choice.depth < wanted && choice.bytes >= (2 * DEEPER_BYTES_MIN).max(2 * page) {
        let half = Choice { bytes: choice.bytes / 2, depth: choice.depth };
        let half = raised(half, wanted);
        if speed(&half) < slowest {
            break;
        }
        choice = half;
    }
    choice
}

/// Depths to choose from: multiples of `workers`, each about a quarter more than the last.
fn depths(workers: u32) -> impl Iterator<Item = u32> {
    let each = std::iter::successors(Some(1_u32), |d| Some(d + (d / 4).max(1)));
    let limit = DEPTH_MAX.max(workers);
    each.map(move |d| d * workers).take_while(move |d| *d <= limit)
}

/// Cost in seconds of requests of 1 to the plan's greatest number of pages.
///
/// Measurements are noisy. The table is made to rise with length, and each additional page to cost
/// no more than a page of the longest request: then merging adjacent pages always pays, and no set
/// of extents costs more than reading everything.
fn costs(model: &DeviceModel, page: u64, choice: Choice) -> Box<[f64]> {
    let pages = (choice.bytes / page) as usize;
    let measured = |n: usize| 1.0 / model.iops(Op::Read, n as u64 * page, choice.depth);
    smoothed((0..=pages).map(|n| if n == 0 { 0.0 } else { measured(n) }).collect())
}

/// Makes costs by number of pages rise with length, as [`costs`] says.
fn smoothed(mut cost: Vec<f64>) -> Box<[f64]> {
    let pages = cost.len() - 1;
    for n in 1..=pages {
        cost[n] = cost[n].max(cost[n - 1]);
    }
    let per_page = cost[pages] / pages as f64;
    for n in (1..pages).rev() {
        cost[n] = cost[n].max(cost[n + 1] - per_page);
    }
    cost.into()
}

/// The widest gap between two single pages that is read through.
fn gap_pages(reach: &[u64]) -> u64 {
    reach[1].saturating_sub(2)
}

/// For each length in pages, the greatest length to which one more page may stretch it: one that
/// costs no more than a separate request for that page.
fn reaches(cost: &[f64]) -> Box<[u64]> {
    let longest = cost.len() - 1;
    let reach = |length: usize| {
        // Tolerates rounding errors.
        let limit = (cost[length] + cost[1]) * (1.0 + 1e-9);
        cost.partition_point(|c| *c <= limit) - 1
    };
    (0..=longest).map(|length| if length == 0 { 0 } else { reach(length) as u64 }).collect()
}

#[cfg(test)]
mod tests;
