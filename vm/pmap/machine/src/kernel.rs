//! The parts of a small kernel: its heap, its page tables, the memory system's machine, and page
//! faults.

use crate::hardware::{LEVELS, Pinned, cpu, end, fault_address, flush_here, interrupts_on, say, shoot, switch};
use crate::hardware::{probe_failed, probe_fetch, probe_fetch_failed, probe_read, probe_write};
use core::alloc::{GlobalAlloc, Layout};
use core::cell::UnsafeCell;
use core::panic::PanicInfo;
use core::ptr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize};
use faultline_frames::{FixedCpu, Frames};
use faultline_memory::{
    Broken, Cpu, CpuNumber, CpuSet, Flush, FrameNumber, Machine, Memory, NoMemory, PageRange, Rights, Space,
    VirtualPage,
};
use faultline_pmap::{PageTables, Record, Table, TablePool, X86_64, span};

pub type Pool = TablePool<&'static [Table], &'static [Record]>;
pub type Tables = PageTables<X86_64<LEVELS>, &'static Pool>;
pub type Handle = Cpu<'static, Bare, Frames<'static, FixedCpu>>;
pub type BareSpace = Space<'static, Bare>;

/// Root entries of the kernel: all of memory, at its physical addresses.
pub const KERNEL_ROOTS: core::ops::Range<usize> = 0..1;

/// First page of programs: that of the second root entry.
pub const FIRST: u64 = span(LEVELS - 1);

/// The machine.
pub struct Bare {
    pub kernel: Tables,
    /// For a run that shows that a missing shoot-down is noticed.
    pub forgets_shoots: AtomicBool,
}

impl Bare {
    fn bytes(frame: FrameNumber) -> *mut u8 {
        ptr::with_exposed_provenance_mut(frame.address() as usize)
    }
}

// SAFETY: 1. The other CPU flushes in an interrupt, which guards turn off. 2. It flushes the same
// pages, or more. 3. Memory is mapped at its physical addresses.
unsafe impl Machine for Bare {
    type Pmap = Tables;
    type Pinned<'a> = Pinned;

    fn pin(&self, _: CpuNumber) -> Pinned {
        Pinned::new()
    }

    fn pages(&self) -> PageRange {
        let all = if LEVELS == 5 { PageRange::X86_64_LA57 } else { PageRange::X86_64 };
        PageRange::new(VirtualPage(FIRST), all.pages() - FIRST).unwrap_or(all)
    }

    fn new_pmap(&self) -> Result<Tables, NoMemory> {
        // SAFETY: the kernel's page tables are never dropped or changed at their root.
        unsafe { Tables::beside(*self.kernel.memory(), &self.kernel, KERNEL_ROOTS) }
    }

    // With tables or without: `INVLPG` makes a CPU forget all tables that it has cached.
    fn flush(&self, _: CpuNumber, flush: &Flush) {
        flush_here(flush.pages.first().0, flush.pages.pages());
    }

    fn shoot(&self, _: &CpuSet, flush: &Flush) {
        if !self.forgets_shoots.load(Relaxed) {
            shoot(flush.pages);
        }
    }

    fn zero(&self, frame: FrameNumber) {
        // SAFETY: the frame is the caller's, and mapped for the kernel.
        unsafe { Self::bytes(frame).write_bytes(0, 4096) };
    }

    fn copy(&self, from: FrameNumber, to: FrameNumber) {
        // SAFETY: as above.
        unsafe { Self::bytes(from).copy_to_nonoverlapping(Self::bytes(to), 4096) };
    }

    fn broken(&self, broken: &Broken) {
        say!("broken: {broken}");
        end(false);
    }
}

/// A CPU's handle, and the space that runs on it.
pub struct Running {
    pub handle: AtomicPtr<Handle>,
    pub space: AtomicPtr<BareSpace>,
    pub faults: AtomicUsize,
}

impl Running {
    const fn idle() -> Self {
        let (handle, space) = (AtomicPtr::new(ptr::null_mut()), AtomicPtr::new(ptr::null_mut()));
        Self { handle, space, faults: AtomicUsize::new(0) }
    }
}

pub static RUNNING: [Running; 2] = [Running::idle(), Running::idle()];

/// The handle of this CPU.
pub fn handle() -> &'static Handle {
    // SAFETY: set before the CPU begins, and used by it alone.
    unsafe { &*RUNNING[cpu() & 1].handle.load(Acquire) }
}

/// Makes a space the one that runs on this CPU.
pub fn enter(space: &BareSpace) {
    if handle().activate(space).is_err() {
        fail("a space cannot be activated");
    }
    RUNNING[cpu() & 1].space.store(ptr::from_ref(space).cast_mut(), Release);
    space.pmap(CpuNumber(cpu() as u32)).into_iter().for_each(|tables| switch(tables.root().address()));
}

/// Leaves the space that runs on this CPU.
pub fn leave() {
    let space = RUNNING[cpu() & 1].space.swap(ptr::null_mut(), Acquire);
    let memory: &Memory<Bare> = handle().memory();
    switch(memory.machine().kernel.root().address());
    // SAFETY: the space that `enter` was given lives until all have left.
    unsafe { space.as_ref() }.into_iter().for_each(|space| handle().deactivate(space));
}

/// A page fault. `at`: the trapped instruction's address, and what follows it on the stack.
#[unsafe(no_mangle)]
extern "C" fn page_fault(error: u64, at: &mut [u64; 3]) {
    let (address, running) = (fault_address(), &RUNNING[cpu() & 1]);
    // Relaxed: the CPU's own.
    running.faults.fetch_add(1, Relaxed);
    // SAFETY: as in `leave`.
    let space = unsafe { running.space.load(Acquire).as_ref() };
    let access = match error {
        _ if error & 1 << 4 != 0 => Rights::EXECUTE,
        _ if error & 1 << 1 != 0 => Rights::WRITE,
        _ => Rights::READ,
    };
    if at[2] & 1 << 9 != 0 {
        interrupts_on();
    }
    let resolved = space.map(|space| handle().fault(space, VirtualPage::containing(address), access));
    if matches!(resolved, Some(Ok(()))) {
        return;
    }
    let [read, write, fetch, end_of_fetch] =
        [probe_read as *const (), probe_write as *const (), probe_fetch as *const (), probe_fetch_failed as *const ()]
            .map(|place| place as u64);
    if at[0] == address && error & 1 << 4 != 0 {
        at[0] = end_of_fetch;
    } else if (read..write).contains(&at[0]) || (write..fetch).contains(&at[0]) {
        at[0] = probe_failed as *const () as u64;
    } else {
        say!("page fault at {:#x}, address {address:#x}, error {error}: {resolved:?}", at[0]);
        end(false);
    }
}

/// Reads a byte; `None` if the fault cannot be resolved.
pub fn read(address: u64) -> Option<u8> {
    // SAFETY: faults are handled; what a test reads is bytes.
    u8::try_from(unsafe { probe_read(address) }).ok()
}

/// Writes a byte; false if the fault cannot be resolved.
pub fn write(address: u64, value: u8) -> bool {
    // SAFETY: a test writes only its own pages.
    unsafe { probe_write(address, value) == 0 }
}

/// Calls code; false if the fault cannot be resolved.
pub fn fetch(address: u64) -> bool {
    // SAFETY: a test calls a `ret` alone.
    unsafe { probe_fetch(address) == 0 }
}

pub fn fail(what: &str) -> ! {
    say!("FAILED on CPU {}: {what}", cpu());
    end(false)
}

pub fn check(is_so: bool, what: &str) {
    if !is_so {
        fail(what);
    }
}

const HEAP_BYTES: usize = 24 << 20;
/// Sizes of blocks: powers of two from 16 bytes on.
const SIZES: usize = 20;

/// The heap: a list of free blocks of each size; new blocks from its end.
#[repr(align(4096))]
struct Heap {
    is_locked: AtomicBool,
    state: UnsafeCell<(usize, [*mut u8; SIZES])>,
    bytes: UnsafeCell<[u8; HEAP_BYTES]>,
}

// SAFETY: used with its lock held.
unsafe impl Sync for Heap {}

#[global_allocator]
static HEAP: Heap = Heap {
    is_locked: AtomicBool::new(false),
    state: UnsafeCell::new((0, [ptr::null_mut(); SIZES])),
    bytes: UnsafeCell::new([0; HEAP_BYTES]),
};

impl Heap {
    fn locked<R>(&self, act: impl FnOnce(&mut (usize, [*mut u8; SIZES])) -> R) -> R {
        let _pinned = Pinned::new();
        // Acquire, Release: the holder's stores.
        while self.is_locked.compare_exchange(false, true, Acquire, Relaxed).is_err() {
            core::hint::spin_loop();
        }
        // SAFETY: the lock is held.
        let result = act(unsafe { &mut *self.state.get() });
        self.is_locked.store(false, Release);
        result
    }
}

fn size_class(layout: Layout) -> usize {
    let size = layout.size().max(layout.align()).max(16).next_power_of_two();
    size.trailing_zeros() as usize - 4
}

// SAFETY: a block is in a list, or its owner's; sizes are powers of two, and so are their places'
// alignments.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let class = size_class(layout);
        self.locked(|(used, free)| {
            let Some(list) = free.get_mut(class) else { return ptr::null_mut() };
            if !list.is_null() {
                let block = *list;
                // SAFETY: a free block holds the next one.
                *list = unsafe { block.cast::<*mut u8>().read() };
                return block;
            }
            let (size, base) = (16 << class, self.bytes.get().cast::<u8>());
            let begin = (base as usize + *used).next_multiple_of(size) - base as usize;
            if begin + size > HEAP_BYTES {
                return ptr::null_mut();
            }
            *used = begin + size;
            base.wrapping_add(begin)
        })
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        self.locked(|(_, free)| {
            if let Some(list) = free.get_mut(size_class(layout)) {
                // SAFETY: the block is free, and has room.
                unsafe { block.cast::<*mut u8>().write(*list) };
                *list = block;
            }
        });
    }
}

#[panic_handler]
fn panicked(info: &PanicInfo<'_>) -> ! {
    say!("panic on CPU {}: {info}", cpu());
    end(false)
}
