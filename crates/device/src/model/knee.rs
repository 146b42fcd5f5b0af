//! Saturation depth k and latency knee of a curve, for presets and measurements.

/// The share of the maximal throughput that counts as saturated.
pub const SATURATION_SHARE: f64 = 0.90;

/// The factor over the latency at depth 1 that counts as the latency knee.
pub const KNEE_FACTOR: f64 = 1.5;

/// k: the smallest concurrency at which throughput reaches `share` of its maximum.
///
/// `points` are (depth, requests per second), depths ascending. The running maximum smooths noise;
/// between measured depths throughput is interpolated linearly. `None` without points.
pub fn saturation_depth(points: &[(u32, f64)], share: f64) -> Option<u32> {
    let best = points.iter().map(|p| p.1).fold(0.0, f64::max);
    // Tolerates rounding errors.
    let target = best * share * (1.0 - 5e-7);
    let mut before: Option<(f64, f64)> = None;
    let mut running = 0.0_f64;
    for &(depth, iops) in points {
        let depth = f64::from(depth);
        running = running.max(iops);
        if running >= target {
            let exact = match before {
                Some((d, i)) if running > i => d + (target - i) / (running - i) * (depth - d),
                _ => depth,
            };
            return Some((exact - 1e-4).ceil().max(1.0) as u32);
        }
        before = Some((depth, running));
    }
    None
}

/// The latency knee: the smallest measured depth whose median latency is more than
/// [`KNEE_FACTOR`] times that of depth 1. `None` without a knee or without depth 1.
pub fn latency_knee(points: &[(u32, f64)]) -> Option<u32> {
    let alone = points.iter().find(|p| p.0 == 1)?.1;
    points.iter().find(|p| p.1 > KNEE_FACTOR * alone).map(|p| p.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn optane_8k_reads_saturate_at_the_papers_depth() {
        let kiops = [80.0, 140.0, 214.0, 270.0, 299.0, 298.0, 292.0];
        let points: Vec<_> = (1..).zip(kiops).collect();
        assert_eq!(saturation_depth(&points, SATURATION_SHARE), Some(4));
    }

    #[test]
    fn a_dip_after_saturation_does_not_move_k() {
        let points = [(1, 10.0), (2, 20.0), (4, 40.0), (8, 41.0), (16, 30.0), (32, 42.0)];
        assert_eq!(saturation_depth(&points, SATURATION_SHARE), Some(4));
    }

    #[test]
    fn k_between_two_depths_is_interpolated() {
        let points = [(64, 64.0), (128, 128.0)];
        assert_eq!(saturation_depth(&points, SATURATION_SHARE), Some(116));
    }

    #[test]
    fn a_flat_curve_saturates_at_once_and_an_empty_one_never() {
        assert_eq!(saturation_depth(&[(1, 5.0), (2, 5.0)], SATURATION_SHARE), Some(1));
        assert_eq!(saturation_depth(&[], SATURATION_SHARE), None);
    }

    #[test]
    fn latency_knee_is_the_first_depth_beyond_the_factor() {
        assert_eq!(latency_knee(&[(1, 10.0), (2, 15.0), (4, 15.1)]), Some(4));
        assert_eq!(latency_knee(&[(1, 10.0), (2, 11.0)]), None);
        assert_eq!(latency_knee(&[(2, 10.0), (4, 110.0)]), None);
    }
}
