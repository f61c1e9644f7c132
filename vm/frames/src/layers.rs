//! All layers, and the account of free frames: watermarks and the hook. The steps of calls on the
//! layers are in `single`, `runs`, `huge`, `contiguous`, `zeroed`, `search` and `drain`.
//!
//! Each CPU has some of a domain's free frames on account, which the domain's count does not
//! contain. Frames that it takes go off its account, and frames that it frees go onto it. Only when
//! the account runs empty or grows too large does the CPU write the domain's count. So a CPU that
//! alternately takes and frees writes no shared line. The domain's count plus its own account is a
//! lower bound of the free frames, without reading the other CPUs' accounts. The exact number,
//! which reads all accounts, is needed only if that bound is below a watermark.

use crate::cache::Cache;
use crate::config::Watermarks;
use crate::counters::Event;
use crate::domain::{Crossing, Domain, Domains};
use crate::range_layer::{Freed, RangeLayer};
use crate::stock::MAGAZINE;
use crate::stock::Zeroed;
use core::cell::Cell;
use faultline_numbers::{CpuNumber, DomainId};

/// References, which never change. All mutable data lies on lines of the metadata.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layers<'m> {
    pub(crate) caches: &'m [Cache],
    pub(crate) domains: Domains<'m>,
    pub(crate) zeroed: Zeroed<'m>,
    pub(crate) range: RangeLayer<'m>,
}

/// The CPU that a call is pinned to.
#[derive(Debug)]
pub(crate) struct Local<'m> {
    pub(crate) number: CpuNumber,
    pub(crate) cache: &'m Cache,
    /// Domains that have fallen below their low watermark, or further below it, in this call; one
    /// bit each.
    pub(crate) fallen: Cell<u32>,
    /// Domains that have reached it again.
    pub(crate) recovered: Cell<u32>,
}

impl Local<'_> {
    #[inline]
    pub(crate) fn count(&self, event: Event, count: u64) {
        self.cache.counts.add(event, count);
    }
}

impl<'m> Layers<'m> {
    #[inline(always)]
    pub(crate) fn cache(&self, cpu: CpuNumber) -> Option<&'m Cache> {
        self.caches.get(cpu.0 as usize)
    }
}

/// The limit down to which a get may take a domain's free frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Urgency {
    /// Down to the min watermark.
    #[default]
    Normal,
    /// To the last frame: for the page daemon, and for allocations that it needs to free memory.
    Reserve,
}

/// A hook for low memory: called when a domain falls below its low watermark, each time it has
/// fallen by a further eighth of it, and when it reaches it again.
///
/// Runs at the end of the call that took or freed the frames, on the same CPU, after the caller was
/// unpinned. May call the allocator. Usually wakes the page daemon and callers that wait for
/// memory.
///
/// `free`: free frames of the domain in the range layer, without those in caches.
pub trait LowMemory: Sync {
    /// The domain has fallen below its low watermark, or further below it.
    fn low(&self, domain: DomainId, free: u64);

    /// The domain has reached its low watermark again. Default: does nothing.
    fn enough(&self, domain: DomainId, free: u64) {
        let _ = (domain, free);
    }
}

impl<'m> Layers<'m> {
    /// Accounts for frames that have become free.
    #[inline]
    pub(crate) fn account(&self, local: &Local<'m>, freed: Freed) {
        self.note_free(local, freed.domain, i64::from(freed.count));
        if freed.is_reserved {
            local.cache.turn_back(freed.block, freed.word);
        }
    }

    /// Records a change of a domain's number of free frames in the range layer.
    #[inline(always)]
    pub(crate) fn note_free(&self, local: &Local<'m>, domain: DomainId, change: i64) {
        let Some(count) = self.domains.get(domain) else { return };
        let account = local.cache.account(domain) + change;
        if (0..=count.account_most()).contains(&account) {
            local.cache.set_account(domain, account);
        } else {
            self.settle(local, domain, account);
        }
    }

    /// Settles an account that has run empty or become too large.
    #[cold]
    fn settle(&self, local: &Local<'m>, domain: DomainId, account: i64) {
        let Some(count) = self.domains.get(domain) else { return };
        let left = if account < 0 { count.withdraw(-account) } else { count.deposit(account) };
        local.cache.set_account(domain, left);
        local.count(Event::Settled, 1);
        self.watch(local, domain);
    }

    /// Free frames of a domain. Exact while no call is under way.
    pub(crate) fn free_in(&self, domain: DomainId) -> u64 {
        let least = self.domains.get(domain).map_or(0, Domain::least);
        let accounts: i64 = self.caches.iter().map(|cache| cache.account(domain)).sum();
        u64::try_from(least + accounts).unwrap_or(0)
    }

    /// Free frames of a domain: exact below `mark`, else a number of at least `mark`.
    fn free_near(&self, local: &Local<'m>, domain: DomainId, mark: u64) -> u64 {
        let least = self.domains.get(domain).map_or(0, Domain::least) + local.cache.account(domain);
        match u64::try_from(least) {
            Ok(least) if least >= mark => least,
            _ => self.free_in(domain),
        }
    }

    /// Number of frames of a domain that a caller with this urgency may take. Exact below `wanted`.
    pub(crate) fn allowance(&self, local: &Local<'m>, domain: DomainId, urgency: Urgency, wanted: u64) -> u64 {
        let min = self.domains.marks(domain).min;
        if min == 0 || urgency == Urgency::Reserve {
            return u64::MAX;
        }
        self.free_near(local, domain, min.saturating_add(wanted)).saturating_sub(min)
    }

    /// Number of frames that a refill for a caller with this urgency may park. An urgent caller
    /// below the min watermark gets only the one frame that it asks for: the next caller, who finds
    /// the rest of a refill in the cache, may not be urgent.
    pub(crate) fn refill_most(&self, local: &Local<'m>, domain: DomainId, urgency: Urgency) -> u32 {
        let most = self.allowance(local, domain, Urgency::Normal, MAGAZINE as u64).min(MAGAZINE as u64) as u32;
        if urgency == Urgency::Reserve { most.max(1) } else { most }
    }

    /// Changes a domain's watermarks. Returns false if there is no such domain.
    pub(crate) fn set_marks(&self, local: &Local<'m>, domain: DomainId, marks: Watermarks) -> bool {
        let Some(state) = self.domains.get(domain) else { return false };
        state.set_marks(marks);
        self.watch(local, domain);
        true
    }

    /// Notes a domain that falls below its low watermark, or further below it, or reaches it again.
    fn watch(&self, local: &Local<'m>, domain: DomainId) {
        let low = self.domains.marks(domain).low;
        let Some(state) = self.domains.get(domain) else { return };
        let below_low = (low > 0).then(|| self.free_near(local, domain, low)).filter(|free| *free < low);
        let crossed = match state.crossing(below_low) {
            Some(Crossing::Fallen) => &local.fallen,
            Some(Crossing::Recovered) => &local.recovered,
            None => return,
        };
        crossed.set(crossed.get() | 1 << domain.0);
    }
}
