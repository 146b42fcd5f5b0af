//! Chooses the columns that hold the edges.

use super::Problem;
use crate::config::InputSpec;
use crate::error::excerpt;

/// Names of the columns of source and target, in the order of preference.
const NAMES: [(&str, &str); 3] = [("source", "target"), ("src", "dst"), ("from", "to")];

/// The columns given by the user, each by its name, or by its number from 1.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ColumnChoice<'a> {
    pub source: Option<&'a str>,
    pub target: Option<&'a str>,
    pub weight: Option<&'a str>,
}

impl<'a> ColumnChoice<'a> {
    pub fn of(spec: &'a InputSpec) -> Self {
        Self {
            source: spec.source_column.as_deref(),
            target: spec.target_column.as_deref(),
            weight: spec.weight_column.as_deref(),
        }
    }

    /// Source and target among `count` columns: as given, else by well-known names, else the first
    /// two; of two columns the one that is not given.
    pub fn ids(self, names: &[String], count: usize) -> Result<[usize; 2], Problem> {
        let place = |name: &str| names.iter().position(|known| is_named(known, name));
        let named =
            NAMES.iter().find_map(|(source, target)| Some((place(source)?, place(target)?)));
        let (source, target) = named.unwrap_or((0, 1));
        let source = chosen(self.source, "`source_column`", names, count)?.unwrap_or(source);
        let target = chosen(self.target, "`target_column`", names, count)?.unwrap_or(target);
        if count < 2 {
            return Err(Problem::Line("at least two columns".to_owned()));
        }
        if source == target {
            // One was given, and is what the other would be by itself.
            match (self.source, self.target, count) {
                (Some(_), None, 2) => return Ok([source, 1 - source]),
                (None, Some(_), 2) => return Ok([1 - target, target]),
                _ => {}
            }
            let column = names
                .get(source)
                .map_or(String::new(), |name| format!(" `{}`", excerpt(name.as_bytes())));
            return Err(Problem::Whole(format!(
                "source and target would both be column {}{column}: give two columns as \
                 `source_column` and `target_column`",
                source + 1
            )));
        }
        Ok([source, target])
    }

    /// The weight: as given, else by a well-known name, else the only column that holds no id, or
    /// without names the first such one.
    pub fn weight(self, names: &[String], count: usize, ids: [usize; 2]) -> Result<usize, Problem> {
        let whole = |reason: &str| Err(Problem::Whole(reason.to_owned()));
        if let Some(place) = chosen(self.weight, "`weight_column`", names, count)? {
            if ids.contains(&place) {
                return whole("`weight_column` is the column of an id; give another");
            }
            return Ok(place);
        }
        let place = |name: &&str| names.iter().position(|known| is_named(known, name));
        let named = ["weight", "w"].iter().find_map(place);
        let others: Vec<usize> = (0..count).filter(|place| !ids.contains(place)).collect();
        match (named, &others[..]) {
            (Some(place), _) if !ids.contains(&place) => Ok(place),
            (_, [only]) => Ok(*only),
            (_, [first, ..]) if names.is_empty() => Ok(*first),
            (_, []) => whole(
                "has no column of weights beside source and target: import it without `weights`",
            ),
            _ => whole("no column is named `weight`: say which one it is with `weight_column`"),
        }
    }
}

fn is_named(column: &str, name: &str) -> bool {
    column.trim().to_lowercase() == name
}

fn chosen(
    asked: Option<&str>,
    option: &str,
    names: &[String],
    count: usize,
) -> Result<Option<usize>, Problem> {
    let Some(asked) = asked else { return Ok(None) };
    if let Some(place) = names.iter().position(|name| name == asked) {
        return Ok(Some(place));
    }
    match asked.parse::<usize>() {
        Ok(number) if (1..=count).contains(&number) => Ok(Some(number - 1)),
        _ if names.is_empty() => Err(Problem::Whole(format!(
            "{option} {asked}: there is no header; give a column number from 1 to {count}"
        ))),
        _ => {
            let known: Vec<_> = names.iter().map(|name| excerpt(name.as_bytes())).collect();
            let known = known.join(", ");
            Err(Problem::Whole(format!("{option} {asked}: no such column; there are: {known}")))
        }
    }
}

pub(crate) fn no_ids(column: &str, holds: &dyn std::fmt::Display) -> String {
    let holds = holds.to_string();
    let is_float = ["Float", "FLOAT", "DOUBLE"].iter().any(|float| holds.starts_with(float));
    // That is what pandas does.
    let nulls = "; integers with nulls become floats: drop the nulls, then `astype(\"Int64\")`";
    let nulls = if is_float { nulls } else { "" };
    format!(
        "column {column} holds {holds}; ids are integers or strings (choose others with \
         `source_column` and `target_column`){nulls}"
    )
}

pub(crate) fn no_weights(column: &str, holds: &dyn std::fmt::Display) -> String {
    format!(
        "column {column} holds {holds}; weights are numbers (choose another with `weight_column`)"
    )
}

pub(crate) fn two_kinds(source: &str, target: &str) -> String {
    format!(
        "columns {source} and {target}: one id column holds integers, the other strings (choose \
         others with `source_column` and `target_column`)"
    )
}

pub(crate) const NULL: &str = "expected two ids (and a weight, where asked for), found null";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_found_by_name_or_place() {
        let names: Vec<String> = ["w", "Dst", "src"].map(String::from).to_vec();
        let ids = |target| ColumnChoice { target, ..ColumnChoice::default() }.ids(&names, 3);
        assert_eq!(ids(None).unwrap(), [2, 1]);
        assert_eq!(ids(Some("w")).unwrap(), [2, 0]);
        let Err(Problem::Whole(reason)) = ids(Some("3")) else { panic!("the same") };
        assert!(reason.starts_with("source and target would both be column 3 `src`"), "{reason}");
        let Err(Problem::Whole(reason)) = ids(Some("x")) else { panic!("unknown") };
        assert!(reason.contains("there are: w, Dst, src"), "{reason}");
        assert_eq!(ColumnChoice::default().weight(&names, 3, [2, 1]).unwrap(), 0);
    }
}
