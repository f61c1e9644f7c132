//! Which CPUs may have a translation of a page: what a slot says of it, in a few bits.
//!
//! No CPU, exactly one, or several. Of several it is known in which of eight groups they are, by their numbers modulo 8: so up to eight CPUs are
//! known exactly, and of 32 CPUs each stands for four. Whoever is asked to forget a translation that it does not have loses some time, and nothing else.

use faultline_numbers::CpuNumber;

/// The CPUs whose page tables or TLBs may have a translation.
///
/// 0: none. 1…256: exactly the CPU with this number less 1. Above: several, in the groups whose bits are set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Users(u16);

const SEVERAL: u16 = 0x100;
const GROUPS: u32 = 8;

const _: () = assert!(crate::cpu_set::MOST_CPUS <= SEVERAL as usize && SEVERAL == 1 << GROUPS);

impl Users {
    pub(crate) const NONE: Self = Self(0);
    /// How many bits they take.
    pub(crate) const BITS: u32 = GROUPS + 1;

    /// From bits that `bits` has returned.
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

    /// The CPU, if it is one.
    #[inline]
    pub(crate) fn only(self) -> Option<CpuNumber> {
        (1..=SEVERAL).contains(&self.0).then(|| CpuNumber(u32::from(self.0) - 1))
    }

    /// With another CPU.
    #[inline]
    pub(crate) fn with(self, cpu: CpuNumber) -> Self {
        match self.only() {
            None if self.is_none() => Self::of(cpu),
            None => Self(self.0 | Self::group(cpu)),
            Some(only) if only == cpu => self,
            Some(only) => Self(SEVERAL | Self::group(only) | Self::group(cpu)),
        }
    }

    /// Whether a CPU may be one of them.
    #[inline]
    pub(crate) fn may_be(self, cpu: CpuNumber) -> bool {
        match self.only() {
            None => self.0 & Self::group(cpu) != 0,
            Some(only) => only == cpu,
        }
    }

    /// Those that may be one of them, of CPUs with numbers below `cpus`.
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
