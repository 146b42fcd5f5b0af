//! Corrects the cost of requests from what a run sees.
//!
//! The plan's cost of a request of n pages has a part that every request has, whatever its length,
//! and a part that grows with n. On another drive than the profile's, or a shared one, both may be
//! off, each by its own factor, and the best gap to read through depends on the ratio of the two.
//! Windows of requests with different mean sizes reveal the factors: least squares over windows,
//! elapsed time by planned seconds of the one part and of the other. A factor is believed only if
//! it is beyond the noise of the windows.

/// Windows before the first correction.
const WINDOWS_MIN: f64 = 8.0;

/// After this many windows, older ones count half.
const WINDOWS_MAX: f64 = 64.0;

/// Ratios of the factors closer to 1 than this are not worth another plan.
const RATIO_MIN: f64 = 1.5;

/// The ratio of the factors must be this many standard errors from 1.
const ERRORS_MIN: f64 = 3.0;

/// Factors are kept within `1 / FACTOR_MAX` and `FACTOR_MAX` of their mean.
const FACTOR_MAX: f64 = 32.0;

/// Planned seconds of requests, in two parts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// The part that every request has.
    pub request: f64,
    /// The part that grows with the pages of a request.
    pub pages: f64,
}

impl Cost {
    /// Both parts.
    pub fn seconds(&self) -> f64 {
        self.request + self.pages
    }
}

impl std::ops::AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        self.request += other.request;
        self.pages += other.pages;
    }
}

/// How many times as much as planned a request costs.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Correction {
    /// Factor of the cost that every request has.
    pub request: f64,
    /// Factor of the cost of its pages.
    pub pages: f64,
}

/// Requests between two moments at which the device was the bottleneck.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observed {
    /// Seconds that passed.
    pub seconds: f64,
    /// What the plan says for the requests that completed.
    pub planned: Cost,
}

/// Fits a [`Correction`] to the windows of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct CostFit {
    windows: f64,
    /// Sums over windows of products of the planned parts, each over the elapsed time.
    request_request: f64,
    request_pages: f64,
    pages_pages: f64,
    request: f64,
    pages: f64,
}

impl CostFit {
    /// Adds a window.
    pub fn add(&mut self, window: Observed) {
        let Observed { seconds, planned } = window;
        if seconds <= 0.0 || planned.seconds() <= 0.0 {
            return;
        }
        if self.windows >= WINDOWS_MAX {
            for sum in [
                &mut self.windows,
                &mut self.request_request,
                &mut self.request_pages,
                &mut self.pages_pages,
                &mut self.request,
                &mut self.pages,
            ] {
                *sum /= 2.0;
            }
        }
        // Errors are relative to the elapsed time.
        let (request, pages) = (planned.request / seconds, planned.pages / seconds);
        self.windows += 1.0;
        self.request_request += request * request;
        self.request_pages += request * pages;
        self.pages_pages += pages * pages;
        self.request += request;
        self.pages += pages;
    }

    /// The factors, if the windows tell them apart from equal ones.
    pub fn correction(&self) -> Option<Correction> {
        if self.windows < WINDOWS_MIN {
            return None;
        }
        let (a, b, c) = (self.request_request, self.request_pages, self.pages_pages);
        let determinant = a * c - b * b;
        if determinant <= 1e-9 * a * c {
            return None;
        }
        let request = (c * self.request - b * self.pages) / determinant;
        let pages = (a * self.pages - b * self.request) / determinant;
        // The variance of the difference of the factors, from the residuals' mean square.
        let residual = (self.windows - request * self.request - pages * self.pages).max(0.0);
        let variance = residual / (self.windows - 2.0) * (a + c + 2.0 * b) / determinant;
        if (request - pages).abs() <= ERRORS_MIN * variance.sqrt() {
            return None;
        }
        let mean = (request.max(0.0) + pages.max(0.0)) / 2.0;
        if mean <= 0.0 {
            return None;
        }
        let within = |factor: f64| factor.clamp(mean / FACTOR_MAX, mean * FACTOR_MAX);
        let found = Correction { request: within(request), pages: within(pages) };
        let ratio = found.request / found.pages;
        (ratio.max(1.0 / ratio) >= RATIO_MIN).then_some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Windows of `requests` requests of `pages` pages, planned at 8 and 2 seconds, on a drive that
    /// takes other times; `noise` is the relative error of a window.
    fn fit(actual: Cost, mixes: &[(f64, f64)], noise: f64) -> Option<Correction> {
        let mut fit = CostFit::default();
        for round in 0..20 {
            for (at, (requests, pages)) in mixes.iter().enumerate() {
                let sign = if (round + at) % 2 == 0 { 1.0 } else { -1.0 };
                let exact = requests * actual.request + pages * actual.pages;
                let planned = Cost { request: requests * 8.0, pages: pages * 2.0 };
                fit.add(Observed { seconds: exact * (1.0 + sign * noise), planned });
            }
        }
        fit.correction()
    }

    const MIXES: [(f64, f64); 3] = [(24.0, 24.0), (24.0, 100.0), (24.0, 1000.0)];

    #[test]
    fn both_factors_are_found_in_windows_of_different_sizes() {
        for (request, pages) in [(5.0, 1.0), (0.2, 1.0), (3.0, 30.0), (10.0, 1.0)] {
            let actual = Cost { request: 8.0 * request, pages: 2.0 * pages };
            for noise in [0.0, 0.02] {
                let found = fit(actual, &MIXES, noise).unwrap();
                assert!((found.request / request - 1.0).abs() < 0.05 + 4.0 * noise, "{found:?}");
                assert!((found.pages / pages - 1.0).abs() < 0.05 + 4.0 * noise, "{found:?}");
            }
        }
    }

    #[test]
    fn the_planned_costs_and_equal_factors_need_no_correction() {
        assert_eq!(fit(Cost { request: 8.0, pages: 2.0 }, &MIXES, 0.0), None);
        assert_eq!(fit(Cost { request: 24.0, pages: 6.0 }, &MIXES, 0.1), None);
    }

    #[test]
    fn requests_of_one_size_and_noise_reveal_nothing() {
        let actual = Cost { request: 40.0, pages: 2.0 };
        assert_eq!(fit(actual, &[(24.0, 24.0)], 0.0), None);
        assert_eq!(fit(actual, &[(24.0, 24.0), (48.0, 48.0)], 0.2), None);
        assert_eq!(fit(actual, &[(24.0, 24.0), (24.0, 30.0)], 0.5), None);
        assert_eq!(CostFit::default().correction(), None);
    }

    #[test]
    fn a_drive_that_changes_is_followed() {
        let mut fit = CostFit::default();
        for request in [8.0, 40.0] {
            for _ in 0..100 {
                for (requests, pages) in MIXES {
                    let planned = Cost { request: requests * 8.0, pages: pages * 2.0 };
                    fit.add(Observed { seconds: requests * request + pages * 2.0, planned });
                }
            }
        }
        let found = fit.correction().unwrap();
        assert!((4.5..=5.5).contains(&found.request), "{found:?}");
    }
}
