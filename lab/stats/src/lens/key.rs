//! Keys of data and code, which identify them across runs, and the transfers by key.

use crate::thresholds::LENS_CODE_SHARE;
use faultline_record::lens::data::{Code, Data};
use faultline_record::lens::reading::{Line, Reading};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Data or code, identified across runs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Key {
    /// Data with a name.
    Named {
        /// Name of the variable or type, with the member.
        name: String,
    },
    /// Unnamed data, identified by the code that moves it.
    Unnamed {
        /// Kind of data.
        what: Unnamed,
        /// Code locations that each cause a considerable share of its transfers, in order; `None`
        /// for unnamed code. Empty if no single location causes much.
        moved_by: Vec<Option<CodePlace>>,
    },
    /// Code; `None` if it has no name.
    Code {
        /// Its location.
        place: Option<CodePlace>,
    },
}

/// Kinds of unnamed data.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
#[serde(tag = "of", rename_all = "kebab-case")]
pub enum Unnamed {
    /// An object of a kernel's slab cache, of unknown type.
    Cache {
        /// Name of the cache, such as `kmalloc-64`.
        cache: String,
    },
    /// A page that was free at the end.
    FreePage,
    /// Per-CPU memory.
    PerCpu,
    /// A page of the kernel.
    KernelPage,
    /// A kernel stack, or other `vmalloc` memory.
    Vmalloc,
    /// A program's heap.
    Heap,
    /// Memory mapped by a program: stacks, large allocations, libraries.
    Mapped,
    /// Anything else.
    Unknown,
}

/// A code location.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct CodePlace {
    /// The function; the innermost one of the program's own if functions were inlined.
    pub function: String,
    /// Source file and line, if known, such as `counter.c:12`.
    pub source: Option<String>,
    /// Functions that it was inlined into, up to the one with a symbol.
    pub inlined_into: Option<String>,
}

impl From<&Code> for CodePlace {
    fn from(code: &Code) -> Self {
        let seen = code.seen();
        CodePlace {
            inlined_into: seen.around.last().map(|&name| name.to_owned()),
            function: seen.function.to_owned(),
            source: seen.source,
        }
    }
}

/// Transfers of one key.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Moved {
    /// Transfers per operation.
    pub(crate) transfers: f64,
    /// Keys of the data that shared a line with it.
    pub(crate) beside: BTreeSet<Key>,
}

/// Transfers of all data in the saved lines. A line's transfers are divided by the data at which
/// their accesses began. Transfers without a known byte go to the data that names the line.
pub(crate) fn data(reading: &Reading) -> BTreeMap<Key, Moved> {
    let mut moved: BTreeMap<Key, Moved> = BTreeMap::new();
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

/// Transfers of all code in the saved sites, by location.
pub(crate) fn code(reading: &Reading) -> BTreeMap<Key, f64> {
    let mut moved: BTreeMap<Key, f64> = BTreeMap::new();
    for site in &reading.sites {
        let key = Key::Code { place: place(reading, site.address) };
        *moved.entry(key).or_default() += reading.per_operation(site.transfers);
    }
    moved
}

fn parts(reading: &Reading, line: &Line) -> BTreeMap<Key, u64> {
    let mut parts: BTreeMap<Key, u64> = BTreeMap::new();
    let told: u64 = line.parts.iter().map(|part| part.transfers).sum();
    for part in &line.parts {
        *parts.entry(key(reading, line, &part.data)).or_default() += part.transfers;
    }
    if line.transfers > told {
        *parts.entry(key(reading, line, &line.data)).or_default() += line.transfers - told;
    }
    parts
}

fn key(reading: &Reading, line: &Line, data: &Data) -> Key {
    match data.name() {
        Some(name) => Key::Named { name },
        None => Key::Unnamed { what: unnamed(data), moved_by: movers(reading, line) },
    }
}

/// The kind of unnamed data.
fn unnamed(data: &Data) -> Unnamed {
    match data {
        Data::Allocated { cache, .. } => Unnamed::Cache { cache: cache.clone() },
        Data::FreePage { .. } => Unnamed::FreePage,
        Data::PerCpu { .. } => Unnamed::PerCpu,
        Data::Page { .. } => Unnamed::KernelPage,
        Data::Vmalloc { .. } => Unnamed::Vmalloc,
        Data::Heap { .. } | Data::Allocation { .. } => Unnamed::Heap,
        Data::Mapped { .. } => Unnamed::Mapped,
        Data::Symbol { .. }
        | Data::StructPage { .. }
        | Data::Object { .. }
        | Data::PageTable { .. }
        | Data::TaskStack { .. }
        | Data::Unknown { .. } => Unnamed::Unknown,
    }
}

/// The code locations that each cause at least [`LENS_CODE_SHARE`] of a line's transfers, in order.
fn movers(reading: &Reading, line: &Line) -> Vec<Option<CodePlace>> {
    let mut places: BTreeMap<Option<CodePlace>, u64> = BTreeMap::new();
    for site in &line.by_site {
        *places.entry(place(reading, site.address)).or_default() += site.transfers;
    }
    let enough = |transfers: u64| transfers as f64 >= LENS_CODE_SHARE * line.transfers as f64;
    places.into_iter().filter(|&(_, transfers)| enough(transfers)).map(|(place, _)| place).collect()
}

/// Function and source line, with the function that it was inlined into.
fn place(reading: &Reading, address: u64) -> Option<CodePlace> {
    reading.code.get(&address).map(CodePlace::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lens::example::{self, line, named};

    fn name(name: &str) -> Key {
        Key::Named { name: name.to_owned() }
    }

    #[test]
    fn a_lines_transfers_go_to_what_stood_where_they_began() {
        let mut shared = line(0x1000, 90, "hits");
        shared.parts.push(example::part(8, 30, named("misses")));
        shared.parts[0].transfers = 50;
        let reading = example::reading(2, 100, vec![shared]);
        let moved = data(&reading);
        assert_eq!(moved[&name("hits")].transfers, 0.6, "50, and the 10 that the report doesn't tell of");
        assert_eq!(moved[&name("misses")].transfers, 0.3);
        assert_eq!(moved[&name("misses")].beside, BTreeSet::from([name("hits")]));
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
        let [Key::Unnamed { what: Unnamed::Heap, moved_by }] = &keys(0x1000)[..] else { panic!("{:?}", keys(0x1000)) };
        let work = CodePlace { function: "work".into(), source: Some("main.c:10".into()), inlined_into: None };
        assert_eq!(moved_by[..], [Some(work)]);
    }
}
