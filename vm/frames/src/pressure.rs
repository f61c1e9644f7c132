//! Memory pressure: how many free frames each domain has, its watermarks, and the hook.
//!
//! A CPU reports its changes only once they exceed a tolerance (`SLOP`), so a domain's count is seldom written. Near a
//! watermark the sum over all CPUs is used instead: exact while no call is under way.

use crate::config::DomainId;
use crate::pool::{Local, Pool};
use core::sync::atomic::Ordering::Relaxed;

/// A CPU's changes of up to this many frames may be missing from a domain's count: 1 MiB, eight refills.
const SLOP: i32 = 256;

/// How far below the watermarks a caller may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Urgency {
    /// Down to the min watermark.
    #[default]
    Normal,
    /// To the last frame: for the page daemon, and what it needs to free memory.
    Reserve,
}

/// Called when a domain has fallen below its low watermark; called again only after the domain has reached the
/// watermark in between.
///
/// It runs at the end of the call that took the frames, on the same CPU, after the caller was unpinned. It may call the
/// allocator. Usually it wakes the page daemon.
pub trait LowMemory: Sync {
    /// `free`: free frames of the domain in the range layer, without those in caches.
    fn low(&self, domain: DomainId, free: u64);
}

// Orderings: all relaxed. The counts are figures only; no claim on a frame depends on them.
impl<'m> Pool<'m> {
    pub(crate) fn domain_ids(&self) -> impl Iterator<Item = DomainId> + use<> {
        (0..self.domains.len() as u8).map(DomainId)
    }

    /// The number of free frames of a domain in the range layer has changed.
    #[inline(always)]
    pub(crate) fn note_free(&self, local: &Local<'m>, domain: DomainId, change: i32) {
        if let Some(sum) = local.cache.add_unreported(domain, change, SLOP) {
            self.report(local, domain, sum);
        }
    }

    #[cold]
    fn report(&self, local: &Local<'m>, domain: DomainId, change: i32) {
        if let Some(count) = self.domains.get(usize::from(domain.0)) {
            count.free.fetch_add(i64::from(change), Relaxed);
            self.watch(local, domain);
        }
    }

    /// Free frames of a domain. Exact while no call is under way.
    pub(crate) fn free_in(&self, domain: DomainId) -> u64 {
        let reported = self.domains.get(usize::from(domain.0)).map_or(0, |domain| domain.free.load(Relaxed));
        let unreported: i64 = self.caches.iter().map(|cache| i64::from(cache.unreported(domain))).sum();
        u64::try_from(reported + unreported).unwrap_or(0)
    }

    /// Free frames of a domain; exact only if there may be fewer than `mark`.
    fn free_near(&self, domain: DomainId, mark: u64) -> u64 {
        let reported = self.domains.get(usize::from(domain.0)).map_or(0, |domain| domain.free.load(Relaxed));
        let unknown = self.caches.len() as i64 * i64::from(SLOP);
        match u64::try_from(reported - unknown) {
            Ok(least) if least > mark => least,
            _ => self.free_in(domain),
        }
    }

    /// How many frames of a domain a caller with this urgency may take, if it wants `wanted`. Exact if the answer may
    /// be smaller.
    pub(crate) fn allowance(&self, domain: DomainId, urgency: Urgency, wanted: u64) -> u64 {
        let min = self.policy.min;
        if min == 0 || urgency == Urgency::Reserve {
            return u64::MAX;
        }
        self.free_near(domain, min.saturating_add(wanted)).saturating_sub(min)
    }

    /// Notes when a domain falls below its low watermark, and when it reaches it again.
    pub(crate) fn watch(&self, local: &Local<'m>, domain: DomainId) {
        let low = self.policy.low;
        let Some(state) = self.domains.get(usize::from(domain.0)).filter(|_| low > 0) else { return };
        let is_below = self.free_near(domain, low) < low;
        if is_below != state.below_low.load(Relaxed) && state.below_low.swap(is_below, Relaxed) != is_below && is_below
        {
            local.crossed.set(local.crossed.get() | 1 << domain.0);
        }
    }
}
