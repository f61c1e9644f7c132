//! System settings as files below `/proc/sys` and `/sys`: finds, writes and restores them. The
//! keeper decides when.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Component, Path, PathBuf};

/// The directories that contain settings.
pub(crate) const ROOTS: [&str; 2] = ["/proc/sys", "/sys"];

/// Maximum length of a setting in bytes.
const LONGEST_VALUE_BYTES: u64 = 65_536;

/// Files that are two forms of one setting. Writing to one makes the other read 0, and 0 cannot
/// always be written back.
const COUNTERPARTS: [(&str, &str); 3] = [
    ("/proc/sys/vm/dirty_ratio", "/proc/sys/vm/dirty_bytes"),
    ("/proc/sys/vm/dirty_background_ratio", "/proc/sys/vm/dirty_background_bytes"),
    ("/proc/sys/vm/overcommit_ratio", "/proc/sys/vm/overcommit_kbytes"),
];

/// A setting's value before it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Before {
    pub(crate) file: PathBuf,
    pub(crate) value: String,
}

impl Before {
    /// The current value of the file, or of its counterpart if that one is in effect. Fails with a
    /// text if it cannot be read.
    pub(crate) fn read(file: &Path) -> Result<Self, String> {
        let value = read(file)?;
        if let Some(counterpart) = counterpart(file).filter(|_| value == "0") {
            let its_value = read(counterpart)?;
            if its_value != "0" {
                return Ok(Before { file: counterpart.to_owned(), value: its_value });
            }
        }
        Ok(Before { file: file.to_owned(), value })
    }

    /// Restores it if it has changed. Fails with a text if it cannot be written.
    pub(crate) fn put_back(&self) -> Result<(), String> {
        if read(&self.file).is_ok_and(|now| is_same(&now, &self.value)) {
            return Ok(());
        }
        write(&self.file, &self.value)
    }
}

/// Restores all, the last one first. Returns the settings that could not be restored, as texts.
pub(crate) fn put_back_all(before: &[Before]) -> Vec<String> {
    before.iter().rev().filter_map(|setting| setting.put_back().err()).collect()
}

/// Fails, with a text, for a value that no settings file can hold.
pub(crate) fn check(path: &str, value: &str) -> Result<(), String> {
    if [path, value].iter().any(|text| text.contains(['\n', '\0'])) {
        return Err(format!("{path:?} can't be set to {value:?}: a setting and its value are one line each"));
    }
    Ok(())
}

/// The root that contains a path, by its name. Fails with a text if none does.
pub(crate) fn root_of<'a>(path: &str, roots: &[&'a Path]) -> Result<&'a Path, String> {
    let leads_up = Path::new(path).components().any(|part| part == Component::ParentDir);
    let root = roots.iter().find(|root| !leads_up && Path::new(path).starts_with(root));
    root.copied().ok_or_else(|| {
        let names: Vec<_> = roots.iter().map(|root| root.display().to_string()).collect();
        format!("{path} is not a system setting: settings are files below {}", names.join(" and "))
    })
}

/// The setting's file, with all links resolved. Fails with a text if it does not exist.
pub(crate) fn find(path: &str, roots: &[&Path]) -> Result<PathBuf, String> {
    let root = root_of(path, roots)?;
    if !root.is_dir() {
        return Err(format!("{path} can't be set: this system has no {}", root.display()));
    }
    let file = fs::canonicalize(path).map_err(|error| format!("{path} can't be read: {error}"))?;
    let is_inside = roots.iter().filter_map(|root| fs::canonicalize(root).ok()).any(|root| file.starts_with(root));
    if !is_inside {
        return Err(format!("{path} is not a system setting: it leads to {}", file.display()));
    }
    if !file.is_file() {
        return Err(format!("{path} is not a file"));
    }
    Ok(file)
}

/// Writes the value and checks that it took effect. Fails with a text otherwise.
pub(crate) fn write(file: &Path, value: &str) -> Result<(), String> {
    let text = format!("{value}\n");
    // In one write, because the kernel treats each write as a whole value.
    let written = OpenOptions::new().write(true).truncate(true).open(file).and_then(|mut file| {
        let count = file.write(text.as_bytes())?;
        if count == text.len() { Ok(()) } else { Err(std::io::ErrorKind::WriteZero.into()) }
    });
    written.map_err(|error| format!("{} can't be set to '{value}': {error}", file.display()))?;
    let now = read(file)?;
    if is_same(&now, value) {
        return Ok(());
    }
    Err(format!("{} can't be set to '{value}': it reads '{now}' after that", file.display()))
}

/// One line without its end. In files that list choices, the one in brackets.
fn read(file: &Path) -> Result<String, String> {
    let refused = |reason: &dyn std::fmt::Display| format!("{} can't be read: {reason}", file.display());
    let mut text = String::new();
    let whole = File::open(file).and_then(|file| file.take(LONGEST_VALUE_BYTES).read_to_string(&mut text));
    whole.map_err(|error| refused(&error))?;
    let line = text.strip_suffix('\n').unwrap_or(&text);
    if line.contains(['\n', '\0']) {
        return Err(refused(&"it holds more than one value"));
    }
    Ok(chosen(line).unwrap_or(line).to_owned())
}

fn chosen(line: &str) -> Option<&str> {
    line.split_whitespace().find_map(|word| word.strip_prefix('[')?.strip_suffix(']'))
}

/// True if two values differ only in blanks and brackets.
fn is_same(one: &str, other: &str) -> bool {
    let words = |value| Vec::from_iter(str::split_whitespace(chosen(value).unwrap_or(value)));
    words(one) == words(other)
}

fn counterpart(file: &Path) -> Option<&'static Path> {
    COUNTERPARTS.iter().find_map(|(one, other)| match file {
        file if file == Path::new(one) => Some(Path::new(*other)),
        file if file == Path::new(other) => Some(Path::new(*one)),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// A directory as a root, with one file in it.
    fn root(content: &str) -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let file = fs::canonicalize(directory.path()).unwrap().join("setting");
        fs::write(&file, content).unwrap();
        (directory, file)
    }

    #[test]
    fn a_setting_is_written_and_put_back() {
        let (_root, file) = root("50\n");
        let before = Before::read(&file).unwrap();
        write(&file, "7").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "7\n");
        before.put_back().unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "50\n");
    }

    #[test]
    fn of_choices_the_one_in_brackets_is_the_value() {
        let (_root, file) = root("always [madvise] never\n");
        assert_eq!(Before::read(&file).unwrap().value, "madvise");
        assert!(is_same("always [madvise] never", "madvise"));
        assert!(!is_same("[always] madvise never", "madvise"));
    }

    #[test]
    fn blanks_make_no_difference_and_are_put_back_as_they_were() {
        let (_root, file) = root("4096\t131072\t6291456\n");
        assert!(is_same("4096\t131072\t6291456", "4096 131072  6291456 "));
        assert_eq!(Before::read(&file).unwrap().value, "4096\t131072\t6291456");
    }

    #[test]
    fn a_value_that_does_not_take_is_reported() {
        // Writes there are discarded.
        let refused = write(Path::new("/dev/null"), "1").unwrap_err();
        assert_eq!(refused, "/dev/null can't be set to '1': it reads '' after that");
        let (_root, file) = root("one\ntwo\n");
        assert!(Before::read(&file).unwrap_err().ends_with("setting can't be read: it holds more than one value"));
    }

    #[test]
    fn what_is_not_below_a_root_is_refused() {
        let (directory, file) = root("1\n");
        let roots = [directory.path()];
        let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
        assert_eq!(find(&path("setting"), &roots), Ok(file));
        symlink("/etc/hostname", path("link")).unwrap();
        symlink("setting", path("inside")).unwrap();
        assert!(find(&path("inside"), &roots).is_ok());
        for (path, reason) in [
            (path("link"), "it leads to /etc/hostname"),
            (path("none"), "can't be read: No such file"),
            (path(""), "is not a file"),
            (path("../x"), "is not a system setting"),
            ("/etc/passwd".to_owned(), "is not a system setting: settings are files below"),
            ("setting".to_owned(), "is not a system setting"),
        ] {
            let refused = find(&path, &roots).unwrap_err();
            assert!(refused.contains(reason), "{path}: {refused}");
        }
        let nowhere = Path::new("/nowhere");
        assert_eq!(find("/nowhere/x", &[nowhere]).unwrap_err(), "/nowhere/x can't be set: this system has no /nowhere");
    }

    #[test]
    fn the_last_is_put_back_first() {
        let (_root, file) = root("1\n");
        let before = |value: &str| Before { file: file.clone(), value: value.to_owned() };
        let gone = Before { file: file.with_file_name("gone"), value: "3".to_owned() };
        let left = put_back_all(&[before("2"), before("5"), gone]);
        assert_eq!(fs::read_to_string(&file).unwrap(), "2\n");
        assert_eq!(left.len(), 1);
        assert!(left[0].contains("gone can't be set to '3': No such file"), "{left:?}");
    }
}
