//! Drains: move the frames of caches back to the range layer. No CPU is stopped for it.
//!
//! Any CPU may empty any other CPU's stock. So after a drain of all CPUs each CPU, even an idle one, keeps only its
//! current magazine of at most 32 frames. A CPU that is moving a magazine at that moment may keep 32 more. A CPU
//! empties its own current magazine before it goes idle. Any CPU may empty the current magazine of an offline CPU.
//!
//! A drain of all CPUs goes in steps of [`CPUS_PER_STEP`] CPUs or [`SLOTS_PER_STEP`] zeroed frames.

use crate::cache::Cache;
use crate::counters::Event;
use crate::layers::{Layers, Local};
use crate::stock::{MAGAZINE, STOCK_MOST};

/// CPUs whose stocks one step drains: at most 32 magazines.
pub(crate) const CPUS_PER_STEP: usize = 8;
/// Slots of zeroed frames that one step drains.
pub(crate) const SLOTS_PER_STEP: usize = 256;

/// How far a drain of all CPUs has come.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Drain {
    cpu: usize,
    slot: usize,
}

impl<'m> Layers<'m> {
    /// A step of draining all CPUs' stocks and the zeroed frames. Returns the number of frames freed, or none if there was
    /// nothing left to look at.
    pub(crate) fn drain_step(&self, local: &Local<'m>, drain: &mut Drain) -> Option<u64> {
        let caches = self.caches.iter().skip(drain.cpu).take(CPUS_PER_STEP);
        if caches.len() > 0 {
            drain.cpu += CPUS_PER_STEP;
            return Some(caches.map(|cache| self.drain_stock(local, cache, 0)).sum());
        }
        let slots = drain.slot..drain.slot.saturating_add(SLOTS_PER_STEP).min(self.zeroed.len());
        if slots.is_empty() {
            return None;
        }
        drain.slot = slots.end;
        let mut freed = 0;
        self.zeroed.take_out(slots, |offset| {
            self.range.free_parked(&[offset], |frames| self.account(local, frames));
            freed += 1;
        });
        Some(freed)
    }

    /// Drains a stock's magazines from place `first` on.
    fn drain_stock(&self, local: &Local<'m>, cache: &Cache, first: usize) -> u64 {
        let mut freed = 0;
        // A bounded number of times: another CPU that keeps filling its stock must not hold us in this loop.
        for _ in first..STOCK_MOST {
            let Some(frames) = cache.stock.pop(first) else { break };
            self.range.free_parked(&frames, |frames| self.account(local, frames));
            freed += MAGAZINE as u64;
        }
        note_drained(local, freed)
    }

    /// Drains a current magazine: this CPU's own, or an offline CPU's.
    pub(crate) fn drain_current(&self, local: &Local<'m>, cache: &Cache) -> u64 {
        let (frames, count) = cache.take_all();
        self.range.free_parked(frames.get(..count).unwrap_or(&[]), |frames| self.account(local, frames));
        note_drained(local, count as u64)
    }

    /// Drains everything that a CPU holds, including its reservations. The CPU is this one, or offline.
    pub(crate) fn drain_whole(&self, local: &Local<'m>, cache: &Cache) -> u64 {
        let freed = self.drain_stock(local, cache, 0) + self.drain_current(local, cache);
        if let Some((block, _)) = cache.reservation() {
            cache.set_reservation(None);
            self.range.leave(block);
        }
        if let Some((block, _)) = cache.run_block() {
            cache.set_run_block(None);
            self.range.leave(block);
        }
        freed
    }

    /// Ages some CPUs' stocks: lowers the limit of those that have not refilled since the last call, and drains the
    /// magazines above the limit. Returns the number of frames freed, or none if there are no CPUs from `first` on.
    pub(crate) fn age_step(&self, local: &Local<'m>, first: usize) -> Option<u64> {
        let caches = self.caches.get(first..).filter(|caches| !caches.is_empty())?;
        Some(caches.iter().take(CPUS_PER_STEP).map(|cache| self.drain_stock(local, cache, cache.age())).sum())
    }
}

fn note_drained(local: &Local<'_>, count: u64) -> u64 {
    if count > 0 {
        local.count(Event::Drain, 1);
        local.count(Event::DrainedFrame, count);
    }
    count
}
