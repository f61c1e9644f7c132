//! `history drill`: searches the commits of a step for the one that made it, by `bisect`, with what the history knows of them.

use crate::bisect::{self, BisectRequest};
use crate::commits::Commits;
use crate::measure::{USUAL_SEEDS, Wanted};
use crate::over::Over;
use crate::source;
use faultline_experiment::stored::StoredHistory;
use faultline_experiment::{Error, Lab, Measured, place_of};
use faultline_model::commit::CommitLine;
use faultline_model::drill::{DrillSettings, Noise};
use faultline_model::history::{CommitOutcome, HistorySeries, HistoryStep, StepBasis};
use faultline_model::named_change::NamedChange;
use faultline_model::plan::{KnownCommit, KnownResult};
use std::collections::BTreeMap;
use std::path::Path;

/// What is searched.
#[derive(Debug, Clone, Copy)]
pub struct Drilled<'a> {
    /// What was measured.
    pub over: Over<'a>,
    /// Its results.
    pub series: &'a HistorySeries,
    /// The step.
    pub step: &'a HistoryStep,
    /// How sure the search is to be.
    pub wanted: Wanted,
    /// Whether each commit that made a step is undone on top of the newest one of the history.
    pub revert: bool,
}

/// Searches the commits between the ends of a step's range. Fails like [`bisect::bisect`], or if the ends are not on one line of first parents.
pub fn drill(drilled: &Drilled<'_>, lab: &mut Lab<'_>) -> Result<Measured, Error> {
    let subject = drilled.over.subject;
    let commits = source::of_subject(subject, lab)?;
    drill_in(drilled, commits.as_ref(), lab)
}

/// The same, with commits from anywhere.
pub fn drill_in(drilled: &Drilled<'_>, commits: &dyn Commits, lab: &mut Lab<'_>) -> Result<Measured, Error> {
    let Drilled { over, series, step, wanted, revert } = drilled;
    let subject = over.subject;
    let place = place_of(series, step)?;
    let search = over.measure.search(*wanted, executions(series));
    let request = BisectRequest {
        repository: subject.repository.clone(),
        work: subject.work.clone(),
        releases: subject.which.releases().to_vec(),
        old: place.earliest.clone(),
        new: place.latest.clone(),
        recipe: subject.recipe.clone(),
        artefact: subject.artefact.clone(),
        on: subject.on.clone(),
        search,
        layouts: subject.layout_kind,
        measure: over.measure.clone(),
        limit_ms: subject.limit_ms,
        seed: subject.seed,
        label: None,
        gate: None,
        revert: *revert,
    };
    commits.line(&request.old, &request.new, lab).map_err(not_on_a_line)?;
    let now = over.asked(commits, lab)?;
    let mut known = over.comparable(&now.settings, lab.places)?;
    known.retain(|run| now.has_tools_of(run));
    let of = NamedChange { series: series.name(), place };
    let newest = || series.points.last().map(|point| point.commit.clone());
    let known_of = |line: &CommitLine| known_of(line, &known, &search);
    bisect::search_with(&request, Some(of), |_| newest(), known_of, commits, lab)
}

/// The maximum number of executions of a commit; `None` for as many as are usual. Counts that were the same with each seed are searched by one; those that were not,
/// by at least as many as the history has.
fn executions(series: &HistorySeries) -> Option<u32> {
    match series.steps.basis {
        StepBasis::Exact => Some(1),
        StepBasis::Seeds { most, .. } => Some(most.max(USUAL_SEEDS)),
        StepBasis::Noisy { .. } | StepBasis::TooShort { .. } => None,
    }
}

/// Why a step cannot be searched whose ends are on different branches.
fn not_on_a_line(error: Error) -> Error {
    if error == Error::stopped() {
        return error;
    }
    Error::usage(
        format!("the commits of this step cannot be searched: {}", error.problem),
        "a search follows first parents; `faultline history changes` lists the commits of a step of parallel branches (`walk = \"full\"`)",
    )
}

/// What comparable runs that had the tools of now say of the commits of a line. Times are measured anew: only times of one block are comparable; and so are counts that depend on their seed. If random layouts are
/// asked for, a build that is not kept any more is made anew: others are compared with it.
fn known_of(line: &CommitLine, runs: &[StoredHistory], search: &DrillSettings) -> Vec<KnownCommit> {
    let is_kept = |build: Option<&str>| search.layouts == 0 || build.is_some_and(|build| Path::new(build).is_dir());
    let mut newest: BTreeMap<&str, KnownCommit> = BTreeMap::new();
    for run in runs {
        for result in &run.results.commits {
            let result_of = match &result.outcome {
                CommitOutcome::Measured { values, .. }
                    if search.noise == Noise::None && is_kept(run.build_of(&result.commit)) =>
                {
                    let build = run.build_of(&result.commit).map(str::to_owned);
                    values.first().map(|&value| KnownResult::Value { value, build })
                }
                CommitOutcome::Measured { .. } => None,
                CommitOutcome::Unusable(not) => Some(KnownResult::Unusable { why: not.why }),
            };
            if let (Some(position), Some(result_of)) = (line.position(&result.commit), result_of) {
                let known = KnownCommit { position, result: result_of };
                newest.entry(&result.commit).or_insert(known);
            }
        }
    }
    newest.into_values().collect()
}
