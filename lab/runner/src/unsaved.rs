//! Executions that are not saved: the set-up command of a subject, and the warm-up of its command.

use crate::attempt;
use crate::planned::{Observer, PlannedRun, RunProgress};
use faultline_record::cell::Cell;
use faultline_record::journal::{AttemptId, Journal, JournalError};
use faultline_record::lens::reading::Reading;
use faultline_record::outcome::Outcome;
use faultline_record::plan::{PinPolicy, PlanItem, RunKind, Settings, TimedSettings};
use faultline_record::protocol::Event;
use faultline_record::setup::Setup;
use faultline_record::time::UnixMillis;
use faultline_targets::StopFlag;

/// Executes the set-up command of the item's subject once, on any CPU, with the environment and in
/// the directory of its command. Fails only if an execution cannot be recorded.
pub fn set_up(run: &PlannedRun<'_>, item: &PlanItem, stop: &StopFlag) -> Result<Outcome, JournalError> {
    let mut subjects = run.subjects.to_vec();
    if let Some(subject) = subjects.get_mut(item.subject.at()) {
        let Setup { environment, directory, set_up, .. } = std::mem::take(&mut subject.setup);
        subject.setup = Setup { environment, directory, command: set_up, ..Setup::default() };
    }
    let kind = RunKind::Timed(TimedSettings::pinned(PinPolicy::None));
    let settings = Settings { kind, ..run.settings.clone() };
    let item = PlanItem { cell: Cell { tasks: 1, ..item.cell.clone() }, ..item.clone() };
    warm_up(&PlannedRun { subjects: &subjects, settings: &settings, ..*run }, &item, stop)
}

/// Executes the item as in its run. Fails only if an execution cannot be recorded.
pub fn warm_up(run: &PlannedRun<'_>, item: &PlanItem, stop: &StopFlag) -> Result<Outcome, JournalError> {
    attempt::execute(run, item, AttemptId(0), &mut Nowhere, &mut Nowhere, stop).map(|attempted| attempted.outcome)
}

/// Records and shows nothing.
struct Nowhere;

impl Journal for Nowhere {
    fn begin_attempt(&mut self, _: u32, _: UnixMillis) -> Result<AttemptId, JournalError> {
        Ok(AttemptId(0))
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

    fn end_attempt(&mut self, _: AttemptId, _: &Outcome, _: UnixMillis) -> Result<(), JournalError> {
        Ok(())
    }
}

impl Observer for Nowhere {
    fn item_begins(&mut self, _: &PlanItem, _: &RunProgress) {}

    fn interval(&mut self, _: &PlanItem, _: f64) {}

    fn item_ends(&mut self, _: &PlanItem, _: &Outcome, _: Option<f64>, _: &RunProgress) {}
}
