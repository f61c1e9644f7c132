//! Drains: what caches hold goes back to the range layer. No CPU is stopped for it.
//!
//! Any CPU may empty any other's stock, so that [`Pool::drain_all`] leaves each CPU, idle ones included, its current magazine
//! of at most 32 frames; and 32 more to a CPU that is in the midst of moving a magazine. A CPU empties its own current one
//! before it goes idle; that of a CPU that is offline is anyone's to empty.

use crate::cache::Cache;
use crate::counters::Event;
use crate::pool::{Local, Pool};
use crate::stock::{MAGAZINE, STOCK_MOST};

impl<'m> Pool<'m> {
    /// Drains all CPUs' stocks, the CPU's own current magazine, and the zeroed frames. Returns the frames freed.
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
        // So often at most: a CPU that goes on filling its stock must not keep us here.
        for _ in first..STOCK_MOST {
            let Some(frames) = cache.stock.pop(first) else { break };
            self.free_parked(local, &frames);
            freed += MAGAZINE as u64;
        }
        self.note_drained(local, freed)
    }

    /// Drains a current magazine: the own one, or an offline CPU's.
    pub(crate) fn drain_current(&self, local: &Local<'m>, cache: &Cache) -> u64 {
        let (frames, count) = cache.take_all();
        self.free_parked(local, frames.get(..count).unwrap_or(&[]));
        self.note_drained(local, count as u64)
    }

    /// Drains all that a CPU has, its reservation included. It is the own one, or offline.
    pub(crate) fn drain_whole(&self, local: &Local<'m>, cache: &Cache) -> u64 {
        let freed = self.drain_stock(local, cache, 0) + self.drain_current(local, cache);
        if let Some((block, _)) = cache.reservation() {
            cache.set_reservation(None);
            self.leave(block);
        }
        freed
    }

    /// Lowers the stock of CPUs that have not refilled since the last time, and drains what is above. Returns the frames freed.
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
