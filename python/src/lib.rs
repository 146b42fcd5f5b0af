//! The native part of the Python package `cenote`.
//!
//! - `graph`: open graphs, runs and look-ups
//! - `answer`, `array`, `arrow`: answers, and their values in NumPy and Arrow
//! - `import`, `batches`, `tables`: imports of files and of Python objects
//! - `visit`: passes over lists in batches
//! - `features`: files of features
//! - `components`: components and degrees straight from edges
//! - `shards`, `shard_runs`: graphs cut into several files, and their parts in algorithms
//! - `update`: changes, snapshots, compaction, check, profiles of drives
//! - `replay`: page loads through the buffer pool and through tiers
//! - `call`: long calls without the interpreter's lock, ended by Ctrl-C
//! - `options`, `pairs`, `errors`: options by their names, pairs of ids, exceptions

mod answer;
mod array;
mod arrow;
mod batches;
mod call;
mod components;
mod errors;
mod features;
mod graph;
mod import;
mod options;
mod pairs;
mod replay;
mod shard_runs;
mod shards;
mod tables;
mod update;
mod visit;

use pyo3::prelude::*;

/// The native part of `cenote`.
#[pymodule]
fn _cenote(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<array::Array>()?;
    module.add_class::<array::Strings>()?;
    module.add_class::<answer::PyAnswer>()?;
    module.add_class::<graph::PyGraph>()?;
    module.add_class::<update::PyUpdate>()?;
    module.add_class::<features::PyFeatureWriter>()?;
    module.add_class::<features::PyFeatures>()?;
    module.add_class::<visit::PyLists>()?;
    module.add_class::<visit::PyPass>()?;
    module.add_class::<shard_runs::PyShard>()?;
    module.add_class::<shard_runs::PyShardRun>()?;
    module.add_function(wrap_pyfunction!(import::import_graph, module)?)?;
    module.add_function(wrap_pyfunction!(components::components, module)?)?;
    module.add_function(wrap_pyfunction!(components::degrees, module)?)?;
    module.add_function(wrap_pyfunction!(shards::shard, module)?)?;
    module.add_function(wrap_pyfunction!(update::check, module)?)?;
    module.add_function(wrap_pyfunction!(update::compact, module)?)?;
    module.add_function(wrap_pyfunction!(update::profile, module)?)?;
    module.add_function(wrap_pyfunction!(replay::pool_replay, module)?)?;
    module.add_function(wrap_pyfunction!(replay::tier_replay, module)?)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    Ok(())
}
