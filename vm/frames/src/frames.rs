//! The allocator as callers see it. The hit paths are here; the rest is in the layers.

use crate::census::Census;
use crate::config::{Config, MOST_STOCK};
use crate::contiguous::{PUT_STEP, RangeSearch};
use crate::counter_table::CounterTable;
use crate::counters::{Counters, Event};
use crate::cpu::{CurrentCpu, PinnedCpu};
use crate::drain::{CPUS_PER_STEP, Drain};
use crate::error::{BatchError, ConfigError, GetError, PutError, Refused};
use crate::frame::{BLOCK_FRAMES, Block, RangeRequest, ZeroedFrame};
use crate::layers::{Layers, Local};
use crate::metadata;
use crate::pressure::{LowMemory, Urgency};
use crate::runs::MOST_ORDER;
use crate::scan::Scan;
use crate::search::{Search, Step};
use crate::single::BATCH;
use core::alloc::Layout;
use core::cell::Cell;
use core::mem::MaybeUninit;
use faultline_numbers::{CpuNumber, DomainId, FrameNumber, HugeFrame, Order};

/// All page frames of a machine.
///
/// All CPUs share it, and any CPU may call it at any time. `'m` is the lifetime of the metadata's memory.
pub struct Frames<'m, C> {
    layers: Layers<'m>,
    hook: Option<&'m dyn LowMemory>,
    cpu: C,
}

impl<C> core::fmt::Debug for Frames<'_, C> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Frames").field("spans", &self.layers.range.spans).finish_non_exhaustive()
    }
}

impl Frames<'static, ()> {
    /// Memory that the metadata needs: 0.0063 % of the memory with its holes of up to 32 GiB, and 1.3 KiB per
    /// CPU. Fails if the configuration is invalid.
    pub fn layout(config: &Config<'_>) -> Result<Layout, ConfigError> {
        metadata::layout(config)
    }
}

impl<'m, C> Frames<'m, C> {
    /// All memory of the configuration, free. `metadata` should have the layout that [`Frames::layout`] returns; with
    /// any alignment, 127 bytes more are enough. It must not be part of the configured memory: leave it out of the
    /// areas. Fails if the configuration is invalid or `metadata` is too small.
    pub fn new(config: &Config<'_>, metadata: &'m mut [MaybeUninit<u8>], cpu: C) -> Result<Self, ConfigError> {
        Ok(Self { layers: metadata::build(config, metadata)?, hook: None, cpu })
    }

    /// Sets a hook for the page daemon. Handles that [`on`](Self::on) has made before do not have it.
    pub fn with_hook(self, hook: &'m dyn LowMemory) -> Self {
        Self { hook: Some(hook), ..self }
    }

    /// The same frames, for callers that determine their CPU in another way. A handle without a CPU, `on(())`, can be
    /// shared between threads that then make a handle each.
    pub fn on<D>(&self, cpu: D) -> Frames<'m, D> {
        Frames { layers: self.layers, hook: self.hook, cpu }
    }

    /// A frame's index, for embedders that keep a record for each frame. None if the frame lies outside memory. Within a
    /// span, frames that follow each other have indices that do, and frames in holes have an index too. A hole of more than
    /// 32 GiB between two spans takes 512 indices.
    pub fn index_of(&self, frame: FrameNumber) -> Option<u32> {
        self.layers.range.offset(frame)
    }

    /// The frame of an index.
    pub fn frame_at(&self, index: u32) -> Option<FrameNumber> {
        self.layers.range.spans.number(index)
    }

    /// One more than the largest index.
    pub fn index_count(&self) -> u32 {
        self.layers.range.spans.offsets()
    }

    /// All domains but one, the nearest to it first: the order in which a CPU of that domain looks for frames.
    pub fn nearest(&self, domain: DomainId) -> impl Iterator<Item = DomainId> + use<'m, C> {
        self.layers.domains.others(domain)
    }

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

impl<'m, C: CurrentCpu> Frames<'m, C> {
    /// Runs with the caller pinned to its CPU. Afterwards calls the hook if a domain fell below its low watermark.
    fn held<R>(&self, run: impl FnOnce(&Layers<'m>, &Local<'m>) -> R) -> Option<R> {
        self.held_by(self.cpu.pin(), run)
    }

    /// As `held`, for tests of the layers below.
    #[cfg(all(test, not(shuttle)))]
    pub(crate) fn inside<R>(&self, run: impl FnOnce(&Layers<'m>, &Local<'m>) -> R) -> R {
        self.held(run).expect("a CPU of the configuration")
    }

    /// As `held`, for a caller that is already pinned.
    #[inline]
    fn held_by<R>(&self, pinned: C::Pinned, run: impl FnOnce(&Layers<'m>, &Local<'m>) -> R) -> Option<R> {
        let number = pinned.number();
        let local = Local { number, cache: self.layers.cache(number)?, fallen: Cell::new(0), recovered: Cell::new(0) };
        let result = run(&self.layers, &local);
        drop(pinned);
        if local.fallen.get() | local.recovered.get() != 0 {
            self.call_hook(local.fallen.get(), local.recovered.get());
        }
        Some(result)
    }

    /// The domains to call it for, one bit each.
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

    /// Repeats a step, each time pinned anew, until it ends. Between the steps the caller's CPU may do something else.
    fn by_steps<T>(&self, mut step: impl FnMut(&Layers<'m>, &Local<'m>) -> Step<T>) -> Result<Option<T>, GetError> {
        loop {
            match self.held(&mut step).ok_or(GetError::NoSuchCpu)? {
                Step::Found(found) => return Ok(Some(found)),
                Step::More => {}
                Step::Nothing => return Ok(None),
            }
        }
    }

    /// Returns a frame: in most cases one that this CPU has put before, from its own cache. Fails if no frame is free,
    /// or if the free ones are reserved for urgent callers. If the index has none, drains other CPUs' caches and scans
    /// memory, in steps.
    #[inline]
    pub fn get(&self) -> Result<FrameNumber, GetError> {
        self.get_as(Urgency::Normal)
    }

    /// Returns a frame. With [`Urgency::Reserve`] it may go below the min watermark.
    #[inline]
    pub fn get_as(&self, urgency: Urgency) -> Result<FrameNumber, GetError> {
        let pinned = self.cpu.pin();
        match self.get_at_hand(&pinned) {
            Some(frame) => Ok(frame),
            None => self.get_missed(pinned, urgency),
        }
    }

    /// As [`get_as`](Self::get_as), but drains no cache and scans no memory: fails if neither this CPU's cache nor the
    /// index has a frame, and says whether a watermark is the reason.
    #[inline]
    pub fn try_get(&self, urgency: Urgency) -> Result<FrameNumber, GetError> {
        let pinned = self.cpu.pin();
        match self.get_at_hand(&pinned) {
            Some(frame) => Ok(frame),
            None => self.get_from_index(pinned, urgency).inspect_err(|_| self.count_exhausted()),
        }
    }

    /// Returns a frame of a domain, and of no other. Looks only at what is in the index, as [`try_get`](Self::try_get)
    /// does, and passes by the CPU's cache, so it costs some ten times as much as a get that hits. To fall back on other
    /// domains, call it for those of [`nearest`](Self::nearest).
    pub fn get_in(&self, domain: DomainId, urgency: Urgency) -> Result<FrameNumber, GetError> {
        self.get_placed(urgency, Search::only(domain))
    }

    /// Returns a frame below a limit, for devices with few address bits: from the nearest domain that has one. Looks only at
    /// what is in the index, and passes by the CPU's cache, as [`get_in`](Self::get_in) does. The limit counts in units of
    /// 2 MiB: of the unit that it lies in no frame is taken. It walks no memory, but other gets take low frames too; to keep
    /// some, make them a domain of their own with a min watermark.
    pub fn get_below(&self, limit: FrameNumber, urgency: Urgency) -> Result<FrameNumber, GetError> {
        self.get_placed(urgency, Search::below(self.layers.range.spans.blocks_below(limit.0)))
    }

    fn get_placed(&self, urgency: Urgency, mut search: Search) -> Result<FrameNumber, GetError> {
        let got = self.by_steps(|layers, local| layers.get_placed(local, urgency, &mut search))?;
        let got = got.map(|offset| self.layers.range.number(offset)).ok_or_else(|| search.error());
        got.inspect_err(|_| self.count_exhausted())
    }

    /// Returns a frame of the current magazine.
    #[inline(always)]
    fn get_at_hand(&self, pinned: &C::Pinned) -> Option<FrameNumber> {
        let cache = self.layers.cache(pinned.number())?;
        let offset = cache.pop()?;
        // SAFETY: frames in a magazine are parked by its CPU, or by one that handed the magazine over.
        unsafe { self.layers.range.take_parked(offset) };
        cache.counts.add(Event::GetHit, 1);
        Some(self.layers.range.number(offset))
    }

    #[cold]
    fn get_missed(&self, pinned: C::Pinned, urgency: Urgency) -> Result<FrameNumber, GetError> {
        match self.get_from_index(pinned, urgency) {
            Err(GetError::NotAtHand | GetError::AtMinimum) => {
                self.get_from_anywhere(urgency).inspect_err(|_| self.count_exhausted())
            }
            got => got,
        }
    }

    fn get_from_index(&self, pinned: C::Pinned, urgency: Urgency) -> Result<FrameNumber, GetError> {
        let mut search = Search::default();
        let first = self.held_by(pinned, |layers, local| {
            local.count(Event::GetMiss, 1);
            layers.get(local, urgency, &mut search)
        });
        let got = match first.ok_or(GetError::NoSuchCpu)? {
            Step::Found(offset) => Some(offset),
            Step::More => self.by_steps(|layers, local| layers.get(local, urgency, &mut search))?,
            Step::Nothing => None,
        };
        got.map(|offset| self.layers.range.number(offset)).ok_or_else(|| search.error())
    }

    fn count_exhausted(&self) {
        self.held(|_, local| local.count(Event::Exhausted, 1));
    }

    /// Drains caches, and after each step that freed something, tries again; then takes a free frame wherever it is.
    #[cold]
    fn get_from_anywhere(&self, urgency: Urgency) -> Result<FrameNumber, GetError> {
        let got = self.after_drains(|search| self.by_steps(|layers, local| layers.get(local, urgency, search)))?;
        if let Some(offset) = got {
            return Ok(self.layers.range.number(offset));
        }
        let mut scan = Scan::default();
        let got = self.by_steps(|layers, local| layers.scan(local, urgency, &mut scan))?;
        let error = if scan.is_kept { GetError::AtMinimum } else { GetError::Exhausted };
        got.map(|offset| self.layers.range.number(offset)).ok_or(error)
    }

    /// Drains caches in steps. After each that freed something, tries again.
    fn after_drains<T>(
        &self,
        mut again: impl FnMut(&mut Search) -> Result<Option<T>, GetError>,
    ) -> Result<Option<T>, GetError> {
        let mut drain = Drain::default();
        while let Some(freed) = self.held(|layers, local| layers.drain_step(local, &mut drain)).flatten() {
            if freed > 0
                && let Some(got) = again(&mut Search::default())?
            {
                return Ok(Some(got));
            }
        }
        Ok(None)
    }

    /// Takes a frame back. On an error nothing has changed.
    #[inline]
    pub fn put(&self, frame: FrameNumber) -> Result<(), PutError> {
        let pinned = self.cpu.pin();
        let number = pinned.number();
        if let Some(cache) = self.layers.cache(number)
            && cache.has_room()
            && let Some(offset) = self.layers.range.offset(frame)
            && let Some(block) = self.layers.range.block(Block::of(offset))
            && block.glance().is_home_of(number)
            // SAFETY: this CPU is the home of the frame's block.
            && unsafe { self.layers.range.park_taken(offset) }.is_ok()
        {
            cache.push(offset);
            cache.counts.add(Event::PutHit, 1);
            return Ok(());
        }
        self.put_missed(pinned, frame)
    }

    #[inline(never)]
    fn put_missed(&self, pinned: C::Pinned, frame: FrameNumber) -> Result<(), PutError> {
        self.held_by(pinned, |layers, local| layers.put(local, frame).inspect_err(|_| local.count(Event::Refused, 1)))
            .unwrap_or(Err(PutError::NoSuchCpu))
    }

    /// Gets frames until all of `frames` is filled or none is at hand, as [`try_get`](Self::try_get) does. Returns how
    /// many. Fails only if it got none.
    pub fn get_batch(&self, urgency: Urgency, frames: &mut [FrameNumber]) -> Result<usize, GetError> {
        for (got, frame) in frames.iter_mut().enumerate() {
            match self.try_get(urgency) {
                Ok(number) => *frame = number,
                Err(error) if got == 0 => return Err(error),
                Err(_) => return Ok(got),
            }
        }
        Ok(frames.len())
    }

    /// Takes frames back straight into the range layer, with one step for all frames of the same word. Sorted input is
    /// best. Meant for the memory of an exiting process. The error counts the frames that were refused; all others are
    /// taken back. The caller is pinned anew for each 64 frames.
    pub fn put_batch(&self, frames: &[FrameNumber]) -> Result<(), BatchError> {
        let mut refused = Refused::default();
        for batch in frames.chunks(BATCH) {
            let put = self.held(|layers, local| {
                let before = refused.count();
                layers.put_batch(local, batch, &mut refused);
                local.count(Event::Refused, refused.count() - before);
            });
            if put.is_none() {
                let first = batch.first().copied().unwrap_or(FrameNumber(0));
                refused.add(batch.len() as u64, first, PutError::NoSuchCpu);
            }
        }
        refused.result()
    }

    /// Returns a huge frame, to be put as one. If
    /// the index has none, drains caches and scans memory, in steps.
    pub fn get_huge(&self) -> Result<HugeFrame, GetError> {
        self.get_huge_as(Urgency::Normal)
    }

    /// Returns a huge frame. With [`Urgency::Reserve`] it may go below the min watermark.
    pub fn get_huge_as(&self, urgency: Urgency) -> Result<HugeFrame, GetError> {
        match self.huge_from_index(urgency) {
            Err(GetError::NotAtHand | GetError::AtMinimum) => {
                self.huge_from_anywhere(urgency).inspect_err(|_| self.count_exhausted())
            }
            got => got,
        }
    }

    /// As [`get_huge_as`](Self::get_huge_as), but drains no cache and scans no memory: fails if the index has no whole
    /// block, and says whether a watermark is the reason.
    pub fn try_get_huge(&self, urgency: Urgency) -> Result<HugeFrame, GetError> {
        self.huge_from_index(urgency).inspect_err(|_| self.count_exhausted())
    }

    fn huge_from_index(&self, urgency: Urgency) -> Result<HugeFrame, GetError> {
        let mut search = Search::default();
        let got = self.by_steps(|layers, local| layers.get_huge(local, urgency, &mut search))?;
        got.map(|offset| self.layers.range.number(offset).huge()).ok_or_else(|| search.error())
    }

    #[cold]
    fn huge_from_anywhere(&self, urgency: Urgency) -> Result<HugeFrame, GetError> {
        self.drain_own_magazine();
        let got = self.after_drains(|search| self.by_steps(|layers, local| layers.get_huge(local, urgency, search)))?;
        if let Some(offset) = got {
            return Ok(self.layers.range.number(offset).huge());
        }
        let mut scan = Scan::default();
        let got = self.by_steps(|layers, local| layers.scan_huge(local, urgency, &mut scan))?;
        let error = if scan.is_kept { GetError::AtMinimum } else { GetError::Exhausted };
        got.map(|offset| self.layers.range.number(offset).huge()).ok_or(error)
    }

    fn drain_own_magazine(&self) -> u64 {
        self.held(|layers, local| layers.drain_current(local, local.cache)).unwrap_or(0)
    }

    /// Takes a huge frame back.
    pub fn put_huge(&self, frame: HugeFrame) -> Result<(), PutError> {
        self.held(|layers, local| layers.put_huge(local, frame).inspect_err(|_| local.count(Event::Refused, 1)))
            .unwrap_or(Err(PutError::NoSuchCpu))
    }

    /// Takes a huge frame out of memory, for memory that is to be removed or has gone bad. Get it first: `get_range` with
    /// its place as bounds, then [`join_huge`](Self::join_huge). Its place in the metadata stays.
    pub fn put_offline(&self, frame: HugeFrame) -> Result<(), PutError> {
        self.layers.range.put_offline(frame)
    }

    /// Adds a huge frame to memory, free: one of [`Config::offline`](crate::Config::offline), or one that
    /// [`put_offline`](Self::put_offline) has taken out. Fails with [`PutError::Absent`] in a hole, and otherwise if the
    /// frame is there already.
    pub fn put_online(&self, frame: HugeFrame) -> Result<(), PutError> {
        self.held(|layers, local| layers.put_online(local, frame)).unwrap_or(Err(PutError::NoSuchCpu))
    }

    /// Turns a huge frame into 512 taken frames, to be put one by one, in batches or as a range.
    pub fn split_huge(&self, frame: HugeFrame) -> Result<(), PutError> {
        self.layers.range.split(frame)
    }

    /// Turns the 512 taken frames of a huge frame's place into that huge frame, to be put as one. Fails if one of them is not
    /// taken singly; then nothing has changed.
    pub fn join_huge(&self, frame: HugeFrame) -> Result<(), PutError> {
        self.layers.range.join(frame)
    }

    /// Returns the first frame of a run of 2ⁿ frames that begins at a multiple of its length, for n up to 8: mostly by one
    /// step on a block that the CPU has reserved for runs. Put its frames with [`put_range`](Self::put_range), one by one, or
    /// in parts. If the index has no block with such a run, drains caches and searches all memory, in steps. Longer ones are
    /// huge frames or ranges.
    pub fn get_run(&self, order: Order) -> Result<FrameNumber, GetError> {
        self.get_run_as(order, Urgency::Normal)
    }

    /// Returns a run. With [`Urgency::Reserve`] it may go below the min watermark.
    pub fn get_run_as(&self, order: Order, urgency: Urgency) -> Result<FrameNumber, GetError> {
        match self.run_from_index(order, urgency) {
            Err(GetError::NotAtHand | GetError::AtMinimum) => {
                let frames = order.frames().unwrap_or(u64::MAX);
                self.get_range_as(&RangeRequest { alignment: frames, ..RangeRequest::of(frames) }, urgency)
            }
            got => got,
        }
    }

    /// As [`get_run_as`](Self::get_run_as), but drains no cache and searches no memory: fails if no block of the index has a
    /// run, and says whether a watermark is the reason.
    pub fn try_get_run(&self, order: Order, urgency: Urgency) -> Result<FrameNumber, GetError> {
        self.run_from_index(order, urgency).inspect_err(|_| self.count_exhausted())
    }

    fn run_from_index(&self, order: Order, urgency: Urgency) -> Result<FrameNumber, GetError> {
        if order.0 > MOST_ORDER {
            return Err(GetError::BadRequest);
        }
        let mut search = Search::run(order.0);
        let got = self.by_steps(|layers, local| layers.get_run(local, urgency, order.0, &mut search))?;
        got.map(|offset| self.layers.range.number(offset)).ok_or_else(|| search.error())
    }

    /// Returns the first frame of a contiguous range. Its frames may be put one by one, in parts, or as a whole. Searches
    /// all memory between the bounds, in steps, then drains caches and searches again.
    pub fn get_range(&self, request: &RangeRequest) -> Result<FrameNumber, GetError> {
        self.get_range_as(request, Urgency::Normal)
    }

    /// Returns the first frame of a contiguous range. With [`Urgency::Reserve`] it may go below the min watermark.
    pub fn get_range_as(&self, request: &RangeRequest, urgency: Urgency) -> Result<FrameNumber, GetError> {
        let mut search = RangeSearch::new(request)?;
        if let Some(first) = self.range_by_steps(&mut search, urgency)? {
            return Ok(first);
        }
        self.drain();
        search = RangeSearch::new(request)?;
        let got = self.range_by_steps(&mut search, urgency)?.ok_or(search.error(GetError::Exhausted));
        got.inspect_err(|_| self.count_exhausted())
    }

    fn range_by_steps(&self, search: &mut RangeSearch, urgency: Urgency) -> Result<Option<FrameNumber>, GetError> {
        let got = self.by_steps(|layers, local| layers.get_range(local, urgency, search))?;
        Ok(got.map(|offset| self.layers.range.number(offset)))
    }

    /// As [`get_range_as`](Self::get_range_as), but drains nothing and makes only the first step of the search.
    pub fn try_get_range(&self, request: &RangeRequest, urgency: Urgency) -> Result<FrameNumber, GetError> {
        let mut search = RangeSearch::new(request)?;
        match self.continue_range(&mut search, urgency) {
            Ok(None) => Err(search.error(GetError::NotAtHand)),
            Ok(Some(first)) => Ok(first),
            Err(error) => Err(error),
        }
    }

    /// Makes one step of a search for a range: reads the words of 64 blocks, and those of one place that fits. Returns
    /// none if the search can be continued. Fails with [`GetError::NotAtHand`] or [`GetError::AtMinimum`] when it has
    /// searched everything; frames in caches may be what was missing.
    pub fn continue_range(&self, search: &mut RangeSearch, urgency: Urgency) -> Result<Option<FrameNumber>, GetError> {
        let step = self.held(|layers, local| layers.get_range(local, urgency, search));
        match step.ok_or(GetError::NoSuchCpu)? {
            Step::Found(offset) => Ok(Some(self.layers.range.number(offset))),
            Step::More => Ok(None),
            Step::Nothing => Err(search.error(GetError::NotAtHand)),
        }
    }

    /// Takes a contiguous range back. The error counts the frames that were refused; all others are taken back. The
    /// caller is pinned anew for each 64 blocks.
    pub fn put_range(&self, first: FrameNumber, frames: u64) -> Result<(), BatchError> {
        let mut refused = Refused::default();
        let (mut first, mut left) = (first, frames);
        while left > 0 {
            let step = left.min(self.put_step(first));
            let put = self.held(|layers, local| {
                let before = refused.count();
                layers.put_range(local, first, step, &mut refused);
                local.count(Event::Refused, refused.count() - before);
            });
            if put.is_none() {
                refused.add(step, first, PutError::NoSuchCpu);
            }
            (first, left) = (FrameNumber(first.0.saturating_add(step)), left - step);
        }
        refused.result()
    }

    /// How many frames from a number on are put in one step. What lies outside all spans is refused in one.
    fn put_step(&self, first: FrameNumber) -> u64 {
        match self.layers.range.spans.at_or_after(first.0) {
            None => u64::MAX,
            Some(span) if first.0 < span.base => span.base - first.0,
            Some(span) => (PUT_STEP - first.0 % BLOCK_FRAMES).min(span.end() - first.0),
        }
    }

    /// Returns a frame, already zeroed if the CPU's domain keeps one.
    pub fn get_zeroed(&self) -> Result<ZeroedFrame, GetError> {
        self.get_zeroed_as(Urgency::Normal)
    }

    /// Returns a frame, already zeroed if the CPU's domain keeps one. With [`Urgency::Reserve`] it may go below the min
    /// watermark.
    pub fn get_zeroed_as(&self, urgency: Urgency) -> Result<ZeroedFrame, GetError> {
        let kept = self.held(|layers, local| {
            let kept = layers.get_zeroed(local);
            local.count(if kept.is_some() { Event::ZeroedHit } else { Event::ZeroedMiss }, 1);
            kept.map(|offset| layers.range.number(offset))
        });
        match kept.ok_or(GetError::NoSuchCpu)? {
            Some(number) => Ok(ZeroedFrame { number, zeroed: true }),
            None => Ok(ZeroedFrame { number: self.get_as(urgency)?, zeroed: false }),
        }
    }

    /// Zeroes frames with `zero` until `most` more are kept for the CPU's domain, all slots are full, or no frame is
    /// available without a drain. Returns how many. For a background thread: the caller is not pinned to its CPU while
    /// it zeroes.
    pub fn fill_zeroed(&self, most: u64, mut zero: impl FnMut(FrameNumber)) -> u64 {
        let mut filled = 0;
        while filled < most {
            let Some(offset) = self.held(|layers, local| layers.get_to_zero(local)).flatten() else { break };
            zero(self.layers.range.number(offset));
            if self.held(|layers, local| layers.keep_zeroed(local, offset)) != Some(true) {
                // The frame is ours, so the put is not refused.
                let _ = self.put(self.layers.range.number(offset));
                break;
            }
            filled += 1;
        }
        filled
    }

    /// Empties all CPUs' stocks, this CPU's current magazine and the slots of zeroed frames into the range layer. Each
    /// other CPU keeps at most 32 frames, and 32 more if it is moving a magazine at that moment. Stops no CPU. Returns
    /// the number of frames freed.
    pub fn drain(&self) -> u64 {
        let (mut drain, mut freed) = (Drain::default(), 0);
        while let Some(more) = self.held(|layers, local| layers.drain_step(local, &mut drain)).flatten() {
            freed += more;
        }
        freed + self.drain_own_magazine()
    }

    /// Empties everything that this CPU holds, including its reserved block: for a CPU that goes idle for long. Returns
    /// the number of frames freed.
    pub fn drain_own(&self) -> u64 {
        self.held(|layers, local| layers.drain_whole(local, local.cache)).unwrap_or(0)
    }

    /// Empties everything that another CPU holds. Returns the number of frames freed.
    ///
    /// # Safety
    /// That CPU is offline: it makes no calls until this returns, and its earlier writes are visible here.
    pub unsafe fn drain_offline(&self, cpu: CpuNumber) -> u64 {
        self.held(|layers, local| layers.cache(cpu).map_or(0, |cache| layers.drain_whole(local, cache))).unwrap_or(0)
    }

    /// Sets the maximum number of magazines in a CPU's stock. If it has more, they remain until it ages or is drained. Fails
    /// with [`ConfigError::Stock`] above [`MOST_STOCK`](crate::MOST_STOCK), and with [`ConfigError::Cpus`] if there is no
    /// such CPU; then nothing has changed.
    pub fn set_stock_most(&self, cpu: CpuNumber, most: u8) -> Result<(), ConfigError> {
        if most > MOST_STOCK {
            return Err(ConfigError::Stock);
        }
        let cache = self.layers.cache(cpu).ok_or(ConfigError::Cpus)?;
        cache.set_stock_most(most);
        Ok(())
    }

    /// Lowers the stock limit of CPUs that have not refilled since the last call. For the page daemon, about once per
    /// second. Returns the number of frames freed.
    pub fn age(&self) -> u64 {
        let (mut first, mut freed) = (0, 0);
        while let Some(more) = self.held(|layers, local| layers.age_step(local, first)).flatten() {
            (first, freed) = (first + CPUS_PER_STEP, freed + more);
        }
        freed
    }
}
