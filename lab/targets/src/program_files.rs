//! The files that a program needs in a guest: itself, its libraries, interpreters of scripts, the
//! files among its arguments, and the user's further files.

mod arguments;
mod libraries;
pub(crate) mod tree;

use crate::TargetError;
use crate::executable::{Architecture, Executable};
use crate::search_path;
use arguments::Arguments;
use libraries::{Libraries, MissingLibrary};
use sha2::{Digest, Sha256};
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use tree::{Node, Tree};

/// Scratch directory of a guest's programs.
pub(crate) const SCRATCH: &str = "/tmp";

/// Directory in the guest of a program that is outside the system's directories.
const PROGRAM: &str = "/program";

/// Working directory in the guest for a host directory that nothing names.
const DIRECTORY: &str = "/home";

/// Directories that have the same path on every host.
const OF_THE_SYSTEM: [&str; 9] = ["/bin", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/sbin", "/usr"];

/// Maximum number of nested interpreters that are scripts, as in Linux.
const MOST_INTERPRETERS: u32 = 5;

/// Directories that the guest's kernel fills.
const OF_THE_KERNEL: [&str; 3] = ["/dev", "/proc", "/sys"];

/// Files about users and hosts that C libraries read, unless the user adds others.
const SMALL_FILES: [(&str, &str); 3] = [
    ("/etc/passwd", "root:x:0:0:root:/tmp:/bin/sh\nnobody:x:65534:65534:nobody:/tmp:/bin/false\n"),
    ("/etc/group", "root:x:0:\nnogroup:x:65534:\n"),
    ("/etc/hosts", "127.0.0.1 localhost\n"),
];

const MIB: u64 = 1 << 20;

/// Minimum memory of a machine in addition to its files.
const LEAST_MEMORY_MIB: u64 = 256;

/// A file or directory that the user adds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct With {
    /// Path on this host.
    pub source: PathBuf,
    /// Path in the guest, absolute; `None` for the path on this host.
    pub place: Option<PathBuf>,
}

/// A program with all its files, as they are in a guest.
///
/// A guest's counts depend on the lengths of paths: they move the stack of the program and the
/// kernel's allocations. So a host's path is in the guest only if a file that the program needs is
/// there, or if the user names it. Otherwise the program is at `/program/NAME` and its working
/// directory is `/home`. Files that arguments name by relative paths are then below `/home`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramFiles {
    /// The program's path on this host, absolute.
    program: PathBuf,
    /// The program's path in the guest.
    place: PathBuf,
    /// The working directory in the guest.
    directory: PathBuf,
    /// `PATH` in the guest.
    search_path: String,
    tree: Tree,
}

impl ProgramFiles {
    /// Collects the files of a command that runs in `directory` with that environment. A program's
    /// name without a slash is looked up in `PATH`: the environment's, otherwise ours. Fails if the
    /// program, an interpreter, a library or an added file is missing, if it is not for x86, or if
    /// a file among the arguments cannot be sent.
    pub fn find(
        command: &[String],
        directory: &Path,
        with: &[With],
        environment: &[(String, String)],
    ) -> Result<Self, TargetError> {
        Self::collect(command, directory, with, environment, false)
    }

    /// Like [`Self::find`], with all files of `directory`, which is a build. Where the directory is
    /// `/home` in the guest, its program is below, wherever this host keeps its builds.
    pub fn find_in_build(
        command: &[String],
        directory: &Path,
        with: &[With],
        environment: &[(String, String)],
    ) -> Result<Self, TargetError> {
        Self::collect(command, directory, with, environment, true)
    }

    fn collect(
        command: &[String],
        directory: &Path,
        with: &[With],
        environment: &[(String, String)],
        is_build: bool,
    ) -> Result<Self, TargetError> {
        let variable =
            |name: &str| environment.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
        let path = variable("PATH").map(OsStr::new);
        let (word, arguments) = command.split_first().map_or(("", &[][..]), |(word, rest)| (word.as_str(), rest));
        let file = search_path::program_file(word, directory, path)?;
        let unreadable = |error: io::Error| cannot_add(directory, &error);
        let program = std::path::absolute(&file).map_err(unreadable)?;
        let mut files =
            Collector { tree: Tree::default(), libraries: Libraries::new(variable("LD_LIBRARY_PATH").unwrap_or("")) };
        files.tree.add_scratch(Path::new(SCRATCH));
        let resolved = program.canonicalize().map_err(|error| cannot_add(&file, &error))?;
        files.add_needs(&file, &resolved, path, MOST_INTERPRETERS)?;
        for library in variable("LD_PRELOAD").unwrap_or("").split([' ', ':']).filter(|word| !word.is_empty()) {
            files.libraries.add_named(library, &mut files.tree).map_err(missing_library)?;
        }
        with.iter().try_for_each(|with| files.add_with(with, directory))?;
        let named = Named { arguments, environment, directory };
        let arguments = Arguments { words: arguments, directory, with, path };
        let is_alone = !files.is_outside_needed(with);
        let is_left = is_alone && !named.has(directory) && !arguments.lead_above();
        let guest_directory = if is_left && is_outside(directory) {
            files.tree.add_empty(Path::new(DIRECTORY));
            PathBuf::from(DIRECTORY)
        } else {
            // The program may use its directory, which need not hold any other of its files.
            files.tree.add(directory).map_err(unreadable)?;
            directory.to_owned()
        };
        let of_build = program.strip_prefix(directory).ok().filter(|_| is_build);
        let place = match of_build {
            Some(path) => guest_directory.join(path),
            None if is_alone && is_outside(&program) && !named.has_program(&program) => {
                Path::new(PROGRAM).join(program.file_name().unwrap_or_default())
            }
            None => program.clone(),
        };
        let all = is_build.then(|| With { source: directory.to_owned(), place: Some(guest_directory.clone()) });
        all.iter().try_for_each(|all| files.add_with(all, directory))?;
        // After the build, whose program may be a link out of it.
        if place == program {
            files.tree.add(&program).map_err(unreadable)?;
        } else {
            files.tree.add_at(&resolved, &place).map_err(unreadable)?;
        }
        let with: Vec<With> = with.iter().cloned().chain(all).collect();
        let directory = guest_directory;
        Arguments { with: &with, ..arguments }.add_to(&mut files, &directory)?;
        for (place, text) in SMALL_FILES {
            files.tree.add_text(Path::new(place), text);
        }
        let search_path = files.tree.search_path(path);
        Ok(ProgramFiles { program, place, directory, search_path, tree: files.tree })
    }

    /// The program's file on this host; for a script, the script.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// The program's path in the guest.
    pub(crate) fn place(&self) -> &Path {
        &self.place
    }

    /// The program's working directory in the guest.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// `PATH` in the guest: those directories of the host's `PATH` that the guest has.
    pub(crate) fn search_path(&self) -> &str {
        &self.search_path
    }

    /// Memory in MiB that a machine needs for the files, which are in memory twice during the boot.
    pub fn memory_mib(&self) -> u64 {
        LEAST_MEMORY_MIB + 2 * self.tree.bytes().div_ceil(MIB)
    }

    /// The file of this host at a path of the guest without links.
    pub fn source(&self, place: &str) -> Option<&Path> {
        self.tree.source(Path::new(place))
    }

    /// All files of this host that the guest gets, the program's own first, by path in the guest.
    pub fn sources(&self) -> impl Iterator<Item = (&Path, &Path)> {
        let files = || self.tree.nodes().filter_map(|(path, _)| Some((path, self.tree.source(path)?)));
        let is_program = |(path, _): &(&Path, &Path)| *path == self.place;
        files().filter(is_program).chain(files().filter(move |file| !is_program(file)))
    }

    /// The file of this host behind the guest's file or link of that name.
    pub fn file_named(&self, name: &str) -> Option<PathBuf> {
        let mut named = self.tree.nodes().filter(|(path, _)| path.file_name().is_some_and(|of| of == name));
        named.find_map(|(path, node)| match node {
            Node::File { source, .. } => Some(source.clone()),
            // The guest's links are this host's.
            Node::Link(_) => path.canonicalize().ok(),
            _ => None,
        })
    }

    /// True if a file or link of the guest has that name, without directories.
    pub fn has_name(&self, name: &str) -> bool {
        let is_file = |node: &Node| matches!(node, Node::File { .. } | Node::Link(_));
        self.tree.nodes().any(|(path, node)| is_file(node) && path.file_name().is_some_and(|of| of == name))
    }

    /// SHA-256 of all paths and contents, in hexadecimal. Fails if a file cannot be read.
    pub fn sha256(&self) -> Result<String, TargetError> {
        let mut digest = Sha256::new();
        digest.update(&self.search_path);
        for (path, node) in self.tree.nodes() {
            digest.update(path.as_os_str().as_encoded_bytes());
            match node {
                Node::Directory(mode) => digest.update(format!("\0directory {mode:o}\0")),
                Node::Link(text) => {
                    digest.update(b"\0link ");
                    digest.update(text.as_os_str().as_encoded_bytes());
                    digest.update(b"\0");
                }
                Node::File { source, mode, .. } => {
                    let bytes = std::fs::read(source).map_err(|error| cannot_add(source, &error))?;
                    digest.update(format!("\0file {mode:o} {}\0", bytes.len()));
                    digest.update(bytes);
                }
                Node::Text(text) => digest.update(text),
            }
        }
        Ok(digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    }

    pub(crate) fn tree(&self) -> &Tree {
        &self.tree
    }
}

/// Files that are being collected.
struct Collector {
    tree: Tree,
    libraries: Libraries,
}

impl Collector {
    /// Adds an interpreter with its own interpreters. `path`: `PATH` of the program, if given.
    fn add_program(&mut self, file: &Path, path: Option<&OsStr>, interpreters: u32) -> Result<(), TargetError> {
        let absolute = std::path::absolute(file).map_err(|error| cannot_add(file, &error))?;
        let resolved = self.tree.add(&absolute).map_err(|error| cannot_add(file, &error))?;
        self.add_needs(&absolute, &resolved, path, interpreters)
    }

    /// Adds the interpreters or the libraries of a program. `resolved`: its path without links.
    fn add_needs(
        &mut self,
        file: &Path,
        resolved: &Path,
        path: Option<&OsStr>,
        interpreters: u32,
    ) -> Result<(), TargetError> {
        let bytes = std::fs::read(file).map_err(|error| refused(file, &format!("cannot be read: {error}")))?;
        if OF_THE_KERNEL.iter().any(|top| file.starts_with(top)) {
            return Err(refused(file, "is in a directory that a guest's kernel fills"));
        }
        if let Some(line) = bytes.strip_prefix(b"#!") {
            let Some(interpreters) = interpreters.checked_sub(1) else {
                return Err(refused(file, "is a script, and its interpreters are scripts too, one after the other"));
            };
            return self.add_interpreter(file, line, path, interpreters);
        }
        match Executable::read(&bytes)
            .map_err(|problem| refused(file, &format!("can't be run: {problem}")))?
            .architecture
        {
            Architecture::X86_64 | Architecture::I386 => {
                self.libraries.add(resolved, &mut self.tree).map_err(missing_library)
            }
            Architecture::Other(number) => {
                Err(refused(file, &format!("is for another architecture (ELF machine {number}), not for x86")))
            }
        }
    }

    /// `line`: the script from after `#!`.
    fn add_interpreter(
        &mut self,
        script: &Path,
        line: &[u8],
        path: Option<&OsStr>,
        interpreters: u32,
    ) -> Result<(), TargetError> {
        let line = line.split(|&byte| byte == b'\n').next().unwrap_or_default();
        let line = String::from_utf8_lossy(line).into_owned();
        let mut words = line.split_whitespace();
        let Some(interpreter) = words.next() else { return Err(refused(script, "is a script without an interpreter")) };
        let is_env = Path::new(interpreter).file_name() == Some(OsStr::new("env"));
        let found_by_env = words.find(|word| !word.starts_with('-') && !word.contains('=')).filter(|_| is_env);
        for program in [Some(interpreter), found_by_env].into_iter().flatten() {
            let file = search_path::program_file(program, Path::new("/"), path).map_err(|error| TargetError {
                problem: format!("{} needs the interpreter {program}: {}", script.display(), error.problem),
                hint: "install it, or correct the script's first line".to_owned(),
            })?;
            self.add_program(&file, path, interpreters)?;
        }
        Ok(())
    }

    /// True if a file is needed that is neither in the system's directories nor where `with` puts
    /// it.
    fn is_outside_needed(&self, with: &[With]) -> bool {
        let is_put =
            |path: &Path| with.iter().any(|with| with.place.as_ref().is_some_and(|place| path.starts_with(place)));
        let mut files = self.tree.nodes().filter(|(_, node)| !matches!(node, Node::Directory(_)));
        files.any(|(path, _)| is_outside(path) && !is_put(path))
    }

    fn add_with(&mut self, with: &With, directory: &Path) -> Result<(), TargetError> {
        let source = directory.join(&with.source);
        let problem = |error: io::Error| TargetError {
            problem: format!("`--with {}`: {error}", with.source.display()),
            hint: "name a file or directory that can be read, or PATH=GUESTPATH".to_owned(),
        };
        let canonical = source.canonicalize().map_err(problem)?;
        let place = match &with.place {
            Some(place) => {
                self.tree.add_at(&canonical, place).map_err(problem)?;
                place.clone()
            }
            None => {
                let absolute = std::path::absolute(&source).map_err(problem)?;
                self.tree.add(&absolute).map_err(problem)?
            }
        };
        if OF_THE_KERNEL.iter().any(|top| place.starts_with(top)) {
            return Err(problem(io::Error::other(format!("a guest's kernel fills {}", place.display()))));
        }
        if !canonical.is_dir() {
            return self.libraries.add(&canonical, &mut self.tree).map_err(missing_library);
        }
        let mut files = Vec::new();
        self.tree.add_all(&canonical, &place, &mut |file| files.push(file.to_owned())).map_err(problem)?;
        for file in files {
            // Errors are ignored: the program may use only a few of many files in a directory.
            let _ = self.libraries.add(&file, &mut self.tree);
        }
        Ok(())
    }
}

/// The words in which a user may name paths of this host.
struct Named<'a> {
    arguments: &'a [String],
    environment: &'a [(String, String)],
    directory: &'a Path,
}

impl Named<'_> {
    /// True if an argument or a variable contains the path.
    fn has(&self, path: &Path) -> bool {
        let path = path.to_string_lossy();
        let values = self.environment.iter().filter(|(name, _)| name != "PATH").map(|(_, value)| value);
        self.arguments.iter().chain(values).any(|text| text.contains(&*path))
    }

    /// True if an argument or a variable leads to the program's file.
    fn has_program(&self, program: &Path) -> bool {
        let leads_there = |word: &String| self.directory.join(word) == program;
        self.has(program) || self.arguments.iter().any(leads_there)
    }
}

/// True for a path outside the directories that every host has.
fn is_outside(path: &Path) -> bool {
    path != Path::new("/") && !OF_THE_SYSTEM.iter().any(|top| path.starts_with(top))
}

fn missing_library(missing: MissingLibrary) -> TargetError {
    TargetError {
        problem: format!("{} needs the library {}, which is not here", missing.needed_by.display(), missing.name),
        hint: "install it, or name its directory: `--env LD_LIBRARY_PATH=DIRECTORY`".to_owned(),
    }
}

fn refused(program: &Path, reason: &str) -> TargetError {
    TargetError {
        problem: format!("{} {reason}", program.display()),
        hint: "name a program in ELF for x86-64 or 32-bit x86, as a compiler writes it, or a script".to_owned(),
    }
}

fn cannot_add(path: &Path, error: &io::Error) -> TargetError {
    TargetError {
        problem: format!("cannot put {} into a guest: {error}", path.display()),
        hint: "name files that can be read".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    struct Scratch(tempfile::TempDir);

    impl Scratch {
        fn program(&self, name: &str, bytes: &[u8], mode: u32) -> PathBuf {
            let path = self.0.path().join(name);
            fs::write(&path, bytes).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            path
        }

        fn find(&self, program: &Path, with: &[With]) -> Result<ProgramFiles, TargetError> {
            ProgramFiles::find(&[program.to_str().unwrap().to_owned()], self.0.path(), with, &[])
        }
    }

    fn place() -> Scratch {
        Scratch(tempfile::tempdir().unwrap())
    }

    #[test]
    fn what_can_not_be_run_is_refused_with_the_reason() {
        let place = place();
        let refusal = |bytes: &[u8], mode| place.find(&place.program("x", bytes, mode), &[]).unwrap_err().problem;
        assert!(refusal(b"hello", 0o755).ends_with("can't be run: it is not a program in ELF"));
        assert!(refusal(b"hello", 0o644).ends_with("it is not executable"));
        assert!(refusal(b"#!\n", 0o755).ends_with("is a script without an interpreter"));
        assert!(refusal(b"#!/nowhere/sh\n", 0o755).contains("needs the interpreter /nowhere/sh: cannot run"));
        let elf = |class, machine| [&b"\x7fELF"[..], &[class, 1, 1], &[0; 9], &[2, 0, machine, 0], &[0; 44]].concat();
        assert!(refusal(&elf(2, 0xb7), 0o755).contains("another architecture (ELF machine 183)"));
        assert!(place.find(&place.program("x", &elf(1, 3), 0o755), &[]).is_ok(), "32-bit programs run too");
        let missing = place.find(Path::new("/nowhere/at/all"), &[]).unwrap_err().problem;
        assert!(missing.contains("No such file"), "{missing}");
        let unknown = place.find(Path::new("no-such-program-anywhere"), &[]).unwrap_err().problem;
        assert!(unknown.contains("'no-such-program-anywhere' in PATH"), "{unknown}");
    }

    #[test]
    fn a_script_brings_its_interpreter_and_that_ones_libraries() {
        let place = place();
        let script = place.program("script", b"#!/usr/bin/env sh\necho hello\n", 0o755);
        let files = place.find(&script, &[]).unwrap();
        let paths: Vec<String> = files.tree.nodes().map(|(path, _)| path.to_string_lossy().into_owned()).collect();
        for part in ["/script", "/bin/env", "/bin/sh", "libc.so", "/etc/hosts"] {
            assert!(paths.iter().any(|path| path.contains(part)), "{part}: {paths:?}");
        }
        assert!(files.memory_mib() > LEAST_MEMORY_MIB && files.sha256().unwrap() == files.sha256().unwrap());
    }

    #[test]
    fn a_host_path_is_in_the_guest_only_if_it_is_needed_or_named() {
        let place = place();
        let program = std::env::current_exe().unwrap();
        let here = place.0.path();
        place.program("data", b"12345", 0o600);
        let found = |arguments: &[&str], with: &[With], environment: &[(&str, &str)]| {
            let command = [program.to_str().unwrap()].into_iter().chain(arguments.iter().copied());
            let command: Vec<String> = command.map(str::to_owned).collect();
            let environment: Vec<_> = environment.iter().map(|&(a, b)| (a.to_owned(), b.to_owned())).collect();
            let files = ProgramFiles::find(&command, here, with, &environment).unwrap();
            (files.place().to_owned(), files.directory().to_owned())
        };
        let name = Path::new("/program").join(program.file_name().unwrap());
        let home = PathBuf::from("/home");
        assert_eq!(found(&["data", "/usr"], &[], &[("PATH", here.to_str().unwrap())]), (name.clone(), home.clone()));
        let put = With { source: "data".into(), place: Some("/srv/data".into()) };
        assert_eq!(found(&[], &[put], &[]), (name.clone(), home.clone()));
        let needed = With { source: "data".into(), place: None };
        assert_eq!(found(&[], &[needed], &[]), (program.clone(), here.to_owned()));
        let out = format!("--out={}/x", here.display());
        assert_eq!(found(&[&out], &[], &[]), (name.clone(), here.to_owned()));
        assert_eq!(found(&[], &[], &[("OUT", here.to_str().unwrap())]), (name, here.to_owned()));
        assert_eq!(found(&[program.to_str().unwrap()], &[], &[]), (program.clone(), home));
    }

    #[test]
    fn a_build_is_the_same_wherever_it_is_kept() {
        let place = place();
        let build = |name: &str| {
            let directory = place.0.path().join(name);
            fs::create_dir_all(directory.join("bin")).unwrap();
            fs::copy(std::env::current_exe().unwrap(), directory.join("bin/prog")).unwrap();
            fs::write(directory.join("data"), "12345").unwrap();
            let command = ["./bin/prog", "data"].map(str::to_owned);
            let files = ProgramFiles::find_in_build(&command, &directory, &[], &[]).unwrap();
            let of_build: Vec<String> =
                files.tree.nodes().map(|(path, _)| path.to_string_lossy().into_owned()).collect();
            assert!(!of_build.iter().any(|path| path.contains(name)), "{of_build:?}");
            assert_eq!(files.source("/home/data"), Some(directory.canonicalize().unwrap().join("data").as_path()));
            assert_eq!((files.place(), files.directory()), (Path::new("/home/bin/prog"), Path::new("/home")));
            files.sha256().unwrap()
        };
        assert_eq!(build("short"), build("a-much-longer-name-of-a-directory"));
    }

    #[test]
    fn links_of_a_build_bring_what_is_needed_behind_them() {
        let place = place();
        let (directory, outside) = (place.0.path().join("build"), place.program("outside", b"12345", 0o600));
        fs::create_dir(&directory).unwrap();
        let link = |target: &Path, name: &str| std::os::unix::fs::symlink(target, directory.join(name)).unwrap();
        link(&std::env::current_exe().unwrap(), "prog");
        link(&outside, "data");
        let files = ProgramFiles::find_in_build(&["./prog", "data"].map(str::to_owned), &directory, &[], &[]).unwrap();
        assert_eq!(
            files.source("/home/prog"),
            Some(std::env::current_exe().unwrap().canonicalize().unwrap().as_path())
        );
        assert!(files.source(outside.canonicalize().unwrap().to_str().unwrap()).is_some(), "the link leads there");
    }

    #[test]
    fn further_files_come_where_they_are_wanted() {
        let place = place();
        let program = std::env::current_exe().unwrap();
        let data = place.program("data", b"12345", 0o600);
        let with = |source: &str, to: Option<&str>| With { source: source.into(), place: to.map(PathBuf::from) };
        let files = place.find(&program, &[with("data", Some("/srv/d")), with("data", None)]).unwrap();
        let canonical = data.canonicalize().unwrap();
        assert_eq!(files.source("/srv/d"), Some(canonical.as_path()));
        assert_eq!(files.source(canonical.to_str().unwrap()), Some(canonical.as_path()));
        let other = place.find(&program, &[]).unwrap();
        assert_ne!(files.sha256().unwrap(), other.sha256().unwrap());
        let refusal = |with| place.find(&program, &[with]).unwrap_err().problem;
        assert!(refusal(with("none", None)).starts_with("`--with none`: No such file"));
        assert!(refusal(with("data", Some("/proc/x"))).contains("a guest's kernel fills"));
    }
}
