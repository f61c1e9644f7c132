//! The files among a program's arguments: they are sent to the guest, or refused before it boots.

use super::{Collector, MIB, MOST_INTERPRETERS, OF_THE_KERNEL, OF_THE_SYSTEM, SCRATCH, With, is_outside};
use crate::TargetError;
use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

/// Maximum size of all files that arguments name. A guest holds its files in memory, twice during
/// the boot.
const MOST_MIB: u64 = 512;

/// Maximum number of files and directories in a directory that an argument names.
const MOST_ENTRIES: u64 = 20_000;

/// Placeholder of the number of tasks. The path of an argument with it is not known yet.
const TASKS: &str = "{tasks}";

/// Characters that patterns and expressions contain, and paths hardly ever.
const OF_EXPRESSIONS: &[char] = &[' ', '*', '?', '[', ']', '(', ')', '|', '\\', '^', '$', '<', '>', '"', '\'', '\n'];

/// The arguments of a program.
pub(super) struct Arguments<'a> {
    pub(super) words: &'a [String],
    /// The working directory on this host.
    pub(super) directory: &'a Path,
    /// The files that the user adds.
    pub(super) with: &'a [With],
    /// `PATH` of the program, if given.
    pub(super) path: Option<&'a OsStr>,
}

impl Arguments<'_> {
    /// True if an argument leads out of the working directory by `..`. The directory then keeps its
    /// path in the guest.
    pub(super) fn lead_above(&self) -> bool {
        let leads = |text: &Path| {
            let source = self.directory.join(text);
            let is_above = text.is_relative() && text.components().any(|part| part == Component::ParentDir);
            is_above && (source.exists() || may_be_created(&source))
        };
        self.paths().any(|(_, text)| leads(text))
    }

    /// Adds the files and directories that the arguments name. `guest_directory`: the working
    /// directory in the guest. Fails if one of them cannot be sent, or if a path leads nowhere.
    pub(super) fn add_to(&self, files: &mut Collector, guest_directory: &Path) -> Result<(), TargetError> {
        let mut left = MOST_MIB * MIB;
        self.paths().try_for_each(|(word, text)| {
            let of = |directory: &Path| directory.join(text).components().collect::<PathBuf>();
            let (source, place) = (of(self.directory), of(guest_directory));
            if is_of_every_guest(&place) {
                return Ok(());
            }
            if self.is_put(&source, &place) {
                return self.add_target(&source, files);
            }
            match fs::metadata(&source) {
                Ok(metadata) => {
                    self.send(files, (&source, &place), &metadata, &mut left).map_err(|refusal| refusal.of(word))
                }
                Err(_) if may_be_created(&source) => {
                    add_directory_of(&source, &place, files);
                    Ok(())
                }
                Err(_) if is_clearly_a_path(text) => Err(Refusal::Nothing.of(word)),
                Err(_) => Ok(()),
            }
        })
    }

    /// The paths that the arguments may be, each with its argument: whole words, and the part after
    /// the first `=`.
    fn paths(&self) -> impl Iterator<Item = (&str, &Path)> {
        self.words.iter().filter(|word| !word.contains(TASKS)).flat_map(|word| {
            let whole = (!word.starts_with('-')).then_some(word.as_str());
            let value = word.split_once('=').map(|(_, value)| value);
            let parts = [whole, value].into_iter().flatten().filter(|text| !text.is_empty());
            parts.map(move |text| (word.as_str(), Path::new(text)))
        })
    }

    /// Adds the file or directory to which a link leads out of the working directory, at its path
    /// of this host. What is put into the guest has the link alone.
    fn add_target(&self, source: &Path, files: &mut Collector) -> Result<(), TargetError> {
        let (Ok(target), Ok(directory)) = (source.canonicalize(), self.directory.canonicalize()) else { return Ok(()) };
        let is_link_out = source.starts_with(self.directory) && !target.starts_with(&directory);
        match is_link_out && is_outside(&target) {
            true => files.add_with(&With { source: target, place: None }, self.directory),
            false => Ok(()),
        }
    }

    /// True if `--with` has put it into the guest.
    fn is_put(&self, source: &Path, place: &Path) -> bool {
        self.with.iter().any(|with| match &with.place {
            Some(put) => place.starts_with(put),
            None => {
                let put = self.directory.join(&with.source).canonicalize();
                put.is_ok_and(|put| source.canonicalize().is_ok_and(|source| source.starts_with(put)))
            }
        })
    }

    /// Adds a file, or a directory with its entries. `left`: bytes that may still be sent.
    fn send(
        &self,
        files: &mut Collector,
        (source, place): (&Path, &Path),
        metadata: &Metadata,
        left: &mut u64,
    ) -> Result<(), Refusal> {
        if !metadata.is_file() && !metadata.is_dir() {
            return Err(Refusal::Special);
        }
        let size = if metadata.is_dir() { size(source, *left)? } else { Some(metadata.len()) };
        let Some(rest) = size.and_then(|size| left.checked_sub(size)) else {
            // Some of a system's large directory is there for the program, as far as it is known.
            let is_in_part = metadata.is_dir() && !is_outside(source);
            return if is_in_part { Ok(()) } else { Err(Refusal::TooLarge) };
        };
        *left = rest;
        let canonical = source.canonicalize()?;
        let resolved = if source == place { files.tree.add(source)? } else { place.to_owned() };
        if source != place {
            files.tree.add_at(&canonical, place)?;
        }
        if metadata.is_dir() {
            return Ok(files.tree.add_all(&canonical, &resolved, &mut |_| {})?);
        }
        File::open(source)?;
        if metadata.permissions().mode() & 0o111 != 0 {
            // A program that the program may start. Whether it does is not known, so a missing
            // library is not an error.
            let _ = files.add_needs(source, &canonical, self.path, MOST_INTERPRETERS);
        }
        Ok(())
    }
}

/// True for directories that every guest has in some form.
fn is_of_every_guest(place: &Path) -> bool {
    let is_whole = |top: &&str| place == Path::new(top);
    place == Path::new("/")
        || OF_THE_SYSTEM.iter().chain([&SCRATCH]).any(is_whole)
        || OF_THE_KERNEL.iter().any(|top| place.starts_with(top))
}

/// Adds the directory in which the program may create a file.
fn add_directory_of(source: &Path, place: &Path, files: &mut Collector) {
    match (source.parent(), place.parent()) {
        // An error is ignored: the program may not use it.
        (Some(above), _) if source == place => _ = files.tree.add(above),
        (_, Some(above)) if is_outside(above) => files.tree.add_empty(above),
        _ => {}
    }
}

/// True if the directory exists in which a file of that path would be.
fn may_be_created(source: &Path) -> bool {
    source.parent().is_some_and(Path::is_dir)
}

/// True for text that can hardly be anything but the path of a file.
fn is_clearly_a_path(text: &Path) -> bool {
    let text = text.to_string_lossy();
    ["/", "./", "../"].iter().any(|begin| text.starts_with(begin)) && !text.contains(OF_EXPRESSIONS)
}

/// Bytes of all files in a directory; `None` if they are more than `most`, or too many.
fn size(directory: &Path, most: u64) -> io::Result<Option<u64>> {
    let (mut bytes, mut entries) = (0u64, 0);
    let mut directories = vec![directory.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            let metadata = entry.metadata()?;
            entries += 1;
            bytes += if metadata.is_file() { metadata.len() } else { 0 };
            if bytes > most || entries > MOST_ENTRIES {
                return Ok(None);
            }
            if metadata.is_dir() {
                directories.push(entry.path());
            }
        }
    }
    Ok(Some(bytes))
}

/// Reason why an argument cannot be sent.
enum Refusal {
    /// Neither a file nor its directory exists.
    Nothing,
    /// A pipe, a socket or a device.
    Special,
    TooLarge,
    Unreadable(io::Error),
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Refusal::Unreadable(error)
    }
}

impl Refusal {
    fn of(self, word: &str) -> TargetError {
        let (problem, hint) = match self {
            Refusal::Nothing => (
                "names a file that does not exist, in a directory that does not exist".to_owned(),
                "correct it; if it is not a file of this host, write the command as `sh -c '…'`",
            ),
            Refusal::Special => (
                "is neither a file nor a directory".to_owned(),
                "name a file: the guest has its own devices, and nothing outside it can talk to the program",
            ),
            Refusal::TooLarge => (
                format!("brings the files to send to more than {MOST_MIB} MiB or {MOST_ENTRIES} entries"),
                "name less; or `--with PATH` sends it whatever its size, which takes twice its size of memory",
            ),
            Refusal::Unreadable(error) => (format!("cannot be read: {error}"), "name files that can be read"),
        };
        TargetError { problem: format!("the argument '{word}' {problem}"), hint: hint.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::ProgramFiles;
    use super::*;
    use std::os::unix::net::UnixListener;

    /// Files of this test's program with arguments, in the directory.
    fn found(directory: &Path, arguments: &[&str], with: &[With]) -> Result<ProgramFiles, TargetError> {
        let program = std::env::current_exe().unwrap();
        let command = [program.to_str().unwrap()].into_iter().chain(arguments.iter().copied());
        ProgramFiles::find(&command.map(str::to_owned).collect::<Vec<_>>(), directory, with, &[])
    }

    fn scratch() -> (tempfile::TempDir, PathBuf) {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path().canonicalize().unwrap();
        let work = root.join("work");
        fs::create_dir_all(work.join("data/deep")).unwrap();
        fs::write(work.join("data/deep/x"), "abc").unwrap();
        fs::write(work.join("input"), "12345").unwrap();
        fs::write(root.join("beside"), "1").unwrap();
        (scratch, work)
    }

    #[test]
    fn files_and_directories_come_to_where_the_program_looks_for_them() {
        let (_scratch, work) = scratch();
        let files =
            found(&work, &["input", "--data=./data", "if=data/deep/x", "8", "none", "-v", "a{tasks}"], &[]).unwrap();
        assert_eq!(files.directory(), Path::new("/home"));
        let source = |place: &str| files.source(place).map(Path::to_owned);
        assert_eq!(source("/home/input"), Some(work.join("input")));
        assert_eq!(source("/home/data/deep/x"), Some(work.join("data/deep/x")));
        assert_eq!(source("/home/none"), None);
        let absolute = work.join("input");
        let files = found(Path::new("/usr"), &[absolute.to_str().unwrap()], &[]).unwrap();
        assert_eq!(files.source(absolute.to_str().unwrap()), Some(absolute.as_path()));
        assert!(files.place().starts_with("/program"), "{:?}", files.place());
    }

    #[test]
    fn a_path_out_of_the_directory_keeps_the_directory() {
        let (_scratch, work) = scratch();
        let files = found(&work, &["../beside"], &[]).unwrap();
        let beside = work.parent().unwrap().join("beside");
        assert_eq!(
            (files.directory(), files.source(beside.to_str().unwrap())),
            (work.as_path(), Some(beside.as_path()))
        );
    }

    #[test]
    fn a_new_file_needs_its_directory() {
        let (_scratch, work) = scratch();
        let files = found(&work, &["-o", "data/new", "./result"], &[]).unwrap();
        assert!(files.tree().nodes().any(|(path, _)| path == Path::new("/home/data")));
        for nowhere in ["./none/new", "/nowhere/at/all", "--in=../none/x"] {
            let refused = found(&work, &[nowhere], &[]).unwrap_err();
            assert!(
                refused.problem.starts_with(&format!("the argument '{nowhere}' names a file that does not")),
                "{refused:?}"
            );
        }
        // Not clearly paths, or not of this host.
        found(&work, &["http://host/x/y", "a/b/c", "s/x/y/", "./{tasks}/x", "/a|b/x"], &[]).unwrap();
        let put = With { source: "input".into(), place: Some("/srv/in/put".into()) };
        found(&work, &["/srv/in/put"], &[put]).unwrap();
    }

    #[test]
    fn what_cannot_be_sent_is_refused_and_what_every_guest_has_is_left_out() {
        let (_scratch, work) = scratch();
        let _listener = UnixListener::bind(work.join("socket")).unwrap();
        let refused = found(&work, &["socket"], &[]).unwrap_err();
        assert_eq!(refused.problem, "the argument 'socket' is neither a file nor a directory");
        let large = File::create(work.join("data/large")).unwrap();
        large.set_len(MOST_MIB * MIB + 1).unwrap();
        for word in ["data/large", "data"] {
            let refused = found(&work, &[word], &[]).unwrap_err();
            assert!(
                refused.problem.contains("more than 512 MiB") && refused.hint.contains("`--with PATH`"),
                "{refused:?}"
            );
        }
        let without = found(&work, &[], &[]).unwrap();
        assert_eq!(found(&work, &["/usr", "/", "/tmp", "/dev/null", "/proc/self/maps"], &[]).unwrap(), without);
    }
}
