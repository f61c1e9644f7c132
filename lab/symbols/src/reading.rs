//! Adds names to a report: keeps the top lines and sites of the plugin's report, with names for code and data.

use crate::by_type::by_type;
use crate::callers::callers;
use crate::names::Names;
use faultline_model::lens::raw::{RawInterrupts, RawLine, RawReport, Site};
use faultline_model::lens::reading::{
    InterruptReading, LINES_KEPT, Line, Overlap, Part, Reading, SITES_KEPT, SITES_KEPT_OF_LINE,
};
use std::collections::BTreeSet;
use std::num::NonZeroU64;

/// The report with names. `operations` is the number that its workload did in the counted part.
pub fn name_reading(raw: RawReport, names: &dyn Names, operations: NonZeroU64) -> Reading {
    let by_type = raw.accesses.as_deref().map(|lines| by_type(lines, names));
    let (lines, sites) = kept(raw.lines, raw.sites, names);
    let kept_lines: BTreeSet<u64> = lines.iter().map(|line| line.address).collect();
    let callers = raw.samples.as_ref().map(|samples| callers(samples, &kept_lines, names));
    let interrupt = raw.interrupt.map(|RawInterrupts { totals, lines_moved, lines, sites_moving, sites }| {
        let (lines, sites) = kept(lines, sites, names);
        InterruptReading { totals, lines_moved, lines, sites_moving, sites }
    });
    let both = [Some((&lines, &sites)), interrupt.as_ref().map(|part| (&part.lines, &part.sites))];
    let of_types = by_type.iter().flat_map(|by_type| &by_type.types).flat_map(|of| &of.accesses);
    let of_types = of_types.flat_map(|access| access.by_site.iter().map(|site| site.address));
    let addresses: BTreeSet<u64> =
        both.into_iter().flatten().flat_map(|(lines, sites)| addresses(lines, sites)).chain(of_types).collect();
    let overlap = Overlap { busy_time: raw.busy_time, overlapping_time: raw.overlapping_time };
    Reading {
        format: Reading::FORMAT.to_owned(),
        operations,
        is_partial: false,
        seed: None,
        target: raw.target,
        mode: raw.mode,
        scope: raw.scope,
        machine: raw.machine,
        regions: raw.regions,
        forks: raw.forks,
        problems: raw.problems,
        untyped: None,
        predicted_ns: raw.predicted_time_ns,
        totals: raw.totals,
        cpus: raw.cpus,
        lines_moved: raw.lines_moved,
        lines,
        sites_moving: raw.sites_moving,
        sites,
        interrupt,
        by_type,
        callers,
        overlap: Some(overlap),
        spent: raw.spent,
        code: addresses.into_iter().filter_map(|address| Some((address, names.code(address)?))).collect(),
    }
}

/// The top lines, with names, and the top sites.
fn kept(lines: Vec<RawLine>, sites: Vec<Site>, names: &dyn Names) -> (Vec<Line>, Vec<Site>) {
    let lines = lines.into_iter().take(LINES_KEPT).map(|line| name_line(line, names)).collect();
    (lines, sites.into_iter().take(SITES_KEPT).collect())
}

/// Every instruction that needs a name.
fn addresses<'a>(lines: &'a [Line], sites: &'a [Site]) -> impl Iterator<Item = u64> + 'a {
    let of_lines = lines.iter().flat_map(|line| line.by_site.iter().map(|site| site.address));
    sites.iter().map(|site| site.address).chain(of_lines)
}

fn name_line(line: RawLine, names: &dyn Names) -> Line {
    let data = |offset: u64| names.data(line.address.saturating_add(offset), line.space, line.contents);
    let parts: Vec<Part> = line
        .by_offset
        .iter()
        .map(|part| Part { offset: part.offset, size: part.size, transfers: part.transfers, data: data(part.offset) })
        .collect();
    Line {
        address: line.address,
        space: line.space,
        data: parts.first().map_or_else(|| data(0), |part| part.data.clone()),
        transfers: line.transfers,
        true_sharing: line.true_sharing,
        false_sharing: line.false_sharing,
        by_cpu: line.by_cpu,
        by_site: line.by_site.into_iter().take(SITES_KEPT_OF_LINE).collect(),
        parts,
    }
}
