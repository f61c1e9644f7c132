//! The names of data and code across runs. Addresses change between builds and runs, so they are never part of a key. The key of data is
//! its name, or the code that moves it if it has no name.

use crate::thresholds::LENS_CODE_SHARE;
use faultline_model::lens::data::Data;
use faultline_model::lens::reading::{Line, Reading};
use std::collections::{BTreeMap, BTreeSet};

/// Data of a reading by its key.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Moved {
    /// Transfers per operation.
    pub(crate) transfers: f64,
    /// Keys of the data that shared a line with it.
    pub(crate) beside: BTreeSet<String>,
}

/// Transfers of all data in the saved lines. A line's transfers are divided by the data at which their accesses began. Transfers for which the report has no
/// byte go to the data that the line is named by.
pub(crate) fn data(reading: &Reading) -> BTreeMap<String, Moved> {
    let mut moved: BTreeMap<String, Moved> = BTreeMap::new();
    for line in &reading.lines {
        let parts = parts(reading, line);
        for (key, transfers) in &parts {
            let entry = moved.entry(key.clone()).or_default();
            entry.transfers += reading.per_operation(*transfers);
            entry.beside.extend(parts.keys().filter(|other| *other != key).cloned());
        }
    }
    moved
}

/// Transfers of all code in the saved sites, by place.
pub(crate) fn code(reading: &Reading) -> BTreeMap<String, f64> {
    let mut moved: BTreeMap<String, f64> = BTreeMap::new();
    for site in &reading.sites {
        *moved.entry(place(reading, site.address)).or_default() += reading.per_operation(site.transfers);
    }
    moved
}

fn parts(reading: &Reading, line: &Line) -> BTreeMap<String, u64> {
    let mut parts: BTreeMap<String, u64> = BTreeMap::new();
    let told: u64 = line.parts.iter().map(|part| part.transfers).sum();
    for part in &line.parts {
        *parts.entry(key(reading, line, &part.data)).or_default() += part.transfers;
    }
    if line.transfers > told {
        *parts.entry(key(reading, line, &line.data)).or_default() += line.transfers - told;
    }
    parts
}

fn key(reading: &Reading, line: &Line, data: &Data) -> String {
    data.name().unwrap_or_else(|| format!("{} moved by {}", kind(data), movers(reading, line)))
}

/// The kind of data without a name.
fn kind(data: &Data) -> &str {
    match data {
        Data::Allocated { cache, .. } => cache,
        Data::FreePage { .. } => "free page",
        Data::PerCpu { .. } => "memory of each CPU",
        Data::Page { .. } => "kernel memory",
        Data::Vmalloc { .. } => "kernel stack or vmalloc",
        Data::Heap { .. } | Data::Allocation { .. } => "heap",
        Data::Mapped { .. } => "stack or mapping",
        Data::Symbol { .. }
        | Data::StructPage { .. }
        | Data::Object { .. }
        | Data::PageTable { .. }
        | Data::TaskStack { .. }
        | Data::Unknown { .. } => "memory",
    }
}

/// The places in code that each cause at least [`LENS_CODE_SHARE`] of a line's transfers, in the order of their names.
fn movers(reading: &Reading, line: &Line) -> String {
    let mut places: BTreeMap<String, u64> = BTreeMap::new();
    for site in &line.by_site {
        *places.entry(place(reading, site.address)).or_default() += site.transfers;
    }
    let enough = |transfers: u64| transfers as f64 >= LENS_CODE_SHARE * line.transfers as f64;
    let named: Vec<&str> =
        places.iter().filter(|&(_, &transfers)| enough(transfers)).map(|(name, _)| name.as_str()).collect();
    if named.is_empty() { "many places".to_owned() } else { named.join(" + ") }
}

/// Function and source line, with the function that it was inlined into.
fn place(reading: &Reading, address: u64) -> String {
    match reading.code.get(&address) {
        Some(code) => match &code.inlined_into {
            Some(outer) => format!("{code} in {outer}"),
            None => code.to_string(),
        },
        None => "code without a name".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lens::example::{self, line, named};

    #[test]
    fn a_lines_transfers_go_to_what_stood_where_they_began() {
        let mut shared = line(0x1000, 90, "hits");
        shared.parts.push(example::part(8, 30, named("misses")));
        shared.parts[0].transfers = 50;
        let reading = example::reading(2, 100, vec![shared]);
        let moved = data(&reading);
        assert_eq!(moved["hits"].transfers, 0.6, "50, and the 10 that the report doesn't tell of");
        assert_eq!(moved["misses"].transfers, 0.3);
        assert_eq!(moved["misses"].beside, BTreeSet::from(["hits".to_owned()]));
    }

    #[test]
    fn data_without_a_name_goes_by_its_code_and_not_by_its_address() {
        let heap = |address: u64| {
            let mut heap = line(address, 90, "");
            heap.data = Data::Heap { offset: address };
            heap.parts[0].data = heap.data.clone();
            heap
        };
        let keys = |address| data(&example::reading(2, 100, vec![heap(address)])).into_keys().collect::<Vec<_>>();
        assert_eq!(keys(0x1000), keys(0x7000));
        assert_eq!(keys(0x1000), ["heap moved by work main.c:10"]);
    }
}
