//! A last-in-first-out list of free frames, linked through a number for each frame. Whoever has one locks it.

use crate::Frame;

/// No frame.
const END: u32 = u32::MAX;

/// A list of frames.
#[derive(Debug)]
pub(crate) struct FreeList {
    /// By frame in the list: the one after it, or `END`.
    next: Box<[u32]>,
    head: u32,
}

impl FreeList {
    /// All of that many frames, the lowest first.
    pub(crate) fn of(frames: usize) -> Self {
        let last = u32::try_from(frames).expect("frames have numbers of 32 bits");
        assert!(last != END, "the last number means none");
        let next = (1..=last).map(|next| if next == last { END } else { next }).collect();
        FreeList { next, head: if last == 0 { END } else { 0 } }
    }

    /// Takes the frame that was put last.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Frame> {
        let frame = self.head;
        self.head = *self.next.get(frame as usize)?;
        Some(Frame(frame))
    }

    /// Puts a frame first.
    #[inline]
    pub(crate) fn push(&mut self, frame: Frame) {
        self.next[frame.index()] = self.head;
        self.head = frame.0;
    }
}
