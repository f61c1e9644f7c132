//! The surroundings in which a run measured, and what differs between those of two runs.

use super::run::HistoryRun;
use faultline_model::facts::Facts;
use faultline_model::history::quirk::{ChangedFact, DeclaredQuirk, QuirkTime};
use faultline_model::plan::{LineMeasure, MeasuredLine};
use faultline_model::recipe::BuildTools;
use faultline_model::record::RunHead;
use faultline_model::time::UnixMillis;

/// Facts of a host that may change the time of a program. Others follow from them, or change without an influence.
const WATCHED: [&str; 8] = [
    "cpu.frequency_driver",
    "cpu.governor",
    "cpu.isolated",
    "cpu.microcode",
    "kernel.command_line",
    "kernel.release",
    "kernel.version",
    "software.libc",
];

/// Beginnings of the keys of further such facts.
const WATCHED_FAMILIES: [&str; 2] = ["huge_pages.transparent", "mitigation."];

/// What stands for all that the versions of tools do not tell.
const OTHER_TOOLS: &str = "the build command's file, or a variable with options for tools";

/// The surroundings of a run.
#[derive(Debug, Clone, Copy)]
pub struct Surroundings<'a> {
    /// The tools that build.
    pub tools: Option<&'a BuildTools>,
    /// Facts of the machine on which time is measured; `None` of counts, which no host changes.
    pub facts: Option<&'a Facts>,
    /// When the run began.
    pub began: UnixMillis,
}

impl<'a> Surroundings<'a> {
    /// Those of a run. Time is measured in the surroundings in which the run began.
    pub(super) fn of(head: &'a RunHead) -> Self {
        let line = head.settings.measured_line();
        let session = head.sessions.first();
        Surroundings {
            tools: line.and_then(|line| line.tools.as_ref()),
            facts: session.and_then(|session| session.facts.first()).filter(|_| line.is_some_and(is_timed)),
            began: session.map_or(UnixMillis(0), |session| session.started),
        }
    }
}

fn is_timed(line: &MeasuredLine) -> bool {
    matches!(line.measure, LineMeasure::Timed(_))
}

/// What came between the surroundings of two runs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Difference {
    /// What was recorded otherwise.
    pub(super) changed: Vec<ChangedFact>,
    /// What people declared.
    pub(super) declared: Vec<String>,
}

impl Difference {
    pub(super) fn between(before: &Surroundings<'_>, now: &Surroundings<'_>, declared: &[DeclaredQuirk]) -> Self {
        let is_between = |quirk: &&DeclaredQuirk| matches!(quirk.when, QuirkTime::Since { at } if before.began < at && at <= now.began);
        Difference {
            changed: tools(before.tools, now.tools).into_iter().chain(facts(before.facts, now.facts)).collect(),
            declared: declared.iter().filter(is_between).map(|quirk| quirk.what.clone()).collect(),
        }
    }

    pub(super) fn is_none(&self) -> bool {
        self.changed.is_empty() && self.declared.is_empty()
    }
}

fn tools(before: Option<&BuildTools>, now: Option<&BuildTools>) -> Vec<ChangedFact> {
    let (Some(before), Some(now)) = (before, now) else { return Vec::new() };
    if before.digest == now.digest {
        return Vec::new();
    }
    let own = |text: Option<&str>| text.map(str::to_owned);
    let changed = before.changed(now);
    let named = changed.iter().map(|tool| ChangedFact {
        key: tool.asked.to_owned(),
        before: own(tool.before),
        now: own(tool.now),
    });
    match changed.is_empty() {
        true => vec![ChangedFact { key: OTHER_TOOLS.to_owned(), before: None, now: None }],
        false => named.collect(),
    }
}

/// Watched facts that differ. One that only one run has says nothing: an older version may not have recorded it.
fn facts(before: Option<&Facts>, now: Option<&Facts>) -> Vec<ChangedFact> {
    let (Some(before), Some(now)) = (before, now) else { return Vec::new() };
    let changed = before.0.iter().filter(|(key, _)| makes_quirk(key)).filter_map(|(key, value)| {
        let other = now.0.get(key).filter(|other| *other != value)?;
        Some(ChangedFact { key: key.clone(), before: Some(value.to_string()), now: Some(other.to_string()) })
    });
    changed.collect()
}

/// Whether histories of times have a quirk where the fact with this key changes between their runs.
pub fn makes_quirk(key: &str) -> bool {
    WATCHED.contains(&key) || WATCHED_FAMILIES.iter().any(|family| key.starts_with(family))
}

/// Runs of one series, the oldest first, in groups with the same surroundings, with what came before each group but the first.
pub(super) fn groups<'a>(
    runs: &[HistoryRun<'a>],
    declared: &[DeclaredQuirk],
) -> Vec<(Difference, Vec<HistoryRun<'a>>)> {
    let mut groups: Vec<(Difference, Vec<HistoryRun<'a>>)> = Vec::new();
    for run in runs.iter().rev() {
        let last = groups.last_mut().and_then(|(_, group)| group.last().copied());
        let difference = last.map_or_else(Difference::default, |last| {
            Difference::between(&Surroundings::of(last.head), &Surroundings::of(run.head), declared)
        });
        match groups.last_mut() {
            Some((_, group)) if difference.is_none() => group.push(*run),
            _ => groups.push((difference, vec![*run])),
        }
    }
    groups
}
