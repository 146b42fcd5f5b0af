//! Prints the five vertices of highest PageRank: `cargo run --example five_best GRAPH`.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args_os().nth(1).ok_or("expected the path of a graph")?;
    let graph = cenote::Graph::open(path)?;
    let ranks = graph.pagerank().iterations(20).memory("64MiB").run()?;
    for (id, rank) in ranks.top(5)? {
        println!("{rank:.6}  {id}");
    }
    Ok(graph.close()?)
}
