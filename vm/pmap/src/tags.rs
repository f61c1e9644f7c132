//! Numbers by which TLBs tell spaces apart: PCIDs of x86-64, ASIDs of AArch64 and RISC-V.
//!
//! There are fewer than spaces, so they are given out in *generations*. A space keeps its number
//! while the generation lasts. When none is left, a new generation begins: all are free again
//! except those of the spaces that run now, and each CPU flushes its whole TLB before it uses the
//! next number. A switch to a space of the current generation writes only the CPU's own line.

use crate::primitive::{AtomicBool, AtomicU64, relax};
use core::ops::Deref;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use faultline_memory::CpuNumber;

const NUMBER_BITS: u32 = 16;
const NUMBER: u64 = (1 << NUMBER_BITS) - 1;

/// A space's number and its generation. Fields: \[l] protected by the lock of [`Tags`], and read by
/// all.
#[derive(Debug)]
pub struct Tag(
    /// \[l] 0: none yet.
    AtomicU64,
);

impl Default for Tag {
    fn default() -> Self {
        Self(AtomicU64::new(0))
    }
}

/// A CPU's part, on a line of its own. Fields: \[a] changed by compare-and-swap of the CPU, or by a
/// swap of the lock's holder; \[l] protected by the lock.
#[derive(Debug)]
#[repr(align(64))]
pub struct CpuTag {
    /// \[a] Tag of the space that runs; 0 after a new generation has begun.
    running: AtomicU64,
    /// \[l] Tag of the space that ran when the generation began.
    kept: AtomicU64,
    /// \[l] True if the TLB has numbers of older generations.
    must_flush: AtomicBool,
}

impl Default for CpuTag {
    fn default() -> Self {
        Self { running: AtomicU64::new(0), kept: AtomicU64::new(0), must_flush: AtomicBool::new(false) }
    }
}

/// The number to switch to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Switch {
    /// The number.
    pub number: u16,
    /// Flush this CPU's TLB of all numbers first.
    pub must_flush: bool,
}

/// The numbers of a machine. `WORDS`: a 64th of their count: 64 for PCIDs, 1024 for ASIDs of 16
/// bits. Number 0 is not given out.
#[derive(Debug)]
pub struct Tags<C, const WORDS: usize> {
    cpus: C,
    numbers: u64,
    is_locked: AtomicBool,
    /// \[l]
    generation: AtomicU64,
    /// \[l] A bit for each number that is in use.
    used: [AtomicU64; WORDS],
}

impl<C: Deref<Target = [CpuTag]>, const WORDS: usize> Tags<C, WORDS> {
    /// Numbers below `numbers`. `None` if they do not fit in `WORDS`, or are not at least two more
    /// than CPUs.
    pub fn new(cpus: C, numbers: u64) -> Option<Self> {
        let fits = numbers <= WORDS as u64 * 64 && numbers <= NUMBER + 1 && numbers >= cpus.len() as u64 + 2;
        fits.then(|| Self {
            cpus,
            numbers,
            is_locked: AtomicBool::new(false),
            generation: AtomicU64::new(1),
            used: core::array::from_fn(|index| AtomicU64::new(u64::from(index == 0))),
        })
    }

    /// Called by a CPU that switches to a space. `None` if there is no such CPU.
    pub fn switch(&self, cpu: CpuNumber, tag: &Tag) -> Option<Switch> {
        let own = self.cpus.get(cpu.0 as usize)?;
        // Relaxed: if a new generation begins, it finds this CPU's tag, or takes the old one, and
        // the compare-and-swap fails.
        let (now, running) = (tag.0.load(Relaxed), own.running.load(Relaxed));
        if running != 0
            && now >> NUMBER_BITS == self.generation.load(Relaxed)
            && own.running.compare_exchange(running, now, AcqRel, Relaxed).is_ok()
        {
            return Some(Switch { number: (now & NUMBER) as u16, must_flush: false });
        }
        // Acquire, Release: the holder's stores.
        while self.is_locked.compare_exchange(false, true, Acquire, Relaxed).is_err() {
            relax();
        }
        // Relaxed: protected by the lock.
        let now = tag.0.load(Relaxed);
        let now = if now >> NUMBER_BITS == self.generation.load(Relaxed) { now } else { self.renewed(now) };
        tag.0.store(now, Relaxed);
        let must_flush = own.must_flush.swap(false, Relaxed);
        own.running.store(now, Relaxed);
        self.is_locked.store(false, Release);
        Some(Switch { number: (now & NUMBER) as u16, must_flush })
    }

    /// The tag in this generation of a space with an older one. The lock is held, and so are all
    /// relaxed accesses ordered.
    fn renewed(&self, old: u64) -> u64 {
        let tag = |number| self.generation.load(Relaxed) << NUMBER_BITS | number;
        // A space that ran when the generation began keeps its number.
        let mut is_kept = false;
        for cpu in self.cpus.iter().filter(|cpu| old != 0 && cpu.kept.load(Relaxed) == old) {
            cpu.kept.store(tag(old & NUMBER), Relaxed);
            is_kept = true;
        }
        if is_kept {
            return tag(old & NUMBER);
        }
        if let Some(number) = self.free_number() {
            return tag(number);
        }
        self.begin_generation();
        // There are more numbers than CPUs, so one is free.
        tag(self.free_number().unwrap_or(0))
    }

    fn begin_generation(&self) {
        self.generation.store(self.generation.load(Relaxed) + 1, Relaxed);
        for (used, index) in self.used.iter().zip(0..) {
            used.store(u64::from(index == 0), Relaxed);
        }
        for cpu in self.cpus.iter() {
            // AcqRel: either the CPU's compare-and-swap came before, and its tag is found, or it
            // fails. A CPU that has not switched since the last generation keeps the same.
            let running = cpu.running.swap(0, AcqRel);
            if running != 0 {
                cpu.kept.store(running, Relaxed);
            }
            self.take(cpu.kept.load(Relaxed) & NUMBER);
            cpu.must_flush.store(true, Relaxed);
        }
    }

    fn take(&self, number: u64) {
        if let Some(used) = self.used.get(number as usize / 64) {
            used.store(used.load(Relaxed) | 1 << (number % 64), Relaxed);
        }
    }

    /// Takes a free number.
    fn free_number(&self) -> Option<u64> {
        let mut words = self.used.iter().zip(0..);
        let free = words.find_map(|(used, index)| {
            let free = u64::from(used.load(Relaxed).trailing_ones());
            (free < 64).then_some(index * 64 + free)
        });
        free.filter(|number| *number < self.numbers).inspect(|number| self.take(*number))
    }
}
