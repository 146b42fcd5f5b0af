//! Imports edges and vertices, and the values of vertices.

use std::path::Path;

use cenote_store::Store;

use crate::config::{ImportConfig, Input, InputSpec};
use crate::driver::{Run, run};
use crate::error::Result;
use crate::report::{ImportReport, Progress};
use crate::values::{GivenValues, WithValues};
use crate::vertex_values::VertexValues;
use crate::workspace::{FileWorkspace, Workspace};

/// Imports the files `inputs` into the graph file `out`. An error leaves no file behind.
pub fn import(
    inputs: &[InputSpec],
    out: &Path,
    config: &ImportConfig,
    progress: &dyn Progress,
) -> Result<ImportReport> {
    let paths: Vec<&Path> = inputs.iter().map(|spec| spec.path.as_path()).collect();
    let workspace = FileWorkspace::new(out, &paths, config.temp_dir.as_deref(), config.overwrite)?;
    import_into(inputs, &workspace, config, progress)
}

/// Imports files into the output of a workspace.
pub fn import_into(
    inputs: &[InputSpec],
    workspace: &dyn Workspace,
    config: &ImportConfig,
    progress: &dyn Progress,
) -> Result<ImportReport> {
    let inputs: Vec<Input<'_>> = inputs.iter().cloned().map(Input::File).collect();
    import_edges(&inputs, workspace, config, progress)
}

/// Imports files, edges and vertices in memory into the output of a workspace.
pub fn import_edges(
    inputs: &[Input<'_>],
    workspace: &dyn Workspace,
    config: &ImportConfig,
    progress: &dyn Progress,
) -> Result<ImportReport> {
    import_with_values(inputs, None, workspace, config, progress)
}

/// [`import_edges`] of vertices that have values, besides those that files of vertices have.
pub fn import_with_values(
    inputs: &[Input<'_>],
    values: Option<&VertexValues<'_>>,
    workspace: &dyn Workspace,
    config: &ImportConfig,
    progress: &dyn Progress,
) -> Result<ImportReport> {
    let mut config = config.clone();
    if let Some(values) = values {
        values.check_unused()?;
        config.values = Some(values.kind(&config)?);
    }
    let files = GivenValues::of(inputs, &config, progress)?;
    if files.is_none() && values.is_none() {
        return run(&Run::new(inputs, workspace, &config, progress));
    }
    let set = |store: &Store| {
        files.as_ref().map_or(Ok(()), |files| files.set(store))?;
        values.map_or(Ok(()), |values| values.set(store, progress))
    };
    let workspace = WithValues::new(workspace, &set);
    let mut report = run(&Run::new(inputs, &workspace, &config, progress))?;
    report.output_bytes = workspace.output_bytes()?;
    Ok(report)
}
