//! All CPUs' tallies put together: totals, and the lines and sites with most transfers.

use crate::tally::{Cause, Count, Distance, Key, Tally};
use crate::topology::CpuId;
use std::collections::BTreeMap;

/// A line's transfers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineReport {
    /// Number of the line: its address by 64.
    pub line: u64,
    /// All transfers of it.
    pub count: Count,
    /// Transfers to each CPU that fetched it, by CPU.
    pub by_cpu: BTreeMap<CpuId, u64>,
    /// Transfers by each instruction, the most first.
    pub by_site: Vec<(u64, u64)>,
}

/// An instruction's transfers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SiteReport {
    /// The instruction.
    pub site: u64,
    /// All transfers that it needed.
    pub count: Count,
}

/// Transfers of a whole machine.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    /// All of them.
    pub count: Count,
    /// By cause.
    pub by_cause: BTreeMap<Cause, u64>,
    /// By distance.
    pub by_distance: BTreeMap<Distance, u64>,
    /// By read-modify-writes.
    pub atomic: u64,
    /// In user mode.
    pub user: u64,
    /// Every line that moved, the most transfers first, then by number.
    pub lines: Vec<LineReport>,
    /// Every instruction that made one move, the most transfers first, then by address.
    pub sites: Vec<SiteReport>,
}

impl Report {
    /// Puts tallies together, each with the CPU that it is of.
    pub fn new<'a>(tallies: impl IntoIterator<Item = (CpuId, &'a Tally)>) -> Self {
        let mut report = Report::default();
        let mut lines: BTreeMap<u64, (LineReport, BTreeMap<u64, u64>)> = BTreeMap::new();
        let mut sites: BTreeMap<u64, Count> = BTreeMap::new();
        for (cpu, tally) in tallies {
            for (key, count) in tally.iter() {
                report.add(key, count);
                add(sites.entry(key.site).or_default(), count);
                let (line, line_sites) =
                    lines.entry(key.line).or_insert_with(|| (LineReport::empty(key.line), BTreeMap::new()));
                add(&mut line.count, count);
                *line.by_cpu.entry(cpu).or_default() += count.total();
                *line_sites.entry(key.site).or_default() += count.total();
            }
        }
        report.lines =
            lines.into_values().map(|(line, sites)| LineReport { by_site: most_first(sites), ..line }).collect();
        report.lines.sort_by_key(|line| (std::cmp::Reverse(line.count.total()), line.line));
        report.sites = sites.into_iter().map(|(site, count)| SiteReport { site, count }).collect();
        report.sites.sort_by_key(|site| (std::cmp::Reverse(site.count.total()), site.site));
        report
    }

    fn add(&mut self, key: &Key, count: &Count) {
        add(&mut self.count, count);
        *self.by_cause.entry(key.cause).or_default() += count.total();
        *self.by_distance.entry(key.distance).or_default() += count.total();
        self.atomic += if key.atomic { count.total() } else { 0 };
        self.user += if key.user { count.total() } else { 0 };
    }
}

impl LineReport {
    fn empty(line: u64) -> Self {
        LineReport { line, count: Count::default(), by_cpu: BTreeMap::new(), by_site: Vec::new() }
    }
}

fn add(sum: &mut Count, count: &Count) {
    sum.true_sharing += count.true_sharing;
    sum.false_sharing += count.false_sharing;
}

fn most_first(counts: BTreeMap<u64, u64>) -> Vec<(u64, u64)> {
    let mut counts: Vec<(u64, u64)> = counts.into_iter().collect();
    counts.sort_by_key(|&(site, count)| (std::cmp::Reverse(count), site));
    counts
}
