// SPDX-License-Identifier: GPL-2.0-or-later
//! The end of a region, said to whoever started the emulator, so that the machine's memory can be looked at while it
//! stands still. The message is the physical address of the topmost page table of the CPU that ended it, with the least
//! byte first; 0 if it is not known.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::PathBuf;

/// Pipes to who looks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RegionEnd {
    /// Takes the message at the end of a region.
    pub(crate) say: PathBuf,
    /// Gives a byte when the machine may go on.
    pub(crate) go_on: PathBuf,
}

impl RegionEnd {
    /// Says the end, and waits until the machine may go on. Fails if nobody looks.
    pub(crate) fn show(&self, page_table: Option<u64>) -> io::Result<()> {
        // Both first: who looks may be gone.
        let (mut say, mut go_on) = (File::options().write(true).open(&self.say)?, File::open(&self.go_on)?);
        say.write_all(&page_table.unwrap_or(0).to_le_bytes())?;
        go_on.read(&mut [0]).map(|_| ())
    }
}

/// Whether the end of the region with that number, from 1, is shown. Looking takes time, and a program may have very many
/// regions: with each further look their number doubles.
pub(crate) fn is_shown(region: u32) -> bool {
    region.is_power_of_two()
}
