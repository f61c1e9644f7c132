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
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Deref;

pub use crate::run_id::RunId;

/// The state of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "lowercase")]
pub enum RunState {
    /// Started and not ended: running, stopped or killed. It can be resumed.
    Open,
    /// Every item has a final outcome, or was skipped because of the budget.
    Finished,
}

/// One attempt at a planned item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    /// Its id in the store.
    pub id: AttemptId,
    /// The item's ordinal.
    pub ordinal: u32,
    /// The session in which it began, by its place in [`RunHead::sessions`]. The times do not tell: somebody may set the clock back.
    pub session: u32,
    /// When it began.
    pub started: UnixMillis,
    /// How it ended; `None` while it is running, or if it was killed with the run.
    pub outcome: Option<Outcome>,
    /// Bytes that one operation touches, if the workload prints it.
    pub bytes_per_operation: Option<u64>,
    /// What the workload noted.
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
    /// What the lens counted.
    #[serde(default)]
    pub reading: Option<Box<Reading>>,
}

impl Attempt {
    /// An attempt that has only begun, in that session.
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
    /// When it began.
    pub started: UnixMillis,
    /// Each subject's machine at that time, in the order of the subjects; a single one if it is the machine of all of them.
    pub facts: Vec<Facts>,
}

impl Session {
    /// A subject's machine at that time; `None` if nothing is known about it.
    pub fn facts_of(&self, subject: SubjectIndex) -> Option<&Facts> {
        match self.facts.as_slice() {
            [of_all] => Some(of_all),
            several => several.get(subject.at()),
        }
    }
}

/// A run without its plan and its attempts: what was asked for, what is measured, and where.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunHead {
    /// Its id.
    pub id: RunId,
    /// Its label, if it has one.
    pub label: Option<String>,
    /// What was asked for.
    pub settings: Settings,
    /// What is measured, at least one; each item of the plan belongs to one of them.
    pub subjects: Vec<Subject>,
    /// The workloads as they described themselves.
    pub workloads: Vec<WorkloadInfo>,
    /// Its state.
    pub state: RunState,
    /// Its sessions; at least one, the first is the run's start.
    pub sessions: Vec<Session>,
}

impl RunHead {
    /// When the run began.
    pub fn started(&self) -> UnixMillis {
        self.sessions.first().map_or(UnixMillis(0), |session| session.started)
    }

    /// Facts of its first session, of the first subject's machine.
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

/// A whole run. The fields of its head can be read directly: `record.settings`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// What was asked for, what is measured, and where.
    #[serde(flatten)]
    pub head: RunHead,
    /// The plan, in its order.
    pub plan: Vec<PlanItem>,
    /// Items left out because the time budget was used up, by ordinal.
    pub skipped: Vec<u32>,
    /// Every attempt, in the order in which they began.
    pub attempts: Vec<Attempt>,
    /// What is known of the steps that a finished search found, besides their values.
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
    /// The attempt with which an item ended, if it has one.
    pub fn final_attempt(&self, ordinal: u32) -> Option<&Attempt> {
        self.attempts
            .iter()
            .find(|attempt| attempt.ordinal == ordinal && attempt.outcome.as_ref().is_some_and(Outcome::is_final))
    }
}

/// A line of the list of runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunLine {
    /// The run.
    pub id: RunId,
    /// Its label.
    pub label: Option<String>,
    /// When it began.
    pub started: UnixMillis,
    /// Its state.
    pub state: RunState,
    /// Its kind.
    pub kind: KindOfRun,
    /// The suite, if one was chosen.
    pub suite: Option<String>,
    /// Names of the planned workloads, each once, in their order.
    #[serde(default)]
    pub workloads: Vec<String>,
    /// Names of the two sides of a comparison; empty for any other run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sides: Vec<String>,
    /// What was measured, of the first subject; `None` while a search has not built its first commit.
    pub subject: Option<KindOfSubject>,
    /// Numbers of tasks.
    pub cpus: Vec<u32>,
    /// Of a run that measures commits of a history, what it measures; `None` of others, and if its settings cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<RunOfHistory>,
    /// Items planned. A run that builds commits plans further items while it runs.
    pub planned: u32,
    /// Items that the whole run will have, at most; `None` while that is not known.
    #[serde(default)]
    pub whole: Option<u32>,
    /// Items with a final outcome.
    pub ended: u32,
    /// Of these, those that failed. Unsupported items are not among them.
    pub failed: u32,
    /// Items left out because the time budget was used up.
    pub skipped: u32,
    /// Host name and kernel.
    pub machine: String,
}

/// How far a run is. Whatever is added to its record makes it another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunProgress {
    /// The run.
    pub id: RunId,
    /// Its state. A finished run is never altered, so its numbers are 0.
    pub state: RunState,
    /// Its subjects: commits that were built, or that do not build.
    pub subjects: u32,
    /// Its sessions.
    pub sessions: u32,
    /// Items planned.
    pub planned: u32,
    /// Of these, those of the first block.
    pub first_block: u32,
    /// Items left out because the time budget was used up.
    pub skipped: u32,
    /// Attempts.
    pub attempts: u32,
    /// Of these, those that have ended.
    pub ended: u32,
}
