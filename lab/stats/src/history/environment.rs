//! The environment of a run, and differences between the environments of two runs.

use super::runs::HistoryRun;
use crate::history::causes::ChangedFact;
use faultline_record::facts::Facts;
use faultline_record::plan::{LineMeasure, MeasuredLine};
use faultline_record::quirk::{DeclaredQuirk, QuirkTime};
use faultline_record::recipe::BuildTools;
use faultline_record::record::RunHead;
use faultline_record::time::UnixMillis;

/// Facts of a host that may affect the time of a program. Others follow from them, or have no
/// influence.
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

/// Prefixes of the keys of further such facts.
const WATCHED_FAMILIES: [&str; 2] = ["huge_pages.transparent", "mitigation."];

/// The fact for differences that the versions of tools do not show.
const OTHER_TOOLS: &str = "the build command's file, or a variable with options for tools";

/// The environment of a run.
#[derive(Debug, Clone, Copy)]
pub struct Environment<'a> {
    /// The tools that build.
    pub tools: Option<&'a BuildTools>,
    /// Facts of the measuring machine; `None` for counts, which do not depend on the host.
    pub facts: Option<&'a Facts>,
    /// Start of the run.
    pub began: UnixMillis,
}

impl<'a> Environment<'a> {
    /// The environment of a run at its begin.
    pub(super) fn of(head: &'a RunHead) -> Self {
        let line = head.settings.measured_line();
        let session = head.sessions.first();
        Environment {
            tools: line.map(|line| &line.tools),
            facts: session.and_then(|session| session.facts.first()).filter(|_| line.is_some_and(is_timed)),
            began: session.map_or(UnixMillis(0), |session| session.started),
        }
    }
}

fn is_timed(line: &MeasuredLine) -> bool {
    matches!(line.measure, LineMeasure::Timed { .. })
}

/// Differences between the environments of two runs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Difference {
    /// Recorded differences.
    pub(super) changed: Vec<ChangedFact>,
    /// Declared differences.
    pub(super) declared: Vec<String>,
}

impl Difference {
    pub(super) fn between(before: &Environment<'_>, now: &Environment<'_>, declared: &[DeclaredQuirk]) -> Self {
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

/// Watched facts that differ. A fact of only one run does not count.
fn facts(before: Option<&Facts>, now: Option<&Facts>) -> Vec<ChangedFact> {
    let (Some(before), Some(now)) = (before, now) else { return Vec::new() };
    let changed = before.0.iter().filter(|(key, _)| makes_quirk(key)).filter_map(|(key, value)| {
        let other = now.0.get(key).filter(|other| *other != value)?;
        Some(ChangedFact { key: key.clone(), before: Some(value.to_string()), now: Some(other.to_string()) })
    });
    changed.collect()
}

/// True if a change of the fact with this key is a quirk of histories of times.
pub fn makes_quirk(key: &str) -> bool {
    WATCHED.contains(&key) || WATCHED_FAMILIES.iter().any(|family| key.starts_with(family))
}

/// Runs of one series, oldest first, in groups of equal environments, each but the first with the
/// differences before it.
pub(super) fn groups<'a>(
    runs: &[HistoryRun<'a>],
    declared: &[DeclaredQuirk],
) -> Vec<(Difference, Vec<HistoryRun<'a>>)> {
    let mut groups: Vec<(Difference, Vec<HistoryRun<'a>>)> = Vec::new();
    for run in runs.iter().rev() {
        let last = groups.last_mut().and_then(|(_, group)| group.last().copied());
        let difference = last.map_or_else(Difference::default, |last| {
            Difference::between(&Environment::of(last.head), &Environment::of(run.head), declared)
        });
        match groups.last_mut() {
            Some((_, group)) if difference.is_none() => group.push(*run),
            _ => groups.push((difference, vec![*run])),
        }
    }
    groups
}
