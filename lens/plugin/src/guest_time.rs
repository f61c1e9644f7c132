// SPDX-License-Identifier: GPL-2.0-or-later
//! The guest's time: the emulator's own outside a region of interest, the lens's virtual time
//! within one. Independent of QEMU.
//!
//! The emulator's own time is the number of instructions of all CPUs, one after the other, plus the
//! time skipped while all CPUs were idle. On the modelled machine CPUs work at the same time and
//! wait for cache lines. So within a region the guest's time is the virtual time of [`Turns`], and
//! timers fire as often per operation as on that machine. Idle time is the same in both: the
//! emulator skips to the next timer, and the virtual time skips as far.
//!
//! The guest's time never goes back, and it is continuous where a region begins or ends.
//!
//! Outside a region a CPU may wait briefly in a loop while all others are idle. Such a loop takes
//! much longer in an emulator than the time that it waits for. So time leaps ahead there too, at
//! most to the next timer ([`Waiting`]).
//!
//! The emulator shares the instructions that remain until the next timer among the CPUs. Shortly
//! before a timer, turns would become very short. So time may leap to a timer that is due soon, and
//! then stands still until the virtual time has caught up.

use crate::turns::Turns;

/// The emulator's own time, in nanoseconds. Within a region only the skipped part counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OwnTime {
    /// Instructions that all CPUs have executed.
    pub(crate) instructions: i64,
    pub(crate) now_ns: i64,
    /// Time skipped while all CPUs were idle, included in `now_ns`.
    pub(crate) skipped_ns: i64,
}

/// The guest's time.
#[derive(Debug)]
pub(crate) struct GuestTime {
    instruction_ps: u32,
    phase: Phase,
}

#[derive(Debug, Clone, Copy)]
enum Phase {
    Outside {
        /// Lead of the guest's time over the emulator's own; negative if it is behind.
        ahead_ns: i64,
    },
    Within {
        /// The guest's time and the virtual time when the region began.
        began_ns: i64,
        began_clock: u64,
        /// The guest's time at its last advance, and the emulator's skipped time then.
        now_ns: i64,
        skipped_ns: i64,
    },
}

impl GuestTime {
    /// Guest time outside a region. `instruction_ps`: the duration of one clock of [`Turns`], at
    /// least 1.
    pub(crate) fn new(instruction_ps: u32) -> Self {
        GuestTime { instruction_ps, phase: Phase::Outside { ahead_ns: 0 } }
    }

    /// The guest's time, in nanoseconds. Within a region it stands still between two calls of
    /// [`Self::advance`], unless the emulator skips idle time.
    pub(crate) fn now(&self, own: OwnTime) -> i64 {
        match self.phase {
            Phase::Outside { ahead_ns } => own.now_ns + ahead_ns,
            Phase::Within { now_ns, skipped_ns, .. } => now_ns + (own.skipped_ns - skipped_ns),
        }
    }

    /// Advances the guest's time, and returns it. `region`: the CPUs' clocks within a region. If
    /// the emulator has skipped idle time, their virtual time skips as far.
    pub(crate) fn advance(&mut self, own: OwnTime, region: Option<&mut Turns>) -> i64 {
        let now_ns = self.now(own);
        let skipped_ns = own.skipped_ns;
        self.phase = match (self.phase, region) {
            (outside @ Phase::Outside { .. }, None) => outside,
            (Phase::Outside { .. }, Some(turns)) => {
                Phase::Within { began_ns: now_ns, began_clock: turns.virtual_time(), now_ns, skipped_ns }
            }
            (Phase::Within { began_ns, began_clock, skipped_ns: before_ns, .. }, Some(turns)) => {
                // After a leap `now_ns` may be ahead of the virtual time.
                if let Ok(idle_ns @ 1..) = u64::try_from(skipped_ns - before_ns) {
                    turns.skip(self.clocks(idle_ns));
                }
                let now_ns = now_ns.max(began_ns + self.nanoseconds(turns.virtual_time() - began_clock));
                Phase::Within { began_ns, began_clock, now_ns, skipped_ns }
            }
            (Phase::Within { .. }, None) => Phase::Outside { ahead_ns: now_ns - own.now_ns },
        };
        self.now(own)
    }

    /// Leaps ahead in time.
    pub(crate) fn leap(&mut self, by_ns: i64) {
        match &mut self.phase {
            Phase::Outside { ahead_ns } => *ahead_ns += by_ns,
            Phase::Within { now_ns, .. } => *now_ns += by_ns,
        }
    }

    /// Converts clocks to nanoseconds, rounded down.
    fn nanoseconds(&self, clocks: u64) -> i64 {
        (clocks * u64::from(self.instruction_ps) / 1000) as i64
    }

    /// Converts nanoseconds to clocks, rounded up, so that a timer is due once its time was
    /// skipped.
    fn clocks(&self, nanoseconds: u64) -> u64 {
        (nanoseconds * 1000).div_ceil(self.instruction_ps.into())
    }
}

/// Maximum number of instructions of a waiting loop. A CPU that works has longer turns, unless a
/// timer is due soon.
const MOST_INSTRUCTIONS: i64 = 128;

/// Maximum leap of time, in nanoseconds. A wait may take longer by as much.
pub(crate) const LEAP_NS: i64 = 10_000;

/// Detects rounds of turns in which one CPU waits in a loop and all others are idle, from the
/// totals at the end of the last round.
///
/// Kernels wait briefly in loops of a few instructions with a `pause`, which ends the CPU's turn.
/// So such a round has one pause and hardly an instruction.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    instructions: i64,
    pauses: u64,
}

impl Waiting {
    /// Notes totals of all CPUs at the possible end of a round. Returns true if one CPU waited in
    /// it, and the others did nothing.
    pub(crate) fn is_all(&mut self, instructions: i64, pauses: u64) -> bool {
        let (executed, paused) = (instructions - self.instructions, pauses - self.pauses);
        *self = Waiting { instructions, pauses };
        paused == 1 && (1..=MOST_INSTRUCTIONS).contains(&executed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::turns::{Grain, Step};

    const QUANTUM: u64 = 1000;

    /// A machine whose busy CPUs execute blocks of 10 instructions, an instruction each nanosecond
    /// of the emulator.
    struct Guest {
        own: OwnTime,
        turns: Turns,
        time: GuestTime,
        busy: usize,
    }

    impl Guest {
        fn new(busy: usize, instruction_ps: u32) -> Self {
            let own = OwnTime { instructions: 0, now_ns: 5_000, skipped_ns: 2_000 };
            Guest { own, turns: Turns::new(8, Grain::Coarse(QUANTUM)), time: GuestTime::new(instruction_ps), busy }
        }

        fn advance(&mut self, is_within: bool) -> i64 {
            self.time.advance(self.own, is_within.then_some(&mut self.turns))
        }

        /// Gives a turn to each busy CPU.
        fn round(&mut self, is_within: bool) -> i64 {
            for cpu in 0..self.busy {
                for _ in 0..QUANTUM / 10 {
                    self.own.now_ns += 10;
                    if is_within && self.turns.advance(cpu, 10) == Step::Last {
                        break;
                    }
                }
            }
            self.advance(is_within)
        }

        /// Skips to the next timer, as QEMU does when all CPUs are idle.
        fn idle_until(&mut self, timer_ns: i64) {
            let idle_ns = timer_ns - self.time.now(self.own);
            self.own.now_ns += idle_ns;
            self.own.skipped_ns += idle_ns;
        }
    }

    #[test]
    fn time_is_continuous_and_never_goes_back() {
        for instruction_ps in [1, 300, 500, 1000, 2700] {
            let mut guest = Guest::new(4, instruction_ps);
            let mut last = guest.advance(false);
            assert_eq!(last, 5_000);
            for round in 0..2000 {
                let is_within = round / 100 % 2 == 1;
                if round % 100 == 0 {
                    // No time passes at a mark.
                    assert_eq!(guest.advance(is_within), last, "{round}");
                }
                if round % 70 == 33 {
                    guest.idle_until(last + 12_345);
                }
                let now = guest.round(is_within);
                assert!(now >= last, "{round}: {last} {now}");
                last = now;
            }
        }
    }

    #[test]
    fn within_a_region_cpus_work_at_the_same_time() {
        let mut guest = Guest::new(4, 500);
        let begun = guest.advance(true);
        for _ in 0..100 {
            guest.round(true);
        }
        let passed = guest.advance(true) - begun;
        // A hundred quanta at half a nanosecond per clock, however many CPUs are busy.
        assert!((48_000..=52_000).contains(&passed), "{passed}");
        let before = guest.advance(false);
        guest.own.now_ns += 777;
        assert_eq!(guest.advance(false), before + 777);
    }

    #[test]
    fn a_timer_is_due_at_most_a_quantum_and_a_block_late() {
        for timer_ns in [1, 499, 500, 501, 12_345, 4_000_000] {
            let mut guest = Guest::new(8, 500);
            let begun = guest.advance(true);
            let mut now = begun;
            while now < begun + timer_ns {
                now = guest.round(true);
            }
            assert!(now - (begun + timer_ns) <= ((QUANTUM + 10) / 2) as i64, "{timer_ns}: {now}");
        }
    }

    #[test]
    fn after_a_leap_time_stands_still_until_the_cpus_are_there() {
        let mut guest = Guest::new(4, 500);
        guest.advance(true);
        let before = guest.round(true);
        guest.time.leap(4_000);
        let mut last = guest.advance(true);
        assert_eq!(last, before + 4_000);
        let mut still = 0;
        for round in 0..30 {
            let now = guest.round(true);
            assert!(now >= last);
            still += i32::from(now == last);
            last = now;
            assert!(round > 6 || now == before + 4_000, "{round}: {now}");
        }
        // Eight quanta of half a microsecond; then time continues as before.
        assert!((7..=9).contains(&still), "{still}");
        assert!((14_500..=16_500).contains(&(last - before)), "{}", last - before);
    }

    #[test]
    fn idle_time_is_skipped_to_the_timer_and_all_cpus_start_there() {
        for instruction_ps in [300, 500, 2700] {
            let mut guest = Guest::new(2, instruction_ps);
            guest.advance(true);
            let mut now = 0;
            for _ in 0..10 {
                now = guest.round(true);
            }
            let timer_ns = now + 1_000_001;
            let clock = guest.turns.virtual_time();
            guest.idle_until(timer_ns);
            assert_eq!(guest.time.now(guest.own), timer_ns);
            let woken = guest.advance(true);
            assert!((timer_ns..timer_ns + i64::from(instruction_ps) / 1000 + 1).contains(&woken), "{timer_ns} {woken}");
            guest.turns.advance(1, 10);
            let skipped = guest.turns.clock(1) - clock;
            assert!(skipped >= 1_000_001_000 / u64::from(instruction_ps), "{skipped}");
        }
    }

    #[test]
    fn one_short_pause_and_nothing_else_is_waiting() {
        let mut waiting = Waiting::default();
        let mut total = (0, 0);
        let mut round = |executed, paused| {
            total = (total.0 + executed, total.1 + paused);
            waiting.is_all(total.0, total.1)
        };
        assert!(round(20, 1) && round(128, 1));
        assert!(!round(129, 1), "it did something");
        assert!(!round(40, 2), "two CPUs wait, perhaps for each other");
        assert!(!round(0, 0), "nothing was executed");
        assert!(!round(20, 0), "it does not pause");
        assert!(round(20, 1));
    }
}
