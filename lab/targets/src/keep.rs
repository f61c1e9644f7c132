//! Programs that do not outlive us. Each runs under a keeper (`keeper`) and is followed until it
//! ends (`kept`), with a time limit (`deadline`) that allows for a busy host (`withheld`).

mod deadline;
pub mod keeper;
mod kept;

pub(crate) use deadline::Deadline;
pub(crate) use kept::{End, Ended, Grace, Kept, Output, Program, read_lines};

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A flag that all its clones share. Once set, it stays set.
#[derive(Debug, Clone, Default)]
pub struct StopFlag {
    own: Arc<AtomicBool>,
    /// A flag that sets this one too.
    above: Option<Arc<StopFlag>>,
}

impl StopFlag {
    /// A child of this flag: set by itself, or when this one is.
    pub fn below(&self) -> StopFlag {
        StopFlag { own: Arc::default(), above: Some(Arc::new(self.clone())) }
    }

    /// Requests a stop.
    pub fn set(&self) {
        // Relaxed: the flag carries no other data. Polling code must see it soon, but in no
        // particular order.
        self.own.store(true, Ordering::Relaxed);
    }

    /// True if a stop was requested.
    pub fn is_set(&self) -> bool {
        // Relaxed: pairs with the store in `set`; see there.
        self.own.load(Ordering::Relaxed) || self.above.as_ref().is_some_and(|above| above.is_set())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_below_is_set_by_the_one_above_and_not_the_other_way_round() {
        let above = StopFlag::default();
        let (below, beside) = (above.below(), above.below());
        below.set();
        assert_eq!((below.is_set(), beside.is_set(), above.is_set()), (true, false, false));
        above.clone().set();
        assert!(beside.is_set() && beside.below().is_set());
    }
}
