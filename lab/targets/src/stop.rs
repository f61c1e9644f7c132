//! A request to stop, from a signal handler to the code that waits for a workload.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// All its clones share it. Once set, it stays set.
#[derive(Debug, Clone, Default)]
pub struct StopFlag {
    own: Arc<AtomicBool>,
    /// A flag that sets this one too.
    above: Option<Arc<StopFlag>>,
}

impl StopFlag {
    /// A flag below this one: it is set by itself, or when this one is.
    pub fn below(&self) -> StopFlag {
        StopFlag { own: Arc::default(), above: Some(Arc::new(self.clone())) }
    }

    /// Requests a stop.
    pub fn set(&self) {
        // Relaxed: the flag carries no other data. Code that polls it must see it soon, but in no particular order.
        self.own.store(true, Ordering::Relaxed);
    }

    /// Whether a stop was requested.
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
