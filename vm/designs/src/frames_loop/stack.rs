//! A thread's own stack of frames, on separate lines: the small vectors of two threads might share a line.

use crate::Frame;

const LINE_FRAMES: usize = 32;

#[derive(Debug, Clone, Copy)]
#[repr(align(128))]
struct Line([Frame; LINE_FRAMES]);

/// A stack of frames.
#[derive(Debug)]
pub(super) struct Stack {
    lines: Vec<Line>,
    length: usize,
}

impl Stack {
    /// Empty, with room for `most` frames.
    pub(super) fn of(most: usize) -> Self {
        Stack { lines: vec![Line([Frame(0); LINE_FRAMES]); most.div_ceil(LINE_FRAMES)], length: 0 }
    }

    /// # Panics
    /// If there is no room.
    pub(super) fn push(&mut self, frame: Frame) {
        self.lines[self.length / LINE_FRAMES].0[self.length % LINE_FRAMES] = frame;
        self.length += 1;
    }

    pub(super) fn pop(&mut self) -> Option<Frame> {
        self.length = self.length.checked_sub(1)?;
        Some(self.lines[self.length / LINE_FRAMES].0[self.length % LINE_FRAMES])
    }
}
