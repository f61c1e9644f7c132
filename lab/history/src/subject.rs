//! A commit as a subject of a run: what came of its build, and where its program or kernel runs.

use crate::build::Build;
use crate::commits::Commits;
use faultline_experiment::{Error, GrowingRun, Lab};
use faultline_model::commit::CommitInfo;
use faultline_model::machine::Machine;
use faultline_model::plan::{LineMeasure, MeasuredLine};
use faultline_model::setup::Setup;
use faultline_model::subject::{BuildResult, Commit, Subject};

/// A build, or the first one that does the same: its counts hold for both. Times of one build vary, and each commit's are a point of their own: shared, they would look like
/// those of commits without noise.
pub(crate) fn shared(build: Build, measured: &MeasuredLine, commits: &dyn Commits) -> Build {
    match measured.measure {
        LineMeasure::Counted(_) => build.moved(|directory| commits.first_like(directory)),
        LineMeasure::Timed(_) => build,
    }
}

/// What came of a build. Fails if its program or kernel cannot be put into a guest for a reason that is no fault of the commit.
pub(crate) fn subject(
    commit: &CommitInfo,
    measured: &MeasuredLine,
    build: Build,
    run: &GrowingRun,
    lab: &mut Lab<'_>,
) -> Result<Subject, Error> {
    let (directory, machine, result) = match build {
        Build::Failed { how, output } => (None, Machine::Host, BuildResult::Failed { how, output }),
        Build::Built { directory, .. } => match run.machine(&measured.artefact, &directory, lab)? {
            Ok(machine) => (Some(directory.to_string_lossy().into_owned()), machine, BuildResult::Built),
            Err(how) => (None, Machine::Host, BuildResult::Failed { how, output: String::new() }),
        },
    };
    Ok(described(commit, measured, (directory, machine), result))
}

/// The subject of a commit that was built in a directory, or failed to build.
pub(crate) fn described(
    commit: &CommitInfo,
    measured: &MeasuredLine,
    (directory, machine): (Option<String>, Machine),
    result: BuildResult,
) -> Subject {
    let setup = Setup { command: measured.artefact.command().to_vec(), directory, ..Setup::default() };
    let repository = Some(measured.repository.clone());
    Subject {
        commit: Some(Commit { id: commit.id.clone(), repository }),
        build: Some(result),
        ..Subject::on(commit.id.clone(), machine, setup)
    }
}
