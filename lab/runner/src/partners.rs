//! Partners: executions next to the measured one, one for each role of its workload, each on its
//! own thread and target.
//!
//! Partners start first. The measured execution starts when all of them are ready, and they are
//! stopped when it ends. If one fails before that, all are stopped. A partner that has begun a
//! region of interest of its own may end by itself after the measured execution. A partner's
//! reports are saved with the attempt, under its role.

use crate::outcome::{exited, outcome_of};
use faultline_record::cell::Cell;
use faultline_record::describe::Style;
use faultline_record::outcome::Outcome;
use faultline_record::protocol::Event;
use faultline_record::role::Role;
use faultline_record::transcript::Transcript;
use faultline_targets::{Ending, Executed, Execution, StopFlag, Target, lack};
use std::ops::ControlFlow;
use std::panic::resume_unwind;
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

/// Interval between checks of the time until a partner is ready. Time during which our own process
/// was suspended (Ctrl-Z) counts as one step.
const READY_POLL: Duration = Duration::from_millis(20);

/// Time limit for a partner that ends by itself after the measured execution.
const END_LIMIT: Duration = Duration::from_secs(20);

/// An end that disappears takes the other one with it. If the measured execution fails first, a
/// partner has this time to show that it was the cause.
const CAUSE_LIMIT: Duration = Duration::from_millis(500);

/// One partner of an attempt.
pub(crate) struct Partner<'a> {
    /// Its role.
    pub(crate) role: &'a Role,
    /// Its target.
    pub(crate) target: &'a (dyn Target + Sync),
    /// Its execution. The limit is longer than the measured execution can take.
    pub(crate) execution: Execution,
    /// Time limit until it is ready.
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
        let of_lab = |text| Outcome::LabFailed { text };
        match failure.outcome {
            // A partner runs the lab's own program, so these say nothing about what is measured.
            Outcome::Failed { step, errno, text } if lack::is_disk_full(errno) => {
                of_lab(format!("the disk of the {} is full: {step}: {text}", failure.role))
            }
            Outcome::TimedOut { limit_ms } => {
                of_lab(format!("the {} was not ready, or did not end, within {limit_ms} ms", failure.role))
            }
            // Not supported between these machines, as one end reported.
            Outcome::Unsupported { step, text } => {
                Outcome::Unsupported { step, text: format!("{text} (the {})", failure.role) }
            }
            outcome => Outcome::PartnerFailed { role: failure.role, outcome: Box::new(outcome) },
        }
    }
}

/// Endings of a measured execution and its partners.
pub(crate) struct Ended {
    /// The measured execution; `Stopped` if it never started.
    pub(crate) measured: Executed,
    /// The first failure of a partner.
    pub(crate) failure: Option<PartnerFailure>,
    /// Reports of the partners, under their roles.
    pub(crate) said: Vec<Event>,
}

/// Runs `measured` next to the partners, with a flag that stops it when one of them fails. All
/// partners have ended on return.
pub(crate) fn beside(partners: &[Partner<'_>], stop: &StopFlag, measured: impl FnOnce(&StopFlag) -> Executed) -> Ended {
    let all = All { over: stop.below(), failure: OnceLock::new() };
    let (measured, said) = thread::scope(|scope| {
        // Set even if `measured` panics: the scope waits for the threads.
        let over = SetAtEnd(&all.over);
        let begun: Vec<_> = partners
            .iter()
            .map(|partner| {
                // Room for both steps: the second one has no receiver that waits.
                let (sender, steps) = sync_channel(2);
                let all = &all;
                (partner, steps, scope.spawn(move || all.run(partner, sender)))
            })
            .collect();
        let watched: Vec<_> = begun.iter().map(|(partner, steps, _)| (*partner, steps)).collect();
        let executed = if all.are_ready(&watched) { measured(over.0) } else { Ending::Stopped.into() };
        match &executed.ending {
            Ending::Exited { status: 0, .. } => all.let_end(&watched),
            Ending::Exited { .. } | Ending::Signalled { .. } => all.let_fail(&watched),
            _ => {}
        }
        drop(over);
        let said =
            begun.into_iter().flat_map(|(_, _, thread)| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        (executed, said.collect())
    });
    Ended { measured, failure: all.failure.into_inner(), said }
}

/// Progress of a partner. Its channel closes at its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Ready,
    /// Its region of interest has begun, so it will end by itself.
    Begun,
}

/// State that all executions of an attempt share.
struct All {
    /// The measured execution has ended, a partner has failed, or a stop was requested.
    over: StopFlag,
    /// The first failure.
    failure: OnceLock<PartnerFailure>,
}

impl All {
    /// Runs a partner until it ends. Sends its progress. Returns its reports.
    fn run(&self, partner: &Partner<'_>, steps: SyncSender<Step>) -> Vec<Event> {
        let (outcome, said) = partner.run(&steps, &self.over);
        if outcome != Outcome::Done && !self.over.is_set() {
            self.fail(partner, outcome);
        }
        // Only now, so that a receiver that sees the channel closed sees the failure too.
        drop(steps);
        said
    }

    /// The measured execution has succeeded. Waits for the partners that end by themselves.
    fn let_end(&self, watched: &[(&Partner<'_>, &Receiver<Step>)]) {
        for (partner, steps) in watched {
            if steps.try_recv() != Ok(Step::Begun) {
                continue;
            }
            let mut waited = Duration::ZERO;
            while steps.recv_timeout(READY_POLL) != Err(RecvTimeoutError::Disconnected) && !self.over.is_set() {
                waited += READY_POLL;
                if waited >= END_LIMIT {
                    self.fail(partner, Outcome::TimedOut { limit_ms: END_LIMIT.as_millis() as u64 });
                }
            }
        }
    }

    /// The measured execution has failed. Waits until a partner has, too.
    fn let_fail(&self, watched: &[(&Partner<'_>, &Receiver<Step>)]) {
        let mut waited = Duration::ZERO;
        while waited < CAUSE_LIMIT && !watched.is_empty() && self.failure.get().is_none() && !self.over.is_set() {
            thread::sleep(READY_POLL);
            waited += READY_POLL;
        }
    }

    /// Waits until every partner is ready. False if one has ended before. A partner that takes too
    /// long has failed.
    fn are_ready(&self, watched: &[(&Partner<'_>, &Receiver<Step>)]) -> bool {
        let mut waited = Duration::ZERO;
        watched.iter().all(|(partner, steps)| {
            loop {
                match steps.recv_timeout(READY_POLL) {
                    Ok(_) => return true,
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
    fn run(&self, steps: &SyncSender<Step>, over: &StopFlag) -> (Outcome, Vec<Event>) {
        let mut transcript = Transcript::new(self.cell.clone(), self.style);
        let (mut rubbish, mut said) = (None, Vec::new());
        let mut sink = |line: &[u8]| match transcript.line(line) {
            Ok(event) => {
                let step = match event {
                    Event::Ready(_) => Some(Step::Ready),
                    Event::Begin(_) => Some(Step::Begun),
                    _ => None,
                };
                if let Some(step) = step {
                    // The receiver is gone if another partner has failed.
                    let _ = steps.try_send(step);
                }
                said.extend(event.of_role(self.role));
                ControlFlow::Continue(())
            }
            Err(error) => {
                rubbish = Some(error);
                ControlFlow::Break(())
            }
        };
        let ending = self.target.execute(&self.execution, &mut sink, over);
        let outcome = match (rubbish, ending) {
            (Some(error), _) => Outcome::Rubbish { line: error.line, problem: error.problem },
            (None, Ending::Exited { status, stderr }) => exited(transcript, status, stderr),
            (None, ending) => outcome_of(ending, self.execution.limit),
        };
        (outcome, said)
    }
}

/// Sets the flag on drop.
pub(crate) struct SetAtEnd<'a>(pub(crate) &'a StopFlag);

impl Drop for SetAtEnd<'_> {
    fn drop(&mut self) {
        self.0.set();
    }
}
