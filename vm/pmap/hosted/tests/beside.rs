//! Page tables of spaces beside the kernel's, and the memory types of programs' pages.

use faultline_pmap::{Format, Leaf, MemoryType, PAT, PageTables, RetiredTables, X86_64};
use faultline_pmap_hosted::tables::{DEVICES, NAMES, PageTable, Pool};
use faultline_pmap_hosted::walkers::{Access, Fault, Walked, x86_64};
use faultline_pmap_hosted::{FrameNumber, PageRange, Pmap, Rights, VirtualPage};

fn walk(pool: &Pool, root: FrameNumber, address: u64, is_user: bool) -> Result<Walked, Fault> {
    let access = Access { writes: false, fetches: false, is_user };
    x86_64::walk(&|address| pool.word(address), root.address(), 4, PAT, address, access)
}

/// A space sees later mappings of the kernel, programs do not, and its end leaves the kernel's
/// tables.
#[test]
fn a_space_beside_the_kernel_shares_its_half() {
    type Tables = PageTables<X86_64<4>, Pool>;
    const KERNEL: u64 = 0xffff_8000_0000_0000;
    let pool = Pool::new(600);
    let kernel = Tables::new(pool.clone()).unwrap();
    kernel.prepare(256..512).unwrap();
    assert_eq!((kernel.tables(), X86_64::<4>::LEVELS), (256, 4));
    // SAFETY: dropped before `kernel`.
    let space = unsafe { Tables::beside(pool.clone(), &kernel, 256..512) }.unwrap();
    let leaf = Leaf::kernel(FrameNumber(77), Rights::READ, MemoryType::WriteBack);
    let page = Tables::page_of(KERNEL + 0x5000);
    assert_eq!(page, VirtualPage((1 << 35) + 5));
    kernel.map(PageRange::new(page, 1).unwrap(), leaf).unwrap();
    let mut retired = RetiredTables::default();
    space.enter(VirtualPage(5), FrameNumber(78), Rights::READ, &mut retired).unwrap();
    for tables in [&kernel, &space] {
        assert_eq!(
            walk(&pool, tables.root(), KERNEL + 0x5123, false).map(|found| found.address),
            Ok(77 * 4096 + 0x123)
        );
        assert_eq!(walk(&pool, tables.root(), KERNEL + 0x5123, true), Err(Fault::Permission));
    }
    assert_eq!(walk(&pool, space.root(), 0x5123, true).map(|found| found.address), Ok(78 * 4096 + 0x123));
    assert_eq!(walk(&pool, kernel.root(), 0x5123, true), Err(Fault::Translation));
    let free = pool.free();
    assert_eq!(space.tables(), 3);
    drop(space);
    assert_eq!(pool.free(), free + 4, "its root and the tables of its own half");
    assert!(walk(&pool, kernel.root(), KERNEL + 0x5123, false).is_ok());
    kernel.unmap(PageRange::new(page, 1).unwrap(), |_| ()).unwrap();
    assert_eq!(kernel.tables(), 256, "prepared tables stay");
    drop(kernel);
    assert_eq!(pool.free(), 600);
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
