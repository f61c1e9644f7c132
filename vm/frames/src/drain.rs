//! Drains: move the frames of caches back to the range layer, without stopping a CPU. Also the
//! settings that can change at run time: watermarks and stock sizes.
//!
//! Any CPU may empty any other CPU's stock. After a drain of all CPUs, each CPU, even an idle one,
//! keeps at most the 32 frames of its current magazine, and 32 more if it was moving a magazine at
//! that moment. A CPU empties its own current magazine before it goes idle. Any CPU may empty the
//! current magazine of an offline CPU.
//!
//! A drain of all CPUs goes in steps of [`CPUS_PER_STEP`] CPUs or [`SLOTS_PER_STEP`] zeroed frames.

use crate::cache::Cache;
use crate::config::{MOST_STOCK, Watermarks};
use crate::counters::Event;
use crate::cpu::CurrentCpu;
use crate::error::{ConfigError, GetError};
use crate::frames::Frames;
use crate::layers::{Layers, Local};
use crate::search::Search;
use crate::stock::{MAGAZINE, STOCK_MOST};
use faultline_numbers::{CpuNumber, DomainId, FrameNumber};

/// Number of CPUs whose stocks one step drains: at most 32 magazines.
pub(crate) const CPUS_PER_STEP: usize = 8;
/// Number of slots of zeroed frames that one step drains.
pub(crate) const SLOTS_PER_STEP: usize = 256;

/// Progress of a drain of all CPUs.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Drain {
    cpu: usize,
    slot: usize,
}

impl<'m> Layers<'m> {
    /// A step of draining all CPUs' stocks and the zeroed frames. Returns the number of frames
    /// freed, or none at the end.
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
        // Bounded: another CPU that keeps filling its stock must not hold this one in the loop.
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

    /// Drains everything a CPU holds, including its reservations. The CPU is this one, or offline.
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

    /// Ages some CPUs' stocks: lowers the limit of those that have not refilled since the last
    /// call, and drains the magazines above the limit. Returns the number of frames freed, or none
    /// if there are no CPUs from `first` on.
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

impl<'m, C: CurrentCpu> Frames<'m, C> {
    /// Empties all CPUs' stocks, this CPU's current magazine and the slots of zeroed frames into
    /// the range layer. Each other CPU keeps at most 32 frames, and 32 more if it is moving a
    /// magazine at that moment. Stops no CPU. Returns the number of frames freed.
    pub fn drain(&self) -> u64 {
        let (mut drain, mut freed) = (Drain::default(), 0);
        while let Some(more) = self.held(|layers, local| layers.drain_step(local, &mut drain)).flatten() {
            freed += more;
        }
        freed + self.drain_own_magazine()
    }

    /// Empties everything that this CPU holds, including its reserved block: for a CPU that will be
    /// idle for long. Returns the number of frames freed.
    pub fn drain_own(&self) -> u64 {
        self.held(|layers, local| layers.drain_whole(local, local.cache)).unwrap_or(0)
    }

    /// Empties everything another CPU holds. Returns the number of frames freed.
    ///
    /// # Safety
    /// That CPU is offline: it makes no calls until this returns, and its earlier writes are
    /// visible here.
    pub unsafe fn drain_offline(&self, cpu: CpuNumber) -> u64 {
        self.held(|layers, local| layers.cache(cpu).map_or(0, |cache| layers.drain_whole(local, cache))).unwrap_or(0)
    }

    /// Sets the maximum number of magazines in a CPU's stock. Excess ones remain until it ages or
    /// is drained. Fails with [`ConfigError::Stock`] above [`MOST_STOCK`](crate::MOST_STOCK), and
    /// with [`ConfigError::Cpus`] if there is no such CPU; then nothing has changed.
    pub fn set_stock_most(&self, cpu: CpuNumber, most: u8) -> Result<(), ConfigError> {
        if most > MOST_STOCK {
            return Err(ConfigError::Stock);
        }
        let cache = self.layers.cache(cpu).ok_or(ConfigError::Cpus)?;
        cache.set_stock_most(most);
        Ok(())
    }

    /// Sets a domain's watermarks. Calls the hook if this moves the domain below its low watermark
    /// or above it. Calls under way may still use the old watermarks. A CPU with more frames on
    /// account than the new low watermark allows keeps them until the next change of the account.
    ///
    /// Fails with [`ConfigError::Marks`] if `min` is above `low`, and with [`ConfigError::Domains`]
    /// if there is no such domain; then nothing has changed. Fails with [`ConfigError::Cpus`] if
    /// the caller's CPU is not in the configuration.
    pub fn set_marks(&self, domain: DomainId, marks: Watermarks) -> Result<(), ConfigError> {
        marks.check()?;
        let is_set = self.held(|layers, local| layers.set_marks(local, domain, marks)).ok_or(ConfigError::Cpus)?;
        if is_set { Ok(()) } else { Err(ConfigError::Domains) }
    }

    /// A domain's watermarks. None if there is no such domain.
    pub fn marks(&self, domain: DomainId) -> Option<Watermarks> {
        self.layers.domains.get(domain).map(|state| state.marks())
    }

    /// Lowers the stock limit of CPUs that have not refilled since the last call. For the page
    /// daemon, about once per second. Returns the number of frames freed.
    pub fn age(&self) -> u64 {
        let (mut first, mut freed) = (0, 0);
        while let Some(more) = self.held(|layers, local| layers.age_step(local, first)).flatten() {
            (first, freed) = (first + CPUS_PER_STEP, freed + more);
        }
        freed
    }

    /// Drains caches in steps. After each step that freed something, calls `again`.
    pub(crate) fn after_drains(
        &self,
        mut again: impl FnMut(&mut Search) -> Result<Option<FrameNumber>, GetError>,
    ) -> Result<Option<FrameNumber>, GetError> {
        let mut drain = Drain::default();
        while let Some(freed) = self.held(|layers, local| layers.drain_step(local, &mut drain)).flatten() {
            if freed > 0
                && let Some(got) = again(&mut Search::default())?
            {
                return Ok(Some(got));
            }
        }
        Ok(None)
    }

    pub(crate) fn drain_own_magazine(&self) -> u64 {
        self.held(|layers, local| layers.drain_current(local, local.cache)).unwrap_or(0)
    }
}
