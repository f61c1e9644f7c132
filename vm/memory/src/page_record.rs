//! A frame's record: the state of its page, and the page's home.

use crate::counted::Inner;
use crate::family::Family;
use crate::object::Object;
use crate::page_word::PageWord;
use crate::primitive::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64};
use core::ptr;
use core::sync::atomic::Ordering::Relaxed;

/// The home of a page, not counted as an owner: see [`PageRecord`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Home {
    /// An object; the place is the page's index in it.
    Object(*const Inner<Object>),
    /// A family with private memory; the place is the virtual page.
    Family(*const Inner<Family>),
}

/// Tag in the lowest bit of a home's address.
const IS_FAMILY: usize = 1;

const _: () = assert!(align_of::<Inner<Object>>() > IS_FAMILY && align_of::<Inner<Family>>() > IS_FAMILY);

/// A frame's record. Fields: \[a] see [`PageWord`]; \[b] written by the CPU that has the page busy,
/// between `Claim` and `Filled` or later; read by the CPU that has it busy, and compared by CPUs
/// that have just found it valid. All orderings of \[b] are relaxed: the steps of the word order
/// them.
///
/// The home lives as long as the page has an owner that is neither a transfer nor the page daemon.
/// A CPU that makes a page busy keeps that owner from releasing it. Before it waits, it must own
/// the page, and an owner's reference of the home.
#[derive(Debug)]
#[repr(align(32))]
pub(crate) struct PageRecord {
    /// \[a]
    pub(crate) word: PageWord,
    /// \[b] The tagged address of the home.
    home: AtomicPtr<()>,
    /// \[b] The place in the home.
    place: AtomicU64,
    /// \[b] A swap slot with the same contents, plus 1; 0: none. The page owns a share of it.
    swap: AtomicU32,
    /// \[b] Read ahead: not requested yet. Only for pages that are read.
    is_ahead: AtomicBool,
}

const _: () = assert!(cfg!(any(loom, shuttle)) || size_of::<PageRecord>() == 32);

impl PageRecord {
    pub(crate) fn new() -> Self {
        Self {
            word: PageWord::new(),
            home: AtomicPtr::new(ptr::null_mut()),
            place: AtomicU64::new(0),
            swap: AtomicU32::new(0),
            is_ahead: AtomicBool::new(false),
        }
    }

    /// Sets the home and the place in it.
    #[inline]
    pub(crate) fn set_home(&self, home: Home, place: u64) {
        let home = match home {
            Home::Object(object) => object.cast::<()>(),
            Home::Family(family) => family.cast::<()>().map_addr(|address| address | IS_FAMILY),
        };
        self.home.store(home.cast_mut(), Relaxed);
        self.place.store(place, Relaxed);
    }

    /// The home and the place in it.
    pub(crate) fn home(&self) -> (Home, u64) {
        let home = self.home.load(Relaxed).cast_const();
        let address = home.map_addr(|address| address & !IS_FAMILY);
        let home = match home.addr() & IS_FAMILY {
            0 => Home::Object(address.cast()),
            _ => Home::Family(address.cast()),
        };
        (home, self.place.load(Relaxed))
    }

    /// True if the page was only read ahead.
    pub(crate) fn is_ahead(&self) -> bool {
        self.is_ahead.load(Relaxed)
    }

    pub(crate) fn set_ahead(&self, is_ahead: bool) {
        self.is_ahead.store(is_ahead, Relaxed);
    }

    /// The swap slot with the same contents.
    pub(crate) fn swap(&self) -> Option<u32> {
        self.swap.load(Relaxed).checked_sub(1)
    }

    pub(crate) fn set_swap(&self, slot: Option<u32>) {
        self.swap.store(slot.map_or(0, |slot| slot + 1), Relaxed);
    }
}
