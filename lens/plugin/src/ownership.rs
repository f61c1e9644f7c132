// SPDX-License-Identifier: GPL-2.0-or-later
//! The time at which a CPU gets a line that another CPU holds. Independent of QEMU.
//!
//! A request takes a part of a transfer's time to reach the CPU that holds the line. Until then
//! that CPU uses the line, possibly for several operations. Then the line leaves. So a line that
//! two CPUs want all the time moves less than once per operation.

use std::collections::HashMap;

/// Marks the absence of an owner.
const NO_CPU: usize = usize::MAX;

/// Maximum number of CPUs with modelled requests.
pub(crate) const MOST_CPUS: u16 = 256;

/// A set of CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CpuSet([u64; MOST_CPUS as usize / 64]);

impl CpuSet {
    const EMPTY: CpuSet = CpuSet([0; MOST_CPUS as usize / 64]);

    fn only(cpu: usize) -> Self {
        let mut only = Self::EMPTY;
        only.add(cpu);
        only
    }

    fn add(&mut self, cpu: usize) {
        self.0[cpu / 64] |= 1 << (cpu % 64);
    }

    fn has(&self, cpu: usize) -> bool {
        self.0[cpu / 64] & 1 << (cpu % 64) != 0
    }
}

/// The owner and the holders of a line.
#[derive(Debug, Clone, Copy)]
struct Owned {
    /// The CPU that last got the line to write; [`NO_CPU`] if none did.
    cpu: usize,
    /// Clock of that CPU's last noted use.
    used: u64,
    /// Clock at which the last CPU since then got it to read.
    read: u64,
    /// The CPUs that hold it.
    holders: CpuSet,
    /// The CPUs that lost it at the last write.
    losers: CpuSet,
    /// Clock at which they lost it.
    left: u64,
}

impl Owned {
    const UNUSED: Owned =
        Owned { cpu: NO_CPU, used: 0, read: 0, holders: CpuSet::EMPTY, losers: CpuSet::EMPTY, left: 0 };

    /// Clock until which CPUs other than `cpu` use it.
    fn in_use_until(&self, cpu: usize, writes: bool) -> u64 {
        let used = if self.cpu == cpu { 0 } else { self.used };
        if writes { used.max(self.read) } else { used }
    }
}

/// A CPU's request for a line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request {
    pub(crate) line: u64,
    pub(crate) cpu: usize,
    /// The CPU's clock.
    pub(crate) at: u64,
    /// Clock since which the CPU has been polling; `None` if it has not. If it had the line, it
    /// polled the line.
    pub(crate) waits_from: Option<u64>,
    /// Clocks of the whole transfer.
    pub(crate) cost: u64,
    /// Clocks until the request reaches the CPU that holds the line: a part of `cost`.
    pub(crate) request_time: u64,
    /// The line is requested to write.
    pub(crate) writes: bool,
}

/// The move of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Move {
    /// Clock at which its request left.
    pub(crate) requested: u64,
    /// Clock at which it arrived.
    pub(crate) arrived: u64,
}

/// The lines that moved.
#[derive(Debug, Default)]
pub(crate) struct Ownership {
    lines: HashMap<u64, Owned>,
}

impl Ownership {
    /// Forgets all lines.
    pub(crate) fn clear(&mut self) {
        self.lines.clear();
    }

    /// Moves a line to the requesting CPU.
    pub(crate) fn transfer(&mut self, request: Request) -> Move {
        let Request { line, cpu, at, waits_from, cost, request_time, writes } = request;
        let owned = self.lines.entry(line).or_insert(Owned::UNUSED);
        // A CPU that had the line does not request it before it has lost it.
        let requested = match waits_from {
            _ if !owned.losers.has(cpu) => at,
            Some(from) => owned.left.max(from),
            None => owned.left.max(at),
        };
        let left = requested.saturating_add(request_time).max(owned.in_use_until(cpu, writes));
        let arrived = left.saturating_add(cost.saturating_sub(request_time));
        if writes {
            let losers = owned.holders;
            *owned = Owned { cpu, used: arrived, read: 0, holders: CpuSet::only(cpu), losers, left };
        } else {
            owned.read = owned.read.max(arrived);
            owned.holders.add(cpu);
        }
        Move { requested, arrived }
    }

    /// Notes that a CPU uses a line that it holds. This matters only if no other CPU got the line
    /// to write since.
    pub(crate) fn note_use(&mut self, line: u64, cpu: usize, clock: u64) {
        if let Some(owned) = self.lines.get_mut(&line).filter(|owned| owned.cpu == cpu) {
            owned.used = owned.used.max(clock);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Clock at which a line arrives. A transfer costs 100 clocks, 75 of which pass until the
    /// request arrives.
    fn arrives(lines: &mut Ownership, cpu: usize, at: u64, writes: bool) -> u64 {
        let request = Request { line: 7, cpu, at, waits_from: None, cost: 100, request_time: 75, writes };
        lines.transfer(request).arrived
    }

    #[test]
    fn a_line_leaves_when_the_request_has_arrived_and_its_cpu_has_used_it() {
        let mut lines = Ownership::default();
        assert_eq!(arrives(&mut lines, 0, 1000, true), 1100);
        assert_eq!(arrives(&mut lines, 1, 2000, true), 2100);
        lines.note_use(7, 1, 2400);
        lines.note_use(7, 0, 9000);
        assert_eq!(arrives(&mut lines, 2, 2300, true), 2425);
        // Requested before its present owner got it.
        assert_eq!(arrives(&mut lines, 0, 2310, true), 2450);
    }

    #[test]
    fn a_cpu_does_not_request_what_it_still_has() {
        let mut lines = Ownership::default();
        assert_eq!(arrives(&mut lines, 0, 1000, true), 1100);
        assert_eq!(arrives(&mut lines, 1, 2000, true), 2100);
        // CPU 0 lost it at 2075.
        assert_eq!(arrives(&mut lines, 0, 2010, true), 2175);
        // CPU 1 lost it at 2150, and was polling it.
        let request =
            Request { line: 7, cpu: 1, at: 5000, waits_from: Some(2120), cost: 100, request_time: 75, writes: false };
        assert_eq!(lines.transfer(request), Move { requested: 2150, arrived: 2250 });
        // CPU 1 has a copy now; CPU 2 never had one.
        assert_eq!(arrives(&mut lines, 0, 2200, true), 2300);
        let first = Request { cpu: 2, ..request };
        assert_eq!(lines.transfer(first).requested, 5000);
    }

    #[test]
    fn readers_do_not_wait_for_each_other_and_a_writer_waits_for_them() {
        let mut lines = Ownership::default();
        assert_eq!(arrives(&mut lines, 0, 1000, true), 1100);
        assert_eq!(arrives(&mut lines, 1, 2000, false), 2100);
        assert_eq!(arrives(&mut lines, 255, 1500, false), 1600);
        assert_eq!(arrives(&mut lines, 0, 1900, true), 2125);
        // Both lost it at 2100.
        assert_eq!((arrives(&mut lines, 255, 1600, false), arrives(&mut lines, 1, 2200, false)), (2200, 2300));
        lines.clear();
        assert_eq!(arrives(&mut lines, 1, 0, false), 100);
    }
}
