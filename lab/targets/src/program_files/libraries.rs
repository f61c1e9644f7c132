//! The shared libraries of programs, found as the dynamic loader finds them (ld.so(8)), by reading files alone: no program is
//! run for it.

use super::dynamic::Dynamic;
use super::loader_cache::{self, LoaderCache};
use super::tree::Tree;
use crate::executable::Architecture;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Directories in which loaders for x86-64 search last: those of Debian's glibc, and those of every system.
const USUAL: [&str; 6] =
    ["/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib"];

/// Those in which loaders for 32-bit x86 do.
const USUAL_32: [&str; 6] =
    ["/lib/i386-linux-gnu", "/usr/lib/i386-linux-gnu", "/lib32", "/usr/lib32", "/lib", "/usr/lib"];

/// Subdirectories with builds for newer CPUs.
const FOR_NEWER_CPUS: [&str; 3] = ["glibc-hwcaps/x86-64-v2", "glibc-hwcaps/x86-64-v3", "glibc-hwcaps/x86-64-v4"];

/// The library that glibc loads when a thread is cancelled or ends itself, without naming it before.
const LOADED_LATER: &str = "libgcc_s.so.1";

/// A library that is nowhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MissingLibrary {
    /// Its name.
    pub(super) name: String,
    /// The file that needs it.
    pub(super) needed_by: PathBuf,
}

/// Adds files with all that they load.
pub(super) struct Libraries {
    cache: LoaderCache,
    /// `LD_LIBRARY_PATH` of the program.
    path: Vec<PathBuf>,
    /// Paths without links of files that were looked at.
    seen: BTreeSet<PathBuf>,
}

impl Libraries {
    /// `library_path`: `LD_LIBRARY_PATH` of the program.
    pub(super) fn new(library_path: &str) -> Self {
        let path = library_path.split([':', ';']).filter(|part| !part.is_empty()).map(PathBuf::from).collect();
        Libraries { cache: LoaderCache::read(), path, seen: BTreeSet::new() }
    }

    /// Adds all that a file of this host loads: its dynamic loader, its libraries, and theirs. `file`: its path without links. A file that is no
    /// ELF file for x86 loads nothing. Fails if a library is missing.
    pub(super) fn add(&mut self, file: &Path, tree: &mut Tree) -> Result<(), MissingLibrary> {
        self.add_below(file, &[], tree)
    }

    /// Adds a library that a program loads by its name or path, as `LD_PRELOAD` names it: that for x86-64, or else that for 32-bit x86.
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
            // Without it the loader in the guest would not find what is in other directories than the usual ones.
            let _ = tree.add(Path::new(loader_cache::FILE));
        }
        let mut rpaths: Vec<PathBuf> =
            dynamic.rpath.iter().map(|directory| expanded(directory, file, dynamic.architecture)).collect();
        rpaths.extend_from_slice(above);
        for name in &dynamic.needed {
            self.add_library(name, file, &dynamic, &rpaths, tree)?;
        }
        if dynamic.needed.iter().any(|name| name.starts_with("libc.so")) {
            // A system without it has programs that do not need it.
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

    /// Where the loader looks for a library, in its order.
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

/// A directory in which the loader's words stand for others. `file`: the one that names it, without links.
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
}
