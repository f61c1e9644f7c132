// SPDX-License-Identifier: GPL-2.0-or-later
//! Keeps CPUs in step if one host thread runs them all in turn. Independent of QEMU.
//!
//! The emulator gives one CPU after the other a turn. A turn ends when the plugin ends it, or when
//! the CPU halts or pauses in a waiting loop; a device interrupt may end it too. Let *m* be the
//! lowest clock of the other busy CPUs when a turn begins. The turn is to end once the CPU's own
//! clock reaches *m* + quantum, in one of two ways ([`Grain`]):
//!
//! - *Coarse*, for kernels. A turn ends after the block in which the clock reaches its limit. A CPU
//!   whose clock is already there still gets a turn of one translation block. So in each round of
//!   turns a CPU runs ahead of the slowest by at most a quantum and a block, and a quantum must be
//!   longer than the largest cost of a block.
//! - *Fine*, for programs. A block that would begin at the limit or beyond is refused: the CPU's
//!   turn ends before it. So a CPU that is ahead gets no turn, and quanta may be as short as a
//!   block. After a transfer the limit is *m*: a CPU that got a line passes its turn on unless it
//!   is still behind all others. The contended quantum applies for a while after a transfer, then
//!   the private one.
//!
//! A halted CPU has no turns. So a CPU counts as busy if it has had a turn since this CPU's
//! previous turn. A CPU that was passed over while another CPU had two turns was idle. It starts at
//! the *virtual time*, the highest value so far of the lowest busy clock.
//!
//! A CPU that pauses waits for another CPU, has checked once, and would have kept checking. So when
//! its next turn comes, its clock is advanced to that of the slowest CPU that does not wait. So is
//! the clock of a CPU that halted and was woken before it was passed over. The checks in between
//! are not counted; they would have found the same as the first one.
//!
//! When all CPUs are idle, nothing happens until the next timer. The virtual time then skips ahead
//! to it.
//!
//! With [`Delays`] the clocks follow hardware more closely. A line moves when a request for it has
//! arrived ([`Ownership`]). A CPU that got a line may run ahead of the slowest by the time of a
//! request, because no other CPU's next action reaches it earlier. A CPU that pauses in a loop
//! notices at once that it lost a line. Atomic operations, interrupts, entries into the kernel, and
//! waking up take time.

use crate::overlap::Overlap;
use crate::ownership::{Move, Ownership, Request};
use crate::settled::{Settled, Words};
use faultline_coherence::Delays;

/// Distances that a CPU may run ahead of the slowest busy one, in clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Quanta {
    /// Distance for a while after a transfer, and after becoming busy.
    pub(crate) contended: u64,
    /// Distance after that; also the length of that while.
    pub(crate) private: u64,
}

/// The way in which turns end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Grain {
    /// After a block; the quantum of all CPUs.
    Coarse(u64),
    /// Before a block.
    Fine(Quanta),
}

/// The decision about a block that is about to begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// The block runs.
    Runs,
    /// The block runs, and the turn ends after it.
    Last,
    /// The block does not run now; the turn ends at once.
    Refused,
}

/// The CPUs' clocks and turns.
#[derive(Debug)]
pub(crate) struct Turns {
    grain: Grain,
    /// The CPU whose turn it is; [`NO_CPU`] at the start.
    current: usize,
    /// Its clock, and the clock at which its turn is to end.
    words: &'static Words,
    /// Its clock at the start of its turn.
    began: u64,
    /// The lowest clock of the other busy CPUs when the turn began; `u64::MAX` if there were none.
    slowest_other: u64,
    /// The clock from which its private quantum applies.
    private_from: u64,
    /// The end of its turn has been requested.
    is_ending: bool,
    /// The end was requested at the start of the turn.
    is_ended_at_once: bool,
    /// The CPU pauses or halts, and has not begun another block since.
    is_waiting: bool,
    /// The CPU halts, and has not begun another block since.
    is_halting: bool,
    /// Number of turns so far.
    turns: u64,
    virtual_time: u64,
    cpus: Box<[Stand]>,
    /// The clock since which it paused before this turn; `None` if it did not pause, or if a line
    /// has moved to it since.
    waited_from: Option<u64>,
    delays: Delays,
    ownership: Ownership,
    spent: Spent,
    /// Accesses that CPUs may repeat.
    pub(crate) settled: Settled,
    /// The times when CPUs were busy.
    pub(crate) overlap: Overlap,
}

/// Clocks of all CPUs together, by use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Spent {
    /// Transfers and capacity misses.
    pub(crate) transfers: u64,
    /// Waiting for a line that another CPU still uses.
    pub(crate) holds: u64,
    /// Waiting in loops that pause.
    pub(crate) waits: u64,
    /// Atomic operations.
    pub(crate) atomics: u64,
    /// Waking halted CPUs.
    pub(crate) wakes: u64,
    /// Delivering interrupts.
    pub(crate) interrupts: u64,
    /// Entering the kernel and returning from it.
    pub(crate) entries: u64,
    /// Number of times that a halted CPU was woken.
    pub(crate) times_woken: u64,
    /// Number of interrupts that began; 0 if interrupts are not recognised.
    pub(crate) times_interrupted: u64,
}

/// The state of a CPU after its last turn.
#[derive(Debug, Clone, Copy, Default)]
struct Stand {
    clock: u64,
    /// The number of its last turn; 0 if it had none since stepping began.
    turn: u64,
    /// The number of the turn before that, likewise.
    turn_before: u64,
    /// The CPU paused or halted at the end of its last turn.
    waits: bool,
    /// The CPU halted, and has not been woken yet.
    is_halted: bool,
    /// The clock from which the private quantum applies.
    private_from: u64,
    /// Its last turn ended before a block that was refused, and it has executed nothing since.
    is_refused: bool,
}

const NO_CPU: usize = usize::MAX;

impl Turns {
    /// The turns of `cpus` CPUs.
    pub(crate) fn new(cpus: usize, grain: Grain) -> Self {
        let settled = Settled::new(cpus);
        Turns {
            grain,
            current: NO_CPU,
            words: settled.of_no_cpu(),
            began: 0,
            slowest_other: u64::MAX,
            private_from: 0,
            is_ending: false,
            is_ended_at_once: false,
            is_waiting: false,
            is_halting: false,
            turns: 0,
            virtual_time: 0,
            cpus: vec![Stand::default(); cpus].into(),
            waited_from: None,
            delays: Delays::default(),
            ownership: Ownership::default(),
            spent: Spent::default(),
            settled,
            overlap: Overlap::new(),
        }
    }

    /// Sets the delays.
    pub(crate) fn with(self, delays: Delays) -> Self {
        Turns { delays, ..self }
    }

    /// The use of the clocks so far.
    pub(crate) fn spent(&self) -> Spent {
        self.spent
    }

    /// Begins stepping. The busy CPUs follow from their turns. Previously settled accesses are no
    /// longer settled.
    pub(crate) fn begin(&mut self) {
        self.settled.clear();
        self.ownership.clear();
        self.forget_turns();
    }

    fn forget_turns(&mut self) {
        for cpu in &mut self.cpus {
            (cpu.turn, cpu.turn_before, cpu.is_refused) = (0, 0, false);
        }
    }

    /// Ends stepping: no CPU has the turn.
    pub(crate) fn end(&mut self) {
        self.put_down();
        (self.current, self.words) = (NO_CPU, self.settled.of_no_cpu());
    }

    /// Skips the virtual time ahead while all CPUs are idle. Each CPU starts there at its next
    /// turn.
    pub(crate) fn skip(&mut self, clocks: u64) {
        self.end();
        self.forget_turns();
        self.virtual_time += clocks;
    }

    /// The highest value so far of the lowest clock of the busy CPUs.
    pub(crate) fn virtual_time(&self) -> u64 {
        self.virtual_time
    }

    /// Notes that a CPU is about to begin a block of that many instructions. If the block runs, the
    /// CPU's clock advances by them.
    #[inline]
    pub(crate) fn advance(&mut self, cpu: usize, instructions: u64) -> Step {
        if cpu == self.current && self.now() < self.words.limit.get() {
            self.spend(instructions);
            return Step::Runs;
        }
        let step = self.step(cpu);
        if step != Step::Refused {
            self.spend(instructions);
        }
        step
    }

    /// Begins the turn of a CPU that is ready to run, if its last turn ended before a block that
    /// was refused, and would be refused again: then the turn has ended, and this returns true.
    pub(crate) fn skips(&mut self, cpu: usize) -> bool {
        // Otherwise the next block is not known, or may not even be mapped.
        self.cpus.get(cpu).is_some_and(|stand| stand.is_refused) && self.advance(cpu, 0) == Step::Refused
    }

    /// The current CPU's clock.
    #[inline]
    fn now(&self) -> u64 {
        self.words.clock.get()
    }

    /// Advances the current CPU's clock.
    #[inline]
    fn spend(&self, clocks: u64) {
        self.words.clock.set(self.now() + clocks);
    }

    /// Notes that a CPU is about to pause or to halt, which ends its turn.
    pub(crate) fn wait(&mut self, cpu: usize, halts: bool) {
        if cpu == self.current {
            self.is_waiting = true;
            self.is_halting = halts;
            // Its next block does not belong to this turn, even if no other CPU had a turn in
            // between.
            self.words.limit.set(0);
        }
    }

    /// True if another CPU had the last turn.
    pub(crate) fn is_over(&self, cpu: usize) -> bool {
        self.current != cpu
    }

    /// The line of an access, if it is the CPU's turn and the access is settled.
    #[inline]
    pub(crate) fn settled_line(&mut self, cpu: usize, address: u64, size: u8, writes: bool) -> Option<u64> {
        if self.current == cpu { self.settled.line(cpu, address, size, writes) } else { None }
    }

    /// Adds the cost of an access of the current CPU: 0, or that of a transfer. `writes`: it got
    /// the line to write.
    #[inline]
    pub(crate) fn pay(&mut self, cost: u64, line: u64, writes: bool) {
        if cost != 0 {
            self.pay_transfer(cost, line, writes);
        }
    }

    fn pay_transfer(&mut self, cost: u64, line: u64, writes: bool) {
        self.spent.transfers += cost;
        let request_time = self.delays.request_time(cost);
        match self.delays.request_percent {
            0 => self.spend(cost),
            _ => self.request(cost, line, writes, request_time),
        }
        if let Grain::Fine(quanta) = self.grain {
            let limit = self.words.limit.get();
            self.words.limit.set(match request_time {
                0 => limit.min(self.slowest_other),
                _ if self.slowest_other == u64::MAX => limit,
                // The slowest may request the line next, and its request takes as long.
                _ => self.slowest_other.saturating_add(quanta.contended.max(request_time)),
            });
            self.private_from = self.now().saturating_add(quanta.private);
        }
    }

    /// Requests a line for the current CPU, and waits until it has arrived.
    fn request(&mut self, cost: u64, line: u64, writes: bool, request_time: u64) {
        let waits_from = self.waited_from.take();
        let request = Request { line, cpu: self.current, at: self.now(), waits_from, cost, request_time, writes };
        let Move { requested, arrived } = self.ownership.transfer(request);
        self.spent.holds += arrived - requested - cost;
        self.words.clock.set(arrived);
        self.began = self.began.min(requested);
    }

    /// Adds the time of an atomic read-modify-write of the current CPU.
    #[inline]
    pub(crate) fn pay_atomic(&mut self, line: u64) {
        if self.delays.request_percent != 0 {
            self.spend(self.delays.atomic);
            self.spent.atomics += self.delays.atomic;
            self.ownership.note_use(line, self.current, self.now());
        }
    }

    /// Adds the time of an interrupt whose handler the current CPU begins.
    pub(crate) fn pay_interrupt(&mut self) {
        self.spend(self.delays.interrupt);
        self.spent.interrupts += self.delays.interrupt;
        self.spent.times_interrupted += 1;
    }

    /// Adds the time of an entry of the current CPU into the kernel from user mode.
    pub(crate) fn pay_entry(&mut self) {
        self.spend(self.delays.entry);
        self.spent.entries += self.delays.entry;
    }

    /// A CPU's clock.
    pub(crate) fn clock(&self, cpu: usize) -> u64 {
        if cpu == self.current { self.now() } else { self.cpus[cpu].clock }
    }

    /// Handles a turn that has begun or reached its limit.
    #[cold]
    fn step(&mut self, cpu: usize) -> Step {
        let at_limit = match self.grain {
            Grain::Coarse(_) => Step::Last,
            Grain::Fine(_) => Step::Refused,
        };
        if cpu == self.current && !self.is_ending && !self.is_waiting {
            self.is_ending = true;
            self.cpus[cpu].is_refused = at_limit == Step::Refused;
            return at_limit;
        }
        self.put_down();
        self.take_up(cpu);
        self.is_ended_at_once = self.now() >= self.words.limit.get();
        self.is_ending = self.is_ended_at_once;
        let step = if self.is_ending { at_limit } else { Step::Runs };
        self.cpus[cpu].is_refused = step == Step::Refused;
        step
    }

    /// The quantum of the current CPU.
    fn quantum(&self) -> u64 {
        match self.grain {
            Grain::Coarse(quantum) => quantum,
            // At least 1, so that the slowest CPU always runs.
            Grain::Fine(quanta) if self.now() < self.private_from => quanta.contended.max(1),
            Grain::Fine(quanta) => quanta.private.max(1),
        }
    }

    /// Ends the current CPU's turn.
    fn put_down(&mut self) {
        if let Some(stand) = self.cpus.get_mut(self.current) {
            stand.clock = self.words.clock.get();
            stand.private_from = self.private_from;
            // A CPU whose turn ended at the start may have had no time to show that it waits; it
            // keeps its previous state.
            stand.waits = self.is_waiting || self.is_ended_at_once && stand.waits;
            stand.is_halted |= self.is_halting;
            self.overlap.note(self.current, self.began, self.words.clock.get());
            self.settled.hide(self.current);
        }
    }

    /// Begins a CPU's turn.
    fn take_up(&mut self, cpu: usize) {
        let before = self.cpus[cpu];
        (self.is_waiting, self.is_halting, self.waited_from) = (false, false, None);
        self.turns += 1;
        (self.cpus[cpu].turn, self.cpus[cpu].turn_before) = (self.turns, before.turn);
        (self.current, self.private_from) = (cpu, before.private_from);
        self.words = self.settled.show(cpu);
        self.words.clock.set(before.clock);
        // Between two turns of a CPU that stays busy, each other CPU has at most one turn. So if
        // another CPU has had two turns since this one's last, this one was passed over.
        let passed_over = self.cpus.iter().map(|cpu| cpu.turn_before).max().unwrap_or(0);
        let was_idle = before.turn == 0 || before.turn < passed_over;
        let since = before.turn.max(passed_over);
        let others = self.cpus.iter().filter(|other| other.turn > since && other.turn != self.turns);
        let least = others.clone().map(|other| other.clock).min();
        if was_idle {
            self.words.clock.set(self.now().max(self.virtual_time));
        } else if before.waits {
            self.waited_from = Some(before.clock).filter(|_| !before.is_halted);
            let least_at_work = others.filter(|other| !other.waits).map(|other| other.clock).min();
            let waited = least_at_work.unwrap_or(0).saturating_sub(self.now());
            self.spend(waited);
            self.spent.waits += if before.is_halted { 0 } else { waited };
        }
        if std::mem::take(&mut self.cpus[cpu].is_halted) {
            self.spend(self.delays.wake);
            self.spent.wakes += self.delays.wake;
            self.spent.times_woken += 1;
        }
        self.began = self.now();
        let slowest = least.unwrap_or(self.now()).min(self.now());
        self.virtual_time = self.virtual_time.max(slowest);
        self.slowest_other = least.unwrap_or(u64::MAX);
        self.words.limit.set(least.unwrap_or(self.now()).saturating_add(self.quantum()));
    }
}

#[cfg(test)]
mod tests;
