//! A skeleton of DragonFly's `vm_page.c`: 1024 queues of free pages by colour, divided among
//! sockets and their CPUs.
//!
//! A frame's colour is the exclusive or of its number, its number / 1024 and its number / 1024²,
//! modulo 1024. With several sockets it is folded into the socket's part of the queues. A frame
//! returns to the queue of its colour, whichever CPU frees it. A CPU looks first in its own group,
//! which is 1024 / CPUs queues wide, at the place given by the page's index in its object. If that
//! queue is empty, it looks in aligned windows of 16, 32, 64 … queues around it, up to all queues.
//! Each queue has a spinlock and is last in, first out. Each page has a lock too; under a queue's
//! lock it is only tried.
//!
//! Each CPU counts free pages, and adds its count to the global one when the change exceeds a
//! tolerance.
//!
//! Here the index counts a CPU's own gets, since there are no objects. A group narrower than 8
//! queues is widened to 8, shared with its neighbours. Left out: the other 5 types of queues, the
//! page daemon, the search's memory of the last queue found.

use crate::design::{Own, Padded, for_each_cpu};
use crate::{Design, Frame, Memory};
use spin::Mutex;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering::Relaxed};

const QUEUES: usize = 1024;
const NARROWEST_GROUP: usize = 8;
const FIRST_WINDOW: usize = 16;
/// Tolerance of a CPU's count before it is added to the global one.
const SLOP: i32 = 128;
/// No frame.
const END: u32 = u32::MAX;

/// Colour queues, divided among CPUs.
#[derive(Debug)]
pub struct ColourQueues {
    memory: Memory,
    pages: Box<[Page]>,
    queues: Box<[Padded<Queue>]>,
    cpus: Box<[Padded<Own<PerCpu>>]>,
    free: Padded<AtomicI64>,
}

/// A page's record.
#[derive(Debug)]
struct Page {
    lock: Mutex<()>,
    /// Next page in its queue. Relaxed: used under the queue's lock.
    next: AtomicU32,
}

#[derive(Debug)]
struct Queue {
    lock: Mutex<()>,
    /// Written under the lock. Also read without it, to skip an empty queue. Relaxed: a CPU that
    /// sees a page checks again under the lock; a CPU that misses one behaves as if it had been
    /// added later.
    head: AtomicU32,
}

impl Default for Queue {
    fn default() -> Self {
        Queue { lock: Mutex::new(()), head: AtomicU32::new(END) }
    }
}

#[derive(Debug, Default)]
struct PerCpu {
    /// Stands for the page's index in its object.
    index: usize,
    /// Change of the free count that is not in the global count yet.
    unreported: i32,
}

impl ColourQueues {
    /// Number of free pages, except for changes that CPUs have not reported yet.
    pub fn free(&self) -> i64 {
        // Relaxed: accurate only to within the tolerance anyway.
        self.free.0.load(Relaxed)
    }

    /// The queue of a frame's colour.
    fn queue_of(&self, frame: Frame) -> usize {
        let number = frame.index();
        let colour = (number ^ (number / QUEUES) ^ (number / (QUEUES * QUEUES))) % QUEUES;
        let share = QUEUES / self.memory.sockets;
        let socket = number / (self.memory.frames / self.memory.sockets);
        socket * share + colour % share
    }

    /// The queue where a CPU looks first.
    fn go_to(&self, cpu: usize, index: usize) -> usize {
        let share = QUEUES / self.memory.sockets;
        let cpus_per_socket = self.memory.cpus.div_ceil(self.memory.sockets);
        let group = share / cpus_per_socket;
        let first = cpu / cpus_per_socket * share + cpu % cpus_per_socket * group;
        if group >= NARROWEST_GROUP {
            return first + index % group;
        }
        first / NARROWEST_GROUP * NARROWEST_GROUP + index % NARROWEST_GROUP
    }

    fn take(&self, queue: usize) -> Option<Frame> {
        let Padded(queue) = &self.queues[queue];
        if queue.head.load(Relaxed) == END {
            return None;
        }
        let _queue_lock = queue.lock.lock();
        let mut link = &queue.head;
        loop {
            let number = link.load(Relaxed);
            let page = self.pages.get(number as usize)?;
            // A page that is being put is still locked.
            if let Some(_page_lock) = page.lock.try_lock() {
                link.store(page.next.load(Relaxed), Relaxed);
                return Some(Frame(number));
            }
            link = &page.next;
        }
    }

    /// Searches the preferred queue, then ever wider windows around it.
    fn search(&self, start: usize) -> Option<Frame> {
        if let found @ Some(_) = self.take(start) {
            return found;
        }
        let mut window = FIRST_WINDOW;
        while window <= QUEUES {
            let base = start & !(window - 1);
            if let found @ Some(_) = (0..window).find_map(|step| self.take(base | (start + step) & (window - 1))) {
                return found;
            }
            window *= 2;
        }
        None
    }

    fn add(&self, frame: Frame) {
        let page = &self.pages[frame.index()];
        let Padded(queue) = &self.queues[self.queue_of(frame)];
        let _page_lock = page.lock.lock();
        let _queue_lock = queue.lock.lock();
        page.next.store(queue.head.load(Relaxed), Relaxed);
        queue.head.store(frame.0, Relaxed);
    }

    fn count(&self, cpu: &mut PerCpu, change: i32) {
        cpu.unreported += change;
        if cpu.unreported.abs() > SLOP {
            // Relaxed: see `free`.
            self.free.0.fetch_add(cpu.unreported.into(), Relaxed);
            cpu.unreported = 0;
        }
    }
}

impl Design for ColourQueues {
    const NAME: &'static str = "colour-queues";

    fn new(memory: &Memory) -> Self {
        assert!(memory.frames < END as usize, "frames have numbers of 32 bits");
        assert!(QUEUES.is_multiple_of(memory.sockets), "sockets: a power of two up to {QUEUES}");
        let page = |_| Page { lock: Mutex::new(()), next: AtomicU32::new(END) };
        let design = ColourQueues {
            memory: *memory,
            pages: (0..memory.frames).map(page).collect(),
            queues: (0..QUEUES).map(|_| Padded::default()).collect(),
            cpus: for_each_cpu(memory.cpus),
            free: Padded(AtomicI64::new(memory.frames as i64)),
        };
        // Downwards, so that low frames are given out first.
        (0..memory.frames as u32).rev().for_each(|number| design.add(Frame(number)));
        design
    }

    unsafe fn get(&self, cpu: usize) -> Option<Frame> {
        let get = |own: &mut PerCpu| {
            let frame = self.search(self.go_to(cpu, own.index))?;
            own.index += 1;
            self.count(own, -1);
            Some(frame)
        };
        // SAFETY: the caller's promise about its CPU; `get` does not call back.
        unsafe { self.cpus[cpu].0.with(get) }
    }

    unsafe fn put(&self, cpu: usize, frame: Frame) {
        self.add(frame);
        // SAFETY: as in `get`.
        unsafe { self.cpus[cpu].0.with(|own| self.count(own, 1)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(cpus: usize, sockets: usize) -> Memory {
        Memory { frames: 1 << 16, cpus, sockets }
    }

    #[test]
    fn each_cpu_of_each_socket_has_queues_of_its_own_and_they_are_all_there() {
        let design = ColourQueues::new(&memory(16, 2));
        let mut owner = vec![None; QUEUES];
        for cpu in 0..16 {
            for index in 0..QUEUES / 16 {
                assert_eq!(owner[design.go_to(cpu, index)].replace(cpu), None);
            }
        }
        assert!(owner.iter().all(Option::is_some));
        assert!(owner[..512].iter().all(|cpu| *cpu < Some(8)), "the first socket's half is its own");
    }

    #[test]
    fn narrow_groups_are_widened_to_eight() {
        let design = ColourQueues::new(&memory(256, 1));
        let first: std::collections::BTreeSet<usize> = (0..100).map(|index| design.go_to(1, index)).collect();
        assert_eq!(first, (0..8).collect());
        assert!((0..256).all(|cpu| (0..9).all(|index| design.go_to(cpu, index) < QUEUES)));
    }

    #[test]
    fn a_sockets_frames_lie_in_its_queues() {
        let design = ColourQueues::new(&memory(4, 2));
        assert!((0..1 << 15).all(|number| design.queue_of(Frame(number)) < 512));
        assert!((1 << 15..1 << 16).all(|number| design.queue_of(Frame(number)) >= 512));
    }

    #[test]
    fn colours_spread_frames_that_are_1024_apart() {
        let design = ColourQueues::new(&memory(2, 1));
        assert_eq!(design.queue_of(Frame(5)), 5);
        assert_eq!(design.queue_of(Frame(1024 + 5)), 4);
        assert_eq!(design.queue_of(Frame(3 * 1024 + 5)), 6);
    }

    #[test]
    fn the_global_count_follows_in_steps_of_the_slop() {
        let design = ColourQueues::new(&memory(1, 1));
        let get = |count| {
            for _ in 0..count {
                // SAFETY: there is only this thread, and CPU 0 exists.
                unsafe { design.get(0) }.unwrap();
            }
        };
        get(128);
        assert_eq!(design.free(), 1 << 16);
        get(1);
        assert_eq!(design.free(), (1 << 16) - 129);
    }
}
