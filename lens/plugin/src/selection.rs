// SPDX-License-Identifier: GPL-2.0-or-later
//! Which code is counted, by its address, and whose region marks are obeyed.

use crate::address::KERNEL;
use std::ops::Range;
use std::str::FromStr;

/// The code that is counted. The caches are modelled for all code in any case, so a line that the kernel took from a
/// program moves back when the program touches it again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Selection {
    /// All code.
    Everything,
    /// A program that runs in a machine, with all processes that it starts.
    Program {
        /// The code of the process that starts the program. No program has code there.
        agent: CodeRange,
        /// The kernel is counted too.
        kernel_too: bool,
    },
}

/// A range of code addresses, written `FROM-TO` in hexadecimal; TO is not included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CodeRange(Range<u64>);

impl FromStr for CodeRange {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (from, to) = text.split_once('-').ok_or(())?;
        let number = |text| u64::from_str_radix(text, 16).map_err(|_| ());
        let range = number(from)?..number(to)?;
        if range.is_empty() || range.end > KERNEL { Err(()) } else { Ok(CodeRange(range)) }
    }
}

impl Selection {
    /// Whether a program in a machine is counted, and not the whole machine.
    pub(crate) fn is_program(&self) -> bool {
        *self != Selection::Everything
    }

    /// Whether code at that address is counted.
    #[inline]
    pub(crate) fn counts(&self, code: u64) -> bool {
        match self {
            Selection::Everything => true,
            Selection::Program { kernel_too, .. } if code >= KERNEL => *kernel_too,
            Selection::Program { agent, .. } => !agent.0.contains(&code),
        }
    }

    /// Whether a region mark at that address begins or ends a region. If the whole run of a program in a machine is
    /// counted, only the agent's marks do; otherwise those of the program do too.
    pub(crate) fn obeys_mark(&self, code: u64, whole: bool) -> bool {
        match self {
            Selection::Program { agent, .. } if whole => agent.0.contains(&code),
            _ => !whole || self.is_program(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(kernel_too: bool) -> Selection {
        Selection::Program { agent: "10000000000-10000100000".parse().unwrap(), kernel_too }
    }

    const AGENT: u64 = 0x100_0000_0010;
    const PROGRAM: u64 = 0x40_1000;
    const KERNEL_CODE: u64 = 0xffff_ffff_8100_0000;

    #[test]
    fn the_agent_is_never_counted_and_the_kernel_on_request() {
        let counted = |selection: &Selection| [AGENT, PROGRAM, KERNEL_CODE].map(|code| selection.counts(code));
        assert_eq!(counted(&program(false)), [false, true, false]);
        assert_eq!(counted(&program(true)), [false, true, true]);
        assert_eq!(counted(&Selection::Everything), [true; 3]);
    }

    #[test]
    fn marks_of_a_whole_run_are_the_agents() {
        let obeyed = |whole| [AGENT, PROGRAM].map(|code| program(false).obeys_mark(code, whole));
        assert_eq!((obeyed(false), obeyed(true)), ([true, true], [true, false]));
        assert!(Selection::Everything.obeys_mark(PROGRAM, false) && !Selection::Everything.obeys_mark(PROGRAM, true));
    }

    #[test]
    fn nonsense_is_no_range() {
        for text in ["", "1000", "2000-1000", "1000-1000", "x-y", "0-ffffffffffffffff"] {
            assert_eq!(text.parse::<CodeRange>(), Err(()), "{text}");
        }
    }
}
