// SPDX-License-Identifier: GPL-2.0-or-later
//! The program's file and its load address, so that a reader of the report can find names for addresses.

use object::{Object, ObjectSegment, SegmentFlags, elf};
use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Program {
    /// Its file, as given on the command line.
    pub(crate) path: PathBuf,
    /// Subtract it from an address to get the address in the file's symbols. None if the file cannot be read.
    pub(crate) load_base: Option<u64>,
}

impl Program {
    /// The program at that path, whose code begins at `code` in memory.
    pub(crate) fn new(path: &CStr, code: u64) -> Self {
        let path = Path::new(OsStr::from_bytes(path.to_bytes())).to_path_buf();
        let bytes = std::fs::read(&path).ok();
        let load_base = bytes.as_deref().and_then(first_code).map(|first| code.wrapping_sub(first));
        Program { path, load_base }
    }
}

/// The address in the file at which the code begins: its lowest executable segment, as in QEMU.
fn first_code(bytes: &[u8]) -> Option<u64> {
    let file = object::File::parse(bytes).ok()?;
    let is_code = |flags| matches!(flags, SegmentFlags::Elf { p_flags } if p_flags & elf::PF_X != 0);
    file.segments().filter(|segment| is_code(segment.flags())).map(|segment| segment.address()).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_test_s_code_begins_somewhere_and_a_text_s_nowhere() {
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert!(first_code(&own).unwrap() > 0);
        assert_eq!(first_code(b"#!/bin/sh\n"), None);
    }
}
