//! Counters of each CPU, on lines that only this CPU writes. The reader adds them up.
//!
//! A count is a plain load and store, because only its own CPU writes it. All orderings are relaxed: no other data
//! depends on the counts.

use core::fmt::{self, Display};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

macro_rules! events {
    ($($(#[doc = $doc:literal])+ $name:ident => $words:literal,)+) => {
        /// Something that a CPU counts.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Event { $($(#[doc = $doc])+ $name,)+ }

        impl Event {
            /// All of them, in the order of output.
            pub const ALL: [Self; [$($words),+].len()] = [$(Self::$name),+];

            /// What the counter counts.
            pub const fn words(self) -> &'static str {
                match self { $(Self::$name => $words,)+ }
            }
        }
    };
}

events! {
    /// Frames got from the current magazine.
    GetHit => "gets from the cache",
    /// Gets that found the current magazine empty, including those that failed.
    GetMiss => "gets with an empty magazine",
    /// Frames put into the current magazine.
    PutHit => "puts into the cache",
    /// Frames of the CPU's own blocks put straight into the range layer, because the cache was full.
    PutMiss => "puts with a full cache",
    /// Frames of another CPU's blocks, put straight into the range layer.
    ForeignPut => "puts of foreign frames (other CPUs' blocks)",
    /// Frames put in batches, straight into the range layer.
    BatchPut => "frames put in batches",
    /// Magazines moved into the stock.
    Stocked => "magazines moved into the stock",
    /// Magazines moved out of the stock again.
    Restocked => "magazines moved out of the stock",
    /// Refills from the range layer.
    Refill => "refills from the range layer",
    /// Frames that refills brought from the CPU's own domain.
    LocalFrame => "frames refilled from the local domain",
    /// Frames that refills brought from other domains.
    RemoteFrame => "frames refilled from other domains",
    /// Blocks reserved to refill from.
    Reservation => "blocks reserved",
    /// Times that a CPU's account of free frames ran empty or grew too large, and the CPU wrote a domain's count.
    Settled => "accounts of free frames settled",
    /// Scans of all memory, as a last resort.
    Scan => "scans of all memory",
    /// Drains of caches into the range layer.
    Drain => "drains into the range layer",
    /// Frames that drains freed.
    DrainedFrame => "frames drained",
    /// Single frames got from a domain that the caller named, or below a limit.
    PlacedGet => "frames got from a named domain or below a limit",
    /// Runs got from a block that the CPU has reserved for runs.
    RunGet => "runs got",
    /// Huge frames got.
    HugeGet => "huge frames got",
    /// Huge frames put.
    HugePut => "huge frames put",
    /// Frames got in ranges.
    RangeGet => "frames got in ranges",
    /// Frames put in ranges.
    RangePut => "frames put in ranges",
    /// Frames got that were already zeroed.
    ZeroedHit => "gets of already zeroed frames",
    /// Frames that the caller had to zero itself.
    ZeroedMiss => "gets of frames that had to be zeroed",
    /// Gets of any kind that found nothing.
    Exhausted => "gets that found nothing",
    /// Frames refused: put twice, not allocated, in the wrong size, out of range.
    Refused => "frames refused",
}

const EVENTS: usize = Event::ALL.len();

/// A CPU's counts. Written by that CPU alone.
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
    /// Frames that are in caches now: magazines and stock.
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

    /// How often.
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
