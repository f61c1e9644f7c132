//! Figures of a reading's lines and code for display: per operation, with shares; all instructions
//! of one location together.

use crate::lens::code_site::CodeSite;
use crate::lens::key::Key;
use crate::lens::summary::{Held, LineFigures, ObjectFigures};
use faultline_lens_format::Totals;
use faultline_record::lens::by_object::ObjectReading;
use faultline_record::lens::by_type::SiteTransfers;
use faultline_record::lens::reading::{Line, Reading, Site};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Number of code locations named for a line, a member or a type.
const CODE_OF_LINE: usize = 5;

/// Counts of a reading: of the operation, or of interrupts.
#[derive(Clone, Copy)]
pub(crate) struct Counts<'a> {
    reading: &'a Reading,
    totals: &'a Totals,
    lines: &'a [Line],
    sites: &'a [Site],
}

impl<'a> Counts<'a> {
    /// The counts of the operation.
    pub(crate) fn of_operation(reading: &'a Reading) -> Self {
        Counts { reading, totals: &reading.totals, lines: &reading.lines, sites: &reading.sites }
    }

    /// The counts of interrupts, if counted separately.
    pub(crate) fn of_interrupts(reading: &'a Reading) -> Option<Self> {
        let part = reading.interrupt.as_ref()?;
        Some(Counts { reading, totals: &part.totals, lines: &part.lines, sites: &part.sites })
    }
}

/// The first lines.
pub(crate) fn lines(counts: Counts<'_>, shown: usize) -> Vec<LineFigures> {
    counts.lines.iter().take(shown).map(|line| line_figures(counts, line)).collect()
}

/// The first objects.
pub(crate) fn objects(reading: &Reading, shown: usize) -> Vec<ObjectFigures> {
    let figures = |of: &ObjectReading| {
        let all = of.transfers();
        ObjectFigures {
            owner: of.owner.clone(),
            lines: of.lines,
            cpus: of.cpus,
            transfers: reading.per_operation(all.total()),
            share: share(all.total(), reading.totals.transfers),
            read_share: share(of.reads.total(), all.total()),
            false_share: share(all.false_sharing, all.total()),
            code: code_of(reading, &of.by_site, all.total()),
        }
    };
    reading.by_object.iter().take(shown).map(figures).collect()
}

/// The code locations with the most transfers.
pub(crate) fn code(counts: Counts<'_>, shown: usize) -> Vec<CodeSite> {
    let Counts { reading, totals, sites, .. } = counts;
    let mut places: BTreeMap<PlaceName, (u64, u64)> = BTreeMap::new();
    for site in sites {
        let (transfers, false_sharing) = places.entry(place_name(reading, site.address)).or_default();
        *transfers += site.transfers;
        *false_sharing += site.false_sharing;
    }
    let places = places.into_iter().map(|(place, (transfers, false_sharing))| CodeSite {
        name: place.name,
        library: place.library,
        inlined_into: place.inlined_into,
        between: place.between,
        transfers: reading.per_operation(transfers),
        share: share(transfers, totals.transfers),
        false_share: Some(share(false_sharing, transfers)),
    });
    most_first(places.collect(), shown)
}

/// Name of a code location.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct PlaceName {
    /// Function and source line, or the address.
    name: String,
    library: Option<String>,
    inlined_into: Option<String>,
    between: Vec<String>,
}

fn place_name(reading: &Reading, address: u64) -> PlaceName {
    match reading.code.get(&address) {
        Some(code) => {
            let seen = code.seen();
            let mut between: Vec<String> = seen.around.iter().map(|&name| name.to_owned()).collect();
            let inlined_into = between.pop();
            PlaceName { name: seen.name(), library: seen.library, inlined_into, between }
        }
        None => PlaceName { name: format!("{address:#x}"), library: None, inlined_into: None, between: Vec::new() },
    }
}

fn line_figures(Counts { reading, totals, .. }: Counts<'_>, line: &Line) -> LineFigures {
    LineFigures {
        name: line.data.to_string(),
        address: format!("{:#x}", line.address),
        transfers: reading.per_operation(line.transfers),
        share: share(line.transfers, totals.transfers),
        false_share: share(line.false_sharing, line.transfers),
        read_share: line.reads.map(|reads| share(reads, line.transfers)),
        held: held(line),
        by_cpu: line.by_cpu.clone(),
        code: code_of(reading, &line.by_site, line.transfers),
    }
}

/// The data of a line, merged by name.
fn held(line: &Line) -> Vec<Held> {
    let mut held: Vec<Held> = Vec::new();
    for part in &line.parts {
        let (name, share) = (part.data.to_string(), share(part.transfers, line.transfers));
        match held.iter_mut().find(|held| held.name == name) {
            Some(held) => {
                held.share += share;
                held.offset = held.offset.min(part.offset);
            }
            None => held.push(Held { name, offset: part.offset, share }),
        }
    }
    held.sort_by(|a, b| b.share.total_cmp(&a.share).then(a.offset.cmp(&b.offset)));
    held
}

/// The code of some instructions; shares are of `all` transfers.
pub(crate) fn code_of<'a>(
    reading: &Reading,
    sites: impl IntoIterator<Item = &'a SiteTransfers>,
    all: u64,
) -> Vec<CodeSite> {
    let mut places: BTreeMap<PlaceName, u64> = BTreeMap::new();
    for site in sites {
        *places.entry(place_name(reading, site.address)).or_default() += site.transfers;
    }
    let places = places.into_iter().map(|(place, transfers)| CodeSite {
        name: place.name,
        library: place.library,
        inlined_into: place.inlined_into,
        between: place.between,
        transfers: reading.per_operation(transfers),
        share: share(transfers, all),
        false_share: None,
    });
    most_first(places.collect(), CODE_OF_LINE)
}

/// The first places by transfers; equal ones by name.
fn most_first(mut places: Vec<CodeSite>, shown: usize) -> Vec<CodeSite> {
    places.sort_by(|a, b| {
        let name = |place: &CodeSite| (place.name.clone(), place.inlined_into.clone(), place.between.clone());
        b.transfers.total_cmp(&a.transfers).then_with(|| name(a).cmp(&name(b)))
    });
    places.truncate(shown);
    places
}

/// Part divided by whole; 0 if the whole is 0.
pub(crate) fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// Descending by size, then by key, so that the order does not depend on the input.
pub(crate) fn by_size(size: f64, key: &Key) -> (Reverse<u64>, &Key) {
    (Reverse(size.abs().to_bits()), key)
}
