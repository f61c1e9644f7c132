// SPDX-License-Identifier: GPL-2.0-or-later
//! Keeps CPUs in step where one thread of the host runs them all, by turns. Knows nothing of QEMU.
//!
//! The emulator gives one CPU after the other a turn, which ends when the CPU is told to end it, halts, or pauses in a loop that
//! waits. With *m* the least clock of the other busy CPUs when a turn begins, it is to end once the CPU's own clock is at *m* + quantum. A
//! CPU that is there already has a turn of one block, the least that there is: so in each round of turns one CPU runs ahead of
//! the slowest by a quantum and a block at most, and a quantum must be longer than what a block can cost.
//!
//! Nobody says when a CPU halts: it has no turns then. So those count as busy which have had one since this CPU's turn before. One that
//! had none starts at the *virtual time*, the greatest value that the least busy clock has had: it was idle until then.
//!
//! A CPU that ended its turn of its own accord pauses: it waits for what another CPU is to do, and looked once. It would have looked
//! until then, so when its next turn comes its clock is set on to that of the slowest CPU which doesn't wait. The looks in
//! between are not counted; they would find what the first one did.

use crate::settled::Settled;

/// The CPUs' clocks, and whose turn it is.
#[derive(Debug)]
pub(crate) struct Turns {
    quantum: u64,
    is_stepping: bool,
    /// The CPU whose turn it is; [`NOBODY`] at first.
    current: usize,
    /// Its clock.
    clock: u64,
    /// At which clock its turn is to end.
    limit: u64,
    /// It was told that its turn ends.
    is_ending: bool,
    /// It was told so when the turn began.
    is_told_at_once: bool,
    /// Turns begun.
    turns: u64,
    virtual_time: u64,
    cpus: Box<[Stand]>,
    /// What the current CPU may do to memory again in this turn.
    pub(crate) settled: Settled,
}

/// How a CPU stood after its last turn.
#[derive(Debug, Clone, Copy, Default)]
struct Stand {
    clock: u64,
    /// The turn's number; 0 if it had none since stepping began.
    turn: u64,
    /// It ended the turn of its own accord.
    paused: bool,
}

const NOBODY: usize = usize::MAX;

impl Turns {
    /// For that many CPUs, not stepping yet.
    pub(crate) fn new(cpus: usize, quantum: u64) -> Self {
        Turns {
            quantum,
            is_stepping: false,
            current: NOBODY,
            clock: 0,
            limit: 0,
            is_ending: false,
            is_told_at_once: false,
            turns: 0,
            virtual_time: 0,
            cpus: vec![Stand::default(); cpus].into(),
            settled: Settled::new(),
        }
    }

    /// Begins to step: which CPUs are busy shows from now on.
    pub(crate) fn begin(&mut self) {
        self.put_down();
        self.is_stepping = true;
        self.current = NOBODY;
        for cpu in &mut self.cpus {
            cpu.turn = 0;
        }
    }

    /// Ends stepping: turns are as long as the emulator likes.
    pub(crate) fn end(&mut self) {
        self.put_down();
        self.is_stepping = false;
        self.current = NOBODY;
    }

    /// Adds a block's instructions to a CPU's clock. Whether its turn is to end after this block.
    #[inline]
    pub(crate) fn advance(&mut self, cpu: usize, instructions: u64) -> bool {
        if cpu == self.current && self.clock < self.limit {
            self.clock += instructions;
            return false;
        }
        let ends = self.step(cpu);
        self.clock += instructions;
        ends
    }

    /// Whether another CPU had the last turn.
    pub(crate) fn is_over(&self, cpu: usize) -> bool {
        self.current != cpu
    }

    /// Whether it is the CPU's turn, and the access to memory is settled in it.
    #[inline]
    pub(crate) fn has_settled(&self, cpu: usize, address: u64, size: u8, writes: bool) -> bool {
        self.current == cpu && self.settled.has(address, size, writes)
    }

    /// Adds what a transfer of the current CPU cost.
    #[inline]
    pub(crate) fn pay(&mut self, cost: u64) {
        self.clock += cost;
    }

    /// A CPU's clock.
    pub(crate) fn clock(&self, cpu: usize) -> u64 {
        if cpu == self.current { self.clock } else { self.cpus[cpu].clock }
    }

    /// A turn has begun or come to its limit. Whether it is to end.
    #[cold]
    fn step(&mut self, cpu: usize) -> bool {
        if cpu == self.current && !self.is_ending {
            self.is_ending = self.is_stepping;
            return self.is_ending;
        }
        self.put_down();
        self.take_up(cpu);
        self.is_told_at_once = self.is_stepping && self.clock >= self.limit;
        self.is_ending = self.is_told_at_once;
        self.is_ending
    }

    /// The current CPU's turn is over.
    fn put_down(&mut self) {
        if let Some(stand) = self.cpus.get_mut(self.current) {
            stand.clock = self.clock;
            // One that was told at the outset had no time to show; it is taken for what it was.
            if !self.is_told_at_once {
                stand.paused = !self.is_ending;
            }
        }
    }

    /// A CPU's turn begins.
    fn take_up(&mut self, cpu: usize) {
        let before = self.cpus[cpu];
        self.settled.clear();
        self.turns += 1;
        self.cpus[cpu].turn = self.turns;
        (self.current, self.clock, self.limit) = (cpu, before.clock, u64::MAX);
        if !self.is_stepping {
            return;
        }
        // Between two turns of a CPU that stays busy each of the others has one at most.
        let round = self.cpus.len() as u64;
        let since = before.turn.max(self.turns.saturating_sub(round));
        let was_idle = before.turn == 0 || self.turns - before.turn > round;
        let others = self.cpus.iter().filter(|other| other.turn > since && other.turn != self.turns);
        let least = others.clone().map(|other| other.clock).min();
        if was_idle {
            self.clock = self.clock.max(self.virtual_time);
        } else if before.paused {
            let least_at_work = others.filter(|other| !other.paused).map(|other| other.clock).min();
            self.clock = self.clock.max(least_at_work.unwrap_or(0));
        }
        let slowest = least.unwrap_or(self.clock).min(self.clock);
        self.virtual_time = self.virtual_time.max(slowest);
        self.limit = least.unwrap_or(self.clock).saturating_add(self.quantum);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives turns in rounds to the CPUs, as the emulator does, for that many rounds; `block` says what a CPU's next block costs, or that it
    /// pauses (false) or halts (none) after this one.
    fn rounds(turns: &mut Turns, rounds: usize, mut block: impl FnMut(usize, u64) -> Option<(u64, bool)>) {
        for _ in 0..rounds {
            for cpu in 0..turns.cpus.len() {
                while let Some((cost, goes_on)) = block(cpu, turns.clock(cpu)) {
                    let ends = turns.advance(cpu, cost);
                    if ends || !goes_on {
                        break;
                    }
                }
            }
        }
    }

    #[test]
    fn clocks_stay_within_a_quantum_and_a_block_whatever_blocks_cost() {
        let mut turns = Turns::new(4, 1000);
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
        let mut turns = Turns::new(3, 100);
        turns.begin();
        rounds(&mut turns, 50, |cpu, _| (cpu == 1).then_some((10, true)));
        assert!((5000..=5600).contains(&turns.clock(1)), "{}", turns.clock(1));
    }

    #[test]
    fn one_that_was_idle_starts_where_the_slowest_is() {
        let mut turns = Turns::new(3, 100);
        turns.begin();
        rounds(&mut turns, 50, |cpu, _| (cpu != 2).then_some((10, true)));
        let slowest = turns.clock(0).min(turns.clock(1));
        rounds(&mut turns, 1, |_, _| Some((10, true)));
        assert!(turns.clock(2) >= slowest && turns.clock(2) <= slowest + 330, "{slowest} {}", turns.clock(2));
    }

    #[test]
    fn one_that_pauses_is_taken_along_and_holds_nobody_up() {
        let mut turns = Turns::new(3, 1000);
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
    fn no_turn_ends_by_us_when_there_is_no_stepping() {
        let mut turns = Turns::new(2, 100);
        assert!((0..10_000).all(|_| !turns.advance(0, 50)));
        turns.begin();
        assert!((0..10_000).any(|_| turns.advance(0, 50)));
        turns.end();
        // The one that was told already is not told again.
        assert!((0..10_000).all(|_| !turns.advance(0, 50)) && (0..10_000).all(|_| !turns.advance(1, 50)));
    }
}
