//! Two magazines of 8 frames per CPU over the global mutex: OpenBSD's cache since May 2024
//! (`uvm_pmemrange.c`).
//!
//! A get takes from the active magazine, or from the other one if that is empty. If both are empty
//! it counts a miss, refills the other magazine with 8 frames under one hold of the mutex, and
//! swaps the two. If there are no 8 frames, one comes straight from the list. If the active
//! magazine is full, a put frees all of the other one, unless that is empty; then the two swap.
//!
//! The counters (hits, misses, frames held) are global and atomic: a hit writes two shared words
//! and a put one, so a cache without a lock still moves lines between all CPUs. Keeping them is the
//! point of this design.
//!
//! Left out: requests for memory within bounds, which bypass the magazines; waiting for the page
//! daemon.

use crate::design::{Own, Padded, for_each_cpu};
use crate::{Counters, Design, Frame, GlobalMutex, Memory};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const SIZE: usize = 8;

/// Two magazines of 8 frames per CPU.
#[derive(Debug)]
pub struct Magazines {
    cpus: Box<[Padded<Own<Pair>>]>,
    counts: Padded<Counts>,
    global: Padded<GlobalMutex>,
}

/// Next to each other, as members of one structure (`uvmexp`), and apart from all other data.
/// Relaxed: statistics, which order nothing.
#[derive(Debug, Default)]
struct Counts {
    hits: AtomicU64,
    misses: AtomicU64,
    held: AtomicU64,
}

#[derive(Debug, Default)]
struct Pair {
    magazines: [Magazine; 2],
    active: usize,
}

#[derive(Debug)]
struct Magazine {
    frames: [Frame; SIZE],
    length: usize,
}

impl Default for Magazine {
    fn default() -> Self {
        Magazine { frames: [Frame(0); SIZE], length: 0 }
    }
}

impl Magazines {
    /// Fills an empty magazine with 8 frames, or leaves it empty.
    fn refill(&self, magazine: &mut Magazine) -> bool {
        let mut list = self.global.0.lock();
        while magazine.length < SIZE {
            let Some(frame) = list.pop() else { break };
            magazine.frames[magazine.length] = frame;
            magazine.length += 1;
        }
        if magazine.length < SIZE {
            magazine.frames[..magazine.length].iter().rev().for_each(|&frame| list.push(frame));
            magazine.length = 0;
            return false;
        }
        drop(list);
        self.counts.0.held.fetch_add(SIZE as u64, Relaxed);
        true
    }

    fn free(&self, magazine: &mut Magazine) {
        let mut list = self.global.0.lock();
        magazine.frames[..magazine.length].iter().for_each(|&frame| list.push(frame));
        drop(list);
        self.counts.0.held.fetch_sub(magazine.length as u64, Relaxed);
        magazine.length = 0;
    }

    fn take(&self, pair: &mut Pair) -> Option<Frame> {
        if pair.magazines[pair.active].length > 0 {
            self.counts.0.hits.fetch_add(1, Relaxed);
        } else {
            let other = 1 - pair.active;
            if pair.magazines[other].length == 0 {
                self.counts.0.misses.fetch_add(1, Relaxed);
                if !self.refill(&mut pair.magazines[other]) {
                    return self.global.0.lock().pop();
                }
            }
            pair.active = other;
        }
        self.counts.0.held.fetch_sub(1, Relaxed);
        let magazine = &mut pair.magazines[pair.active];
        magazine.length -= 1;
        Some(magazine.frames[magazine.length])
    }

    fn give(&self, pair: &mut Pair, frame: Frame) {
        if pair.magazines[pair.active].length == SIZE {
            let other = 1 - pair.active;
            if pair.magazines[other].length > 0 {
                self.free(&mut pair.magazines[other]);
            }
            pair.active = other;
        }
        let magazine = &mut pair.magazines[pair.active];
        magazine.frames[magazine.length] = frame;
        magazine.length += 1;
        self.counts.0.held.fetch_add(1, Relaxed);
    }
}

impl Design for Magazines {
    const NAME: &'static str = "magazines-2x8";

    fn new(memory: &Memory) -> Self {
        Magazines {
            cpus: for_each_cpu(memory.cpus),
            counts: Padded::default(),
            global: Padded(GlobalMutex::new(memory)),
        }
    }

    unsafe fn get(&self, cpu: usize) -> Option<Frame> {
        // SAFETY: the caller's promise about its CPU; `take` does not call back.
        unsafe { self.cpus[cpu].0.with(|pair| self.take(pair)) }
    }

    unsafe fn put(&self, cpu: usize, frame: Frame) {
        // SAFETY: as in `get`.
        unsafe { self.cpus[cpu].0.with(|pair| self.give(pair, frame)) }
    }

    unsafe fn drain(&self, cpu: usize) {
        // SAFETY: as in `get`.
        unsafe { self.cpus[cpu].0.with(|pair| pair.magazines.iter_mut().for_each(|magazine| self.free(magazine))) }
    }

    fn held_most(&self) -> usize {
        2 * SIZE
    }

    fn counters(&self) -> Option<Counters> {
        let Padded(Counts { hits, misses, held }) = &self.counts;
        Some(Counters { hits: hits.load(Relaxed), misses: misses.load(Relaxed), held: held.load(Relaxed) })
    }
}
