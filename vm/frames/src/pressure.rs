//! Memory pressure: how many free frames each domain has, its watermarks, and the hook.
//!
//! Each CPU has some of a domain's free frames on account, which the domain's count does not contain. Frames that it
//! takes go off its account, and frames that it frees go onto it. Only if the account runs empty or grows too large, the
//! CPU writes the domain's count. So a CPU that takes and frees in turns writes no shared line, and the domain's count
//! plus its own account is a number of free frames that are surely there, without a look at the other CPUs' accounts. The
//! exact number, for which all accounts are read, is needed only if that is below a watermark.

use crate::config::Watermarks;
use crate::counters::Event;
use crate::domain::{Crossing, Domain};
use crate::layers::{Layers, Local};
use crate::range_layer::Freed;
use crate::stock::MAGAZINE;
use faultline_numbers::DomainId;

/// How far below the watermarks a caller may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Urgency {
    /// Down to the min watermark.
    #[default]
    Normal,
    /// To the last frame: for the page daemon, and what it needs to free memory.
    Reserve,
}

/// Called when a domain has fallen below its low watermark, each time that it has fallen by a further eighth of it, and when
/// it has reached it again.
///
/// It runs at the end of the call that took or freed the frames, on the same CPU, after the caller was unpinned. It may
/// call the allocator. Usually it wakes the page daemon, and those who wait for memory.
///
/// `free`: free frames of the domain in the range layer, without those in caches.
pub trait LowMemory: Sync {
    /// The domain has fallen below its low watermark, or further below it.
    fn low(&self, domain: DomainId, free: u64);

    /// The domain has reached its low watermark again. Does nothing unless it is implemented.
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

    /// The number of free frames of a domain in the range layer has changed.
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

    /// An account has run empty or become too large.
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

    /// Free frames of a domain: exact if there are fewer than `mark`, else a number of at least `mark`.
    fn free_near(&self, local: &Local<'m>, domain: DomainId, mark: u64) -> u64 {
        let least = self.domains.get(domain).map_or(0, Domain::least) + local.cache.account(domain);
        match u64::try_from(least) {
            Ok(least) if least >= mark => least,
            _ => self.free_in(domain),
        }
    }

    /// How many frames of a domain a caller with this urgency may take, if it wants `wanted`. Exact if the answer is
    /// smaller.
    pub(crate) fn allowance(&self, local: &Local<'m>, domain: DomainId, urgency: Urgency, wanted: u64) -> u64 {
        let min = self.domains.marks(domain).min;
        if min == 0 || urgency == Urgency::Reserve {
            return u64::MAX;
        }
        self.free_near(local, domain, min.saturating_add(wanted)).saturating_sub(min)
    }

    /// How many frames a refill for a caller with this urgency may park. An urgent caller below the min watermark gets
    /// only the one frame that it asks for: the caller after it, who finds what a refill leaves in the cache, may not be
    /// urgent.
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

    /// Notes when a domain falls below its low watermark, or further below it, and when it reaches it again.
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
