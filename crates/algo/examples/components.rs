//! The connected components of edges in a text file, two ids a line, by this crate alone:
//! `cargo run -p cenote-algo --example components -- EDGES.txt`.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use cenote_algo::wcc;
use cenote_device::backend::file::{self, OpenOptions};
use cenote_engine::{EngineConfig, Graph};
use cenote_import::{ImportConfig, InputSpec, NoProgress, import};

/// How many components there are, and how many vertices the largest has.
fn components(edges: &Path) -> Result<(u64, u64), Box<dyn Error>> {
    // The graph's file lies beside its edges.
    let path = edges.with_extension("cenote");
    import(&[InputSpec::new(edges)], &path, &ImportConfig::default(), &NoProgress)?;
    let graph = Arc::new(Graph::open(file::open(&path, &OpenOptions::reading())?)?);

    let config = EngineConfig::with_memory(256 << 20);
    let estimate = wcc::estimate(&graph, &config)?;
    eprintln!("{} bytes to read: {}", estimate.bytes_read, estimate.because);
    let found = wcc::run(&graph, config)?;
    wcc::verify(&graph, &found)?;
    Ok((found.components, found.largest))
}

fn main() -> Result<(), Box<dyn Error>> {
    let edges = std::env::args().nth(1).ok_or("which file of edges?")?;
    let (components, largest) = components(Path::new(&edges))?;
    println!("{components} components, the largest of {largest} vertices");
    Ok(())
}

#[test]
fn two_triangles_are_two_components() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let edges = folder.path().join("edges.txt");
    std::fs::write(&edges, "1 2\n2 3\n3 1\n7 8\n8 9\n9 7\n9 10\n")?;
    assert_eq!(components(&edges)?, (2, 4));
    Ok(())
}
