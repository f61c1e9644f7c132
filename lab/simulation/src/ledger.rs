//! The simulated target's own account of the truth: every execution with its output, what was
//! acknowledged, and what must be recorded.

use crate::workload::{EXECUTION, Expected, Script};
use faultline_record::outcome::Outcome;
use faultline_record::protocol::Interval;
use faultline_record::record::{Attempt, RunRecord};
use faultline_record::subject::{BuildResult, Subject};
use std::collections::BTreeSet;
use std::time::Duration;

/// One execution.
#[derive(Debug)]
struct Execution {
    ordinal: u32,
    expected: Expected,
    /// The intervals that it prints if nothing intervenes.
    intervals: Vec<Interval>,
    /// Number of accepted intervals, which must be saved.
    acknowledged: usize,
    /// True if the line with its number was accepted.
    is_known: bool,
    /// The outcome that the runner reported after saving it.
    reported: Option<Outcome>,
    /// True if it was stopped, or its life ended, before its outcome was reported.
    is_cut_short: bool,
}

/// The time from the first item of a life to its end.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    began: Duration,
    last_item: Duration,
}

/// All executions and their time.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    executions: Vec<Execution>,
    item: Option<u32>,
    stretches: Vec<Stretch>,
    is_measuring: bool,
    /// Commits whose builds are saved with the run, or were requested in this life.
    built: BTreeSet<String>,
    /// The tools of the first build.
    tools: Option<String>,
    /// Violations, in words.
    violations: Vec<String>,
}

impl Ledger {
    /// A life begins.
    pub(crate) fn life_begins(&mut self) {
        self.is_measuring = false;
        self.item = None;
    }

    /// A build of a commit is asked for, with these tools.
    pub(crate) fn build_begins(&mut self, commit: &str, tools: &str) {
        if !self.built.insert(commit.to_owned()) {
            self.violation(format!("commit {commit} is built again"));
        }
        let first = self.tools.get_or_insert_with(|| tools.to_owned());
        if first != tools {
            self.violation(format!("commit {commit} is built with other tools than the first one"));
        }
    }

    /// The commits whose builds a life left in the record.
    pub(crate) fn saved_builds(&mut self, record: &RunRecord) {
        let name = |subject: &Subject| {
            let id = &subject.commit.as_ref()?.id;
            Some(match &subject.build {
                Some(BuildResult::Relinked { layout, .. }) => format!("{id} in layout {layout}"),
                _ => id.clone(),
            })
        };
        self.built = record.subjects.iter().filter_map(name).collect();
    }

    /// The item that is measured.
    pub(crate) fn item(&self) -> Option<u32> {
        self.item
    }

    /// A life has ended, for any reason.
    pub(crate) fn life_ended(&mut self) {
        if let Some(last) = self.executions.last_mut().filter(|last| last.reported.is_none()) {
            last.is_cut_short = true;
        }
    }

    /// Items are measured from now on.
    pub(crate) fn measuring_begins(&mut self, at: Duration) {
        if !self.is_measuring {
            self.is_measuring = true;
            self.stretches.push(Stretch { began: at, last_item: at });
        }
    }

    /// An item is about to start.
    pub(crate) fn item_begins(&mut self, ordinal: u32) {
        let reported = |execution: &&Execution| execution.ordinal == ordinal && execution.reported.is_some();
        if let Some(execution) = self.executions.iter().find(reported) {
            let outcome = execution.reported.clone();
            self.violation(format!("item {ordinal} begins again, although it ended: {outcome:?}"));
        }
        self.item = Some(ordinal);
    }

    /// An execution starts; its script has its number.
    pub(crate) fn begins(&mut self, script: &Script) {
        let Some(ordinal) = self.item else { return self.violation("an execution of no item".to_owned()) };
        self.executions.push(Execution {
            ordinal,
            expected: script.expected.clone(),
            intervals: script.lines.iter().filter_map(|line| line.interval.clone()).collect(),
            acknowledged: 0,
            is_known: false,
            reported: None,
            is_cut_short: false,
        });
    }

    /// The attempt of the running execution is saved from this time on.
    pub(crate) fn attempt_is_saved(&mut self, at: Duration) {
        if let Some(stretch) = self.stretches.last_mut() {
            stretch.last_item = at;
        }
    }

    /// The number of the next execution.
    pub(crate) fn next(&self) -> u64 {
        self.executions.len() as u64
    }

    /// A line of the running execution was accepted.
    pub(crate) fn line_taken(&mut self, is_interval: bool, is_number: bool) {
        if let Some(last) = self.executions.last_mut() {
            last.acknowledged += usize::from(is_interval);
            last.is_known |= is_number;
        }
    }

    /// The running execution was stopped.
    pub(crate) fn stopped(&mut self) {
        if let Some(last) = self.executions.last_mut() {
            last.is_cut_short = true;
        }
    }

    /// The item has ended, and its outcome is saved.
    pub(crate) fn item_ends(&mut self, ordinal: u32, outcome: &Outcome) {
        match self.executions.last_mut() {
            Some(last) if last.ordinal == ordinal => last.reported = Some(outcome.clone()),
            _ => self.violation(format!("item {ordinal} ends, and did not run")),
        }
    }

    /// Records a violation.
    pub(crate) fn violation(&mut self, text: String) {
        self.violations.push(text);
    }

    /// Fails with the first violation, if there is one.
    pub(crate) fn first_violation(&self) -> Result<(), String> {
        self.violations.first().map_or(Ok(()), |text| Err(text.clone()))
    }

    /// Time since items began to be measured in this life.
    pub(crate) fn in_this_life(&self, now: Duration) -> Duration {
        self.stretches.last().filter(|_| self.is_measuring).map_or(Duration::ZERO, |stretch| now - stretch.began)
    }

    /// Time that earlier lives took, each from the start of its first item to the end of its last
    /// one.
    pub(crate) fn in_earlier_lives(&self) -> Duration {
        let earlier = self.stretches.len().saturating_sub(usize::from(self.is_measuring));
        self.stretches[..earlier].iter().map(|stretch| stretch.last_item - stretch.began).sum()
    }

    /// Number of lives that measured anything.
    pub(crate) fn measuring_lives(&self) -> usize {
        self.stretches.len()
    }

    /// True if the last execution of this life was to leave the system changed, or the lab failed
    /// during it.
    pub(crate) fn last_left_changed(&self) -> bool {
        let last = self.executions.last().filter(|_| self.item.is_some()).map(|execution| &execution.expected);
        matches!(last, Some(Expected::Exactly(Outcome::LeftChanged { .. } | Outcome::LabFailed { .. })))
    }

    /// Compares the saved record with the truth. Fails with what differs.
    pub(crate) fn check(&self, record: &RunRecord) -> Result<(), String> {
        let mut found = vec![false; self.executions.len()];
        for attempt in &record.attempts {
            match number(attempt) {
                Some(number) => {
                    let execution = self.executions.get(number).ok_or("an attempt that was never executed")?;
                    if std::mem::replace(&mut found[number], true) {
                        return Err(format!("two attempts say to be execution {number}"));
                    }
                    check_attempt(execution, attempt).map_err(|why| format!("execution {number}: {why}"))?;
                }
                None if attempt.window.is_empty() && attempt.warmup.is_empty() => {}
                None => return Err(format!("attempt {} has samples of no execution", attempt.id.0)),
            }
        }
        let lost = self.executions.iter().zip(found).position(|(execution, found)| execution.is_known && !found);
        lost.map_or(Ok(()), |number| Err(format!("execution {number} was acknowledged and is not saved")))
    }
}

fn number(attempt: &Attempt) -> Option<usize> {
    attempt.notes.get(EXECUTION)?.parse().ok()
}

fn check_attempt(execution: &Execution, attempt: &Attempt) -> Result<(), String> {
    if attempt.ordinal != execution.ordinal {
        return Err(format!("it is saved as item {} and was item {}", attempt.ordinal, execution.ordinal));
    }
    check_samples(execution, attempt)?;
    match (&attempt.outcome, &execution.reported) {
        (Some(saved), Some(reported)) if saved != reported => {
            Err(format!("saved as {saved:?}, reported as {reported:?}"))
        }
        (None, Some(reported)) => Err(format!("its outcome was reported but is not saved: {reported:?}")),
        (Some(Outcome::Interrupted), None) if execution.is_cut_short => Ok(()),
        (Some(saved), _) if !execution.expected.is_met_by(saved) => {
            Err(format!("saved as {saved:?}, and {:?} was expected", execution.expected))
        }
        (None, None) if !execution.is_cut_short => Err("it has no outcome".to_owned()),
        _ => Ok(()),
    }
}

/// Checks that everything acknowledged is saved, and nothing that was not printed. The interval at
/// which the execution was cut short may be saved or not.
fn check_samples(execution: &Execution, attempt: &Attempt) -> Result<(), String> {
    let saved: Vec<&Interval> = attempt.warmup.iter().chain(&attempt.window).collect();
    let printed: Vec<&Interval> = execution.intervals.iter().collect();
    let room = usize::from(execution.is_cut_short);
    let range = execution.acknowledged..=(execution.acknowledged + room).min(printed.len());
    if !range.contains(&saved.len()) {
        return Err(format!("{} intervals are saved, and {} were acknowledged", saved.len(), execution.acknowledged));
    }
    if saved != printed[..saved.len()] {
        return Err(format!("saved are {saved:?}, printed were {printed:?}"));
    }
    Ok(())
}
