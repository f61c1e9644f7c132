//! Interleavings of two CPUs and the table walks of hardware, explored by `loom`. Tables have 2
//! entries here, and there are 2 levels.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release -p faultline-pmap --lib interleavings`

use crate::format::{Format, Leaf};
use crate::page_tables::{PageTables, RetiredTables};
use crate::pool::TablePool;
use crate::table::{Record, Table, TableMemory};
use crate::tags::{CpuTag, Tag, Tags};
use crate::x86_64::X86_64;
use core::sync::atomic::Ordering::{AcqRel, Acquire};
use faultline_memory::{CpuNumber, FrameNumber, Pmap, Rights, VirtualPage};
use loom::sync::{Arc, Mutex};
use loom::thread;
use std::boxed::Box;
use std::vec::Vec;

type Small = X86_64<2>;
type Pool = TablePool<Box<[Table]>, Box<[Record]>>;
type Shared = PageTables<Small, SharedPool>;

#[derive(Debug, Clone)]
struct SharedPool(Arc<Pool>);

// SAFETY: it is the pool.
unsafe impl TableMemory for SharedPool {
    fn get(&self) -> Result<FrameNumber, faultline_memory::NoMemory> {
        self.0.get()
    }
    fn put(&self, table: FrameNumber) {
        self.0.put(table);
    }
    fn table(&self, table: FrameNumber) -> &Table {
        self.0.table(table)
    }
    fn record(&self, table: FrameNumber) -> &Record {
        self.0.record(table)
    }
}

const BOTH: fn() -> Rights = || Rights::READ | Rights::WRITE;

fn tables(count: usize) -> (Arc<Shared>, SharedPool) {
    let tables: Vec<_> = (0..count).map(|_| Table::default()).collect();
    let records: Vec<_> = (0..count).map(|_| Record::default()).collect();
    // SAFETY: what a box holds does not move.
    let pool = unsafe { TablePool::new(FrameNumber(8), tables.into_boxed_slice(), records.into_boxed_slice()) };
    let pool = SharedPool(Arc::new(pool.unwrap()));
    (Arc::new(PageTables::new(pool.clone()).unwrap()), pool)
}

/// A CPU's walk for a write: sets both bits of the entry it finds, by one step.
fn walk(tables: &Shared, page: u64) -> Option<FrameNumber> {
    let mut table = tables.root();
    for level in [1, 0] {
        let node = tables.node(table);
        node.record.lifetime.read();
        let entry = node.table.entry(page, level);
        loop {
            let now = entry.load(Acquire);
            if level > 0
                && let Some(below) = Small::below(level, now)
            {
                table = below;
                break;
            }
            let leaf = Small::decoded(level, now).filter(|leaf| leaf.rights.allows(Rights::WRITE))?;
            let used = Small::leaf(level, Leaf { accessed: true, dirty: true, ..leaf });
            if entry.compare_exchange(now, used, AcqRel, Acquire).is_ok() {
                return Some(leaf.at(level, page));
            }
        }
    }
    None
}

/// Pins of two CPUs, as locks: a shoot-down takes the other's.
#[derive(Clone)]
struct Pins(Arc<[Mutex<()>; 2]>);

impl Pins {
    fn new() -> Self {
        Self(Arc::new([Mutex::new(()), Mutex::new(())]))
    }

    fn pinned<R>(&self, cpu: usize, act: impl FnOnce() -> R) -> R {
        let _pinned = self.0[cpu].lock().unwrap();
        act()
    }

    /// Waits until the other CPU has answered, then puts tables back.
    fn free(&self, cpu: usize, tables: &Shared, retired: RetiredTables) {
        if !Shared::is_empty(&retired) {
            drop(self.0[1 - cpu].lock().unwrap());
            tables.free(retired);
        }
    }
}

fn explore(run: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.max_branches = 100_000;
    builder.check(run);
}

fn enter(pins: &Pins, cpu: usize, tables: &Shared, page: u64) {
    let mut retired = RetiredTables::default();
    pins.pinned(cpu, || tables.enter(VirtualPage(page), FrameNumber(page + 40), BOTH(), &mut retired)).unwrap();
    pins.free(cpu, tables, retired);
}

fn remove(pins: &Pins, cpu: usize, tables: &Shared, page: u64) {
    let mut retired = RetiredTables::default();
    assert!(pins.pinned(cpu, || tables.remove(VirtualPage(page), &mut retired)).is_some());
    pins.free(cpu, tables, retired);
}

/// All tables are back, each without entries.
fn end(tables: Arc<Shared>, pool: &SharedPool, count: usize) {
    drop(Arc::try_unwrap(tables).unwrap());
    let free: Vec<_> = core::iter::from_fn(|| pool.get().ok()).collect();
    assert_eq!(free.len(), count);
    for table in free {
        assert!(pool.table(table).entries().iter().all(|entry| entry.load(Acquire) == 0));
    }
}

/// A CPU makes an entry in a table that another takes out.
#[test]
fn an_entry_beside_one_that_is_removed_with_its_table() {
    explore(|| {
        let ((tables, pool), pins) = (tables(3), Pins::new());
        enter(&pins, 0, &tables, 0);
        let (its, its_pins) = (tables.clone(), pins.clone());
        let other = thread::spawn(move || enter(&its_pins, 1, &its, 1));
        remove(&pins, 0, &tables, 0);
        other.join().unwrap();
        assert_eq!((walk(&tables, 0), walk(&tables, 1)), (None, Some(FrameNumber(41))));
        remove(&pins, 0, &tables, 1);
        assert_eq!(tables.tables(), 0);
        end(tables, &pool, 3);
    });
}

/// Two CPUs make the same table, and a walk meanwhile finds nothing or the whole entry.
#[test]
fn a_table_is_made_once() {
    explore(|| {
        let ((tables, pool), pins) = (tables(3), Pins::new());
        let (its, its_pins) = (tables.clone(), pins.clone());
        let other = thread::spawn(move || {
            enter(&its_pins, 1, &its, 1);
            let found = its_pins.pinned(1, || walk(&its, 0));
            assert!(found.is_none_or(|frame| frame == FrameNumber(40)));
        });
        enter(&pins, 0, &tables, 0);
        other.join().unwrap();
        assert_eq!((tables.tables(), walk(&tables, 0)), (1, Some(FrameNumber(40))));
        end(tables, &pool, 3);
    });
}

/// A walk that is in a table while it is taken out: the table is put back after the CPU answered.
#[test]
fn a_walk_in_a_table_that_is_taken_out() {
    explore(|| {
        let ((tables, pool), pins) = (tables(2), Pins::new());
        enter(&pins, 0, &tables, 0);
        let (its, its_pins) = (tables.clone(), pins.clone());
        let other = thread::spawn(move || its_pins.pinned(1, || walk(&its, 0)));
        remove(&pins, 0, &tables, 0);
        let found = other.join().unwrap();
        assert!(found.is_none_or(|frame| frame == FrameNumber(40)));
        end(tables, &pool, 2);
    });
}

/// Two CPUs divide a large entry, which the hardware of a third marks as written: it is divided
/// once, and no bit is lost.
#[test]
fn a_large_entry_is_divided_once_with_its_bits() {
    explore(|| {
        let ((tables, pool), mut retired) = (tables(3), RetiredTables::default());
        tables.enter_large(VirtualPage(0), FrameNumber(40), BOTH(), &mut retired).unwrap();
        let its = tables.clone();
        let other = thread::spawn(move || its.divide(VirtualPage(1)));
        let hardware = tables.clone();
        let hardware = thread::spawn(move || walk(&hardware, 1));
        let mine = tables.divide(VirtualPage(0));
        assert!(mine != other.join().unwrap());
        assert_eq!(hardware.join().unwrap(), Some(FrameNumber(41)));
        let written = tables.query(VirtualPage(1)).unwrap();
        assert!(written.accessed && written.dirty && written.frame == FrameNumber(41));
        assert!([0, 1].iter().all(|page| tables.remove(VirtualPage(*page), &mut retired).is_some()));
        tables.free(retired);
        end(tables, &pool, 3);
    });
}

/// A CPU removes an entry that the hardware of another writes through: either the write's bit is
/// returned, or the walk finds nothing.
#[test]
fn no_dirty_bit_is_lost_by_remove_protect_and_harvest() {
    for kind in 0..3 {
        explore(move || {
            let ((tables, pool), pins) = (tables(2), Pins::new());
            enter(&pins, 0, &tables, 0);
            let its = tables.clone();
            let other = thread::spawn(move || walk(&its, 0));
            let (page, mut retired) = (VirtualPage(0), RetiredTables::default());
            let old = match kind {
                0 => tables.remove(page, &mut retired),
                1 => tables.protect(page, Rights::READ),
                _ => tables.harvest(page),
            };
            let wrote = other.join().unwrap().is_some();
            let now = tables.query(page).is_some_and(|entry| entry.dirty);
            assert_eq!(wrote, old.unwrap().dirty || now);
            tables.free(retired);
            end(tables, &pool, 2);
        });
    }
}

/// Two CPUs switch to new spaces while numbers run out, and one of them back to its first, which
/// has the lowest number if it came first: spaces that run at once have different numbers.
#[test]
fn two_spaces_that_run_have_two_numbers() {
    explore(|| {
        let cpus: Vec<_> = (0..2).map(|_| CpuTag::default()).collect();
        let tags = Arc::new(Tags::<_, 1>::new(cpus, 4).unwrap());
        let spaces: Arc<Vec<_>> = Arc::new((0..4).map(|_| Tag::default()).collect());
        let (its, its_spaces) = (tags.clone(), spaces.clone());
        let other = thread::spawn(move || {
            its.switch(CpuNumber(1), &its_spaces[0]).unwrap();
            its.switch(CpuNumber(1), &its_spaces[1]).unwrap();
            its.switch(CpuNumber(1), &its_spaces[0]).unwrap().number
        });
        tags.switch(CpuNumber(0), &spaces[2]).unwrap();
        let mine = tags.switch(CpuNumber(0), &spaces[3]).unwrap().number;
        let its = other.join().unwrap();
        assert_ne!(mine, its);
        assert!(mine > 0 && its > 0 && mine < 4 && its < 4);
    });
}
