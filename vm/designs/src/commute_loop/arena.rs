//! The allocator of this program: each pair has an arena at an address derived from its number, so
//! a moving cache line identifies its pair. Each CPU has a part of it, allocations begin on lines
//! of their own, and nothing is reused: lines are shared only if the memory system shares them.
//!
//! Left out: lines that an allocator of small objects writes itself.

use super::Problem;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Address of the first arena, far from where systems place programs, libraries and stacks.
const BASE: usize = 0x2000_0000_0000;
/// Bytes of a pair's arena.
pub(super) const ARENA_BYTES: usize = 1 << 20;
/// Bytes of the part of the second CPU, at the arena's end.
const SECOND_BYTES: usize = 1 << 17;
const LINE_BYTES: usize = 64;

/// The end of the arenas, or 0 before there are any. Relaxed: set before the program's second
/// thread starts.
static END: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// The next free byte of the thread's part, and the part's end; both 0 outside pairs.
    static PART: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
}

/// The global allocator.
#[derive(Debug)]
pub struct Arenas;

// SAFETY: 1. A part belongs to one thread at a time, as `open` demands, and each of its bytes is
// given out once. 2. All other memory is the system's, and goes back to it: `dealloc` tells them
// apart by their addresses.
unsafe impl GlobalAlloc for Arenas {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let (next, end) = PART.get();
        if end == 0 {
            // SAFETY: as the caller promises.
            return unsafe { System.alloc(layout) };
        }
        let first = next.next_multiple_of(layout.align().max(LINE_BYTES));
        if end.saturating_sub(first) < layout.size() {
            return ptr::null_mut();
        }
        PART.set((first + layout.size(), end));
        // The mapping's provenance was exposed.
        ptr::with_exposed_provenance_mut(first)
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        if !(BASE..END.load(Relaxed)).contains(&place.addr()) {
            // SAFETY: as the caller promises, and it is not of an arena, so `System` gave it.
            unsafe { System.dealloc(place, layout) }
        }
    }
}

/// Makes arenas for pairs with these numbers, with all pages resident.
pub(super) fn make(first: usize, pairs: usize) -> Result<(), Problem> {
    let base = BASE + first * ARENA_BYTES;
    let (rights, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE | MapFlags::POPULATE);
    let flags = flags | MapFlags::FIXED_NOREPLACE;
    // SAFETY: 1. Nothing is mapped there, or the call fails. 2. No other code knows the place.
    let place = unsafe { mmap_anonymous(ptr::without_provenance_mut(base), pairs * ARENA_BYTES, rights, flags) };
    let place = place.map_err(|error| format!("no memory for {pairs} pairs: {error}"))?;
    if place.expose_provenance() != base {
        return Err("the arenas are not where they were asked for".into());
    }
    END.store(base + pairs * ARENA_BYTES, Relaxed);
    Ok(())
}

/// The part of a CPU, 0 or 1, of a pair's arena.
#[derive(Debug)]
pub(super) struct Part {
    next: usize,
    end: usize,
}

impl Part {
    /// # Safety
    /// 1. `make` has made it. 2. It is requested once per pair and CPU.
    pub(super) unsafe fn of(pair: usize, cpu: usize) -> Self {
        let (first, end) = (BASE + pair * ARENA_BYTES, BASE + (pair + 1) * ARENA_BYTES);
        match cpu {
            0 => Self { next: first, end: end - SECOND_BYTES },
            _ => Self { next: end - SECOND_BYTES, end },
        }
    }

    /// Calls `run`, with this thread's allocations in the part.
    pub(super) fn within<R>(&mut self, run: impl FnOnce() -> R) -> R {
        PART.set((self.next, self.end));
        let result = run();
        self.next = PART.replace((0, 0)).0;
        result
    }
}
