//! All CPUs' counts as a table.

use crate::cache::Cache;
use crate::counters::{Counters, Event};
use core::fmt::{self, Display};

/// All CPUs' counts, one line per CPU, and how full their caches are.
#[derive(Debug, Clone, Copy)]
pub struct CounterTable<'m> {
    pub(crate) caches: &'m [Cache],
}

/// Columns: heading, and the events whose sum it shows.
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
