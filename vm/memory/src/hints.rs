//! Where a CPU last found free addresses, of the spaces that it has chosen addresses in lately.

use crate::machine::SpaceId;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

const SPACES: usize = 16;

/// A CPU's hints. Fields: \[c] written and read by the CPU alone, so all orderings are relaxed.
#[derive(Debug)]
pub(crate) struct Hints([Hint; SPACES]);

#[derive(Debug)]
struct Hint {
    /// \[c] The space's number plus 1; 0: none.
    space: AtomicU64,
    /// \[c] The page.
    next: AtomicU64,
}

impl Hints {
    pub(crate) fn new() -> Self {
        Self([const { Hint { space: AtomicU64::new(0), next: AtomicU64::new(0) } }; SPACES])
    }

    fn place(&self, space: SpaceId) -> &Hint {
        // The number's lower part is that of the CPU which made the space, its upper part counts.
        let made = space.0 / crate::cpu_set::MOST_CPUS as u64;
        &self.0[(made + space.0) as usize % SPACES]
    }

    pub(crate) fn get(&self, space: SpaceId) -> Option<u64> {
        let hint = self.place(space);
        (hint.space.load(Relaxed) == space.0 + 1).then(|| hint.next.load(Relaxed))
    }

    pub(crate) fn set(&self, space: SpaceId, next: u64) {
        let hint = self.place(space);
        hint.space.store(space.0 + 1, Relaxed);
        hint.next.store(next, Relaxed);
    }
}
