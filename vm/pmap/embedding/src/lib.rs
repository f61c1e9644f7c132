//! All calls of the page tables, for a machine without an operating system: `no-panic.sh` links
//! them, and checks that none can panic. The crate is empty on other targets.

#![cfg(target_os = "none")]
#![no_std]

use core::alloc::{GlobalAlloc, Layout};
use core::hint::black_box;
use core::panic::PanicInfo;
use core::ptr;
use faultline_memory::{CpuNumber, FrameNumber, PageRange, Pmap, Rights, VirtualPage};
use faultline_pmap::{
    Aarch64, CpuTag, Format, Leaf, MemoryType, PageTables, Record, RetiredTables, Riscv, Table, TablePool, Tag, Tags,
    X86_64,
};

/// A pool of tables.
pub type Pool = TablePool<&'static [Table], &'static [Record]>;

/// All calls on one format's page tables.
fn all<F: Format>(pool: &'static Pool, number: u64) -> bool {
    let Ok(kernel) = PageTables::<F, &'static Pool>::new(pool) else { return false };
    let (page, frame, rights) = (VirtualPage(number), FrameNumber(number), Rights::from_bits(number as u8));
    let Ok(range) = PageRange::new(page, number) else { return false };
    let flush = |range: PageRange| {
        black_box(range.pages());
    };
    let mut retired = RetiredTables::default();
    let leaf = Leaf::kernel(frame, rights, MemoryType::Device);
    let mut are_ok = kernel.prepare(number as usize..512).is_ok()
        & kernel.map(range, leaf).is_ok()
        & kernel.set_rights(range, rights, flush).is_ok()
        & kernel.merge(page, number as usize, flush)
        & kernel.leaf(page).is_some()
        & kernel.unmap(range, flush).is_ok();
    // SAFETY: linked and never called.
    if let Ok(tables) = unsafe { PageTables::beside(pool, &kernel, number as usize..512) } {
        are_ok &= tables.enter(page, frame, rights, &mut retired).is_ok()
            & tables.remove(page, &mut retired).is_some()
            & tables.protect(page, rights).is_some()
            & tables.query(page).is_some()
            & tables.harvest(page).is_some()
            & tables.enter_large(page, frame, rights, &mut retired).is_ok()
            & tables.divide(page)
            & tables.remove_large(page, &mut retired).is_some()
            & tables.protect_large(page, rights).is_some()
            & tables.harvest_large(page).is_some()
            & tables.mark_used(page, rights)
            & (tables.tables() + tables.root().0 > number);
        tables.free(retired);
    }
    are_ok
}

/// Calls on page tables. The arguments come from the caller, so the compiler does not know their
/// values.
#[unsafe(no_mangle)]
pub extern "C" fn pmap_tables(pool: &'static Pool, number: u64) -> bool {
    all::<X86_64<4>>(pool, number)
        & all::<X86_64<5>>(pool, number)
        & all::<Aarch64<false>>(pool, number)
        & all::<Aarch64<true>>(pool, number)
        & all::<Riscv<3, false>>(pool, number)
        & all::<Riscv<4, true>>(pool, number)
}

/// A pool of tables, and a switch to a space's number.
#[unsafe(no_mangle)]
pub extern "C" fn pmap_parts(
    tables: &'static &'static [Table],
    records: &'static &'static [Record],
    cpus: &'static &'static [CpuTag],
    tag: &Tag,
    number: u32,
) -> bool {
    // SAFETY: linked and never called.
    let pool = unsafe { TablePool::new(FrameNumber(number.into()), *tables, *records) };
    let tags = Tags::<_, 64>::new(*cpus, number.into());
    pool.is_some() & tags.is_some_and(|tags| tags.switch(CpuNumber(number), tag).is_some())
}

/// A heap of which the compiler knows nothing.
struct Heap;

// SAFETY: it has no memory.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        black_box(ptr::without_provenance_mut(layout.size()))
    }
    unsafe fn dealloc(&self, place: *mut u8, _: Layout) {
        black_box(place);
    }
}

#[global_allocator]
static HEAP: Heap = Heap;

/// Stops the CPU.
#[panic_handler]
fn stop(_: &PanicInfo<'_>) -> ! {
    loop {
        core::hint::spin_loop();
    }
}
