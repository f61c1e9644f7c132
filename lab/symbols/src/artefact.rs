//! A program or library as it was linked: the sizes of its sections and functions, and the places of its code and data.

use crate::demangle::demangle;
use faultline_model::explained::Sizes;
use object::{Object, ObjectKind, ObjectSection, ObjectSymbol, SectionFlags, SectionKind, SymbolKind, elf};

/// A linked ELF file: a program or a shared library.
#[derive(Debug)]
pub struct Artefact<'a>(object::File<'a>);

impl<'a> Artefact<'a> {
    /// Number of bytes at the beginning of a file that show whether it can be one ([`Artefact::is_likely`]).
    pub const HEAD_BYTES: usize = 18;

    /// Whether a file that begins with these bytes is an ELF file that was linked. It may still be damaged.
    pub fn is_likely(head: &[u8]) -> bool {
        let is_big_endian = head.get(5) == Some(&elf::ELFDATA2MSB.0);
        let read = if is_big_endian { u16::from_be_bytes } else { u16::from_le_bytes };
        let kind = head.get(16..18).map(|bytes| read([bytes[0], bytes[1]]));
        head.starts_with(&elf::ELFMAG) && kind.is_some_and(|kind| [elf::ET_EXEC.0, elf::ET_DYN.0].contains(&kind))
    }

    /// Reads a file's bytes. `None` if they are no linked ELF file, or a damaged one.
    pub fn parse(bytes: &'a [u8]) -> Option<Self> {
        let file = object::File::parse(bytes).ok()?;
        matches!(file.kind(), ObjectKind::Executable | ObjectKind::Dynamic).then_some(Artefact(file))
    }

    /// Sizes of the sections that are loaded. Those of one name are added up.
    pub fn sections(&self) -> Sizes {
        let sections = self.0.sections().filter(is_loaded);
        sum(sections.map(|section| {
            (String::from_utf8_lossy(section.name_bytes().unwrap_or_default()).into_owned(), section.size())
        }))
    }

    /// What is loaded of it: where it begins, and names, places and contents of sections, without notes, which have the build's identifier. Symbols and debugging information are not loaded. Two
    /// files of which this is the same do the same.
    pub fn loaded(&self) -> Vec<u8> {
        let sections = self.0.sections();
        let loaded = sections.filter(|section| is_loaded(section) && section.kind() != SectionKind::Note);
        let text = |section: object::Section<'_, '_>| {
            let place = format!(" {:x} {:x}\n", section.address(), section.size());
            [section.name_bytes().unwrap_or_default(), place.as_bytes(), section.data().unwrap_or_default()].concat()
        };
        let entry = format!("{:x}\n", self.0.entry()).into_bytes();
        std::iter::once(entry).chain(loaded.map(text)).flatten().collect()
    }

    /// Sizes of the functions, by their names in the source. Those of one name are added up. Empty if the file has no symbols, or if it was stripped.
    pub fn functions(&self) -> Sizes {
        let is_function = |symbol: &object::Symbol<'_, '_>| {
            symbol.kind() == SymbolKind::Text && symbol.is_definition() && symbol.size() > 0
        };
        let functions = self.0.symbols().filter(is_function);
        sum(functions
            .map(|symbol| (demangle(&String::from_utf8_lossy(symbol.name_bytes().unwrap_or_default())), symbol.size())))
    }

    /// Whether it is a library: a shared object that asks for no interpreter.
    pub fn is_library(&self) -> bool {
        self.0.kind() == ObjectKind::Dynamic && self.0.section_by_name(".interp").is_none()
    }

    /// Where its code and data are, as text: the addresses of its functions and variables. Without symbols, the addresses, sizes and contents of its sections of code.
    /// Two files with the same text have the same layout.
    pub fn places(&self) -> Vec<u8> {
        let is_placed = |symbol: &object::Symbol<'_, '_>| {
            matches!(symbol.kind(), SymbolKind::Text | SymbolKind::Data) && symbol.is_definition()
        };
        let symbols = self.0.symbols().filter(is_placed);
        let mut places: Vec<Vec<u8>> = symbols
            .map(|symbol| {
                [symbol.name_bytes().unwrap_or_default(), format!(" {:x}\n", symbol.address()).as_bytes()].concat()
            })
            .collect();
        if places.is_empty() {
            let code = self.0.sections().filter(|section| section.kind() == SectionKind::Text);
            places.extend(code.map(|section| {
                let place = format!("{:x} {:x}\n", section.address(), section.size());
                [place.as_bytes(), section.data().unwrap_or_default()].concat()
            }));
        }
        places.sort();
        places.concat()
    }
}

fn is_loaded(section: &object::Section<'_, '_>) -> bool {
    match section.flags() {
        SectionFlags::Elf { sh_flags, .. } => sh_flags.0 & elf::SHF_ALLOC.0 != 0,
        _ => false,
    }
}

fn sum(sizes: impl Iterator<Item = (String, u64)>) -> Sizes {
    let mut sum = Sizes::new();
    for (name, size) in sizes {
        let whole = sum.entry(name).or_default();
        *whole = whole.saturating_add(size);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_test_is_a_program_with_functions() {
        let bytes = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert!(Artefact::is_likely(&bytes[..Artefact::HEAD_BYTES]));
        let artefact = Artefact::parse(&bytes).unwrap();
        assert!(artefact.sections()[".text"] > 1000 && !artefact.sections().contains_key(".symtab"));
        assert!(!artefact.is_library() && artefact.places().len() > 1000);
        assert!(artefact.functions().keys().any(|name| name.contains("this_test_is_a_program_with_functions")));
    }

    #[test]
    fn other_files_are_none() {
        for bytes in [&b""[..], b"#!/bin/sh\nexit 0\n", b"\x7fELF", b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x01\0"] {
            assert!(!Artefact::is_likely(bytes) && Artefact::parse(bytes).is_none(), "{bytes:?}");
        }
        // It begins like a program, and ends there.
        let cut = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0";
        assert!(Artefact::is_likely(cut) && Artefact::parse(cut).is_none());
    }
}
