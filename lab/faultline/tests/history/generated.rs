//! A run that measured many commits, saved without measuring.

use faultline_record::artefact::Artefact;
use faultline_record::cell::{Case, Cell, TaskMode};
use faultline_record::commit::{CommitInfo, CommitLine};
use faultline_record::describe::{Style, VariantInfo, WorkloadInfo};
use faultline_record::direction::Direction;
use faultline_record::facts::Facts;
use faultline_record::journal::Journal;
use faultline_record::machine::Machine;
use faultline_record::outcome::Outcome;
use faultline_record::plan::{
    CommitOrder, HistorySettings, LineMeasure, MeasuredLine, PinPolicy, PlanItem, RunKind, Settings, TimedSettings,
};
use faultline_record::protocol::{Event, parse};
use faultline_record::recipe::{BuildTools, Recipe};
use faultline_record::record::Session;
use faultline_record::setup::Setup;
use faultline_record::subject::{BuildResult, Commit, Subject, SubjectIndex};
use faultline_record::time::UnixMillis;
use faultline_store::{NewRun, Store};
use std::collections::BTreeMap;
use std::path::Path;

/// Executions per commit.
const REPEATS: u32 = 3;

/// Saves the run. Each commit takes about a second at first, a tenth more after three tenths of
/// the commits, and slightly less than that after seven tenths.
pub fn save(database: &Path, repository: &Path, commits: u32, command: &str, started: i64) {
    save_with(database, repository, commits, command, started, 1);
}

/// Saves the run with `tasks` copies running at once.
pub fn save_with(database: &Path, repository: &Path, commits: u32, command: &str, started: i64, tasks: u32) {
    let mut store = Store::open_or_create(database).unwrap();
    let (settings, workloads) = (settings(repository, commits, command, tasks), [workload()]);
    let subjects: Vec<Subject> = (0..commits).map(|position| subject(position, command)).collect();
    let plan: Vec<PlanItem> = (0..commits * REPEATS).map(|ordinal| item(ordinal, commits, tasks)).collect();
    let session = Session { started: UnixMillis(started), facts: vec![Facts::default()] };
    let new = NewRun {
        label: None,
        settings: &settings,
        subjects: &subjects,
        workloads: &workloads,
        plan: &plan,
        session: &session,
    };
    let run = store.begin_run(&new).unwrap();
    let mut journal = store.journal(run);
    for item in &plan {
        let attempt = journal.begin_attempt(item.ordinal, UnixMillis(2)).unwrap();
        let printed = ["end 5".to_owned(), format!("measure real_s s lower {}", seconds(item, commits))];
        for line in printed {
            let event: Event = parse(line.as_bytes()).unwrap();
            journal.record(attempt, &event).unwrap();
        }
        journal.end_attempt(attempt, &Outcome::Done, UnixMillis(3)).unwrap();
    }
    store.finish_run(run).unwrap();
}

fn seconds(item: &PlanItem, commits: u32) -> f64 {
    let level = match 10 * item.subject.0 / commits {
        0..3 => 1.0,
        3..7 => 1.1,
        _ => 1.06,
    };
    let noise = (item.subject.0.wrapping_mul(2_654_435_761) >> 16) % 1000 + item.block * 7;
    level * (1.0 + 0.01 * f64::from(noise) / 1000.0)
}

fn id(position: u32) -> String {
    format!("{:08x}{position:032x}", position.wrapping_mul(2_654_435_761))
}

fn settings(repository: &Path, commits: u32, command: &str, tasks: u32) -> Settings {
    let commit = |position| CommitInfo {
        id: id(position),
        tree: id(position),
        committed_s: 1_700_000_000 + i64::from(position) * 3600,
        author: "A. Uthor".to_owned(),
        subject: format!("commit {position}"),
        ..CommitInfo::default()
    };
    let recipe = Recipe {
        command: Vec::new(),
        environment: Vec::new(),
        limit_s: 1800,
        kept: Vec::new(),
        is_clean: false,
        ..Recipe::default()
    };
    let measured = MeasuredLine {
        measure: LineMeasure::Timed {
            quantity: faultline_record::quantity::Quantity::Time,
            settings: TimedSettings::pinned(PinPolicy::Each),
        },
        choice: None,
        // As in real runs: the directory of faultline.toml, and the path written in it.
        repository: repository.to_str().unwrap().to_owned(),
        forge: None,
        work: None,
        line: CommitLine { commits: (0..commits).map(commit).collect() },
        recipe,
        tools: BuildTools { digest: "1".to_owned(), versions: BTreeMap::new() },
        layout_kind: Default::default(),
        on: None,
        release_file: None,
        releases: Vec::new(),
        artefact: Artefact::Command(vec![command.to_owned()]),
    };
    let history = HistorySettings {
        measured,
        subject: "app".to_owned(),
        wanted: (0..commits).collect(),
        machine: "here".to_owned(),
        order: CommitOrder::Line,
        seeds_by_ends: false,
        layouts: 0,
    };
    let kind = RunKind::History(Box::new(history));
    Settings { cpus: vec![tasks], repeats: REPEATS, seed: 1, limit_ms: None, size: None, kind }
}

fn subject(position: u32, command: &str) -> Subject {
    let directory = Some(format!("/builds/{position}"));
    let setup = Setup { command: vec![command.to_owned()], directory, ..Setup::default() };
    Subject {
        commit: Some(Commit { id: id(position), repository: None }),
        build: Some(BuildResult::Built),
        ..Subject::on(id(position), Machine::Host, setup)
    }
}

fn item(ordinal: u32, commits: u32, tasks: u32) -> PlanItem {
    let case = Case { workload: "program".into(), variant: "given".into(), mode: TaskMode::Process };
    let subject = SubjectIndex(ordinal % commits);
    let cell = Cell { case, tasks };
    PlanItem { ordinal, block: ordinal / commits, subject, cell, timing: None, seed: None }
}

fn workload() -> WorkloadInfo {
    let variant = VariantInfo {
        name: "given".into(),
        modes: vec![TaskMode::Process],
        text: "a command".to_owned(),
        lens_operations: None,
    };
    WorkloadInfo {
        name: "program".to_owned(),
        summary: "a command".into(),
        operation: "run".into(),
        unit: "s".into(),
        direction: Direction::Lower,
        style: Style::Once,
        window_ms: 0,
        size: None,
        size_ranges: Vec::new(),
        variants: vec![variant],
        lens_operations: None,
        suites: Vec::new(),
        roles: Vec::new(),
        optional_roles: Vec::new(),
    }
}
