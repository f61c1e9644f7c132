//! Sets of CPUs: those on which a space is active, which a shoot-down must reach; and the users of
//! a page.

use crate::error::NoMemory;
use crate::primitive::{AtomicBool, fence, try_slice};
use alloc::boxed::Box;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use faultline_numbers::CpuNumber;

/// Maximum number of CPUs.
pub const MOST_CPUS: usize = 64 * WORDS;
#[cfg(not(all(loom, test)))]
const WORDS: usize = 4;
/// Small, so that loom can explore all interleavings.
#[cfg(all(loom, test))]
const WORDS: usize = 1;

/// A CPU's membership and data. Fields: \[a] written by the CPU alone.
#[derive(Debug)]
#[repr(align(64))]
struct Member<T> {
    /// \[a]
    is_in: AtomicBool,
    /// \[a]
    part: T,
}

/// A set of CPUs that each CPU enters and leaves itself. Each has a line of its own, so CPUs that
/// enter, leave or check their own membership share no line; only a CPU that asks others reads
/// theirs. With a part of up to 63 bytes, takes 64 bytes per CPU of the machine.
///
/// The handshake with a shoot-down: a CPU first enters, then reads page tables and nodes. A CPU
/// that changes them first writes, then reads the set ([`others_than`](Self::others_than)). Between
/// the two steps both have a sequentially consistent fence, so either the second CPU finds the
/// first in the set, or the first finds what the second wrote.
#[derive(Debug)]
pub(crate) struct ActiveCpus<T>(Box<[Member<T>]>);

impl<T: Default> ActiveCpus<T> {
    /// A set for CPUs with numbers below `cpus`.
    pub(crate) fn try_new(cpus: usize) -> Result<Self, NoMemory> {
        Ok(Self(try_slice(cpus, || Member { is_in: AtomicBool::new(false), part: T::default() })?))
    }

    #[inline]
    fn member(&self, cpu: CpuNumber) -> Option<&AtomicBool> {
        self.0.get(cpu.0 as usize).map(|member| &member.is_in)
    }

    /// A CPU's data, on the line of its membership.
    #[inline]
    pub(crate) fn part(&self, cpu: CpuNumber) -> Option<&T> {
        self.0.get(cpu.0 as usize).map(|member| &member.part)
    }

    /// Enters the set. Called by the CPU itself, before it uses the space.
    pub(crate) fn enter(&self, cpu: CpuNumber) {
        if let Some(is_in) = self.member(cpu) {
            // Relaxed: the fence orders it.
            is_in.store(true, Relaxed);
        }
        // Pairs with the fence in `others_than`.
        fence(SeqCst);
    }

    /// Leaves the set. Called by the CPU itself, when it no longer uses the space and has no
    /// translation of it.
    pub(crate) fn leave(&self, cpu: CpuNumber) {
        if let Some(is_in) = self.member(cpu) {
            // Release: the uses come before; pairs with the fence in `others_than`.
            is_in.store(false, Release);
        }
    }

    /// True if the CPU is in the set. Called by the CPU itself.
    #[inline]
    pub(crate) fn has(&self, cpu: CpuNumber) -> bool {
        // Relaxed: only the CPU itself changes it.
        self.member(cpu).is_some_and(|is_in| is_in.load(Relaxed))
    }

    /// The other members among `asked`. Called by a CPU that has changed page tables or nodes.
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
        // Acquire: pairs with the release in `leave`: a CPU not found has finished its uses of the
        // space.
        fence(Acquire);
        set
    }

    pub(crate) fn is_empty(&self) -> bool {
        // Relaxed: only the caller has the space.
        !self.0.iter().any(|member| member.is_in.load(Relaxed))
    }
}

/// A set of CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuSet([u64; WORDS]);

impl CpuSet {
    pub(crate) const NONE: Self = Self([0; WORDS]);
    pub(crate) const ALL: Self = Self([u64::MAX; WORDS]);

    pub(crate) fn of(cpu: CpuNumber) -> Self {
        let mut set = Self::NONE;
        set.add(cpu);
        set
    }

    /// All CPUs except one.
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

    /// The union of both sets.
    pub(crate) fn with(self, other: &Self) -> Self {
        Self(core::array::from_fn(|index| {
            self.0.get(index).copied().unwrap_or(0) | other.0.get(index).copied().unwrap_or(0)
        }))
    }

    /// True if the set is empty.
    pub fn is_empty(&self) -> bool {
        self.0 == [0; WORDS]
    }

    /// Number of CPUs.
    pub fn len(&self) -> u64 {
        self.0.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// CPU numbers in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = CpuNumber> + use<> {
        (0_u32..).zip(self.0).flat_map(|(index, word)| {
            // Clears the lowest set bit until none is left.
            let words = core::iter::successors(Some(word), |word| Some(word & word.wrapping_sub(1)));
            words.take_while(|word| *word != 0).map(move |word| CpuNumber(index * 64 + word.trailing_zeros()))
        })
    }
}

/// Users of a page, in a few bits of a slot: the CPUs whose page tables or TLBs may have a
/// translation.
///
/// None, one CPU, or several. Several are recorded as groups by their numbers modulo 8: up to eight
/// CPUs are known exactly, and with 32 CPUs each group stands for four. Asking a CPU without the
/// translation only costs time.
///
/// 0: none. 1…256: exactly the CPU with this number less 1. Above: several, in the groups whose
/// bits are set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Users(u16);

const SEVERAL: u16 = 0x100;
const GROUPS: u32 = 8;

const _: () = assert!(crate::cpu_set::MOST_CPUS <= SEVERAL as usize && SEVERAL == 1 << GROUPS);

impl Users {
    pub(crate) const NONE: Self = Self(0);
    /// Number of bits.
    pub(crate) const BITS: u32 = GROUPS + 1;

    /// From the bits returned by `bits`.
    #[inline]
    pub(crate) fn from_bits(bits: usize) -> Self {
        Self(bits as u16 & ((1 << Self::BITS) - 1))
    }

    #[inline]
    pub(crate) fn bits(self) -> usize {
        self.0.into()
    }

    fn of(cpu: CpuNumber) -> Self {
        Self(cpu.0 as u16 + 1)
    }

    fn group(cpu: CpuNumber) -> u16 {
        1 << (cpu.0 % GROUPS)
    }

    #[inline]
    pub(crate) fn is_none(self) -> bool {
        self.0 == 0
    }

    /// The CPU, if there is exactly one.
    #[inline]
    pub(crate) fn only(self) -> Option<CpuNumber> {
        (1..=SEVERAL).contains(&self.0).then(|| CpuNumber(u32::from(self.0) - 1))
    }

    /// This set with another CPU added.
    #[inline]
    pub(crate) fn with(self, cpu: CpuNumber) -> Self {
        match self.only() {
            None if self.is_none() => Self::of(cpu),
            None => Self(self.0 | Self::group(cpu)),
            Some(only) if only == cpu => self,
            Some(only) => Self(SEVERAL | Self::group(only) | Self::group(cpu)),
        }
    }

    /// True if the CPU may be in the set.
    #[inline]
    pub(crate) fn may_be(self, cpu: CpuNumber) -> bool {
        match self.only() {
            None => self.0 & Self::group(cpu) != 0,
            Some(only) => only == cpu,
        }
    }

    /// Possible members with numbers below `cpus`.
    pub(crate) fn among(self, cpus: u32) -> impl Iterator<Item = CpuNumber> {
        let (first, end) = match self.only() {
            None if self.is_none() => (0, 0),
            None => (0, cpus),
            Some(CpuNumber(only)) => (only, only + 1),
        };
        (first..end).map(CpuNumber).filter(move |cpu| self.may_be(*cpu))
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

    #[test]
    fn one_cpu_is_known_exactly_and_of_several_none_is_missed() {
        let numbers = |users: Users, cpus| users.among(cpus).map(|cpu| cpu.0).collect::<Vec<_>>();
        assert!(numbers(Users::NONE, 256).is_empty() && !Users::NONE.may_be(CpuNumber(0)));
        for first in 0..256 {
            let one = Users::NONE.with(CpuNumber(first));
            assert_eq!((numbers(one, 256), one.with(CpuNumber(first))), (Vec::from([first]), one));
            for second in (0..256).filter(|second| *second != first) {
                let two = one.with(CpuNumber(second));
                assert_eq!(two.only(), None);
                assert_eq!(Users::from_bits(two.bits()), two);
                assert!(two.may_be(CpuNumber(first)) && two.may_be(CpuNumber(second)) && !two.is_none());
                assert!(two.may_be(CpuNumber((first + 1) % 8)) == (second % 8 == (first + 1) % 8));
            }
        }
        let some = [3, 5, 7].into_iter().fold(Users::NONE, |users, cpu| users.with(CpuNumber(cpu)));
        assert_eq!(numbers(some, 8), [3, 5, 7], "up to eight CPUs are known exactly");
        assert_eq!(numbers(some, 14), [3, 5, 7, 11, 13]);
    }
}
