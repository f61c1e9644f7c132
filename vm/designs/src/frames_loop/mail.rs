//! How threads pass frames on: from one to another and back in strict turns, or through a table of slots at random. What
//! that moves is counted by the same pattern without gets and puts.

use crate::Frame;
use crate::team::{Line, wait_until};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// Maximum number of frames that are passed on at once.
pub(super) const MOST: usize = 32;

/// Frames on their way from one thread to another.
#[derive(Debug, Default)]
pub(super) struct Mail {
    frames: Line<[AtomicU32; MOST]>,
    is_full: Line<AtomicBool>,
}

impl Mail {
    /// For the first thread: hands frames over, and waits until the other has done with them.
    pub(super) fn send(&self, frames: &[Frame]) {
        // Relaxed: handed over by the store below, and fetched after the load in `receive`.
        self.frames.0.iter().zip(frames).for_each(|(to, frame)| to.store(frame.0, Ordering::Relaxed));
        // Release: pairs with the load in `receive`.
        self.is_full.0.store(true, Ordering::Release);
        // Acquire: pairs with the store in `receive`; the frames that it has put can be got again.
        wait_until(|| !self.is_full.0.load(Ordering::Acquire));
    }

    /// For the other thread: waits for frames and does something with them.
    pub(super) fn receive(&self, count: usize, act: impl FnOnce(&[Frame])) {
        // Acquire, Release: as in `send`.
        wait_until(|| self.is_full.0.load(Ordering::Acquire));
        let frames: [Frame; MOST] = std::array::from_fn(|place| match self.frames.0.get(place) {
            Some(frame) if place < count => Frame(frame.load(Ordering::Relaxed)),
            _ => Frame(0),
        });
        act(&frames[..count]);
        self.is_full.0.store(false, Ordering::Release);
    }
}

/// Slots with a frame each.
#[derive(Debug)]
pub(super) struct Table(Vec<AtomicU32>);

impl Table {
    const NOTHING: u32 = u32::MAX;

    /// Empty slots.
    pub(super) fn of(slots: usize) -> Self {
        Table((0..slots).map(|_| AtomicU32::new(Self::NOTHING)).collect())
    }

    pub(super) fn slots(&self) -> usize {
        self.0.len()
    }

    /// Puts a frame into a slot, and returns the one that was there.
    pub(super) fn exchange(&self, slot: usize, frame: Frame) -> Option<Frame> {
        // AcqRel: whoever takes the frame out has seen what its former holder did with it.
        let before = self.0[slot].swap(frame.0, Ordering::AcqRel);
        (before != Self::NOTHING).then_some(Frame(before))
    }
}
