//! A reading's lines and code in the form in which they are shown: per operation, with shares, all instructions of one place together.

use faultline_model::lens::key::Key;
use faultline_model::lens::place::Place;
use faultline_model::lens::raw::{Site, SiteTransfers, Totals};
use faultline_model::lens::reading::{Line, Reading};
use faultline_model::lens::summary::{Held, LineFigures};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Number of places in code that are named for a line, a member or a type.
const CODE_OF_LINE: usize = 5;

/// What a reading counted: of the operation, or of interrupts.
#[derive(Clone, Copy)]
pub(crate) struct Counts<'a> {
    reading: &'a Reading,
    totals: &'a Totals,
    lines: &'a [Line],
    sites: &'a [Site],
}

impl<'a> Counts<'a> {
    /// Those of the operation.
    pub(crate) fn of_operation(reading: &'a Reading) -> Self {
        Counts { reading, totals: &reading.totals, lines: &reading.lines, sites: &reading.sites }
    }

    /// Those of interrupts, if they were told apart.
    pub(crate) fn of_interrupts(reading: &'a Reading) -> Option<Self> {
        let part = reading.interrupt.as_ref()?;
        Some(Counts { reading, totals: &part.totals, lines: &part.lines, sites: &part.sites })
    }
}

/// The first lines.
pub(crate) fn lines(counts: Counts<'_>, shown: usize) -> Vec<LineFigures> {
    counts.lines.iter().take(shown).map(|line| line_figures(counts, line)).collect()
}

/// The places in code with the most transfers.
pub(crate) fn code(counts: Counts<'_>, shown: usize) -> Vec<Place> {
    let Counts { reading, totals, sites, .. } = counts;
    let mut places: BTreeMap<PlaceName, (u64, u64)> = BTreeMap::new();
    for site in sites {
        let (transfers, false_sharing) = places.entry(place_name(reading, site.address)).or_default();
        *transfers += site.transfers;
        *false_sharing += site.false_sharing;
    }
    let places = places.into_iter().map(|(place, (transfers, false_sharing))| Place {
        name: place.name,
        inlined_into: place.inlined_into,
        between: place.between,
        transfers: reading.per_operation(transfers),
        share: share(transfers, totals.transfers),
        false_share: Some(share(false_sharing, transfers)),
    });
    most_first(places.collect(), shown)
}

/// The name of a place in code.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct PlaceName {
    /// Function and source line, or the address.
    name: String,
    inlined_into: Option<String>,
    between: Vec<String>,
}

fn place_name(reading: &Reading, address: u64) -> PlaceName {
    match reading.code.get(&address) {
        Some(code) => {
            PlaceName { name: code.to_string(), inlined_into: code.inlined_into.clone(), between: code.between.clone() }
        }
        None => PlaceName { name: format!("{address:#x}"), inlined_into: None, between: Vec::new() },
    }
}

fn line_figures(Counts { reading, totals, .. }: Counts<'_>, line: &Line) -> LineFigures {
    LineFigures {
        name: line.data.to_string(),
        address: format!("{:#x}", line.address),
        transfers: reading.per_operation(line.transfers),
        share: share(line.transfers, totals.transfers),
        false_share: share(line.false_sharing, line.transfers),
        held: held(line),
        by_cpu: line.by_cpu.clone(),
        code: code_of(reading, &line.by_site, line.transfers),
    }
}

/// The line's parts, those with one name together.
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
) -> Vec<Place> {
    let mut places: BTreeMap<PlaceName, u64> = BTreeMap::new();
    for site in sites {
        *places.entry(place_name(reading, site.address)).or_default() += site.transfers;
    }
    let places = places.into_iter().map(|(place, transfers)| Place {
        name: place.name,
        inlined_into: place.inlined_into,
        between: place.between,
        transfers: reading.per_operation(transfers),
        share: share(transfers, all),
        false_share: None,
    });
    most_first(places.collect(), CODE_OF_LINE)
}

/// The first places by transfers; equal ones by name.
fn most_first(mut places: Vec<Place>, shown: usize) -> Vec<Place> {
    places.sort_by(|a, b| {
        let name = |place: &Place| (place.name.clone(), place.inlined_into.clone(), place.between.clone());
        b.transfers.total_cmp(&a.transfers).then_with(|| name(a).cmp(&name(b)))
    });
    places.truncate(shown);
    places
}

/// Part divided by whole; 0 if the whole is 0.
pub(crate) fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// By size, the greatest first, then by key: an order that does not depend on the input's order.
pub(crate) fn by_size(size: f64, key: &Key) -> (Reverse<u64>, &Key) {
    (Reverse(size.abs().to_bits()), key)
}
