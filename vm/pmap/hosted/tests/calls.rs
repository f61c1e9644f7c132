//! Random calls of `Pmap` on each machine, compared with a map of pages by the walkers.

use faultline_pmap_hosted::tables::{NAMES, PageTable, Pool};
use faultline_pmap_hosted::walkers::{Access, Fault};
use faultline_pmap_hosted::{FrameNumber, Pmap, Rights, Translation, VirtualPage};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const LARGE: u64 = 512;
/// More than the pages need, so a call fails only where the program says so.
const TABLES: usize = 64;

#[derive(Debug, Clone, Copy)]
enum Call {
    Enter(u64, u64, u8),
    Remove(u64),
    Protect(u64, u8),
    Harvest(u64),
    Access(u64, u8),
    EnterLarge(u64, u64, u8),
    RemoveLarge(u64),
    ProtectLarge(u64, u8),
    HarvestLarge(u64),
    Divide(u64),
    /// A shoot-down, and all that waits for it.
    Free,
}

/// Pages around the borders of tables, and at the end of all that is translated (`end`).
fn page(place: u64, offset: u64, end: u64) -> u64 {
    let near = [0, LARGE, 2 * LARGE, 1 << 18, end];
    (near[place as usize % near.len()] + offset % 12).saturating_sub(6).min(end - 1)
}

fn calls() -> impl Strategy<Value = Vec<Call>> {
    let place = || (0..5_u64, 0..12_u64).prop_map(|(place, offset)| place * 12 + offset);
    let rights = || 0..8_u8;
    let call = prop_oneof![
        4 => (place(), 0..1_u64 << 24, rights()).prop_map(|(page, frame, rights)| Call::Enter(page, frame, rights)),
        3 => place().prop_map(Call::Remove),
        2 => (place(), rights()).prop_map(|(page, rights)| Call::Protect(page, rights)),
        1 => place().prop_map(Call::Harvest),
        6 => (place(), 0..3_u8).prop_map(|(page, access)| Call::Access(page, access)),
        2 => (place(), 0..1_u64 << 15, rights()).prop_map(|(page, frame, rights)| Call::EnterLarge(page, frame, rights)),
        2 => place().prop_map(Call::RemoveLarge),
        1 => (place(), rights()).prop_map(|(page, rights)| Call::ProtectLarge(page, rights)),
        1 => place().prop_map(Call::HarvestLarge),
        1 => place().prop_map(Call::Divide),
        1 => Just(Call::Free),
    ];
    proptest::collection::vec(call, 1..if cfg!(miri) { 24 } else { 120 })
}

struct Machine {
    name: &'static str,
    tables: PageTable,
    pool: Pool,
    end: u64,
    pages: BTreeMap<u64, Translation>,
    /// First pages of large entries.
    large: BTreeSet<u64>,
    /// First pages of the large ones that have had a table.
    tabled: BTreeSet<u64>,
    retired: <PageTable as Pmap>::Retired,
}

impl Machine {
    fn new(name: &'static str) -> Self {
        let pool = Pool::new(TABLES);
        let end = match name {
            "x86-64-la57" => 1 << 45,
            "sv39" => 1 << 27,
            _ => 1 << 36,
        };
        let tables = PageTable::new(name, pool.clone()).unwrap();
        let (pages, large, tabled, retired) = Default::default();
        Self { name, tables, pool, end, pages, large, tabled, retired }
    }

    /// The rights that hardware gives.
    fn given(&self, rights: u8) -> Rights {
        let rights = Rights::from_bits(rights);
        let reads = rights.allows(Rights::WRITE) || self.name.starts_with("x86") && rights.allows(Rights::EXECUTE);
        if reads { rights | Rights::READ } else { rights }
    }

    fn first(page: u64) -> u64 {
        page / LARGE * LARGE
    }

    /// True if tables stay until the page tables end.
    fn keeps_tables(&self) -> bool {
        self.name.starts_with("aarch64")
    }

    fn divided(&mut self, page: u64) {
        let had = self.large.remove(&Self::first(page));
        if had {
            self.tabled.insert(Self::first(page));
        }
        assert_eq!(self.tables.divide(VirtualPage(page)), had);
        assert!(!self.tables.divide(VirtualPage(page)));
    }

    /// The pages of a page's large entry, or the page alone.
    fn span(&self, page: u64) -> std::ops::Range<u64> {
        let first = Self::first(page);
        if self.large.contains(&first) { first..first + LARGE } else { page..page + 1 }
    }

    fn call(&mut self, call: Call) {
        let place = |place: u64| page(place / 12, place, self.end);
        match call {
            Call::Enter(at, frame, rights) => {
                let at = place(at);
                self.divided(at);
                self.tabled.insert(Self::first(at));
                let given = self.given(rights);
                let entry = self.pages.get(&at).copied();
                let frame = entry.map_or(FrameNumber(frame), |entry| entry.frame);
                self.tables.enter(VirtualPage(at), frame, Rights::from_bits(rights), &mut self.retired).unwrap();
                let new = Translation { frame, rights: given, accessed: false, dirty: false };
                self.pages.entry(at).and_modify(|entry| entry.rights = entry.rights | given).or_insert(new);
            }
            Call::Remove(at) => {
                let at = place(at);
                self.divided(at);
                assert_eq!(self.tables.remove(VirtualPage(at), &mut self.retired), self.pages.remove(&at));
            }
            Call::Protect(at, rights) => {
                let at = place(at);
                self.divided(at);
                // As the memory system does: never writing without reading.
                let rights = self.given(rights);
                let entry = self.pages.get_mut(&at);
                assert_eq!(self.tables.protect(VirtualPage(at), rights), entry.as_deref().copied());
                entry
                    .into_iter()
                    .for_each(|entry| entry.rights = Rights::from_bits(entry.rights.bits() & rights.bits()));
            }
            Call::Harvest(at) => {
                let at = place(at);
                self.divided(at);
                let entry = self.pages.get_mut(&at);
                assert_eq!(self.tables.harvest(VirtualPage(at)), entry.as_deref().copied());
                entry.into_iter().for_each(|entry| (entry.accessed, entry.dirty) = (false, false));
            }
            Call::Access(at, kind) => self.access(place(at), kind),
            Call::EnterLarge(at, frame, rights) => {
                let first = Self::first(place(at));
                let is_free = self.pages.range(first..first + LARGE).next().is_none();
                if !is_free {
                    return;
                }
                let (frame, given) = (FrameNumber(frame * LARGE), self.given(rights));
                let (at, rights) = (VirtualPage(first), Rights::from_bits(rights));
                let entered = self.tables.enter_large(at, frame, rights, &mut self.retired);
                let has_table = self.keeps_tables() && self.tabled.contains(&first);
                assert_eq!(entered.is_ok(), self.name != "aarch64" && !has_table, "{entered:?}");
                if entered.is_ok() {
                    let page = |index| Translation {
                        frame: FrameNumber(frame.0 + index),
                        rights: given,
                        accessed: false,
                        dirty: false,
                    };
                    self.pages.extend((0..LARGE).map(|index| (first + index, page(index))));
                    self.large.insert(first);
                }
            }
            Call::RemoveLarge(at) => {
                let first = Self::first(place(at));
                let removed = self.tables.remove_large(VirtualPage(first), &mut self.retired);
                let had = self.large.remove(&first);
                assert_eq!(removed, self.pages.get(&first).copied().filter(|_| had));
                self.pages.retain(|page, _| !had || Self::first(*page) != first);
            }
            Call::ProtectLarge(at, rights) => {
                let (first, rights) = (Self::first(place(at)), self.given(rights));
                let had = self.large.contains(&first);
                let was = self.tables.protect_large(VirtualPage(first), rights);
                assert_eq!(was, self.pages.get(&first).copied().filter(|_| had));
                if had {
                    let pages = self.pages.range_mut(first..first + LARGE);
                    pages.for_each(|(_, entry)| entry.rights = Rights::from_bits(entry.rights.bits() & rights.bits()));
                }
            }
            Call::HarvestLarge(at) => {
                let (at, span) = (place(at), self.span(place(at)));
                let had = span.end - span.start == LARGE;
                assert_eq!(self.tables.harvest_large(VirtualPage(at)), self.pages.get(&at).copied().filter(|_| had));
                if had {
                    self.pages.range_mut(span).for_each(|(_, entry)| (entry.accessed, entry.dirty) = (false, false));
                }
            }
            Call::Divide(at) => self.divided(place(at)),
            Call::Free => self.tables.free(std::mem::take(&mut self.retired)),
        }
    }

    /// A CPU's access, compared with the map.
    fn access(&mut self, at: u64, kind: u8) {
        let access = Access { writes: kind == 1, fetches: kind == 2, is_user: true };
        let needs = [Rights::READ, Rights::WRITE, Rights::EXECUTE][usize::from(kind)];
        let found = self.tables.walk(VirtualPage(at), access);
        let span = self.span(at);
        match self.pages.get(&at) {
            None => assert_eq!(found, Err(Fault::Translation)),
            Some(entry) if entry.rights == Rights::NONE => assert_eq!(found, Err(Fault::Translation)),
            Some(entry) if !entry.rights.allows(needs) => assert_eq!(found, Err(Fault::Permission)),
            Some(entry) => {
                let found = found.unwrap();
                assert_eq!(found.address, entry.frame.0 * 4096);
                assert_eq!(found.bytes, 4096 * (span.end - span.start));
                let can = [found.reads, found.writes, found.fetches];
                let rights = [Rights::READ, Rights::WRITE, Rights::EXECUTE].map(|right| entry.rights.allows(right));
                assert_eq!((can, found.is_global), (rights, false));
                assert!(["WB", "PMA"].contains(&found.memory));
                for (_, entry) in self.pages.range_mut(span) {
                    (entry.accessed, entry.dirty) = (true, entry.dirty || access.writes);
                }
            }
        }
        assert_eq!(self.tables.query(VirtualPage(at)), self.pages.get(&at).copied());
    }

    fn finish(mut self) {
        for (at, _) in std::mem::take(&mut self.pages) {
            self.large.contains(&Self::first(at)).then(|| self.divided(at));
            assert!(self.tables.remove(VirtualPage(at), &mut self.retired).is_some());
        }
        assert_eq!(self.tables.tables(), 0, "tables without entries are taken out");
        self.tables.free(std::mem::take(&mut self.retired));
        assert!(self.keeps_tables() || self.pool.free() == TABLES - 1, "only the root is in use");
        drop(self.tables);
        assert_eq!(self.pool.free(), TABLES);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 2 } else { 96 }, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn calls_do_to_walks_what_they_do_to_a_map(calls in calls()) {
        for name in NAMES {
            let mut machine = Machine::new(name);
            calls.iter().for_each(|call| machine.call(*call));
            machine.finish();
        }
    }
}

/// An entry, a large one and a division need tables; without them the call fails, and changes
/// nothing. A division never fails.
#[test]
fn without_memory_a_call_changes_nothing_and_a_division_succeeds() {
    for name in NAMES.into_iter().filter(|name| *name != "aarch64") {
        for tables in 1..9 {
            let pool = Pool::new(tables);
            let pmap = PageTable::new(name, pool.clone()).unwrap();
            let mut retired = Default::default();
            let (first, both) = (VirtualPage(LARGE), Rights::READ | Rights::WRITE);
            let entered = pmap.enter_large(first, FrameNumber(LARGE), both, &mut retired);
            assert_eq!(entered.is_ok(), pmap.query(first).is_some());
            pmap.free(std::mem::take(&mut retired));
            match entered {
                Ok(()) => assert!(pmap.divide(VirtualPage(LARGE + 7)) && pmap.query(first).is_some()),
                Err(_) => {
                    assert_eq!(pmap.tables(), 0, "{name}");
                    assert!(name == "aarch64-bbm2" || pool.free() == tables - 1, "{name}");
                }
            }
            drop(pmap);
            assert_eq!(pool.free(), tables);
        }
    }
}
