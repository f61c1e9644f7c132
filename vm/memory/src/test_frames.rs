//! Frames for tests: a list shared by all CPUs, whose steps are not explored.

use crate::error::NoMemory;
use crate::hosted::Hosted;
use crate::machine::FrameSource;
use crate::memory::Memory;
use faultline_frames::ZeroedFrame;
use faultline_numbers::FrameNumber;
use std::sync::{Arc, Mutex, OnceLock};
use std::vec::Vec;

/// Frames from 0 on.
#[derive(Debug, Clone)]
pub(crate) struct List {
    free: Arc<Mutex<Vec<u32>>>,
    count: u32,
    gives_large: bool,
    watched: Arc<OnceLock<&'static Memory<Hosted>>>,
}

impl List {
    pub(crate) fn of(count: u32) -> Self {
        Self { free: Arc::new(Mutex::new((0..count).collect())), count, gives_large: false, watched: Arc::default() }
    }

    /// Also provides large frames.
    #[cfg(loom)]
    pub(crate) fn with_large(self) -> Self {
        Self { gives_large: true, ..self }
    }

    /// From now on, putting a frame fails if a TLB of this memory's machine still translates to it.
    pub(crate) fn watch(&self, memory: &'static Memory<Hosted>) {
        assert!(self.watched.set(memory).is_ok());
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

    fn get_large(&self, count: u64) -> Option<ZeroedFrame> {
        let mut free = self.free.lock().unwrap();
        let count = count as u32;
        let is_free = |first: &u32| (*first..first + count).all(|frame| free.contains(&frame));
        let first = (0..self.count).step_by(count as usize).filter(|_| self.gives_large).find(is_free)?;
        free.retain(|frame| !(first..first + count).contains(frame));
        Some(ZeroedFrame { number: FrameNumber(first.into()), zeroed: false })
    }

    fn put(&self, frames: &[FrameNumber]) -> bool {
        if let Some(memory) = self.watched.get() {
            for frame in frames {
                assert!(!memory.machine().is_translated(*frame), "{frame} is put, and a TLB translates to it");
            }
        }
        let mut free = self.free.lock().unwrap();
        for frame in frames {
            assert!(!free.contains(&(frame.0 as u32)), "{frame} is put twice");
            free.push(frame.0 as u32);
        }
        true
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
