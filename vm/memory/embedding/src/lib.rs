//! All calls of the memory system, for a machine without an operating system: `no-panic.sh` links
//! them, and checks that none can panic. A kernel implements the same traits. The crate is empty on
//! other targets.

#![cfg(target_os = "none")]
#![no_std]

extern crate alloc;

use alloc::sync::Arc;
use core::alloc::{GlobalAlloc, Layout};
use core::hint::black_box;
use core::panic::PanicInfo;
use core::ptr;
use faultline_frames::{CurrentCpu, Frames};
use faultline_memory::{
    Anywhere, Cpu, CpuNumber, CpuSet, Flush, FrameNumber, Hand, Machine, Memory, MemoryObject, NoMemory, PageRange,
    Pager, Pmap, Rights, Space, Transfer, Translation, VirtualPage,
};

/// The calling CPU. The compiler does not know its number.
#[derive(Debug)]
pub struct Boot;

// SAFETY: linked and never called.
unsafe impl CurrentCpu for Boot {
    type Pinned = CpuNumber;

    fn pin(&self) -> CpuNumber {
        black_box(CpuNumber(0))
    }
}

/// Page tables of which the compiler knows nothing.
#[derive(Debug)]
pub struct Table;

type Found = Option<Translation>;

// SAFETY: linked and never called.
unsafe impl Pmap for Table {
    type Retired = bool;

    const LARGE_PAGES: u64 = 512;

    fn enter(&self, page: VirtualPage, _: FrameNumber, _: Rights, retired: &mut bool) -> Result<(), NoMemory> {
        self.enter_large(page, FrameNumber(0), Rights::NONE, retired)
    }
    fn remove(&self, page: VirtualPage, retired: &mut bool) -> Found {
        *retired = black_box(false);
        self.query(page)
    }
    fn protect(&self, page: VirtualPage, _: Rights) -> Found {
        self.query(page)
    }
    fn query(&self, page: VirtualPage) -> Found {
        let found = Translation { frame: FrameNumber(page.0), rights: Rights::READ, accessed: true, dirty: true };
        black_box(Some(found))
    }
    fn harvest(&self, page: VirtualPage) -> Found {
        self.query(page)
    }
    fn enter_large(&self, page: VirtualPage, _: FrameNumber, _: Rights, retired: &mut bool) -> Result<(), NoMemory> {
        *retired = black_box(page.0 > 0);
        black_box(Err(NoMemory))
    }
    fn divide(&self, page: VirtualPage) -> bool {
        black_box(page.0 > 0)
    }
    fn remove_large(&self, first: VirtualPage, _: &mut bool) -> Found {
        self.query(first)
    }
    fn protect_large(&self, first: VirtualPage, _: Rights) -> Found {
        self.query(first)
    }
    fn harvest_large(&self, page: VirtualPage) -> Found {
        self.query(page)
    }
    fn is_empty(retired: &bool) -> bool {
        !*retired
    }
    fn free(&self, retired: bool) {
        black_box(retired);
    }
}

/// A machine of which the compiler knows nothing. `Machine::broken` is the default.
#[derive(Debug)]
pub struct Bare;

// SAFETY: linked and never called.
unsafe impl Machine for Bare {
    type Pmap = Table;
    type Pinned<'a> = u32;

    fn pin(&self, cpu: CpuNumber) -> u32 {
        black_box(cpu.0)
    }
    fn has_tables_of_each_cpu(&self) -> bool {
        black_box(false)
    }
    fn pages(&self) -> PageRange {
        PageRange::X86_64
    }
    fn new_pmap(&self) -> Result<Table, NoMemory> {
        black_box(Ok(Table))
    }
    fn flush(&self, cpu: CpuNumber, flush: &Flush) {
        black_box((cpu, flush));
    }
    fn shoot(&self, cpus: &CpuSet, flush: &Flush) {
        black_box((cpus, flush));
    }
    fn zero(&self, frame: FrameNumber) {
        black_box(frame);
    }
    fn copy(&self, from: FrameNumber, to: FrameNumber) {
        black_box((from, to));
    }
}

type BareCpu = Cpu<'static, Bare, Frames<'static, Boot>>;
type BareSpace = Space<'static, Bare>;
type BareObject = MemoryObject<'static, Bare>;

/// Calls that change a space. The arguments come from the caller, so the compiler does not know
/// their values.
#[unsafe(no_mangle)]
pub extern "C" fn memory_change(cpu: &BareCpu, space: &BareSpace, object: &BareObject, number: u64) -> bool {
    let (page, rights) = (VirtualPage(number), Rights::from_bits(number as u8));
    let Ok(range) = PageRange::new(page, number / 2) else { return false };
    let Ok(other) = PageRange::new(page, number / 3) else { return false };
    let wanted = Anywhere::new(number).aligned(number).within(range);
    cpu.set_large_pages(space, number > 1);
    cpu.set_stack_limit(space, number);
    let all = [
        cpu.activate(space).is_ok(),
        cpu.map(space, range, rights).is_ok(),
        cpu.map_object(space, range, rights, object, number).is_ok(),
        cpu.map_private(space, range, rights, object, number).is_ok(),
        cpu.map_stack(space, range, rights).is_ok(),
        cpu.map_anywhere(space, wanted, rights).is_ok(),
        cpu.map_object_anywhere(space, wanted, rights, object, number).is_ok(),
        cpu.map_private_anywhere(space, wanted, rights, object, number).is_ok(),
        cpu.unmap(space, range).is_ok(),
        cpu.protect(space, range, rights).is_ok(),
        cpu.dont_need(space, range).is_ok(),
        cpu.give_up(space, range).is_ok(),
        cpu.will_need(space, range).is_ok(),
        cpu.guard(space, range).is_ok(),
        cpu.unguard(space, range).is_ok(),
        cpu.lock_pages(space, range).is_ok(),
        cpu.unlock_pages(space, range).is_ok(),
        cpu.resize(space, range, number).is_ok(),
        cpu.move_to(space, range, other).is_ok(),
        cpu.move_anywhere(space, range, wanted).is_ok(),
    ];
    cpu.deactivate(space);
    all.iter().all(|is_ok| *is_ok)
}

/// A page fault.
#[unsafe(no_mangle)]
pub extern "C" fn memory_fault(cpu: &BareCpu, space: &BareSpace, number: u64) -> bool {
    cpu.fault(space, VirtualPage(number), Rights::from_bits(number as u8)).is_ok()
}

/// Calls that make and end spaces.
///
/// # Safety
/// The place has a space, which the caller gives up.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memory_spaces(cpu: &BareCpu, space: *const BareSpace, number: u64) -> bool {
    // SAFETY: as the caller promises.
    let space = unsafe { ptr::read(space) };
    let Ok(pages) = PageRange::new(VirtualPage(number), number) else { return false };
    let ended = |made: BareSpace| cpu.exit(made).is_ok();
    let made = cpu.new_space().is_ok_and(ended) & cpu.new_space_within(pages).is_ok_and(ended);
    let forked = cpu.fork(&space).is_ok_and(ended);
    made & forked & ended(space)
}

/// Calls on objects and transfers, and the page daemon's.
///
/// # Safety
/// The places have a pager and a transfer, which the caller gives up.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memory_objects(
    cpu: &BareCpu,
    pager: *const Arc<dyn Pager>,
    transfer: *const Transfer,
    number: u64,
) -> bool {
    // SAFETY: as the caller promises.
    let (pager, transfer) = unsafe { (ptr::read(pager), ptr::read(transfer)) };
    let made = [
        cpu.new_object(number),
        cpu.new_paged_object(number, pager),
        cpu.new_device_object(number, FrameNumber(number)),
    ];
    let mut are_ok = true;
    for mut object in made.into_iter().flatten() {
        are_ok &= cpu.spread(&mut object).is_ok()
            & cpu.truncate(&object, number).is_ok()
            & cpu.write_back(&object, number, number / 2).is_ok()
            & (object.pages() + object.resident() > number)
            & object.page(number).is_some();
        cpu.drop_object(object);
    }
    cpu.finish(transfer, number as usize);
    let swept = cpu.sweep(&mut Hand::new(0..number as u32), number);
    are_ok & (swept.reclaimed > 0) & cpu.memory().page_state(number as u32).is_some()
}

/// Calls that set the memory up.
///
/// # Safety
/// The place has a pager, which the caller gives up.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memory_new(pager: *const Arc<dyn Pager>, number: u32) -> bool {
    // SAFETY: as the caller promises.
    let pager = unsafe { ptr::read(pager) };
    let memory = Memory::new(Bare, number, number).map(|memory| memory.with_swap(pager, number));
    memory.is_ok_and(|memory| memory.is_ok_and(|memory| memory.swapped() > 0))
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
