//! Imports edges and vertices, and the values that files of vertices have.

use std::path::Path;

use cenote_store::Store;

use crate::config::{ImportConfig, Input, InputSpec};
use crate::driver::{Run, run};
use crate::error::Result;
use crate::report::{ImportReport, Progress};
use crate::values::{GivenValues, WithValues};
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
    let Some(values) = GivenValues::of(inputs, config, progress)? else {
        return run(&Run::new(inputs, workspace, config, progress));
    };
    let set = |store: &Store| values.set(store);
    let workspace = WithValues::new(workspace, &set);
    let mut report = run(&Run::new(inputs, &workspace, config, progress))?;
    report.output_bytes = workspace.output_bytes()?;
    Ok(report)
}
