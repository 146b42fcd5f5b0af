//! What can be wrong with a request for a workload.

use thiserror::Error;

/// A parameter that no graph fits.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WorkloadError {
    /// A number outside its limits.
    #[error("{name} is {value}: expected {expected}")]
    Parameter {
        /// The parameter as the command line spells it, without the dashes.
        name: &'static str,
        /// What was given.
        value: String,
        /// What would do.
        expected: String,
    },
}

/// The result of building a workload.
pub type Result<T> = std::result::Result<T, WorkloadError>;

/// Checks one parameter: an error that says what was expected unless `holds`.
pub(crate) fn require(
    holds: bool,
    name: &'static str,
    value: impl ToString,
    expected: impl Into<String>,
) -> Result<()> {
    if holds {
        return Ok(());
    }
    Err(WorkloadError::Parameter { name, value: value.to_string(), expected: expected.into() })
}
