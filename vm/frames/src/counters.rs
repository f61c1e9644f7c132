//! Per-CPU event counters, on lines that only this CPU writes. The reader adds them up.
//!
//! A count is a plain load and store, because only its own CPU writes it. All orderings are
//! relaxed: no other data depends on the counts.

use core::fmt::{self, Display};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

macro_rules! events {
    ($($(#[doc = $doc:literal])* $name:ident => $words:literal,)+) => {
        /// A kind of event that CPUs count.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Event { $(#[doc = concat!("Number of ", $words, ".")] $(#[doc = $doc])* $name,)+ }

        impl Event {
            /// All events, in the order of output.
            pub const ALL: [Self; [$($words),+].len()] = [$(Self::$name),+];

            /// Description for output.
            pub const fn words(self) -> &'static str {
                match self { $(Self::$name => $words,)+ }
            }
        }
    };
}

events! {
    GetHit => "gets from the cache",
    /// Includes gets that failed.
    GetMiss => "gets with an empty magazine",
    PutHit => "puts into the cache",
    /// Frames of the CPU's own blocks, put straight into the range layer.
    PutMiss => "puts with a full cache",
    /// Put straight into the range layer.
    ForeignPut => "puts of foreign frames (other CPUs' blocks)",
    /// Put straight into the range layer.
    BatchPut => "frames put in batches",
    Stocked => "magazines moved into the stock",
    Restocked => "magazines moved out of the stock",
    Refill => "refills from the range layer",
    LocalFrame => "frames refilled from the local domain",
    RemoteFrame => "frames refilled from other domains",
    Reservation => "blocks reserved",
    /// A CPU's account of free frames ran empty or grew too large, so it wrote a domain's count.
    Settled => "accounts of free frames settled",
    /// A last resort.
    Scan => "scans of all memory",
    Drain => "drains into the range layer",
    DrainedFrame => "frames drained",
    PlacedGet => "frames got from a named domain or below a limit",
    /// From a block that the CPU has reserved for runs.
    RunGet => "runs got",
    HugeGet => "huge frames got",
    HugePut => "huge frames put",
    RangeGet => "frames got in ranges",
    RangePut => "frames put in ranges",
    ZeroedHit => "gets of already zeroed frames",
    ZeroedMiss => "gets of frames that had to be zeroed",
    /// Gets of any kind.
    Exhausted => "gets that found nothing",
    /// Put twice, not allocated, in the wrong size, out of range.
    Refused => "frames refused",
}

const EVENTS: usize = Event::ALL.len();

/// A CPU's counts, written only by that CPU.
#[derive(Debug)]
pub(crate) struct CpuCounts([AtomicU64; EVENTS]);

impl CpuCounts {
    pub(crate) fn new() -> Self {
        Self([const { AtomicU64::new(0) }; EVENTS])
    }

    #[inline(always)]
    pub(crate) fn add(&self, event: Event, count: u64) {
        if let Some(sum) = self.0.get(event as usize) {
            sum.store(sum.load(Relaxed).wrapping_add(count), Relaxed);
        }
    }

    fn read(&self) -> [u64; EVENTS] {
        core::array::from_fn(|index| self.0.get(index).map_or(0, |sum| sum.load(Relaxed)))
    }
}

/// Counts since the start, of one CPU or of all. Printed with one count per line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counters {
    counts: [u64; EVENTS],
    /// Frames in caches now: magazines and stock.
    pub held: u64,
}

impl Counters {
    pub(crate) const NONE: Self = Self { counts: [0; EVENTS], held: 0 };

    pub(crate) fn of_cpu(counts: &CpuCounts, held: u64) -> Self {
        Self { counts: counts.read(), held }
    }

    pub(crate) fn plus(mut self, other: &Self) -> Self {
        for (sum, count) in self.counts.iter_mut().zip(other.counts) {
            *sum = sum.wrapping_add(count);
        }
        self.held += other.held;
        self
    }

    /// Number of events of this kind.
    pub fn of(&self, event: Event) -> u64 {
        self.counts.get(event as usize).copied().unwrap_or(0)
    }
}

impl Display for Counters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for event in Event::ALL {
            writeln!(f, "{:>12} {}", self.of(event), event.words())?;
        }
        writeln!(f, "{:>12} frames in caches", self.held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::string::ToString;

    #[test]
    fn each_count_has_a_line_of_its_own() {
        let counts = CpuCounts::new();
        Event::ALL.iter().zip(1..).for_each(|(event, count)| counts.add(*event, count));
        let sum = Counters::of_cpu(&counts, 7).plus(&Counters::of_cpu(&counts, 8));
        let text = sum.to_string();
        assert!(text.starts_with("           2 gets from the cache\n           4 gets with"));
        assert!(text.ends_with("          15 frames in caches\n"));
        assert_eq!(text.lines().collect::<BTreeSet<_>>().len(), EVENTS + 1);
    }
}
