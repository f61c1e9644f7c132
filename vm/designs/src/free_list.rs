//! A last-in-first-out list of free frames, linked through one number per frame. The owner locks it.

use crate::Frame;

/// No frame.
const END: u32 = u32::MAX;

/// A list of frames.
#[derive(Debug)]
pub(crate) struct FreeList {
    /// For each frame in the list: the next one, or `END`.
    next: Box<[u32]>,
    head: u32,
}

impl FreeList {
    /// A list of that many frames, the lowest first.
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

    /// Puts a frame at the front.
    #[inline]
    pub(crate) fn push(&mut self, frame: Frame) {
        self.next[frame.index()] = self.head;
        self.head = frame.0;
    }
}
