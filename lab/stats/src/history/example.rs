//! Artificial runs that measure commits, for tests.

use super::steps::{StepSettings, steps_of_counts};
use crate::estimate::Estimate;
use crate::example;
use crate::history::{HistoryPoint, HistorySeries, PointResult};
use faultline_record::artefact::Artefact;
use faultline_record::cell::{Case, Cell, TaskMode};
use faultline_record::commit::{CommitInfo, CommitLine};
use faultline_record::describe::Style;
use faultline_record::direction::Direction;
use faultline_record::journal::AttemptId;
use faultline_record::machine::Machine;
use faultline_record::outcome::Outcome;
use faultline_record::plan::{CommitOrder, HistorySettings, LineMeasure, MeasuredLine, PlanItem, RunKind};
use faultline_record::protocol::{Measure, Usage, UsageScope};
use faultline_record::quantity::Quantity;
use faultline_record::recipe::{BuildTools, Recipe};
use faultline_record::record::{Attempt, RunId, RunRecord};
use faultline_record::relink::LayoutKind;
use faultline_record::setup::Setup;
use faultline_record::subject::{BuildResult, Commit, Subject, SubjectIndex};
use faultline_record::time::UnixMillis;
use std::collections::BTreeMap;

/// Commits of the line.
const COMMITS: u32 = 40;

/// A commit of the line.
pub(super) fn commit(position: u32) -> CommitInfo {
    CommitInfo {
        id: format!("{position:040x}"),
        tree: format!("{position:040x}"),
        committed_s: i64::from(position) * 86_400,
        author: "A. Uthor".to_owned(),
        subject: format!("commit {position}"),
        ..CommitInfo::default()
    }
}

/// A series of counts, a commit each, with its steps.
pub(super) fn exact_series(values: &[f64]) -> HistorySeries {
    let estimate = |value| Estimate { median: value, low: value, high: value, coverage: 1.0, n: 1 };
    let point = |(position, &value): (u32, &f64)| HistoryPoint {
        commit: commit(position),
        run: Some(RunId(1)),
        environment: 0,
        result: PointResult::Measured { estimate: estimate(value), least: None, same_as: None },
    };
    let points: Vec<HistoryPoint> = (0..).zip(values).map(point).collect();
    let counts: Vec<Vec<f64>> = values.iter().map(|value| vec![*value]).collect();
    HistorySeries {
        format: HistorySeries::FORMAT.to_owned(),
        subject: "app".to_owned(),
        repository: "/repository".to_owned(),
        forge: None,
        command: Vec::new(),
        workload: None,
        has_releases: false,
        moved: Vec::new(),
        by_cpu_time: None,
        choice: None,
        load: None,
        quantity: Quantity::Instructions,
        unit: "instructions".to_owned(),
        tasks: 1,
        host: None,
        conditions: String::new(),
        runs: vec![RunId(1)],
        left_out: Vec::new(),
        quirks: Vec::new(),
        unplaced_quirks: Vec::new(),
        steps: steps_of_counts(&points, &counts, &StepSettings::default()).unwrap(),
        points,
    }
}

/// A started run for the commits at these positions.
pub(super) fn begun(wanted: &[u32], repeats: u32) -> RunRecord {
    let mut record = example::Run::new(&["load"]).tasks(&[1]).repeats(1).record();
    let RunKind::Timed(timed) = record.settings.kind.clone() else { panic!("a plain run") };
    let measured = MeasuredLine {
        measure: LineMeasure::Timed { quantity: Quantity::Time, settings: timed },
        choice: None,
        repository: "/repository".to_owned(),
        forge: None,
        work: None,
        line: CommitLine { commits: (0..COMMITS).map(commit).collect() },
        recipe: Recipe {
            command: Vec::new(),
            environment: Vec::new(),
            limit_s: 1,
            kept: Vec::new(),
            is_clean: false,
            ..Recipe::default()
        },
        tools: BuildTools { digest: "1".to_owned(), versions: BTreeMap::new() },
        layout_kind: LayoutKind::default(),
        on: None,
        release_file: None,
        releases: Vec::new(),
        artefact: Artefact::Command(vec!["./load".to_owned()]),
    };
    record.head.workloads[0].style = Style::Once;
    record.head.settings.repeats = repeats;
    record.head.settings.kind = RunKind::History(Box::new(HistorySettings {
        measured,
        subject: "app".to_owned(),
        wanted: wanted.to_vec(),
        machine: "here".to_owned(),
        order: CommitOrder::Line,
        seeds_by_ends: false,
        layouts: 0,
    }));
    record.head.subjects.clear();
    record.attempts.clear();
    record.plan.clear();
    record.skipped.clear();
    record
}

/// Saves the build of the next wanted commit: in a directory, or a failed one.
pub(super) fn build(record: &mut RunRecord, directory: Option<&str>) {
    let history = record.settings.history().unwrap();
    let id = history.line.commits[history.wanted[record.subjects.len()] as usize].id.clone();
    let failed = BuildResult::Failed { how: "it exited with status 2".to_owned(), output: "no rule".to_owned() };
    let setup = Setup { directory: directory.map(str::to_owned), ..Setup::default() };
    record.head.subjects.push(Subject {
        commit: Some(Commit { id: id.clone(), repository: None }),
        build: Some(directory.map_or(failed, |_| BuildResult::Built)),
        ..Subject::on(id, Machine::Host, setup)
    });
}

/// Saves a block of executions, by subject: seconds, or the failure.
pub(super) fn block(record: &mut RunRecord, executions: &[(u32, Result<f64, Outcome>)]) {
    let block = record.plan.last().map_or(0, |last| last.block + 1);
    executions.iter().for_each(|(subject, ended)| add(record, block, *subject, ended.clone()));
}

/// Adds an execution to the first block.
pub(super) fn execute(record: &mut RunRecord, subject: u32, ended: Result<f64, Outcome>) {
    add(record, 0, subject, ended);
}

fn add(record: &mut RunRecord, block: u32, subject: u32, ended: Result<f64, Outcome>) {
    let ordinal = record.plan.len() as u32;
    let case = Case { workload: "load".into(), variant: "base".into(), mode: TaskMode::Process };
    let cell = Cell { case, tasks: 1 };
    record.plan.push(PlanItem { ordinal, block, subject: SubjectIndex(subject), cell, timing: None, seed: None });
    let measure = |value| Measure { name: "real_s".into(), unit: "s".into(), direction: Direction::Lower, value };
    // One busy process: its CPU time is its time.
    let usage = |seconds: f64| Usage {
        scope: UsageScope::Life,
        user_ns: (seconds * 1e9) as u64,
        system_ns: 0,
        minor_faults: 0,
        major_faults: 0,
        voluntary_switches: 0,
        involuntary_switches: 0,
    };
    record.attempts.push(Attempt {
        measures: ended.iter().copied().map(measure).collect(),
        usage: ended.as_ref().ok().copied().map(usage),
        outcome: Some(ended.err().unwrap_or(Outcome::Done)),
        ..Attempt::begun(AttemptId(i64::from(ordinal)), ordinal, 0, UnixMillis(i64::from(ordinal)))
    });
}
