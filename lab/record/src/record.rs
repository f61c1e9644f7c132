//! A run as it is saved: plan, facts, and every attempt with its whole output.

use crate::describe::WorkloadInfo;
use crate::explained::StepExplained;
use crate::facts::Facts;
use crate::journal::AttemptId;
use crate::lens::reading::Reading;
use crate::outcome::Outcome;
use crate::plan::{KindOfRun, PlanItem, Settings};
use crate::protocol::{Interval, Measure, Usage};
use crate::run_of_history::RunOfHistory;
use crate::subject::{KindOfSubject, Subject, SubjectIndex};
use crate::time::UnixMillis;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Deref;

pub use crate::journal::RunId;

/// The state of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
#[serde(rename_all = "lowercase")]
pub enum RunState {
    /// Started and not ended: running, stopped or killed. The run can be resumed.
    Open,
    /// Finished: every item has a final outcome, or was skipped because of the budget.
    Finished,
}

/// One attempt at a planned item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    /// The attempt's id in the store.
    pub id: AttemptId,
    /// The item's ordinal.
    pub ordinal: u32,
    /// The session in which the attempt began, by its index in [`RunHead::sessions`]. The start
    /// time does not determine it, because the clock may be set back.
    pub session: u32,
    /// Start of the attempt.
    pub started: UnixMillis,
    /// The outcome; `None` while the attempt is running, or if it was killed with the run.
    pub outcome: Option<Outcome>,
    /// Number of bytes that one operation touches, if the workload prints it.
    pub bytes_per_operation: Option<u64>,
    /// Notes of the workload.
    pub notes: BTreeMap<String, String>,
    /// Intervals of the warm-up.
    pub warmup: Vec<Interval>,
    /// Intervals of the region of interest.
    pub window: Vec<Interval>,
    /// Resources used.
    pub usage: Option<Usage>,
    /// Differences of the kernel's counters over the region of interest.
    pub counters: BTreeMap<String, i64>,
    /// Figures that are not rates.
    pub measures: Vec<Measure>,
    /// Counts of the lens.
    pub reading: Option<Box<Reading>>,
}

impl Attempt {
    /// A new attempt in that session, without any output.
    pub fn begun(id: AttemptId, ordinal: u32, session: u32, started: UnixMillis) -> Self {
        Attempt {
            id,
            ordinal,
            session,
            started,
            outcome: None,
            bytes_per_operation: None,
            notes: BTreeMap::new(),
            warmup: Vec::new(),
            window: Vec::new(),
            usage: None,
            counters: BTreeMap::new(),
            measures: Vec::new(),
            reading: None,
        }
    }
}

/// A session of a run: from its start, or from a resume, to its end or the next resume.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Session {
    /// Start of the session.
    pub started: UnixMillis,
    /// Facts about each subject's machine at that time, in the order of the subjects; a single
    /// entry if all subjects have one machine.
    pub facts: Vec<Facts>,
}

impl Session {
    /// Facts about a subject's machine at that time; `None` if nothing is known about it.
    pub fn facts_of(&self, subject: SubjectIndex) -> Option<&Facts> {
        match self.facts.as_slice() {
            [of_all] => Some(of_all),
            several => several.get(subject.at()),
        }
    }
}

/// A run without its plan and its attempts: the request, and the measured subjects with their
/// machines.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunHead {
    /// The run's id.
    pub id: RunId,
    /// The run's label, if it has one.
    pub label: Option<String>,
    /// The request.
    pub settings: Settings,
    /// The measured subjects, at least one; each item of the plan belongs to one of them.
    pub subjects: Vec<Subject>,
    /// The workloads' descriptions of themselves.
    pub workloads: Vec<WorkloadInfo>,
    /// The run's state.
    pub state: RunState,
    /// The run's sessions, at least one. The first begins with the run.
    pub sessions: Vec<Session>,
}

impl RunHead {
    /// Start of the run.
    pub fn started(&self) -> UnixMillis {
        self.sessions.first().map_or(UnixMillis(0), |session| session.started)
    }

    /// Facts of the first session, about the first subject's machine.
    pub fn facts(&self) -> Option<&Facts> {
        self.sessions.first().and_then(|session| session.facts_of(SubjectIndex::A))
    }

    /// Facts of all sessions and subjects.
    pub fn all_facts(&self) -> impl Iterator<Item = &Facts> {
        self.sessions.iter().flat_map(|session| &session.facts)
    }

    /// A subject.
    pub fn subject(&self, subject: SubjectIndex) -> Option<&Subject> {
        self.subjects.get(subject.at())
    }
}

/// A whole run. Fields of its head can be read directly: `record.settings`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// The request, and the measured subjects with their machines.
    #[serde(flatten)]
    pub head: RunHead,
    /// The planned items, in their order.
    pub plan: Vec<PlanItem>,
    /// Ordinals of items that were left out because the time budget was used up.
    pub skipped: Vec<u32>,
    /// Every attempt, in the order in which they began.
    pub attempts: Vec<Attempt>,
    /// Information about the steps that a finished search found, besides their values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub explained: Vec<StepExplained>,
}

impl Deref for RunRecord {
    type Target = RunHead;

    fn deref(&self) -> &RunHead {
        &self.head
    }
}

impl RunRecord {
    /// The final attempt of an item, if it has one.
    pub fn final_attempt(&self, ordinal: u32) -> Option<&Attempt> {
        self.attempts
            .iter()
            .find(|attempt| attempt.ordinal == ordinal && attempt.outcome.as_ref().is_some_and(Outcome::is_final))
    }
}

/// A line of the list of runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct RunLine {
    /// The run's id.
    pub id: RunId,
    /// The run's label.
    pub label: Option<String>,
    /// Start of the run.
    pub started: UnixMillis,
    /// The run's state.
    pub state: RunState,
    /// The run's kind.
    #[ts(type = "string")]
    pub kind: KindOfRun,
    /// The suite, if one was chosen.
    pub suite: Option<String>,
    /// Names of the planned workloads in their order, without repetition.
    pub workloads: Vec<String>,
    /// Names of the two sides of a comparison; the measured command of the user; the ends of a
    /// search as its user named them, or the subject of its history; otherwise empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sides: Vec<String>,
    /// Kind of the first subject; `None` while a search has not built its first commit.
    pub subject: Option<KindOfSubject>,
    /// Numbers of tasks.
    pub cpus: Vec<u32>,
    /// Subject and stage of a run that measures commits of a history; `None` for other runs, and if
    /// its settings cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<RunOfHistory>,
    /// Number of planned items. A run that builds commits plans further items while it runs.
    pub planned: u32,
    /// Maximum number of items of the whole run; `None` while it is not known.
    pub whole: Option<u32>,
    /// Number of items with a final outcome.
    pub ended: u32,
    /// Number of failed items, not including unsupported ones.
    pub failed: u32,
    /// Number of items that were left out because the time budget was used up.
    pub skipped: u32,
    /// Host name and kernel.
    pub machine: String,
}

/// Progress of a run. Every addition to the run's record changes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunProgress {
    /// The run's id.
    pub id: RunId,
    /// The run's state. A finished run is never altered, so its numbers are 0.
    pub state: RunState,
    /// Number of subjects: commits that were built, or that do not build.
    pub subjects: u32,
    /// Number of sessions.
    pub sessions: u32,
    /// Number of planned items.
    pub planned: u32,
    /// Number of planned items in the first block.
    pub first_block: u32,
    /// Number of items that were left out because the time budget was used up.
    pub skipped: u32,
    /// Number of attempts.
    pub attempts: u32,
    /// Number of attempts that have ended.
    pub ended: u32,
}

/// A result of a finished run that is saved with it, to avoid computing it again.
pub trait Conclusion: Serialize + DeserializeOwned {
    /// The name of the result's type in the database.
    const KIND: &'static str;
}
