//! A CPU's handle for calls of a memory system: the machine, frames, and what the CPU counts.

use faultline_frames::{FixedCpu, Frames};
use faultline_memory::hosted::Hosted;
use faultline_memory::{CpuNumber, Event, FrameNumber, FrameSource, Machine, NoMemory};
use std::cell::Cell;

/// `vm/memory`'s own handle of a CPU.
pub(super) type HostCpu<'m> = faultline_memory::Cpu<'m, Hosted, Frames<'m, FixedCpu>>;

const EVENTS: usize = Event::ALL.len();

/// A CPU's handle, on lines of its own. It can be sent to another thread, but not shared.
#[derive(Debug)]
#[repr(align(128))]
pub struct Cpu<'m> {
    host: HostCpu<'m>,
    counts: [Cell<u64>; EVENTS],
}

impl<'m> Cpu<'m> {
    /// From the handle of `vm/memory`, which the designs other than ours use only for its machine and its frames.
    pub fn new(host: HostCpu<'m>) -> Self {
        Cpu { host, counts: [const { Cell::new(0) }; EVENTS] }
    }

    /// The handle of `vm/memory`.
    pub(super) fn host(&self) -> &HostCpu<'m> {
        &self.host
    }

    /// Its number.
    pub fn number(&self) -> CpuNumber {
        self.host.number()
    }

    /// The frames that its faults take.
    pub fn frames(&self) -> &Frames<'m, FixedCpu> {
        self.host.frames()
    }

    /// The machine.
    pub(super) fn machine(&self) -> &'m Hosted {
        self.host.memory().machine()
    }

    pub(super) fn count(&self, event: Event) {
        let count = &self.counts[event as usize];
        count.set(count.get() + 1);
    }

    /// How often each event happened on this CPU, in the order of `Event::ALL`.
    pub fn counted(&self) -> [u64; EVENTS] {
        let ours = self.host.memory().counters_of(self.number()).expect("the CPU of this handle");
        Event::ALL.map(|event| ours.of(event) + self.counts[event as usize].get())
    }

    /// The frame of an index.
    pub(super) fn frame(&self, page: u32) -> FrameNumber {
        self.frames().frame_at(page).expect("the index of a frame that was got")
    }

    /// The index of a new frame of zeroes.
    pub(super) fn zeroed_page(&self) -> Result<u32, NoMemory> {
        let frame = FrameSource::get(self.frames())?;
        if !frame.zeroed {
            self.machine().zero(frame.number);
        }
        Ok(self.frames().index_of(frame.number).expect("a frame that was got has an index"))
    }

    /// The index of a new frame with the contents of another.
    pub(super) fn copied_page(&self, page: u32) -> Result<u32, NoMemory> {
        let frame = FrameSource::get(self.frames())?.number;
        self.machine().copy(self.frame(page), frame);
        Ok(self.frames().index_of(frame).expect("a frame that was got has an index"))
    }

    /// Gives a frame back, to which no TLB translates.
    pub(super) fn free_page(&self, page: u32) {
        self.count(Event::FreedFrame);
        FrameSource::put(self.frames(), &[self.frame(page)]);
    }
}
