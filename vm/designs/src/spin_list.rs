//! One spinlock over one list: the usual baseline of measurements, and the fastest design on one CPU.

use crate::free_list::FreeList;
use crate::{Design, Frame, Memory};
use spin::Mutex;

/// One spinlock over a free list.
#[derive(Debug)]
pub struct SpinList {
    list: Mutex<FreeList>,
}

impl Design for SpinList {
    const NAME: &'static str = "spin-list";

    fn new(memory: &Memory) -> Self {
        SpinList { list: Mutex::new(FreeList::of(memory.frames)) }
    }

    unsafe fn get(&self, _cpu: usize) -> Option<Frame> {
        self.list.lock().pop()
    }

    unsafe fn put(&self, _cpu: usize, frame: Frame) {
        self.list.lock().push(frame);
    }
}
