//! Spans: stretches of frame numbers that contain all memory. A hole of more than [`MOST_HOLE`]
//! frames ends a span, so that it needs no metadata.
//!
//! Offsets count the frames of all spans, including holes within a span. Between two spans lies a
//! block that does not exist, so no range continues from one span into the next.

use crate::config::MemoryArea;
use crate::frame::{BLOCK_FRAMES, Block, Offset};
use faultline_numbers::FrameNumber;

/// Holes up to this many frames (32 GiB) are part of a span: their metadata takes 2 MiB, of which
/// set-up writes 64 KiB. Each further span costs some nanoseconds for each get and put of frames in
/// it.
#[cfg(not(all(test, any(loom, shuttle))))]
const MOST_HOLE: u64 = 1 << 23;
/// Small, so that interleavings with several spans can be explored.
#[cfg(all(test, any(loom, shuttle)))]
const MOST_HOLE: u64 = 4 * BLOCK_FRAMES;

/// A stretch of consecutive frame numbers with consecutive offsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    /// Number of its first frame, which begins a block.
    pub(crate) base: u64,
    /// Offset of its first frame.
    pub(crate) first: u64,
    /// Number of frames: whole blocks.
    pub(crate) frames: u64,
}

impl Span {
    /// One more than its highest frame number.
    pub(crate) fn end(self) -> u64 {
        self.base.saturating_add(self.frames)
    }

    #[inline(always)]
    fn offset(self, frame: FrameNumber) -> Option<Offset> {
        let distance = frame.0.wrapping_sub(self.base);
        (distance < self.frames).then(|| (self.first + distance) as Offset)
    }

    #[inline(always)]
    fn number(self, offset: Offset) -> Option<FrameNumber> {
        let distance = u64::from(offset).wrapping_sub(self.first);
        (distance < self.frames).then(|| FrameNumber(self.base + distance))
    }

    /// The number of the frame with this offset, or the end of the span if the offset lies behind
    /// it.
    pub(crate) fn number_until_end(self, offset: u64) -> u64 {
        self.base + offset.saturating_sub(self.first).min(self.frames)
    }
}

/// Iterates over the spans of memory areas, in ascending order.
#[derive(Debug, Clone)]
pub(crate) struct SpansOf<'a> {
    memory: &'a [MemoryArea],
    offline: &'a [MemoryArea],
    /// Spans below this number have been returned.
    from: u64,
    first: u64,
}

impl<'a> SpansOf<'a> {
    pub(crate) fn new(memory: &'a [MemoryArea], offline: &'a [MemoryArea]) -> Self {
        Self { memory, offline, from: 0, first: 0 }
    }

    /// The area with the lowest frames from a number on.
    fn next_area(&self, from: u64) -> Option<&'a MemoryArea> {
        self.memory.iter().chain(self.offline).filter(|area| area.first.0 >= from).min_by_key(|area| area.first)
    }
}

impl Iterator for SpansOf<'_> {
    type Item = Span;

    fn next(&mut self) -> Option<Span> {
        let lowest = self.next_area(self.from)?;
        let base = lowest.first.0 / BLOCK_FRAMES * BLOCK_FRAMES;
        let mut end = lowest.end();
        while let Some(area) = self.next_area(end).filter(|area| area.first.0 - end <= MOST_HOLE) {
            end = area.end();
        }
        let frames = (end - base).div_ceil(BLOCK_FRAMES).saturating_mul(BLOCK_FRAMES);
        let span = Span { base, first: self.first, frames };
        self.from = end;
        self.first = self.first.saturating_add(frames).saturating_add(BLOCK_FRAMES);
        Some(span)
    }
}

/// All spans. Most machines have one, so the lowest one is checked first, without a further access
/// to memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spans<'m> {
    pub(crate) lowest: Span,
    pub(crate) others: &'m [Span],
}

impl<'m> Spans<'m> {
    #[inline(always)]
    pub(crate) fn offset(&self, frame: FrameNumber) -> Option<Offset> {
        match self.lowest.offset(frame) {
            None if !self.others.is_empty() => self.offset_in_others(frame),
            found => found,
        }
    }

    #[cold]
    fn offset_in_others(&self, frame: FrameNumber) -> Option<Offset> {
        self.others.iter().find_map(|span| span.offset(frame))
    }

    #[inline(always)]
    pub(crate) fn number(&self, offset: Offset) -> Option<FrameNumber> {
        match self.lowest.number(offset) {
            None => self.number_in_others(offset),
            found => found,
        }
    }

    #[cold]
    fn number_in_others(&self, offset: Offset) -> Option<FrameNumber> {
        self.others.iter().find_map(|span| span.number(offset))
    }

    fn all(&self) -> impl Iterator<Item = Span> + use<'m> {
        core::iter::once(self.lowest).chain(self.others.iter().copied())
    }

    /// The span that contains a frame number, or else the next one.
    pub(crate) fn at_or_after(&self, number: u64) -> Option<Span> {
        self.all().find(|span| number < span.end())
    }

    /// One more than the highest frame number.
    pub(crate) fn end(&self) -> u64 {
        self.others.last().unwrap_or(&self.lowest).end()
    }

    /// One more than the largest offset.
    pub(crate) fn offsets(&self) -> Offset {
        let last = self.others.last().unwrap_or(&self.lowest);
        (last.first + last.frames) as Offset
    }

    /// Number of blocks, counted by offset, that lie wholly below a frame number.
    pub(crate) fn blocks_below(&self, number: u64) -> u32 {
        match self.all().take_while(|span| span.base < number).last() {
            Some(span) => Block::of((span.first + (number - span.base).min(span.frames)) as Offset).0,
            None => 0,
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use faultline_numbers::DomainId;
    use std::vec::Vec;

    #[test]
    fn far_memory_has_a_span_of_its_own() {
        let area = |first, frames| MemoryArea { first: FrameNumber(first), frames, domain: DomainId(0) };
        let far = 1 << 40;
        let memory = [area(far, 513), area(700, 100), area(900 + MOST_HOLE - 100, 5), area(1 << 51, 9)];
        let spans: Vec<Span> = SpansOf::new(&memory[..3], &memory[3..]).collect();
        let first = Span { base: 512, first: 0, frames: MOST_HOLE + 512 };
        let second = Span { base: far, first: first.frames + 512, frames: 1024 };
        let third = Span { base: 1 << 51, first: second.first + 1024 + 512, frames: 512 };
        assert_eq!(spans, [first, second, third]);
        let spans = Spans { lowest: spans[0], others: &spans[1..] };
        for (number, offset) in
            [(512, 0), (far, second.first), (far + 1023, second.first + 1023), (1 << 51, third.first)]
        {
            assert_eq!(spans.offset(FrameNumber(number)), Some(offset as Offset));
            assert_eq!(spans.number(offset as Offset), Some(FrameNumber(number)));
        }
        for number in [511, first.end(), far - 1, far + 1024, u64::MAX] {
            assert_eq!(spans.offset(FrameNumber(number)), None);
        }
        assert_eq!(spans.number(second.first as Offset - 1), None, "between two spans");
        assert_eq!(spans.at_or_after(far + 1024), Some(third));
        assert_eq!(
            [0, 1023, far - 1, far + 600, u64::MAX].map(|number| spans.blocks_below(number)),
            [0, 0, (first.frames / 512) as u32, (second.first / 512 + 1) as u32, (third.first / 512 + 1) as u32,]
        );
        assert_eq!((spans.end(), spans.offsets()), ((1 << 51) + 512, third.first as Offset + 512));
    }
}
