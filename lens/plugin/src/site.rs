// SPDX-License-Identifier: GPL-2.0-or-later
//! An accessing instruction, packed into the one word that QEMU passes back with each of its accesses.

/// Bit 62 of a canonical x86 address equals bit 63, so it can carry a flag.
const FLAG: u64 = 1 << 62;

/// An instruction: its address, and whether its accesses are atomic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Site {
    pub(crate) address: u64,
    pub(crate) is_atomic: bool,
}

impl Site {
    /// Packs it into a word.
    pub(crate) fn pack(self) -> usize {
        let flag = if self.is_atomic { FLAG } else { 0 };
        (self.address & !FLAG | flag) as usize
    }

    /// From a word that [`Site::pack`] made.
    pub(crate) fn unpack(word: usize) -> Self {
        let word = word as u64;
        Site { address: word & !FLAG | (word >> 1 & FLAG), is_atomic: word & FLAG != 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_programs_and_kernels_come_back() {
        for address in [0, 0x40_1000, 0x7fff_ffff_f000, 0xffff_8880_0000_0000, u64::MAX] {
            for is_atomic in [false, true] {
                let site = Site { address, is_atomic };
                assert_eq!(Site::unpack(site.pack()), site);
            }
        }
    }
}
