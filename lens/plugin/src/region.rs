// SPDX-License-Identifier: GPL-2.0-or-later
//! Regions of interest: the code that is counted, the marks that begin and end a region, and the
//! report of a region's end.

use crate::address::KERNEL;
use std::fs::File;
use std::io::{self, Read, Write};
use std::ops::Range;
use std::path::PathBuf;
use std::str::FromStr;

/// The code that is counted. The caches are modelled for all code, so a line that the kernel took
/// from a program moves back when the program touches it again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Selection {
    /// All code.
    Everything,
    /// A program that runs in a machine, with all processes that it starts.
    Program {
        /// Code of the process that starts the program. The program has no code there.
        agent: CodeRange,
        /// Count the kernel too.
        kernel_too: bool,
    },
}

/// A range of code addresses, written `FROM-TO` in hexadecimal; TO is exclusive.
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
    /// True if a program in a machine is counted, and not the whole machine.
    pub(crate) fn is_program(&self) -> bool {
        *self != Selection::Everything
    }

    /// True if code at that address is counted.
    #[inline]
    pub(crate) fn counts(&self, code: u64) -> bool {
        match self {
            Selection::Everything => true,
            Selection::Program { kernel_too, .. } if code >= KERNEL => *kernel_too,
            Selection::Program { agent, .. } => !agent.0.contains(&code),
        }
    }

    /// True if a region mark at that address begins or ends a region. If the whole run of a program
    /// in a machine is counted, only the agent's marks do; otherwise those of the program do too.
    pub(crate) fn obeys_mark(&self, code: u64, whole: bool) -> bool {
        match self {
            Selection::Program { agent, .. } if whole => agent.0.contains(&code),
            _ => !whole || self.is_program(),
        }
    }
}

/// Pipes to the process that inspects the machine's memory at the end of a region. The machine
/// stands still meanwhile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RegionEnd {
    /// Receives the message at the end of a region: the physical address of the topmost page table
    /// of the CPU that ended it, 8 bytes, least significant byte first; 0 if it is not known, or
    /// if the CPU ran a process that is not counted.
    pub(crate) say: PathBuf,
    /// Supplies a byte when the machine may continue.
    pub(crate) go_on: PathBuf,
}

impl RegionEnd {
    /// Reports the end, and waits until the machine may continue. Fails if no process reads the
    /// message.
    pub(crate) fn show(&self, page_table: Option<u64>) -> io::Result<()> {
        // Opens both first: the other process may be gone.
        let (mut say, mut go_on) = (File::options().write(true).open(&self.say)?, File::open(&self.go_on)?);
        say.write_all(&page_table.unwrap_or(0).to_le_bytes())?;
        go_on.read(&mut [0]).map(|_| ())
    }
}

/// True if the end of the region with that number, from 1, is reported. Each inspection takes time,
/// and a program may have very many regions: the number of regions between two inspections doubles.
pub(crate) fn is_end_shown(region: u32) -> bool {
    region.is_power_of_two()
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
