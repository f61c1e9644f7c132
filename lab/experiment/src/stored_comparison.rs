//! Comparisons of stored figures: runs, files, imports, and commits of them. Two commits of a
//! history are compared by their recorded executions alone.

use crate::comparison::USUAL_LEVEL;
use crate::conclusion::{Concluded, first_unmatched};
use crate::error::Error;
use crate::operand::{Operand, Source, benchmarks};
use crate::places::Places;
use crate::{database, operand, published, stored};
use faultline_record::commit::short_name;
use faultline_record::dataset::Dataset;
use faultline_record::direction::Direction;
use faultline_record::lens::reading::Reading;
use faultline_record::outcome::Outcome;
use faultline_record::plan::{PlanItem, USUAL_MARGIN};
use faultline_record::quantity::Quantity;
use faultline_record::record::{RunHead, RunId, RunRecord};
use faultline_record::subject::{BuildResult, Subject, SubjectIndex};
use faultline_stats::comparison::{
    Comparison, ComparisonError, Settings, compare_datasets, compare_runs, compare_subjects,
};
use faultline_stats::history::{ComparedCommits, ComparedValues};
use faultline_stats::unmatched::{Unmatched, UnmatchedReason};
use faultline_stats::{lens, two_sample};
use faultline_store::Store;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::Path;

/// The request for a comparison of stored figures.
#[derive(Debug, Clone, Default)]
pub struct StoredComparisonRequest {
    /// Two operands of [`operand::resolve`], or one run that is a comparison.
    pub what: Vec<String>,
    /// Confidence level; the default if `None`.
    pub level: Option<f64>,
    /// Margin of equality as a share; the default if `None`.
    pub margin: Option<f64>,
    /// Assume equal conditions for sides that were not measured in turns.
    pub assume_quiet: bool,
    /// The better direction, for files without one.
    pub better: Option<Direction>,
    /// The compared quantity of runs; time if `None`.
    pub measure: Option<Quantity>,
}

/// Compares and concludes.
pub fn compare_stored(request: &StoredComparisonRequest, places: &Places) -> Result<Comparison, Error> {
    match request.what.as_slice() {
        [one] => again(one, request, places),
        [a, b] => match operand::totals_of_runs([a, b], places)? {
            Some([a, b]) => of_two(&a, &b, request),
            None => of_two(&operand::resolve(a, None, places)?, &operand::resolve(b, None, places)?, request),
        },
        what => Err(Error::usage(
            format!("a comparison takes two runs, files or commands, not {}", what.len()),
            "name two runs or files, or give `--a` and `--b` to measure two variants",
        )),
    }
}

/// Compares two runs of the database by number. Fails if a run does not exist or has figures of
/// many commits, or if nothing can be compared.
pub fn compare_stored_runs(runs: [RunId; 2], places: &Places) -> Result<Comparison, Error> {
    let [a, b] = runs.map(|run| operand::stored_run(run, places));
    of_two(&a?, &b?, &StoredComparisonRequest::default())
}

/// A run that is a comparison.
fn again(name: &str, request: &StoredComparisonRequest, places: &Places) -> Result<Comparison, Error> {
    let Some(head) = operand::run(name, places)? else {
        // Another operand, or the reason why there is none.
        let operand = operand::resolve(name, None, places)?;
        return Err(match benchmarks(&operand.dataset()).len() {
            2.. if Path::new(name).is_file() => Error::usage(
                format!("a comparison takes two files, and only '{name}' is given"),
                format!("`faultline compare {name}:1 {name}:2` compares two of its benchmarks, by number or name"),
            ),
            _ => one_only(&operand.name),
        });
    };
    let name = if head.id.to_string() == name { format!("run {name}") } else { name.to_owned() };
    if head.settings.comparison().is_none() {
        return Err(one_only(&name));
    }
    if request.level.is_some() || request.margin.is_some() {
        return Err(Error::usage(
            format!("the level and the margin of {name} are fixed"),
            "measure again with `--level` or `--margin`: they decide when a live comparison ends",
        ));
    }
    if request.measure.is_some_and(|measure| head.settings.comparison().map(|own| own.quantity) != Some(measure)) {
        return Err(Error::usage(
            format!("the measure of {name} is fixed"),
            "measure again with `--by`: it decides when a live comparison ends",
        ));
    }
    match stored::conclusion(Some(head.id), places)?.what {
        Concluded::Comparison(comparison) => Ok(*comparison),
        Concluded::Fitness(fitness) => Ok(fitness.compared),
        Concluded::Figures(_) | Concluded::Bisect(_) | Concluded::History(_) => Err(one_only(&name)),
    }
}

fn one_only(name: &str) -> Error {
    Error::usage(
        format!("a comparison takes two runs or files, and only '{name}' is given"),
        "name another run or file, or give `--a` and `--b` to measure two variants",
    )
}

fn of_two(a: &Operand, b: &Operand, request: &StoredComparisonRequest) -> Result<Comparison, Error> {
    let settings = Settings {
        two_sample: two_sample::Settings {
            level: request.level.unwrap_or(USUAL_LEVEL),
            margin: request.margin.unwrap_or(USUAL_MARGIN),
            assume_quiet: request.assume_quiet,
            ..two_sample::Settings::default()
        },
        direction: request.better,
        quantity: request.measure.unwrap_or_default(),
    };
    let compared = match (&a.source, &b.source) {
        (Source::Run(a), Source::Run(b)) => compare_runs(a, b, &settings),
        _ if settings.quantity != Quantity::Time => {
            return Err(Error::usage(
                "--by applies to runs, not to files, imports or published figures",
                "leave it out: each figure of a file is compared under its own name",
            ));
        }
        _ => {
            let [first, second] = under_one_name([named_alike(a, b), named_alike(b, a)]);
            compare_datasets([&a.name, &b.name], &first, &second, &settings)
        }
    };
    compared.map_err(|error| {
        Error::usage(format!("{} and {}: {error}", a.name, b.name), hint(&error)).because(first_unmatched(&error))
    })
}

fn hint(error: &ComparisonError) -> &'static str {
    let is_direction = |left_out: &Unmatched| left_out.reason == UnmatchedReason::DirectionUnknown;
    match error {
        ComparisonError::NothingInCommon { unmatched } if unmatched.iter().any(is_direction) => {
            "`--better lower` or `--better higher` says which"
        }
        _ => HINT,
    }
}

/// An operand's figures. Published ones get the names of own runs if they are compared with one.
fn named_alike(one: &Operand, other: &Operand) -> Dataset {
    match &other.source {
        Source::Run(_) if published::is_name(&one.name) => published::without_machines(one.dataset()),
        _ => one.dataset(),
    }
}

/// Pairs benchmarks by name; a single benchmark on each side is one pair under any names.
fn under_one_name(mut datasets: [Dataset; 2]) -> [Dataset; 2] {
    let [a, b] = [benchmarks(&datasets[0]), benchmarks(&datasets[1])];
    if let ([a], [b]) = (a.as_slice(), b.as_slice())
        && a != b
    {
        let name = format!("{a} vs {b}");
        datasets.iter_mut().flat_map(|dataset| &mut dataset.series).for_each(|series| series.name.clone_from(&name));
    }
    datasets
}

const HINT: &str = "both must hold the same benchmarks under the same names; `faultline show` and `faultline export --to faultline` show what each holds";

/// A measured commit of a history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeasuredCommit {
    /// Its name.
    pub id: String,
    /// The commit whose build was executed: another one for equal builds.
    pub executed: String,
    /// The run that measured it.
    pub run: RunId,
}

/// Comparisons of pairs of commits in an open database. Settings of a run are read once.
pub struct CommitComparisons {
    store: Store,
    heads: BTreeMap<RunId, RunHead>,
}

impl CommitComparisons {
    /// Opens the database. Fails if it cannot be read.
    pub fn open(places: &Places) -> Result<Self, Error> {
        Ok(CommitComparisons { store: database::existing(places)?, heads: BTreeMap::new() })
    }

    /// Compares commit B with commit A. Fails if a run does not exist or has no execution of a
    /// commit, if nothing can be compared, or if the database cannot be read.
    pub fn compare(&mut self, commits: &[MeasuredCommit; 2]) -> Result<ComparedCommits, Error> {
        let [a, b] = commits;
        let records =
            if a.run == b.run { vec![self.load([a, b])?] } else { vec![self.load([a, a])?, self.load([b, b])?] };
        let [first, second] = [&records[0], &records[records.len() - 1]];
        let sides = [(first, subject_of(first, a)?), (second, subject_of(second, b)?)];
        let values = match first.settings.timed() {
            Some(_) => timed(commits, sides)?,
            None => counted(commits, sides)?,
        };
        Ok(ComparedCommits { subjects: sides.map(|(_, subject)| subject), values })
    }

    /// The part of a run's record about two commits.
    fn load(&mut self, commits: [&MeasuredCommit; 2]) -> Result<RunRecord, Error> {
        let head = match self.heads.entry(commits[0].run) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(self.store.load_head(commits[0].run)?),
        };
        let [a, b] = commits.map(|commit| place(&head.subjects, commit));
        Ok(self.store.load_subjects_of(head, [a?, b?])?)
    }
}

/// Compares two commits alone, as [`CommitComparisons::compare`] does.
pub fn compare_commits(commits: &[MeasuredCommit; 2], places: &Places) -> Result<ComparedCommits, Error> {
    CommitComparisons::open(places)?.compare(commits)
}

fn subject_of(record: &RunRecord, commit: &MeasuredCommit) -> Result<SubjectIndex, Error> {
    place(&record.subjects, commit)
}

/// The subject of a commit itself, neither relinked nor with another commit undone.
fn place(subjects: &[Subject], commit: &MeasuredCommit) -> Result<SubjectIndex, Error> {
    let is_it = |subject: &&Subject| {
        let is_of_commit = subject.commit.as_ref().is_some_and(|own| own.id == commit.executed);
        is_of_commit && matches!(subject.build, None | Some(BuildResult::Built))
    };
    let found = (0..).zip(subjects).find(|(_, subject)| is_it(subject));
    found.map(|(number, _)| SubjectIndex(number)).ok_or_else(|| missing(commit))
}

fn missing(commit: &MeasuredCommit) -> Error {
    Error::unanswerable(
        format!("run {} has no execution of commit {}", commit.run, short_name(&commit.id)),
        "choose a commit that was measured",
    )
}

fn timed(commits: &[MeasuredCommit; 2], sides: [(&RunRecord, SubjectIndex); 2]) -> Result<ComparedValues, Error> {
    let settings = Settings {
        two_sample: two_sample::Settings {
            level: USUAL_LEVEL,
            margin: USUAL_MARGIN,
            ..two_sample::Settings::default()
        },
        ..Settings::default()
    };
    let names = commits.each_ref().map(|commit| short_name(&commit.id));
    let compared = compare_subjects(names, sides, &settings)
        .map_err(|error| Error::unanswerable(error.to_string(), "choose two commits that were measured"))?;
    Ok(ComparedValues::Timed(Box::new(compared)))
}

fn counted(commits: &[MeasuredCommit; 2], sides: [(&RunRecord, SubjectIndex); 2]) -> Result<ComparedValues, Error> {
    let [a, b] = [0, 1].map(|side| reading(sides[side].0, sides[side].1).ok_or_else(|| missing(&commits[side])));
    let ((item, before), (_, now)) = (a?, b?);
    let compared = lens::compare(&item.cell.case, item.cell.tasks, &[before], &[now]);
    let compared = compared.ok_or_else(|| missing(&commits[0]))?;
    Ok(ComparedValues::Counted(Box::new(compared)))
}

/// The reading of a subject, with its item.
fn reading(record: &RunRecord, subject: SubjectIndex) -> Option<(&PlanItem, &Reading)> {
    record.attempts.iter().filter(|attempt| attempt.outcome == Some(Outcome::Done)).find_map(|attempt| {
        let is_it = |item: &&PlanItem| item.ordinal == attempt.ordinal && item.subject == subject;
        Some((record.plan.iter().find(is_it)?, attempt.reading.as_deref()?))
    })
}
