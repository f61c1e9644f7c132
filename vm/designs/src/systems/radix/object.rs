//! Objects: an array of pages, which grows by compare-and-swap; and where one is mapped.

use crate::systems::cpu::Cpu;
use faultline_memory::{Event, NoMemory};
use std::hint::spin_loop;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// No page yet.
const NONE: u32 = 0;
/// A CPU makes the page.
const BUSY: u32 = u32::MAX;

/// An object. Fields: \[a] changed by compare-and-swap from `NONE`, and once more by who has made it `BUSY`.
#[derive(Debug)]
pub(super) struct Object {
    /// \[a] The indices of the pages' frames, plus 1.
    pages: Box<[AtomicU32]>,
}

/// Pages of an object in a space. Each slot of one call of `map_object`, and of forks of it, has it. Its count is on a line of its own.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Mapping {
    pub(super) object: Arc<Object>,
    /// To be added to a virtual page's number for its index in the object.
    pub(super) shift: u64,
}

impl Object {
    pub(super) fn new(pages: u64) -> Self {
        Object { pages: (0..pages).map(|_| AtomicU32::new(NONE)).collect() }
    }

    pub(super) fn pages(&self) -> u64 {
        self.pages.len() as u64
    }

    /// A page, made of zeroes if it is not there.
    pub(super) fn page(&self, cpu: &Cpu<'_>, index: u64) -> Result<u32, NoMemory> {
        let place = &self.pages[index as usize];
        loop {
            // Acquire: pairs with the release below: the page's contents.
            match place.load(Ordering::Acquire) {
                NONE => {
                    // Relaxed: nothing is read through it. Who loses looks again.
                    if place.compare_exchange(NONE, BUSY, Ordering::Relaxed, Ordering::Relaxed).is_err() {
                        continue;
                    }
                    let made = cpu.zeroed_page().inspect(|_| cpu.count(Event::ObjectFill));
                    // Release: pairs with the acquire above.
                    place.store(made.map_or(NONE, |page| page + 1), Ordering::Release);
                    return made;
                }
                BUSY => spin_loop(),
                page => {
                    cpu.count(Event::ObjectHit);
                    return Ok(page - 1);
                }
            }
        }
    }

    /// Ends a reference. After the last one the pages' frames are free.
    pub(super) fn release(object: Arc<Object>, cpu: &Cpu<'_>) {
        let Some(object) = Arc::into_inner(object) else { return };
        let pages = object.pages.into_iter().map(AtomicU32::into_inner);
        pages.filter(|page| *page != NONE).for_each(|page| cpu.free_page(page - 1));
    }
}
