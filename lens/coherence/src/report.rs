//! The combined tallies of all CPUs: totals, and the lines and sites with most transfers.

use crate::access::{Context, Work};
use crate::machine::Machine;
use crate::tally::{Cause, Count, Key, Tally};
use crate::topology::{CpuId, Distance};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// A line's transfers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineReport {
    /// Number of the line: its address divided by 64.
    pub line: u64,
    /// All transfers of the line.
    pub count: Count,
    /// Transfers to each CPU.
    pub by_cpu: BTreeMap<CpuId, u64>,
    /// Transfers by access, in order.
    pub by_access: Vec<(AccessKey, Count)>,
    /// True if its page was reached through a mapping of user space.
    pub contents: bool,
    /// Sum of its transfers' costs in clocks: a line is in one place at a time, so its transfers
    /// are sequential. At most as many reads as writes count, because the copies for the reads
    /// between two writes can be on their way at once. No machine can complete all accesses to the
    /// line sooner (the bottleneck bound of Denning and Buzen, "The operational analysis of
    /// queueing network models", 1978).
    pub occupied: u64,
}

/// An access to a line, by bytes, instruction and kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct AccessKey {
    /// The first byte touched.
    pub offset: u8,
    /// Number of bytes touched.
    pub size: u8,
    /// The instruction.
    pub site: u64,
    /// Read or write.
    pub cause: Cause,
}

/// Transfers of a machine, or of one [part](Work) of them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    /// All transfers.
    pub count: Count,
    /// Transfers by cause.
    pub by_cause: BTreeMap<Cause, u64>,
    /// Transfers by distance.
    pub by_distance: BTreeMap<Distance, u64>,
    /// Transfers by read-modify-writes.
    pub atomic: u64,
    /// Transfers in user mode.
    pub user: u64,
    /// Transfers of lines whose page was reached through a mapping of user space.
    pub contents: u64,
    /// Every line that moved, sorted by transfers, most first, then by number.
    pub lines: Vec<LineReport>,
}

impl Report {
    /// Combines the tallies of a machine's CPUs, each with its CPU's number.
    pub fn new<'a>(machine: &Machine, tallies: impl IntoIterator<Item = (CpuId, &'a Tally)>) -> Self {
        Report::combined(machine, tallies, |_| true)
    }

    /// As [`Report::new`], for one part of the counts.
    pub fn of<'a>(work: Work, machine: &Machine, tallies: impl IntoIterator<Item = (CpuId, &'a Tally)>) -> Self {
        Report::combined(machine, tallies, |context| context.work() == work)
    }

    fn combined<'a>(
        machine: &Machine,
        tallies: impl IntoIterator<Item = (CpuId, &'a Tally)>,
        counts: impl Fn(Context) -> bool,
    ) -> Self {
        let mut report = Report::default();
        let mut lines: BTreeMap<u64, LineSums> = BTreeMap::new();
        for (cpu, tally) in tallies {
            for (key, count) in tally.iter().filter(|(key, _)| counts(key.context)) {
                report.add(&key, &count);
                let cost = machine.costs().of(key.distance, machine.topology());
                lines.entry(key.line).or_default().add(cpu, &key, &count, cost);
            }
        }
        report.lines = lines.into_iter().map(|(line, sums)| sums.into_report(machine, line)).collect();
        report.lines.sort_by_key(|line| (Reverse(line.count.total()), line.line));
        report.contents = report.lines.iter().filter(|line| line.contents).map(|line| line.count.total()).sum();
        report
    }

    fn add(&mut self, key: &Key, count: &Count) {
        self.count.add(count);
        *self.by_cause.entry(key.cause).or_default() += count.total();
        *self.by_distance.entry(key.distance).or_default() += count.total();
        self.atomic += if key.atomic { count.total() } else { 0 };
        self.user += if key.context == Context::User { count.total() } else { 0 };
    }
}

/// A line's report in the making.
#[derive(Default)]
struct LineSums {
    count: Count,
    by_cpu: BTreeMap<CpuId, u64>,
    by_access: BTreeMap<AccessKey, Count>,
    reads: u64,
    writes: u64,
    reads_cost: u64,
    writes_cost: u64,
}

impl LineSums {
    fn add(&mut self, cpu: CpuId, key: &Key, count: &Count, cost: u64) {
        let (number, time) = match key.cause {
            Cause::Read => (&mut self.reads, &mut self.reads_cost),
            Cause::Write => (&mut self.writes, &mut self.writes_cost),
        };
        *number += count.total();
        *time = time.saturating_add(cost.saturating_mul(count.total()));
        self.count.add(count);
        *self.by_cpu.entry(cpu).or_default() += count.total();
        let access = AccessKey { offset: key.offset, size: key.size, site: key.site, cause: key.cause };
        self.by_access.entry(access).or_default().add(count);
    }

    fn into_report(self, machine: &Machine, line: u64) -> LineReport {
        let share = if self.reads > self.writes { self.writes as f64 / self.reads as f64 } else { 1.0 };
        LineReport {
            line,
            occupied: self.writes_cost.saturating_add((self.reads_cost as f64 * share) as u64),
            count: self.count,
            by_cpu: self.by_cpu,
            by_access: self.by_access.into_iter().collect(),
            contents: machine.lines().group(line).is_contents(),
        }
    }
}
