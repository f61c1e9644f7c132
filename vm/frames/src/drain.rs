//! Drains: move the frames of caches back to the range layer. No CPU is stopped for it.
//!
//! Any CPU may empty any other CPU's stock. So after [`Pool::drain_all`] each CPU, even an idle one, keeps only its
//! current magazine of at most 32 frames. A CPU that is moving a magazine at that moment may keep 32 more. A CPU
//! empties its own current magazine before it goes idle. Any CPU may empty the current magazine of an offline CPU.

use crate::cache::Cache;
use crate::counters::Event;
use crate::pool::{Local, Pool};
use crate::stock::{MAGAZINE, STOCK_MOST};

impl<'m> Pool<'m> {
    /// Drains all CPUs' stocks, this CPU's current magazine, and the zeroed frames. Returns the number of frames freed.
    pub(crate) fn drain_all(&self, local: &Local<'m>) -> u64 {
        self.drain_stocks(local) + self.drain_current(local, local.cache) + self.drain_zeroed(local)
    }

    /// Drains all CPUs' full magazines.
    pub(crate) fn drain_stocks(&self, local: &Local<'m>) -> u64 {
        self.caches.iter().map(|cache| self.drain_stock(local, cache, 0)).sum()
    }

    /// Drains a stock's magazines from place `first` on.
    fn drain_stock(&self, local: &Local<'m>, cache: &Cache, first: usize) -> u64 {
        let mut freed = 0;
        // A bounded number of times: another CPU that keeps filling its stock must not hold us in this loop.
        for _ in first..STOCK_MOST {
            let Some(frames) = cache.stock.pop(first) else { break };
            self.free_parked(local, &frames);
            freed += MAGAZINE as u64;
        }
        self.note_drained(local, freed)
    }

    /// Drains a current magazine: this CPU's own, or an offline CPU's.
    pub(crate) fn drain_current(&self, local: &Local<'m>, cache: &Cache) -> u64 {
        let (frames, count) = cache.take_all();
        self.free_parked(local, frames.get(..count).unwrap_or(&[]));
        self.note_drained(local, count as u64)
    }

    /// Drains everything that a CPU holds, including its reservation. The CPU is this one, or offline.
    pub(crate) fn drain_whole(&self, local: &Local<'m>, cache: &Cache) -> u64 {
        let freed = self.drain_stock(local, cache, 0) + self.drain_current(local, cache);
        if let Some((block, _)) = cache.reservation() {
            cache.set_reservation(None);
            self.leave(block);
        }
        freed
    }

    /// Lowers the stock limit of CPUs that have not refilled since the last call, and drains the magazines above the
    /// limit. Returns the number of frames freed.
    pub(crate) fn age(&self, local: &Local<'m>) -> u64 {
        self.caches.iter().map(|cache| self.drain_stock(local, cache, cache.age())).sum()
    }

    fn note_drained(&self, local: &Local<'m>, count: u64) -> u64 {
        if count > 0 {
            local.count(Event::Drain, 1);
            local.count(Event::DrainedFrame, count);
        }
        count
    }
}
