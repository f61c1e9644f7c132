//! Execution of a lens run's items, several at the same time if requested: each on its own machine
//! and thread, with the names of its own subject.
//!
//! Only the calling thread uses the journal, the observer and the clock. The machines' threads send
//! it each line, and wait for its answer. A machine's counts do not depend on the others, because
//! its time follows its own instructions. So the readings are equal for any number of machines;
//! only the order of endings differs.

use super::naming::{AtTheEnd, Naming};
use super::{count, program_operations, save_reading, untranslated};
use crate::attempt::{Reader, execution, save_console};
use crate::clock::Clock;
use crate::pace::Pace;
use crate::partners::SetAtEnd;
use crate::planned::{Completion, Observer, PlannedRun};
use faultline_record::journal::{AttemptId, Journal, JournalError};
use faultline_record::lens::guest_kernel::PhysicalMemory;
use faultline_record::lens::reading::Reading;
use faultline_record::outcome::Outcome;
use faultline_record::plan::PlanItem;
use faultline_record::protocol::Event;
use faultline_record::time::UnixMillis;
use faultline_targets::counting::{Counted, Counting};
use faultline_targets::{Execution, StopFlag};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::Duration;

/// Messages of the thread of the machine that runs `ordinal`.
struct Message {
    ordinal: u32,
    said: Said,
}

enum Said {
    /// A line of its output. The thread waits for the answer.
    Line(Vec<u8>),
    /// The thread has ended.
    Over,
}

/// Announces the end of a thread on drop, also after a panic.
struct SaysOver {
    ordinal: u32,
    messages: Sender<Message>,
}

impl Drop for SaysOver {
    fn drop(&mut self) {
        // The receiver is gone if the run has failed.
        let _ = self.messages.send(Message { ordinal: self.ordinal, said: Said::Over });
    }
}

/// A running attempt.
struct UnderWay<'scope, 'a> {
    item: &'a PlanItem,
    attempt: AttemptId,
    reader: Reader<'a>,
    tail: Tail,
    limit: Duration,
    /// Time of its beginning.
    began: Duration,
    answers: SyncSender<ControlFlow<()>>,
    thread: ScopedJoinHandle<'scope, (Counted, AtTheEnd)>,
}

/// The calling thread's side.
struct Caller<'scope, 'a, 'b> {
    run: &'a PlannedRun<'a>,
    clock: &'b dyn Clock,
    journal: &'b mut dyn Journal,
    observer: &'b mut dyn Observer,
    /// Stops all machines.
    over: &'a StopFlag,
    pace: Pace<'b>,
    under_way: BTreeMap<u32, UnderWay<'scope, 'a>>,
    /// Completion of the run, as far as it is known.
    completion: Completion,
    /// Items whose executions failed when the host lacked something that it has again. If one
    /// fails like this twice, it is the cause.
    tried: BTreeSet<u32>,
    /// Those to execute again.
    again: Vec<&'a PlanItem>,
}

/// Runs the items on targets that count, at most [`PlannedRun::jobs`] at the same time. Fails if
/// the journal cannot save; all machines are stopped then. All processes of all machines have ended
/// on return.
pub(crate) fn run(
    run: &PlannedRun<'_>,
    clock: &dyn Clock,
    journal: &mut dyn Journal,
    observer: &mut dyn Observer,
    stop: &StopFlag,
) -> Result<Completion, JournalError> {
    let over = stop.below();
    thread::scope(|scope| {
        let _stops_machines = SetAtEnd(&over);
        let pace = Pace::new(run.items, run.targets, run.jobs, run.budget, clock);
        let (completion, under_way) = (Completion::Finished, BTreeMap::new());
        let (tried, again) = (BTreeSet::new(), Vec::new());
        let caller = Caller { run, clock, journal, observer, over: &over, pace, under_way, completion, tried, again };
        caller.run(scope, stop)
    })
}

impl<'scope, 'a: 'scope, 'b> Caller<'scope, 'a, 'b>
where
    'a: 'b,
{
    fn run(mut self, scope: &'scope Scope<'scope, '_>, stop: &StopFlag) -> Result<Completion, JournalError> {
        let (messages, received) = channel();
        let mut waiting = self.run.items.iter();
        loop {
            while self.completion == Completion::Finished && self.under_way.len() < self.run.jobs.get() {
                let Some(item) = self.again.pop().or_else(|| waiting.next()) else { break };
                if stop.is_set() {
                    self.completion.change_to(Completion::Stopped);
                } else {
                    self.begin(item, scope, &messages)?;
                }
            }
            if self.under_way.is_empty() {
                return Ok(self.completion);
            }
            self.hear(&received)?;
        }
    }

    fn begin(
        &mut self,
        item: &'a PlanItem,
        scope: &'scope Scope<'scope, '_>,
        messages: &Sender<Message>,
    ) -> Result<(), JournalError> {
        let began = self.pace.begins();
        self.observer.item_begins(item, &self.pace.progress());
        let attempt = self.journal.begin_attempt(item.ordinal, self.clock.now())?;
        let execution = execution(self.run, item);
        let limit = execution.limit;
        let (answers, answered) = sync_channel(1);
        let machine = Machine {
            counting: self.run.targets.of(item).counting(),
            execution,
            item,
            end: self.naming(item).at_the_end(),
            messages: messages.clone(),
            answered,
        };
        let over = self.over;
        let thread = scope.spawn(move || machine.count(over));
        let (reader, tail) = (Reader::new(self.run, item, attempt), Tail::default());
        reader.stage().into_iter().for_each(|stage| self.observer.stage(item, stage));
        self.under_way.insert(item.ordinal, UnderWay { item, attempt, reader, tail, limit, began, answers, thread });
        Ok(())
    }

    /// Names for the counts of an item.
    fn naming(&self, item: &PlanItem) -> &'a Naming {
        self.run.targets.naming(item).expect("a target that counts has names")
    }

    /// Waits for a message, and handles it.
    fn hear(&mut self, received: &Receiver<Message>) -> Result<(), JournalError> {
        // The caller has a sender too.
        let Ok(Message { ordinal, said }) = received.recv() else { return Ok(()) };
        match said {
            Said::Line(line) => {
                if let Some(UnderWay { item, reader, tail, answers, .. }) = self.under_way.get_mut(&ordinal) {
                    let mut journal = HoldsBack { journal: self.journal, tail };
                    let before = reader.stage();
                    // The thread waits for the answer, so there is room for it.
                    let _ = answers.send(reader.take(&line, &mut journal, self.observer));
                    let stage = reader.stage().filter(|_| reader.stage() != before);
                    stage.into_iter().for_each(|stage| self.observer.stage(item, stage));
                }
                Ok(())
            }
            Said::Over => match self.under_way.remove(&ordinal) {
                Some(ended) => self.end(ended),
                None => Ok(()),
            },
        }
    }

    /// Saves the results of an attempt, and closes it.
    fn end(&mut self, ended: UnderWay<'scope, 'a>) -> Result<(), JournalError> {
        let UnderWay { item, attempt, reader, tail, limit, began, thread, .. } = ended;
        let (counted, end) = thread.join().unwrap_or_else(|panic| resume_unwind(panic));
        let operations = program_operations(self.run, item).unwrap_or(reader.operations());
        let mut ended = reader.conclude(counted.ending, limit)?;
        let is_tried_again = ended.own.is_some() && self.tried.insert(item.ordinal);
        if !is_tried_again {
            ended = ended.second();
        }
        let outcome = ended.outcome;
        let mappings = counted.report.as_ref().map_or(&[][..], |report| &report.agent.mappings);
        let is_of_commit = self.run.subjects.get(item.subject.at()).is_some_and(|subject| subject.build.is_some());
        let naming = self.naming(item);
        let by = (naming, is_of_commit);
        let outcome = untranslated::judged(outcome, counted.console.as_deref(), mappings, by);
        tail.record(attempt, self.journal)?;
        save_console(counted.console.as_deref(), &outcome, attempt, self.journal)?;
        let (report, outcome) = ((counted.report, counted.seed), (outcome, operations));
        let attempted = save_reading((naming, end), report, outcome, attempt, self.journal)?;
        self.journal.end_attempt(attempt, &attempted.outcome, self.clock.now())?;
        match Completion::after(&attempted.outcome) {
            Some(_) if is_tried_again => self.again.push(item),
            Some(completion) => self.completion.change_to(completion),
            None => {
                self.pace.ended(item, began);
                self.observer.item_ends(item, &attempted.outcome, attempted.value, &self.pace.progress());
            }
        }
        Ok(())
    }
}

/// Inputs of a machine's thread.
struct Machine<'a> {
    /// `None` if the target cannot count.
    counting: Option<&'a dyn Counting>,
    execution: Execution,
    item: &'a PlanItem,
    end: AtTheEnd,
    messages: Sender<Message>,
    answered: Receiver<ControlFlow<()>>,
}

impl Machine<'_> {
    /// Executes and counts.
    fn count(self, stop: &StopFlag) -> (Counted, AtTheEnd) {
        let Machine { counting, execution, item, end, messages, answered } = self;
        let ordinal = item.ordinal;
        let over = SaysOver { ordinal, messages };
        let mut sink = |line: &[u8]| match over.messages.send(Message { ordinal, said: Said::Line(line.to_vec()) }) {
            // The answering thread is gone if the run has failed.
            Ok(()) => answered.recv().unwrap_or(ControlFlow::Break(())),
            Err(_) => ControlFlow::Break(()),
        };
        let at_end = |memory: &dyn PhysicalMemory| end.look(memory);
        let counted = count(counting, &execution, item, &at_end, &mut sink, stop);
        (counted, end)
    }
}

/// Events of one attempt from [`Event::End`] on.
#[derive(Debug, Default)]
pub(super) struct Tail(Vec<Event>);

impl Tail {
    /// Saves them. Fails if the journal cannot save.
    pub(super) fn record(self, attempt: AttemptId, journal: &mut dyn Journal) -> Result<(), JournalError> {
        self.0.iter().try_for_each(|event| journal.record(attempt, event))
    }
}

/// A journal for one attempt that buffers the end.
pub(super) struct HoldsBack<'a> {
    pub(super) journal: &'a mut dyn Journal,
    pub(super) tail: &'a mut Tail,
}

impl Journal for HoldsBack<'_> {
    fn begin_attempt(&mut self, ordinal: u32, started: UnixMillis) -> Result<AttemptId, JournalError> {
        self.journal.begin_attempt(ordinal, started)
    }

    fn record(&mut self, attempt: AttemptId, event: &Event) -> Result<(), JournalError> {
        if self.tail.0.is_empty() && !matches!(event, Event::End(_)) {
            return self.journal.record(attempt, event);
        }
        self.tail.0.push(event.clone());
        Ok(())
    }

    fn record_reading(&mut self, attempt: AttemptId, reading: &Reading) -> Result<(), JournalError> {
        self.journal.record_reading(attempt, reading)
    }

    fn record_console(&mut self, attempt: AttemptId, console: &str) -> Result<(), JournalError> {
        self.journal.record_console(attempt, console)
    }

    fn end_attempt(&mut self, attempt: AttemptId, outcome: &Outcome, ended: UnixMillis) -> Result<(), JournalError> {
        self.journal.end_attempt(attempt, outcome, ended)
    }
}
