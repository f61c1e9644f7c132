//! `try`: builds a commit with and without patches, and compares both builds live.

use crate::commits::{Build, Commits};
use crate::repository::Patch;
use crate::run::note_turn;
use crate::workshop::{Workshop, absolute};
use faultline_experiment::{Error, Lab, LiveComparisonRequest, Measured, Notice, compare};
use faultline_record::commit::{CommitInfo, short_name};
use faultline_record::machine::Machine;
use faultline_record::plan::ComparisonPurpose;
use faultline_record::quantity::Quantity;
use faultline_record::recipe::Recipe;
use faultline_record::setup::Setup;
use faultline_record::subject::{BuildResult, Commit, Subject};
use faultline_runner::{ComparisonRequest, Request};
use std::path::{Path, PathBuf};

/// The request to try patches.
#[derive(Debug, Clone)]
pub struct TryRequest {
    /// A directory of the repository.
    pub repository: PathBuf,
    /// Directory for checkouts and builds; one in the user's cache if `None`.
    pub work: Option<PathBuf>,
    /// The commit to which the patches are applied, as git names it.
    pub on: String,
    /// Files with patches, in the order in which they are applied.
    pub patches: Vec<PathBuf>,
    /// Recipe of both sides.
    pub recipe: Recipe,
    /// Words of the command to measure, at the top of a build.
    pub command: Vec<String>,
    /// The compared quantity.
    pub quantity: Quantity,
    /// Familywise confidence level: 0…1.
    pub level: f64,
    /// Margin of equality, as a share.
    pub margin: f64,
    /// True to test once, at the end.
    pub once: bool,
    /// A plain comparison, or one with a gate.
    pub purpose: ComparisonPurpose,
    /// Duration and number of repeats.
    pub measuring: Request,
    /// Seed of the order; random if `None`.
    pub seed: Option<u64>,
    /// Label of the run.
    pub label: Option<String>,
}

/// Compares a commit without and with patches. Measures nothing before both sides are built. Fails
/// if a patch cannot be read or does not apply, if a side does not build, and like a live
/// comparison.
pub fn try_patches(request: &TryRequest, lab: &mut Lab<'_>) -> Result<Measured, Error> {
    let workshop = Workshop::open(&request.repository, request.work.as_deref(), lab)?;
    lab.note_sandbox(&request.recipe)?;
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
        quantity: request.quantity,
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

/// The titles of the patches in one line.
fn titles(patches: &[Patch]) -> String {
    let title = |patch: &Patch| match &patch.author {
        Some(author) => format!("'{}' by {author}", patch.title),
        None => format!("'{}'", patch.title),
    };
    patches.iter().map(title).collect::<Vec<_>>().join(", ")
}

/// Directory of a side's build. `name`: of the side, for people. Fails if it does not build.
fn built(
    commit: &CommitInfo,
    name: &str,
    request: &TryRequest,
    workshop: &Workshop,
    lab: &mut Lab<'_>,
) -> Result<PathBuf, Error> {
    lab.observer.notice(&Notice::BuildingSide { side: name.to_owned() });
    note_turn(workshop, lab);
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
