//! The 64 lines of a base page, together: whoever touches one soon touches its neighbours.

use crate::line::Line;
use crate::stamps::Stamps;
use std::array;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Lines of a group.
const LINES: usize = 64;

/// The lines, made when the first is touched, and never moved.
#[derive(Debug)]
pub(crate) struct Group {
    number: u64,
    lines: [Line; LINES],
    /// Made when one of the lines first changes its version, and in it those of each line likewise: most never do.
    stamps: OnceLock<Box<[OnceLock<Box<Stamps>>; LINES]>>,
    /// Somebody came through a mapping of user space.
    is_contents: AtomicBool,
}

impl Group {
    /// Lines that nobody has touched.
    pub(crate) fn new(number: u64) -> Self {
        Group {
            number,
            lines: array::from_fn(|_| Line::default()),
            stamps: OnceLock::new(),
            is_contents: AtomicBool::new(false),
        }
    }

    /// The number of a line's group.
    pub(crate) fn number_of(line: u64) -> u64 {
        line / LINES as u64
    }

    /// Its number.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// The line of that number, which must be one of its own.
    #[inline]
    pub(crate) fn line(&self, number: u64) -> &Line {
        &self.lines[number as usize % LINES]
    }

    /// When the bytes of a line were written; none if its version never changed.
    pub(crate) fn stamps(&self, number: u64) -> Option<&Stamps> {
        self.stamps.get()?[number as usize % LINES].get().map(|stamps| &**stamps)
    }

    /// The same; there from now on.
    pub(crate) fn stamps_or_new(&self, number: u64) -> &Stamps {
        let all = self.stamps.get_or_init(|| Box::new([const { OnceLock::new() }; LINES]));
        all[number as usize % LINES].get_or_init(|| Box::new(Stamps::new()))
    }

    /// Notes that the page was reached through a mapping of user space.
    pub(crate) fn mark_contents(&self) {
        // Relaxed: the flag is read when all is over, and says nothing of other data.
        self.is_contents.store(true, Relaxed);
    }

    /// Whether it was.
    pub(crate) fn is_contents(&self) -> bool {
        // Relaxed: see `mark_contents`.
        self.is_contents.load(Relaxed)
    }
}
