//! One array of 16 frames per CPU over the global mutex: the cache proposed for OpenBSD early in
//! 2024.
//!
//! A get from an empty array refills it to 15 under one hold of the mutex; one place stays free, so
//! that a following put does not drain at once. A put into a full array drains the whole array
//! under one hold. The page daemon drains only the array of its own CPU: [`Design::drain`].
//! Counters: hits, misses, frames held; here each CPU has its own.
//!
//! Left out: requests for memory within bounds, which bypass the array.

use crate::design::{Own, Padded, for_each_cpu};
use crate::{Counters, Design, Frame, GlobalMutex, Memory};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const PLACES: usize = 16;
const REFILL: usize = PLACES - 1;

/// One array of 16 frames per CPU.
#[derive(Debug)]
pub struct Array16 {
    cpus: Box<[Padded<PerCpu>]>,
    global: Padded<GlobalMutex>,
}

#[derive(Debug, Default)]
struct PerCpu {
    array: Own<Array>,
    counts: Counts,
}

#[derive(Debug)]
struct Array {
    frames: [Frame; PLACES],
    length: usize,
}

impl Default for Array {
    fn default() -> Self {
        Array { frames: [Frame(0); PLACES], length: 0 }
    }
}

/// Written only by their CPU, so a plain load and store are enough. Relaxed: statistics, which
/// order nothing.
#[derive(Debug, Default)]
struct Counts {
    hits: AtomicU64,
    misses: AtomicU64,
    held: AtomicU64,
}

fn add(counter: &AtomicU64) {
    counter.store(counter.load(Relaxed) + 1, Relaxed);
}

impl Array16 {
    fn refill(&self, array: &mut Array) {
        let mut list = self.global.0.lock();
        while array.length < REFILL
            && let Some(frame) = list.pop()
        {
            array.frames[array.length] = frame;
            array.length += 1;
        }
    }

    fn drain_all(&self, array: &mut Array) {
        let mut list = self.global.0.lock();
        for &frame in &array.frames[..array.length] {
            list.push(frame);
        }
        array.length = 0;
    }
}

impl Design for Array16 {
    const NAME: &'static str = "array-16";

    fn new(memory: &Memory) -> Self {
        Array16 { cpus: for_each_cpu(memory.cpus), global: Padded(GlobalMutex::new(memory)) }
    }

    unsafe fn get(&self, cpu: usize) -> Option<Frame> {
        let Padded(PerCpu { array, counts }) = &self.cpus[cpu];
        let get = |array: &mut Array| {
            if array.length == 0 {
                add(&counts.misses);
                self.refill(array);
            } else {
                add(&counts.hits);
            }
            array.length = array.length.checked_sub(1)?;
            counts.held.store(array.length as u64, Relaxed);
            Some(array.frames[array.length])
        };
        // SAFETY: the caller's promise about its CPU; `get` does not call back.
        unsafe { array.with(get) }
    }

    unsafe fn put(&self, cpu: usize, frame: Frame) {
        let Padded(PerCpu { array, counts }) = &self.cpus[cpu];
        let put = |array: &mut Array| {
            if array.length == PLACES {
                self.drain_all(array);
            }
            array.frames[array.length] = frame;
            array.length += 1;
            counts.held.store(array.length as u64, Relaxed);
        };
        // SAFETY: as in `get`.
        unsafe { array.with(put) }
    }

    unsafe fn drain(&self, cpu: usize) {
        let Padded(PerCpu { array, counts }) = &self.cpus[cpu];
        // SAFETY: as in `get`.
        unsafe { array.with(|array| self.drain_all(array)) };
        counts.held.store(0, Relaxed);
    }

    fn held_most(&self) -> usize {
        PLACES
    }

    fn counters(&self) -> Option<Counters> {
        let sum = |of: fn(&Counts) -> &AtomicU64| self.cpus.iter().map(|cpu| of(&cpu.0.counts).load(Relaxed)).sum();
        Some(Counters { hits: sum(|c| &c.hits), misses: sum(|c| &c.misses), held: sum(|c| &c.held) })
    }
}
