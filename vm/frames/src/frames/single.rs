//! Single frames: the hit paths, and the order in which a get that misses looks for a frame.

use super::Frames;
use crate::counters::Event;
use crate::cpu::{CurrentCpu, PinnedCpu};
use crate::error::{BatchError, GetError, PutError, Refused};
use crate::frame::Block;
use crate::pressure::Urgency;
use crate::scan::Scan;
use crate::search::{Search, Step};
use crate::single::BATCH;
use faultline_numbers::{DomainId, FrameNumber};

impl<'m, C: CurrentCpu> Frames<'m, C> {
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
        got.ok_or_else(|| search.error()).inspect_err(|_| self.count_exhausted())
    }

    /// Returns a frame of the current magazine.
    #[inline(always)]
    fn get_at_hand(&self, pinned: &C::Pinned) -> Option<FrameNumber> {
        let cache = self.layers.cache(pinned.number())?;
        let offset = cache.pop()?;
        // SAFETY: frames in a magazine are parked by its CPU, or by one that handed the magazine over.
        unsafe { self.layers.range.take_parked(offset) };
        cache.counts.add(Event::GetHit, 1);
        Some(self.number(offset))
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
            Step::Found(offset) => Some(self.number(offset)),
            Step::More => self.by_steps(|layers, local| layers.get(local, urgency, &mut search))?,
            Step::Nothing => None,
        };
        got.ok_or_else(|| search.error())
    }

    /// Drains caches, and after each step that freed something, tries again; then takes a free frame wherever it is.
    #[cold]
    fn get_from_anywhere(&self, urgency: Urgency) -> Result<FrameNumber, GetError> {
        let got = self.after_drains(|search| self.by_steps(|layers, local| layers.get(local, urgency, search)))?;
        if let Some(frame) = got {
            return Ok(frame);
        }
        let mut scan = Scan::default();
        let got = self.by_steps(|layers, local| layers.scan(local, urgency, &mut scan))?;
        got.ok_or_else(|| scan.error())
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
}
