//! A linker wrapper: it runs the real linker, with a script that gives the program another layout.
//!
//! It is our own program, started with another first argument by small scripts named like linkers. Compilers find them by `COMPILER_PATH`, and makefiles by
//! `PATH`, so nobody's build files change. Only GNU ld is given a script. A Linux kernel's own script is changed; every other linker, every other link with a script of
//! its own, and every link of which something is not understood runs unchanged. Whether a program has got another layout is seen in the program, not here.

mod arguments;
mod script;
mod wrapper;

pub(crate) use wrapper::LinkerWrapper;

use faultline_model::relink::{LayoutKind, LinkLayout, SectionOrder, SectionSpacing};
use faultline_symbols::{LinkInput, link_inputs};
use script::{Part, Whose};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// The first argument that makes our program a linker wrapper.
pub const ARGUMENT: &str = "__link";

/// Where a default script begins and ends in what `ld --verbose` prints.
const RULER: &str = "==================================================";

/// Larger files are not read.
const MOST_BYTES: u64 = 1 << 30;

/// Runs the real linker. `words`: our directory, the linker's name, order, spacing and seed of the layout, and the linker's own arguments. Returns only if the
/// linker cannot be started.
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

/// The linker that would have been found without us.
fn real(name: &OsStr, ours: &Path) -> Option<PathBuf> {
    let own = ours.canonicalize().ok();
    let directories = ["COMPILER_PATH", "PATH"].into_iter().filter_map(std::env::var_os);
    let mut others = directories.flat_map(|list| std::env::split_paths(&list).collect::<Vec<_>>());
    others.find_map(|directory| {
        let is_ours = own.is_some() && directory.canonicalize().ok() == own;
        Some(directory.join(name)).filter(|file| !is_ours && file.is_file())
    })
}

/// The arguments with a script for the layout, which is written. `None` if the link runs unchanged.
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

/// The script that the linker has for these arguments.
fn own_script(linker: &Path, words: &[OsString]) -> Option<String> {
    let printed = Command::new(linker).args(arguments::choosing(words)).arg("--verbose").output().ok()?;
    let printed = String::from_utf8(printed.stdout).ok().filter(|printed| printed.starts_with("GNU ld"))?;
    printed.split(RULER).nth(1).map(str::to_owned)
}

/// The sections of all files that are moved.
fn all_parts(words: &[OsString], whose: Whose) -> Vec<Part> {
    arguments::files(words).into_iter().enumerate().flat_map(|(i, file)| parts(file, i, whose)).collect()
}

/// The sections of a file that are moved. `place`: its place among the files. None if it is no object file or archive, or if a script cannot name it.
fn parts(file: &OsStr, place: usize, whose: Whose) -> Vec<Part> {
    let path = Path::new(file);
    let Some(name) = file.to_str().filter(|name| is_plain(name)) else { return Vec::new() };
    let Ok(metadata) = path.metadata() else { return Vec::new() };
    if !metadata.is_file() || metadata.len() > MOST_BYTES {
        return Vec::new();
    }
    let Ok(content) = fs::read(path) else { return Vec::new() };
    let label = label(path, place);
    // Members of a thin archive are files, named from where the archive is.
    let beside = path.parent().unwrap_or(Path::new(""));
    let read = |member: &str| fs::read(beside.join(member)).ok();
    link_inputs(&content, &read).into_iter().flat_map(|input| parts_of(input, name, &label, whose)).collect()
}

fn parts_of(input: LinkInput, name: &str, label: &str, whose: Whose) -> Vec<Part> {
    let (pattern, label) = match &input.member {
        None => (name.to_owned(), label.to_owned()),
        Some(member) if is_plain(member) => (format!("{name}:{member}"), format!("{label}:{member}")),
        Some(_) => return Vec::new(),
    };
    let is_in_archive = input.member.is_some() && whose == Whose::Linkers;
    let moved = input.sections.into_iter().filter(|section| whose.moves(section) && is_plain(section));
    moved.map(|section| Part { section, label: label.clone(), pattern: pattern.clone(), is_in_archive }).collect()
}

/// What a file's draws depend on: its name, or its place if a compiler has drawn the name of a temporary file.
fn label(path: &Path, place: usize) -> String {
    let is_temporary = path.parent().is_some_and(|parent| parent == std::env::temp_dir());
    match path.file_name() {
        Some(name) if !is_temporary => name.to_string_lossy().into_owned(),
        _ => format!("input {place}"),
    }
}

/// Whether a name means itself in a script of the linker's.
fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-+./,=@$~".contains(&byte))
}
