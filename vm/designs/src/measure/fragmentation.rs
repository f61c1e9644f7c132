//! Fragmentation: the number of huge frames left whole by a long mixed run, equal for all designs.
//!
//! One thread plays several CPUs in turn, so the run is reproducible. There are three kinds of
//! users, as on a server: tasks that grow in bursts to some size, live, and end at once, sometimes
//! on another CPU; pages of files and the kernel, got one by one and put one by one in random
//! order; and, in the second form of the run, tasks that use huge frames where available. Memory
//! use goes up and down between a half and nine tenths. At the end, tasks end until less than half
//! is in use, and all CPUs drain.
//!
//! A busy machine gets some ten thousand frames per second: 36 million in an hour.

use crate::{BLOCK_FRAMES, Cpu, Design, Frame, Memory};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

const CPUS: usize = 4;
/// Maximum number of tasks at a time.
const TASKS: usize = 400;

/// A mixed run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Trace {
    pub(super) frames: usize,
    /// Approximate number of frames to get.
    pub(super) gets: usize,
    /// True if some tasks ask for huge frames.
    pub(super) huge: bool,
    pub(super) seed: u64,
}

/// The state of memory at the end of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Left {
    /// Number of unused frames.
    pub(super) free: usize,
    /// Number of blocks without a used frame.
    pub(super) whole: usize,
    /// Number of huge frames that can be allocated, if the design has them.
    pub(super) huge: Option<usize>,
    /// Number of refused gets of huge frames during the run.
    pub(super) refused: usize,
}

impl Left {
    /// The fraction of the free frames that lies in whole blocks.
    pub(super) fn share(&self) -> f64 {
        (self.whole * BLOCK_FRAMES) as f64 / self.free.max(1) as f64
    }
}

struct Task {
    cpu: usize,
    /// Number of frames when fully grown.
    size: usize,
    frames: Vec<Frame>,
    huge: Vec<Frame>,
}

impl Task {
    fn has(&self) -> usize {
        self.frames.len() + self.huge.len() * BLOCK_FRAMES
    }
}

struct Run<'d, D> {
    trace: Trace,
    cpus: Vec<Cpu<'d, D>>,
    random: ChaCha8Rng,
    tasks: Vec<Task>,
    singles: Vec<Frame>,
    used: usize,
    got: usize,
    refused: usize,
}

/// Executes the run.
pub(super) fn mixed_run<D: Design>(trace: &Trace) -> Left {
    let design = D::new(&Memory::of_one_socket(trace.frames, CPUS));
    let mut run = Run {
        trace: *trace,
        // SAFETY: 1. numbers below `CPUS`; 2. each once; 3. the run puts what it got, once.
        cpus: (0..CPUS).map(|number| unsafe { Cpu::new(&design, number) }).collect(),
        random: ChaCha8Rng::seed_from_u64(trace.seed),
        tasks: Vec::new(),
        singles: Vec::new(),
        used: 0,
        got: 0,
        refused: 0,
    };
    run.fill();
    while run.got < trace.gets {
        run.step();
    }
    run.cpus.iter_mut().for_each(Cpu::drain);
    run.left(D::HAS_HUGE)
}

impl<D: Design> Run<'_, D> {
    fn step(&mut self) {
        let full = self.trace.frames / 10 * self.tenths();
        match self.random.random_range(0..100) {
            _ if self.used > full => self.shrink(),
            // Pages of files and the kernel are about a third of the memory in use.
            0..50 if self.random.random_range(0..full * 2 / 3) < self.singles.len() => self.put_singles(8),
            0..50 => self.get_singles(),
            50..54 if self.tasks.len() < TASKS => self.begin_task(),
            _ => self.grow_task(),
        }
    }

    /// Fills memory with file pages, as when a tree is copied.
    fn fill(&mut self) {
        while self.used < self.trace.frames / 40 * 39 {
            self.get_singles();
        }
    }

    /// The limit of memory use in tenths: up and down nine times, then a quiet phase.
    fn tenths(&self) -> usize {
        match self.got * 20 / self.trace.gets {
            18.. => 4,
            phase if phase.is_multiple_of(2) => 9,
            _ => 6,
        }
    }

    fn get(&mut self, cpu: usize) -> Frame {
        self.used += 1;
        self.got += 1;
        self.cpus[cpu].get().expect("a tenth of the frames is free")
    }

    /// Gets single frames, as when a file is read ahead.
    fn get_singles(&mut self) {
        let cpu = self.random.random_range(0..CPUS);
        for _ in 0..self.random.random_range(1..=8) {
            let frame = self.get(cpu);
            self.singles.push(frame);
        }
    }

    /// Puts up to `most` single frames, in random order.
    fn put_singles(&mut self, most: usize) {
        let cpu = self.random.random_range(0..CPUS);
        for _ in 0..self.random.random_range(1..=most).min(self.singles.len()) {
            let frame = self.singles.swap_remove(self.random.random_range(0..self.singles.len()));
            self.cpus[cpu].put(frame);
            self.used -= 1;
        }
    }

    /// Begins a task of 16 frames to 1/64 of the memory; small tasks are more frequent.
    fn begin_task(&mut self) {
        let doublings = (self.trace.frames / 64 / 32).ilog2();
        let size = self.random.random_range(16..32) << self.random.random_range(0..=doublings);
        let cpu = self.random.random_range(0..CPUS);
        self.tasks.push(Task { cpu, size, frames: Vec::new(), huge: Vec::new() });
    }

    fn grow_task(&mut self) {
        if self.tasks.is_empty() {
            return self.begin_task();
        }
        let number = self.random.random_range(0..self.tasks.len());
        let burst = self.random.random_range(1..=32);
        let Task { cpu, size, .. } = self.tasks[number];
        let missing = size.saturating_sub(self.tasks[number].has());
        if missing == 0 {
            // A grown task ends with a chance of 1 in 64 per visit.
            if self.random.random_range(0..64) == 0 {
                self.end_task(number);
            }
            return;
        }
        if self.trace.huge && missing >= BLOCK_FRAMES {
            match self.cpus[cpu].get_huge() {
                Some(first) => {
                    self.tasks[number].huge.push(first);
                    self.used += BLOCK_FRAMES;
                    self.got += BLOCK_FRAMES;
                    return;
                }
                // Takes as many single frames instead, so that the run continues as for any other
                // design.
                None => {
                    self.refused += 1;
                    return self.give_task(number, BLOCK_FRAMES);
                }
            }
        }
        self.give_task(number, burst.min(missing));
    }

    fn give_task(&mut self, number: usize, count: usize) {
        for _ in 0..count {
            let frame = self.get(self.tasks[number].cpu);
            self.tasks[number].frames.push(frame);
        }
    }

    fn end_task(&mut self, number: usize) {
        let task = self.tasks.swap_remove(number);
        let cpu = if self.random.random_range(0..4) == 0 { self.random.random_range(0..CPUS) } else { task.cpu };
        self.used -= task.has();
        self.cpus[cpu].put_batch(&task.frames);
        task.huge.iter().for_each(|&first| self.cpus[cpu].put_huge(first));
    }

    /// Frees memory when it is full: ends a task, or if there is none, puts file pages.
    fn shrink(&mut self) {
        if self.tasks.is_empty() {
            return self.put_singles(512);
        }
        let number = self.random.random_range(0..self.tasks.len());
        self.end_task(number);
    }

    fn left(&mut self, has_huge: bool) -> Left {
        let mut is_used = vec![false; self.trace.frames];
        let frames = self.tasks.iter().flat_map(|task| &task.frames).chain(&self.singles);
        frames.for_each(|frame| is_used[frame.index()] = true);
        for first in self.tasks.iter().flat_map(|task| &task.huge) {
            is_used[first.index()..first.index() + BLOCK_FRAMES].fill(true);
        }
        let whole = is_used.chunks(BLOCK_FRAMES).filter(|block| !block.contains(&true)).count();
        let cpu = &mut self.cpus[0];
        let huge = has_huge.then(|| std::iter::from_fn(|| cpu.get_huge()).count());
        Left { free: self.trace.frames - self.used, whole, huge, refused: self.refused }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Array16, ColourQueues, SpinBuddy};

    const TRACE: Trace = Trace { frames: 256 * BLOCK_FRAMES, gets: 1_000_000, huge: false, seed: 5 };

    #[test]
    fn the_run_is_the_same_for_all_designs() {
        let all = [mixed_run::<ColourQueues>, mixed_run::<Array16>, mixed_run::<SpinBuddy>];
        let [queues, array, buddy] = all.map(|run| run(&TRACE));
        assert_eq!((queues.free, array.free), (buddy.free, buddy.free));
        assert!((TRACE.frames / 2..TRACE.frames / 3 * 2).contains(&buddy.free), "{buddy:?}");
        assert_eq!((queues.whole, queues.huge), (0, None), "colours scatter what is used");
        assert!(buddy.whole > 0 && buddy.huge == Some(buddy.whole), "{buddy:?}");
    }

    #[test]
    fn huge_frames_are_part_of_the_second_form() {
        let left = mixed_run::<SpinBuddy>(&Trace { huge: true, ..TRACE });
        assert_eq!(left.huge, Some(left.whole));
        assert!(left.refused > 0 && left.free < TRACE.frames, "{left:?}");
        assert_eq!(left, mixed_run::<SpinBuddy>(&Trace { huge: true, ..TRACE }));
    }
}
