//! What an ELF file for x86-64 or 32-bit x86 asks of the dynamic loader.

use crate::executable::Architecture;
use object::Endianness;
use object::elf::{self, FileHeader32, FileHeader64};
use object::read::elf::{Dyn, FileHeader, ProgramHeader};

/// What it asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Dynamic {
    /// Of the file, and of the libraries that it can load.
    pub(super) architecture: Architecture,
    /// The dynamic loader; `None` for libraries and for programs that are linked statically.
    pub(super) loader: Option<String>,
    /// Libraries, by name or path.
    pub(super) needed: Vec<String>,
    /// Directories that apply to libraries of libraries too.
    pub(super) rpath: Vec<String>,
    /// Directories that apply to its own libraries.
    pub(super) runpath: Vec<String>,
}

impl Dynamic {
    /// A file that asks for nothing.
    pub(super) fn nothing(architecture: Architecture) -> Self {
        Dynamic { architecture, loader: None, needed: Vec::new(), rpath: Vec::new(), runpath: Vec::new() }
    }

    /// Reads the headers of an ELF file; `None` if it is no program or library for these architectures, or damaged.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let class = bytes.get(4).filter(|_| bytes.starts_with(&elf::ELFMAG));
        match class.copied()? {
            elf::ELFCLASS64 => Self::of::<FileHeader64<Endianness>>(bytes),
            elf::ELFCLASS32 => Self::of::<FileHeader32<Endianness>>(bytes),
            _ => None,
        }
    }

    fn of<H: FileHeader<Endian = Endianness>>(bytes: &[u8]) -> Option<Self> {
        let header = H::parse(bytes).ok()?;
        let endian = header.endian().ok()?;
        let architecture = Architecture::of(header, endian);
        if !matches!(architecture, Architecture::X86_64 | Architecture::I386) {
            return None;
        }
        let segments = header.program_headers(endian, bytes).ok()?;
        let mut dynamic = Dynamic::nothing(architecture);
        for segment in segments {
            if let Ok(Some(loader)) = segment.interpreter(endian, bytes) {
                dynamic.loader = Some(String::from_utf8(loader.to_vec()).ok()?);
            }
        }
        let Some(entries) = segments.iter().find_map(|segment| segment.dynamic(endian, bytes).ok().flatten()) else {
            return Some(dynamic);
        };
        let value =
            |tag| entries.iter().find(|entry| entry.tag32(endian) == Some(tag)).map(|entry| entry.d_val(endian).into());
        // The table's address is that in memory.
        let in_file = |address: u64| {
            segments.iter().filter(|segment| segment.p_type(endian) == elf::PT_LOAD).find_map(|segment| {
                let offset = address.checked_sub(segment.p_vaddr(endian).into())?;
                (offset < segment.p_filesz(endian).into())
                    .then(|| segment.p_offset(endian).into().saturating_add(offset))
            })
        };
        let strings = value(elf::DT_STRTAB).and_then(in_file).and_then(|at| bytes.get(usize::try_from(at).ok()?..))?;
        for entry in entries {
            let Some(tag) = entry.tag32(endian) else { continue };
            let list = match tag {
                elf::DT_NEEDED => &mut dynamic.needed,
                elf::DT_RPATH => &mut dynamic.rpath,
                elf::DT_RUNPATH => &mut dynamic.runpath,
                _ => continue,
            };
            let text = text(strings, entry.d_val(endian).into())?;
            match tag {
                elf::DT_NEEDED => list.push(text),
                _ => list.extend(text.split(':').filter(|part| !part.is_empty()).map(str::to_owned)),
            }
        }
        Some(dynamic)
    }
}

fn text(strings: &[u8], at: u64) -> Option<String> {
    let rest = strings.get(usize::try_from(at).ok()?..)?;
    let end = rest.iter().position(|&byte| byte == 0)?;
    String::from_utf8(rest[..end].to_vec()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_test_asks_for_a_loader_and_the_c_library() {
        let bytes = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let dynamic = Dynamic::read(&bytes).unwrap();
        assert_eq!(dynamic.architecture, Architecture::X86_64);
        assert!(dynamic.loader.is_some_and(|loader| loader.starts_with('/')));
        assert!(dynamic.needed.iter().any(|name| name.starts_with("libc.")), "{:?}", dynamic.needed);
        assert_eq!(Dynamic::read(b"#!/bin/sh\n"), None);
        assert_eq!(Dynamic::read(&bytes[..100]), None);
    }
}
