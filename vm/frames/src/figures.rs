//! Figures: free frames, a census of all frames by state, and the CPUs' counts.

use crate::cache::Cache;
use crate::counters::{Counters, Event};
use crate::frame::{Block, FRAMES_PER_BLOCK};
use crate::frames::Frames;
use crate::range_layer::RangeLayer;
use crate::state::{Lanes, Word};
use core::fmt::{self, Display};
use faultline_numbers::{CpuNumber, DomainId};

impl<'m, C> Frames<'m, C> {
    /// Frames that no user holds, including those in caches. Exact while no call is under way.
    pub fn free(&self) -> u64 {
        let range_layer: u64 = self.layers.domains.ids().map(|domain| self.layers.free_in(domain)).sum();
        range_layer + self.counters().held + self.layers.zeroed.held()
    }

    /// Free frames of a domain in the range layer, without those in caches. Exact while no call is
    /// under way.
    pub fn free_in(&self, domain: DomainId) -> u64 {
        self.layers.free_in(domain)
    }

    /// Counts all frames by state, word by word. Exact while no call is under way.
    pub fn census(&self) -> Census {
        self.layers.range.census()
    }

    /// The sum of all CPUs' counts.
    pub fn counters(&self) -> Counters {
        self.layers
            .caches
            .iter()
            .fold(Counters::NONE, |sum, cache| sum.plus(&Counters::of_cpu(&cache.counts, cache.held())))
    }

    /// Each CPU's counts, for printing as a table.
    pub fn table(&self) -> CounterTable<'m> {
        CounterTable { caches: self.layers.caches }
    }

    /// A CPU's counts.
    pub fn counters_of(&self, cpu: CpuNumber) -> Option<Counters> {
        self.layers.cache(cpu).map(|cache| Counters::of_cpu(&cache.counts, cache.held()))
    }
}

/// Frames by state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Census {
    /// In the range layer.
    pub free: u64,
    /// In caches, and zeroed frames in their slots.
    pub parked: u64,
    /// Taken by users, singly or in ranges.
    pub taken: u64,
    /// Taken by users, as huge frames.
    pub huge: u64,
    /// In holes, and offline.
    pub absent: u64,
    /// Blocks whose frames are all free: huge frames that could be allocated. A number of blocks,
    /// not frames; their frames also count as `free`.
    pub whole_blocks: u64,
}

impl RangeLayer<'_> {
    pub(crate) fn census(&self) -> Census {
        let mut census = Census::default();
        for (block, word) in (0..).map(Block).zip(self.blocks) {
            let state = word.load();
            let count = |lanes: fn(Word) -> Lanes| -> u64 {
                self.words(block).iter().map(|word| u64::from(lanes(word.load()).count_ones())).sum()
            };
            let all = u64::from(FRAMES_PER_BLOCK);
            if state.is_huge() {
                census.huge += all;
            } else if state.is_split() {
                census.taken += all;
            } else if state.is_whole() {
                census.free += all;
                census.whole_blocks += 1;
            } else if state.is_offline() || !state.is_opened() {
                census.absent += all;
            } else {
                let free = count(Word::free);
                census.free += free;
                census.whole_blocks += u64::from(free == all);
                census.parked += count(Word::parked);
                census.taken += count(Word::taken);
                census.absent += count(Word::closed);
            }
        }
        census
    }
}

/// A table of all CPUs' counts and cache fill, one line per CPU.
#[derive(Debug, Clone, Copy)]
pub struct CounterTable<'m> {
    pub(crate) caches: &'m [Cache],
}

/// Columns: heading, and the events that are summed.
const COLUMNS: [(&str, &[Event]); 10] = [
    ("hits", &[Event::GetHit]),
    ("misses", &[Event::GetMiss]),
    ("puts", &[Event::PutHit]),
    ("overflows", &[Event::PutMiss]),
    ("foreign", &[Event::ForeignPut]),
    ("batch", &[Event::BatchPut]),
    ("refills", &[Event::Refill]),
    ("drained", &[Event::DrainedFrame]),
    ("remote", &[Event::RemoteFrame]),
    ("errors", &[Event::Refused, Event::Exhausted]),
];

impl Display for CounterTable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>5} {:>6} {:>6}", "cpu", "domain", "held")?;
        for (heading, _) in COLUMNS {
            write!(f, " {heading:>12}")?;
        }
        for (cpu, cache) in self.caches.iter().enumerate() {
            let counters = Counters::of_cpu(&cache.counts, cache.held());
            write!(f, "\n{cpu:>5} {:>6} {:>6}", cache.domain.0, counters.held)?;
            for (_, events) in COLUMNS {
                write!(f, " {:>12}", events.iter().map(|event| counters.of(*event)).sum::<u64>())?;
            }
        }
        writeln!(f)
    }
}
