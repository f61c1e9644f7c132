// SPDX-License-Identifier: GPL-2.0-or-later
//! Keeps CPUs in step by virtual clocks: no CPU runs ahead of the slowest busy one by more than a quantum. Knows
//! nothing of QEMU.
//!
//! A CPU's clock counts its instructions and the cost of its transfers. Let *m* be the lowest clock of the other busy
//! CPUs. A CPU may continue while its own clock is below *m* + quantum; at exactly that value, the CPU with the lower
//! number continues. So a quantum of 0 puts all CPUs into one order, and one runs at a time. A CPU that may not
//! continue sleeps until another CPU changes that and wakes it.
//!
//! There are two quanta, because a hand-over between host threads costs thousands of times as much as an instruction.
//! The order of accesses matters where lines are contended, and there lines move. So the small quantum applies to a CPU
//! as long as its last transfer is no longer ago than the large quantum. After that the large one applies.
//!
//! A waiting CPU is released when it may run for half a quantum or is itself the slowest: a wake-up for less would cost
//! more than the CPU then runs. The CPU that releases it also sets its limit, so it need not ask again.
//!
//! Idle CPUs hold up nobody. A CPU that becomes busy starts at the *virtual time*, the highest value so far of the
//! lowest busy clock: it was idle until then.
//!
//! A CPU that another CPU has just made busy (a sleeping thread that is woken, a new thread) does not run until the
//! host schedules it. By then the others might have finished all contended work. So it is *expected*: until it arrives,
//! no CPU runs ahead of the clock at which it was woken by more than a quantum, for [`PATIENCE_WITH_EXPECTED`] ticks at
//! most.
//!
//! Every wait is bounded. A CPU that waits inside the emulator prevents the emulator from stopping all CPUs. The
//! emulator must do that now and then, and the slowest CPU may be waiting for it. So if the slowest CPU has not moved
//! for a [`TICK`], a waiting CPU continues for one translation block out of turn; this is counted. If it has not moved
//! for as many ticks as make up the stall time, stepping is given up. Ticks are counted, not read from a clock, so a
//! process that is stopped and continued does not look like one that stalls.
//!
//! Clocks and limits are atomics with relaxed ordering, because no other data depends on their values. A clock is
//! written only by its CPU and only grows. An old value seen by another CPU makes that CPU wait longer, never run too
//! far. Every step passes through the mutex, which brings the values up to date. A CPU that sees a limit late runs a
//! block or two more.

use crate::overlap::{Overlap, Times};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// How long a CPU waits for the slowest to move before it continues for one block. It covers several time slices of a
/// host's scheduler.
const TICK: Duration = Duration::from_millis(20);

/// Number of ticks for which CPUs wait for expected ones. A CPU that comes later has been held up by something else.
const PATIENCE_WITH_EXPECTED: u64 = 10;

/// Represents the expected CPUs. It comes after all others with the same clock.
const EXPECTED: usize = usize::MAX;

/// The CPUs' clocks, and who waits.
#[derive(Debug)]
pub(crate) struct Lockstep {
    quanta: Quanta,
    /// Number of ticks in the stall time.
    patience: u64,
    slots: Box<[Slot]>,
    state: Mutex<State>,
}

/// How far a CPU may run ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Quanta {
    /// For a while after a transfer, and after becoming busy.
    pub(crate) contended: u64,
    /// After that. It is also the length of that while.
    pub(crate) private: u64,
}

/// The data of one CPU, on separate cache lines.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Slot {
    clock: AtomicU64,
    /// Below this clock the CPU continues without asking.
    limit: AtomicU64,
    /// From this clock on the private quantum applies.
    private_from: AtomicU64,
    /// The slowest other CPU's clock when the limit was set. A quantum above it, this CPU must stop.
    slowest: AtomicU64,
    /// While this CPU wakes others: 1 + the number of arrivals when it began to. Otherwise 0.
    woke_from: AtomicU64,
    /// Set by the thread that ends the CPU's wait.
    is_let_go: AtomicBool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Status {
    #[default]
    Idle,
    /// Runs, or has been released.
    Running,
    Waiting,
}

#[derive(Debug, Clone, Copy, Default)]
struct Patience {
    /// The slowest CPU at the start of the count.
    slowest: Option<Turn>,
    ticks: u64,
}

/// A busy CPU with its clock, ordered by which one goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Turn {
    clock: u64,
    cpu: usize,
}

/// The two slowest busy CPUs.
#[derive(Debug, Clone, Copy, Default)]
struct Front {
    slowest: Option<Turn>,
    next: Option<Turn>,
}

impl Front {
    fn add(&mut self, turn: Turn) {
        if self.slowest.is_none_or(|slowest| turn < slowest) {
            self.next = self.slowest.replace(turn);
        } else if self.next.is_none_or(|next| turn < next) {
            self.next = Some(turn);
        }
    }

    /// The slowest CPU other than `cpu`.
    fn before(&self, cpu: usize) -> Option<Turn> {
        self.slowest.filter(|slowest| slowest.cpu != cpu).or(self.next)
    }
}

#[derive(Debug)]
struct State {
    is_stepping: bool,
    status: Box<[Status]>,
    patience: Box<[Patience]>,
    /// The threads of waiting CPUs.
    sleepers: Box<[Option<Thread>]>,
    /// Threads to wake after the mutex is released.
    to_wake: Vec<Thread>,
    /// How often a CPU has become busy.
    arrivals: u64,
    /// Number of CPUs that are expected to become busy, and the lowest clock at which one of them was woken.
    expected: u32,
    expected_at: u64,
    /// CPUs from this number on have never been busy.
    end: usize,
    virtual_time: u64,
    forced: u64,
    stall: Option<Stall>,
    overlap: Overlap,
    /// For each busy CPU, the clock up to which `overlap` has it.
    noted: Box<[u64]>,
}

impl State {
    /// A CPU was busy up to a clock.
    fn note_busy(&mut self, cpu: usize, clock: u64) {
        self.overlap.note(cpu, self.noted[cpu], clock);
        self.noted[cpu] = clock;
    }
}

/// Stepping was given up: a CPU made no progress while others waited for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stall {
    /// The CPU that made no progress.
    pub(crate) cpu: usize,
    /// Its clock.
    pub(crate) clock: u64,
}

/// Statistics of stepping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stepping {
    /// How often a CPU continued for one block out of turn.
    pub(crate) forced: u64,
    /// Set if stepping was given up.
    pub(crate) stall: Option<Stall>,
}

impl Lockstep {
    /// For `cpus` CPUs, none of them busy; not stepping yet.
    pub(crate) fn new(cpus: usize, quanta: Quanta, stall: Duration) -> Self {
        Lockstep {
            quanta,
            patience: stall.as_millis().div_ceil(TICK.as_millis()).max(1) as u64,
            slots: (0..cpus).map(|_| Slot::default()).collect(),
            state: Mutex::new(State {
                is_stepping: false,
                status: vec![Status::Idle; cpus].into(),
                patience: vec![Patience::default(); cpus].into(),
                sleepers: vec![None; cpus].into(),
                to_wake: Vec::new(),
                arrivals: 0,
                expected: 0,
                expected_at: 0,
                end: 0,
                virtual_time: 0,
                forced: 0,
                stall: None,
                overlap: Overlap::new(),
                noted: vec![0; cpus].into(),
            }),
        }
    }

    /// Begins stepping with the CPUs in `busy`. All others count as idle until they run.
    pub(crate) fn begin(&self, busy: impl IntoIterator<Item = usize>) {
        self.with(|state| {
            state.is_stepping = state.stall.is_none();
            state.status.fill(Status::Idle);
            state.expected = 0;
            for cpu in 0..self.slots.len() {
                self.set_limit(cpu, 0);
            }
            for cpu in busy {
                self.enter(state, cpu);
            }
        });
    }

    /// Ends stepping; waiting CPUs continue.
    pub(crate) fn end(&self) {
        self.with(|state| {
            for cpu in (0..state.end).filter(|&cpu| state.status[cpu] != Status::Idle).collect::<Vec<_>>() {
                state.note_busy(cpu, self.clock(cpu));
            }
            self.release(state);
        });
    }

    /// Adds a block's instructions to a CPU's clock, and waits for its turn if necessary. Only the thread that runs the
    /// CPU may call it. If this call gave up stepping, returns the stall.
    pub(crate) fn advance(&self, cpu: usize, instructions: u64) -> Option<Stall> {
        let slot = &self.slots[cpu];
        // Relaxed, all three: see the comment at the top.
        let clock = slot.clock.load(Relaxed) + instructions;
        slot.clock.store(clock, Relaxed);
        if clock < slot.limit.load(Relaxed) { None } else { self.step(cpu) }
    }

    /// Adds the cost of a transfer. From now on the small quantum applies, so the limit may move closer. Only the
    /// thread that runs the CPU may call it.
    pub(crate) fn pay(&self, cpu: usize, cost: u64) {
        let slot = &self.slots[cpu];
        // Relaxed, all: see the comment at the top. A limit that another CPU sets at the same moment may get lost; the
        // next one is not.
        let clock = slot.clock.load(Relaxed) + cost;
        slot.clock.store(clock, Relaxed);
        if self.quanta.contended == self.quanta.private {
            return;
        }
        slot.private_from.store(clock.saturating_add(self.quanta.private), Relaxed);
        let limit = slot.slowest.load(Relaxed).saturating_add(self.quanta.contended);
        if limit < slot.limit.load(Relaxed) {
            slot.limit.store(limit, Relaxed);
        }
    }

    /// The CPU may sleep from now on. It is busy again when it advances.
    pub(crate) fn rest(&self, cpu: usize) {
        self.with(|state| {
            if state.status[cpu] == Status::Idle {
                return;
            }
            state.status[cpu] = Status::Idle;
            state.note_busy(cpu, self.clock(cpu));
            // Its next block asks for permission, and thereby makes it busy.
            self.set_limit(cpu, 0);
            if self.front(state).slowest.is_none() {
                state.virtual_time = state.virtual_time.max(self.clock(cpu));
            }
            self.let_go_all(state);
        });
    }

    /// The CPU may make others busy from now on.
    pub(crate) fn begin_waking(&self, cpu: usize) {
        let arrivals = self.with(|state| state.arrivals);
        // Relaxed: only this CPU's thread uses it.
        self.slots[cpu].woke_from.store(arrivals + 1, Relaxed);
    }

    /// The CPU has made `woken` others busy; some of them may have arrived already. Does nothing without a preceding
    /// `begin_waking`.
    pub(crate) fn end_waking(&self, cpu: usize, woken: u32) {
        // Relaxed: as above.
        let Some(from) = self.slots[cpu].woke_from.swap(0, Relaxed).checked_sub(1) else { return };
        self.with(|state| {
            let there = u32::try_from(state.arrivals - from).unwrap_or(u32::MAX);
            let expected = woken.saturating_sub(there);
            if expected == 0 {
                return;
            }
            let clock = self.clock(cpu);
            state.expected_at = if state.expected == 0 { clock } else { state.expected_at.min(clock) };
            state.expected = state.expected.saturating_add(expected);
            // Running CPUs must check again: their limits do not consider the expected ones.
            for other in (0..state.end).filter(|&other| state.status[other] == Status::Running) {
                self.set_limit(other, 0);
            }
        });
    }

    /// A CPU's clock.
    pub(crate) fn clock(&self, cpu: usize) -> u64 {
        // Relaxed: see the comment at the top.
        self.slots[cpu].clock.load(Relaxed)
    }

    /// When CPUs were busy.
    pub(crate) fn times(&self) -> Times {
        self.with(|state| state.overlap.times())
    }

    /// Statistics so far.
    pub(crate) fn stepping(&self) -> Stepping {
        self.with(|state| Stepping { forced: state.forced, stall: state.stall })
    }

    /// Runs `action` on the state, then wakes the threads that may continue. After a panic elsewhere the state is still
    /// usable: no change to it is left half done.
    fn with<R>(&self, action: impl FnOnce(&mut State) -> R) -> R {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let result = action(&mut state);
        let to_wake = std::mem::take(&mut state.to_wake);
        drop(state);
        to_wake.iter().for_each(Thread::unpark);
        result
    }

    #[cold]
    fn step(&self, cpu: usize) -> Option<Stall> {
        let mut goes_on = self.with(|state| self.ask(state, cpu));
        let mut stall = None;
        while !goes_on {
            goes_on = self.sleep(cpu) || self.with(|state| self.lose_patience(state, cpu, &mut stall));
        }
        stall
    }

    /// A CPU has reached its limit. Returns whether it may continue; otherwise it must sleep.
    fn ask(&self, state: &mut State, cpu: usize) -> bool {
        self.enter(state, cpu);
        if state.is_stepping {
            state.note_busy(cpu, self.clock(cpu));
        }
        let front = self.let_go_all(state);
        if !state.is_stepping {
            self.set_limit(cpu, u64::MAX);
            return true;
        }
        if self.may_run(&front, cpu) {
            self.let_run(&front, cpu);
            return true;
        }
        state.status[cpu] = Status::Waiting;
        state.sleepers[cpu] = Some(thread::current());
        // Relaxed: it is set again only under the mutex.
        self.slots[cpu].is_let_go.store(false, Relaxed);
        self.watch(state, cpu);
        false
    }

    /// Sleeps until released, or for a tick. Returns whether it was released.
    fn sleep(&self, cpu: usize) -> bool {
        let began = Instant::now();
        loop {
            // Relaxed: the wake-up orders it, and a release that is seen late is found in the next check.
            if self.slots[cpu].is_let_go.load(Relaxed) {
                return true;
            }
            match TICK.checked_sub(began.elapsed()) {
                Some(left) if !left.is_zero() => thread::park_timeout(left),
                _ => return false,
            }
        }
    }

    /// A tick has passed. Returns whether the CPU continues: it was released just now, or nothing else moves.
    fn lose_patience(&self, state: &mut State, cpu: usize, stall: &mut Option<Stall>) -> bool {
        if state.status[cpu] != Status::Waiting {
            return true;
        }
        // Clocks may have advanced since the last check.
        let front = self.let_go_all(state);
        if state.status[cpu] != Status::Waiting {
            return true;
        }
        if self.watch(state, cpu) {
            return false;
        }
        let held_by_expected = front.slowest.is_some_and(|slowest| slowest.cpu == EXPECTED);
        if held_by_expected && state.patience[cpu].ticks + 1 >= PATIENCE_WITH_EXPECTED {
            state.expected = 0;
            self.let_go_all(state);
            return state.status[cpu] != Status::Waiting;
        }
        *stall = self.force(state, cpu);
        true
    }

    /// Makes an idle CPU busy. CPUs that run without a limit, or with a later one, must check sooner.
    fn enter(&self, state: &mut State, cpu: usize) {
        if state.status[cpu] != Status::Idle {
            return;
        }
        state.status[cpu] = Status::Running;
        state.end = state.end.max(cpu + 1);
        state.arrivals += 1;
        state.expected = state.expected.saturating_sub(1);
        let clock = self.clock(cpu).max(state.virtual_time);
        // Relaxed: see the comment at the top.
        self.slots[cpu].clock.store(clock, Relaxed);
        state.noted[cpu] = clock;
        // Relaxed: see the comment at the top. Threads that begin together mostly wait for a message from one of them.
        // When it comes, their clocks should not be as far apart as the host's scheduling makes them.
        self.slots[cpu].private_from.store(clock.saturating_add(self.quanta.private), Relaxed);
        for other in (0..state.end).filter(|&other| other != cpu && state.status[other] == Status::Running) {
            let bound = self.ahead_of(Turn { clock, cpu }, other);
            // Relaxed, both: limits change only under the mutex.
            if bound < self.slots[other].limit.load(Relaxed) {
                // Relaxed: see the comment at the top.
                self.slots[other].slowest.store(clock, Relaxed);
                self.set_limit(other, bound);
            }
        }
    }

    /// The two slowest busy CPUs.
    fn front(&self, state: &State) -> Front {
        let mut front = Front::default();
        for cpu in (0..state.end).filter(|&cpu| state.status[cpu] != Status::Idle) {
            front.add(Turn { clock: self.clock(cpu), cpu });
        }
        if state.expected > 0 {
            front.add(Turn { clock: state.expected_at, cpu: EXPECTED });
        }
        front
    }

    fn quantum(&self, cpu: usize) -> u64 {
        // Relaxed: see the comment at the top.
        let is_private = self.clock(cpu) >= self.slots[cpu].private_from.load(Relaxed);
        if is_private { self.quanta.private } else { self.quanta.contended }
    }

    /// `cpu` may run below this clock while `slowest` stays where it is.
    fn ahead_of(&self, slowest: Turn, cpu: usize) -> u64 {
        slowest.clock.saturating_add(self.quantum(cpu)).saturating_add(u64::from(cpu < slowest.cpu))
    }

    /// `cpu` may run below this clock.
    fn bound(&self, front: &Front, cpu: usize) -> u64 {
        front.before(cpu).map_or(u64::MAX, |slowest| self.ahead_of(slowest, cpu))
    }

    /// Whether releasing `cpu` is worth the cost.
    fn may_run(&self, front: &Front, cpu: usize) -> bool {
        let left = self.bound(front, cpu).saturating_sub(self.clock(cpu));
        left >= (self.quantum(cpu) / 2).max(1) || front.slowest.is_some_and(|slowest| slowest.cpu == cpu)
    }

    /// Sets a CPU's limit. It asks again after at most a quantum, because others may be able to continue by then.
    fn let_run(&self, front: &Front, cpu: usize) {
        let bound = self.bound(front, cpu);
        let quantum = self.quantum(cpu);
        let is_bare = bound == u64::MAX || quantum == 0;
        let limit = if is_bare { bound } else { bound.min(self.clock(cpu).saturating_add(quantum)) };
        // Relaxed: see the comment at the top.
        self.slots[cpu].slowest.store(front.before(cpu).map_or(u64::MAX, |slowest| slowest.clock), Relaxed);
        self.set_limit(cpu, limit);
    }

    fn set_limit(&self, cpu: usize, limit: u64) {
        // Relaxed: see the comment at the top.
        self.slots[cpu].limit.store(limit, Relaxed);
    }

    /// Releases all waiting CPUs that may run. Returns the two slowest CPUs.
    fn let_go_all(&self, state: &mut State) -> Front {
        let front = self.front(state);
        let Some(slowest) = front.slowest else { return front };
        state.virtual_time = state.virtual_time.max(slowest.clock);
        for cpu in 0..state.end {
            if state.status[cpu] == Status::Waiting && self.may_run(&front, cpu) {
                self.let_run(&front, cpu);
                self.let_go(state, cpu);
            }
        }
        front
    }

    fn let_go(&self, state: &mut State, cpu: usize) {
        state.status[cpu] = Status::Running;
        // Relaxed: see `sleep`.
        self.slots[cpu].is_let_go.store(true, Relaxed);
        state.to_wake.extend(state.sleepers[cpu].take());
    }

    /// Whether the slowest CPU has moved since `cpu` last checked. Records where it is now.
    fn watch(&self, state: &mut State, cpu: usize) -> bool {
        let slowest = self.front(state).slowest;
        let moved = state.patience[cpu].slowest != slowest;
        if moved {
            state.patience[cpu] = Patience { slowest, ticks: 0 };
        }
        moved
    }

    /// Lets a CPU continue for one block out of turn, or gives up stepping.
    fn force(&self, state: &mut State, cpu: usize) -> Option<Stall> {
        state.forced += 1;
        state.status[cpu] = Status::Running;
        self.set_limit(cpu, self.clock(cpu) + 1);
        let patience = &mut state.patience[cpu];
        patience.ticks += 1;
        let slowest = patience.slowest.filter(|_| patience.ticks >= self.patience)?;
        let stall = Stall { cpu: slowest.cpu, clock: slowest.clock };
        state.stall = Some(stall);
        self.release(state);
        Some(stall)
    }

    fn release(&self, state: &mut State) {
        state.is_stepping = false;
        for cpu in 0..self.slots.len() {
            self.set_limit(cpu, u64::MAX);
            if state.status[cpu] == Status::Waiting {
                self.let_go(state, cpu);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn same(quantum: u64) -> Quanta {
        Quanta { contended: quantum, private: quantum }
    }

    /// Steps CPUs with the given costs per block until each has done `blocks`. Returns the order of the blocks.
    fn run(quantum: u64, costs: &[u64], blocks: usize) -> Vec<usize> {
        let lockstep = Lockstep::new(costs.len(), same(quantum), LONG);
        lockstep.begin(0..costs.len());
        let order = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for (cpu, &cost) in costs.iter().enumerate() {
                let (lockstep, order) = (&lockstep, &order);
                scope.spawn(move || {
                    for _ in 0..blocks {
                        lockstep.advance(cpu, cost);
                        order.lock().unwrap().push(cpu);
                    }
                    lockstep.rest(cpu);
                });
            }
        });
        assert_eq!(lockstep.stepping(), Stepping { forced: lockstep.stepping().forced, stall: None });
        order.into_inner().unwrap()
    }

    #[test]
    fn blocks_come_in_the_order_of_the_clocks() {
        let order = run(1, &[10, 10, 10, 10], 200);
        let mut done = [0i64; 4];
        for cpu in order {
            done[cpu] += 1;
            let spread = done.iter().max().unwrap() - done.iter().min().unwrap();
            assert!(spread <= 2, "{done:?}");
        }
    }

    #[test]
    fn a_cpu_with_dearer_blocks_does_fewer() {
        let order = run(10, &[10, 100], 300);
        let until_first_is_done = order.iter().rposition(|&cpu| cpu == 0).unwrap();
        let by_second = order[..until_first_is_done].iter().filter(|&&cpu| cpu == 1).count();
        assert!((25..=35).contains(&by_second), "{by_second}");
    }

    #[test]
    fn an_idle_cpu_holds_nobody_up_and_starts_where_the_others_are() {
        let lockstep = Lockstep::new(2, same(10), LONG);
        lockstep.begin([]);
        lockstep.advance(1, 5);
        lockstep.rest(1);
        lockstep.advance(0, 1000);
        lockstep.advance(0, 1000);
        lockstep.advance(1, 5);
        assert!(lockstep.clock(1) >= 1000, "{}", lockstep.clock(1));
        assert_eq!(lockstep.stepping().forced, 0);
    }

    #[test]
    fn a_cpu_that_is_expected_is_waited_for_but_not_for_ever() {
        let lockstep = Lockstep::new(2, same(10), LONG);
        lockstep.begin([]);
        lockstep.advance(0, 100);
        lockstep.begin_waking(0);
        lockstep.end_waking(0, 1);
        thread::scope(|scope| {
            let runs = scope.spawn(|| lockstep.advance(0, 500));
            thread::sleep(TICK / 10);
            assert!(!runs.is_finished());
            lockstep.advance(1, 7);
            assert_eq!(lockstep.clock(1), 100);
            lockstep.rest(1);
            runs.join().unwrap();
        });
        lockstep.begin_waking(0);
        lockstep.end_waking(0, 3);
        for _ in 0..20 {
            assert_eq!(lockstep.advance(0, 500), None);
        }
        assert_eq!(lockstep.stepping().forced, PATIENCE_WITH_EXPECTED - 1);
    }

    #[test]
    fn who_is_there_already_is_not_expected() {
        let lockstep = Lockstep::new(2, same(10), LONG);
        lockstep.begin([]);
        lockstep.advance(0, 100);
        lockstep.begin_waking(0);
        lockstep.advance(1, 7);
        lockstep.rest(1);
        lockstep.end_waking(0, 1);
        assert_eq!(lockstep.advance(0, 5000), None);
        assert_eq!(lockstep.stepping().forced, 0);
    }

    #[test]
    fn a_cpu_that_stands_still_ends_the_stepping() {
        let lockstep = Lockstep::new(2, same(10), Duration::from_millis(100));
        lockstep.begin([]);
        lockstep.advance(1, 7);
        let stall = (0..1000).find_map(|_| lockstep.advance(0, 100));
        assert_eq!(stall, Some(Stall { cpu: 1, clock: 7 }));
        assert_eq!(lockstep.stepping().forced, 5);
        assert_eq!(lockstep.advance(0, 1_000_000), None);
    }

    #[test]
    fn the_end_lets_those_go_who_wait() {
        let lockstep = Lockstep::new(2, same(10), LONG);
        lockstep.begin([]);
        lockstep.advance(1, 7);
        let is_through = AtomicBool::new(false);
        thread::scope(|scope| {
            let waits = scope.spawn(|| {
                lockstep.advance(0, 1000);
                // Relaxed: joining the thread orders it.
                is_through.store(true, Relaxed);
            });
            lockstep.end();
            waits.join().unwrap();
        });
        assert!(is_through.load(Relaxed));
        lockstep.advance(0, 1 << 40);
    }

    #[test]
    fn a_cpu_without_transfers_may_run_further_ahead() {
        let lockstep = Lockstep::new(2, Quanta { contended: 10, private: 1000 }, Duration::from_millis(1));
        lockstep.begin([]);
        lockstep.advance(0, 2000);
        lockstep.advance(0, 1000);
        lockstep.advance(1, 0);
        assert_eq!((lockstep.clock(0), lockstep.clock(1)), (3000, 2000));
        assert_eq!(lockstep.advance(0, 0), None);
        assert_eq!(lockstep.stepping().forced, 0);
        lockstep.pay(0, 50);
        assert_eq!(lockstep.advance(0, 1), Some(Stall { cpu: 1, clock: 2000 }));
        assert_eq!(lockstep.stepping().forced, 1);
    }
}
