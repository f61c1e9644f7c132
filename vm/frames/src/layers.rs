//! The layers together: a CPU's cache, the domains, the zeroed frames, and the range layer below; and the CPU that a call is
//! pinned to. What calls do with them is in `single`, `huge`, `contiguous`, `search`, `scan`, `drain` and `pressure`.

use crate::cache::Cache;
use crate::counters::Event;
use crate::domain::Domains;
use crate::range_layer::RangeLayer;
use crate::zeroed::Zeroed;
use core::cell::Cell;
use faultline_numbers::CpuNumber;

/// Only references, which never change. All mutable data lies on lines of the metadata.
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
    /// Domains that have fallen below their low watermark in this call, or further below it, one bit each.
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
