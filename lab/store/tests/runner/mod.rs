//! A runner that saves made-up samples, and remembers what the store acknowledged.

use faultline_record::cell::{Case, Cell, TaskMode};
use faultline_record::facts::Facts;
use faultline_record::journal::{AttemptId, Journal};
use faultline_record::machine::Machine;
use faultline_record::outcome::Outcome;
use faultline_record::plan::{PinPolicy, PlanItem, RunKind, Settings, TimedSettings};
use faultline_record::protocol::{Event, Interval};
use faultline_record::record::{RunId, RunRecord, Session};
use faultline_record::subject::{Subject, SubjectIndex};
use faultline_record::time::UnixMillis;
use faultline_store::{NewRun, Store};

/// Settings of a timed run.
pub fn settings() -> Settings {
    let kind = RunKind::Timed(TimedSettings::pinned(PinPolicy::Each));
    Settings { cpus: vec![1], repeats: 1, seed: 7, limit_ms: None, size: None, kind }
}

/// A session without facts.
pub fn session() -> Session {
    Session { started: UnixMillis(1), facts: vec![Facts::default()] }
}

/// Begins a run with `items` items.
pub fn begin(store: &mut Store, items: u32) -> RunId {
    let case = Case { workload: "load".into(), variant: "base".into(), mode: TaskMode::Process };
    let item = |ordinal| PlanItem {
        ordinal,
        block: ordinal,
        subject: SubjectIndex::A,
        cell: Cell { case: case.clone(), tasks: 1 },
        timing: None,
        seed: None,
    };
    let plan: Vec<PlanItem> = (0..items).map(item).collect();
    let (settings, subjects, session) = (settings(), [Subject::as_is(Machine::Host)], session());
    let new = NewRun {
        label: None,
        settings: &settings,
        subjects: &subjects,
        workloads: &[],
        plan: &plan,
        session: &session,
    };
    store.begin_run(&new).unwrap()
}

/// Data that the store acknowledged.
#[derive(Debug, Default)]
pub struct Acknowledged {
    /// Attempts with their number of intervals, and true if they ended.
    pub attempts: Vec<(AttemptId, u64, bool)>,
}

/// The interval with a number.
fn interval(number: u64) -> Interval {
    Interval { from_ns: number, to_ns: number + 1, operations: vec![number; 3] }
}

/// Attempts each item with `intervals` intervals, until a write fails.
pub fn measure(
    store: &mut Store,
    run: RunId,
    items: u32,
    intervals: u64,
    acknowledged: &mut Acknowledged,
) -> Option<String> {
    let mut one = |ordinal: u32| {
        let mut journal = store.journal(run);
        let id = journal.begin_attempt(ordinal, UnixMillis(2))?;
        acknowledged.attempts.push((id, 0, false));
        let own = acknowledged.attempts.last_mut().unwrap();
        for number in 0..intervals {
            journal.record(id, &Event::Window(interval(number)))?;
            own.1 = number + 1;
        }
        journal.record(id, &Event::End(1))?;
        journal.record(id, &Event::Counter("vmstat.pgfault".into(), 5))?;
        journal.end_attempt(id, &Outcome::Done, UnixMillis(3))?;
        own.2 = true;
        Ok::<(), faultline_record::journal::JournalError>(())
    };
    (0..items).find_map(|ordinal| one(ordinal).err()).map(|error| error.problem)
}

/// Asserts that the record has all acknowledged attempts, intervals in order, and outcomes.
pub fn assert_holds(record: &RunRecord, acknowledged: &Acknowledged) {
    for &(id, intervals, closed) in &acknowledged.attempts {
        let attempt = record.attempts.iter().find(|attempt| attempt.id == id).expect("the attempt is there");
        assert!(attempt.window.len() as u64 >= intervals, "{} of {intervals} intervals", attempt.window.len());
        assert!(attempt.window.iter().zip(0..).all(|(saved, number)| *saved == interval(number)));
        if closed {
            assert_eq!((&attempt.outcome, attempt.counters.len()), (&Some(Outcome::Done), 1));
        }
    }
}
