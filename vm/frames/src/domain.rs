//! Domains: the extent of their memory, each CPU's share of it, and the number of free frames.

use crate::config::{Config, MOST_DOMAINS, Watermarks};
use core::num::NonZeroU64;
use core::ops::Range;
use core::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use faultline_numbers::DomainId;

/// Maximum number of frames on a CPU's account: two huge frames, so that a get and a put of one
/// write no shared line.
const ACCOUNT_MOST: i64 = 1024;
/// The maximum where watermarks are low: two refills.
const ACCOUNT_LEAST: i64 = 64;

/// The hook is called again each time the free frames have fallen by this part of the low
/// watermark.
const LOW_STEPS: u64 = 8;
/// Not a number of frames: the domain is not below its low watermark.
const ENOUGH: u64 = u64::MAX;

/// Alignment of large shares, in blocks, so that the words of two CPUs' blocks are on different
/// lines: index words for the largest shares (512 bits on a line), block words for others (32 on a
/// pair of lines). Powers of two.
const UNITS: [u32; 2] = [512, 32];
/// Minimum number of units in an aligned share: in smaller ones alignment would make the CPUs'
/// shares too unequal.
const UNITS_WORTH_ALIGNING: u32 = 2;

/// Range of blocks from a domain's lowest to its highest. Blocks of other domains may lie between;
/// the blocks' words say which.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) first: u32,
    pub(crate) end: u32,
}

impl Extent {
    pub(crate) const NOTHING: Self = Self { first: u32::MAX, end: 0 };

    pub(crate) fn add(&mut self, block: u32) {
        self.first = self.first.min(block);
        self.end = self.end.max(block + 1);
    }

    pub(crate) fn blocks(self) -> Range<u32> {
        self.first.min(self.end)..self.end
    }

    /// The share of the CPU of rank `rank` among `count`.
    fn share(self, rank: u32, count: u32) -> Range<u32> {
        let blocks = self.blocks();
        let (length, count) = (u64::from(blocks.end - blocks.start), u64::from(count.max(1)));
        let is_worth = |unit: &u32| length / count >= u64::from(unit * UNITS_WORTH_ALIGNING);
        let unit = UNITS.into_iter().find(is_worth).unwrap_or(1);
        let at = |rank: u32| match u64::from(rank) {
            rank if rank < count => ((blocks.start + (length * rank / count) as u32) & !(unit - 1)).max(blocks.start),
            _ => blocks.end,
        };
        at(rank)..at(rank + 1)
    }
}

/// A CPU's share of its domain.
pub(crate) fn share_of(config: &Config<'_>, cpu: usize, domain: DomainId, extent: Extent) -> Range<u32> {
    let same = |cpus: &[DomainId]| cpus.iter().filter(|other| **other == domain).count() as u32;
    extent.share(same(config.cpus.get(..cpu).unwrap_or(&[])), same(config.cpus))
}

/// The other domains, the nearest first. Entries beyond the number of other domains are
/// meaningless.
#[derive(Debug)]
pub(crate) struct Fallback([DomainId; MOST_DOMAINS]);

impl Fallback {
    /// The order for domain `own` of the first `domains`.
    pub(crate) fn of(config: &Config<'_>, own: usize, domains: usize) -> Self {
        let row = config.distances.get(own * domains..).unwrap_or(&[]);
        let rank = |other: usize| {
            let behind = if other > own { other - own } else { other + domains - own };
            (row.get(other).copied().unwrap_or(0), behind, other)
        };
        let mut order = [DomainId(0); MOST_DOMAINS];
        let mut last = None;
        for place in &mut order {
            let others = (0..domains).filter(|other| *other != own).map(rank);
            let Some(next) = others.filter(|next| last.is_none_or(|last| *next > last)).min() else { break };
            *place = DomainId(next.2 as u8);
            last = Some(next);
        }
        Self(order)
    }
}

/// Fields: \[a] atomic; written by all CPUs, but seldom; \[m] on their own lines: immutable except
/// for the watermarks, which an embedder may change at run time.
#[derive(Debug)]
#[repr(C, align(128))]
pub(crate) struct Domain {
    /// \[a] Free frames of the range layer, without those on CPUs' accounts.
    free: AtomicI64,
    /// \[a] Free frames at the last call of the hook, or [`ENOUGH`] if they have reached the low
    /// watermark since.
    reported: AtomicU64,
    /// \[m]
    limits: Limits,
}

/// A change of a domain that the hook must learn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Crossing {
    /// Fell below its low watermark, or fell further.
    Fallen,
    /// Reached its low watermark again.
    Recovered,
}

/// The data of a domain that seldom or never changes, and that each refill reads.
#[derive(Debug)]
#[repr(align(128))]
struct Limits {
    low: AtomicU64,
    min: AtomicU64,
    /// Maximum number of frames on a CPU's account. All CPUs together hide at most a quarter of the
    /// low watermark.
    account_most: AtomicI64,
    extent: Extent,
    fallback: Fallback,
    /// Number of CPUs of all domains.
    cpus: NonZeroU64,
}

/// Maximum number of frames on each CPU's account for this low watermark.
fn account_most(low: u64, cpus: NonZeroU64) -> i64 {
    let quarter = i64::try_from(low / 4 / cpus).unwrap_or(i64::MAX);
    if low == 0 { ACCOUNT_MOST } else { quarter.clamp(ACCOUNT_LEAST, ACCOUNT_MOST) }
}

impl Domain {
    pub(crate) fn new(extent: Extent, free: u64, marks: Watermarks, fallback: Fallback, cpus: usize) -> Self {
        let cpus = NonZeroU64::new(cpus as u64).unwrap_or(NonZeroU64::MIN);
        let limits = Limits {
            low: AtomicU64::new(marks.low),
            min: AtomicU64::new(marks.min),
            account_most: AtomicI64::new(account_most(marks.low, cpus)),
            extent,
            fallback,
            cpus,
        };
        Self { free: AtomicI64::new(free as i64), reported: AtomicU64::new(ENOUGH), limits }
    }

    pub(crate) fn extent(&self) -> Extent {
        self.limits.extent
    }

    // Orderings of the watermarks: all relaxed. A caller that still sees an old one acts as if it
    // had come a moment earlier; no claim on a frame depends on them.
    pub(crate) fn marks(&self) -> Watermarks {
        Watermarks { low: self.limits.low.load(Relaxed), min: self.limits.min.load(Relaxed) }
    }

    pub(crate) fn set_marks(&self, marks: Watermarks) {
        self.limits.low.store(marks.low, Relaxed);
        self.limits.min.store(marks.min, Relaxed);
        self.limits.account_most.store(account_most(marks.low, self.limits.cpus), Relaxed);
    }

    #[inline(always)]
    pub(crate) fn account_most(&self) -> i64 {
        self.limits.account_most.load(Relaxed)
    }

    /// Free frames without those on account: a lower bound.
    pub(crate) fn least(&self) -> i64 {
        // Relaxed: a figure; no claim on a frame depends on it.
        self.free.load(Relaxed)
    }

    /// Records the number of free frames if it is below the low watermark, else none. Returns what
    /// the hook must learn.
    pub(crate) fn crossing(&self, below_low: Option<u64>) -> Option<Crossing> {
        // Relaxed: as in `least`. If two CPUs see the same crossing, only one of them changes the
        // number.
        let reported = self.reported.load(Relaxed);
        let step = (self.marks().low / LOW_STEPS).max(1);
        let (free, crossing) = match below_low {
            None => (ENOUGH, Some(Crossing::Recovered)),
            Some(free) if reported == ENOUGH || free.saturating_add(step) <= reported => (free, Some(Crossing::Fallen)),
            // Some memory came back: a later fall counts again.
            Some(free) if free >= reported.saturating_add(step) => (free, None),
            Some(_) => return None,
        };
        let is_ours = free != reported && self.reported.compare_exchange(reported, free, Relaxed, Relaxed).is_ok();
        crossing.filter(|_| is_ours)
    }

    /// Number of frames a CPU moves to its account beyond those that it needs now: fewer close to
    /// the low watermark, so that all CPUs together do not cross it that way.
    fn advance(&self) -> i64 {
        let room = u64::try_from(self.least()).unwrap_or(0).saturating_sub(self.marks().low);
        i64::try_from(room / self.limits.cpus / 2).unwrap_or(i64::MAX).min(self.account_most() / 2)
    }

    /// Moves frames to the account of a CPU that needs `needed` of them. Returns the rest, which
    /// stays on the account.
    pub(crate) fn withdraw(&self, needed: i64) -> i64 {
        let advance = self.advance();
        // Relaxed: as in `least`.
        self.free.fetch_sub(needed + advance, Relaxed);
        advance
    }

    /// Takes frames off a CPU's account that has become too large. Returns the number left on it.
    pub(crate) fn deposit(&self, account: i64) -> i64 {
        let kept = self.account_most() / 2;
        // Relaxed: as in `least`.
        self.free.fetch_add(account - kept, Relaxed);
        kept
    }
}

/// All domains.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Domains<'m>(pub(crate) &'m [Domain]);

impl<'m> Domains<'m> {
    #[inline(always)]
    pub(crate) fn get(&self, domain: DomainId) -> Option<&'m Domain> {
        self.0.get(usize::from(domain.0))
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = DomainId> + use<> {
        (0..self.0.len() as u8).map(DomainId)
    }

    /// All domains but `own`, the nearest first.
    pub(crate) fn others(&self, own: DomainId) -> impl Iterator<Item = DomainId> + use<'m> {
        let nearest = self.get(own).map_or(&[][..], |domain| &domain.limits.fallback.0[..]);
        nearest.iter().take(self.0.len().saturating_sub(1)).copied()
    }

    /// The blocks from a domain's lowest to its highest.
    pub(crate) fn extent(&self, domain: DomainId) -> Range<u32> {
        self.get(domain).map_or(0..0, |domain| domain.extent().blocks())
    }

    pub(crate) fn marks(&self, domain: DomainId) -> Watermarks {
        self.get(domain).map(Domain::marks).unwrap_or_default()
    }

    /// True if any domain has a min watermark.
    pub(crate) fn has_min(&self) -> bool {
        self.0.iter().any(|domain| domain.marks().min > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_cover_a_domain_once() {
        for (first, end, cpus) in [(0, 10, 3), (5, 6, 4), (100, 100_000, 7), (1, 9, 8)] {
            let extent = Extent { first, end };
            let mut next = first;
            for rank in 0..cpus {
                let share = extent.share(rank, cpus);
                assert_eq!(share.start, next);
                next = share.end;
            }
            assert_eq!(next, end);
        }
        assert_eq!(Extent { first: 512, end: 512 + 32768 }.share(3, 5), 39 * 512..52 * 512);
        assert_eq!(Extent { first: 0, end: 1000 }.share(1, 8), 96..224);
        assert_eq!(Extent { first: 0, end: 100 }.share(1, 4), 25..50);
        assert!(Extent::NOTHING.share(1, 2).is_empty());
    }

    #[test]
    fn each_further_eighth_is_reported() {
        let marks = Watermarks { low: 800, min: 0 };
        let domain = Domain::new(Extent::NOTHING, 0, marks, Fallback::of(&Config::new(&[], &[]), 0, 1), 1);
        let (fallen, recovered) = (Some(Crossing::Fallen), Some(Crossing::Recovered));
        let reported = |free: &[u64]| free.iter().map(|&free| domain.crossing((free < 800).then_some(free))).collect();
        let all: std::vec::Vec<_> = reported(&[800, 799, 700, 699, 600, 599, 899]);
        assert_eq!(all, [None, fallen, None, fallen, None, fallen, recovered]);
        let all: std::vec::Vec<_> = reported(&[0, 0, 99, 100, 50, 0, 900, 900]);
        assert_eq!(all, [fallen, None, None, None, None, fallen, recovered, None], "also after some came back");
    }

    #[test]
    fn the_nearest_domain_comes_first() {
        let order = |distances: &[u8], own| {
            Fallback::of(&Config::new(&[], &[]).with_distances(distances), own, 4).0.map(|domain| domain.0)
        };
        let distances = [10, 30, 20, 20, 30, 10, 20, 40, 20, 20, 10, 30, 255, 0, 30, 10];
        assert_eq!(order(&distances, 0)[..3], [2, 3, 1], "at equal distances by number");
        assert_eq!(order(&distances, 2)[..3], [0, 1, 3]);
        assert_eq!(order(&distances, 3)[..3], [1, 2, 0], "a row of its own: distances need not be symmetric");
        assert_eq!(order(&[], 2)[..3], [3, 0, 1], "without distances, those that follow come first");
        assert_eq!(order(&[0; 16], 3)[..3], [0, 1, 2]);
    }
}
