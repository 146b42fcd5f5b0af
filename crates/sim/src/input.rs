//! Writes edge lists in every format.

use std::fmt::Write;

use cenote_import::Format;

use crate::shape::Naming;

/// Formats for any graph with integer ids.
pub const INTEGER_FORMATS: [Format; 5] =
    [Format::Edges, Format::Csv, Format::Tsv, Format::Adjacency, Format::U64];
/// Formats for any graph.
pub const NAME_FORMATS: [Format; 4] = [Format::Edges, Format::Csv, Format::Tsv, Format::Adjacency];
/// Formats for ids from 0 or 1.
pub const DENSE_FORMATS: [Format; 5] =
    [Format::U32, Format::MatrixMarket, Format::Metis, Format::Vertices, Format::AdjacencyU32];

/// The bytes of a file in this format. The last four of [`DENSE_FORMATS`] lose parts of the edges
/// that the format cannot express; they only serve as a start for mutations.
pub fn write(format: Format, naming: Naming, edges: &[(u64, u64)]) -> Vec<u8> {
    match format {
        Format::Csv => lines(naming, edges, "source,target\n", ","),
        Format::Tsv => lines(naming, edges, "from\tto\n", "\t"),
        Format::U32 => pairs(naming, edges, |id| (id as u32).to_le_bytes().to_vec()),
        Format::U64 => pairs(naming, edges, |id| id.to_le_bytes().to_vec()),
        Format::MatrixMarket => matrix(edges),
        Format::Metis => metis(edges),
        Format::AdjacencyU32 => adjacency_u32(edges),
        Format::Vertices => lines(naming, edges, "", "\n"),
        _ => lines(naming, edges, "# made by a simulation\n", " "),
    }
}

fn lines(naming: Naming, edges: &[(u64, u64)], head: &str, between: &str) -> Vec<u8> {
    let mut text = head.to_owned();
    for &(a, b) in edges {
        writeln!(text, "{}{between}{}", naming.name(a), naming.name(b)).expect("memory");
    }
    text.into_bytes()
}

fn pairs(naming: Naming, edges: &[(u64, u64)], bytes: fn(u64) -> Vec<u8>) -> Vec<u8> {
    let ids = edges.iter().flat_map(|&(a, b)| [a, b]);
    ids.flat_map(|number| bytes(naming.integer(number).unwrap_or(number))).collect()
}

fn vertices(edges: &[(u64, u64)]) -> u64 {
    edges.iter().map(|&(a, b)| a.max(b) + 1).max().unwrap_or(0)
}

fn matrix(edges: &[(u64, u64)]) -> Vec<u8> {
    let (n, count) = (vertices(edges), edges.len());
    let mut text = "%%MatrixMarket matrix coordinate pattern general\n% a comment\n".to_owned();
    writeln!(text, "{n} {n} {count}").expect("memory");
    edges.iter().for_each(|(a, b)| writeln!(text, "{} {}", a + 1, b + 1).expect("memory"));
    text.into_bytes()
}

fn lists(edges: &[(u64, u64)], both: bool) -> Vec<Vec<u64>> {
    let mut lists = vec![Vec::new(); vertices(edges) as usize];
    for &(a, b) in edges {
        if a != b || !both {
            lists[a as usize].push(b);
        }
        if a != b && both {
            lists[b as usize].push(a);
        }
    }
    lists
}

fn metis(edges: &[(u64, u64)]) -> Vec<u8> {
    let lists = lists(edges, true);
    let entries: usize = lists.iter().map(Vec::len).sum();
    let mut text = format!("{} {}\n", lists.len(), entries / 2);
    for list in lists {
        let neighbours: Vec<String> = list.iter().map(|v| (v + 1).to_string()).collect();
        writeln!(text, "{}", neighbours.join(" ")).expect("memory");
    }
    text.into_bytes()
}

fn adjacency_u32(edges: &[(u64, u64)]) -> Vec<u8> {
    let lists = lists(edges, false);
    let word = |number: u64| (number as u32).to_le_bytes();
    let list = |list: &Vec<u64>| [vec![list.len() as u64], list.clone()].concat();
    lists.iter().flat_map(list).flat_map(word).collect()
}
