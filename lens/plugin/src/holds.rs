// SPDX-License-Identifier: GPL-2.0-or-later
//! Which CPU got a line last, and until when it keeps it while others want it. Knows nothing of QEMU.
//!
//! A core that has got a line executes several operations on it before it answers the next request. So a CPU that wants the line
//! waits until then, or until the CPU that has it does something else: its clock stands where its last turn ended.

use std::collections::HashMap;

/// A line's last winner.
#[derive(Debug, Clone, Copy)]
struct Held {
    cpu: usize,
    until: u64,
}

/// The lines that moved.
#[derive(Debug, Default)]
pub(crate) struct Holds {
    lines: HashMap<u64, Held>,
}

impl Holds {
    /// Forgets all lines.
    pub(crate) fn clear(&mut self) {
        self.lines.clear();
    }

    /// From which clock on a CPU can get a line. `clock_of`: another CPU's clock.
    pub(crate) fn free_from(&self, line: u64, cpu: usize, clock_of: impl Fn(usize) -> u64) -> u64 {
        match self.lines.get(&line) {
            Some(held) if held.cpu != cpu => held.until.min(clock_of(held.cpu)),
            _ => 0,
        }
    }

    /// A CPU got a line to write, and keeps it.
    pub(crate) fn put(&mut self, line: u64, cpu: usize, until: u64) {
        self.lines.insert(line, Held { cpu, until });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_free_when_it_was_kept_long_enough_or_its_cpu_does_something_else() {
        let mut holds = Holds::default();
        assert_eq!(holds.free_from(7, 1, |_| 1000), 0);
        holds.put(7, 0, 500);
        assert_eq!(holds.free_from(7, 1, |_| 1000), 500);
        assert_eq!(holds.free_from(7, 1, |_| 420), 420);
        assert_eq!((holds.free_from(7, 0, |_| 1000), holds.free_from(8, 1, |_| 1000)), (0, 0));
        holds.clear();
        assert_eq!(holds.free_from(7, 1, |_| 1000), 0);
    }
}
