//! Figures: free frames, all frames by state, and what the CPUs have counted.

use super::Frames;
use crate::census::Census;
use crate::counter_table::CounterTable;
use crate::counters::Counters;
use faultline_numbers::{CpuNumber, DomainId};

impl<'m, C> Frames<'m, C> {
    /// Frames that no user has, including those in caches. Exact while no call is under way.
    pub fn free(&self) -> u64 {
        let range_layer: u64 = self.layers.domains.ids().map(|domain| self.layers.free_in(domain)).sum();
        range_layer + self.counters().held + self.layers.zeroed.held()
    }

    /// Free frames of a domain in the range layer, without those in caches. Exact while no call is under way.
    pub fn free_in(&self, domain: DomainId) -> u64 {
        self.layers.free_in(domain)
    }

    /// All frames by state. Reads every word.
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

    /// Each CPU's counts, to be printed as a table.
    pub fn table(&self) -> CounterTable<'m> {
        CounterTable { caches: self.layers.caches }
    }

    /// A CPU's counts.
    pub fn counters_of(&self, cpu: CpuNumber) -> Option<Counters> {
        self.layers.cache(cpu).map(|cache| Counters::of_cpu(&cache.counts, cache.held()))
    }
}
