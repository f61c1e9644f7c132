//! Frames for tests of interleavings: a list that all CPUs share, whose steps are not explored.

use crate::error::NoMemory;
use crate::machine::FrameSource;
use faultline_frames::ZeroedFrame;
use faultline_numbers::FrameNumber;
use std::sync::{Arc, Mutex};
use std::vec::Vec;

/// Frames from 0 on.
#[derive(Debug, Clone)]
pub(crate) struct List {
    free: Arc<Mutex<Vec<u32>>>,
    count: u32,
}

impl List {
    pub(crate) fn of(count: u32) -> Self {
        Self { free: Arc::new(Mutex::new((0..count).collect())), count }
    }

    pub(crate) fn free(&self) -> u32 {
        self.free.lock().unwrap().len() as u32
    }
}

// SAFETY: 1. A frame is in the list while it is free. 2. Its index is its number.
unsafe impl FrameSource for List {
    fn get(&self) -> Result<ZeroedFrame, NoMemory> {
        let number = self.free.lock().unwrap().pop().ok_or(NoMemory)?;
        Ok(ZeroedFrame { number: FrameNumber(number.into()), zeroed: false })
    }

    fn put(&self, frames: &[FrameNumber]) {
        let mut free = self.free.lock().unwrap();
        for frame in frames {
            assert!(!free.contains(&(frame.0 as u32)), "{frame} is put twice");
            free.push(frame.0 as u32);
        }
    }

    fn index_of(&self, frame: FrameNumber) -> Option<u32> {
        Some(frame.0 as u32)
    }

    fn frame_at(&self, index: u32) -> Option<FrameNumber> {
        Some(FrameNumber(index.into()))
    }

    fn index_count(&self) -> u32 {
        self.count
    }
}
