//! Compares two commits of a history by what the runs recorded that measured them. Only what was executed of the two is read.

use crate::comparison::USUAL_LEVEL;
use crate::database;
use crate::error::Error;
use crate::places::Places;
use faultline_model::commit::short_name;
use faultline_model::history::compared::{ComparedCommits, ComparedValues};
use faultline_model::lens::reading::Reading;
use faultline_model::outcome::Outcome;
use faultline_model::plan::{PlanItem, USUAL_MARGIN};
use faultline_model::record::{RunHead, RunId, RunRecord};
use faultline_model::subject::{BuildResult, Subject, SubjectIndex};
use faultline_stats::comparison::{Settings, compare_subjects};
use faultline_stats::{lens, two_sample};
use faultline_store::Store;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// A commit of a history that was measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeasuredCommit {
    /// The commit's name.
    pub id: String,
    /// The commit whose build was executed for it: another one if it has the same build.
    pub executed: String,
    /// The run that measured it.
    pub run: RunId,
}

/// Compares commits of an open database, one pair after the other. What is asked of a run as a whole is read once.
pub struct CommitComparisons {
    store: Store,
    heads: BTreeMap<RunId, RunHead>,
}

impl CommitComparisons {
    /// Opens the database. Fails if it cannot be read.
    pub fn open(places: &Places) -> Result<Self, Error> {
        Ok(CommitComparisons { store: database::existing(places)?, heads: BTreeMap::new() })
    }

    /// Compares two commits: B against A. Fails if a run no longer exists or has no execution of a commit, if nothing can be compared, or if the database cannot be read.
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

    /// What a run recorded of two commits.
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

/// The subject that was built of a commit as it is: not linked again, and without another commit undone.
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
        direction: None,
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

/// What was counted of a subject, and of which item.
fn reading(record: &RunRecord, subject: SubjectIndex) -> Option<(&PlanItem, &Reading)> {
    record.attempts.iter().filter(|attempt| attempt.outcome == Some(Outcome::Done)).find_map(|attempt| {
        let is_it = |item: &&PlanItem| item.ordinal == attempt.ordinal && item.subject == subject;
        Some((record.plan.iter().find(is_it)?, attempt.reading.as_deref()?))
    })
}
