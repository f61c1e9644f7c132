//! Zeroed frames.

use super::Frames;
use crate::counters::Event;
use crate::cpu::CurrentCpu;
use crate::error::GetError;
use crate::frame::ZeroedFrame;
use crate::pressure::Urgency;
use faultline_numbers::FrameNumber;

impl<'m, C: CurrentCpu> Frames<'m, C> {
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
            zero(self.number(offset));
            if self.held(|layers, local| layers.keep_zeroed(local, offset)) != Some(true) {
                // The frame is ours, so the put is not refused.
                let _ = self.put(self.number(offset));
                break;
            }
            filled += 1;
        }
        filled
    }
}
