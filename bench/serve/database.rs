//! A database with one history of 5,000 commits and a million samples, made through the store from
//! a fixed seed.

use crate::filled::{built, commit, execution, item, measured, noise, session, settings, workload};
use faultline_record::describe::Style;
use faultline_record::outcome::Outcome;
use faultline_record::plan::{PlanItem, RunKind, Timing};
use faultline_record::protocol::{Event, Interval};
use faultline_record::subject::Subject;
use faultline_store::{NewRun, Store};
use std::path::{Path, PathBuf};

pub const COMMITS: usize = 5000;
/// Executions of each commit, and samples of each.
const REPEATS: u32 = 10;
const SAMPLES: u64 = 20;
/// Commits with a step, and the relative change of the rate.
const STEPS: [(usize, f64); 5] = [(700, -0.04), (1650, 0.06), (2400, -0.10), (3300, 0.03), (4480, -0.05)];
/// Version of the generated content.
const VERSION: u32 = 1;
const SUBJECT: &str = "large";

/// The database; created if it does not exist, which takes a minute or two.
pub fn made(directory: &Path) -> PathBuf {
    let path = directory.join(format!("large-{VERSION}.sqlite"));
    if !path.exists() {
        eprintln!("making {} once", path.display());
        let part = directory.join("part.sqlite");
        let _ = std::fs::remove_file(&part);
        make(&mut Store::open_or_create(&part).expect("the database can be made"));
        std::fs::rename(&part, &path).expect("the database can be renamed");
    }
    path
}

fn make(store: &mut Store) {
    let line: Vec<_> = (0..COMMITS).map(commit).collect();
    let subjects: Vec<Subject> = line.iter().map(|commit| built(commit, true)).collect();
    let timing = Some(Timing { warmup_ms: 0, window_ms: 2000, interval_ms: 100 });
    let cells = (0..REPEATS).flat_map(|block| (0..COMMITS as u32).map(move |at| (block, at)));
    let plan: Vec<PlanItem> =
        (0..).zip(cells).map(|(ordinal, (block, at))| item(ordinal, block, at, ("load", 1), timing)).collect();
    let new = NewRun {
        label: None,
        settings: &settings(&[1], REPEATS, RunKind::History(Box::new(measured(SUBJECT, line)))),
        subjects: &subjects,
        workloads: &[workload("load", Style::Loop)],
        plan: &plan,
        session: &session(),
    };
    let run = store.begin_run(&new).expect("the run can be saved");
    for item in &plan {
        let at = item.subject.at();
        let level: f64 = STEPS.iter().filter(|step| step.0 <= at).map(|step| 1.0 + step.1).product();
        let rate = 1e6 * level * noise(at, item.block);
        let sample = |number: u64| {
            let operations = vec![(rate * noise(at, number as u32 + 1000)) as u64];
            Event::Window(Interval { from_ns: number * 100_000_000, to_ns: (number + 1) * 100_000_000, operations })
        };
        execution(store, run, item.ordinal, (0..SAMPLES).map(sample), Outcome::Done);
    }
    store.finish_run(run).expect("the run can be saved");
}
