// SPDX-License-Identifier: GPL-2.0-or-later
//! The share of a region's time in which several CPUs were busy. Time is that of the CPUs' clocks,
//! divided into slots: a slot counts as whole if a CPU was busy in a part of it. If there are too
//! many slots, each two become one.

/// Clocks of a slot at the start.
const FIRST_WIDTH: u64 = 64;

/// Maximum number of slots.
const MOST_SLOTS: usize = 8192;

/// The CPUs that were busy in a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Busy {
    #[default]
    None,
    One(u16),
    Several,
}

impl Busy {
    fn with(self, other: Busy) -> Busy {
        match (self, other) {
            (Busy::None, other) => other,
            (one, Busy::None) => one,
            (one, other) if one == other => one,
            _ => Busy::Several,
        }
    }
}

/// Clocks in which at least one CPU was busy, and clocks in which at least two were.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Times {
    pub(crate) busy: u64,
    pub(crate) overlapping: u64,
}

/// The slots.
#[derive(Debug)]
pub(crate) struct Overlap {
    width: u64,
    slots: Vec<Busy>,
}

impl Overlap {
    /// No slot yet.
    pub(crate) fn new() -> Self {
        Overlap { width: FIRST_WIDTH, slots: Vec::new() }
    }

    /// Notes that a CPU was busy from one clock up to another.
    pub(crate) fn note(&mut self, cpu: usize, from: u64, to: u64) {
        if from >= to {
            return;
        }
        while (to - 1) / self.width >= MOST_SLOTS as u64 {
            self.widen();
        }
        let (first, last) = ((from / self.width) as usize, ((to - 1) / self.width) as usize);
        if self.slots.len() <= last {
            self.slots.resize(last + 1, Busy::None);
        }
        for slot in &mut self.slots[first..=last] {
            *slot = slot.with(Busy::One(cpu as u16));
        }
    }

    fn widen(&mut self) {
        self.width *= 2;
        self.slots =
            self.slots.chunks(2).map(|pair| pair.iter().fold(Busy::None, |one, &other| one.with(other))).collect();
    }

    /// The times so far.
    pub(crate) fn times(&self) -> Times {
        let of = |is: fn(&Busy) -> bool| self.slots.iter().filter(|slot| is(slot)).count() as u64 * self.width;
        Times { busy: of(|busy| *busy != Busy::None), overlapping: of(|busy| *busy == Busy::Several) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(overlap: &Overlap) -> f64 {
        let Times { busy, overlapping } = overlap.times();
        overlapping as f64 / busy as f64
    }

    #[test]
    fn cpus_one_after_the_other_do_not_overlap() {
        let mut overlap = Overlap::new();
        assert_eq!(overlap.times(), Times { busy: 0, overlapping: 0 });
        (0..4).for_each(|cpu| overlap.note(cpu, cpu as u64 * 6400, cpu as u64 * 6400 + 6400));
        assert_eq!(overlap.times(), Times { busy: 4 * 6400, overlapping: 0 });
        overlap.note(4, 6400, 12_800);
        assert_eq!(overlap.times(), Times { busy: 4 * 6400, overlapping: 6400 });
        overlap.note(4, 64_000, 64_000);
        assert_eq!(overlap.times().busy, 4 * 6400, "no time at all");
    }

    #[test]
    fn turns_of_a_quantum_overlap() {
        let mut overlap = Overlap::new();
        for turn in 0..1000 {
            (0..3).for_each(|cpu| overlap.note(cpu, turn * 1000, turn * 1000 + 1000 + 10 * cpu as u64));
        }
        assert!(share(&overlap) > 0.99);
    }

    #[test]
    fn long_runs_keep_their_shares() {
        let mut overlap = Overlap::new();
        for turn in 0..100_000 {
            overlap.note(0, turn * 5000, turn * 5000 + 5000);
            if turn < 30_000 {
                overlap.note(1, turn * 5000, turn * 5000 + 5000);
            }
        }
        assert!((share(&overlap) - 0.3).abs() < 0.001, "{}", share(&overlap));
        assert!(overlap.slots.len() <= MOST_SLOTS);
    }
}
