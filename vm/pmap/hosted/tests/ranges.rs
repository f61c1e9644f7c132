//! Random ranges of the kernel on each machine, compared with a map of pages, and with TLBs that
//! keep what was not flushed.

use faultline_pmap::{Leaf, MapError, MemoryType};
use faultline_pmap_hosted::tables::{NAMES, PageTable, Pool};
use faultline_pmap_hosted::walkers::{Access, Walked};
use faultline_pmap_hosted::{FrameNumber, PageRange, Rights, VirtualPage};
use proptest::prelude::*;
use std::cell::RefCell;
use std::collections::BTreeMap;

const TABLES: usize = 256;
/// Pages of 2 MiB and 1 GiB.
const SIZES: [u64; 3] = [1, 1 << 9, 1 << 18];

#[derive(Debug, Clone)]
enum Call {
    Map(u64, u64, Rights, MemoryType),
    Unmap(u64, u64),
    SetRights(u64, u64, Rights),
    Merge(u64, usize),
}

/// Boundaries where ranges begin and end: within the first 3 GiB.
fn boundary() -> impl Strategy<Value = u64> {
    let near = prop_oneof![Just(0), Just(SIZES[1]), Just(2 * SIZES[1]), Just(SIZES[2]), Just(2 * SIZES[2])];
    (near, prop_oneof![3 => Just(0), 1 => 1..4_u64, 1 => Just(SIZES[1])]).prop_map(|(near, offset)| near + offset)
}

fn calls() -> impl Strategy<Value = Vec<Call>> {
    let range =
        || (boundary(), boundary()).prop_map(|(one, other)| (one.min(other), one.max(other).max(one.min(other) + 1)));
    let rights = || {
        (0..4_usize).prop_map(|which| {
            [Rights::READ, Rights::READ | Rights::WRITE, Rights::READ | Rights::EXECUTE, Rights::NONE][which]
        })
    };
    let memory = || {
        (0..3_usize).prop_map(|which| [MemoryType::WriteBack, MemoryType::WriteCombining, MemoryType::Device][which])
    };
    let call = prop_oneof![
        3 => (range(), rights(), memory()).prop_map(|((first, end), rights, memory)| Call::Map(first, end, rights, memory)),
        2 => range().prop_map(|(first, end)| Call::Unmap(first, end)),
        2 => (range(), rights()).prop_map(|((first, end), rights)| Call::SetRights(first, end, rights)),
        2 => (boundary(), 1..3_usize).prop_map(|(page, level)| Call::Merge(page, level)),
    ];
    proptest::collection::vec(call, 1..24)
}

/// Runs of pages with equal attributes: first page → (end, rights, memory type).
type Runs = BTreeMap<u64, (u64, Rights, MemoryType)>;

fn at(runs: &Runs, page: u64) -> Option<(Rights, MemoryType)> {
    let (_, (end, rights, memory)) = runs.range(..=page).next_back()?;
    (page < *end).then_some((*rights, *memory))
}

/// Cuts a run in two at a page.
fn cut(runs: &mut Runs, page: u64) {
    if let Some((_, run)) = runs.range_mut(..page).next_back()
        && run.0 > page
    {
        let rest = *run;
        run.0 = page;
        runs.insert(page, rest);
    }
}

/// Frames: as if the kernel mapped all of memory, shifted by a GiB.
fn frame(page: u64) -> u64 {
    page + SIZES[2]
}

/// A CPU that keeps all translations until they are flushed.
struct Cpu<'a> {
    name: &'static str,
    tables: &'a PageTable,
    tlb: RefCell<BTreeMap<(u64, u64), Walked>>,
}

const READS: Access = Access { writes: false, fetches: false, is_user: false };

impl Cpu<'_> {
    /// Translates a page without a look into the TLB, as a speculative access may.
    fn walk(&self, page: u64) -> Option<Walked> {
        let found = self.tables.walk(VirtualPage(page), READS).ok()?;
        let pages = found.bytes / 4096;
        let first = page - page % pages;
        let mut tlb = self.tlb.borrow_mut();
        if self.name == "aarch64" {
            // Break-before-make: no translation of another size or address, or to a page that is
            // cached differently, is still in a TLB.
            let old = tlb.iter().filter(|((old, length), _)| *old < first + pages && first < old + length);
            for ((old, length), kept) in old {
                let (now, then) = ((first, pages, found.memory), (*old, *length, kept.memory));
                assert_eq!(now, then, "a conflict in the TLB at page {page:#x}");
            }
        }
        tlb.insert((first, pages), found);
        Some(found)
    }

    /// Flushes a range; just before, another CPU accesses its pages.
    fn flush(&self, range: PageRange) {
        let (first, end) = (range.first().0, range.first().0 + range.pages());
        for page in [first, (first + end) / 2, end - 1] {
            self.walk(page);
        }
        self.tlb.borrow_mut().retain(|(old, length), _| !(*old < end && first < old + length));
    }
}

fn run(name: &'static str, calls: &[Call]) {
    let pool = Pool::new(TABLES);
    let tables = PageTable::new(name, pool.clone()).unwrap();
    let cpu = Cpu { name, tables: &tables, tlb: RefCell::default() };
    let mut runs = Runs::new();
    let range = |first, end| PageRange::new(VirtualPage(first), end - first).unwrap();
    for call in calls {
        let mut flush = |range| cpu.flush(range);
        match call {
            Call::Map(first, end, rights, memory) => {
                let is_free = runs.iter().all(|(begin, run)| *end <= *begin || run.0 <= *first);
                let leaf = Leaf::kernel(FrameNumber(frame(*first)), *rights, *memory);
                match tables.map(range(*first, *end), leaf) {
                    Ok(()) => {
                        assert!(is_free);
                        runs.insert(*first, (*end, *rights, *memory));
                    }
                    Err(error) => assert_eq!((error, is_free), (MapError::Busy, false)),
                }
            }
            Call::Unmap(first, end) => {
                tables.unmap(range(*first, *end), &mut flush).unwrap();
                [*first, *end].into_iter().for_each(|page| cut(&mut runs, page));
                runs.retain(|begin, _| begin < first || end <= begin);
            }
            Call::SetRights(first, end, rights) => {
                tables.set_rights(range(*first, *end), *rights, &mut flush).unwrap();
                [*first, *end].into_iter().for_each(|page| cut(&mut runs, page));
                runs.range_mut(*first..*end).for_each(|(_, run)| run.1 = *rights);
            }
            Call::Merge(page, level) => {
                let before = cpu.walk(*page).map(|found| found.bytes);
                let merged = tables.merge(VirtualPage(*page), *level, &mut flush);
                let after = cpu.walk(*page).map(|found| found.bytes);
                assert!(!merged || after.is_none() || after == Some(4096 * SIZES[*level]), "{before:?} → {after:?}");
            }
        }
        // Each boundary and its neighbours.
        for page in SIZES.iter().flat_map(|size| [*size, 2 * size]).flat_map(|page| (page - 1)..(page + 5)) {
            let (found, expected) = (cpu.walk(page), at(&runs, page).filter(|(rights, _)| *rights != Rights::NONE));
            assert_eq!(found.is_some(), expected.is_some(), "page {page:#x}");
            let (Some(found), Some((rights, memory))) = (found, expected) else { continue };
            assert_eq!((found.address / 4096, found.is_global), (frame(page), true));
            assert_eq!((found.writes, found.fetches), (rights.allows(Rights::WRITE), rights.allows(Rights::EXECUTE)));
            let names = match memory {
                MemoryType::WriteBack => ["WB", "PMA", "WB"],
                MemoryType::WriteCombining => ["WC", "PMA", "NC"],
                MemoryType::Device => ["UC", "IO", "nGnRE"],
            };
            assert!(names.contains(&found.memory) || found.memory == "PMA", "{memory:?}: {}", found.memory);
        }
        // Translations in TLBs agree with the map at their ends.
        for ((first, pages), kept) in &*cpu.tlb.borrow() {
            for page in [*first, first + pages - 1] {
                let (rights, _) = at(&runs, page).expect("a flushed page");
                assert!(rights.allows(Rights::READ) && (!kept.writes || rights.allows(Rights::WRITE)));
            }
        }
    }
    tables.unmap(range(0, 4 * SIZES[2]), &mut |range| cpu.flush(range)).unwrap();
    drop(cpu);
    drop(tables);
    assert_eq!(pool.free(), TABLES);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 1 } else { 32 }, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn ranges_are_mapped_as_a_map_says(calls in calls()) {
        NAMES.into_iter().for_each(|name| run(name, &calls));
    }
}

/// 1 GiB and 2 MiB pages are used where they fit, divided for a part, and merged again.
#[test]
fn the_largest_pages_that_fit_are_used() {
    for name in NAMES {
        let pool = Pool::new(64);
        let tables = PageTable::new(name, pool.clone()).unwrap();
        let cpu = Cpu { name, tables: &tables, tlb: RefCell::default() };
        let size = |page| cpu.walk(page).map(|found| found.bytes / 4096);
        let range = |first, pages| PageRange::new(VirtualPage(first), pages).unwrap();
        let leaf = Leaf::kernel(FrameNumber(frame(0)), Rights::READ, MemoryType::WriteBack);
        tables.map(range(0, SIZES[2] + SIZES[1] + 1), leaf).unwrap();
        assert_eq!([0, SIZES[2], SIZES[2] + SIZES[1]].map(size), [Some(SIZES[2]), Some(SIZES[1]), Some(1)], "{name}");
        assert_eq!(size(SIZES[2] + SIZES[1] + 1), None);
        assert_eq!(tables.map(range(SIZES[2], 1), leaf), Err(MapError::Busy));
        let tables_before = tables.tables();
        tables.set_rights(range(SIZES[1], 1), Rights::READ | Rights::WRITE, &mut |range| cpu.flush(range)).unwrap();
        assert_eq!([0, SIZES[1], SIZES[1] + 1, 2 * SIZES[1]].map(size), [SIZES[1], 1, 1, SIZES[1]].map(Some));
        assert!(!tables.merge(VirtualPage(SIZES[1]), 1, &mut |range| cpu.flush(range)), "one page differs");
        tables.set_rights(range(SIZES[1], 1), Rights::READ, &mut |range| cpu.flush(range)).unwrap();
        assert!(tables.merge(VirtualPage(SIZES[1]), 1, &mut |range| cpu.flush(range)));
        assert!(tables.merge(VirtualPage(0), 2, &mut |range| cpu.flush(range)));
        assert_eq!((size(SIZES[1]), tables.tables()), (Some(SIZES[2]), tables_before), "{name}");
    }
}
