//! Conclusions of finished runs: kept for one version of the method, until the record changes.

use crate::place::{TestDatabase, each};
use faultline_record::cell::{Case, Cell, TaskMode};
use faultline_record::facts::Facts;
use faultline_record::journal::Journal;
use faultline_record::machine::Machine;
use faultline_record::outcome::Outcome;
use faultline_record::plan::{PinPolicy, PlanItem, RunKind, Settings, TimedSettings};
use faultline_record::record::{RunId, RunState, Session};
use faultline_record::subject::{Subject, SubjectIndex};
use faultline_record::time::UnixMillis;
use faultline_stats::summary::{Progress, RunSummary};
use faultline_store::{NewRun, Store};
use std::time::{Duration, Instant};

fn session() -> Session {
    Session { started: UnixMillis(1), facts: vec![Facts::default()] }
}

/// A run of two items, one of them done.
fn begun(place: &TestDatabase) -> (Store, RunId) {
    let mut store = place.store();
    let case = Case { workload: "load".into(), variant: "base".into(), mode: TaskMode::Process };
    let cell = Cell { case, tasks: 1 };
    let item = |ordinal| PlanItem {
        ordinal,
        block: 0,
        subject: SubjectIndex::A,
        cell: cell.clone(),
        timing: None,
        seed: None,
    };
    let kind = RunKind::Timed(TimedSettings::pinned(PinPolicy::Each));
    let settings = Settings { cpus: vec![1], repeats: 1, seed: 7, limit_ms: None, size: None, kind };
    let subjects = [Subject::as_is(Machine::Host)];
    let plan = [item(0), item(1)];
    let new = NewRun {
        label: None,
        settings: &settings,
        subjects: &subjects,
        workloads: &[],
        plan: &plan,
        session: &session(),
    };
    let run = store.begin_run(&new).unwrap();
    attempt(&mut store, run, 0);
    (store, run)
}

fn attempt(store: &mut Store, run: RunId, ordinal: u32) {
    let mut journal = store.journal(run);
    let id = journal.begin_attempt(ordinal, UnixMillis(2)).unwrap();
    journal.end_attempt(id, &Outcome::Done, UnixMillis(3)).unwrap();
}

fn finished(place: &TestDatabase) -> (Store, RunId) {
    let (mut store, run) = begun(place);
    store.finish_run(run).unwrap();
    store.save_conclusion(run, 3, &summary(run)).unwrap();
    assert_eq!(kept(&store, run), Some(summary(run)));
    (store, run)
}

fn summary(run: RunId) -> RunSummary {
    RunSummary {
        format: RunSummary::FORMAT.to_owned(),
        run,
        label: Some("one third".to_owned()),
        started: UnixMillis(1),
        state: RunState::Finished,
        machine: "m".to_owned(),
        progress: Progress { planned: 2, done: 1, ..Progress::default() },
        curves: Vec::new(),
        warnings: Vec::new(),
        command: None,
        lens: None,
    }
}

fn kept(store: &Store, run: RunId) -> Option<RunSummary> {
    store.load_conclusion(run, 3).unwrap()
}

#[test]
fn of_another_version_there_is_none_and_a_new_one_takes_its_place() {
    each(|place| {
        let (mut store, run) = finished(place);
        assert_eq!(store.load_conclusion::<RunSummary>(run, 2).unwrap(), None);
        store.save_conclusion(run, 4, &summary(run)).unwrap();
        assert_eq!(kept(&store, run), None);
        assert_eq!(store.load_conclusion(run, 4).unwrap(), Some(summary(run)));
    });
}

#[test]
fn an_open_run_has_none() {
    each(|place| {
        let (mut store, run) = begun(place);
        store.save_conclusion(run, 3, &summary(run)).unwrap();
        assert_eq!(kept(&store, run), None);
    });
}

#[test]
fn whatever_changes_the_record_drops_it() {
    let changes: [fn(&mut Store, RunId); 4] = [
        |store, run| store.resume_run(run, &session()).unwrap(),
        |store, run| attempt(store, run, 1),
        |store, run| store.skip_items(run, &[1]).unwrap(),
        |store, run| store.save_explained(run, &[]).unwrap(),
    ];
    each(|place| {
        let (mut store, run) = finished(place);
        for (change, number) in changes.into_iter().zip(0..) {
            store.finish_run(run).unwrap();
            store.save_conclusion(run, 3, &summary(run)).unwrap();
            assert!(kept(&store, run).is_some());
            change(&mut store, run);
            assert_eq!(kept(&store, run), None, "change {number}");
        }
        store.save_conclusion(run, 3, &summary(run)).unwrap();
        store.save_explained(run, &[]).unwrap();
        assert_eq!(kept(&store, run), None, "also if something was explained before");
    });
}

#[test]
fn what_cannot_be_read_any_more_counts_as_none() {
    each(|place| {
        let (store, run) = finished(place);
        place.sql("UPDATE conclusion SET json = '{\"format\": 1}'");
        assert_eq!(kept(&store, run), None);
    });
}

#[test]
fn no_other_client_is_waited_for() {
    /// Far below the time limit of writes.
    const SOON: Duration = Duration::from_secs(5);
    each(|place| {
        let (mut store, run) = finished(place);
        let refused = |store: &mut Store| {
            let begun = Instant::now();
            let problem = store.save_conclusion(run, 4, &summary(run)).unwrap_err().problem;
            assert!(problem.ends_with("keeps it locked"), "{problem}");
            assert!(begun.elapsed() < SOON, "it waited");
        };
        if place.is_file() {
            let other = place.sqlite();
            other.execute_batch("BEGIN IMMEDIATE").unwrap();
            refused(&mut store);
        } else {
            let mut other = place.postgres();
            other.batch_execute("BEGIN; UPDATE conclusion SET method = 5").unwrap();
            refused(&mut store);
            // The end of a session alone does not wait until the server has undone it.
            other.batch_execute("ROLLBACK").unwrap();
        }
        assert_eq!(kept(&store, run), Some(summary(run)), "the one that was kept is still there");
        store.save_conclusion(run, 4, &summary(run)).unwrap();
    });
}
