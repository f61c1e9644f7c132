//! Searches for the commits that changed what is measured: between two commits, or of a step that a
//! history has.

use crate::commits::Commits;
use crate::over::Over;
use crate::request::{LineRequest, MeasureRequest, USUAL_SEEDS, Wanted};
use crate::workshop::Workshop;
use crate::{run, source};
use faultline_experiment::stored::StoredHistory;
use faultline_experiment::{Error, Lab, Measured, place_of};
use faultline_record::bisect::{BisectSettings, Noise};
use faultline_record::commit::{CommitInfo, CommitLine};
use faultline_record::named_change::NamedChange;
use faultline_record::plan::{KnownCommit, KnownResult, LineSearch, MeasuredLine, RunKind, Settings, WhenInconclusive};
use faultline_record::quantity::Quantity;
use faultline_stats::history::{CommitOutcome, HistorySeries, HistoryStep, StepBasis};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// The request for a search between two commits.
#[derive(Debug, Clone)]
pub struct BisectRequest {
    /// Recipe, artefact and host of the builds.
    pub line: LineRequest,
    /// The measure.
    pub measure: MeasureRequest,
    /// The old commit, as git names it.
    pub old: String,
    /// The new commit, as git names it.
    pub new: String,
    /// Settings of the search.
    pub search: BisectSettings,
    /// Further counts to answer from the same executions.
    pub also: Vec<Quantity>,
    /// Time for executions; `None` for the default: half an hour for executions at full speed,
    /// unlimited for counts.
    pub time: Option<Duration>,
    /// True to undo each commit that made a step on top of the new one.
    pub revert: bool,
    /// Action of the gate on an inconclusive search; `None` without a gate.
    pub gate: Option<WhenInconclusive>,
    /// Label of the run.
    pub label: Option<String>,
}

/// Searches the commits between two. Fails if the repository, a commit or a machine is not
/// available, or if the database cannot be written. A commit that does not build or run is a
/// result.
pub fn bisect(request: &BisectRequest, lab: &mut Lab<'_>) -> Result<Measured, Error> {
    let workshop = Workshop::open(&request.line.repository, request.line.work.as_deref(), lab)?;
    bisect_in(request, &workshop, lab)
}

/// As [`bisect`], with commits from any source.
pub fn bisect_in(request: &BisectRequest, commits: &dyn Commits, lab: &mut Lab<'_>) -> Result<Measured, Error> {
    let line = commits.line(&request.old, &request.new, lab)?;
    let newest = line.commits.last().cloned();
    search(request, line, Known { newest, ..Known::default() }, commits, lab)
}

/// As [`bisect`], of these commits alone, in this order.
pub(crate) fn bisect_these(
    request: &BisectRequest,
    line: Vec<CommitInfo>,
    commits: &dyn Commits,
    lab: &mut Lab<'_>,
) -> Result<Measured, Error> {
    search(request, CommitLine { commits: line }, Known::default(), commits, lab)
}

/// Results of a history that a search uses.
#[derive(Default)]
struct Known {
    /// The change to confirm.
    of: Option<NamedChange>,
    /// The commit on top of which others are undone.
    newest: Option<CommitInfo>,
    /// Results of commits of the line.
    results: Vec<KnownCommit>,
}

fn search(
    request: &BisectRequest,
    line: CommitLine,
    known: Known,
    commits: &dyn Commits,
    lab: &mut Lab<'_>,
) -> Result<Measured, Error> {
    let tools = commits.tools(&request.line.recipe, lab)?;
    let measured = request.line.saved(&request.measure, line, tools, lab)?;
    let search = LineSearch {
        measured: MeasuredLine { forge: commits.forge(), ..measured },
        search: request.search,
        also: request.also.clone(),
        budget_ms: budget_ms(request),
        gate: request.gate,
        revert: known.newest.filter(|_| request.revert),
        known: known.results,
        asked: known.of.is_none().then(|| [request.old.clone(), request.new.clone()]),
        of: known.of,
    };
    let settings = Settings {
        cpus: vec![request.measure.tasks()],
        repeats: request.search.most_blocks,
        seed: request.line.run_seed(&request.measure),
        limit_ms: request.line.limit_ms,
        size: None,
        kind: RunKind::Bisect(Box::new(search)),
    };
    run::begin(&settings, request.label.as_deref(), commits, lab)
}

/// Default time for executions at full speed.
const USUAL_TIME: Duration = Duration::from_secs(30 * 60);

fn budget_ms(request: &BisectRequest) -> Option<u64> {
    let usual = (!request.measure.quantity().is_counted()).then_some(USUAL_TIME);
    request.time.or(usual).map(|time| time.as_millis().try_into().unwrap_or(u64::MAX))
}

/// The request to search the commits of a step of a history.
#[derive(Debug, Clone)]
pub struct StepSearch<'a> {
    /// The declared series.
    pub over: Over<'a>,
    /// Its results.
    pub series: &'a HistorySeries,
    /// The step.
    pub step: &'a HistoryStep,
    /// Required certainty.
    pub wanted: Wanted,
    /// Time for executions, as in [`BisectRequest::time`].
    pub time: Option<Duration>,
    /// True to undo each commit that made a step on top of the newest commit of the history.
    pub revert: bool,
    /// Action of the gate on an inconclusive search; `None` without a gate.
    pub gate: Option<WhenInconclusive>,
    /// Label of the run.
    pub label: Option<String>,
}

/// Searches the commits between the ends of a step's range. Fails like [`bisect`], or if the ends
/// are not on one line of first parents.
pub fn bisect_step(step: &StepSearch<'_>, lab: &mut Lab<'_>) -> Result<Measured, Error> {
    let commits = source::commits_of(&step.over.subject.line, lab)?;
    bisect_step_in(step, commits.as_ref(), lab)
}

/// As [`bisect_step`], with commits from any source.
pub fn bisect_step_in(step: &StepSearch<'_>, commits: &dyn Commits, lab: &mut Lab<'_>) -> Result<Measured, Error> {
    let StepSearch { over, series, .. } = step;
    let place = place_of(series, step.step)?;
    let request = BisectRequest {
        line: over.subject.line.clone(),
        measure: over.measure.given(series.quantity),
        old: place.earliest.clone(),
        new: place.latest.clone(),
        search: over.measure.search(step.wanted, executions(series)),
        also: Vec::new(),
        time: step.time,
        revert: step.revert,
        gate: step.gate,
        label: step.label.clone(),
    };
    let line = commits.line(&request.old, &request.new, lab).map_err(not_on_a_line)?;
    let now = over.now(commits, lab)?;
    let mut runs = over.comparable(&now.settings, lab.places)?;
    runs.retain(|run| now.has_tools_of(run));
    let known = Known {
        of: Some(NamedChange { series: series.name(), place }),
        newest: series.points.last().map(|point| point.commit.clone()),
        results: known_of(&line, &runs, &request.search),
    };
    search(&request, line, known, commits, lab)
}

/// Maximum number of executions of a commit; `None` for the default. Counts that did not depend on
/// the seed need one; others need at least as many as the history has.
fn executions(series: &HistorySeries) -> Option<u32> {
    match series.steps.basis {
        StepBasis::Exact => Some(1),
        StepBasis::Seeds { most, .. } => Some(most.max(USUAL_SEEDS)),
        StepBasis::Noisy { .. } | StepBasis::TooShort { .. } => None,
    }
}

/// The error for a step whose ends are on different branches.
fn not_on_a_line(error: Error) -> Error {
    if error == Error::stopped() {
        return error;
    }
    Error::usage(
        format!("the commits of this step cannot be searched: {}", error.problem),
        "a search follows first parents; `faultline history changes` lists the commits of a step of parallel branches (`walk = \"full\"`)",
    )
}

/// Results of a line's commits in comparable runs with the same tools. Times are not reused,
/// because only times of one block are comparable; nor are counts that depend on the seed. With
/// random layouts, a result is reused only if its build is kept, because layouts are compared with
/// it.
fn known_of(line: &CommitLine, runs: &[StoredHistory], search: &BisectSettings) -> Vec<KnownCommit> {
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
