//! A database for tests: two runs, and histories with a step, failures, hostile texts, and more
//! commits than are sent one by one.

use faultline_record::artefact::Artefact;
use faultline_record::cell::{Case, Cell, TaskMode};
use faultline_record::commit::{CommitInfo, CommitLine, FilesNamed};
use faultline_record::describe::{Style, VariantInfo, WorkloadInfo};
use faultline_record::direction::Direction;
use faultline_record::facts::Facts;
use faultline_record::journal::{AttemptId, Journal};
use faultline_record::machine::Machine;
use faultline_record::outcome::Outcome;
use faultline_record::plan::{
    CommitOrder, HistorySettings, LineMeasure, MeasuredLine, PinPolicy, PlanItem, RunKind, Settings, TimedSettings,
    Timing,
};
use faultline_record::protocol::{Event, Interval, Measure};
use faultline_record::quantity::Quantity;
use faultline_record::recipe::{BuildTools, Recipe};
use faultline_record::record::{RunId, Session};
use faultline_record::setup::Setup;
use faultline_record::subject::{BuildResult, Commit, Subject, SubjectIndex};
use faultline_record::time::UnixMillis;
use faultline_store::{NewRun, Store};
use std::collections::BTreeMap;
use std::path::Path;

/// Text that executes if any of it is interpreted as markup.
pub const HOSTILE: &str = "</script><img src=x onerror=alert(1)>\" onmouseover='alert(2)' {{7*7}} \u{202e}\u{0}";

/// Commits of the long history, more than are sent one by one.
pub const LONG: usize = 6000;

/// The commit of `app` at which it becomes slower.
pub const STEP: usize = 70;

/// The commit of `turning` at which it becomes slower, on the second page of its run.
pub const TURN: usize = 1050;

/// The first commit of `moved` whose newest results are of another kernel.
pub const MOVED: usize = 30;

/// The commit of `moved` at which the program becomes slower, near its end.
pub const LATE: usize = 74;

/// Time of the runs and the first commit: 2027-01-15.
const THEN_S: i64 = 1_800_000_000;

/// Creates the database. Runs 1 and 2 measured `zero_fill`; 3 and 4 the history `app` with one and
/// four tasks; 5 a hostile one; 6, if requested, a long one.
pub fn fill(path: &Path, is_long: bool) {
    let mut store = Store::open_or_create(path).unwrap();
    timed(&mut store, Some("baseline"), 1000);
    timed(&mut store, Some(HOSTILE), 1300);
    for tasks in [1, 4] {
        let level = move |at: usize| if at < STEP { 1.0 } else { 1.2 + 0.1 * f64::from(tasks) };
        history(&mut store, "app", tasks, (120, 6), |at, block| match at {
            30 => None,
            50 => Some(Err(Outcome::TimedOut { limit_ms: 1000 })),
            _ => Some(Ok(level(at) * noise(at, block))),
        });
    }
    history(&mut store, HOSTILE, 1, (14, 2), |at, block| Some(Ok(2.0 * noise(at, block))));
    if is_long {
        history(&mut store, "long", 1, (LONG, 1), |at, block| {
            let spike = if at == 4321 { 9.0 } else { 1.0 };
            Some(Ok(spike * noise(at, block)))
        });
    }
}

/// Adds the history `moved`, measured under one kernel and then under another, slower one. Some
/// commits were not tried.
pub fn add_moved(path: &Path) {
    let mut store = Store::open_or_create(path).unwrap();
    let part = |kernel, tried: Vec<usize>| FilledPart {
        line: 80,
        tried,
        repeats: 6,
        build: &[],
        program: PROGRAM,
        kernel,
        host: HOST,
        is_finished: true,
    };
    part_of_history(&mut store, "moved", 1, &part("6.1.0", (0..40).collect()), |at, block| Some(Ok(noise(at, block))));
    let further = (MOVED..60).chain(65..80).collect();
    part_of_history(&mut store, "moved", 1, &part("6.12.0", further), |at, block| {
        let level = if at < LATE { 1.2 } else { 1.5 };
        Some(Ok(level * noise(at, block)))
    });
}

/// Adds the history `mended`: a step for the worse, which a later one takes back.
pub fn add_mended(path: &Path) {
    let mut store = Store::open_or_create(path).unwrap();
    history(&mut store, "mended", 1, (60, 6), |at, block| {
        let level = if (20..40).contains(&at) { 1.3 } else { 1.0 };
        Some(Ok(level * noise(at, block)))
    });
}

/// Adds the history `other` of 2,000 commits, of which the 1,234th is slow.
pub fn add_other_long(path: &Path) {
    let mut store = Store::open_or_create(path).unwrap();
    history(&mut store, "other", 1, (2000, 1), |at, block| {
        let spike = if at == 1234 { 7.0 } else { 1.0 };
        Some(Ok(spike * noise(at, block)))
    });
}

/// Adds the history `turning` of 1,100 commits, which becomes slower at one of the last.
pub fn add_turning(path: &Path) {
    let mut store = Store::open_or_create(path).unwrap();
    history(&mut store, "turning", 1, (1100, 1), |at, block| {
        Some(Ok(if at < TURN { 1.0 } else { 1.3 } * noise(at, block)))
    });
}

/// Adds the history `growing` with an unfinished run.
pub fn add_growing(path: &Path) {
    let mut store = Store::open_or_create(path).unwrap();
    let part = FilledPart {
        line: 20,
        tried: (0..12).collect(),
        repeats: 2,
        build: &[],
        program: PROGRAM,
        kernel: KERNEL,
        host: HOST,
        is_finished: false,
    };
    part_of_history(&mut store, "growing", 1, &part, |at, block| Some(Ok(noise(at, block))));
}

/// Adds the history `rebuilt`, of which the newer half was also measured with another build command
/// that makes it twice as fast.
pub fn add_rebuilt(path: &Path) {
    let mut store = Store::open_or_create(path).unwrap();
    for (build, tried, level) in [(&["make"][..], 0..20, 2.0), (&["make", "CFLAGS=-O3"][..], 10..20, 1.0)] {
        let tried = tried.collect();
        let part = FilledPart {
            line: 20,
            tried,
            repeats: 2,
            build,
            program: PROGRAM,
            kernel: KERNEL,
            host: HOST,
            is_finished: true,
        };
        part_of_history(&mut store, "rebuilt", 1, &part, |at, block| Some(Ok(level * noise(at, block))));
    }
}

/// Adds the history `foreign`, of another program.
pub fn add_foreign(path: &Path) {
    let mut store = Store::open_or_create(path).unwrap();
    let part = FilledPart {
        line: 20,
        tried: (0..12).collect(),
        repeats: 2,
        build: &[],
        program: "./other",
        kernel: KERNEL,
        host: HOST,
        is_finished: true,
    };
    part_of_history(&mut store, "foreign", 1, &part, |at, block| Some(Ok(5.0 * noise(at, block))));
}

/// Adds the console of an execution.
pub fn add_console(path: &Path, execution: i64, text: &str) {
    let mut store = Store::open_existing(path).unwrap();
    store.journal(RunId(1)).record_console(AttemptId(execution), text).unwrap();
}

/// Adds the history `shared`, measured by two hosts, one of them half as fast.
pub fn add_shared(path: &Path) {
    let mut store = Store::open_or_create(path).unwrap();
    for (host, level) in [("fast", 1.0), ("slow", 2.0)] {
        let part = FilledPart {
            line: 14,
            tried: (0..14).collect(),
            repeats: 2,
            build: &[],
            program: PROGRAM,
            kernel: KERNEL,
            host,
            is_finished: true,
        };
        part_of_history(&mut store, "shared", 1, &part, |at, block| Some(Ok(level * noise(at, block))));
    }
}

/// A number near 1, determined by the place.
pub fn noise(at: usize, block: u32) -> f64 {
    let mixed = (at as u64 * 7919 + u64::from(block) * 104_729 + 17).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    1.0 + 0.004 * (mixed as f64 / f64::from(1 << 24) - 0.5)
}

pub fn session() -> Session {
    session_of(HOST, KERNEL)
}

fn session_of(host: &str, kernel: &str) -> Session {
    let mut facts = Facts::default();
    facts.text("host.name", host);
    facts.text("kernel.release", kernel);
    facts.text("cpu.model", HOSTILE);
    facts.count("cpu.logical", 8);
    facts.count("cpu.usable", 8);
    Session { started: UnixMillis(THEN_S * 1000), facts: vec![facts] }
}

pub fn settings(cpus: &[u32], repeats: u32, kind: RunKind) -> Settings {
    Settings { cpus: cpus.to_vec(), repeats, seed: 7, limit_ms: None, size: None, kind }
}

pub fn timed_settings() -> TimedSettings {
    TimedSettings::pinned(PinPolicy::Each)
}

pub fn workload(name: &str, style: Style) -> WorkloadInfo {
    let is_loop = style == Style::Loop;
    WorkloadInfo {
        name: name.to_owned(),
        summary: "does something".to_owned(),
        operation: "turn".to_owned(),
        unit: if is_loop { "turn/s" } else { "s" }.to_owned(),
        direction: if is_loop { Direction::Higher } else { Direction::Lower },
        style,
        window_ms: 300,
        size: None,
        size_ranges: Vec::new(),
        variants: vec![VariantInfo {
            name: "base".into(),
            modes: vec![TaskMode::Process],
            text: "as it is".into(),
            lens_operations: None,
        }],
        lens_operations: None,
        suites: Vec::new(),
        roles: Vec::new(),
        optional_roles: Vec::new(),
    }
}

pub fn item(ordinal: u32, block: u32, subject: u32, cell: (&str, u32), timing: Option<Timing>) -> PlanItem {
    let case = Case { workload: cell.0.into(), variant: "base".into(), mode: TaskMode::Process };
    PlanItem { ordinal, block, subject: SubjectIndex(subject), cell: Cell { case, tasks: cell.1 }, timing, seed: None }
}

/// A run of a loop at 1, 2 and 4 tasks, six times each.
fn timed(store: &mut Store, label: Option<&str>, operations: u64) {
    let timing = Some(Timing { warmup_ms: 0, window_ms: 300, interval_ms: 100 });
    let cells = (0..6).flat_map(|block| [1, 2, 4].map(|tasks| (block, tasks)));
    let plan: Vec<PlanItem> = (0..)
        .zip(cells)
        .map(|(ordinal, (block, tasks))| item(ordinal, block, 0, ("zero_fill", tasks), timing))
        .collect();
    let run = store
        .begin_run(&NewRun {
            label,
            settings: &settings(&[1, 2, 4], 6, RunKind::Timed(timed_settings())),
            subjects: &[Subject::as_is(Machine::Host)],
            workloads: &[workload("zero_fill", Style::Loop)],
            plan: &plan,
            session: &session(),
        })
        .unwrap();
    for item in &plan {
        let rate =
            operations as f64 * noise(item.ordinal as usize, item.block) * 0.9_f64.powf(f64::from(item.cell.tasks));
        let interval = |number: u64| {
            Event::Window(Interval {
                from_ns: number * 100_000_000,
                to_ns: (number + 1) * 100_000_000,
                operations: vec![rate as u64 + number; item.cell.tasks as usize],
            })
        };
        execution(store, run, item.ordinal, (0..3).map(interval), Outcome::Done);
    }
    store.finish_run(run).unwrap();
}

pub fn execution(
    store: &mut Store,
    run: RunId,
    ordinal: u32,
    events: impl IntoIterator<Item = Event>,
    outcome: Outcome,
) {
    let at = UnixMillis(THEN_S * 1000 + i64::from(ordinal));
    let mut journal = store.journal(run);
    let attempt = journal.begin_attempt(ordinal, at).unwrap();
    events.into_iter().for_each(|event| journal.record(attempt, &event).unwrap());
    journal.end_attempt(attempt, &outcome, at).unwrap();
}

/// Begins a run of the history `growing`, whose first commit does not build.
pub fn begin_building(path: &Path) -> RunId {
    let line: Vec<CommitInfo> = (0..3).map(commit).collect();
    Store::open_existing(path)
        .unwrap()
        .begin_run(&NewRun {
            label: None,
            settings: &settings(&[1], 6, RunKind::History(Box::new(measured("growing", line)))),
            subjects: &[built(&commit(0), false)],
            workloads: &[workload("load", Style::Once)],
            plan: &[],
            session: &session(),
        })
        .unwrap()
}

/// Adds the run's second commit, which does not build either.
pub fn fail_a_further_build(path: &Path, run: RunId) {
    Store::open_existing(path).unwrap().extend_run(run, &[built(&commit(1), false)], &[]).unwrap();
}

/// Result of an execution of a commit: its seconds, or its outcome; `None` if the commit does not
/// build.
type Came = Option<Result<f64, Outcome>>;

/// The program of most histories.
const PROGRAM: &str = "./load";

/// The kernel of most runs.
const KERNEL: &str = "6.1.0";

/// The host of most runs.
const HOST: &str = "example";

/// Results of a run over a line of commits.
struct FilledPart {
    /// Number of commits.
    line: usize,
    /// Positions of the commits that it tried.
    tried: Vec<usize>,
    /// Number of executions of each.
    repeats: u32,
    /// Build command.
    build: &'static [&'static str],
    /// Measured program.
    program: &'static str,
    kernel: &'static str,
    host: &'static str,
    is_finished: bool,
}

/// A run that measured all commits equally often.
fn history(
    store: &mut Store,
    subject: &str,
    tasks: u32,
    (commits, repeats): (usize, u32),
    came: impl Fn(usize, u32) -> Came,
) {
    let part = FilledPart {
        line: commits,
        tried: (0..commits).collect(),
        repeats,
        build: &[],
        program: PROGRAM,
        kernel: KERNEL,
        host: HOST,
        is_finished: true,
    };
    part_of_history(store, subject, tasks, &part, came);
}

/// A run that measured some commits of a line.
fn part_of_history(
    store: &mut Store,
    subject: &str,
    tasks: u32,
    FilledPart { line, tried, repeats, build, program, kernel, host, is_finished }: &FilledPart,
    came: impl Fn(usize, u32) -> Came,
) {
    let line: Vec<CommitInfo> = (0..*line).map(commit).collect();
    let subjects: Vec<Subject> = tried.iter().map(|at| built(&line[*at], came(*at, 0).is_some())).collect();
    let blocks =
        (0..*repeats).flat_map(|block| tried.iter().enumerate().map(move |(subject, at)| (block, subject, *at)));
    // A commit that does not build is not executed; one that fails is executed once.
    let executed: Vec<(u32, usize, Result<f64, Outcome>)> = blocks
        .filter_map(|(block, subject, at)| Some((block, subject, came(at, block)?)))
        .filter(|(block, _, came)| *block == 0 || came.is_ok())
        .collect();
    let plan: Vec<PlanItem> = (0..)
        .zip(&executed)
        .map(|(ordinal, (block, subject, _))| item(ordinal, *block, *subject as u32, ("load", tasks), None))
        .collect();
    let mut measured =
        HistorySettings { wanted: tried.iter().map(|at| *at as u32).collect(), ..measured(subject, line) };
    measured.measured.artefact = Artefact::Command(vec![(*program).to_owned()]);
    measured.measured.recipe.command = build.iter().map(|word| word.to_string()).collect();
    let run = store
        .begin_run(&NewRun {
            label: None,
            settings: &settings(&[tasks], *repeats, RunKind::History(Box::new(measured))),
            subjects: &subjects,
            workloads: &[workload("load", Style::Once)],
            plan: &plan,
            session: &session_of(host, kernel),
        })
        .unwrap();
    for (ordinal, (_, _, came)) in (0..).zip(executed) {
        let measure = |value| {
            Event::Measure(Measure { name: "real_s".into(), unit: "s".into(), direction: Direction::Lower, value })
        };
        match came {
            Ok(seconds) => execution(store, run, ordinal, [measure(seconds)], Outcome::Done),
            Err(outcome) => execution(store, run, ordinal, [], outcome),
        }
    }
    if *is_finished {
        store.finish_run(run).unwrap();
    }
}

pub fn commit(at: usize) -> CommitInfo {
    let subject = if at.is_multiple_of(5) { format!("Commit {at}: {HOSTILE}") } else { format!("Commit {at}") };
    let most = if at.is_multiple_of(5) {
        vec!["src/load.c".to_owned(), HOSTILE.to_owned()]
    } else {
        vec!["src/load.c".to_owned()]
    };
    let files = FilesNamed { number: if at.is_multiple_of(5) { 7 } else { 1 }, most };
    CommitInfo {
        files: Some(files),
        id: format!("{:016x}{at:024x}", (at as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)),
        tree: format!("{at:040x}"),
        parents: Vec::new(),
        committed_s: THEN_S - 86_400 * 365 + at as i64 * 3600,
        author: "A. Uthor".to_owned(),
        subject,
    }
}

pub fn built(commit: &CommitInfo, is_built: bool) -> Subject {
    let failed = BuildResult::Failed { how: "it exited with status 2".to_owned(), output: HOSTILE.to_owned() };
    let setup = Setup { directory: is_built.then(|| format!("/builds/{}", commit.id)), ..Setup::default() };
    Subject {
        commit: Some(Commit { id: commit.id.clone(), repository: None }),
        build: Some(if is_built { BuildResult::Built } else { failed }),
        ..Subject::on(commit.id.clone(), Machine::Host, setup)
    }
}

pub fn measured(subject: &str, commits: Vec<CommitInfo>) -> HistorySettings {
    HistorySettings {
        wanted: (0..commits.len() as u32).collect(),
        measured: MeasuredLine {
            measure: LineMeasure::Timed { quantity: Quantity::Time, settings: timed_settings() },
            choice: None,
            repository: "/repository".to_owned(),
            forge: None,
            work: None,
            line: CommitLine { commits },
            recipe: Recipe {
                command: Vec::new(),
                environment: Vec::new(),
                limit_s: 1,
                kept: Vec::new(),
                is_clean: false,
                ..Recipe::default()
            },
            tools: BuildTools { digest: "1".to_owned(), versions: BTreeMap::new() },
            layout_kind: Default::default(),
            on: None,
            release_file: None,
            releases: Vec::new(),
            artefact: Artefact::Command(vec![PROGRAM.to_owned()]),
        },
        subject: subject.to_owned(),
        machine: "here".to_owned(),
        order: CommitOrder::Line,
        seeds_by_ends: false,
        layouts: 0,
    }
}
