//! A linker wrapper: runs the real linker with a script that gives the program another layout.
//!
//! Our own program is the wrapper, started by small scripts that are named like linkers. Compilers
//! find them through `COMPILER_PATH`, makefiles through `PATH`, so build files stay unchanged. Only
//! GNU ld gets a script, and the script of a Linux kernel is changed. Other linkers, other links
//! with a script, and links that are not understood run unchanged. The resulting program shows
//! whether its layout changed.

use faultline_record::relink::{LayoutKind, LinkLayout, SectionOrder, SectionSpacing};
use faultline_symbols::{LinkInput, link_inputs};
use script::{InputSection, Whose};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::{fs, io};

mod arguments;
mod script;

/// First argument that makes our program a linker wrapper.
pub const ARGUMENT: &str = "__link";

/// Line before and after the default script in the output of `ld --verbose`.
const RULER: &str = "==================================================";

/// Files above this size are skipped.
const MOST_BYTES: u64 = 1 << 30;

/// Runs the real linker. `words`: our directory; name of the linker; order, spacing and seed of the
/// layout; the linker's arguments. Returns only if the linker cannot be started.
pub fn run(words: impl Iterator<Item = OsString>) -> ExitCode {
    let words: Vec<OsString> = words.collect();
    let [directory, name, order, spacing, seed, given @ ..] = &words[..] else {
        eprintln!("the linker wrapper was started without its arguments");
        return ExitCode::FAILURE;
    };
    let directory = Path::new(directory);
    let Some(linker) = real(name, directory) else {
        eprintln!("there is no other {} in COMPILER_PATH and PATH", name.display());
        return ExitCode::FAILURE;
    };
    let layout = layout([order, spacing, seed]);
    let other = layout.and_then(|layout| with_layout(&linker, given, layout, directory));
    let error = Command::new(&linker).args(other.as_deref().unwrap_or(given)).exec();
    eprintln!("cannot start {}: {error}", linker.display());
    ExitCode::FAILURE
}

fn layout(words: [&OsString; 3]) -> Option<LinkLayout> {
    let [order, spacing, seed] = words.map(|word| word.to_str());
    let kind = LayoutKind { order: SectionOrder::from_word(order?)?, spacing: SectionSpacing::from_word(spacing?)? };
    Some(kind.with_seed(seed?.parse().ok()?))
}

/// The linker that would be found without us.
fn real(name: &OsStr, ours: &Path) -> Option<PathBuf> {
    let own = ours.canonicalize().ok();
    let directories = ["COMPILER_PATH", "PATH"].into_iter().filter_map(std::env::var_os);
    let mut others = directories.flat_map(|list| std::env::split_paths(&list).collect::<Vec<_>>());
    others.find_map(|directory| {
        let is_ours = own.is_some() && directory.canonicalize().ok() == own;
        Some(directory.join(name)).filter(|file| !is_ours && file.is_file())
    })
}

/// The arguments with a script for the layout, which is written; `None` to run the link unchanged.
fn with_layout(linker: &Path, given: &[OsString], layout: LinkLayout, directory: &Path) -> Option<Vec<OsString>> {
    let words = arguments::expanded(given.to_vec());
    let file = directory.join(format!("script.{}", std::process::id()));
    let write = |own: &str, whose: Whose| {
        let script = script::script(own, whose, &all_parts(&words, whose), layout)?;
        fs::write(&file, script).ok()
    };
    if arguments::uses_own_script(&words) {
        write(&own_script(linker, &words)?, Whose::Linkers)?;
        let further = ["-T".into(), file.into_os_string()];
        return Some([given, &further].concat());
    }
    let (place, named) = arguments::named_script(given)?;
    let own = fs::read_to_string(named).ok()?;
    write(&own, Whose::of_named(&own)?)?;
    Some(place.replaced(given, &file))
}

/// The linker's default script for these arguments.
fn own_script(linker: &Path, words: &[OsString]) -> Option<String> {
    let printed = Command::new(linker).args(arguments::choosing(words)).arg("--verbose").output().ok()?;
    let printed = String::from_utf8(printed.stdout).ok().filter(|printed| printed.starts_with("GNU ld"))?;
    printed.split(RULER).nth(1).map(str::to_owned)
}

/// The sections of all files that may move.
fn all_parts(words: &[OsString], whose: Whose) -> Vec<InputSection> {
    arguments::files(words).into_iter().enumerate().flat_map(|(i, file)| parts(file, i, whose)).collect()
}

/// The sections of a file that may move. `place`: its number among the files. Empty if it is no
/// object file or archive, or if a script cannot name it.
fn parts(file: &OsStr, place: usize, whose: Whose) -> Vec<InputSection> {
    let path = Path::new(file);
    let Some(name) = file.to_str().filter(|name| is_plain(name)) else { return Vec::new() };
    let Ok(metadata) = path.metadata() else { return Vec::new() };
    if !metadata.is_file() || metadata.len() > MOST_BYTES {
        return Vec::new();
    }
    let Ok(content) = fs::read(path) else { return Vec::new() };
    let label = label(path, place);
    // Members of a thin archive are files with paths relative to the archive.
    let beside = path.parent().unwrap_or(Path::new(""));
    let read = |member: &str| fs::read(beside.join(member)).ok();
    link_inputs(&content, &read).into_iter().flat_map(|input| parts_of(input, name, &label, whose)).collect()
}

fn parts_of(input: LinkInput, name: &str, label: &str, whose: Whose) -> Vec<InputSection> {
    let (pattern, label) = match &input.member {
        None => (name.to_owned(), label.to_owned()),
        Some(member) if is_plain(member) => (format!("{name}:{member}"), format!("{label}:{member}")),
        Some(_) => return Vec::new(),
    };
    let is_in_archive = input.member.is_some() && whose == Whose::Linkers;
    let moved = input.sections.into_iter().filter(|section| whose.moves(section) && is_plain(section));
    moved
        .map(|section| InputSection { section, label: label.clone(), pattern: pattern.clone(), is_in_archive })
        .collect()
}

/// Text that a file's random draws depend on: its name, or its number if a compiler chose a
/// temporary name.
fn label(path: &Path, place: usize) -> String {
    let is_temporary = path.parent().is_some_and(|parent| parent == std::env::temp_dir());
    match path.file_name() {
        Some(name) if !is_temporary => name.to_string_lossy().into_owned(),
        _ => format!("input {place}"),
    }
}

/// True if a name has no special characters in a linker script.
fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-+./,=@$~".contains(&byte))
}

/// Names under which compilers and makefiles look for GNU ld.
const NAMES: [&str; 2] = ["ld", "ld.bfd"];

/// A directory with the linker wrapper's scripts. Removed on drop.
#[derive(Debug)]
pub(crate) struct LinkerWrapper {
    directory: PathBuf,
}

impl LinkerWrapper {
    /// Creates the directory. `program`: our own program; `layout`: the layout of each link. Fails
    /// if it cannot be written.
    pub(crate) fn create(directory: &Path, program: &Path, layout: LinkLayout) -> io::Result<Self> {
        let _ = fs::remove_dir_all(directory);
        fs::create_dir_all(directory)?;
        let wrapper = LinkerWrapper { directory: directory.to_owned() };
        for name in NAMES {
            let file = directory.join(name);
            fs::write(&file, script(directory, program, name, layout))?;
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755))?;
        }
        Ok(wrapper)
    }

    /// Environment variables that put the directory first. `environment`: other variables of the
    /// command.
    pub(crate) fn variables(&self, environment: &[(String, String)]) -> Vec<(String, String)> {
        let before = |name: &str| {
            let own = environment.iter().rev().find(|(set, _)| set == name).map(|(_, value)| OsString::from(value));
            let others = own.or_else(|| std::env::var_os(name)).unwrap_or_default();
            let others = std::env::split_paths(&others).filter(|other| !other.as_os_str().is_empty());
            let all = std::env::join_paths(std::iter::once(self.directory.clone()).chain(others)).ok()?;
            Some((name.to_owned(), all.into_string().ok()?))
        };
        ["COMPILER_PATH", "PATH"].into_iter().filter_map(before).collect()
    }
}

impl Drop for LinkerWrapper {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// A script that starts our program. It contains all values, because a build may clear its
/// environment.
fn script(directory: &Path, program: &Path, name: &str, layout: LinkLayout) -> Vec<u8> {
    let words = [
        program.as_os_str().as_bytes(),
        ARGUMENT.as_bytes(),
        directory.as_os_str().as_bytes(),
        name.as_bytes(),
        layout.kind.order.word().as_bytes(),
        layout.kind.spacing.word().as_bytes(),
        layout.seed.to_string().as_bytes(),
    ]
    .map(quoted)
    .join(&b' ');
    [&b"#!/bin/sh\nexec "[..], &words, b" \"$@\"\n"].concat()
}

/// A word quoted for the shell.
fn quoted(word: &[u8]) -> Vec<u8> {
    let inner: Vec<u8> =
        word.iter().flat_map(|byte| if *byte == b'\'' { b"'\\''".to_vec() } else { vec![*byte] }).collect();
    [&b"'"[..], &inner, b"'"].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_with_any_sign_is_a_word_of_the_script() {
        let root = tempfile::tempdir().unwrap();
        let program = root.path().join("it's $(touch harm) \"x\"");
        fs::write(&program, "#!/bin/sh\nfor word; do echo \"$word\"; done\n").unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let directory = root.path().join("a wrapper");
        let wrapper = LinkerWrapper::create(&directory, &program, LayoutKind::default().with_seed(7)).unwrap();
        let output = Command::new(directory.join("ld")).args(["a b", "$c"]).current_dir(root.path()).output().unwrap();
        let words = String::from_utf8(output.stdout).unwrap();
        let expected = [ARGUMENT, directory.to_str().unwrap(), "ld", "random", "gap", "7", "a b", "$c"];
        assert_eq!(words.lines().collect::<Vec<_>>(), expected);
        assert!(!root.path().join("harm").exists());
        drop(wrapper);
        assert!(!directory.exists());
    }

    #[test]
    fn it_is_found_before_others() {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join("d");
        let wrapper = LinkerWrapper::create(&directory, Path::new("/x"), LayoutKind::default().with_seed(1)).unwrap();
        let variables = wrapper.variables(&[("PATH".to_owned(), "/bin:/usr/bin".to_owned())]);
        let path = variables.iter().find(|(name, _)| name == "PATH").unwrap();
        assert_eq!(path.1, format!("{}:/bin:/usr/bin", directory.display()));
        assert!(
            variables
                .iter()
                .any(|(name, value)| name == "COMPILER_PATH" && value.starts_with(directory.to_str().unwrap()))
        );
    }
}
