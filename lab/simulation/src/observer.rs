//! Observes an experiment as a front end does. Everything that it is told must already be saved.

use crate::death::Moment;
use crate::world::World;
use faultline_experiment::Notice;
use faultline_model::outcome::Outcome;
use faultline_model::plan::PlanItem;
use faultline_model::record::RunHead;
use faultline_runner::{Clock, RunProgress};
use std::rc::Rc;

/// Reports to the ledger.
pub(crate) struct Watcher(pub(crate) Rc<World>);

impl faultline_runner::Observer for Watcher {
    fn item_begins(&mut self, item: &PlanItem, _: &RunProgress) {
        self.0.check_budget();
        self.0.ledger.borrow_mut().item_begins(item.ordinal);
        self.0.moment(Moment::Between);
    }

    fn interval(&mut self, _: &PlanItem, _: f64) {}

    fn item_ends(&mut self, item: &PlanItem, outcome: &Outcome, _: Option<f64>, _: &RunProgress) {
        self.0.moment(Moment::Writing);
        self.0.ledger.borrow_mut().item_ends(item.ordinal, outcome);
        self.0.moment(Moment::Between);
    }
}

impl faultline_experiment::Observer for Watcher {
    fn measuring_begins(&mut self, record: &RunHead) {
        self.0.moment(Moment::Writing);
        let boots: Vec<Option<&str>> = record
            .sessions
            .last()
            .map_or_else(Vec::new, |session| session.facts.iter().map(|facts| facts.get_text("boot.id")).collect());
        let mut ledger = self.0.ledger.borrow_mut();
        // All commits of a search, or of a history, share the facts of its machine.
        let machines = if record.settings.measured_line().is_some() { 1 } else { record.subjects.len() };
        if boots.len() != machines || boots.iter().any(|boot| *boot != Some(&self.0.boot())) {
            ledger.violation(format!("the session's facts are of {boots:?}, and this is {}", self.0.boot()));
        }
        ledger.measuring_begins(self.0.clock.monotonic());
    }

    fn measuring_ends(&mut self) {
        self.0.note_budget();
        self.0.moment(Moment::Writing);
    }

    fn notice(&mut self, _: &Notice) {
        self.0.moment(Moment::Between);
    }
}
