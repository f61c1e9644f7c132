// SPDX-License-Identifier: GPL-2.0-or-later
//! Keeps CPUs in step if one host thread runs them all in turn. Knows nothing of QEMU.
//!
//! The emulator gives one CPU after the other a turn. A turn ends when the CPU is told to end it, halts, or pauses in a
//! waiting loop; a device interrupt may end it too. Let *m* be the lowest clock of the other busy CPUs when a turn
//! begins. The turn is to end once the CPU's own clock reaches *m* + quantum. There are two ways ([`Grain`]):
//!
//! - *Coarse*, for kernels. A turn ends after the block in which the clock reaches its limit. If the clock is there
//!   already, the CPU still gets a turn of one translation block. So in each round of turns a CPU runs ahead of the
//!   slowest by at most a quantum and a block, and a quantum must be longer than the largest cost of a block.
//! - *Fine*, for programs. A block that would begin at the limit or beyond is refused: the CPU's turn ends before it. So
//!   a CPU that is ahead gets no turn at all, and quanta may be as short as a block. After a transfer the limit is *m*:
//!   a CPU that got a line passes its turn on unless it is still behind all others. For a while after a transfer the
//!   contended quantum applies, later the private one.
//!
//! A halted CPU has no turns. So a CPU counts as busy if it has had a turn since this CPU's previous turn. A CPU that
//! was passed over while another CPU had two turns was idle. It starts at the *virtual time*, the highest value so far
//! of the lowest busy clock.
//!
//! A CPU that pauses waits for another CPU, and has checked once. It would have kept checking. So when its next turn
//! comes, its clock is advanced to that of the slowest CPU that does not wait. The same applies to a CPU that halted
//! and was woken before it was passed over. The checks in between are not counted; they would find what the first one
//! found.
//!
//! When all CPUs are idle, nothing happens until the next timer. The virtual time then skips ahead to it.
//!
//! With [`Delays`] the clocks follow hardware more closely. A line moves when a request for it has arrived ([`Ownership`]). A CPU that got a
//! line may run ahead of the slowest by the time of a request, because nothing that another CPU does next reaches it earlier. A CPU
//! that pauses in a loop notices at once that it lost a line. Atomic operations, interrupts, entries into the kernel, and waking up take time.

use crate::overlap::Overlap;
use crate::ownership::{Move, Ownership, Request};
use crate::settled::Settled;
use faultline_coherence::Delays;

/// How far a CPU may run ahead of the slowest busy one, in clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Quanta {
    /// For a while after a transfer, and after becoming busy.
    pub(crate) contended: u64,
    /// After that. It is also the length of that while.
    pub(crate) private: u64,
}

/// How turns end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Grain {
    /// After a block; all CPUs have this quantum.
    Coarse(u64),
    /// Before a block.
    Fine(Quanta),
}

/// What becomes of a block that is about to begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// It runs.
    Runs,
    /// It runs, and the turn ends after it.
    Last,
    /// It does not run now; the turn ends at once.
    Refused,
}

/// The CPUs' clocks, and whose turn it is.
#[derive(Debug)]
pub(crate) struct Turns {
    grain: Grain,
    /// The CPU whose turn it is; [`NOBODY`] at the start.
    current: usize,
    /// Its clock.
    clock: u64,
    /// Its clock at the start of its turn.
    began: u64,
    /// The clock at which its turn is to end.
    limit: u64,
    /// The lowest clock of the other busy CPUs when the turn began; the highest number if there were none.
    slowest_other: u64,
    /// From this clock on its private quantum applies.
    private_from: u64,
    /// It has been told that its turn ends.
    is_ending: bool,
    /// It was told so at the start of the turn.
    is_told_at_once: bool,
    /// It pauses or halts, and has not begun another block since.
    is_waiting: bool,
    /// It halts, and has not begun another block since.
    is_halting: bool,
    /// Number of turns so far.
    turns: u64,
    virtual_time: u64,
    cpus: Box<[Stand]>,
    /// The clock from which on it paused before this turn; `None` if it did not pause, or if a line has moved to it since.
    waited_from: Option<u64>,
    delays: Delays,
    ownership: Ownership,
    spent: Spent,
    /// Accesses that CPUs may repeat.
    pub(crate) settled: Settled,
    /// When CPUs were busy.
    pub(crate) overlap: Overlap,
}

/// Clocks of all CPUs together, by what they were spent on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Spent {
    /// Transfers and capacity misses.
    pub(crate) transfers: u64,
    /// Waiting for a line that another CPU still uses.
    pub(crate) holds: u64,
    /// Atomic operations.
    pub(crate) atomics: u64,
    /// Waking halted CPUs.
    pub(crate) wakes: u64,
    /// Delivering interrupts.
    pub(crate) interrupts: u64,
    /// Entering the kernel and returning from it.
    pub(crate) entries: u64,
    /// How often a halted CPU was woken.
    pub(crate) times_woken: u64,
    /// How often an interrupt began; 0 if interrupts are not recognised.
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
    /// It paused or halted at its end.
    waits: bool,
    /// It halted, and has not been woken yet.
    is_halted: bool,
    /// From this clock on the private quantum applies.
    private_from: u64,
}

const NOBODY: usize = usize::MAX;

impl Turns {
    /// For `cpus` CPUs.
    pub(crate) fn new(cpus: usize, grain: Grain) -> Self {
        Turns {
            grain,
            current: NOBODY,
            clock: 0,
            began: 0,
            limit: 0,
            slowest_other: u64::MAX,
            private_from: 0,
            is_ending: false,
            is_told_at_once: false,
            is_waiting: false,
            is_halting: false,
            turns: 0,
            virtual_time: 0,
            cpus: vec![Stand::default(); cpus].into(),
            waited_from: None,
            delays: Delays::default(),
            ownership: Ownership::default(),
            spent: Spent::default(),
            settled: Settled::new(cpus),
            overlap: Overlap::new(),
        }
    }

    /// With these delays.
    pub(crate) fn with(self, delays: Delays) -> Self {
        Turns { delays, ..self }
    }

    /// What the clocks were spent on so far.
    pub(crate) fn spent(&self) -> Spent {
        self.spent
    }

    /// Begins stepping. Which CPUs are busy follows from their turns. What was settled before is not any more.
    pub(crate) fn begin(&mut self) {
        self.settled.clear();
        self.ownership.clear();
        self.forget_turns();
    }

    fn forget_turns(&mut self) {
        for cpu in &mut self.cpus {
            (cpu.turn, cpu.turn_before) = (0, 0);
        }
    }

    /// Ends stepping: nobody has the turn.
    pub(crate) fn end(&mut self) {
        self.put_down();
        self.current = NOBODY;
    }

    /// All CPUs are idle: the virtual time skips ahead. Each CPU starts there at its next turn.
    pub(crate) fn skip(&mut self, clocks: u64) {
        self.end();
        self.forget_turns();
        self.virtual_time += clocks;
    }

    /// The highest value so far of the lowest clock of the busy CPUs.
    pub(crate) fn virtual_time(&self) -> u64 {
        self.virtual_time
    }

    /// A CPU is about to begin a block of that many instructions. If it runs, its clock advances by them.
    #[inline]
    pub(crate) fn advance(&mut self, cpu: usize, instructions: u64) -> Step {
        if cpu == self.current && self.clock < self.limit {
            self.clock += instructions;
            return Step::Runs;
        }
        let step = self.step(cpu);
        if step != Step::Refused {
            self.clock += instructions;
        }
        step
    }

    /// A CPU is about to pause or to halt, which ends its turn.
    pub(crate) fn wait(&mut self, cpu: usize, halts: bool) {
        if cpu == self.current {
            self.is_waiting = true;
            self.is_halting = halts;
            // Its next block does not belong to this turn, even if no other CPU had a turn in between.
            self.limit = 0;
        }
    }

    /// Whether another CPU had the last turn.
    pub(crate) fn is_over(&self, cpu: usize) -> bool {
        self.current != cpu
    }

    /// Whether it is the CPU's turn, and the access is settled.
    #[inline]
    pub(crate) fn has_settled(&mut self, cpu: usize, address: u64, size: u8, writes: bool) -> bool {
        self.current == cpu && self.settled.has(cpu, address, size, writes)
    }

    /// Adds the cost of an access of the current CPU: 0, or that of a transfer. `writes`: it got the line to write.
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
            0 => self.clock += cost,
            _ => self.request(cost, line, writes, request_time),
        }
        if let Grain::Fine(quanta) = self.grain {
            self.limit = match request_time {
                0 => self.limit.min(self.slowest_other),
                _ if self.slowest_other == u64::MAX => self.limit,
                // The slowest may request the line next, and its request takes as long.
                _ => self.slowest_other.saturating_add(quanta.contended.max(request_time)),
            };
            self.private_from = self.clock.saturating_add(quanta.private);
        }
    }

    /// The current CPU requests a line, and waits until it has arrived.
    fn request(&mut self, cost: u64, line: u64, writes: bool, request_time: u64) {
        let waits_from = self.waited_from.take();
        let request = Request { line, cpu: self.current, at: self.clock, waits_from, cost, request_time, writes };
        let Move { requested, arrived } = self.ownership.transfer(request);
        self.spent.holds += arrived - requested - cost;
        self.clock = arrived;
        self.began = self.began.min(requested);
    }

    /// The current CPU executes an atomic read-modify-write.
    #[inline]
    pub(crate) fn pay_atomic(&mut self, line: u64) {
        if self.delays.request_percent != 0 {
            self.clock += self.delays.atomic;
            self.spent.atomics += self.delays.atomic;
            self.ownership.note_use(line, self.current, self.clock);
        }
    }

    /// The current CPU begins the handler of an interrupt.
    pub(crate) fn pay_interrupt(&mut self) {
        self.clock += self.delays.interrupt;
        self.spent.interrupts += self.delays.interrupt;
        self.spent.times_interrupted += 1;
    }

    /// The current CPU comes from user mode into the kernel.
    pub(crate) fn pay_entry(&mut self) {
        self.clock += self.delays.entry;
        self.spent.entries += self.delays.entry;
    }

    /// A CPU's clock.
    pub(crate) fn clock(&self, cpu: usize) -> u64 {
        if cpu == self.current { self.clock } else { self.cpus[cpu].clock }
    }

    /// A turn has begun or reached its limit.
    #[cold]
    fn step(&mut self, cpu: usize) -> Step {
        let at_limit = match self.grain {
            Grain::Coarse(_) => Step::Last,
            Grain::Fine(_) => Step::Refused,
        };
        if cpu == self.current && !self.is_ending && !self.is_waiting {
            self.is_ending = true;
            return at_limit;
        }
        self.put_down();
        self.take_up(cpu);
        self.is_told_at_once = self.clock >= self.limit;
        self.is_ending = self.is_told_at_once;
        if self.is_ending { at_limit } else { Step::Runs }
    }

    /// How far the current CPU may run ahead of the slowest.
    fn quantum(&self) -> u64 {
        match self.grain {
            Grain::Coarse(quantum) => quantum,
            // At least 1, so that the slowest CPU always runs.
            Grain::Fine(quanta) if self.clock < self.private_from => quanta.contended.max(1),
            Grain::Fine(quanta) => quanta.private.max(1),
        }
    }

    /// The current CPU's turn is over.
    fn put_down(&mut self) {
        if let Some(stand) = self.cpus.get_mut(self.current) {
            stand.clock = self.clock;
            stand.private_from = self.private_from;
            // A CPU that was told at the start may have had no time to show that it waits; it keeps its previous state.
            stand.waits = self.is_waiting || self.is_told_at_once && stand.waits;
            stand.is_halted |= self.is_halting;
            self.overlap.note(self.current, self.began, self.clock);
        }
    }

    /// A CPU's turn begins.
    fn take_up(&mut self, cpu: usize) {
        let before = self.cpus[cpu];
        (self.is_waiting, self.is_halting, self.waited_from) = (false, false, None);
        self.turns += 1;
        (self.cpus[cpu].turn, self.cpus[cpu].turn_before) = (self.turns, before.turn);
        (self.current, self.clock, self.private_from) = (cpu, before.clock, before.private_from);
        // Between two turns of a CPU that stays busy, each other CPU has at most one turn. So if another CPU has had two
        // turns since this one's last, this one was passed over.
        let passed_over = self.cpus.iter().map(|cpu| cpu.turn_before).max().unwrap_or(0);
        let was_idle = before.turn == 0 || before.turn < passed_over;
        let since = before.turn.max(passed_over);
        let others = self.cpus.iter().filter(|other| other.turn > since && other.turn != self.turns);
        let least = others.clone().map(|other| other.clock).min();
        if was_idle {
            self.clock = self.clock.max(self.virtual_time);
        } else if before.waits {
            self.waited_from = Some(before.clock).filter(|_| !before.is_halted);
            let least_at_work = others.filter(|other| !other.waits).map(|other| other.clock).min();
            self.clock = self.clock.max(least_at_work.unwrap_or(0));
        }
        if std::mem::take(&mut self.cpus[cpu].is_halted) {
            self.clock += self.delays.wake;
            self.spent.wakes += self.delays.wake;
            self.spent.times_woken += 1;
        }
        self.began = self.clock;
        let slowest = least.unwrap_or(self.clock).min(self.clock);
        self.virtual_time = self.virtual_time.max(slowest);
        self.slowest_other = least.unwrap_or(u64::MAX);
        self.limit = least.unwrap_or(self.clock).saturating_add(self.quantum());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use faultline_coherence::{Access, Context, Kind, Machine, Topology};

    /// Gives turns to the CPUs in that many rounds, as the emulator does. `block` returns the cost of a CPU's next
    /// block, and whether the CPU goes on after it or pauses (false); none if the CPU is halted.
    fn rounds(turns: &mut Turns, rounds: usize, mut block: impl FnMut(usize, u64) -> Option<(u64, bool)>) {
        for _ in 0..rounds {
            for cpu in 0..turns.cpus.len() {
                while let Some((cost, goes_on)) = block(cpu, turns.clock(cpu)) {
                    let ends = turns.advance(cpu, cost) != Step::Runs;
                    if !goes_on {
                        turns.wait(cpu, true);
                    }
                    if ends || !goes_on {
                        break;
                    }
                }
            }
        }
    }

    #[test]
    fn clocks_stay_within_a_quantum_and_a_block_whatever_blocks_cost() {
        let mut turns = Turns::new(4, Grain::Coarse(1000));
        turns.begin();
        for _ in 0..200 {
            rounds(&mut turns, 1, |cpu, _| Some((1 + 30 * cpu as u64, true)));
            let clocks: Vec<u64> = (0..4).map(|cpu| turns.clock(cpu)).collect();
            let spread = clocks.iter().max().unwrap() - clocks.iter().min().unwrap();
            assert!(spread <= 1000 + 2 * 91, "{clocks:?}");
        }
        assert!(turns.clock(0) > 50_000);
    }

    #[test]
    fn a_cpu_alone_goes_on() {
        let mut turns = Turns::new(3, Grain::Coarse(100));
        turns.begin();
        rounds(&mut turns, 50, |cpu, _| (cpu == 1).then_some((10, true)));
        assert!((5000..=5600).contains(&turns.clock(1)), "{}", turns.clock(1));
    }

    #[test]
    fn one_that_was_idle_starts_where_the_slowest_is() {
        let mut turns = Turns::new(3, Grain::Coarse(100));
        turns.begin();
        rounds(&mut turns, 50, |cpu, _| (cpu != 2).then_some((10, true)));
        let slowest = turns.clock(0).min(turns.clock(1));
        rounds(&mut turns, 1, |_, _| Some((10, true)));
        assert!(turns.clock(2) >= slowest && turns.clock(2) <= slowest + 330, "{slowest} {}", turns.clock(2));
    }

    #[test]
    fn one_that_pauses_is_taken_along_and_holds_nobody_up() {
        let mut turns = Turns::new(3, Grain::Coarse(1000));
        turns.begin();
        let mut looks = 0;
        rounds(&mut turns, 100, |cpu, _| match cpu {
            0 => Some((10, true)),
            _ => {
                looks += 1;
                Some((5, false))
            }
        });
        assert!(turns.clock(0) > 80_000, "{}", turns.clock(0));
        assert!(turns.clock(1) + 2100 > turns.clock(0) && turns.clock(2) + 2100 > turns.clock(0));
        assert_eq!(looks, 200);
    }

    #[test]
    fn one_whose_turn_a_device_ended_is_not_set_on() {
        let mut turns = Turns::new(2, Grain::Coarse(1000));
        turns.begin();
        for _ in 0..50 {
            rounds(&mut turns, 1, |cpu, _| (cpu == 0).then_some((10, true)));
            // It has one block per turn, and is not told to end the turn.
            turns.advance(1, 10);
        }
        assert_eq!(turns.clock(1), 500);
        assert!((1500..=1520).contains(&turns.clock(0)), "{}", turns.clock(0));
    }

    #[test]
    fn one_that_halts_and_is_woken_in_the_next_round_has_waited_for_the_slowest() {
        for cost in [10, 1000] {
            let mut turns = Turns::new(2, Grain::Coarse(1000));
            turns.begin();
            rounds(&mut turns, 20, |_, _| Some((10, true)));
            // It halts: during its turn, or in the block in which it is told to end it.
            while turns.advance(0, 10) == Step::Runs {}
            turns.advance(1, cost);
            turns.wait(1, true);
            while turns.advance(0, 10) == Step::Runs {}
            let other = turns.clock(0);
            turns.advance(1, 10);
            assert!(turns.clock(1) >= other, "{cost}: {} {other}", turns.clock(1));
        }
    }

    #[test]
    fn one_that_is_woken_by_one_that_waits_for_it_has_been_idle_all_the_same() {
        let mut turns = Turns::new(64, Grain::Coarse(1000));
        turns.begin();
        rounds(&mut turns, 3, |cpu, _| (cpu < 2).then_some((10, true)));
        rounds(&mut turns, 30, |cpu, _| (cpu == 0).then_some((10, true)));
        rounds(&mut turns, 1, |cpu, _| (cpu == 0).then_some((10, false)));
        let waker = turns.clock(0);
        assert!(waker > 30_000);
        turns.advance(1, 10);
        assert!(turns.clock(1) + 1100 > waker, "{} {waker}", turns.clock(1));
    }

    #[test]
    fn all_may_pause_and_each_look_takes_its_time() {
        let mut turns = Turns::new(3, Grain::Coarse(1000));
        turns.begin();
        rounds(&mut turns, 100, |_, _| Some((5, false)));
        assert!((0..3).all(|cpu| (500..=505).contains(&turns.clock(cpu))), "{turns:?}");
    }

    #[test]
    fn time_that_all_spend_idle_passes_for_all() {
        let mut turns = Turns::new(3, Grain::Coarse(100));
        turns.begin();
        rounds(&mut turns, 50, |cpu, _| (cpu != 2).then_some((10, true)));
        let before = turns.virtual_time();
        turns.skip(70_000);
        assert_eq!(turns.virtual_time(), before + 70_000);
        // The one that is woken first had the last turn before.
        turns.advance(1, 10);
        assert_eq!(turns.clock(1), before + 70_010);
        rounds(&mut turns, 2, |_, _| Some((10, true)));
        assert!((0..3).all(|cpu| turns.clock(cpu) > before + 70_000), "{turns:?}");
    }

    #[test]
    fn turns_of_busy_cpus_overlap_and_those_of_one_do_not() {
        let share = |busy: &[usize]| {
            let mut turns = Turns::new(3, Grain::Coarse(1000));
            turns.begin();
            rounds(&mut turns, 200, |cpu, _| busy.contains(&cpu).then_some((10, true)));
            turns.end();
            let times = turns.overlap.times();
            times.overlapping as f64 / times.busy as f64
        };
        assert!(share(&[0, 2]) > 0.95 && share(&[1]) == 0.0, "{} {}", share(&[0, 2]), share(&[1]));
    }

    #[test]
    fn a_second_region_goes_on_where_the_first_ended() {
        let mut turns = Turns::new(2, Grain::Coarse(100));
        turns.begin();
        rounds(&mut turns, 50, |_, _| Some((10, true)));
        let slowest = turns.clock(0).min(turns.clock(1));
        let machine: &'static Machine = Box::leak(Box::new(Machine::new(Topology::new(2, 1, 2).unwrap())));
        let mut cpu = machine.cpu(1);
        let (kind, context) = (Kind::Write, Context::Kernel);
        cpu.access(&Access { address: 0x1000, size: 8, kind, site: 1, context, contents: false });
        turns.settled.put(1, 0x1000, 0x40, cpu.grant(0x40));
        assert!(turns.has_settled(turns.current, 0x1000, 1, false) == (turns.current == 1));
        turns.end();
        assert!((0..2).all(|cpu| turns.is_over(cpu) && !turns.has_settled(cpu, 0x1000, 1, false)));
        turns.begin();
        rounds(&mut turns, 1, |cpu, _| (cpu == 1).then_some((10, true)));
        assert!(turns.clock(1) >= slowest && turns.clock(1) <= slowest + 330);
        assert!(!turns.has_settled(1, 0x1000, 1, false));
    }

    const FINE: Grain = Grain::Fine(Quanta { contended: 5, private: 200 });

    /// Gives turns to the CPUs in that many rounds. `block` returns the instructions of a CPU's next block and the cost
    /// of its transfers.
    fn fine_rounds(turns: &mut Turns, rounds: usize, mut block: impl FnMut(usize) -> (u64, u64)) {
        for _ in 0..rounds {
            for cpu in 0..turns.cpus.len() {
                while turns.clock(cpu) < 1_000_000 {
                    let (instructions, cost) = block(cpu);
                    match turns.advance(cpu, instructions) {
                        Step::Runs => turns.pay(cost, 0, true),
                        Step::Refused => break,
                        Step::Last => panic!("a fine turn ends before a block"),
                    }
                }
            }
        }
    }

    #[test]
    fn a_line_that_all_write_moves_each_time() {
        for cpus in [2, 3, 8] {
            let mut turns = Turns::new(cpus, FINE);
            turns.begin();
            let (mut owner, mut writes, mut moves) = (usize::MAX, 0, 0);
            for round in 0..200 {
                // Until all have had a turn, none knows of the others, and then the slow ones catch up.
                if round == 100 {
                    (writes, moves) = (0, 0);
                }
                for cpu in 0..cpus {
                    while turns.advance(cpu, 4) == Step::Runs {
                        writes += 1;
                        if owner != cpu {
                            owner = cpu;
                            moves += 1;
                            turns.pay(100, 0, true);
                        }
                    }
                }
            }
            assert!(writes > 100 && moves == writes, "{cpus} CPUs: {moves} of {writes}");
        }
    }

    /// Delays with which a request takes 75 of the 100 clocks of a transfer.
    const REQUESTS: Delays = Delays { atomic: 0, request_percent: 75, wake: 0, interrupt: 0, entry: 0 };

    #[test]
    fn a_cpu_uses_a_contended_line_until_the_other_cpus_request_arrives() {
        let quanta = Quanta { contended: 75, private: 200 };
        let mut turns = Turns::new(2, Grain::Fine(quanta)).with(REQUESTS);
        turns.begin();
        let (mut owner, mut writes, mut moves) = (usize::MAX, 0u64, 0u64);
        for _ in 0..200 {
            for cpu in 0..2 {
                while turns.advance(cpu, 5) == Step::Runs {
                    turns.pay_atomic(7);
                    writes += 1;
                    if owner != cpu {
                        owner = cpu;
                        moves += 1;
                        turns.pay(100, 7, true);
                    }
                }
            }
        }
        // A CPU requests the line again when it loses it. The other CPU gets it 25 clocks later, and loses it when the request arrives, after 75. So a CPU has the
        // line for 50 clocks, which are ten writes, and the line moves every 75.
        let each = writes as f64 / moves as f64;
        assert!((9.0..=12.0).contains(&each), "{each} writes for each transfer");
        let time = turns.clock(0).max(turns.clock(1)) as f64 / moves as f64;
        assert!((70.0..=85.0).contains(&time), "{time} clocks for each transfer");
        assert_eq!(turns.spent().transfers, moves * 100);
    }

    #[test]
    fn passing_a_turn_takes_a_request_and_a_transfer() {
        let mut turns = Turns::new(2, Grain::Fine(Quanta { contended: 75, private: 200 })).with(REQUESTS);
        turns.begin();
        // A word that says whose turn it is. Each CPU reads it and pauses, or writes it.
        let (mut word, mut copies, mut passed) = (0, [false; 2], 0);
        while passed < 100 {
            for cpu in 0..2 {
                while turns.advance(cpu, 4) == Step::Runs {
                    if !copies[cpu] {
                        copies[cpu] = true;
                        turns.pay(100, 7, false);
                    }
                    if word != cpu {
                        turns.wait(cpu, false);
                        break;
                    }
                    turns.pay(100, 7, true);
                    (word, copies, passed) = (1 - cpu, [cpu == 0, cpu == 1], passed + 1);
                }
            }
        }
        let each = turns.clock(0).max(turns.clock(1)) / passed;
        // The line leaves the waiting CPU after 75 clocks. That CPU requests it again at once, and has it after another 100.
        assert!((170..=185).contains(&each), "{each} clocks for each pass");
    }

    /// A ticket lock that two CPUs acquire and release, a block of instructions at a time.
    struct TicketLock {
        turns: Turns,
        cpus: [faultline_coherence::Cpu<'static>; 2],
        next: u64,
        serving: u64,
    }

    impl TicketLock {
        const NEXT: u64 = 0x1000;
        const SERVING: u64 = 0x2000;

        fn access(&mut self, cpu: usize, address: u64, kind: Kind) {
            let line = address / 64;
            if kind == Kind::Atomic {
                self.turns.pay_atomic(line);
            }
            let access = Access { address, size: 4, kind, site: address, context: Context::User, contents: false };
            let cost = self.cpus[cpu].access(&access);
            self.turns.pay(cost, line, kind != Kind::Read);
        }

        /// A block of a CPU that has this ticket, or none. Returns the ticket that it has after it, and whether it released the lock.
        fn block(&mut self, cpu: usize, ticket: Option<u64>) -> (Option<u64>, bool) {
            let Some(ticket) = ticket else {
                self.access(cpu, Self::NEXT, Kind::Atomic);
                self.next += 1;
                return (Some(self.next - 1), false);
            };
            self.access(cpu, Self::SERVING, Kind::Read);
            if self.serving != ticket {
                self.turns.wait(cpu, false);
                return (Some(ticket), false);
            }
            self.access(cpu, Self::SERVING, Kind::Write);
            self.serving += 1;
            (None, true)
        }
    }

    #[test]
    fn a_ticket_lock_that_two_cpus_want_is_handed_over_each_time() {
        let delays = Delays { atomic: 20, ..REQUESTS };
        let costs = faultline_coherence::Costs { same_cache: 100, same_socket: 100, other_socket: 100, memory: 0 };
        let machine = Machine::with(Topology::new(2, 1, 2).unwrap(), costs, None).unwrap();
        let machine: &'static Machine = Box::leak(Box::new(machine));
        let turns = Turns::new(2, Grain::Fine(Quanta { contended: 75, private: 200 })).with(delays);
        let mut lock = TicketLock { turns, cpus: [machine.cpu(0), machine.cpu(1)], next: 0, serving: 0 };
        lock.turns.begin();
        let (mut tickets, mut released) = ([None; 2], 0);
        while released < 1000 {
            for (cpu, ticket) in tickets.iter_mut().enumerate() {
                while lock.turns.advance(cpu, 4) == Step::Runs {
                    let (next, has_released) = lock.block(cpu, *ticket);
                    *ticket = next;
                    released += u64::from(has_released);
                    if lock.turns.is_waiting {
                        break;
                    }
                }
            }
        }
        // One CPU takes the line of the word on which the other waits: a request of 75 clocks. The other reads it: a transfer of 100. The line of the tickets
        // moves meanwhile.
        let each = lock.turns.clock(0).max(lock.turns.clock(1)) / released;
        assert!((150..=200).contains(&each), "{each} clocks for each acquisition");
    }

    #[test]
    fn waking_an_interrupt_an_entry_and_an_atomic_take_their_time() {
        let delays = Delays { atomic: 3, request_percent: 75, wake: 10_000, interrupt: 500, entry: 40 };
        let mut turns = Turns::new(2, Grain::Coarse(1000)).with(delays);
        turns.begin();
        rounds(&mut turns, 3, |cpu, _| Some((10, cpu == 0)));
        let before = turns.clock(1);
        rounds(&mut turns, 1, |cpu, _| (cpu == 1).then_some((10, true)));
        assert!(turns.clock(1) >= before + 10_000, "{before} {}", turns.clock(1));
        let spent = turns.spent();
        assert_eq!((spent.wakes, spent.times_woken), (spent.times_woken * 10_000, 3));
        let clock = turns.clock(1);
        turns.pay_atomic(0);
        turns.pay_interrupt();
        turns.pay_entry();
        assert_eq!(turns.clock(1), clock + 543);
        let after = turns.spent();
        assert_eq!((after.atomics, after.interrupts, after.entries, after.times_interrupted), (3, 500, 40, 1));
    }

    #[test]
    fn a_cpu_that_pays_more_gets_fewer_turns() {
        let mut turns = Turns::new(3, FINE);
        turns.begin();
        let mut blocks = [0; 3];
        for _ in 0..3000 {
            for (cpu, blocks) in blocks.iter_mut().enumerate() {
                while turns.advance(cpu, 10) == Step::Runs {
                    *blocks += 1;
                    turns.pay(if cpu == 2 { 390 } else { 90 }, 0, true);
                }
            }
        }
        assert!(blocks[2] > 100 && (3.9..4.1).contains(&(f64::from(blocks[0]) / f64::from(blocks[2]))), "{blocks:?}");
        let clocks = [0, 1, 2].map(|cpu| turns.clock(cpu));
        assert!(clocks.iter().max().unwrap() - clocks.iter().min().unwrap() <= 500, "{clocks:?}");
    }

    #[test]
    fn private_work_stays_within_the_private_quantum() {
        let mut turns = Turns::new(4, FINE);
        turns.begin();
        for _ in 0..100 {
            fine_rounds(&mut turns, 1, |cpu| (1 + cpu as u64, 0));
            let clocks: Vec<u64> = (0..4).map(|cpu| turns.clock(cpu)).collect();
            assert!(clocks.iter().max().unwrap() - clocks.iter().min().unwrap() <= 204, "{clocks:?}");
        }
        assert!(turns.clock(0) > 10_000);
    }

    #[test]
    fn one_that_waits_is_taken_along_at_a_fine_grain_too() {
        let mut turns = Turns::new(2, FINE);
        turns.begin();
        for _ in 0..100 {
            while turns.advance(0, 10) == Step::Runs {}
            if turns.advance(1, 5) == Step::Runs {
                turns.wait(1, true);
            }
        }
        assert!(
            turns.clock(0) > 10_000 && turns.clock(1) + 600 > turns.clock(0),
            "{} {}",
            turns.clock(0),
            turns.clock(1)
        );
    }
}
