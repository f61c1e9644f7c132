//! Partners: executions next to the measured one, one for each role of its workload, each on its own thread and target.
//!
//! Partners start first. The measured execution starts when all of them are ready, and they are stopped when it ends. If one fails before that, all are
//! stopped. The output of partners is checked but not saved.

use crate::outcome::{exited, outcome_of};
use crate::set_at_end::SetAtEnd;
use faultline_model::cell::Cell;
use faultline_model::describe::Style;
use faultline_model::outcome::Outcome;
use faultline_model::protocol::Event;
use faultline_model::role::Role;
use faultline_model::transcript::Transcript;
use faultline_targets::{Ending, Executed, Execution, StopFlag, Target};
use std::ops::ControlFlow;
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

/// How often the time until a partner is ready is checked. Time during which our own process was suspended (Ctrl-Z) counts as one step.
const READY_POLL: Duration = Duration::from_millis(20);

/// One partner of an attempt.
pub(crate) struct Partner<'a> {
    /// What it does.
    pub(crate) role: &'a Role,
    /// Where it runs.
    pub(crate) target: &'a (dyn Target + Sync),
    /// What to execute. Its limit is longer than the measured execution can take.
    pub(crate) execution: Execution,
    /// Time within which it must be ready.
    pub(crate) ready_limit: Duration,
    /// The cell that its output must name.
    pub(crate) cell: &'a Cell,
    /// The style of its workload.
    pub(crate) style: Style,
}

/// A partner that failed before the measured execution ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PartnerFailure {
    role: Role,
    outcome: Outcome,
}

impl From<PartnerFailure> for Outcome {
    fn from(failure: PartnerFailure) -> Self {
        Outcome::PartnerFailed { role: failure.role, outcome: Box::new(failure.outcome) }
    }
}

/// Runs `measured` next to the partners, with a flag that stops it when one of them fails. Returns how it ended (`Stopped` if it never
/// started), and the first failure of a partner. When this returns, all partners have ended.
pub(crate) fn beside(
    partners: &[Partner<'_>],
    stop: &StopFlag,
    measured: impl FnOnce(&StopFlag) -> Executed,
) -> (Executed, Option<PartnerFailure>) {
    let all = All { over: stop.below(), failure: OnceLock::new() };
    let executed = thread::scope(|scope| {
        // Set even if `measured` panics: the scope waits for the threads.
        let over = SetAtEnd(&all.over);
        let begun: Vec<_> = partners
            .iter()
            .map(|partner| {
                let (ready, is_ready) = sync_channel(1);
                let all = &all;
                scope.spawn(move || all.run(partner, &ready));
                (partner, is_ready)
            })
            .collect();
        let executed = if all.are_ready(&begun) { measured(over.0) } else { Ending::Stopped.into() };
        drop(over);
        executed
    });
    (executed, all.failure.into_inner())
}

/// The state that all executions of an attempt share.
struct All {
    /// The measured execution has ended, a partner has failed, or a stop was asked for.
    over: StopFlag,
    /// The first failure.
    failure: OnceLock<PartnerFailure>,
}

impl All {
    /// Runs a partner to its end. Sends to `ready` when the partner is ready; the channel closes when it has ended.
    fn run(&self, partner: &Partner<'_>, ready: &SyncSender<()>) {
        let outcome = partner.run(ready, &self.over);
        if outcome != Outcome::Done && !self.over.is_set() {
            self.fail(partner, outcome);
        }
    }

    /// Waits until every partner is ready; `false` if one has ended before. A partner that takes too long has failed.
    fn are_ready(&self, begun: &[(&Partner<'_>, Receiver<()>)]) -> bool {
        let mut waited = Duration::ZERO;
        begun.iter().all(|(partner, is_ready)| {
            loop {
                match is_ready.recv_timeout(READY_POLL) {
                    Ok(()) => return true,
                    Err(RecvTimeoutError::Disconnected) => return false,
                    Err(RecvTimeoutError::Timeout) => waited += READY_POLL,
                }
                if waited >= partner.ready_limit {
                    let limit_ms = partner.ready_limit.as_millis() as u64;
                    self.fail(partner, Outcome::TimedOut { limit_ms });
                    return false;
                }
            }
        })
    }

    fn fail(&self, partner: &Partner<'_>, outcome: Outcome) {
        // Already set if another partner failed first.
        let _ = self.failure.set(PartnerFailure { role: partner.role.clone(), outcome });
        self.over.set();
    }
}

impl Partner<'_> {
    fn run(&self, ready: &SyncSender<()>, over: &StopFlag) -> Outcome {
        let mut transcript = Transcript::new(self.cell.clone(), self.style);
        let mut rubbish = None;
        let mut sink = |line: &[u8]| match transcript.line(line) {
            Ok(event) => {
                if matches!(event, Event::Ready(_)) {
                    // If another partner has failed, nobody waits any more.
                    let _ = ready.try_send(());
                }
                ControlFlow::Continue(())
            }
            Err(error) => {
                rubbish = Some(error);
                ControlFlow::Break(())
            }
        };
        let ending = self.target.execute(&self.execution, &mut sink, over);
        match (rubbish, ending) {
            (Some(error), _) => Outcome::Rubbish { line: error.line, problem: error.problem },
            (None, Ending::Exited { status, stderr }) => exited(transcript, status, stderr),
            (None, ending) => outcome_of(ending, self.execution.limit),
        }
    }
}
