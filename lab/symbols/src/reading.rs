//! Adds names to a report: keeps the top lines and sites with names for code and data, and turns
//! sampled stacks into chains of functions.

use crate::by_type::by_type;
use crate::names::Names;
use faultline_lens_format::{RawAccess, RawCounts, RawLine, RawSamples};
use faultline_record::lens::by_type::SiteTransfers;
use faultline_record::lens::callers::{Callers, Chain, Frame};
use faultline_record::lens::counted::CountedReport;
use faultline_record::lens::reading::{
    CpuTransfers, InterruptReading, LINES_KEPT, Line, LinePart, Overlap, Reading, SITES_KEPT, SITES_KEPT_OF_LINE, Site,
};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::num::NonZeroU64;

/// Maximum number of parts of a line.
const PARTS_KEPT: usize = 16;

/// The report with names. `operations`: the number of the workload's operations in the counted
/// part.
pub fn name_reading(report: CountedReport, names: &dyn Names, operations: NonZeroU64) -> Reading {
    let CountedReport { counts: raw, agent } = report;
    let (by_type, by_object) = by_type(&raw.operation.lines, names);
    let (lines, sites) = (kept_lines(&raw.operation, names), sites(&raw.operation));
    let addresses: BTreeSet<u64> = lines.iter().map(|line| line.address).collect();
    let callers = raw.samples.as_ref().map(|samples| callers(samples, &addresses, names));
    let interrupt = raw.interrupt.as_ref().map(|counts| interrupts(counts, names));
    let both = [Some((&lines, &sites)), interrupt.as_ref().map(|part| (&part.lines, &part.sites))];
    let of_types = by_type.types.iter().flat_map(|of| &of.accesses);
    let of_types = of_types.flat_map(|access| &access.by_site);
    let of_objects = by_object.iter().flat_map(|of| &of.by_site);
    let of_data = of_types.chain(of_objects).map(|site| site.address);
    let code: BTreeSet<u64> =
        both.into_iter().flatten().flat_map(|(lines, sites)| instructions(lines, sites)).chain(of_data).collect();
    let overlap = Overlap { busy_time: raw.busy_time, overlapping_time: raw.overlapping_time };
    let lines_moved = raw.operation.lines.len() as u64;
    Reading {
        format: Reading::FORMAT.to_owned(),
        operations,
        is_partial: false,
        seed: None,
        predicted_ns: raw.predicted_ns(),
        target: raw.target,
        mode: raw.mode,
        scope: raw.scope,
        machine: raw.machine,
        regions: raw.regions,
        forks: agent.forks,
        problems: agent.problems,
        untyped: None,
        totals: raw.operation.totals,
        cpus: raw.cpus,
        processes: raw.processes,
        lines_moved,
        lines,
        sites_moving: sites.len() as u64,
        sites: sites.into_iter().take(SITES_KEPT).collect(),
        interrupt,
        by_type,
        by_object,
        callers,
        overlap,
        spent: raw.spent,
        code: code.into_iter().filter_map(|address| Some((address, names.code(address)?))).collect(),
    }
}

fn interrupts(counts: &RawCounts, names: &dyn Names) -> InterruptReading {
    let sites = sites(counts);
    InterruptReading {
        totals: counts.totals,
        lines_moved: counts.lines.len() as u64,
        lines: kept_lines(counts, names),
        sites_moving: sites.len() as u64,
        sites: sites.into_iter().take(SITES_KEPT).collect(),
    }
}

/// The top lines, with names.
fn kept_lines(counts: &RawCounts, names: &dyn Names) -> Vec<Line> {
    counts.lines.iter().take(LINES_KEPT).map(|line| name_line(line, names)).collect()
}

/// Every instruction that made a line move, by transfers, most first.
fn sites(counts: &RawCounts) -> Vec<Site> {
    let mut sums: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    for access in counts.lines.iter().flat_map(|line| &line.accesses) {
        let (true_sharing, false_sharing) = sums.entry(access.site).or_default();
        *true_sharing += access.true_sharing;
        *false_sharing += access.false_sharing;
    }
    let site = |(address, (true_sharing, false_sharing))| Site {
        address,
        transfers: true_sharing + false_sharing,
        true_sharing,
        false_sharing,
    };
    let mut sites: Vec<Site> = sums.into_iter().map(site).collect();
    sites.sort_by_key(|site| (Reverse(site.transfers), site.address));
    sites
}

/// Every instruction that needs a name.
fn instructions<'a>(lines: &'a [Line], sites: &'a [Site]) -> impl Iterator<Item = u64> + 'a {
    let of_lines = lines.iter().flat_map(|line| line.by_site.iter().map(|site| site.address));
    sites.iter().take(SITES_KEPT).map(|site| site.address).chain(of_lines)
}

fn name_line(line: &RawLine, names: &dyn Names) -> Line {
    let data = |offset: u64| names.data(line.address.saturating_add(offset), line.space, line.contents);
    let by_bytes = most_first(line, |access| (access.offset, access.size));
    let parts: Vec<LinePart> = by_bytes
        .into_iter()
        .take(PARTS_KEPT)
        .map(|((offset, size), transfers)| LinePart { offset, size, transfers, data: data(offset) })
        .collect();
    let by_site = most_first(line, |access| access.site).into_iter().take(SITES_KEPT_OF_LINE);
    Line {
        address: line.address,
        space: line.space,
        data: parts.first().map_or_else(|| data(0), |part| part.data.clone()),
        transfers: line.transfers(),
        true_sharing: line.true_sharing(),
        false_sharing: line.false_sharing(),
        reads: Some(line.accesses.iter().filter(|access| !access.is_write).map(RawAccess::transfers).sum()),
        by_cpu: line.by_cpu.iter().map(|&(cpu, transfers)| CpuTransfers { cpu, transfers }).collect(),
        by_site: by_site.map(|(address, transfers)| SiteTransfers { address, transfers }).collect(),
        parts,
    }
}

/// Transfers of a line by a property of its accesses, most first.
fn most_first<K: Ord + Copy>(line: &RawLine, key: impl Fn(&RawAccess) -> K) -> Vec<(K, u64)> {
    let mut sums: BTreeMap<K, u64> = BTreeMap::new();
    for access in &line.accesses {
        *sums.entry(key(access)).or_default() += access.transfers();
    }
    let mut sums: Vec<(K, u64)> = sums.into_iter().collect();
    sums.sort_by_key(|&(key, transfers)| (Reverse(transfers), key));
    sums
}

/// The callers of a sample. `lines`: the addresses of the saved lines.
pub(crate) fn callers(raw: &RawSamples, lines: &BTreeSet<u64>, names: &dyn Names) -> Callers {
    let mut frames = Frames { names, numbers: BTreeMap::new(), by_address: HashMap::new() };
    let mut chains: BTreeMap<Chain, u64> = BTreeMap::new();
    for sample in &raw.kept {
        let places = names.callers(sample);
        let numbers = places.addresses.iter().flat_map(|&address| frames.at(address)).collect();
        let line = Some(sample.line).filter(|line| lines.contains(line));
        *chains.entry(Chain { frames: numbers, is_whole: places.is_whole, line }).or_default() += 1;
    }
    let mut chains: Vec<(Chain, u64)> = chains.into_iter().collect();
    chains.sort_by_key(|(_, samples)| Reverse(*samples));
    let mut known: Vec<(Frame, u32)> = frames.numbers.into_iter().collect();
    known.sort_by_key(|&(_, number)| number);
    Callers {
        transfers: raw.transfers,
        samples: raw.kept.len() as u64,
        one_in: raw.one_in,
        frames: known.into_iter().map(|(frame, _)| frame).collect(),
        chains,
    }
}

/// The functions of all chains, numbered in order of appearance.
struct Frames<'a> {
    names: &'a dyn Names,
    numbers: BTreeMap<Frame, u32>,
    by_address: HashMap<u64, Vec<u32>>,
}

impl Frames<'_> {
    /// The functions at an address, the innermost first.
    fn at(&mut self, address: u64) -> Vec<u32> {
        if let Some(known) = self.by_address.get(&address) {
            return known.clone();
        }
        let numbers: Vec<u32> = self.names.frames(address).into_iter().map(|frame| self.number(frame)).collect();
        self.by_address.insert(address, numbers.clone());
        numbers
    }

    fn number(&mut self, frame: Frame) -> u32 {
        let next = self.numbers.len() as u32;
        *self.numbers.entry(frame).or_insert(next)
    }
}
