//! Linked ELF files: sizes of sections and functions, and places of code and data; and the inputs
//! of a linker.

use crate::table::demangle;
use faultline_record::explained::Sizes;
use object::read::archive::ArchiveFile;
use object::{
    Architecture, Object, ObjectKind, ObjectSection, ObjectSymbol, SectionFlags, SectionIndex, SectionKind, SymbolKind,
    elf,
};
use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hasher};
use std::ops::Range;

/// A linked ELF file: a program or a shared library; and its length in bytes.
#[derive(Debug)]
pub struct Artefact<'a>(object::File<'a>, u64);

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
        matches!(file.kind(), ObjectKind::Executable | ObjectKind::Dynamic)
            .then_some(Artefact(file, bytes.len() as u64))
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

    /// Hashes of the functions' code without addresses, by their names in the source: functions of
    /// two builds with equal hashes do the same, wherever code and data are. Functions with equal
    /// names are added up. Only for x86-64; otherwise empty, and for a damaged file whose functions
    /// or names are longer than the file.
    pub fn code(&self) -> BTreeMap<String, u64> {
        let mut all = BTreeMap::new();
        if self.0.architecture() != Architecture::X86_64 {
            return all;
        }
        let Some(places) = CodePlaces::of(&self.0, self.1) else { return all };
        for (name, address, size, section) in &places.functions {
            let section = section.and_then(|index| self.0.section_by_index(index).ok());
            let Some(code) = section.and_then(|section| section.data_range(*address, *size).ok().flatten()) else {
                continue;
            };
            let sum: &mut u64 = all.entry(name.clone()).or_default();
            *sum = sum.wrapping_add(places.hash(*address, code));
        }
        all
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

/// The places that code may address.
struct CodePlaces {
    /// Name, address, size and section of each function.
    functions: Vec<(String, u64, u64, Option<SectionIndex>)>,
    /// Hash of the name of the function that begins at an address.
    starts: HashMap<u64, u64>,
    /// Addresses and hash of the name of each loaded section, sorted by address; `None` for code,
    /// which has names of its own.
    sections: Vec<(Range<u64>, Option<u64>)>,
    /// All loaded addresses.
    whole: Range<u64>,
    /// True if the file is loaded at the addresses in it.
    is_fixed: bool,
}

impl CodePlaces {
    /// The places of a file; `None` if its functions or its names are longer than its `length`:
    /// they could take any time.
    fn of(file: &object::File<'_>, length: u64) -> Option<Self> {
        let is_function = |symbol: &object::Symbol<'_, '_>| {
            symbol.kind() == SymbolKind::Text && symbol.is_definition() && symbol.size() > 0
        };
        let (mut code, mut names) = (0_u64, 0_u64);
        let mut functions = Vec::new();
        let mut starts = HashMap::new();
        for symbol in file.symbols().filter(is_function) {
            let name = symbol.name_bytes().unwrap_or_default();
            code = code.saturating_add(symbol.size());
            names = names.saturating_add(name.len() as u64);
            if code.max(names) > length {
                return None;
            }
            let name = demangle(&String::from_utf8_lossy(name));
            starts.insert(symbol.address(), hash_of(name.as_bytes()));
            functions.push((name, symbol.address(), symbol.size(), symbol.section_index()));
        }
        let mut sections = Vec::new();
        for section in file.sections().filter(|section| is_loaded(section) && section.size() > 0) {
            let name = section.name_bytes().unwrap_or_default();
            names = names.saturating_add(name.len() as u64);
            if names > length {
                return None;
            }
            let range = section.address()..section.address().saturating_add(section.size());
            let has_own_names = section.kind() == SectionKind::Text && !name.starts_with(b".plt");
            sections.push((range, (!has_own_names).then(|| hash_of(name))));
        }
        sections.sort_by_key(|(range, _)| range.start);
        let (start, end) = (sections.iter().map(|(range, _)| range.start), sections.iter().map(|(range, _)| range.end));
        Some(CodePlaces {
            whole: start.min().unwrap_or(0)..end.max().unwrap_or(0),
            starts,
            functions,
            sections,
            is_fixed: file.kind() == ObjectKind::Executable,
        })
    }

    /// The hash of a function's code at `address`. Four bytes that lead from there to another
    /// function, or into a section of data, are replaced by its name. This needs no decoder of
    /// instructions: other bytes hardly ever do.
    fn hash(&self, address: u64, code: &[u8]) -> u64 {
        let own = address..address.saturating_add(code.len() as u64);
        let mut hash = DefaultHasher::new();
        let mut at = 0;
        while at < code.len() {
            let number = code.get(at..at + 4).map(|bytes| i32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]));
            let name = number.and_then(|number| {
                let next = address.wrapping_add(at as u64 + 4);
                let absolute = self.is_fixed.then(|| i64::from(number).cast_unsigned());
                let targets = [Some(next.wrapping_add_signed(i64::from(number))), absolute];
                targets
                    .into_iter()
                    .flatten()
                    .filter(|target| !own.contains(target))
                    .find_map(|target| self.name(target))
            });
            match name {
                Some(name) => {
                    hash.write_u64(name);
                    at += 4;
                }
                None => {
                    hash.write_u8(code[at]);
                    at += 1;
                }
            }
        }
        hash.finish()
    }

    /// Hash of the name of the function that begins at an address, or of the section of data around
    /// it.
    fn name(&self, address: u64) -> Option<u64> {
        if !self.whole.contains(&address) {
            return None;
        }
        let after = self.sections.partition_point(|(range, _)| range.start <= address);
        let (_, name) = self.sections[..after].last().filter(|(range, _)| range.contains(&address))?;
        name.or_else(|| self.starts.get(&address).copied())
    }
}

fn hash_of(name: &[u8]) -> u64 {
    let mut hash = DefaultHasher::new();
    hash.write(name);
    hash.finish()
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
    fn moved_code_is_the_same_and_other_code_is_not() {
        if !cfg!(target_arch = "x86_64") {
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        let code = |name: &str, flags: &[&str], first: &str, factor: u32| {
            let source = format!(
                "#include <stdlib.h>\nint data[9] = {{1}};\n{first}\n\
                 __attribute__((noinline)) int called(int a) {{ return a * {factor} + data[a]; }}\n\
                 __attribute__((noinline)) int caller(int a) {{ return called(a + 1) ^ rand(); }}\n\
                 int main(int n, char **words) {{ return caller(n); }}\n"
            );
            let file = directory.path().join(format!("{name}.c"));
            std::fs::write(&file, source).unwrap();
            let program = directory.path().join(name);
            let status = Command::new("cc").args(flags).args(["-O1", "-o"]).arg(&program).arg(&file).status();
            assert!(status.unwrap().success());
            Artefact::parse(&std::fs::read(program).unwrap()).unwrap().code()
        };
        let added = "int more[1000] = {1}; __attribute__((noinline)) int added(int a) { return a + more[a] + abs(a); }";
        for flags in [&["-fpie", "-pie"][..], &["-fno-pie", "-no-pie"]] {
            let (old, moved, other) =
                (code("old", flags, "", 1000), code("moved", flags, added, 1000), code("other", flags, "", 1001));
            for name in ["called", "caller", "main"] {
                assert_eq!(old[name], moved[name], "{name} {flags:?}");
            }
            assert!(moved.contains_key("added") && old["called"] != other["called"] && old["main"] == other["main"]);
        }
        // A function that is longer than its file.
        let long = r#"__asm__(".type long_one, @function\nlong_one: ret\n.size long_one, 0x7fffffffff\n");"#;
        assert!(code("long", &[], long, 1000).is_empty());
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
