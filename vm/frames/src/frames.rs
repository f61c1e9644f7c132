//! The allocator's handle: its construction, and how a call is pinned to its CPU and repeats its
//! steps. The calls themselves are beside their steps (`single`, `runs`, `huge`, `contiguous`,
//! `zeroed`, `drain`, `figures`).

use crate::config::Config;
use crate::counters::Event;
use crate::cpu::{CurrentCpu, PinnedCpu};
use crate::error::{ConfigError, GetError};
use crate::frame::Offset;
use crate::layers::LowMemory;
use crate::layers::{Layers, Local};
use crate::metadata;
use crate::search::{Pause, Step};
use core::alloc::Layout;
use core::cell::Cell;
use core::mem::MaybeUninit;
use faultline_numbers::{DomainId, FrameNumber};

/// All page frames of a machine.
///
/// All CPUs share it, and any CPU may call it at any time. `'m` is the lifetime of the metadata's
/// memory.
pub struct Frames<'m, C> {
    pub(crate) layers: Layers<'m>,
    hook: Option<&'m dyn LowMemory>,
    pub(crate) cpu: C,
}

impl<C> core::fmt::Debug for Frames<'_, C> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Frames").field("spans", &self.layers.range.spans).finish_non_exhaustive()
    }
}

impl Frames<'static, ()> {
    /// Memory required for the metadata: 0.0063 % of the memory, including holes of up to 32 GiB,
    /// and 1.3 KiB per CPU. Fails if the configuration is invalid.
    pub fn layout(config: &Config<'_>) -> Result<Layout, ConfigError> {
        metadata::layout(config)
    }
}

impl<'m, C> Frames<'m, C> {
    /// An allocator with all memory of the configuration free. `metadata` should have the layout
    /// that [`Frames::layout`] returns; with any alignment, 127 bytes more are enough. It must not
    /// be part of the configured memory: leave it out of the areas. Fails if the configuration is
    /// invalid or `metadata` is too small.
    pub fn new(config: &Config<'_>, metadata: &'m mut [MaybeUninit<u8>], cpu: C) -> Result<Self, ConfigError> {
        Ok(Self { layers: metadata::build(config, metadata)?, hook: None, cpu })
    }

    /// Sets a hook for the page daemon. Handles that [`on`](Self::on) made before do not have it.
    pub fn with_hook(self, hook: &'m dyn LowMemory) -> Self {
        Self { hook: Some(hook), ..self }
    }

    /// A handle for the same frames with another source of the CPU number. A handle without a CPU,
    /// `on(())`, can be shared between threads that then make a handle each.
    pub fn on<D>(&self, cpu: D) -> Frames<'m, D> {
        Frames { layers: self.layers, hook: self.hook, cpu }
    }

    /// A frame's index, for embedders that keep a record for each frame. None outside memory.
    /// Within a span, consecutive frames have consecutive indices, and frames in holes have an
    /// index, too. A hole of more than 32 GiB between two spans takes 512 indices.
    pub fn index_of(&self, frame: FrameNumber) -> Option<u32> {
        self.layers.range.offset(frame)
    }

    /// The frame with this index.
    pub fn frame_at(&self, index: u32) -> Option<FrameNumber> {
        self.layers.range.spans.number(index)
    }

    /// One more than the largest index.
    pub fn index_count(&self) -> u32 {
        self.layers.range.spans.offsets()
    }

    /// All other domains, the nearest first: the order in which a CPU of `domain` searches for
    /// frames.
    pub fn nearest(&self, domain: DomainId) -> impl Iterator<Item = DomainId> + use<'m, C> {
        self.layers.domains.others(domain)
    }
}

impl<'m, C: CurrentCpu> Frames<'m, C> {
    /// Calls `run` with the caller pinned to its CPU. Afterwards calls the hook if a domain crossed
    /// its low watermark.
    pub(crate) fn held<R>(&self, run: impl FnOnce(&Layers<'m>, &Local<'m>) -> R) -> Option<R> {
        self.held_by(self.cpu.pin(), run)
    }

    /// As `held`, for tests of the layers below.
    #[cfg(all(test, not(shuttle)))]
    pub(crate) fn inside<R>(&self, run: impl FnOnce(&Layers<'m>, &Local<'m>) -> R) -> R {
        self.held(run).expect("a CPU of the configuration")
    }

    /// As `held`, for a caller that is already pinned.
    #[inline]
    pub(crate) fn held_by<R>(&self, pinned: C::Pinned, run: impl FnOnce(&Layers<'m>, &Local<'m>) -> R) -> Option<R> {
        let number = pinned.number();
        let local = Local { number, cache: self.layers.cache(number)?, fallen: Cell::new(0), recovered: Cell::new(0) };
        let result = run(&self.layers, &local);
        drop(pinned);
        if local.fallen.get() | local.recovered.get() != 0 {
            self.call_hook(local.fallen.get(), local.recovered.get());
        }
        Some(result)
    }

    /// Calls the hook. Domains are one bit each.
    #[cold]
    fn call_hook(&self, fallen: u32, recovered: u32) {
        let Some(hook) = self.hook else { return };
        for domain in self.layers.domains.ids() {
            let is_in = |domains: u32| domains >> domain.0 & 1 != 0;
            if is_in(fallen) {
                hook.low(domain, self.layers.free_in(domain));
            }
            if is_in(recovered) {
                hook.enough(domain, self.layers.free_in(domain));
            }
        }
    }

    /// The number of a frame that a step has found.
    #[inline(always)]
    pub(crate) fn number(&self, offset: Offset) -> FrameNumber {
        self.layers.range.number(offset)
    }

    /// Repeats a step until it finds a frame or ends, pinned for each step. Between two steps the
    /// caller's CPU may do something else.
    pub(crate) fn by_steps(
        &self,
        mut step: impl FnMut(&Layers<'m>, &Local<'m>) -> Step<Offset>,
    ) -> Result<Option<FrameNumber>, GetError> {
        loop {
            match self.held(&mut step).ok_or(GetError::NoSuchCpu)? {
                Ok(offset) => return Ok(Some(self.number(offset))),
                Err(Pause::More) => {}
                Err(Pause::End) => return Ok(None),
            }
        }
    }

    pub(crate) fn count_exhausted(&self) {
        self.held(|_, local| local.count(Event::Exhausted, 1));
    }
}
