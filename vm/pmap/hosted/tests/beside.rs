//! Page tables of spaces beside the kernel's, and the memory types of programs' pages.

use faultline_pmap::{Format, Leaf, MapError, MemoryType, PAT, PageTables, RetiredTables, Sv39, X86_64, span};
use faultline_pmap_hosted::tables::{DEVICES, NAMES, PageTable, Pool};
use faultline_pmap_hosted::walkers::{Access, Fault, Walked, riscv, x86_64};
use faultline_pmap_hosted::{FrameNumber, NoMemory, PageRange, Pmap, Rights, VirtualPage};
use std::ops::Range;

/// Root entries of the kernel.
const ROOTS: Range<usize> = 256..512;

/// A walk of a CPU from a root.
type Walk = fn(&Pool, FrameNumber, u64, bool) -> Result<Walked, Fault>;

fn walk_x86(pool: &Pool, root: FrameNumber, address: u64, is_user: bool) -> Result<Walked, Fault> {
    let access = Access { writes: false, fetches: false, is_user };
    x86_64::walk(&|address| pool.word(address), root.address(), 4, PAT, address, access)
}

fn walk_sv39(pool: &Pool, root: FrameNumber, address: u64, is_user: bool) -> Result<Walked, Fault> {
    let access = Access { writes: false, fetches: false, is_user };
    riscv::walk(&|address| pool.word(address), root.address(), 3, (true, false), address, access)
}

fn kernel_leaf(frame: u64) -> Leaf {
    Leaf::kernel(FrameNumber(frame), Rights::READ, MemoryType::WriteBack)
}

/// First byte of the kernel's half.
const fn kernel_half(levels: u32) -> u64 {
    u64::MAX << (9 * levels + 11)
}

/// A space sees later mappings of the kernel, programs do not, and its end leaves the kernel's
/// tables.
fn a_space_shares_the_kernels_half<F: Format>(walk: Walk) {
    let kernel_half = kernel_half(F::LEVELS as u32);
    let pool = Pool::new(600);
    let kernel = PageTables::<F, Pool>::new(pool.clone()).unwrap();
    kernel.prepare(ROOTS).unwrap();
    assert_eq!(kernel.tables(), 256);
    // SAFETY: 1. Dropped before `kernel`. 2. Prepared.
    let space = unsafe { PageTables::<F, Pool>::beside(pool.clone(), &kernel, ROOTS) }.unwrap();
    let page = PageTables::<F, Pool>::page_of(kernel_half + 0x5000);
    assert_eq!(page, VirtualPage(span(F::LEVELS) / 2 + 5));
    kernel.map(PageRange::new(page, 1).unwrap(), kernel_leaf(77)).unwrap();
    let mut retired = RetiredTables::default();
    space.enter(VirtualPage(5), FrameNumber(78), Rights::READ, &mut retired).unwrap();
    for tables in [&kernel, &space] {
        let found = walk(&pool, tables.root(), kernel_half + 0x5123, false).map(|found| found.address);
        assert_eq!(found, Ok(77 * 4096 + 0x123));
        assert_eq!(walk(&pool, tables.root(), kernel_half + 0x5123, true), Err(Fault::Permission));
    }
    // A program's fault on a page of the kernel is not one of missing bits.
    assert!(!space.mark_used(page, Rights::READ) && space.mark_used(VirtualPage(5), Rights::READ));
    assert_eq!(walk(&pool, space.root(), 0x5123, true).map(|found| found.address), Ok(78 * 4096 + 0x123));
    assert_eq!(walk(&pool, kernel.root(), 0x5123, true), Err(Fault::Translation));
    let free = pool.free();
    let below_root = F::LEVELS - 1;
    assert_eq!(space.tables(), below_root as u64);
    drop(space);
    assert_eq!(pool.free(), free + 1 + below_root, "its root and the tables of its own half");
    assert!(walk(&pool, kernel.root(), kernel_half + 0x5123, false).is_ok());
    kernel.unmap(PageRange::new(page, 1).unwrap(), |_| ()).unwrap();
    assert_eq!(kernel.tables(), 256, "prepared tables stay");
    drop(kernel);
    assert_eq!(pool.free(), 600);
}

#[test]
fn a_space_beside_the_kernel_shares_its_half() {
    a_space_shares_the_kernels_half::<X86_64<4>>(walk_x86);
    a_space_shares_the_kernels_half::<Sv39>(walk_sv39);
}

/// On Sv39 an entry of the root may be a page of 1 GiB. `prepare` divides it, and `merge` leaves
/// the table, which spaces share.
#[test]
fn a_large_page_in_the_root_is_divided_for_spaces() {
    type Tables = PageTables<Sv39, Pool>;
    const GIB: u64 = 1 << 18;
    let pool = Pool::new(16);
    let kernel = Tables::new(pool.clone()).unwrap();
    let first = Tables::page_of(kernel_half(3));
    let gib = PageRange::new(first, GIB).unwrap();
    kernel.map(gib, kernel_leaf(GIB)).unwrap();
    assert_eq!(kernel.leaf(first).map(|(level, _)| level), Some(2));
    kernel.prepare(256..257).unwrap();
    assert_eq!(kernel.leaf(first).map(|(level, _)| level), Some(1));
    // SAFETY: 1. Dropped before `kernel`. 2. Prepared.
    let space = unsafe { Tables::beside(pool.clone(), &kernel, 256..257) }.unwrap();
    assert!(!kernel.merge(first, 2, |_| ()), "the space would keep the table");
    let part = PageRange::new(first, 1).unwrap();
    kernel.set_rights(part, Rights::READ | Rights::WRITE, |_| ()).unwrap();
    assert!(walk_sv39(&pool, space.root(), kernel_half(3), false).is_ok_and(|found| found.writes));
    kernel.unmap(gib, |_| ()).unwrap();
    assert_eq!(walk_sv39(&pool, space.root(), kernel_half(3), false), Err(Fault::Translation));
    drop(space);
    drop(kernel);
    assert_eq!(pool.free(), 16);
}

/// The tables that a failed call has made stay, and are used by the next one.
#[test]
fn a_range_without_memory_for_its_tables_loses_none() {
    fn run<F: Format>() {
        let pool = Pool::new(2);
        let tables = PageTables::<F, Pool>::new(pool.clone()).unwrap();
        let page = PageRange::new(VirtualPage(5), 1).unwrap();
        for _ in 0..2 {
            assert_eq!(tables.map(page, kernel_leaf(77)), Err(MapError::NoMemory));
            assert_eq!((tables.tables(), pool.free(), tables.leaf(VirtualPage(5))), (1, 0, None));
        }
        drop(tables);
        assert_eq!(pool.free(), 2);
    }
    run::<X86_64<4>>();
    run::<Sv39>();
}

/// Where a table must not be replaced before a flush, the table of a removed entry stays.
#[test]
fn an_aarch64_table_is_not_replaced_without_a_flush() -> Result<(), NoMemory> {
    for name in NAMES {
        let pool = Pool::new(16);
        let tables = PageTable::new(name, pool.clone())?;
        let (mut retired, page) = (RetiredTables::default(), VirtualPage(9));
        tables.enter(page, FrameNumber(7), Rights::READ, &mut retired)?;
        let free = pool.free();
        assert!(tables.remove(page, &mut retired).is_some());
        assert_eq!(PageTable::is_empty(&retired), name.starts_with("aarch64"), "{name}");
        tables.enter(page, FrameNumber(7), Rights::READ, &mut retired)?;
        assert_eq!(pool.free() == free, name.starts_with("aarch64"), "{name}");
        tables.free(retired);
    }
    Ok(())
}

/// A page of a device, with the memory type of each machine.
#[test]
fn a_program_maps_a_device() {
    for name in NAMES {
        let tables = PageTable::new(name, Pool::new(8)).unwrap();
        let mut retired = RetiredTables::default();
        tables.enter(VirtualPage(9), FrameNumber(DEVICES), Rights::READ, &mut retired).unwrap();
        let access = Access { writes: false, fetches: false, is_user: true };
        let expected = match name {
            "x86-64" | "x86-64-la57" => "UC",
            "aarch64" | "aarch64-bbm2" => "nGnRE",
            "sv48-svpbmt" => "IO",
            _ => "PMA",
        };
        assert_eq!(tables.walk(VirtualPage(9), access).map(|found| found.memory), Ok(expected));
    }
}
