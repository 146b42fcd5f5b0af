//! Chooses the columns that hold the edges.

use super::Problem;
use crate::config::InputSpec;
use crate::error::excerpt;

/// Names of the columns of source and target, in the order of preference.
const NAMES: [(&str, &str); 3] = [("source", "target"), ("src", "dst"), ("from", "to")];

/// The columns that there are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known<'a> {
    /// Their names, none without a header.
    pub names: &'a [String],
    pub count: usize,
    /// Those of structs, lists or maps. Each counts as one column, and is chosen only if it is
    /// given, which is an error.
    pub nested: &'a [usize],
}

impl Known<'_> {
    /// The place of the first column with this name.
    fn named(self, name: &str) -> Option<usize> {
        self.flat().find(|&at| self.names.get(at).is_some_and(|known| is_named(known, name)))
    }

    /// The columns that are not nested.
    fn flat(self) -> impl Iterator<Item = usize> {
        (0..self.count).filter(move |at| self.nested.binary_search(at).is_err())
    }

    /// The column given as `option`, whose place `refuse` refuses if it is nested.
    fn given(
        self,
        given: Option<&str>,
        option: &str,
        refuse: fn(&str, &dyn std::fmt::Display) -> String,
    ) -> Result<Option<usize>, Problem> {
        let place = chosen(given, option, self.names, self.count)?;
        match place.filter(|place| self.nested.contains(place)) {
            Some(nested) => Err(Problem::Whole(refuse(&self.names[nested], &NESTED))),
            None => Ok(place),
        }
    }
}

const NESTED: &str = "nested values (a struct, list or map)";

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

    /// Source and target: as given, else by well-known names, else the first two that are not
    /// nested; of two columns the one that is not given.
    pub fn ids(self, known: Known<'_>) -> Result<[usize; 2], Problem> {
        let named = NAMES
            .iter()
            .find_map(|(source, target)| Some((known.named(source)?, known.named(target)?)));
        let flat: Vec<usize> = known.flat().take(3).collect();
        let first = || Some((*flat.first()?, *flat.get(1)?));
        let defaults = named.or_else(first);
        let source = known.given(self.source, "`source_column`", no_ids)?;
        let target = known.given(self.target, "`target_column`", no_ids)?;
        let Some(defaults) = defaults else {
            return Err(Problem::Line("at least two columns".to_owned()));
        };
        if let ([one, other], true) = (&flat[..], source.is_some() != target.is_some()) {
            // The other one of two.
            let rest = |given: usize| if given == *one { *other } else { *one };
            let (source, target) = (source.or(target.map(rest)), target.or(source.map(rest)));
            return Ok([source.unwrap_or(*one), target.unwrap_or(*other)]);
        }
        let (source, target) = (source.unwrap_or(defaults.0), target.unwrap_or(defaults.1));
        if source != target {
            return Ok([source, target]);
        }
        let column = known
            .names
            .get(source)
            .map_or(String::new(), |name| format!(" `{}`", excerpt(name.as_bytes())));
        Err(Problem::Whole(format!(
            "source and target would both be column {}{column}: give two columns as \
             `source_column` and `target_column`",
            source + 1
        )))
    }

    /// The weight: as given, else by a well-known name, else the only column that holds no id, or
    /// without names the first such one.
    pub fn weight(self, known: Known<'_>, ids: [usize; 2]) -> Result<usize, Problem> {
        let whole = |reason: &str| Err(Problem::Whole(reason.to_owned()));
        if let Some(place) = known.given(self.weight, "`weight_column`", no_weights)? {
            if ids.contains(&place) {
                return whole("`weight_column` is the column of an id; give another");
            }
            return Ok(place);
        }
        let named = ["weight", "w"].iter().find_map(|name| known.named(name));
        let others: Vec<usize> = known.flat().filter(|place| !ids.contains(place)).collect();
        match (named, &others[..]) {
            (Some(place), _) if !ids.contains(&place) => Ok(place),
            (_, [only]) => Ok(*only),
            (_, [first, ..]) if known.names.is_empty() => Ok(*first),
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
        let known = Known { names: &names, count: 3, nested: &[] };
        let ids = |target| ColumnChoice { target, ..ColumnChoice::default() }.ids(known);
        assert_eq!(ids(None).unwrap(), [2, 1]);
        assert_eq!(ids(Some("w")).unwrap(), [2, 0]);
        let Err(Problem::Whole(reason)) = ids(Some("3")) else { panic!("the same") };
        assert!(reason.starts_with("source and target would both be column 3 `src`"), "{reason}");
        let Err(Problem::Whole(reason)) = ids(Some("x")) else { panic!("unknown") };
        assert!(reason.contains("there are: w, Dst, src"), "{reason}");
        assert_eq!(ColumnChoice::default().weight(known, [2, 1]).unwrap(), 0);
    }
}
