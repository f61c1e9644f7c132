//! The counted guest's kernel: its symbols, and the physical memory of the paused machine.

use std::fmt;
use std::str::FromStr;

/// A symbol of a kernel. Its text form, where symbols are saved: `ADDRESS KIND NAME`, as in
/// `/proc/kallsyms`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelSymbol {
    /// The symbol's virtual address; for a per-CPU variable, its offset within a CPU's area.
    pub address: u64,
    /// The symbol's kind, as in `nm`: `t` and `T` code, `d` and `D` data, …
    pub kind: char,
    /// The symbol's name.
    pub name: String,
}

/// Error: a line that is not a symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not 'ADDRESS KIND NAME'")]
pub struct NoKernelSymbol;

impl fmt::Display for KernelSymbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x} {} {}", self.address, self.kind, self.name)
    }
}

impl FromStr for KernelSymbol {
    type Err = NoKernelSymbol;

    fn from_str(line: &str) -> Result<Self, NoKernelSymbol> {
        let mut words = line.splitn(3, ' ');
        let mut next = || words.next().filter(|word| !word.is_empty()).ok_or(NoKernelSymbol);
        let address = u64::from_str_radix(next()?, 16).map_err(|_| NoKernelSymbol)?;
        let mut letters = next()?.chars();
        let (Some(kind), None) = (letters.next(), letters.next()) else { return Err(NoKernelSymbol) };
        Ok(KernelSymbol { address, kind, name: next()?.to_owned() })
    }
}

/// The physical memory of a paused machine. `targets` implements access to it, and `symbols` reads
/// it.
pub trait PhysicalMemory {
    /// One past the highest address.
    fn end(&self) -> u64;

    /// Fills `bytes` from `address` on. Returns false if a part of the range is not memory.
    fn read(&self, address: u64, bytes: &mut [u8]) -> bool;

    /// The physical address of the topmost page table of the CPU that ended the counted part;
    /// `None` if it is not known, or if the CPU ran a process that is not counted.
    fn page_table(&self) -> Option<u64> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_symbol_is_the_same_after_its_line() {
        let symbol = KernelSymbol { address: u64::MAX, kind: 't', name: "y.constprop.0".into() };
        assert_eq!(symbol.to_string(), "ffffffffffffffff t y.constprop.0");
        assert_eq!(symbol.to_string().parse(), Ok(symbol));
    }

    #[test]
    fn other_lines_are_refused() {
        for line in ["", "nonsense", "ffffffff81000000 T", "ffffffff81000000 TT a", "xyz T a", "ffffffff81000000 T "] {
            assert_eq!(line.parse::<KernelSymbol>(), Err(NoKernelSymbol), "{line}");
        }
    }
}
