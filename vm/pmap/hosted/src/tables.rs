//! Page tables of one of the machines, chosen when they are made.

use crate::walkers::{Access, Fault, Walked, aarch64, riscv, x86_64};
use crate::{CpuNumber, Flush, FrameNumber, NoMemory, PageRange, Pmap, Rights, SpaceId, Translation, VirtualPage};
use faultline_pmap::{
    Aarch64, Leaf, MAIR, MapError, MemoryType, PAT, PageTables, Record, RetiredTables, Riscv, Sv39, Sv48, Table,
    TableMemory, TablePool, X86_64,
};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard};

/// First frame of the tables: far from programs' frames.
const FIRST: u64 = 0x8_0000;

type Tables = TablePool<Box<[Table]>, Box<[Record]>>;

/// First frame of devices.
pub const DEVICES: u64 = 1 << 30;

/// A table that a CPU may have cached, recorded until a flush that frees tables. Walks begin at the
/// root; the record is checked when the table is put.
#[derive(Debug, PartialEq, Eq)]
struct Cached {
    cpu: CpuNumber,
    space: SpaceId,
    /// First page that the table translates, and number of pages.
    pages: (u64, u64),
}

/// Cached tables by their frames. CPUs with equal numbers modulo 8 share a map.
type Caches = [Mutex<BTreeMap<FrameNumber, Vec<Cached>>>; 8];

/// A pool of tables, shared by the page tables that it serves.
#[derive(Debug, Clone)]
pub struct Pool(Arc<Tables>, Arc<Caches>);

impl Pool {
    /// A pool of so many tables.
    pub fn new(tables: usize) -> Self {
        // SAFETY: zeroes are a table without entries.
        let memory = unsafe { Box::<[Table]>::new_zeroed_slice(tables).assume_init() };
        let records = (0..tables).map(|_| Record::default()).collect();
        // SAFETY: what a box holds does not move.
        Self(Arc::new(unsafe { TablePool::new(FrameNumber(FIRST), memory, records) }.unwrap()), Arc::default())
    }

    /// Number of tables that are free. For an exclusive owner.
    pub fn free(&self) -> usize {
        let all: Vec<_> = std::iter::from_fn(|| self.0.get().ok()).collect();
        all.iter().for_each(|table| self.0.put(*table));
        all.len()
    }

    /// Makes a CPU forget the tables on the way to pages, if the flush frees tables.
    pub fn flush(&self, cpu: CpuNumber, flush: &Flush) {
        if !flush.frees_tables {
            return;
        }
        let (first, end) = (flush.pages.first().0, flush.pages.first().0 + flush.pages.pages());
        let is_flushed = |cached: &Cached| {
            let (begin, pages) = cached.pages;
            cached.cpu == cpu && cached.space == flush.space && begin < end && first < begin + pages
        };
        self.cached_by(cpu).retain(|_, cached| {
            cached.retain(|cached| !is_flushed(cached));
            !cached.is_empty()
        });
    }

    fn cached_by(&self, cpu: CpuNumber) -> MutexGuard<'_, BTreeMap<FrameNumber, Vec<Cached>>> {
        self.1[cpu.0 as usize % self.1.len()].lock().unwrap()
    }

    /// Physical memory: only tables are there.
    pub fn word(&self, address: u64) -> &AtomicU64 {
        &self.0.table(FrameNumber::containing(address)).entries()[(address % 4096 / 8) as usize]
    }
}

// SAFETY: it is the pool.
unsafe impl TableMemory for Pool {
    fn get(&self) -> Result<FrameNumber, NoMemory> {
        self.0.get()
    }

    fn put(&self, table: FrameNumber) {
        assert!(self.0.table(table).entries().iter().all(|entry| entry.load(Relaxed) == 0));
        for cached in &*self.1 {
            assert_eq!(cached.lock().unwrap().get(&table), None, "{table} is put, and a CPU has cached it");
        }
        self.0.put(table);
    }

    fn table(&self, table: FrameNumber) -> &Table {
        self.0.table(table)
    }

    fn record(&self, table: FrameNumber) -> &Record {
        self.0.record(table)
    }

    fn memory_type(&self, frame: FrameNumber) -> MemoryType {
        if frame.0 < DEVICES { MemoryType::WriteBack } else { MemoryType::Device }
    }
}

/// Page tables of a machine.
#[derive(Debug)]
pub enum PageTable {
    /// x86-64 with 4 levels.
    X86(PageTables<X86_64<4>, Pool>),
    /// x86-64 with 5 levels.
    X86La57(PageTables<X86_64<5>, Pool>),
    /// AArch64 with break-before-make, where software sets accessed and dirty bits.
    Arm(PageTables<Aarch64<false>, Pool>),
    /// AArch64 with FEAT_BBM at level 2, where hardware does.
    ArmInPlace(PageTables<Aarch64<true>, Pool>),
    /// RISC-V Sv39, where software sets accessed and dirty bits.
    Sv39(PageTables<Sv39, Pool>),
    /// RISC-V Sv48, where hardware does.
    Sv48(PageTables<Sv48, Pool>),
    /// RISC-V Sv48 with Svpbmt, where software does.
    Sv48Types(PageTables<Riscv<4, true>, Pool>),
}

/// Names of the machines.
pub const NAMES: [&str; 7] = ["x86-64", "x86-64-la57", "aarch64", "aarch64-bbm2", "sv39", "sv48", "sv48-svpbmt"];

macro_rules! each {
    ($self:expr, $tables:ident => $do:expr) => {
        match $self {
            PageTable::X86($tables) => $do,
            PageTable::X86La57($tables) => $do,
            PageTable::Arm($tables) => $do,
            PageTable::ArmInPlace($tables) => $do,
            PageTable::Sv39($tables) => $do,
            PageTable::Sv48($tables) => $do,
            PageTable::Sv48Types($tables) => $do,
        }
    };
}

impl PageTable {
    /// Page tables of the machine with a name.
    pub fn new(name: &str, pool: Pool) -> Result<Self, NoMemory> {
        Ok(match name {
            "x86-64" => Self::X86(PageTables::new(pool)?),
            "x86-64-la57" => Self::X86La57(PageTables::new(pool)?),
            "aarch64" => Self::Arm(PageTables::new(pool)?),
            "aarch64-bbm2" => Self::ArmInPlace(PageTables::new(pool)?),
            "sv39" => Self::Sv39(PageTables::new(pool)?),
            "sv48" => Self::Sv48(PageTables::new(pool)?),
            "sv48-svpbmt" => Self::Sv48Types(PageTables::new(pool)?),
            _ => panic!("FAULTLINE_TABLES={name} is none of {NAMES:?}"),
        })
    }

    /// Number of tables below the root; of those that stay until the space ends, 0 if none has an
    /// entry of a page. For a caller with exclusive access.
    pub fn tables(&self) -> u64 {
        fn has_pages(pool: &Pool, table: u64, level: u32) -> bool {
            let entries = (0..512).map(|index| pool.word(table + 8 * index).load(Relaxed)).filter(|entry| *entry != 0);
            let mut below = entries.map(|entry| level == 0 || has_pages(pool, entry & 0xffff_ffff_f000, level - 1));
            below.any(|has_pages| has_pages)
        }
        match self {
            Self::Arm(tables) if !has_pages(tables.memory(), tables.root().address(), 3) => 0,
            Self::ArmInPlace(tables) if !has_pages(tables.memory(), tables.root().address(), 3) => 0,
            _ => each!(self, tables => tables.tables()),
        }
    }

    /// [`PageTables::map`].
    pub fn map(&self, range: PageRange, leaf: Leaf) -> Result<(), MapError> {
        each!(self, tables => tables.map(range, leaf))
    }

    /// [`PageTables::unmap`].
    pub fn unmap(&self, range: PageRange, flush: &mut dyn FnMut(PageRange)) -> Result<(), NoMemory> {
        each!(self, tables => tables.unmap(range, flush))
    }

    /// [`PageTables::set_rights`].
    pub fn set_rights(
        &self,
        range: PageRange,
        rights: Rights,
        flush: &mut dyn FnMut(PageRange),
    ) -> Result<(), NoMemory> {
        each!(self, tables => tables.set_rights(range, rights, flush))
    }

    /// [`PageTables::merge`].
    pub fn merge(&self, page: VirtualPage, level: usize, flush: &mut dyn FnMut(PageRange)) -> bool {
        each!(self, tables => tables.merge(page, level, flush))
    }

    /// A CPU's walk. If software sets bits, and one is missing, sets it as the fault handler does,
    /// and walks again.
    pub fn walk(&self, page: VirtualPage, access: Access) -> Result<Walked, Fault> {
        self.walk_by(page, access, &|_| ())
    }

    /// Like `walk`, by a CPU that caches the tables on the way.
    pub fn walk_on(&self, cpu: CpuNumber, space: SpaceId, page: VirtualPage, access: Access) -> Result<Walked, Fault> {
        let tables = RefCell::new(Vec::new());
        let walked = self.walk_by(page, access, &|table| tables.borrow_mut().push(table));
        let (root, pool) = each!(self, tables => (tables.root(), tables.memory()));
        let mut bits = 0;
        let mut all = pool.cached_by(cpu);
        for table in tables.into_inner() {
            // The root is in a register. A walk that lost a race begins there again.
            bits = if table == root { 9 * self.levels() } else { bits - 9 };
            let cached = Cached { cpu, space, pages: (page.0 >> bits << bits, 1 << bits) };
            if table != root && !all.get(&table).is_some_and(|by| by.contains(&cached)) {
                all.entry(table).or_default().push(cached);
            }
        }
        drop(all);
        walked
    }

    fn levels(&self) -> u32 {
        match self {
            Self::X86La57(_) => 5,
            Self::Sv39(_) => 3,
            _ => 4,
        }
    }

    /// `note`: called with the frame of each table that is read.
    fn walk_by(&self, page: VirtualPage, access: Access, note: &dyn Fn(FrameNumber)) -> Result<Walked, Fault> {
        let rights = match access {
            Access { writes: true, .. } => Rights::WRITE,
            Access { fetches: true, .. } => Rights::EXECUTE,
            _ => Rights::READ,
        };
        match self.walk_once(page, access, note) {
            Err(Fault::Bits) => {
                assert!(each!(self, tables => tables.mark_used(page, rights)), "an entry that allows the access");
                self.walk_once(page, access, note)
            }
            end => end,
        }
    }

    fn walk_once(&self, page: VirtualPage, access: Access, note: &dyn Fn(FrameNumber)) -> Result<Walked, Fault> {
        let (root, pool) = each!(self, tables => (tables.root().address(), tables.memory()));
        let word = |address| {
            note(FrameNumber::containing(address));
            pool.word(address)
        };
        let (address, signed) = (page.0 << 12, |bits: u32| ((page.0 << (64 - bits + 12)) as i64 >> (64 - bits)) as u64);
        match self {
            Self::X86(_) => x86_64::walk(&word, root, 4, PAT, signed(48), access),
            Self::X86La57(_) => x86_64::walk(&word, root, 5, PAT, signed(57), access),
            Self::Arm(_) => aarch64::walk(&word, root, false, MAIR, address, access),
            Self::ArmInPlace(_) => aarch64::walk(&word, root, true, MAIR, address, access),
            Self::Sv39(_) => riscv::walk(&word, root, 3, (false, false), signed(39), access),
            Self::Sv48(_) => riscv::walk(&word, root, 4, (true, false), signed(48), access),
            Self::Sv48Types(_) => riscv::walk(&word, root, 4, (false, true), signed(48), access),
        }
    }
}

// SAFETY: each call is the page tables' own.
unsafe impl Pmap for PageTable {
    type Retired = RetiredTables;

    const LARGE_PAGES: u64 = 512;

    fn enter(
        &self,
        page: VirtualPage,
        frame: FrameNumber,
        rights: Rights,
        retired: &mut RetiredTables,
    ) -> Result<(), NoMemory> {
        each!(self, tables => tables.enter(page, frame, rights, retired))
    }

    fn remove(&self, page: VirtualPage, retired: &mut RetiredTables) -> Option<Translation> {
        each!(self, tables => tables.remove(page, retired))
    }

    fn protect(&self, page: VirtualPage, rights: Rights) -> Option<Translation> {
        each!(self, tables => tables.protect(page, rights))
    }

    fn query(&self, page: VirtualPage) -> Option<Translation> {
        each!(self, tables => tables.query(page))
    }

    fn harvest(&self, page: VirtualPage) -> Option<Translation> {
        each!(self, tables => tables.harvest(page))
    }

    fn enter_large(
        &self,
        first: VirtualPage,
        frame: FrameNumber,
        rights: Rights,
        retired: &mut RetiredTables,
    ) -> Result<(), NoMemory> {
        each!(self, tables => tables.enter_large(first, frame, rights, retired))
    }

    fn divide(&self, page: VirtualPage) -> bool {
        each!(self, tables => tables.divide(page))
    }

    fn remove_large(&self, first: VirtualPage, retired: &mut RetiredTables) -> Option<Translation> {
        each!(self, tables => tables.remove_large(first, retired))
    }

    fn protect_large(&self, first: VirtualPage, rights: Rights) -> Option<Translation> {
        each!(self, tables => tables.protect_large(first, rights))
    }

    fn harvest_large(&self, page: VirtualPage) -> Option<Translation> {
        each!(self, tables => tables.harvest_large(page))
    }

    fn is_empty(retired: &RetiredTables) -> bool {
        <PageTables<Sv48, Pool> as Pmap>::is_empty(retired)
    }

    fn free(&self, retired: RetiredTables) {
        each!(self, tables => tables.free(retired));
    }
}
