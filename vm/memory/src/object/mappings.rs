//! An object's mappings, and who keeps the object: one list for all CPUs, or one for each.
//!
//! What every process maps, such as libc's text, is mapped and unmapped by all CPUs all the time. In one list its lock and the object's count
//! of owners move from CPU to CPU with each. A *spread* object has a list for each CPU, with a count of its own: whoever maps it writes
//! lines of its CPU alone. The price is 64 bytes for each CPU and such object, and that a visit looks at all lists.
//!
//! A count that is spread cannot tell when it becomes 0. So it is gathered when nobody but mappings keeps the object: each list is *closed*, its
//! mappings become owners of the object's own count, and from then on that decides.

use crate::allocation::try_slice;
use crate::counted::Inner;
use crate::error::NoMemory;
use crate::object::mapping::{Mapping, MappingIndex};
use crate::primitive::AtomicBool;
use crate::spin::Spin;
use alloc::boxed::Box;
use core::sync::atomic::Ordering::Relaxed;
use faultline_numbers::CpuNumber;

/// A list. Its lock is `[o]`.
#[derive(Debug)]
#[repr(align(64))]
struct List(Spin<Listed>);

#[derive(Debug)]
struct Listed {
    index: MappingIndex,
    /// How many mappings are in it that the object's count does not know.
    uncounted: usize,
    /// Whether the object's count knows each mapping.
    is_closed: bool,
}

impl List {
    fn new(is_closed: bool) -> Self {
        Self(Spin::new(Listed { index: MappingIndex::new(), uncounted: 0, is_closed }))
    }
}

/// The mappings of an object.
#[derive(Debug)]
pub(crate) struct Mappings {
    /// One, or one for each CPU.
    lists: Lists,
    /// Whether lists are closed, or somebody is closing them. Relaxed: each list's lock says what holds for it.
    is_closed: AtomicBool,
}

#[derive(Debug)]
enum Lists {
    One(List),
    Spread(Box<[List]>),
}

impl Mappings {
    pub(crate) fn new() -> Self {
        Self { lists: Lists::One(List::new(true)), is_closed: AtomicBool::new(true) }
    }

    /// With a list for each CPU. The object's count must have one more owner, for the lists: see [`close`](Self::close).
    pub(crate) fn try_spread(cpus: usize) -> Result<Self, NoMemory> {
        let lists = Lists::Spread(try_slice(cpus, || List::new(false))?);
        Ok(Self { lists, is_closed: AtomicBool::new(false) })
    }

    fn lists(&self) -> &[List] {
        match &self.lists {
            Lists::One(list) => core::slice::from_ref(list),
            Lists::Spread(lists) => lists,
        }
    }

    /// The list that a CPU's mappings go to.
    pub(crate) fn list_of(&self, cpu: CpuNumber) -> u32 {
        cpu.0 % self.lists().len() as u32
    }

    /// Adds a mapping to its list. True if it must be an owner by the object's count.
    ///
    /// # Safety
    /// It stays until it is removed, and is in no index.
    pub(crate) unsafe fn add(&self, mapping: *const Inner<Mapping>, list: u32) -> bool {
        let mut listed = self.lists()[list as usize].0.lock();
        // SAFETY: as the caller promises.
        unsafe { listed.index.add(mapping) };
        listed.uncounted += usize::from(!listed.is_closed);
        listed.is_closed
    }

    /// Takes a mapping out. True if it was an owner by the object's count.
    pub(crate) fn remove(&self, mapping: *const Inner<Mapping>, list: u32) -> bool {
        let mut listed = self.lists()[list as usize].0.lock();
        listed.index.remove(mapping);
        listed.uncounted -= usize::from(!listed.is_closed);
        listed.is_closed
    }

    /// Makes all mappings owners by the object's count, which `count` raises. True for one caller; it then gives up the owner that the
    /// object had for the lists.
    pub(crate) fn close(&self, mut count: impl FnMut(usize)) -> bool {
        if self.is_closed.swap(true, Relaxed) {
            return false;
        }
        for list in self.lists() {
            let mut listed = list.0.lock();
            count(core::mem::take(&mut listed.uncounted));
            listed.is_closed = true;
        }
        true
    }

    /// Whether nobody has closed the lists yet.
    pub(crate) fn are_open(&self) -> bool {
        !self.is_closed.load(Relaxed)
    }

    /// Calls `act` with each mapping of a page, until it returns something.
    pub(crate) fn of_page<R>(
        &self,
        index: u64,
        mut act: impl FnMut(&Mapping, *const Inner<Mapping>) -> Option<R>,
    ) -> Option<R> {
        self.lists().iter().find_map(|list| list.0.lock().index.of_page(index, &mut act))
    }
}
