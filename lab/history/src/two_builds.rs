//! Two builds of a repository, compared live by the same command.

use crate::commits::{Build, Commits};
use crate::run::note_turn;
use crate::workshop::{Workshop, absolute};
use faultline_experiment::{Error, Lab, LiveComparisonRequest, Measured, Notice, compare};
use faultline_record::artefact::Artefact;
use faultline_record::commit::CommitInfo;
use faultline_record::machine::Machine;
use faultline_record::plan::ComparisonPurpose;
use faultline_record::quantity::Quantity;
use faultline_record::recipe::Recipe;
use faultline_record::setup::Setup;
use faultline_record::subject::{BuildResult, Commit, Subject};
use faultline_runner::{ComparisonRequest, Request};
use std::path::{Path, PathBuf};

/// The request to compare two builds, without its sides.
#[derive(Debug, Clone)]
pub struct TwoBuilds {
    /// A directory of the repository.
    pub repository: PathBuf,
    /// Directory for checkouts and builds; one in the user's cache if `None`.
    pub work: Option<PathBuf>,
    /// Recipe of both sides.
    pub recipe: Recipe,
    /// The command to measure, at the top of a build. Without a set-up command, which could change
    /// the build.
    pub setup: Setup,
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

/// A side to build.
#[derive(Debug)]
pub(crate) struct Side {
    /// The files.
    pub(crate) commit: CommitInfo,
    /// The name while it is built.
    pub(crate) build: String,
    /// The name in the comparison.
    pub(crate) name: String,
    /// The commit to save; `None` for files of no commit.
    pub(crate) saved: Option<Commit>,
}

impl TwoBuilds {
    /// The workshop of the repository. Fails if there is no repository, or if its directory cannot
    /// be written.
    pub(crate) fn workshop(&self, lab: &mut Lab<'_>) -> Result<Workshop, Error> {
        let workshop = Workshop::open(&self.repository, self.work.as_deref(), lab)?;
        lab.note_sandbox(&self.recipe)?;
        Ok(workshop)
    }

    /// A commit as it is saved with a run.
    pub(crate) fn saved(&self, commit: &CommitInfo) -> Result<Commit, Error> {
        Ok(Commit { id: commit.id.clone(), repository: Some(absolute(&self.repository)?) })
    }

    /// Builds both sides, and compares them. Measures nothing before both are built. Fails if a
    /// side does not build, and like a live comparison.
    pub(crate) fn compare(&self, sides: [Side; 2], workshop: &Workshop, lab: &mut Lab<'_>) -> Result<Measured, Error> {
        let [a, b] = sides;
        let (built_a, built_b) = (self.built(&a, workshop, lab)?, self.built(&b, workshop, lab)?);
        let comparison = ComparisonRequest {
            sides: [self.subject(a, &built_a), self.subject(b, &built_b)],
            quantity: self.quantity,
            level: self.level,
            margin: self.margin,
            once: self.once,
            purpose: self.purpose,
        };
        let request = LiveComparisonRequest {
            comparison,
            request: self.measuring.clone(),
            machine: Machine::Host,
            seed: self.seed,
            label: self.label.clone(),
        };
        compare(&request, lab)
    }

    /// Directory of a side's build. Fails if it does not build.
    fn built(&self, side: &Side, workshop: &Workshop, lab: &mut Lab<'_>) -> Result<PathBuf, Error> {
        lab.observer.notice(&Notice::BuildingSide { side: side.build.clone() });
        note_turn(workshop, lab);
        let tools = workshop.tools(&self.recipe, lab)?;
        match workshop.build(&side.commit, &self.recipe, &tools, lab)? {
            Build::Built { directory, .. } => {
                let artefact = Artefact::Command(self.setup.command.clone());
                match workshop.lacking(&artefact, &self.recipe, &directory, true) {
                    Some(how) => Err(Error::usage(
                        format!("{}: {how}", side.build),
                        "the command's program is part of each build",
                    )),
                    None => Ok(directory),
                }
            }
            Build::Failed { how, output } => {
                let cited = if output.is_empty() { String::new() } else { format!(": {output}") };
                Err(Error::failed(
                    format!("{} does not build: {how}{cited}", side.build),
                    format!("{} has all of its output", workshop.builds.log().display()),
                ))
            }
        }
    }

    fn subject(&self, side: Side, directory: &Path) -> Subject {
        let directory = Some(directory.to_string_lossy().into_owned());
        let setup = Setup { directory, ..self.setup.clone() };
        let build = Some(BuildResult::Built);
        Subject { commit: side.saved, build, ..Subject::on(side.name, Machine::Host, setup) }
    }
}
