//! How commands of others run: git, builds, compilers.

use faultline_experiment::{Error, Lab};
use faultline_targets::host::command::CommandRunner;

/// Runs commands here. Fails if there is no scratch directory.
pub(crate) fn runner(lab: &Lab<'_>) -> Result<CommandRunner, Error> {
    CommandRunner::new(&lab.places.keeper, &lab.places.usable_scratch()?)
        .map_err(|error| Error::failed(format!("there is no current directory: {error}"), "go to one that exists"))
}
