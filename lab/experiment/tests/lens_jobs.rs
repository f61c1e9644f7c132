//! Lens runs on several machines at once, with a target whose machines wait for one another: equal
//! counts, each attempt saved.

use crate::counted::{Database, Sink, counted, lines, plan, report, session};
use faultline_record::outcome::{GuestFailure, Outcome};
use faultline_record::plan::PlanItem;
use faultline_record::record::RunRecord;
use faultline_runner::{Completion, Observer, RunProgress, Stage};
use faultline_targets::counting::{AtEnd, Counted, Counting};
use faultline_targets::{Ending, Execution, StopFlag};
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

/// No test takes this long unless something hangs.
const HANGS: Duration = Duration::from_secs(20);

/// The end of a machine, by the seed and the number of CPUs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Counts,
    /// Its kernel panics.
    Panics,
    /// Its workload says something that is not of the protocol.
    Babbles,
    /// The user stops the run meanwhile.
    IsStopped,
    /// It waits until it is stopped.
    Waits,
    /// Our own code fails.
    Bug,
}

type Fates = fn(u64, u32) -> Fate;

/// A target whose machines count when so many of them run at the same time.
struct Kernel {
    together: usize,
    fates: Fates,
    /// None of them ends before so many have done their work.
    meet_at_end: bool,
    state: Mutex<State>,
    changed: Condvar,
    /// The run's flag, which the user sets.
    stop: StopFlag,
}

#[derive(Default)]
struct State {
    running: usize,
    most: usize,
    waiting: usize,
    at_end: usize,
}

impl Kernel {
    fn new(together: usize, fates: Fates) -> Self {
        Kernel {
            together,
            fates,
            meet_at_end: false,
            state: Mutex::default(),
            changed: Condvar::new(),
            stop: StopFlag::default(),
        }
    }

    /// Waits until it is true, or fails.
    fn await_that(&self, mut is_true: impl FnMut(&State) -> bool) {
        let state = self.state.lock().unwrap();
        let (state, timeout) = self.changed.wait_timeout_while(state, HANGS, |state| !is_true(state)).unwrap();
        drop(state);
        assert!(!timeout.timed_out(), "the machines do not run at the same time");
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock().unwrap());
        self.changed.notify_all();
    }

    fn run(&self, tasks: u32, seed: u64, sink: &mut Sink<'_>, stop: &StopFlag) -> Counted {
        self.await_that(|state| state.most >= self.together);
        let failed = |ending| Counted { ending, console: None, report: Err("no report".to_owned()), seed: None };
        match (self.fates)(seed, tasks) {
            Fate::Counts => {}
            Fate::Panics => {
                let (failure, text) = (GuestFailure::Panicked, "it panicked".to_owned());
                return failed(Ending::GuestFailed { failure, text, console: String::new() });
            }
            Fate::Babbles => {
                assert!(sink(b"babble").is_break());
                return failed(Ending::Refused);
            }
            Fate::IsStopped => {
                self.await_that(|state| state.waiting + 1 == self.together);
                self.stop.set();
                return failed(await_stop(stop));
            }
            Fate::Waits => {
                self.change(|state| state.waiting += 1);
                return failed(await_stop(stop));
            }
            Fate::Bug => panic!("a bug"),
        }
        if lines(tasks).lines().any(|line| sink(line.as_bytes()).is_break()) {
            return failed(Ending::Refused);
        }
        if self.meet_at_end {
            self.change(|state| state.at_end += 1);
            self.await_that(|state| state.at_end >= self.together);
        }
        let ending = Ending::Exited { status: 0, stderr: String::new() };
        Counted {
            ending,
            console: None,
            report: Ok(report(tasks, 1000 + seed * 10 + u64::from(tasks))),
            seed: Some(seed),
        }
    }
}

fn await_stop(stop: &StopFlag) -> Ending {
    let began = Instant::now();
    while !stop.is_set() {
        assert!(began.elapsed() < HANGS, "it is not stopped");
        std::thread::sleep(Duration::from_millis(1));
    }
    Ending::Stopped
}

impl Counting for Kernel {
    fn count(
        &self,
        _: &Execution,
        tasks: u32,
        seed: Option<u64>,
        _: &AtEnd<'_>,
        sink: &mut Sink<'_>,
        stop: &StopFlag,
    ) -> Counted {
        self.change(|state| {
            state.running += 1;
            state.most = state.most.max(state.running);
        });
        let counted = self.run(tasks, seed.unwrap(), sink, stop);
        self.change(|state| state.running -= 1);
        counted
    }
}

fn jobs(number: usize) -> NonZeroUsize {
    NonZeroUsize::new(number).unwrap()
}

/// A run of four blocks at 1, 2 and 4 CPUs, so many at the same time.
fn run(kernel: &Kernel, number: usize) -> (Completion, RunRecord, Database) {
    let database = Database::new();
    let id = database.begin(&plan(1, 4));
    let completion = database.go_on_with(id, kernel, jobs(number), &kernel.stop);
    let record = database.open().load_run(id).unwrap();
    (completion, record, database)
}

fn outcomes(record: &RunRecord, which: impl Fn(&Outcome) -> bool) -> usize {
    record.attempts.iter().filter(|attempt| attempt.outcome.as_ref().is_some_and(&which)).count()
}

#[test]
fn what_is_counted_is_the_same_for_any_number_of_machines() {
    let all = |_, _| Fate::Counts;
    let one = run(&Kernel::new(1, all), 1).1;
    assert_eq!(counted(&one).len(), 12);
    for number in [2, 3, 5, 12, 100] {
        let kernel = Kernel::new(number.min(12), all);
        let (completion, several, _database) = run(&kernel, number);
        assert_eq!(completion, Completion::Finished);
        assert_eq!(counted(&several), counted(&one), "{number} at the same time");
        assert_eq!(several.attempts.len(), 12);
        assert_eq!(kernel.state.lock().unwrap().most, number.min(12));
    }
}

#[test]
fn a_machine_that_fails_takes_no_other_with_it() {
    let kernel = Kernel::new(3, |seed, tasks| match (seed, tasks) {
        (2, 1) => Fate::Panics,
        (3, 4) => Fate::Babbles,
        _ => Fate::Counts,
    });
    let (completion, record, _database) = run(&kernel, 3);
    assert_eq!(completion, Completion::Finished);
    assert_eq!(outcomes(&record, |outcome| *outcome == Outcome::Done), 10);
    assert_eq!(outcomes(&record, |outcome| matches!(outcome, Outcome::GuestFailed { .. })), 1);
    assert_eq!(outcomes(&record, |outcome| matches!(outcome, Outcome::Rubbish { .. })), 1);
}

#[test]
fn a_stop_ends_all_machines_keeps_what_has_ended_and_the_rest_is_resumed() {
    let whole = counted(&run(&Kernel::new(1, |_, _| Fate::Counts), 1).1);
    // The machines of the second block wait, the last of them until the run is stopped.
    let kernel = Kernel::new(3, |seed, tasks| match (seed, tasks) {
        (1, _) => Fate::Counts,
        (2, 4) => Fate::IsStopped,
        _ => Fate::Waits,
    });
    let (completion, record, database) = run(&kernel, 3);
    assert_eq!(completion, Completion::Stopped);
    assert_eq!(kernel.state.lock().unwrap().running, 0);
    assert_eq!(outcomes(&record, |outcome| *outcome == Outcome::Done), 3);
    assert_eq!(outcomes(&record, |outcome| *outcome == Outcome::Interrupted), 3);
    assert_eq!(record.attempts.len(), 6, "nothing begins after a stop");
    database.open().resume_run(record.head.id, &session()).unwrap();
    let rest = Kernel::new(2, |_, _| Fate::Counts);
    assert_eq!(database.go_on_with(record.head.id, &rest, jobs(2), &rest.stop), Completion::Finished);
    assert_eq!(counted(&database.open().load_run(record.head.id).unwrap()), whole);
}

#[test]
fn nothing_of_one_attempt_gets_into_what_is_saved_with_another() {
    // All of them are at their end before the first one is closed.
    let kernel = Kernel { meet_at_end: true, ..Kernel::new(12, |_, _| Fate::Counts) };
    let (_, record, _database) = run(&kernel, 12);
    assert!(record.attempts.iter().all(|attempt| attempt.window.len() == 1 && attempt.reading.is_some()));
}

#[test]
fn a_bug_in_one_thread_ends_the_others_and_is_not_hidden() {
    let kernel = Kernel::new(3, |_, tasks| if tasks == 2 { Fate::Bug } else { Fate::Waits });
    let panicked = catch_unwind(AssertUnwindSafe(|| run(&kernel, 3)));
    assert!(panicked.is_err());
    assert_eq!(kernel.state.lock().unwrap().running, 1, "all but the one with the bug are told to stop");
}

/// Notes the stages of each item.
#[derive(Default)]
struct Stages(BTreeMap<u32, Vec<Stage>>);

impl Observer for Stages {
    fn item_begins(&mut self, _: &PlanItem, _: &RunProgress) {}
    fn interval(&mut self, _: &PlanItem, _: f64) {}
    fn item_ends(&mut self, _: &PlanItem, _: &Outcome, _: Option<f64>, _: &RunProgress) {}

    fn stage(&mut self, item: &PlanItem, stage: Stage) {
        self.0.entry(item.ordinal).or_default().push(stage);
    }
}

#[test]
fn each_machine_says_where_it_is() {
    let (database, kernel) = (Database::new(), Kernel::new(3, |_, _| Fate::Counts));
    let id = database.begin(&plan(1, 1));
    let mut stages = Stages::default();
    assert_eq!(database.observed(id, &kernel, jobs(3), &kernel.stop, &mut stages), Completion::Finished);
    let all = vec![Stage::Boot, Stage::WarmUp, Stage::Region, Stage::End];
    assert_eq!(stages.0.into_values().collect::<Vec<_>>(), vec![all; 3]);
}
