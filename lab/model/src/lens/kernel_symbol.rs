//! A symbol of a kernel, and its text form where symbols are saved: `ADDRESS KIND NAME`, as in
//! `/proc/kallsyms`.

use std::fmt;
use std::str::FromStr;

/// A symbol of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelSymbol {
    /// Its virtual address; for a per-CPU variable, the offset within a CPU's own area.
    pub address: u64,
    /// Its kind, as in `nm`: `t` and `T` code, `d` and `D` data, …
    pub kind: char,
    /// Its name.
    pub name: String,
}

/// A line that is not a symbol.
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
