// SPDX-License-Identifier: GPL-2.0-or-later
//! Whether the only busy CPU of a machine waits in a loop, outside a region. Knows nothing of QEMU.
//!
//! Kernels wait for a moment in loops of a few instructions with a `pause`, which ends the CPU's turn. So if there was one
//! pause in a round of turns, and hardly an instruction, one CPU waits and no other CPU does anything.

/// Most instructions of a loop that waits. A CPU that works has longer turns, unless a timer is due soon.
const MOST_INSTRUCTIONS: i64 = 128;

/// How far time leaps at most, in nanoseconds. A wait may take longer by as much.
pub(crate) const LEAP_NS: i64 = 10_000;

/// What there was at the end of the last round.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    instructions: i64,
    pauses: u64,
}

impl Waiting {
    /// A round may be over. Both numbers are totals, of all CPUs. Returns whether one CPU waited in it, and no other did
    /// anything.
    pub(crate) fn is_all(&mut self, instructions: i64, pauses: u64) -> bool {
        let (executed, paused) = (instructions - self.instructions, pauses - self.pauses);
        *self = Waiting { instructions, pauses };
        paused == 1 && (1..=MOST_INSTRUCTIONS).contains(&executed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert!(!round(0, 0), "nothing has happened since");
        assert!(!round(20, 0), "it does not pause");
        assert!(round(20, 1));
    }
}
