//! Zeroed frames: each domain keeps some, in slots that any CPU may fill or empty.

use crate::counters::Event;
use crate::cpu::CurrentCpu;
use crate::error::GetError;
use crate::frame::{Offset, ZeroedFrame};
use crate::frames::Frames;
use crate::layers::{Layers, Local, Urgency};
use crate::search::Search;
use crate::state::lane_of;
use faultline_numbers::FrameNumber;

impl<'m> Layers<'m> {
    /// Takes a zeroed frame of this CPU's domain.
    pub(crate) fn get_zeroed(&self, local: &Local<'m>) -> Option<Offset> {
        let offset = self.zeroed.take(local.cache.domain)?;
        // SAFETY: the CPU that kept the frame parked it, and handed it over.
        unsafe { self.range.take_parked(offset) };
        Some(offset)
    }

    /// Takes a frame to zero, if this CPU's domain has an empty slot. Never drains: a drain would
    /// empty other CPUs' caches, and free the frames that are already zeroed.
    pub(crate) fn get_to_zero(&self, local: &Local<'m>) -> Option<Offset> {
        if !self.zeroed.has_room(local.cache.domain) {
            return None;
        }
        local.count(if local.cache.length() > 0 { Event::GetHit } else { Event::GetMiss }, 1);
        self.get(local, Urgency::Normal, &mut Search::default()).ok()
    }

    /// Keeps a frame that its user has zeroed. Returns false if all slots are full; the frame then
    /// still belongs to the user.
    pub(crate) fn keep_zeroed(&self, local: &Local<'m>, offset: Offset) -> bool {
        let Some(word) = self.range.word(offset) else { return false };
        let lane = lane_of(offset);
        if word.park_taken(lane).is_err() {
            return false;
        }
        let kept = self.zeroed.keep(local.cache.domain, offset);
        if !kept {
            word.take_parked(lane);
        }
        kept
    }
}

impl<'m, C: CurrentCpu> Frames<'m, C> {
    /// Returns a frame, already zeroed if the CPU's domain keeps one.
    pub fn get_zeroed(&self) -> Result<ZeroedFrame, GetError> {
        self.get_zeroed_as(Urgency::Normal)
    }

    /// As [`get_zeroed`](Self::get_zeroed). With [`Urgency::Reserve`] it may go below the min
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

    /// Zeroes frames with `zero` until `most` more are kept for the CPU's domain, all slots are
    /// full, or no frame is available without a drain. Returns their number. For a background
    /// thread: the caller is not pinned to its CPU while it zeroes.
    pub fn fill_zeroed(&self, most: u64, mut zero: impl FnMut(FrameNumber)) -> u64 {
        let mut filled = 0;
        while filled < most {
            let Some(offset) = self.held(|layers, local| layers.get_to_zero(local)).flatten() else { break };
            zero(self.number(offset));
            if self.held(|layers, local| layers.keep_zeroed(local, offset)) != Some(true) {
                // The caller has the frame, so the put is not refused.
                let _ = self.put(self.number(offset));
                break;
            }
            filled += 1;
        }
        filled
    }
}
