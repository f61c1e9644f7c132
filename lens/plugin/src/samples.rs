// SPDX-License-Identifier: GPL-2.0-or-later
//! A sample of the transfers, each with the stack of its CPU, from which its callers are found
//! later. Independent of QEMU.
//!
//! The sample follows from the numbers of the transfers alone, so a machine that repeats itself has
//! the same sample. At first each transfer belongs to it. When the sample is full, about half of it
//! is dropped, and from then on half as many transfers belong. A number belongs by its hash: CPUs
//! in step repeat the same transfers in the same order, so every 64th transfer, for example, might
//! always be of the same kind.

/// Number of kept registers of a CPU, in the order of their DWARF numbers: `rax`, `rdx`, `rcx`,
/// `rbx`, `rsi`, `rdi`, `rbp`, `rsp`, `r8` to `r15`.
pub(crate) const REGISTERS: usize = 16;

/// A transfer, with the state of its CPU at the instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sample {
    pub(crate) cpu: u32,
    /// The instruction.
    pub(crate) site: u64,
    /// Number of the line that moved.
    pub(crate) line: u64,
    pub(crate) registers: [u64; REGISTERS],
    /// The kept words from the stack pointer upwards.
    pub(crate) stack: Vec<u64>,
}

/// The sample of a machine's transfers.
#[derive(Debug)]
pub(crate) struct Samples {
    most: usize,
    /// Transfers so far.
    transfers: u64,
    /// Number of times that the share of transfers was halved.
    halvings: u32,
    /// The kept transfers, each with its number among all transfers.
    kept: Vec<(u64, Sample)>,
}

impl Samples {
    /// An empty sample of at most that many transfers.
    pub(crate) fn new(most: usize) -> Self {
        Samples { most, transfers: 0, halvings: 0, kept: Vec::new() }
    }

    /// True if a sample is kept.
    pub(crate) fn is_wanted(&self) -> bool {
        self.most > 0
    }

    /// Counts a transfer. Returns true if it belongs to the sample: then call [`Samples::keep`].
    pub(crate) fn note(&mut self) -> bool {
        let number = self.transfers;
        self.transfers += 1;
        self.is_wanted() && belongs(number, self.halvings)
    }

    /// Keeps the transfer that was last noted.
    pub(crate) fn keep(&mut self, sample: Sample) {
        self.kept.push((self.transfers - 1, sample));
        while self.kept.len() > self.most {
            self.halvings += 1;
            let halvings = self.halvings;
            self.kept.retain(|&(number, _)| belongs(number, halvings));
        }
    }

    /// Number of transfers from which the sample was taken.
    pub(crate) fn transfers(&self) -> u64 {
        self.transfers
    }

    /// Number of transfers for each that belongs to the sample.
    pub(crate) fn one_in(&self) -> u64 {
        1 << self.halvings
    }

    /// The sample, in the order of the transfers.
    pub(crate) fn kept(&self) -> impl Iterator<Item = &Sample> {
        self.kept.iter().map(|(_, sample)| sample)
    }
}

/// True if the transfer with that number belongs to the sample after that many halvings.
fn belongs(number: u64, halvings: u32) -> bool {
    hash(number).trailing_zeros() >= halvings
}

/// Spreads numbers evenly: the finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
fn hash(number: u64) -> u64 {
    let mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sample of that many transfers. The site of a transfer is its number, and its line is its
    /// number modulo `lines`.
    fn of(transfers: u64, most: usize, lines: u64) -> Samples {
        let mut samples = Samples::new(most);
        for site in 0..transfers {
            if samples.note() {
                samples.keep(Sample { cpu: 0, site, line: site % lines, registers: [0; REGISTERS], stack: Vec::new() });
            }
        }
        samples
    }

    #[test]
    fn few_transfers_are_all_kept() {
        let samples = of(100, 100, 1);
        assert!(samples.kept().map(|sample| sample.site).eq(0..100));
        assert_eq!((samples.transfers(), samples.one_in()), (100, 1));
    }

    #[test]
    fn of_many_the_requested_number_is_kept() {
        for transfers in [1_000, 10_000, 100_000] {
            let samples = of(transfers, 256, 1);
            let kept = samples.kept().count() as u64;
            assert!((64..=256).contains(&kept), "{kept} of {transfers}");
            let stands_for = kept * samples.one_in();
            assert!(stands_for.abs_diff(transfers) < transfers / 3, "{kept} stand for {stands_for} of {transfers}");
        }
    }

    #[test]
    fn what_repeats_is_sampled_evenly() {
        let samples = of(100_000, 4096, 8);
        let all = samples.kept().count();
        for line in 0..8 {
            let of_line = samples.kept().filter(|sample| sample.line == line).count();
            assert!(of_line.abs_diff(all / 8) < all / 32, "{of_line} of {all} are of line {line}");
        }
    }

    #[test]
    fn none_are_kept_if_none_are_wanted() {
        let samples = of(1000, 0, 1);
        assert_eq!((samples.kept().count(), samples.is_wanted()), (0, false));
    }
}
