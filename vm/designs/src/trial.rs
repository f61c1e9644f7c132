//! The tests that every design must pass: any sequence of operations, checked against a plain
//! bitmap; and threads that pass frames to each other.
//!
//! A failure is a sentence. The tests depend only on the trait's promises.

use crate::{BLOCK_FRAMES, Cpu, Design, Frame, Memory};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Barrier, Mutex, PoisonError};

/// An operation of a sequence. Numbers are taken modulo the number of CPUs or of frames held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Gets that many frames.
    Get {
        /// The CPU.
        cpu: usize,
        /// Number of frames.
        count: usize,
    },
    /// Puts that many held frames.
    Put {
        /// The CPU.
        cpu: usize,
        /// The first one.
        pick: usize,
        /// Number of frames, at most as many as are held.
        count: usize,
        /// All at once.
        batch: bool,
    },
    /// Gets a huge frame.
    GetHuge {
        /// The CPU.
        cpu: usize,
    },
    /// Puts a held huge frame.
    PutHuge {
        /// The CPU.
        cpu: usize,
        /// The huge frame.
        pick: usize,
    },
    /// Drains a CPU.
    Drain {
        /// The CPU.
        cpu: usize,
    },
}

/// Held frames, as the users know them.
struct Reference {
    is_held: Vec<bool>,
    frames: Vec<Frame>,
    huge: Vec<Frame>,
}

impl Reference {
    fn new(frames: usize) -> Self {
        Reference { is_held: vec![false; frames], frames: Vec::new(), huge: Vec::new() }
    }

    fn free(&self) -> usize {
        self.is_held.len() - self.frames.len() - self.huge.len() * BLOCK_FRAMES
    }

    fn give(&mut self, first: Frame, count: usize) -> Result<(), String> {
        for number in first.index()..first.index() + count {
            let is_held = self.is_held.get_mut(number).ok_or(format!("frame {number} is none of ours"))?;
            if std::mem::replace(is_held, true) {
                return Err(format!("frame {number} was given out twice"));
            }
        }
        Ok(())
    }

    fn take(&mut self, first: Frame, count: usize) {
        self.is_held[first.index()..first.index() + count].fill(false);
    }
}

/// Executes a sequence with one thread, and compares each answer with a bitmap. At the end gets all
/// unheld frames, each once.
pub fn beside_bitmap<D: Design>(memory: &Memory, steps: &[Step]) -> Result<(), String> {
    let design = D::new(memory);
    // SAFETY: 1. numbers are below `cpus`; 2. each is used once; 3. the reference puts what was
    // got, once.
    let mut cpus: Vec<Cpu<'_, D>> = (0..memory.cpus).map(|number| unsafe { Cpu::new(&design, number) }).collect();
    let mut reference = Reference::new(memory.frames);
    for step in steps {
        carry_out(*step, &design, &mut cpus, &mut reference).map_err(|error| format!("{step:?}: {error}"))?;
    }
    cpus.iter_mut().for_each(Cpu::drain);
    take_rest(&mut cpus[0], &mut reference)
}

fn carry_out<D: Design>(
    step: Step,
    design: &D,
    cpus: &mut [Cpu<'_, D>],
    reference: &mut Reference,
) -> Result<(), String> {
    let all = cpus.len();
    match step {
        Step::Get { cpu, count } => {
            for _ in 0..count {
                let Some(frame) = cpus[cpu % all].get() else {
                    let free = reference.free();
                    let behind = design.held_most() * (all - 1);
                    return if free <= behind { Ok(()) } else { Err(format!("none, but {free} are free")) };
                };
                reference.give(frame, 1)?;
                reference.frames.push(frame);
            }
        }
        Step::Put { cpu, pick, count, batch } => {
            let mut put = Vec::new();
            for _ in 0..count.min(reference.frames.len()) {
                let frame = reference.frames.swap_remove(pick % reference.frames.len());
                reference.take(frame, 1);
                put.push(frame);
            }
            if batch {
                cpus[cpu % all].put_batch(&put);
            } else {
                put.iter().for_each(|&frame| cpus[cpu % all].put(frame));
            }
        }
        Step::GetHuge { cpu } => {
            if let Some(first) = cpus[cpu % all].get_huge() {
                if !first.index().is_multiple_of(BLOCK_FRAMES) {
                    return Err(format!("a huge frame begins at {}", first.0));
                }
                reference.give(first, BLOCK_FRAMES)?;
                reference.huge.push(first);
            }
        }
        Step::PutHuge { cpu, pick } => {
            if !reference.huge.is_empty() {
                let first = reference.huge.swap_remove(pick % reference.huge.len());
                reference.take(first, BLOCK_FRAMES);
                cpus[cpu % all].put_huge(first);
            }
        }
        Step::Drain { cpu } => cpus[cpu % all].drain(),
    }
    Ok(())
}

/// Gets all remaining frames, while no other CPU's cache holds any.
fn take_rest<D: Design>(cpu: &mut Cpu<'_, D>, reference: &mut Reference) -> Result<(), String> {
    while let Some(frame) = cpu.get() {
        reference.give(frame, 1)?;
    }
    match reference.is_held.iter().filter(|&&is_held| !is_held).count() {
        0 => Ok(()),
        lost => Err(format!("{lost} frames are lost")),
    }
}

/// Checks that after all frames were put and all CPUs drained, each block is whole: there are as
/// many huge frames as blocks, if the design has huge frames.
pub fn whole_again<D: Design>(memory: &Memory) -> Result<(), String> {
    let design = D::new(memory);
    // SAFETY: 1. numbers are below `cpus`; 2. each is used once; 3. the puts below are of frames
    // that were got.
    let mut cpus: Vec<Cpu<'_, D>> = (0..memory.cpus).map(|number| unsafe { Cpu::new(&design, number) }).collect();
    let frames: Vec<Frame> = std::iter::from_fn(|| cpus[0].get()).collect();
    let all = cpus.len();
    frames.iter().enumerate().for_each(|(i, &frame)| cpus[i % all].put(frame));
    cpus.iter_mut().for_each(Cpu::drain);
    let huge = std::iter::from_fn(|| cpus[0].get_huge()).count();
    let expected = if D::HAS_HUGE { memory.frames / BLOCK_FRAMES } else { 0 };
    if huge == expected { Ok(()) } else { Err(format!("{huge} huge frames of {expected}")) }
}

/// Frames passed between threads, and their owners.
struct Exchange {
    /// For each frame: 1 + the owning thread, or 0.
    ///
    /// Relaxed: the design and `passed` order the handing over of frames; each word is checked by
    /// itself.
    owners: Vec<AtomicU32>,
    passed: Vec<Mutex<Vec<Frame>>>,
    quiet: Barrier,
}

impl Exchange {
    fn got(&self, thread: usize, frame: Frame) -> Result<(), String> {
        match self.owners[frame.index()].swap(thread as u32 + 1, Relaxed) {
            0 => Ok(()),
            other => Err(format!("frame {} was given to thread {thread}, but thread {} has it", frame.0, other - 1)),
        }
    }

    fn put(&self, frame: Frame) {
        self.owners[frame.index()].store(0, Relaxed);
    }
}

/// Threads get and put frames, some of them those of other threads, and meet from time to time.
/// Then all frames are put, and one CPU gets all of them again, each once.
pub fn exactly_once<D: Design>(memory: &Memory, rounds: usize, operations: usize, seed: u64) -> Result<(), String> {
    let design = D::new(memory);
    let exchange = Exchange {
        owners: (0..memory.frames).map(|_| AtomicU32::new(0)).collect(),
        passed: (0..memory.cpus).map(|_| Mutex::new(Vec::new())).collect(),
        quiet: Barrier::new(memory.cpus),
    };
    let (design, exchange) = (&design, &exchange);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..memory.cpus)
            .map(|number| {
                // SAFETY: 1. a number below `cpus`; 2. used by one thread, until all have met for
                // the last time; 3. a thread puts what it got, or was passed by the thread that got
                // it, and then forgets it.
                let mut cpu = unsafe { Cpu::new(design, number) };
                scope.spawn(move || {
                    let mut random = ChaCha8Rng::seed_from_u64(seed ^ (number as u64) << 32);
                    let mut result = Ok(());
                    for _ in 0..rounds {
                        // Waits at every meeting, even after an error: the other threads wait for
                        // this one.
                        let round = round(memory, number, &mut cpu, exchange, operations, &mut random);
                        result = result.and(round);
                    }
                    result
                })
            })
            .collect();
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a thread panicked".to_owned())?)
    })
}

fn round<D: Design>(
    memory: &Memory,
    number: usize,
    cpu: &mut Cpu<'_, D>,
    exchange: &Exchange,
    operations: usize,
    random: &mut ChaCha8Rng,
) -> Result<(), String> {
    let mut held = Vec::new();
    let mixed = no_panic(|| mix(memory, number, cpu, exchange, operations, random, &mut held));
    exchange.quiet.wait();
    let put = no_panic(|| {
        held.append(&mut exchange.passed[number].lock().unwrap_or_else(PoisonError::into_inner));
        held.iter().for_each(|&frame| exchange.put(frame));
        held.iter().for_each(|&frame| cpu.put(frame));
        cpu.drain();
        Ok(())
    });
    exchange.quiet.wait();
    let counted = if number == 0 { no_panic(|| count_all(memory, cpu)) } else { Ok(()) };
    exchange.quiet.wait();
    mixed.and(put).and(counted)
}

/// Turns a panic into an error, so that the thread continues to the next meeting, where the others
/// wait for it.
fn no_panic(run: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    // After a reported panic, the frames are only counted and put.
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| Err("a panic".to_owned()))
}

fn mix<D: Design>(
    memory: &Memory,
    number: usize,
    cpu: &mut Cpu<'_, D>,
    exchange: &Exchange,
    operations: usize,
    random: &mut ChaCha8Rng,
    held: &mut Vec<Frame>,
) -> Result<(), String> {
    let passed = |number: usize| exchange.passed[number].lock().unwrap_or_else(PoisonError::into_inner);
    for _ in 0..operations {
        match random.random_range(0..10) {
            0..5 => {
                let Some(frame) = cpu.get() else { continue };
                exchange.got(number, frame)?;
                held.push(frame);
            }
            5..8 if !held.is_empty() => {
                let frame = held.swap_remove(random.random_range(0..held.len()));
                exchange.put(frame);
                cpu.put(frame);
            }
            8 if !held.is_empty() => {
                let frame = held.swap_remove(random.random_range(0..held.len()));
                passed(random.random_range(0..memory.cpus)).push(frame);
            }
            _ => {
                let to_put = std::mem::take(&mut *passed(number));
                to_put.iter().for_each(|&frame| exchange.put(frame));
                cpu.put_batch(&to_put);
            }
        }
    }
    Ok(())
}

fn count_all<D: Design>(memory: &Memory, cpu: &mut Cpu<'_, D>) -> Result<(), String> {
    let mut reference = Reference::new(memory.frames);
    let result = take_rest(cpu, &mut reference);
    for number in 0..memory.frames {
        if reference.is_held[number] {
            cpu.put(Frame(number as u32));
        }
    }
    cpu.drain();
    result
}
