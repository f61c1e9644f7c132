//! The allocator as callers see it. The hit paths are here; the rest is in the layers.

use crate::census::Census;
use crate::config::{Config, DomainId};
use crate::contiguous::Refused;
use crate::counter_table::CounterTable;
use crate::counters::{Counters, Event};
use crate::cpu::{CurrentCpu, PinnedCpu};
use crate::error::{BatchError, ConfigError, GetError, PutError};
use crate::frame::{FrameNumber, RangeRequest, ZeroedFrame};
use crate::metadata;
use crate::pool::{Local, Pool};
use crate::pressure::{LowMemory, Urgency};
use crate::range_layer::each_word;
use crate::state::{Offset, Word, lane_of};
use core::alloc::Layout;
use core::cell::Cell;
use core::mem::MaybeUninit;

/// Size of the groups of a batch within which frames of the same word are put together.
const BATCH: usize = 64;

/// All page frames of a machine.
///
/// All CPUs share it, and any CPU may call it at any time. `'m` is the lifetime of the metadata's memory.
pub struct Frames<'m, C> {
    pool: Pool<'m>,
    hook: Option<&'m dyn LowMemory>,
    cpu: C,
}

impl<C> core::fmt::Debug for Frames<'_, C> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Frames").field("base", &self.pool.base).field("span", &self.pool.span).finish_non_exhaustive()
    }
}

impl Frames<'static, ()> {
    /// Memory that the metadata needs: 0.0063 % of the memory between the lowest frame and the highest, and 1.3 KiB per
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
        Ok(Self { pool: metadata::build(config, metadata)?, hook: None, cpu })
    }

    /// Sets a hook for the page daemon. Handles that [`on`](Self::on) has made before do not have it.
    pub fn with_hook(self, hook: &'m dyn LowMemory) -> Self {
        Self { hook: Some(hook), ..self }
    }

    /// The same frames, for callers that determine their CPU in another way. A handle without a CPU, `on(())`, can be
    /// shared between threads that then make a handle each.
    pub fn on<D>(&self, cpu: D) -> Frames<'m, D> {
        Frames { pool: self.pool, hook: self.hook, cpu }
    }

    /// Frames that no user has, including those in caches. Exact while no call is under way.
    pub fn free(&self) -> u64 {
        let range_layer: u64 = self.pool.domain_ids().map(|domain| self.pool.free_in(domain)).sum();
        range_layer + self.counters().held + self.pool.zeroed_held()
    }

    /// Free frames of a domain in the range layer, without those in caches. Exact while no call is under way.
    pub fn free_in(&self, domain: DomainId) -> u64 {
        self.pool.free_in(domain)
    }

    /// All frames by state. Reads every word.
    pub fn census(&self) -> Census {
        self.pool.census()
    }

    /// The sum of all CPUs' counts.
    pub fn counters(&self) -> Counters {
        self.pool
            .caches
            .iter()
            .fold(Counters::NONE, |sum, cache| sum.plus(&Counters::of_cpu(&cache.counts, cache.held())))
    }

    /// Each CPU's counts, to be printed as a table.
    pub fn table(&self) -> CounterTable<'m> {
        CounterTable { caches: self.pool.caches }
    }

    /// A CPU's counts.
    pub fn counters_of(&self, cpu: u32) -> Option<Counters> {
        self.pool.caches.get(cpu as usize).map(|cache| Counters::of_cpu(&cache.counts, cache.held()))
    }
}

impl<'m, C: CurrentCpu> Frames<'m, C> {
    /// Runs with the caller pinned to its CPU. Afterwards calls the hook if a domain fell below its low watermark.
    fn held<R>(&self, run: impl FnOnce(&Pool<'m>, &Local<'m>) -> R) -> Option<R> {
        self.held_by(self.cpu.pin(), run)
    }

    /// As `held`, for tests of the layers below.
    #[cfg(test)]
    pub(crate) fn inside<R>(&self, run: impl FnOnce(&Pool<'m>, &Local<'m>) -> R) -> R {
        self.held(run).expect("a CPU of the configuration")
    }

    /// As `held`, for a caller that is already pinned.
    #[inline]
    fn held_by<R>(&self, pinned: C::Pinned, run: impl FnOnce(&Pool<'m>, &Local<'m>) -> R) -> Option<R> {
        let number = pinned.number();
        let local = Local { number, cache: self.pool.caches.get(number as usize)?, crossed: Cell::new(0) };
        let result = run(&self.pool, &local);
        drop(pinned);
        if local.crossed.get() != 0 {
            self.call_hook(local.crossed.get());
        }
        Some(result)
    }

    /// `crossed`: the domains to call it for, one bit each.
    #[cold]
    fn call_hook(&self, crossed: u32) {
        let Some(hook) = self.hook else { return };
        for domain in self.pool.domain_ids().filter(|domain| crossed >> domain.0 & 1 != 0) {
            hook.low(domain, self.pool.free_in(domain));
        }
    }

    /// Returns a frame: in most cases one that this CPU has put before, from its own cache. Fails if no frame is free,
    /// or if the free ones are reserved for urgent callers.
    #[inline]
    pub fn get(&self) -> Result<FrameNumber, GetError> {
        self.get_as(Urgency::Normal)
    }

    /// Returns a frame. With [`Urgency::Reserve`] it may go below the min watermark.
    #[inline]
    pub fn get_as(&self, urgency: Urgency) -> Result<FrameNumber, GetError> {
        let pinned = self.cpu.pin();
        if let Some(cache) = self.pool.caches.get(pinned.number() as usize)
            && let Some(offset) = cache.pop()
            && let Some(word) = self.pool.state_word(offset)
        {
            word.take_parked(lane_of(offset));
            cache.counts.add(Event::GetHit, 1);
            return Ok(self.pool.number(offset));
        }
        self.get_missed(pinned, urgency)
    }

    #[cold]
    fn get_missed(&self, pinned: C::Pinned, urgency: Urgency) -> Result<FrameNumber, GetError> {
        self.held_by(pinned, |pool, local| pool.get_missed(local, urgency)).unwrap_or(Err(GetError::NoSuchCpu))
    }

    /// Takes a frame back. On an error nothing has changed.
    #[inline]
    pub fn put(&self, frame: FrameNumber) -> Result<(), PutError> {
        let pinned = self.cpu.pin();
        let number = pinned.number();
        if let Some(cache) = self.pool.caches.get(number as usize)
            && cache.has_room()
            && let Some(offset) = self.pool.offset(frame)
            && let Some(block) = self.pool.block(offset)
            && let Some(word) = self.pool.state_word(offset)
            && block.glance().is_home_of(number)
            && word.park_taken(lane_of(offset)).is_ok()
        {
            cache.push(offset);
            cache.counts.add(Event::PutHit, 1);
            return Ok(());
        }
        self.put_missed(pinned, frame)
    }

    #[inline(never)]
    fn put_missed(&self, pinned: C::Pinned, frame: FrameNumber) -> Result<(), PutError> {
        self.held_by(pinned, |pool, local| {
            pool.put_missed(local, frame).inspect_err(|_| local.count(Event::Refused, 1))
        })
        .unwrap_or(Err(PutError::NoSuchCpu))
    }

    /// Takes frames back straight into the range layer, with one step for all frames of the same word. Sorted input is
    /// best. Meant for the memory of an exiting process. The error counts the frames that were refused; all others are
    /// taken back.
    pub fn put_batch(&self, frames: &[FrameNumber]) -> Result<(), BatchError> {
        let no_cpu = BatchError {
            refused: frames.len() as u64,
            frame: frames.first().copied().unwrap_or(FrameNumber(0)),
            error: PutError::NoSuchCpu,
        };
        self.held(|pool, local| pool.put_batch(local, frames)).unwrap_or(Err(no_cpu))
    }

    /// Returns a huge frame: [`HUGE_FRAMES`](crate::HUGE_FRAMES) frames from a multiple of that on, to be put as one.
    pub fn get_huge(&self) -> Result<FrameNumber, GetError> {
        self.held(|pool, local| Ok(pool.number(pool.get_huge(local, Urgency::Normal)?)))
            .unwrap_or(Err(GetError::NoSuchCpu))
    }

    /// Takes a huge frame back.
    pub fn put_huge(&self, frame: FrameNumber) -> Result<(), PutError> {
        self.held(|pool, local| pool.put_huge(local, frame).inspect_err(|_| local.count(Event::Refused, 1)))
            .unwrap_or(Err(PutError::NoSuchCpu))
    }

    /// Returns the first frame of a contiguous range. Its frames may be put one by one, in parts, or as a whole.
    pub fn get_range(&self, request: &RangeRequest) -> Result<FrameNumber, GetError> {
        self.held(|pool, local| Ok(pool.number(pool.get_range(local, request)?))).unwrap_or(Err(GetError::NoSuchCpu))
    }

    /// Takes a contiguous range back. The error counts the frames that were refused; all others are taken back.
    pub fn put_range(&self, first: FrameNumber, frames: u64) -> Result<(), BatchError> {
        self.held(|pool, local| pool.put_range(local, first, frames)).unwrap_or(Err(BatchError {
            refused: frames,
            frame: first,
            error: PutError::NoSuchCpu,
        }))
    }

    /// Returns a frame, already zeroed if the CPU's domain keeps one.
    pub fn get_zeroed(&self) -> Result<ZeroedFrame, GetError> {
        let kept = self.held(|pool, local| {
            let kept = pool.get_zeroed(local);
            local.count(if kept.is_some() { Event::ZeroedHit } else { Event::ZeroedMiss }, 1);
            kept.map(|offset| pool.number(offset))
        });
        match kept.ok_or(GetError::NoSuchCpu)? {
            Some(number) => Ok(ZeroedFrame { number, zeroed: true }),
            None => Ok(ZeroedFrame { number: self.get()?, zeroed: false }),
        }
    }

    /// Zeroes frames with `zero` until `most` more are kept for the CPU's domain, all slots are full, or no frame is
    /// available without a drain. Returns how many. For a background thread: the caller is not pinned to its CPU while
    /// it zeroes.
    pub fn fill_zeroed(&self, most: u64, mut zero: impl FnMut(FrameNumber)) -> u64 {
        let mut filled = 0;
        while filled < most {
            let Some(offset) = self.held(|pool, local| pool.get_to_zero(local)).flatten() else { break };
            zero(self.pool.number(offset));
            if self.held(|pool, local| pool.keep_zeroed(local, offset)) != Some(true) {
                // The frame is ours, so the put is not refused.
                let _ = self.put(self.pool.number(offset));
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
        self.held(|pool, local| pool.drain_all(local)).unwrap_or(0)
    }

    /// Empties everything that this CPU holds, including its reserved block: for a CPU that goes idle for long. Returns
    /// the number of frames freed.
    pub fn drain_own(&self) -> u64 {
        self.held(|pool, local| pool.drain_whole(local, local.cache)).unwrap_or(0)
    }

    /// Empties everything that another CPU holds. Returns the number of frames freed.
    ///
    /// # Safety
    /// That CPU is offline: it makes no calls until this returns, and its earlier writes are visible here.
    pub unsafe fn drain_offline(&self, cpu: u32) -> u64 {
        self.held(|pool, local| pool.caches.get(cpu as usize).map_or(0, |cache| pool.drain_whole(local, cache)))
            .unwrap_or(0)
    }

    /// Lowers the stock limit of CPUs that have not refilled since the last call. For the page daemon, about once per
    /// second. Returns the number of frames freed.
    pub fn age(&self) -> u64 {
        self.held(|pool, local| pool.age(local)).unwrap_or(0)
    }
}

impl<'m> Pool<'m> {
    /// The current magazine is empty: gets another one, and a frame from it.
    fn get_missed(&self, local: &Local<'m>, urgency: Urgency) -> Result<FrameNumber, GetError> {
        local.count(Event::GetMiss, 1);
        if local.cache.pop_from_stock() {
            local.count(Event::Restocked, 1);
        } else {
            self.refill(local, urgency).inspect_err(|_| local.count(Event::Exhausted, 1))?;
        }
        let offset = local.cache.pop().ok_or(GetError::Exhausted)?;
        self.state_word(offset).ok_or(GetError::Exhausted)?.take_parked(lane_of(offset));
        Ok(self.number(offset))
    }

    /// Handles a foreign frame, a full magazine, or an error.
    ///
    /// If there is no room for it, a frame of a block whose home is this CPU goes straight into the range layer, as a
    /// foreign frame does: one step now, where making room would cost one later. Whether this CPU is the home is tested
    /// last: if frames come back in random order, the CPU would mispredict that branch half the time.
    fn put_missed(&self, local: &Local<'m>, frame: FrameNumber) -> Result<(), PutError> {
        let offset = self.offset(frame).ok_or(PutError::OutOfRange)?;
        let is_home = self.block(offset).ok_or(PutError::OutOfRange)?.glance().is_home_of(local.number);
        let is_full = !local.cache.has_room();
        if is_full && local.cache.may_make_room() && is_home {
            self.make_room(local);
            return self.put_home(local, offset);
        }
        if !is_full && is_home {
            return self.put_home(local, offset);
        }
        self.put_free(local, offset)?;
        local.count(Event::PutMiss, u64::from(is_home));
        local.count(Event::ForeignPut, u64::from(!is_home));
        local.cache.note_overflow(is_home);
        Ok(())
    }

    /// Moves the current magazine, which is full, into the stock. If the stock has no place, moves the frames back to
    /// the range layer; as they lie close together, this takes a step or two for all of them.
    fn make_room(&self, local: &Local<'m>) {
        if local.cache.push_to_stock() {
            local.count(Event::Stocked, 1);
        } else {
            local.cache.note_overflow(true);
            self.drain_current(local, local.cache);
        }
    }

    /// Into the cache, which has room.
    fn put_home(&self, local: &Local<'m>, offset: Offset) -> Result<(), PutError> {
        let word = self.state_word(offset).ok_or(PutError::OutOfRange)?;
        word.park_taken(lane_of(offset)).map_err(|state| self.refusal(offset, state))?;
        local.cache.push(offset);
        local.count(Event::PutHit, 1);
        Ok(())
    }

    /// Into the range layer.
    #[inline]
    fn put_free(&self, local: &Local<'m>, offset: Offset) -> Result<(), PutError> {
        let word = self.state_word(offset).ok_or(PutError::OutOfRange)?;
        let lane = lane_of(offset);
        let (before, freed) = word.free_taken(lane);
        if freed == 0 {
            return Err(self.refusal(offset, before.state(lane)));
        }
        self.note_freed(local, offset, Word(before.0 ^ lane), 1);
        Ok(())
    }

    fn put_batch(&self, local: &Local<'m>, frames: &[FrameNumber]) -> Result<(), BatchError> {
        let mut refused = Refused::default();
        let mut done = 0;
        for chunk in frames.chunks(BATCH) {
            let mut offsets = [0; BATCH];
            let mut count = 0;
            for &frame in chunk {
                match (self.offset(frame), offsets.get_mut(count)) {
                    (Some(offset), Some(slot)) => {
                        *slot = offset;
                        count += 1;
                    }
                    _ => refused.add(1, frame, PutError::OutOfRange),
                }
            }
            each_word(offsets.get(..count).unwrap_or(&[]), |first, lanes| {
                done += self.free_lanes(local, first, lanes, &mut refused);
            });
        }
        local.count(Event::BatchPut, done);
        refused.result(local)
    }
}
