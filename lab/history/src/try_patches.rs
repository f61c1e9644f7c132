//! `try`: does a program become faster or slower by patches? Builds a commit with and without them, and compares both builds by a live comparison.

use crate::build::Build;
use crate::commits::Commits;
use crate::repository::Patch;
use crate::workshop::{Workshop, absolute};
use faultline_experiment::{Error, Lab, LiveComparisonRequest, Measured, Notice, compare};
use faultline_model::commit::{CommitInfo, short_name};
use faultline_model::machine::Machine;
use faultline_model::plan::ComparisonPurpose;
use faultline_model::recipe::Recipe;
use faultline_model::setup::Setup;
use faultline_model::subject::{BuildResult, Commit, Subject};
use faultline_runner::{ComparisonRequest, Request};
use std::path::{Path, PathBuf};

/// The request to try patches.
#[derive(Debug, Clone)]
pub struct TryRequest {
    /// A directory of the repository.
    pub repository: PathBuf,
    /// The directory for checkouts and builds; one among the user's caches if `None`.
    pub work: Option<PathBuf>,
    /// The commit to which the patches are applied, as git names it.
    pub on: String,
    /// Files with patches, in the order in which they are applied.
    pub patches: Vec<PathBuf>,
    /// How both sides are built.
    pub recipe: Recipe,
    /// Words of the command to measure, which runs at the top of a build.
    pub command: Vec<String>,
    /// Familywise confidence level: 0…1.
    pub level: f64,
    /// Margin of equality, as a share.
    pub margin: f64,
    /// It tests once, at the end.
    pub once: bool,
    /// A plain comparison, or one with a gate.
    pub purpose: ComparisonPurpose,
    /// How long and how often it is measured.
    pub measuring: Request,
    /// Seed of the order; a random one if `None`.
    pub seed: Option<u64>,
    /// A name for people.
    pub label: Option<String>,
}

/// Compares a commit without and with patches. Fails if a patch cannot be read or does not apply, if a side does not build, and like a live comparison. Until
/// both sides are built, nothing is measured.
pub fn try_patches(request: &TryRequest, lab: &mut Lab<'_>) -> Result<Measured, Error> {
    let workshop = Workshop::open(&request.repository, request.work.as_deref(), lab)?;
    let base = workshop.repository.commit(&request.on, lab)?;
    let patched = workshop.repository.with_patches(&base, &request.patches, lab)?;
    let id = short_name(&base.id);
    let without = built(&base, &format!("{id} without the patches"), request, &workshop, lab)?;
    let with = built(&patched.commit, &format!("{id} with the patches"), request, &workshop, lab)?;
    let commit = Commit { id: base.id.clone(), repository: Some(absolute(&request.repository)?) };
    let name = format!("{id} with {}", titles(&patched.patches));
    let sides = [side(id.to_owned(), Some(commit), &without, request), side(name, None, &with, request)];
    let comparison = ComparisonRequest {
        sides,
        level: request.level,
        margin: request.margin,
        once: request.once,
        purpose: request.purpose,
    };
    let request = LiveComparisonRequest {
        comparison,
        request: request.measuring.clone(),
        machine: Machine::Host,
        seed: request.seed,
        label: request.label.clone(),
    };
    compare(&request, lab)
}

/// The patches in one line.
fn titles(patches: &[Patch]) -> String {
    let title = |patch: &Patch| match &patch.author {
        Some(author) => format!("'{}' by {author}", patch.title),
        None => format!("'{}'", patch.title),
    };
    patches.iter().map(title).collect::<Vec<_>>().join(", ")
}

/// The directory of a side's build. `name`: that of the side, for people. Fails if it does not build.
fn built(
    commit: &CommitInfo,
    name: &str,
    request: &TryRequest,
    workshop: &Workshop,
    lab: &mut Lab<'_>,
) -> Result<PathBuf, Error> {
    lab.observer.notice(&Notice::BuildingSide { side: name.to_owned() });
    let tools = workshop.tools(&request.recipe, lab)?;
    match workshop.build(commit, &request.recipe, &tools, lab)? {
        Build::Built { directory, .. } => Ok(directory),
        Build::Failed { how, output } => {
            let cited = if output.is_empty() { String::new() } else { format!(": {output}") };
            Err(Error::failed(
                format!("{name} does not build: {how}{cited}"),
                format!("{} has all of its output", workshop.builds.log().display()),
            ))
        }
    }
}

fn side(name: String, commit: Option<Commit>, directory: &Path, request: &TryRequest) -> Subject {
    let directory = Some(directory.to_string_lossy().into_owned());
    let setup = Setup { command: request.command.clone(), directory, ..Setup::default() };
    Subject { commit, build: Some(BuildResult::Built), ..Subject::on(name, Machine::Host, setup) }
}
