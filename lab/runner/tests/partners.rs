//! Partners next to a measured execution, on targets that are functions: the order of starts and
//! ends, and the records if a partner fails.

use faultline_record::describe::{self, WorkloadInfo};
use faultline_record::facts::Facts;
use faultline_record::journal::{AttemptId, Journal, JournalError};
use faultline_record::lens::reading::Reading;
use faultline_record::machine::Machine;
use faultline_record::outcome::{GuestFailure, Outcome};
use faultline_record::plan::PlanItem;
use faultline_record::protocol::Event;
use faultline_record::subject::Subject;
use faultline_record::time::UnixMillis;
use faultline_runner::{
    Completion, Observer, PlannedRun, Request, RunProgress, SubjectTargets, SystemClock, Targets, plan, run,
};
use faultline_targets::{Ending, Execution, StopFlag, Target, TargetError};
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Longer than any test takes unless something hangs.
const HANGS: Duration = Duration::from_secs(20);

/// One execution on a [`Machinery`].
struct Call<'a, 'b> {
    execution: &'a Execution,
    sink: &'a mut (dyn FnMut(&[u8]) -> ControlFlow<()> + 'b),
    stop: &'a StopFlag,
}

impl Call<'_, '_> {
    fn option(&self, name: &str) -> &str {
        let words = &self.execution.arguments;
        words.iter().position(|word| word == name).map_or("", |at| &words[at + 1])
    }

    fn say(&mut self, text: &str) -> ControlFlow<()> {
        text.lines().try_for_each(|line| (self.sink)(line.as_bytes()))
    }

    fn become_ready(&mut self) {
        let (variant, mode, tasks) = (self.option("--variant"), self.option("--mode"), self.option("--tasks"));
        let header = format!(
            "faultline-workload 1 {}\noperation turn\nunit turn/s\ndirection higher\nvariant {variant}\nmode {mode}\ntasks {tasks}\nready 1",
            self.execution.workload
        );
        assert!(self.say(&header).is_continue());
    }

    /// One window of one interval.
    fn measure(&mut self) -> Ending {
        self.become_ready();
        assert!(self.say("begin 2\ninterval 2 10000002 100\nend 10000003\ndone").is_continue());
        exited(0)
    }

    /// The execution of a program that does not end by itself.
    fn wait(&self) -> Ending {
        let began = Instant::now();
        while began.elapsed() < self.execution.limit {
            if self.stop.is_set() {
                return Ending::Stopped;
            }
            sleep(Duration::from_millis(1));
        }
        Ending::TimedOut
    }
}

/// The usual execution of a partner.
fn serve(mut call: Call<'_, '_>) -> Ending {
    call.become_ready();
    call.wait()
}

/// A way in which a partner fails.
type Fails = fn(&mut Call<'_, '_>) -> Ending;

fn exited(status: i32) -> Ending {
    Ending::Exited { status, stderr: String::new() }
}

/// A target whose executions do what a function does.
struct Machinery<F>(F);

impl<F: Fn(Call<'_, '_>) -> Ending> Target for Machinery<F> {
    fn facts(&self) -> Facts {
        Facts::default()
    }

    fn workloads(&self) -> Result<Vec<WorkloadInfo>, TargetError> {
        Ok(workloads())
    }

    fn cpus(&self) -> &[u32] {
        &[0]
    }

    fn execute(
        &self,
        execution: &Execution,
        sink: &mut (dyn FnMut(&[u8]) -> ControlFlow<()> + '_),
        stop: &StopFlag,
    ) -> Ending {
        (self.0)(Call { execution, sink, stop })
    }
}

fn workloads() -> Vec<WorkloadInfo> {
    let text = "faultline-describe 1 send\nsummary packets\noperation turn\nunit turn/s\ndirection higher\nstyle loop\nwindow_ms 10\n\
                variant plain process p\nrole receiver\nrole forwarder\nend\n";
    vec![describe::parse(text).unwrap()]
}

#[derive(Default)]
struct Outcomes(Vec<Outcome>);

impl Journal for Outcomes {
    fn begin_attempt(&mut self, ordinal: u32, _: UnixMillis) -> Result<AttemptId, JournalError> {
        Ok(AttemptId(ordinal.into()))
    }

    fn record(&mut self, _: AttemptId, _: &Event) -> Result<(), JournalError> {
        Ok(())
    }

    fn record_reading(&mut self, _: AttemptId, _: &Reading) -> Result<(), JournalError> {
        Ok(())
    }

    fn record_console(&mut self, _: AttemptId, _: &str) -> Result<(), JournalError> {
        Ok(())
    }

    fn end_attempt(&mut self, _: AttemptId, outcome: &Outcome, _: UnixMillis) -> Result<(), JournalError> {
        self.0.push(outcome.clone());
        Ok(())
    }
}

struct Nobody;

impl Observer for Nobody {
    fn item_begins(&mut self, _: &PlanItem, _: &RunProgress) {}
    fn interval(&mut self, _: &PlanItem, _: f64) {}
    fn item_ends(&mut self, _: &PlanItem, _: &Outcome, _: Option<f64>, _: &RunProgress) {}
}

/// Runs `send` twice. Returns the completion of the run, and its outcomes.
fn sent(
    measured: &dyn Target,
    receiver: &(dyn Target + Sync),
    forwarder: &(dyn Target + Sync),
    limit: Option<Duration>,
    stop: &StopFlag,
) -> (Completion, Vec<Outcome>) {
    let request = Request { repeats: Some(2), window_ms: Some(10), interval_ms: Some(10), ..Request::default() };
    let request = Request { workloads: vec!["send".to_owned()], warmup_ms: Some(0), ..request };
    let plan = plan(&request, &workloads(), 1, 1).unwrap();
    let partners = vec![("receiver".parse().unwrap(), receiver), ("forwarder".parse().unwrap(), forwarder)];
    let targets = SubjectTargets { partners, ..SubjectTargets::alone(measured) };
    let planned = PlannedRun {
        targets: Targets::shared(&targets),
        settings: &plan.settings,
        subjects: &[Subject::as_is(Machine::Host)],
        workloads: &workloads(),
        items: &plan.items,
        budget: None,
        limit,
        jobs: NonZeroUsize::MIN,
    };
    let mut outcomes = Outcomes::default();
    let began = Instant::now();
    let completion = run(&planned, &SystemClock::default(), &mut outcomes, &mut Nobody, stop).unwrap();
    assert!(began.elapsed() < HANGS, "took {:?}", began.elapsed());
    (completion, outcomes.0)
}

fn failed(role: &str, outcome: Outcome) -> Outcome {
    Outcome::PartnerFailed { role: role.parse().unwrap(), outcome: Box::new(outcome) }
}

#[test]
fn partners_are_ready_before_the_measured_one_begins_and_are_stopped_after_it() {
    let log = Mutex::new(Vec::new());
    let note = |text: String| log.lock().unwrap().push(text);
    let partner = Machinery(|mut call: Call<'_, '_>| {
        let role = call.option("--role").to_owned();
        // The measured execution has to wait for the slower one.
        sleep(Duration::from_millis(if role == "receiver" { 30 } else { 0 }));
        note(format!("{role} is ready"));
        call.become_ready();
        let ending = call.wait();
        note(format!("{role}: {ending:?}"));
        ending
    });
    let measured = Machinery(|mut call: Call<'_, '_>| {
        note(format!("begins {}", call.execution.arguments.contains(&"--role".to_owned())));
        let ending = call.measure();
        note("ends".to_owned());
        ending
    });
    let (completion, outcomes) = sent(&measured, &partner, &partner, None, &StopFlag::default());
    assert_eq!((completion, outcomes), (Completion::Finished, vec![Outcome::Done; 2]));
    let log = log.into_inner().unwrap();
    for attempt in log.chunks(6) {
        assert_eq!(attempt[..4], ["forwarder is ready", "receiver is ready", "begins false", "ends"]);
        let mut ends = attempt[4..].to_vec();
        ends.sort();
        assert_eq!(ends, ["forwarder: Stopped", "receiver: Stopped"]);
    }
    assert_eq!(log.len(), 12);
}

#[test]
fn a_partner_that_fails_before_it_is_ready_is_recorded_and_nothing_is_measured() {
    let text = || "it was to be".to_owned();
    let failures: [(Fails, Outcome); 5] = [
        (|_| Ending::NotStarted { text: "it was to be".to_owned() }, Outcome::NotStarted { text: text() }),
        (|_| exited(3), Outcome::Exited { status: 3, stderr: String::new() }),
        (
            |_| Ending::GuestFailed {
                failure: GuestFailure::Panicked,
                text: "it was to be".to_owned(),
                console: String::new(),
            },
            Outcome::GuestFailed { how: GuestFailure::Panicked, text: text(), console: String::new() },
        ),
        (
            |call| match call.say("hello") {
                ControlFlow::Break(()) => Ending::Refused,
                ControlFlow::Continue(()) => exited(0),
            },
            Outcome::Rubbish { line: 1, problem: "expected a line of the format, got 'hello'".to_owned() },
        ),
        (
            |call| {
                let _ = call.say("faultline-workload 1 send\nfailure os bind 98 Address in use");
                exited(71)
            },
            Outcome::Failed { step: "bind".to_owned(), errno: 98, text: "Address in use".to_owned() },
        ),
    ];
    for (fails, outcome) in failures {
        let measured = Machinery(|_: Call<'_, '_>| panic!("it was measured without its receiver"));
        let receiver = Machinery(|mut call: Call<'_, '_>| fails(&mut call));
        let (completion, outcomes) = sent(&measured, &receiver, &Machinery(serve), None, &StopFlag::default());
        assert_eq!((completion, outcomes), (Completion::Finished, vec![failed("receiver", outcome); 2]));
    }
}

#[test]
fn a_partner_that_fails_while_it_is_measured_ends_all() {
    let forwarder = Machinery(|mut call: Call<'_, '_>| {
        call.become_ready();
        sleep(Duration::from_millis(20));
        Ending::Signalled { signal: 11, stderr: String::new() }
    });
    let measured = Machinery(serve);
    let (completion, outcomes) = sent(&measured, &Machinery(serve), &forwarder, None, &StopFlag::default());
    let crashed = failed("forwarder", Outcome::Crashed { signal: 11, stderr: String::new() });
    assert_eq!((completion, outcomes), (Completion::Finished, vec![crashed; 2]));
}

#[test]
fn a_partner_that_never_becomes_ready_ends_at_its_limit() {
    let measured = Machinery(|_: Call<'_, '_>| panic!("it was measured without its receiver"));
    let receiver = Machinery(|call: Call<'_, '_>| call.wait());
    let limit = Duration::from_millis(100);
    let (completion, outcomes) = sent(&measured, &receiver, &Machinery(serve), Some(limit), &StopFlag::default());
    let text = "the receiver was not ready, or did not end, within 100 ms".to_owned();
    assert_eq!((completion, outcomes), (Completion::LabFailed(text.clone()), vec![Outcome::LabFailed { text }]));
}

#[test]
fn a_partners_full_disk_is_a_failure_of_the_lab() {
    let measured = Machinery(|_: Call<'_, '_>| panic!("it was measured without its receiver"));
    let receiver = Machinery(|mut call: Call<'_, '_>| {
        let _ = call.say("faultline-workload 1 send\nfailure os write 28 No space left on device");
        exited(71)
    });
    let (completion, outcomes) = sent(&measured, &receiver, &Machinery(serve), None, &StopFlag::default());
    let text = "the disk of the receiver is full: write: No space left on device".to_owned();
    assert_eq!((completion, outcomes), (Completion::LabFailed(text.clone()), vec![Outcome::LabFailed { text }]));
}

#[test]
fn a_measured_execution_that_hangs_is_not_taken_for_its_partners() {
    let limit = Duration::from_millis(500);
    let partner = Machinery(serve);
    let (_, outcomes) = sent(&Machinery(serve), &partner, &partner, Some(limit), &StopFlag::default());
    assert_eq!(outcomes, vec![Outcome::TimedOut { limit_ms: 500 }; 2]);
}

#[test]
fn a_partner_may_end_well_by_itself() {
    let receiver = Machinery(|mut call: Call<'_, '_>| call.measure());
    let measured = Machinery(|mut call: Call<'_, '_>| {
        sleep(Duration::from_millis(20));
        call.measure()
    });
    let (_, outcomes) = sent(&measured, &receiver, &Machinery(serve), None, &StopFlag::default());
    assert_eq!(outcomes, vec![Outcome::Done; 2]);
}

#[test]
fn a_stop_ends_all_and_fails_none() {
    // During the measurement, and before it.
    for is_ready in [true, false] {
        let stop = StopFlag::default();
        let stops = |mut call: Call<'_, '_>| {
            if is_ready {
                call.become_ready();
                sleep(Duration::from_millis(20));
            }
            stop.set();
            call.wait()
        };
        let measured = Machinery(serve);
        let (completion, outcomes) = sent(&measured, &Machinery(stops), &Machinery(serve), None, &stop);
        assert_eq!((completion, outcomes), (Completion::Stopped, vec![Outcome::Interrupted]));
    }
}

#[test]
fn a_system_that_is_left_changed_ends_the_run_whatever_a_partner_did() {
    let receiver = Machinery(|mut call: Call<'_, '_>| {
        call.become_ready();
        exited(3)
    });
    let measured = Machinery(|call: Call<'_, '_>| {
        assert_eq!(call.wait(), Ending::Stopped);
        Ending::LeftChanged { text: "x".to_owned() }
    });
    let (completion, _) = sent(&measured, &receiver, &Machinery(serve), None, &StopFlag::default());
    assert_eq!(completion, Completion::LeftChanged("x".to_owned()));
}

#[test]
fn partners_end_when_the_measured_one_panics() {
    let measured = Machinery(|_: Call<'_, '_>| panic!("it was to be"));
    let partner = Machinery(serve);
    let began = Instant::now();
    let ran = catch_unwind(AssertUnwindSafe(|| sent(&measured, &partner, &partner, None, &StopFlag::default())));
    assert!(ran.is_err() && began.elapsed() < HANGS);
}
