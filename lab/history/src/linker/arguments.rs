//! Arguments of a linker: argument files, input files, and the options that select its script.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Maximum nesting of argument files.
const DEPTH: u32 = 8;

/// Options with which the linker uses another script than its default, or links no program.
const OTHER_SCRIPT: [&str; 9] =
    ["-r", "-i", "-Ur", "--relocatable", "--script", "--default-script", "--mri-script", "-c", "-dT"];

/// Options of one word that select a default script.
const CHOOSING: [&str; 14] = [
    "-shared",
    "--shared",
    "-Bshareable",
    "-pie",
    "--pie",
    "--pic-executable",
    "-no-pie",
    "--no-pie",
    "-n",
    "--nmagic",
    "-N",
    "--omagic",
    "-z",
    "-m",
];

/// All arguments, with the content of argument files (`@FILE`). An unreadable file stays a word, as
/// in the linker.
pub(super) fn expanded(words: Vec<OsString>) -> Vec<OsString> {
    fn add(word: OsString, depth: u32, all: &mut Vec<OsString>) {
        let file = word.as_bytes().strip_prefix(b"@").filter(|_| depth < DEPTH);
        match file.and_then(|file| fs::read(Path::new(OsStr::from_bytes(file))).ok()) {
            Some(text) => split(&text).into_iter().for_each(|word| add(word, depth + 1, all)),
            None => all.push(word),
        }
    }
    let mut all = Vec::new();
    words.into_iter().for_each(|word| add(word, 0, &mut all));
    all
}

/// The words of an argument file: separated by blanks, with quotes and backslashes.
fn split(text: &[u8]) -> Vec<OsString> {
    let (mut words, mut word, mut quote): (Vec<OsString>, Option<Vec<u8>>, Option<u8>) = (Vec::new(), None, None);
    let mut rest = text.iter().copied();
    while let Some(byte) = rest.next() {
        match (byte, quote) {
            (b'\\', _) => word.get_or_insert_default().extend(rest.next()),
            (b'"' | b'\'', None) => {
                quote = Some(byte);
                word.get_or_insert_default();
            }
            (_, Some(open)) if byte == open => quote = None,
            (_, None) if byte.is_ascii_whitespace() => words.extend(word.take().map(OsString::from_vec)),
            _ => word.get_or_insert_default().push(byte),
        }
    }
    words.extend(word.map(OsString::from_vec));
    words
}

/// True if the linker links a program or library with a default script. `words`: without argument
/// files.
pub(super) fn uses_own_script(words: &[OsString]) -> bool {
    words.iter().map(|word| word.to_string_lossy()).all(|word| {
        let is_other = OTHER_SCRIPT.iter().any(|option| word == *option || word.starts_with(&format!("{option}=")));
        !is_other && !word.starts_with("-T")
    })
}

/// The script that a link of a program names, with its place among the words; `None` if there is
/// none or several, or if the form is not understood.
pub(super) fn named_script(words: &[OsString]) -> Option<(Named, PathBuf)> {
    let without = OTHER_SCRIPT.iter().filter(|option| **option != "--script");
    let is_no_program = |word: &OsString| without.clone().any(|option| word == option);
    if words.iter().any(is_no_program) {
        return None;
    }
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let next = || words.get(at + 1).map(PathBuf::from);
        match word.to_str() {
            Some("-T" | "--script") => found.push((Named { at, words: 2 }, next()?)),
            Some(text) => match (text.strip_prefix("--script="), text.strip_prefix("-T")) {
                (Some(file), _) => found.push((Named { at, words: 1 }, PathBuf::from(file))),
                // The address of a segment, or a similar option.
                (None, Some(rest)) if rest.contains('=') => return None,
                (None, Some(file)) => found.push((Named { at, words: 1 }, PathBuf::from(file))),
                (None, None) => {}
            },
            None => {}
        }
    }
    if found.len() == 1 { found.pop() } else { None }
}

/// The place where a script is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Named {
    /// Index of the first word.
    at: usize,
    /// Number of words.
    words: usize,
}

impl Named {
    /// The words with another script.
    pub(super) fn replaced(self, words: &[OsString], script: &Path) -> Vec<OsString> {
        let other = ["-T".into(), script.as_os_str().to_owned()];
        [&words[..self.at], &other, &words[self.at + self.words..]].concat()
    }
}

/// The options that select a default script.
pub(super) fn choosing(words: &[OsString]) -> Vec<OsString> {
    let mut chosen = Vec::new();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let text = word.to_string_lossy();
        if CHOOSING.contains(&&*text) {
            chosen.push(word.clone());
            if ["-z", "-m"].contains(&&*text) {
                chosen.extend(rest.next().cloned());
            }
        } else if text.starts_with("-m") && !text.starts_with("-map") || text.starts_with("-z") {
            chosen.push(word.clone());
        }
    }
    chosen
}

/// Words that may be input files, each once. Some are no files.
pub(super) fn files(words: &[OsString]) -> Vec<&OsString> {
    let mut files: Vec<&OsString> = Vec::new();
    let mut before: &OsStr = OsStr::new("");
    for word in words {
        if before != "-o" && !word.as_bytes().starts_with(b"-") && !files.contains(&word) {
            files.push(word);
        }
        before = word;
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<OsString> {
        split(text.as_bytes())
    }

    #[test]
    fn files_with_arguments_are_read() {
        let directory = tempfile::tempdir().unwrap();
        let inner = directory.path().join("inner");
        fs::write(&inner, "b.o 'c d.o' \"e\\\"f.o\" g\\ h.o\n").unwrap();
        let outer = directory.path().join("outer");
        fs::write(&outer, format!("-o prog @{}\n@missing", inner.display())).unwrap();
        let all = expanded(vec!["a.o".into(), format!("@{}", outer.display()).into()]);
        assert_eq!(all, ["a.o", "-o", "prog", "b.o", "c d.o", "e\"f.o", "g h.o", "@missing"]);
        // A file that names itself must end.
        fs::write(&inner, format!("@{}", inner.display())).unwrap();
        assert_eq!(expanded(vec![format!("@{}", inner.display()).into()]).len(), 1);
    }

    #[test]
    fn links_with_a_script_of_their_own_are_left_alone() {
        assert!(uses_own_script(&words("-pie -o prog a.o -lc -z relro --version-script=v")));
        for option in ["-r", "-T x.ld", "-Tx.ld", "--script=x.ld", "-Ttext=0x100", "--relocatable", "-Ur"] {
            assert!(!uses_own_script(&words(&format!("-o prog {option} a.o"))), "{option}");
        }
    }

    #[test]
    fn a_script_that_is_named_once_is_replaced() {
        for named in ["-T x.ld", "-Tx.ld", "--script=x.ld", "--script x.ld"] {
            let words = words(&format!("-m elf_x86_64 {named} -o prog a.o"));
            let (place, file) = named_script(&words).unwrap();
            assert_eq!(file, Path::new("x.ld"));
            let replaced = place.replaced(&words, Path::new("y.ld"));
            assert_eq!(replaced, ["-m", "elf_x86_64", "-T", "y.ld", "-o", "prog", "a.o"]);
        }
        for none in ["a.o", "-Ttext=0x100 a.o", "-T x -T y a.o", "-r -T x a.o", "-T"] {
            assert_eq!(named_script(&words(none)), None, "{none}");
        }
    }

    #[test]
    fn what_chooses_a_script_is_passed_on() {
        let chosen = choosing(&words(
            "-plugin p.so -m elf_x86_64 -melf_i386 -pie -z now -znorelro -o -Map=x a.o --hash-style=gnu -lm",
        ));
        assert_eq!(chosen, ["-m", "elf_x86_64", "-melf_i386", "-pie", "-z", "now", "-znorelro"]);
    }

    #[test]
    fn the_output_is_no_input() {
        let words = words("-o prog.o a.o -L lib liba.a a.o -lc");
        assert_eq!(files(&words), ["a.o", "lib", "liba.a"]);
    }
}
