//! The five best pages of a small web: `cargo run -p cenote --example five_best`.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Any iterator of edges will do: ids may be integers of any width, or strings.
    let edges = (0..100_000u64).map(|page| (page, page * page / 7 % 1_000));
    let path = std::env::temp_dir().join("five_best.cenote");
    cenote::Import::new().directed().in_edges().edges(edges).overwrite().run(&path)?;

    let graph = cenote::Graph::open(&path)?;
    let ranks = graph.pagerank().iterations(100).memory("64MiB").run()?;
    for (id, rank) in ranks.top(5)? {
        println!("{rank:.6}  {id}");
    }
    Ok(graph.close()?)
}
