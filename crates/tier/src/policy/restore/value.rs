//! One agent's value function: four fuzzy rules over two state variables, learned by TD(lambda).
//! Dissertation 6.4.2, Equations 6.2, 6.3 and 6.6.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::policy::saved::{ACCESSES_MAX, check};

/// Rules: {large, small} x {large, small}.
pub(super) const RULES: usize = 4;

/// Samples of a state variable's mean and range.
const SAMPLES: usize = 500;

/// How memberships combine to the weights of rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rules {
    /// w = mu(s1) mu(s2), as in the text.
    #[default]
    Product,
    /// Each membership is a rule of its own, as in the authors' program.
    Additive,
}

/// The last samples of a variable, with their mean and range.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Samples {
    samples: VecDeque<f64>,
    /// Candidates for the minimum and the maximum: number and value.
    least: VecDeque<(u64, f64)>,
    greatest: VecDeque<(u64, f64)>,
    number: u64,
    sum: f64,
    /// The mean before the first sample, and the least range.
    #[serde(skip)]
    mean_first: f64,
    #[serde(skip)]
    range_min: f64,
}

impl Samples {
    pub(super) fn new(mean_first: f64, range_min: f64) -> Self {
        let (samples, least, greatest) = Default::default();
        Self { samples, least, greatest, number: 0, sum: 0.0, mean_first, range_min }
    }

    pub(super) fn sample(&mut self, value: f64) {
        self.samples.push_back(value);
        self.sum += value;
        push_extreme(&mut self.least, self.number, value, |old| old >= value);
        push_extreme(&mut self.greatest, self.number, value, |old| old <= value);
        self.number += 1;
        if self.samples.len() > SAMPLES {
            self.sum -= self.samples.pop_front().unwrap_or_default();
            let oldest = self.number - SAMPLES as u64;
            for extremes in [&mut self.least, &mut self.greatest] {
                while extremes.front().is_some_and(|(number, _)| *number < oldest) {
                    extremes.pop_front();
                }
            }
        }
    }

    fn load(&mut self, saved: Self) -> Result<()> {
        let Self { mean_first, range_min, .. } = *self;
        let number = saved.number;
        let held = number.min(SAMPLES as u64);
        let of_samples = |(at, value): &(u64, f64)| *at < number && value.is_finite();
        let extremes = [&saved.least, &saved.greatest];
        let holds = number <= ACCESSES_MAX
            && saved.samples.len() as u64 == held
            && saved.samples.iter().all(|value| value.is_finite())
            && extremes.iter().all(|all| all.len() as u64 <= held && all.iter().all(of_samples))
            && saved.sum.is_finite();
        check(holds, || format!("{} samples of {number}", saved.samples.len()))?;
        *self = Self { mean_first, range_min, ..saved };
        Ok(())
    }

    fn mean(&self) -> f64 {
        if self.samples.is_empty() { self.mean_first } else { self.sum / self.samples.len() as f64 }
    }

    fn range(&self) -> f64 {
        let least = self.least.front().map_or(0.0, |(_, value)| *value);
        let greatest = self.greatest.front().map_or(0.0, |(_, value)| *value);
        (greatest - least).max(self.range_min)
    }

    /// Membership of x in Large: 1 / (1 + a e^(-b x)), b = 10 / range, a = e^(b mean). Its
    /// membership in Small is 1 minus that.
    fn large(&self, x: f64) -> f64 {
        1.0 / (1.0 + (-(10.0 / self.range()) * (x - self.mean())).exp())
    }
}

fn push_extreme(
    extremes: &mut VecDeque<(u64, f64)>,
    number: u64,
    value: f64,
    yields: impl Fn(f64) -> bool,
) {
    while extremes.back().is_some_and(|(_, old)| yields(*old)) {
        extremes.pop_back();
    }
    extremes.push_back((number, value));
}

/// An agent: its value function and learning state.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Agent {
    #[serde(skip)]
    rules: Rules,
    pub(super) windows: [Samples; 2],
    /// The rules' outputs, their eligibility traces, and the sums of their weights.
    p: [f64; RULES],
    z: [f64; RULES],
    used: [f64; RULES],
    /// The rules' weights in the agent's present state.
    phi: [f64; RULES],
}

/// Parameters of TD(lambda).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Learning {
    /// The discount for one state.
    pub(super) gamma: f64,
    /// The decay of traces.
    pub(super) lambda: f64,
    /// A constant rate instead of the text's schedule.
    pub(super) rate: Option<f64>,
}

impl Agent {
    pub(super) fn new(rules: Rules, windows: [Samples; 2]) -> Self {
        let zero = [0.0; RULES];
        Self { rules, windows, p: zero, z: zero, used: zero, phi: zero }
    }

    pub(super) fn load(&mut self, saved: Self) -> Result<()> {
        let learned = [saved.p, saved.z, saved.used, saved.phi];
        check(learned.as_flattened().iter().all(|value| value.is_finite()), || {
            "what agents learned is no number".into()
        })?;
        for (window, saved) in self.windows.iter_mut().zip(saved.windows) {
            window.load(saved)?;
        }
        [self.p, self.z, self.used, self.phi] = learned;
        Ok(())
    }

    fn phi(&self, state: [f64; 2]) -> [f64; RULES] {
        let [l1, l2] = [0, 1].map(|i| self.windows[i].large(state[i]));
        let (s1, s2) = (1.0 - l1, 1.0 - l2);
        match self.rules {
            Rules::Product => [l1 * l2, l1 * s2, s1 * l2, s1 * s2],
            // Their sum is 2, hence the half.
            Rules::Additive => [l1, s1, l2, s2].map(|w| w / 2.0),
        }
    }

    fn dot(&self, phi: &[f64; RULES]) -> f64 {
        self.p.iter().zip(phi).map(|(p, phi)| p * phi).sum()
    }

    /// v(s), the value of a state.
    pub(super) fn value(&self, state: [f64; 2]) -> f64 {
        self.dot(&self.phi(state))
    }

    /// Learns from the transition to state `next` with `reward`.
    pub(super) fn learn(&mut self, reward: f64, next: [f64; 2], learning: &Learning) {
        let Learning { gamma, lambda, rate } = *learning;
        let next_phi = self.phi(next);
        let error = reward + gamma * self.dot(&next_phi) - self.dot(&self.phi);
        for rule in 0..RULES {
            self.z[rule] = lambda * gamma * self.z[rule] + self.phi[rule];
            let alpha = rate.unwrap_or(0.1 / (1.0 + 100.0 * self.used[rule]));
            self.p[rule] += alpha * error * self.z[rule];
            self.used[rule] += self.phi[rule];
        }
        self.phi = next_phi;
    }

    /// Sets the initial state.
    pub(super) fn begin(&mut self, state: [f64; 2]) {
        self.phi = self.phi(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_range_are_those_of_the_last_samples() {
        let mut window = Samples::new(0.5, 0.1);
        assert_eq!((window.mean(), window.range()), (0.5, 0.1));
        let mut all = Vec::new();
        for i in 0..2_000u64 {
            let value = ((i * i * 7919) % 1000) as f64;
            window.sample(value);
            all.push(value);
            let last = &all[all.len().saturating_sub(SAMPLES)..];
            let least = last.iter().copied().fold(f64::MAX, f64::min);
            let greatest = last.iter().copied().fold(f64::MIN, f64::max);
            assert_eq!(window.range(), (greatest - least).max(0.1));
            assert!((window.mean() - last.iter().sum::<f64>() / last.len() as f64).abs() < 1e-9);
        }
        assert!((window.large(window.mean()) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn an_agent_learns_the_value_of_a_state_that_never_changes() {
        let windows = || [Samples::new(0.5, 1.0), Samples::new(0.5, 1.0)];
        for rules in [Rules::Product, Rules::Additive] {
            let mut agent = Agent::new(rules, windows());
            let learning = Learning { gamma: 0.5, lambda: 0.8, rate: Some(0.1) };
            agent.begin([0.5, 0.5]);
            assert_eq!(agent.value([0.5, 0.5]), 0.0);
            (0..2_000).for_each(|_| agent.learn(-3.0, [0.5, 0.5], &learning));
            // v = -3 + v / 2.
            assert!((agent.value([0.5, 0.5]) + 6.0).abs() < 1e-6, "{agent:?}");
        }
    }

    #[test]
    fn the_first_step_is_that_of_the_equations() {
        let mut agent =
            Agent::new(Rules::Product, [Samples::new(0.5, 1.0), Samples::new(0.5, 1.0)]);
        agent.begin([0.5, 0.5]);
        agent.learn(-2.0, [0.5, 0.5], &Learning { gamma: 0.9, lambda: 0.8, rate: None });
        // All phi are 1/4, the rate is 0.1 and v was 0: p = 0.1 x -2 x 1/4.
        assert_eq!(agent.p, [-0.05; RULES]);
        assert_eq!(agent.used, [0.25; RULES]);
    }
}
