//! Linked ELF files: sizes of sections and functions, and places of code and data; and the inputs
//! of a linker.

use crate::table::demangle;
use faultline_record::explained::Sizes;
use object::read::archive::ArchiveFile;
use object::{Object, ObjectKind, ObjectSection, ObjectSymbol, SectionFlags, SectionKind, SymbolKind, elf};

/// A linked ELF file: a program or a shared library.
#[derive(Debug)]
pub struct Artefact<'a>(object::File<'a>);

impl<'a> Artefact<'a> {
    /// Number of bytes at the beginning of a file that [`Artefact::is_likely`] needs.
    pub const HEAD_BYTES: usize = 18;

    /// True if a file that begins with these bytes is a linked ELF file. It may still be damaged.
    pub fn is_likely(head: &[u8]) -> bool {
        let is_big_endian = head.get(5) == Some(&elf::ELFDATA2MSB.0);
        let read = if is_big_endian { u16::from_be_bytes } else { u16::from_le_bytes };
        let kind = head.get(16..18).map(|bytes| read([bytes[0], bytes[1]]));
        head.starts_with(&elf::ELFMAG) && kind.is_some_and(|kind| [elf::ET_EXEC.0, elf::ET_DYN.0].contains(&kind))
    }

    /// Parses a file's bytes; `None` if they are not a linked ELF file, or a damaged one.
    pub fn parse(bytes: &'a [u8]) -> Option<Self> {
        let file = object::File::parse(bytes).ok()?;
        matches!(file.kind(), ObjectKind::Executable | ObjectKind::Dynamic).then_some(Artefact(file))
    }

    /// Sizes of the loaded sections, added up by name.
    pub fn sections(&self) -> Sizes {
        let sections = self.0.sections().filter(is_loaded);
        sum(sections.map(|section| {
            (String::from_utf8_lossy(section.name_bytes().unwrap_or_default()).into_owned(), section.size())
        }))
    }

    /// The loaded part: the entry address, and names, places and contents of sections. Notes are
    /// left out, because they have the build's identifier; symbols and debugging information are
    /// not loaded. Files with the same loaded part behave identically.
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

    /// Sizes of the functions, added up by their names in the source. Empty if the file has no
    /// symbols or was stripped.
    pub fn functions(&self) -> Sizes {
        let is_function = |symbol: &object::Symbol<'_, '_>| {
            symbol.kind() == SymbolKind::Text && symbol.is_definition() && symbol.size() > 0
        };
        let functions = self.0.symbols().filter(is_function);
        sum(functions
            .map(|symbol| (demangle(&String::from_utf8_lossy(symbol.name_bytes().unwrap_or_default())), symbol.size())))
    }

    /// True for a library: a shared object that requests no interpreter.
    pub fn is_library(&self) -> bool {
        self.0.kind() == ObjectKind::Dynamic && self.0.section_by_name(".interp").is_none()
    }

    /// The places of code and data, as text: the addresses of functions and variables; without
    /// symbols, the addresses, sizes and contents of code sections. Files with the same text have
    /// the same layout.
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

/// An object file, or a member of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkInput {
    /// The name of the archive's member; `None` for an object file.
    pub member: Option<String>,
    /// The names of its sections, in order. Names that are not UTF-8 are left out.
    pub sections: Vec<String>,
}

/// The object files in a file's bytes; empty if it is neither an object file nor an archive. `read`
/// returns the bytes of a member of a thin archive, which is another file, by its path from the
/// archive. Members that cannot be read are left out.
pub fn link_inputs(bytes: &[u8], read: &dyn Fn(&str) -> Option<Vec<u8>>) -> Vec<LinkInput> {
    let Ok(archive) = ArchiveFile::parse(bytes) else { return input(None, bytes).into_iter().collect() };
    let member = |member: object::read::archive::ArchiveMember<'_>| {
        let name = String::from_utf8(member.name().to_owned()).ok()?;
        match member.is_thin() {
            true => read(&name).and_then(|bytes| input(Some(name), &bytes)),
            false => input(Some(name), member.data(bytes).ok()?),
        }
    };
    archive.members().filter_map(Result::ok).filter_map(member).collect()
}

fn input(member: Option<String>, bytes: &[u8]) -> Option<LinkInput> {
    let file = object::File::parse(bytes).ok().filter(|file| file.kind() == ObjectKind::Relocatable)?;
    let sections = file.sections().filter_map(|section| section.name().ok().map(str::to_owned)).collect();
    Some(LinkInput { member, sections })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    // The name of a function that is inlined is in no symbol table, and the compiler may inline any
    // test into the closure that calls it.
    #[inline(never)]
    fn a_function_with_a_symbol(value: u64) -> u64 {
        std::hint::black_box(value)
    }

    #[test]
    fn this_test_is_a_program_with_functions() {
        a_function_with_a_symbol(1);
        let bytes = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert!(Artefact::is_likely(&bytes[..Artefact::HEAD_BYTES]));
        let artefact = Artefact::parse(&bytes).unwrap();
        assert!(artefact.sections()[".text"] > 1000 && !artefact.sections().contains_key(".symtab"));
        assert!(!artefact.is_library() && artefact.places().len() > 1000);
        assert!(artefact.functions().keys().any(|name| name.contains("a_function_with_a_symbol")));
    }

    #[test]
    fn other_files_are_none() {
        for bytes in [&b""[..], b"#!/bin/sh\nexit 0\n", b"\x7fELF", b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x01\0"] {
            assert!(!Artefact::is_likely(bytes) && Artefact::parse(bytes).is_none(), "{bytes:?}");
        }
        // A file cut off after the header.
        let cut = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0";
        assert!(Artefact::is_likely(cut) && Artefact::parse(cut).is_none());
    }

    #[test]
    fn objects_and_archives_have_sections_and_programs_have_none() {
        let directory = tempfile::tempdir().unwrap();
        let run = |program: &str, arguments: &[&str]| {
            assert!(Command::new(program).current_dir(directory.path()).args(arguments).status().unwrap().success());
        };
        let bytes = |name: &str| std::fs::read(directory.path().join(name)).ok();
        let read = |name: &str| link_inputs(&bytes(name).unwrap(), &bytes);
        std::fs::write(directory.path().join("a.c"), "int f(void) { return 1; }\nint main(void) { return f(); }\n")
            .unwrap();
        run("cc", &["-c", "-ffunction-sections", "a.c"]);
        run("ar", &["rc", "liba.a", "a.o"]);
        run("cc", &["-o", "prog", "a.o"]);
        let [object] = &read("a.o")[..] else { panic!("one object") };
        assert!(object.member.is_none() && object.sections.iter().any(|section| section == ".text.f"), "{object:?}");
        let [member] = &read("liba.a")[..] else { panic!("one member") };
        assert_eq!((member.member.as_deref(), &member.sections), (Some("a.o"), &object.sections));
        run("ar", &["rcT", "thin.a", "a.o"]);
        assert_eq!(read("thin.a"), read("liba.a"));
        std::fs::remove_file(directory.path().join("a.o")).unwrap();
        assert!(read("thin.a").is_empty() && read("prog").is_empty());
        assert!([&b""[..], b"!<arch>\ngarbage"].iter().all(|none| link_inputs(none, &bytes).is_empty()));
    }
}
