//! Explanations of steps besides their values: files and functions that changed, read from the
//! repository and from the builds on both sides, and the recorded transfers or kernel counters that
//! differ.

use crate::commits::Commits;
use crate::declared::HistorySubject;
use crate::linked_files::linked_files;
use crate::over::Over;
use crate::source;
use faultline_experiment::stored::{self, StoredHistory};
use faultline_experiment::{Error, ErrorKind, Lab, MeasuredCommit, compare_commits};
use faultline_record::commit::CommitLine;
use faultline_record::explained::{CommitChanges, LinkedChanges, StepExplained};
use faultline_record::plan::LineSearch;
use faultline_record::quantity::Quantity;
use faultline_record::record::{RunId, RunRecord};
use faultline_record::subject::BuildResult;
use faultline_stats::bisect::{FoundStep, conclude_record};
use faultline_stats::history::{
    Between, ComparedValues, HistoryPoint, HistorySeries, HistoryStep, PointResult, StepMoved, StepSettings,
};
use faultline_stats::linked_changes;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::Path;

/// Explains the steps that a search found. Leaves out what cannot be read. Fails on a stop only.
pub(crate) fn explained(
    record: &RunRecord,
    search: &LineSearch,
    commits: &dyn Commits,
    lab: &Lab<'_>,
) -> Result<Vec<StepExplained>, Error> {
    let found = conclude_record(record).map_or_else(Vec::new, |found| found.steps);
    let explain = |step: &FoundStep| {
        let kept = step.candidates.len().saturating_sub(StepExplained::MOST_COMMITS);
        let changes = |&position: &u32| changes(&search.line, position.saturating_sub(1), position, commits, lab);
        let build = |position| build_of_search(position, record, search);
        Ok(StepExplained {
            before: step.before,
            after: step.after,
            commits: step.candidates[kept..].iter().map(changes).collect::<Result<_, Error>>()?,
            linked: linked(build(step.before), build(step.after)),
        })
    };
    found.iter().map(explain).collect()
}

/// The directory of a commit's build: of this search, or of an earlier run that measured it.
fn build_of_search<'a>(position: u32, record: &'a RunRecord, search: &'a LineSearch) -> Option<&'a Path> {
    let id = &search.line.commits.get(position as usize)?.id;
    let built = record.subjects.iter().filter(|subject| subject.build == Some(BuildResult::Built));
    let mut of_commit = built.filter(|subject| subject.commit.as_ref().is_some_and(|commit| commit.id == *id));
    let own = of_commit.next().and_then(|subject| subject.setup.directory.as_deref());
    own.or_else(|| search.known.iter().find(|known| known.position == position)?.build()).map(Path::new)
}

/// Saves explanations of the steps of a measured history for the pages, because a server has
/// neither the repository nor the builds. Each belongs to the run that measured the first commit of
/// the step. Skips steps whose builds are gone. Fails on a stop, or if the database cannot be read
/// or written.
pub fn save_steps(over: &Over<'_>, commits: &dyn Commits, lab: &Lab<'_>) -> Result<(), Error> {
    let Ok(Some(series)) = over.series(&StepSettings::default(), lab.places)? else { return Ok(()) };
    let runs = over.stored(lab.places)?;
    let mut known: BTreeMap<RunId, Vec<StepExplained>> = BTreeMap::new();
    for step in &series.steps.steps {
        let Some((run, line, [before, after])) = place(&series, step, &runs) else { continue };
        let of_run = match known.entry(run) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(stored::explained(run, lab.places)?),
        };
        if of_run.iter().any(|one| [one.before, one.after] == [before, after]) {
            continue;
        }
        let [old, new] = [step.after, step.by].map(|position| build_of_point(&series.points[position as usize], &runs));
        let linked = linked(old, new);
        if linked == LinkedChanges::Gone {
            continue;
        }
        let commits = vec![changes(line, before, after, commits, lab)?];
        of_run.push(StepExplained { before, after, commits, linked });
        stored::save_explained(run, of_run, lab.places)?;
    }
    Ok(())
}

/// The run that measured the first commit of a step, its line, and the positions of both sides
/// there.
fn place<'a>(
    series: &HistorySeries,
    step: &HistoryStep,
    runs: &'a [StoredHistory],
) -> Option<(RunId, &'a CommitLine, [u32; 2])> {
    let run = series.points.get(step.by as usize)?.run?;
    let line = &runs.iter().find(|one| one.head.id == run)?.head.settings.history()?.line;
    let position = |position| line.position(&series.commit(position)?.id);
    Some((run, line, [position(step.after)?, position(step.by)?]))
}

/// The files that differ between the commits at two positions; `None` if they cannot be read. A
/// history's line may lack commits between, so this is the whole difference, not one commit's own.
fn changes(
    line: &CommitLine,
    before: u32,
    after: u32,
    commits: &dyn Commits,
    lab: &Lab<'_>,
) -> Result<CommitChanges, Error> {
    let (from, to) = (&line.commits[before as usize], &line.commits[after as usize]);
    let files = match commits.files(from, to, lab) {
        Err(error) if error == Error::stopped() => return Err(error),
        files => files.ok(),
    };
    Ok(CommitChanges { commit: to.id.clone(), files })
}

/// Differences between the linked files of two builds.
fn linked(before: Option<&Path>, after: Option<&Path>) -> LinkedChanges {
    let files = |directory: Option<&Path>| linked_files(directory?).ok();
    match (files(before), files(after)) {
        (Some(before), Some(after)) => linked_changes(&before, &after),
        _ => LinkedChanges::Gone,
    }
}

/// Adds to each step of a series the commits between its sides, and the recorded differences.
/// Kernels that are already built have no commits between. Fails if the repository or a commit is
/// gone; steps before the failure are complete.
pub fn explain_series(series: &mut HistorySeries, subject: &HistorySubject, lab: &Lab<'_>) -> Result<(), Error> {
    series.moved = moved(series, lab)?;
    let Some(workshop) = source::workshop_of(&subject.line, lab)? else { return Ok(()) };
    let mut runs = Vec::new();
    for over in Over::all(subject).filter(|over| over.measure.tasks() == series.tasks) {
        runs.extend(over.stored(lab.places)?);
    }
    for step in &mut series.steps.steps {
        let [old, new] = [&series.points[step.after as usize], &series.points[step.by as usize]];
        let commits = workshop.repository.commits_between(&old.commit.id, &new.commit.id, lab)?;
        step.between = Some(Between {
            commits: commits.commits,
            count: commits.count,
            authors: commits.authors,
            files: workshop.files(&old.commit, &new.commit, lab)?,
            linked: linked(build_of_point(old, &runs), build_of_point(new, &runs)),
        });
    }
    Ok(())
}

/// The directory of the measured build.
fn build_of_point<'a>(point: &HistoryPoint, runs: &'a [StoredHistory]) -> Option<&'a Path> {
    runs.iter().find(|run| point.run == Some(run.head.id))?.build_of(&point.commit.id).map(Path::new)
}

/// Recorded differences at each step: transfers for counts, kernel counters for the time of
/// workloads. Programs record only their time. Skips a step if the record of a side is gone. Fails
/// if the database cannot be read.
fn moved(series: &HistorySeries, lab: &Lab<'_>) -> Result<Vec<StepMoved>, Error> {
    let is_explained = match series.quantity {
        Quantity::Transfers => true,
        // Transfers do not explain instructions.
        Quantity::Instructions => false,
        _ => series.workload.is_some(),
    };
    if !is_explained {
        return Ok(Vec::new());
    }
    let mut all = Vec::new();
    for step in &series.steps.steps {
        let sides = [step.after, step.by].map(|position| measured(&series.points[position as usize]));
        let [Some(before), Some(after)] = sides else { continue };
        match compare_commits(&[before, after], lab.places) {
            Ok(compared) => all.extend(moved_of_step(step, compared.values)),
            Err(error) if error.kind == ErrorKind::Unanswerable => {}
            Err(error) => return Err(error),
        }
    }
    Ok(all)
}

fn moved_of_step(step: &HistoryStep, values: ComparedValues) -> Option<StepMoved> {
    let (counts, counters) = match values {
        ComparedValues::Counted(counts) => (Some(*counts), Vec::new()),
        ComparedValues::Timed(times) => (None, times.workloads.into_iter().next()?.details.counters),
    };
    (counts.is_some() || !counters.is_empty()).then_some(StepMoved { after: step.after, by: step.by, counts, counters })
}

fn measured(point: &HistoryPoint) -> Option<MeasuredCommit> {
    let PointResult::Measured { same_as, .. } = &point.result else { return None };
    let id = point.commit.id.clone();
    Some(MeasuredCommit { executed: same_as.clone().unwrap_or_else(|| id.clone()), id, run: point.run? })
}
