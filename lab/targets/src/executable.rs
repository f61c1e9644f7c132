//! The kind of program in a file: architecture, linking, and operating system.

use object::elf;
use object::read::elf::{FileHeader, ProgramHeader};
use std::ops::Range;

/// An ELF program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Executable {
    pub(crate) architecture: Architecture,
    pub(crate) linking: Linking,
    /// The BSD that the program is for; `None` for Linux programs, which do not say so.
    pub(crate) system: Option<&'static str>,
}

/// Owners of the notes that mark programs of the BSDs: the systems' names, as `uname -s` prints
/// them.
const BSDS: [&str; 4] = ["FreeBSD", "NetBSD", "OpenBSD", "DragonFly"];

/// The architecture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Architecture {
    X86_64,
    /// 32-bit x86.
    I386,
    /// Another architecture, by its number in ELF.
    Other(u16),
}

impl Architecture {
    /// Architecture of the file.
    pub(crate) fn of<H: FileHeader>(header: &H, endian: H::Endian) -> Self {
        match (header.e_machine(endian), header.is_class_64()) {
            (elf::EM_X86_64, true) => Architecture::X86_64,
            (elf::EM_386, _) => Architecture::I386,
            (other, _) => Architecture::Other(other),
        }
    }
}

/// Linking: with or without a dynamic loader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Linking {
    Static,
    Dynamic,
}

impl Executable {
    /// Reads a program's headers. Fails with a sentence fragment if the file is not an ELF program.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, String> {
        if bytes.starts_with(b"#!") {
            return Err("it is a script, not a program".to_owned());
        }
        let class = bytes.get(4).filter(|_| bytes.starts_with(&elf::ELFMAG));
        let read = match class.copied() {
            Some(elf::ELFCLASS64) => Self::of::<elf::FileHeader64<object::Endianness>>(bytes),
            Some(elf::ELFCLASS32) => Self::of::<elf::FileHeader32<object::Endianness>>(bytes),
            _ => return Err("it is not a program in ELF".to_owned()),
        };
        read.map_err(|error| format!("its ELF headers can't be read: {error}"))?
            .ok_or_else(|| "it is an object or a core, not a program".to_owned())
    }

    fn of<H: FileHeader<Endian = object::Endianness>>(bytes: &[u8]) -> object::Result<Option<Self>> {
        let header = H::parse(bytes)?;
        let endian = header.endian()?;
        if !matches!(header.e_type(endian), elf::ET_EXEC | elf::ET_DYN) {
            return Ok(None);
        }
        let architecture = Architecture::of(header, endian);
        let segments = header.program_headers(endian, bytes)?;
        let needs_loader = segments.iter().any(|segment| segment.p_type(endian) == elf::PT_INTERP);
        let linking = if needs_loader { Linking::Dynamic } else { Linking::Static };
        let system = segments.iter().find_map(|segment| bsd_of(segment, endian, bytes));
        Ok(Some(Executable { architecture, linking, system }))
    }
}

/// The BSD that owns a note of this segment.
fn bsd_of<P: ProgramHeader>(segment: &P, endian: P::Endian, bytes: &[u8]) -> Option<&'static str> {
    let mut notes = segment.notes(endian, bytes).ok()??;
    while let Ok(Some(note)) = notes.next() {
        if let Some(bsd) = BSDS.into_iter().find(|bsd| note.name() == bsd.as_bytes()) {
            return Some(bsd);
        }
    }
    None
}

/// Address range of a 64-bit program's code, from its segments; `None` without code.
pub(crate) fn code_range(bytes: &[u8]) -> Option<Range<u64>> {
    let header = elf::FileHeader64::<object::Endianness>::parse(bytes).ok()?;
    let endian = header.endian().ok()?;
    let segments = header.program_headers(endian, bytes).ok()?;
    let is_code = |segment: &&elf::ProgramHeader64<_>| {
        segment.p_type(endian) == elf::PT_LOAD && segment.p_flags(endian) & elf::PF_X != 0
    };
    let ranges = segments.iter().filter(is_code).map(|segment| {
        let from = segment.p_vaddr(endian);
        from..from.saturating_add(segment.p_memsz(endian))
    });
    ranges.reduce(|one, other| one.start.min(other.start)..one.end.max(other.end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_test_is_a_program() {
        let bytes = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let executable = Executable::read(&bytes).unwrap();
        assert_eq!(executable.linking, Linking::Dynamic);
        if cfg!(target_arch = "x86_64") {
            assert_eq!(executable.architecture, Architecture::X86_64);
        }
    }

    #[test]
    fn this_tests_code_is_somewhere_and_a_texts_nowhere() {
        let bytes = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert!(code_range(&bytes).is_some_and(|range| !range.is_empty()));
        assert_eq!(code_range(b"#!/bin/sh\n"), None);
    }

    /// A program with one segment, which has a note of this owner.
    fn with_note(owner: &str) -> Vec<u8> {
        let mut note = Vec::new();
        note.extend(u32::try_from(owner.len() + 1).unwrap().to_le_bytes());
        note.extend([4_u32.to_le_bytes(), 1_u32.to_le_bytes()].concat());
        note.extend(owner.bytes());
        note.push(0);
        note.resize(note.len().next_multiple_of(4), 0);
        note.extend(0_u32.to_le_bytes());
        let mut bytes = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\x3e\0\x01\0\0\0".to_vec();
        // The program headers begin after this one; there is one of 56 bytes.
        bytes.extend([0_u64, 64, 0].map(u64::to_le_bytes).concat());
        bytes.extend(0_u32.to_le_bytes());
        bytes.extend([64_u16, 56, 1, 64, 0, 0].map(u16::to_le_bytes).concat());
        bytes.extend([elf::PT_NOTE, elf::PF_R].map(u32::to_le_bytes).concat());
        let length = note.len() as u64;
        bytes.extend([120, 120, 120, length, length, 4].map(u64::to_le_bytes).concat());
        bytes.extend(note);
        bytes
    }

    #[test]
    fn programs_of_the_bsds_say_so() {
        for system in BSDS {
            assert_eq!(Executable::read(&with_note(system)).unwrap().system, Some(system));
        }
        assert_eq!(Executable::read(&with_note("GNU")).unwrap().system, None);
    }

    #[test]
    fn other_files_are_none() {
        assert!(Executable::read(b"#!/bin/sh\n").unwrap_err().contains("script"));
        assert!(Executable::read(b"").unwrap_err().contains("not a program in ELF"));
        assert!(Executable::read(b"\x7fELF\x02").unwrap_err().contains("can't be read"));
        let mut other = vec![0; 64];
        other[..20].copy_from_slice(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\xb7\0");
        assert_eq!(Executable::read(&other).map(|it| it.architecture), Ok(Architecture::Other(elf::EM_AARCH64)));
    }
}
