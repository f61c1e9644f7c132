//! The 64 lines of a base page, kept together: a CPU that touches one soon touches its neighbours.

use crate::line::Line;
use crate::stamps::Stamps;
use std::array;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Number of lines in a group.
const LINES: usize = 64;

/// The lines, created when the first is touched, and never moved.
#[derive(Debug)]
pub(crate) struct Group {
    number: u64,
    lines: [Line; LINES],
    /// Created when one of the lines first changes its version, and within it the stamps of each line likewise. Most
    /// lines never need them.
    stamps: OnceLock<Box<[OnceLock<Box<Stamps>>; LINES]>>,
    /// The page was reached through a mapping of user space.
    is_contents: AtomicBool,
}

impl Group {
    /// A group of untouched lines.
    pub(crate) fn new(number: u64) -> Self {
        Group {
            number,
            lines: array::from_fn(|_| Line::default()),
            stamps: OnceLock::new(),
            is_contents: AtomicBool::new(false),
        }
    }

    /// The group number of a line.
    pub(crate) fn number_of(line: u64) -> u64 {
        line / LINES as u64
    }

    /// Its number.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// The line with that number, which must belong to this group.
    #[inline]
    pub(crate) fn line(&self, number: u64) -> &Line {
        &self.lines[number as usize % LINES]
    }

    /// The versions in which a line's bytes were written. None if its version never changed.
    pub(crate) fn stamps(&self, number: u64) -> Option<&Stamps> {
        self.stamps.get()?[number as usize % LINES].get().map(|stamps| &**stamps)
    }

    /// As `stamps`, but creates them if needed.
    pub(crate) fn stamps_or_new(&self, number: u64) -> &Stamps {
        let all = self.stamps.get_or_init(|| Box::new([const { OnceLock::new() }; LINES]));
        all[number as usize % LINES].get_or_init(|| Box::new(Stamps::new()))
    }

    /// Records that the page was reached through a mapping of user space.
    pub(crate) fn mark_contents(&self) {
        // Relaxed: the flag is read at the end, and no other data depends on it.
        self.is_contents.store(true, Relaxed);
    }

    /// Whether the page was reached through a mapping of user space.
    pub(crate) fn is_contents(&self) -> bool {
        // Relaxed: see `mark_contents`.
        self.is_contents.load(Relaxed)
    }
}
