//! The CPUs on which a space is active: those that a shoot-down must reach.

use crate::allocation::try_slice;
use crate::error::NoMemory;
use crate::primitive::{AtomicBool, fence};
use alloc::boxed::Box;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use faultline_numbers::CpuNumber;

/// Maximum number of CPUs.
pub const MOST_CPUS: usize = 64 * WORDS;
#[cfg(not(all(loom, test)))]
const WORDS: usize = 4;
/// Small, so that all interleavings can be explored.
#[cfg(all(loom, test))]
const WORDS: usize = 1;

/// Whether a CPU is in the set, and what else is known of it. Fields: \[a] written by the CPU alone.
#[derive(Debug)]
#[repr(align(64))]
struct Member<T> {
    /// \[a]
    is_in: AtomicBool,
    /// \[a]
    part: T,
}

/// A set of CPUs that each CPU enters and leaves by itself. Each has a line of its own: so those that enter and leave, and calls, which look whether
/// their own CPU is in the set, write and read no common line; only who must ask others reads theirs. Takes 64 bytes for each CPU of the machine.
///
/// The handshake with a shoot-down: a CPU first enters, then reads page tables and nodes. A CPU that changes them first
/// writes, then reads the set ([`others_than`](Self::others_than)). Between the two steps both have a sequentially consistent
/// fence, so either the second CPU finds the first in the set, or the first finds what the second wrote.
#[derive(Debug)]
pub(crate) struct ActiveCpus<T>(Box<[Member<T>]>);

impl<T: Default> ActiveCpus<T> {
    /// For CPUs with numbers below `cpus`.
    pub(crate) fn try_new(cpus: usize) -> Result<Self, NoMemory> {
        Ok(Self(try_slice(cpus, || Member { is_in: AtomicBool::new(false), part: T::default() })?))
    }

    #[inline]
    fn member(&self, cpu: CpuNumber) -> Option<&AtomicBool> {
        self.0.get(cpu.0 as usize).map(|member| &member.is_in)
    }

    /// What is known of a CPU, on the line that says whether it is in the set.
    #[inline]
    pub(crate) fn part(&self, cpu: CpuNumber) -> Option<&T> {
        self.0.get(cpu.0 as usize).map(|member| &member.part)
    }

    /// For a CPU, before it uses the space.
    pub(crate) fn enter(&self, cpu: CpuNumber) {
        if let Some(is_in) = self.member(cpu) {
            // Relaxed: the fence orders it.
            is_in.store(true, Relaxed);
        }
        // Pairs with the fence in `others_than`.
        fence(SeqCst);
    }

    /// For a CPU that no longer uses the space, and has no translation of it.
    pub(crate) fn leave(&self, cpu: CpuNumber) {
        if let Some(is_in) = self.member(cpu) {
            // Release: the uses come before; pairs with the fence in `others_than`.
            is_in.store(false, Release);
        }
    }

    /// For a CPU: whether it is in the set.
    #[inline]
    pub(crate) fn has(&self, cpu: CpuNumber) -> bool {
        // Relaxed: only the CPU itself changes it.
        self.member(cpu).is_some_and(|is_in| is_in.load(Relaxed))
    }

    /// The others that are among `asked`, for a CPU that has changed page tables or nodes before.
    pub(crate) fn others_than(&self, cpu: CpuNumber, asked: &CpuSet) -> CpuSet {
        let asked = asked.without(cpu);
        if asked.is_empty() {
            return asked;
        }
        // SeqCst: pairs with the fence in `enter`.
        fence(SeqCst);
        let mut set = CpuSet::NONE;
        for other in asked.iter().take_while(|other| (other.0 as usize) < self.0.len()) {
            if self.member(other).is_some_and(|is_in| is_in.load(Relaxed)) {
                set.add(other);
            }
        }
        // Acquire: pairs with the release in `leave`: what a CPU that was not found did in the space is over.
        fence(Acquire);
        set
    }

    pub(crate) fn is_empty(&self) -> bool {
        // Relaxed: for a space that only the caller has.
        !self.0.iter().any(|member| member.is_in.load(Relaxed))
    }
}

/// CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuSet([u64; WORDS]);

impl CpuSet {
    pub(crate) const NONE: Self = Self([0; WORDS]);
    pub(crate) const ALL: Self = Self([u64::MAX; WORDS]);

    /// One CPU.
    pub(crate) fn of(cpu: CpuNumber) -> Self {
        let mut set = Self::NONE;
        set.add(cpu);
        set
    }

    /// Those that are not in the other.
    pub(crate) fn except(self, other: &Self) -> Self {
        Self(core::array::from_fn(|index| {
            self.0.get(index).copied().unwrap_or(0) & !other.0.get(index).copied().unwrap_or(0)
        }))
    }

    /// All but one.
    fn without(mut self, cpu: CpuNumber) -> Self {
        if let Some(word) = self.0.get_mut(cpu.0 as usize / 64) {
            *word &= !(1 << (cpu.0 % 64));
        }
        self
    }

    /// Adds a CPU.
    pub(crate) fn add(&mut self, cpu: CpuNumber) {
        if let Some(word) = self.0.get_mut(cpu.0 as usize / 64) {
            *word |= 1 << (cpu.0 % 64);
        }
    }

    /// All of both.
    pub(crate) fn with(self, other: &Self) -> Self {
        Self(core::array::from_fn(|index| {
            self.0.get(index).copied().unwrap_or(0) | other.0.get(index).copied().unwrap_or(0)
        }))
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0 == [0; WORDS]
    }

    /// How many.
    pub fn len(&self) -> u64 {
        self.0.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// Their numbers, in order.
    pub fn iter(&self) -> impl Iterator<Item = CpuNumber> + use<> {
        (0_u32..).zip(self.0).flat_map(|(index, word)| {
            // Without its lowest bit, until none is left.
            let words = core::iter::successors(Some(word), |word| Some(word & word.wrapping_sub(1)));
            words.take_while(|word| *word != 0).map(move |word| CpuNumber(index * 64 + word.trailing_zeros()))
        })
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn who_enters_is_found_until_it_leaves() {
        let active = ActiveCpus::<()>::try_new(256).unwrap();
        [3, 64, 255].into_iter().for_each(|cpu| active.enter(CpuNumber(cpu)));
        assert!(active.has(CpuNumber(64)) && !active.has(CpuNumber(65)) && !active.has(CpuNumber(256)));
        let others = active.others_than(CpuNumber(3), &CpuSet::ALL);
        assert_eq!((others.iter().map(|cpu| cpu.0).collect::<Vec<_>>(), others.len()), (Vec::from([64, 255]), 2));
        [64, 255].into_iter().for_each(|cpu| active.leave(CpuNumber(cpu)));
        assert!(active.others_than(CpuNumber(3), &CpuSet::ALL).is_empty() && !active.is_empty());
        let asked = active.others_than(CpuNumber(4), &CpuSet::of(CpuNumber(3)).with(&CpuSet::of(CpuNumber(5))));
        assert_eq!(asked, CpuSet::of(CpuNumber(3)));
    }
}
