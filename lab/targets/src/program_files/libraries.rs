//! The shared libraries of programs, found as the dynamic loader finds them (ld.so(8)), by reading
//! files alone: no program is run.

use super::tree::Tree;
use crate::executable::Architecture;
use object::Endianness;
use object::elf::{self, FileHeader32, FileHeader64};
use object::read::elf::{Dyn, FileHeader, ProgramHeader};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Last directories in the search of loaders for x86-64: those of Debian's glibc, and those of
/// every system.
const USUAL: [&str; 6] =
    ["/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib"];

/// Last directories in the search of loaders for 32-bit x86.
const USUAL_32: [&str; 6] =
    ["/lib/i386-linux-gnu", "/usr/lib/i386-linux-gnu", "/lib32", "/usr/lib32", "/lib", "/usr/lib"];

/// Subdirectories with builds for newer CPUs.
const FOR_NEWER_CPUS: [&str; 3] = ["glibc-hwcaps/x86-64-v2", "glibc-hwcaps/x86-64-v3", "glibc-hwcaps/x86-64-v4"];

/// Library that glibc loads without announcement when a thread is cancelled or ends itself.
const LOADED_LATER: &str = "libgcc_s.so.1";

/// A library that was not found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MissingLibrary {
    /// Its name.
    pub(super) name: String,
    /// The file that needs it.
    pub(super) needed_by: PathBuf,
}

/// Adds files with all libraries that they load.
pub(super) struct Libraries {
    cache: LoaderCache,
    /// `LD_LIBRARY_PATH` of the program.
    path: Vec<PathBuf>,
    /// Files that have been processed, by path without links.
    seen: BTreeSet<PathBuf>,
}

impl Libraries {
    /// `library_path`: `LD_LIBRARY_PATH` of the program.
    pub(super) fn new(library_path: &str) -> Self {
        let path = library_path.split([':', ';']).filter(|part| !part.is_empty()).map(PathBuf::from).collect();
        Libraries { cache: LoaderCache::read(), path, seen: BTreeSet::new() }
    }

    /// Adds all that a file of this host loads: its dynamic loader, its libraries, and their
    /// libraries. `file`: its path without links. A file that is not an ELF file for x86 loads
    /// nothing. Fails if a library is missing.
    pub(super) fn add(&mut self, file: &Path, tree: &mut Tree) -> Result<(), MissingLibrary> {
        self.add_below(file, &[], tree)
    }

    /// Adds a library that a program loads by name or path, as in `LD_PRELOAD`: for x86-64, or else
    /// for 32-bit x86.
    pub(super) fn add_named(&mut self, name: &str, tree: &mut Tree) -> Result<(), MissingLibrary> {
        let mut add =
            |architecture| self.add_library(name, Path::new("LD_PRELOAD"), &Dynamic::nothing(architecture), &[], tree);
        add(Architecture::X86_64).or_else(|missing| add(Architecture::I386).map_err(|_| missing))
    }

    /// `above`: the `RPATH`s of the files that loaded this one.
    fn add_below(&mut self, file: &Path, above: &[PathBuf], tree: &mut Tree) -> Result<(), MissingLibrary> {
        if !self.seen.insert(file.to_owned()) {
            return Ok(());
        }
        let Some(dynamic) = fs::read(file).ok().and_then(|bytes| Dynamic::read(&bytes)) else { return Ok(()) };
        if let Some(loader) = &dynamic.loader {
            let missing = |_: io::Error| MissingLibrary { name: loader.clone(), needed_by: file.to_owned() };
            let resolved = tree.add(Path::new(loader)).map_err(missing)?;
            self.seen.insert(resolved);
            // Without the cache, the loader in the guest would not find libraries outside the usual
            // directories.
            let _ = tree.add(Path::new(FILE));
        }
        let mut rpaths: Vec<PathBuf> =
            dynamic.rpath.iter().map(|directory| expanded(directory, file, dynamic.architecture)).collect();
        rpaths.extend_from_slice(above);
        for name in &dynamic.needed {
            self.add_library(name, file, &dynamic, &rpaths, tree)?;
        }
        if dynamic.needed.iter().any(|name| name.starts_with("libc.so")) {
            // Programs of a system without this library do not need it.
            let _ = self.add_library(LOADED_LATER, file, &dynamic, &rpaths, tree);
        }
        Ok(())
    }

    fn add_library(
        &mut self,
        name: &str,
        needed_by: &Path,
        dynamic: &Dynamic,
        rpaths: &[PathBuf],
        tree: &mut Tree,
    ) -> Result<(), MissingLibrary> {
        let mut is_found = false;
        for path in self.candidates(name, needed_by, dynamic, rpaths) {
            let Ok(bytes) = fs::read(&path) else { continue };
            if Dynamic::read(&bytes).is_none_or(|found| found.architecture != dynamic.architecture) {
                continue;
            }
            let Ok(resolved) = tree.add(&path) else { continue };
            self.add_below(&resolved, rpaths, tree)?;
            is_found = true;
            if !is_for_newer_cpus(&path) {
                break;
            }
        }
        let missing = || MissingLibrary { name: name.to_owned(), needed_by: needed_by.to_owned() };
        if is_found { Ok(()) } else { Err(missing()) }
    }

    /// Candidate paths of a library, in the loader's order.
    fn candidates(&self, name: &str, needed_by: &Path, dynamic: &Dynamic, rpaths: &[PathBuf]) -> Vec<PathBuf> {
        if name.contains('/') {
            return vec![expanded(name, needed_by, dynamic.architecture)];
        }
        let mut directories: Vec<PathBuf> = Vec::new();
        if dynamic.runpath.is_empty() {
            directories.extend_from_slice(rpaths);
        }
        directories.extend_from_slice(&self.path);
        directories
            .extend(dynamic.runpath.iter().map(|directory| expanded(directory, needed_by, dynamic.architecture)));
        let cached = self.cache.find(name, dynamic.architecture).cloned();
        let usual = if dynamic.architecture == Architecture::I386 { USUAL_32 } else { USUAL };
        let within = |directory: PathBuf| {
            let newer = FOR_NEWER_CPUS.map(|part| directory.join(part).join(name));
            newer.into_iter().rev().chain([directory.join(name)])
        };
        let first: Vec<PathBuf> = directories.into_iter().flat_map(within).collect();
        first.into_iter().chain(cached).chain(usual.map(PathBuf::from).into_iter().flat_map(within)).collect()
    }
}

fn is_for_newer_cpus(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == "glibc-hwcaps")
}

/// Replaces the loader's variables in a directory. `file`: the file that names the directory,
/// without links.
fn expanded(directory: &str, file: &Path, architecture: Architecture) -> PathBuf {
    let origin = file.parent().unwrap_or(Path::new("/")).to_string_lossy();
    let (library, platform) = match architecture {
        Architecture::I386 => ("lib/i386-linux-gnu", "i686"),
        _ => ("lib/x86_64-linux-gnu", "x86_64"),
    };
    let mut text = directory.to_owned();
    for (word, value) in [("ORIGIN", origin.as_ref()), ("LIB", library), ("PLATFORM", platform)] {
        text = text.replace(&format!("${{{word}}}"), value).replace(&format!("${word}"), value);
    }
    PathBuf::from(text)
}

/// Requests to the dynamic loader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Dynamic {
    /// Architecture of the file and of its libraries.
    pub(super) architecture: Architecture,
    /// The dynamic loader; `None` for libraries and for statically linked programs.
    pub(super) loader: Option<String>,
    /// Libraries, by name or path.
    pub(super) needed: Vec<String>,
    /// Directories for libraries of libraries too (`RPATH`).
    pub(super) rpath: Vec<String>,
    /// Directories for its own libraries (`RUNPATH`).
    pub(super) runpath: Vec<String>,
}

impl Dynamic {
    /// A file without requests.
    pub(super) fn nothing(architecture: Architecture) -> Self {
        Dynamic { architecture, loader: None, needed: Vec::new(), rpath: Vec::new(), runpath: Vec::new() }
    }

    /// Reads the headers of an ELF file; `None` if the file is damaged, or not a program or library
    /// for these architectures.
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
        // The table has its address in memory.
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

/// The cache's path.
pub(super) const FILE: &str = "/etc/ld.so.cache";

const MAGIC: &[u8] = b"glibc-ld.so.cache1.1";
const HEADER_BYTES: usize = 48;
const ENTRY_BYTES: usize = 24;

/// A library for x86-64 with glibc (`FLAG_ELF_LIBC6 | FLAG_X8664_LIB64`).
const X86_64: u32 = 0x0303;

/// One for 32-bit x86 (`FLAG_ELF_LIBC6`).
const I386: u32 = 0x0003;

/// A library in the cache.
#[derive(Debug)]
struct Entry {
    flags: u32,
    name: String,
    path: PathBuf,
}

/// Libraries with their paths, in the cache's order.
#[derive(Debug, Default)]
pub(super) struct LoaderCache(Vec<Entry>);

impl LoaderCache {
    /// Reads the system's cache; empty if it cannot be read.
    pub(super) fn read() -> Self {
        std::fs::read(FILE).ok().and_then(|bytes| Self::parse(&bytes)).unwrap_or_default()
    }

    /// Older caches have another format in front of this one.
    fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes = &bytes[bytes.windows(MAGIC.len()).position(|window| window == MAGIC)?..];
        let count = word(bytes, MAGIC.len())? as usize;
        let entry = |index: usize| {
            let at = HEADER_BYTES + index * ENTRY_BYTES;
            let (flags, key, value) = (word(bytes, at)?, word(bytes, at + 4)?, word(bytes, at + 8)?);
            Some(Entry { flags, name: cache_text(bytes, key)?, path: PathBuf::from(cache_text(bytes, value)?) })
        };
        (0..count).map(entry).collect::<Option<_>>().map(LoaderCache)
    }

    /// Paths of a library: several if there are builds for newer CPUs.
    pub(super) fn find<'a>(&'a self, name: &'a str, architecture: Architecture) -> impl Iterator<Item = &'a PathBuf> {
        let flags = if architecture == Architecture::I386 { I386 } else { X86_64 };
        let is_meant = move |entry: &&Entry| entry.flags == flags && entry.name == name;
        self.0.iter().filter(is_meant).map(|entry| &entry.path)
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn cache_text(bytes: &[u8], at: u32) -> Option<String> {
    let rest = bytes.get(at as usize..)?;
    let end = rest.iter().position(|&byte| byte == 0)?;
    String::from_utf8(rest[..end].to_vec()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_this_test_loads_is_found() {
        let own = std::env::current_exe().unwrap().canonicalize().unwrap();
        let mut tree = Tree::default();
        Libraries::new("").add(&own, &mut tree).unwrap();
        let paths: Vec<String> = tree.nodes().map(|(path, _)| path.to_string_lossy().into_owned()).collect();
        for name in ["libc.so", "ld-", "libgcc_s.so"] {
            assert!(paths.iter().any(|path| path.contains(name)), "{name}: {paths:?}");
        }
    }

    #[test]
    fn directories_are_searched_in_the_loaders_order() {
        let libraries = Libraries { cache: LoaderCache::default(), path: vec!["/given".into()], seen: BTreeSet::new() };
        let plain = |dynamic: &Dynamic, rpaths: &[PathBuf]| {
            let all = libraries.candidates("libq.so", Path::new("/app/bin/x"), dynamic, rpaths);
            let plain = all.into_iter().filter(|path| !is_for_newer_cpus(path));
            plain.take(3).map(|path| path.to_string_lossy().into_owned()).collect::<Vec<_>>()
        };
        let nothing = || Dynamic::nothing(Architecture::X86_64);
        let rpath = Dynamic { rpath: vec!["$ORIGIN/../lib".into()], ..nothing() };
        assert_eq!(
            plain(&rpath, &[expanded("$ORIGIN/../lib", Path::new("/app/bin/x"), Architecture::X86_64)]),
            ["/app/bin/../lib/libq.so", "/given/libq.so", "/lib/x86_64-linux-gnu/libq.so"]
        );
        let runpath = Dynamic { runpath: vec!["${ORIGIN}".into()], ..nothing() };
        assert_eq!(
            plain(&runpath, &["/of/another".into()]),
            ["/given/libq.so", "/app/bin/libq.so", "/lib/x86_64-linux-gnu/libq.so"]
        );
        let of_32_bits = Dynamic { runpath: vec!["/opt/$LIB".into()], ..Dynamic::nothing(Architecture::I386) };
        assert_eq!(
            plain(&of_32_bits, &[]),
            ["/given/libq.so", "/opt/lib/i386-linux-gnu/libq.so", "/lib/i386-linux-gnu/libq.so"]
        );
    }

    #[test]
    fn what_is_missing_is_named() {
        let mut tree = Tree::default();
        let missing = Libraries::new("").add_named("libnowhere.so.7", &mut tree).unwrap_err();
        assert_eq!(missing.name, "libnowhere.so.7");
    }

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

    fn cache(entries: &[(u32, &str, &str)]) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend((entries.len() as u32).to_le_bytes());
        bytes.resize(HEADER_BYTES, 0);
        let mut strings = Vec::new();
        let from = HEADER_BYTES + entries.len() * ENTRY_BYTES;
        for (flags, key, value) in entries {
            let mut put = |text: &str| {
                let at = (from + strings.len()) as u32;
                strings.extend(text.bytes().chain([0]));
                at
            };
            let (key, value) = (put(key), put(value));
            bytes.extend([*flags, key, value, 0, 0, 0].map(u32::to_le_bytes).concat());
        }
        [bytes, strings].concat()
    }

    #[test]
    fn libraries_are_found_by_name() {
        let bytes = cache(&[(0x0303, "libz.so.1", "/lib/libz.so.1"), (0x0003, "libz.so.1", "/lib32/libz.so.1")]);
        for bytes in [bytes.clone(), [b"ld.so-1.7.0\0\0\0\0\0".to_vec(), bytes.clone()].concat()] {
            let cache = LoaderCache::parse(&bytes).unwrap();
            let found = |architecture| cache.find("libz.so.1", architecture).collect::<Vec<_>>();
            assert_eq!(found(Architecture::X86_64), [&PathBuf::from("/lib/libz.so.1")]);
            assert_eq!(found(Architecture::I386), [&PathBuf::from("/lib32/libz.so.1")]);
            assert_eq!(cache.find("libq.so", Architecture::X86_64).count(), 0);
        }
        assert!(LoaderCache::parse(&bytes[..bytes.len() - 1]).is_none() && LoaderCache::parse(b"text").is_none());
    }
}
