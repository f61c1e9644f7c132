//! Execution of a plan's items, until all have ended, a stop is requested, or the time budget is
//! used up. Where time is measured, they run one after the other.

use crate::clock::Clock;
use crate::pace::Pace;
use crate::planned::Completion;
use crate::planned::Observer;
use crate::planned::PlannedRun;
use crate::{attempt, lens};
use faultline_record::journal::{Journal, JournalError};
use faultline_record::outcome::Outcome;
use faultline_record::plan::PlanItem;
use faultline_targets::StopFlag;
use std::num::NonZeroUsize;

/// Runs the items. Fails if the journal cannot save; nothing more runs then.
pub fn run(
    run: &PlannedRun<'_>,
    clock: &dyn Clock,
    journal: &mut dyn Journal,
    observer: &mut dyn Observer,
    stop: &StopFlag,
) -> Result<Completion, JournalError> {
    let counts = |item| run.targets.naming(item).is_some();
    if run.items.first().is_some_and(counts) {
        return lens::run(run, clock, journal, observer, stop);
    }
    let ends_at_failure = run.settings.timed().is_some_and(|timed| timed.ends_at_failure);
    let mut pace = Pace::new(run.items, run.targets, NonZeroUsize::MIN, run.budget, clock);
    for (index, item) in run.items.iter().enumerate() {
        if stop.is_set() {
            return Ok(Completion::Stopped);
        }
        if run.budget.is_some_and(|budget| pace.elapsed() >= budget) {
            return Ok(Completion::BudgetUsed(ordinals(&run.items[index..])));
        }
        let began = pace.begins();
        observer.item_begins(item, &pace.progress());
        let id = journal.begin_attempt(item.ordinal, clock.now())?;
        let mut attempted = attempt::execute(run, item, id, journal, observer, stop)?;
        journal.end_attempt(id, &attempted.outcome, clock.now())?;
        // The host has room again. If the execution fails like this again, it is the cause.
        if attempted.own.is_some() && !stop.is_set() {
            let id = journal.begin_attempt(item.ordinal, clock.now())?;
            attempted = attempt::execute(run, item, id, journal, observer, stop)?.second();
            journal.end_attempt(id, &attempted.outcome, clock.now())?;
        }
        if let Some(completion) = Completion::after(&attempted.outcome) {
            return Ok(completion);
        }
        pace.ended(item, began);
        observer.item_ends(item, &attempted.outcome, attempted.value, &pace.progress());
        let left = &run.items[index + 1..];
        if attempted.outcome != Outcome::Done && ends_at_failure && !left.is_empty() {
            return Ok(Completion::EndedAtFailure(ordinals(left)));
        }
    }
    Ok(Completion::Finished)
}

fn ordinals(items: &[PlanItem]) -> Vec<u32> {
    items.iter().map(|item| item.ordinal).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::plan;
    use crate::plan::tests::workloads;
    use crate::planned::RunProgress;
    use crate::planned::{SubjectTargets, Targets};
    use crate::scripted_target::Scripted;
    use crate::{Request, SystemClock};
    use faultline_record::journal::AttemptId;
    use faultline_record::lens::reading::Reading;
    use faultline_record::outcome::GuestFailure;
    use faultline_record::protocol::Event;
    use faultline_record::subject::Subject;
    use faultline_record::time::UnixMillis;
    use faultline_targets::{Ending, Executed, Target};
    use std::cell::{Cell, RefCell};
    use std::collections::VecDeque;

    #[derive(Default)]
    struct Notes(Vec<Outcome>, Vec<String>);

    impl Journal for Notes {
        fn begin_attempt(&mut self, ordinal: u32, _: UnixMillis) -> Result<AttemptId, JournalError> {
            Ok(AttemptId(i64::from(ordinal)))
        }

        fn record(&mut self, _: AttemptId, _: &Event) -> Result<(), JournalError> {
            Ok(())
        }

        fn record_reading(&mut self, _: AttemptId, _: &Reading) -> Result<(), JournalError> {
            Ok(())
        }

        fn record_console(&mut self, _: AttemptId, console: &str) -> Result<(), JournalError> {
            self.1.push(console.to_owned());
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

    #[test]
    fn a_console_is_saved_however_the_execution_ends_unless_the_outcome_has_it() {
        let exited = |status| Ending::Exited { status, stderr: String::new() };
        let failed = |console: &str| Ending::GuestFailed {
            failure: GuestFailure::Panicked,
            text: "it panicked".to_owned(),
            console: console.to_owned(),
        };
        let executed = |ending, console: Option<&str>| Executed { ending, console: console.map(str::to_owned) };
        let came = RefCell::new(VecDeque::from([
            executed(exited(0), Some("booted")),
            executed(exited(3), Some("booted again")),
            executed(failed("panicked"), Some("panicked")),
            executed(exited(3), Some("")),
            executed(exited(3), None),
        ]));
        let (completion, notes) = five_repeats(&Scripted(|| came.borrow_mut().pop_front().unwrap()));
        assert_eq!((completion, notes.0.len()), (Completion::Finished, 5));
        assert_eq!(notes.1, ["booted", "booted again"]);
    }

    #[test]
    fn a_run_ends_at_the_first_failure_if_it_was_asked_to() {
        let status = Cell::new(0);
        let machine = Scripted(|| {
            status.set(status.get() + 1);
            Ending::Exited { status: status.get(), stderr: String::new() }.into()
        });
        let (completion, notes) = repeats(&machine, Request { ends_at_failure: true, ..Request::default() });
        assert_eq!((completion, notes.0.len()), (Completion::EndedAtFailure(vec![1, 2, 3, 4]), 1));
        let (completion, notes) = repeats(&machine, Request::default());
        assert_eq!((completion, notes.0.len()), (Completion::Finished, 5));
    }

    /// Five executions of one workload.
    fn five_repeats(machine: &dyn Target) -> (Completion, Notes) {
        repeats(machine, Request::default())
    }

    /// As above, with further requests.
    fn repeats(machine: &dyn Target, request: Request) -> (Completion, Notes) {
        let request = Request { workloads: vec!["zero_fill:base".to_owned()], repeats: Some(5), ..request };
        let plan = plan(&request, &workloads(), 1, 1).unwrap();
        let targets = SubjectTargets::alone(machine);
        let planned = PlannedRun {
            targets: Targets::shared(&targets),
            settings: &plan.settings,
            subjects: &[Subject::as_is(faultline_record::machine::Machine::Host)],
            workloads: &workloads(),
            items: &plan.items,
            budget: None,
            limit: None,
            jobs: NonZeroUsize::MIN,
        };
        let mut notes = Notes::default();
        let completion = run(&planned, &SystemClock::default(), &mut notes, &mut Nobody, &StopFlag::default()).unwrap();
        (completion, notes)
    }

    #[test]
    fn a_setting_that_was_left_changed_stays_the_reason() {
        let left = || Completion::LeftChanged("x can't be set to '1'".to_owned());
        let mut completion = Completion::Finished;
        completion.change_to(Completion::Stopped);
        assert_eq!(completion, Completion::Stopped);
        completion.change_to(left());
        completion.change_to(Completion::Stopped);
        assert_eq!(completion, left());
    }

    #[test]
    fn a_failure_after_a_lack_is_tried_again_and_then_the_programs_own() {
        let number = Cell::new(0);
        let after_lack = || {
            let own = Box::new(Ending::Exited { status: 3, stderr: "No space left on device".to_owned() });
            Ending::AfterLack { text: "the disk is full".to_owned(), own }
        };
        let machine = Scripted(|| {
            number.set(number.get() + 1);
            match number.get() {
                1 | 2 | 4 => after_lack().into(),
                _ => Ending::Exited { status: 4, stderr: String::new() }.into(),
            }
        });
        let (completion, notes) = five_repeats(&machine);
        assert_eq!((completion, number.get()), (Completion::Finished, 7));
        let is_final: Vec<bool> = notes.0.iter().map(Outcome::is_final).collect();
        assert_eq!(is_final, [false, true, true, false, true, true, true]);
        assert!(matches!(notes.0[1], Outcome::Exited { status: 3, .. }), "the second failure counts");
        assert!(matches!(notes.0[4], Outcome::Exited { status: 4, .. }), "another result does, too");
    }

    #[test]
    fn nothing_is_measured_on_a_system_that_was_left_changed() {
        let number = Cell::new(0);
        let machine = Scripted(|| {
            number.set(number.get() + 1);
            match number.get() {
                2 => Ending::LeftChanged { text: "x can't be set to '1'".to_owned() }.into(),
                _ => Ending::Exited { status: 3, stderr: String::new() }.into(),
            }
        });
        let (completion, notes) = five_repeats(&machine);
        assert_eq!(completion, Completion::LeftChanged("x can't be set to '1'".to_owned()));
        assert_eq!((number.get(), notes.0.len(), notes.0[1].is_final()), (2, 2, false));
    }
}
