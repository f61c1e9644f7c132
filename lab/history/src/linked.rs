//! A commit in a random layout as a subject of a run: its build is linked again, and what came of that is saved.

use crate::commits::Commits;
use crate::relink::{Relink, Relinked};
use crate::subject::described;
use crate::tools_again;
use faultline_experiment::{Error, GrowingRun, Lab, Notice};
use faultline_model::commit::CommitInfo;
use faultline_model::machine::Machine;
use faultline_model::plan::MeasuredLine;
use faultline_model::relink::{LinkLayout, RelinkResult};
use faultline_model::subject::BuildResult;
use std::path::Path;

/// A commit that is to be linked with a random layout.
pub(crate) struct Linked<'a> {
    /// The commit.
    pub commit: &'a CommitInfo,
    /// The directory of its own build.
    pub own: &'a str,
    /// The layout.
    pub layout: LinkLayout,
    /// The greatest number of layouts that a commit may get.
    pub most: u32,
}

/// Links it, and adds it to the run as a subject of which nothing is planned. Fails on a stop, if the tools are not those with which the run began, or if the database cannot be written; that it cannot be
/// linked so is no error.
pub(crate) fn link(
    asked: &Linked<'_>,
    measured: &MeasuredLine,
    run: &mut GrowingRun,
    commits: &dyn Commits,
    lab: &mut Lab<'_>,
) -> Result<(), Error> {
    let tools = commits.tools(&measured.recipe, lab)?;
    tools_again::check(measured.tools.as_ref(), &tools, run.record().id)?;
    let layout = asked.layout.seed;
    lab.observer.notice(&Notice::LinkingCommit { commit: asked.commit.id.clone(), layout, most: asked.most });
    let relink =
        Relink { commit: asked.commit, layout: asked.layout, own: Path::new(asked.own), artefact: &measured.artefact };
    let linked = commits.relink(&relink, &measured.recipe, &tools, lab)?;
    let (directory, machine, result) = placed(linked, measured, run, lab)?;
    let build = BuildResult::Relinked { layout, result };
    run.add_unplanned(&described(asked.commit, measured, (directory, machine), build))
}

/// Where a layout is measured, and what came of it. Fails if its program cannot be put into a guest for a reason that is no fault of the layout.
fn placed(
    linked: Relinked,
    measured: &MeasuredLine,
    run: &GrowingRun,
    lab: &mut Lab<'_>,
) -> Result<(Option<String>, Machine, RelinkResult), Error> {
    let Some(directory) = linked.directory else { return Ok((None, Machine::Host, linked.result)) };
    Ok(match run.machine(&measured.artefact, &directory, lab)? {
        Ok(machine) => (Some(directory.to_string_lossy().into_owned()), machine, linked.result),
        Err(how) => (None, Machine::Host, RelinkResult::Failed { how, output: String::new() }),
    })
}
