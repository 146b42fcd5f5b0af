//! Results as data for plots.

use serde::Serialize;

/// A chart with a title, and series of one kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Chart {
    /// The title.
    pub title: String,
    /// The unit of the y axis.
    pub unit: &'static str,
    /// A height for comparison.
    pub level: Option<f64>,
    /// Bars or lines.
    pub body: Body,
}

/// The series of a chart, each with its name.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Body {
    /// Groups of bars, side by side.
    Bars {
        /// Names of the groups.
        groups: Vec<String>,
        /// Each bar's group and height.
        series: Vec<(String, Vec<(usize, f64)>)>,
    },
    /// Lines over the values of a parameter.
    Lines {
        /// The parameter.
        x: String,
        /// Points.
        series: Vec<(String, Vec<(f64, f64)>)>,
    },
}

impl Body {
    /// Bars of items: each item's group, series and height. Groups and series are in the order of
    /// their first items.
    pub(crate) fn bars(items: impl Iterator<Item = (String, String, f64)>) -> Self {
        let (mut groups, mut series) = (Vec::new(), Vec::new());
        for (group, name, height) in items {
            let group = place(&mut groups, |other| *other == group, || group.clone());
            let own = place(&mut series, |(other, _)| *other == name, || named(&name));
            series[own].1.push((group, height));
        }
        Self::Bars { groups, series }
    }

    /// Lines of items: each item's series and point.
    pub(crate) fn lines(x: String, items: impl Iterator<Item = (String, (f64, f64))>) -> Self {
        let mut series = Vec::new();
        for (name, point) in items {
            let own = place(&mut series, |(other, _)| *other == name, || named(&name));
            series[own].1.push(point);
        }
        Self::Lines { x, series }
    }
}

fn named<T>(name: &str) -> (String, Vec<T>) {
    (name.to_owned(), Vec::new())
}

/// The index of an item, which is added if it is new.
fn place<T>(all: &mut Vec<T>, is_it: impl Fn(&T) -> bool, make: impl FnOnce() -> T) -> usize {
    all.iter().position(is_it).unwrap_or_else(|| {
        all.push(make());
        all.len() - 1
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_and_series_keep_the_order_in_which_they_come() {
        let items = [("g2", "a", 1.0), ("g1", "b", 2.0), ("g2", "b", 3.0)];
        let items = items.map(|(group, name, height)| (group.into(), name.into(), height));
        let Body::Bars { groups, series } = Body::bars(items.into_iter()) else { panic!() };
        assert_eq!(groups, ["g2", "g1"]);
        let expected = [("a", vec![(0, 1.0)]), ("b", vec![(1, 2.0), (0, 3.0)])];
        assert_eq!(series, expected.map(|(name, bars)| (name.to_owned(), bars)));
    }
}
