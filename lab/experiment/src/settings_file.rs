//! `faultline.toml`: text, tables, and errors with their line. Each table has one owner, which
//! reads it and knows its keys. Every reader refuses a table without an owner.

use crate::error::Error;
use serde::Deserializer;
use serde::de::{DeserializeOwned, IgnoredAny, MapAccess, Visitor};
use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;
use std::marker::PhantomData;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use toml::Spanned;

/// The default file.
pub const USUAL_FILE: &str = "faultline.toml";

/// Maximum number of bytes that are read from it.
const MOST_BYTES: u64 = 1 << 20;

/// A table of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingsTable {
    /// Hosts over SSH; owner: [`crate::hosts`].
    Host,
    /// Recipients of notices of confirmed changes; owner: the reader of histories.
    Notify,
    /// Changes of the environment; owner: the reader of histories.
    Quirk,
    /// Subjects of histories; owner: the reader of histories.
    Subject,
    /// Sides of comparisons; owner: [`crate::variants`].
    Variant,
}

impl SettingsTable {
    /// All tables.
    pub const ALL: [SettingsTable; 5] = [
        SettingsTable::Host,
        SettingsTable::Notify,
        SettingsTable::Quirk,
        SettingsTable::Subject,
        SettingsTable::Variant,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            SettingsTable::Host => "host",
            SettingsTable::Notify => "notify",
            SettingsTable::Quirk => "quirk",
            SettingsTable::Subject => "subject",
            SettingsTable::Variant => "variant",
        }
    }

    /// Its heading.
    fn written(self) -> &'static str {
        match self {
            SettingsTable::Host => "[host.NAME]",
            SettingsTable::Notify => "[notify]",
            SettingsTable::Quirk => "[[quirk]]",
            SettingsTable::Subject => "[subject.NAME]",
            SettingsTable::Variant => "[variant.NAME]",
        }
    }
}

/// The default file in a directory or the nearest above it, up to the root of the repository.
/// Outside a repository only the directory itself is searched: anyone may write a file into a
/// directory such as `/tmp`.
pub fn nearest(directory: &Path) -> Option<PathBuf> {
    if directory.join(USUAL_FILE).is_file() {
        return Some(PathBuf::from(USUAL_FILE));
    }
    let whole = std::path::absolute(directory).ok()?;
    let root = whole.ancestors().find(|above| above.join(".git").exists())?;
    let searched = whole.ancestors().skip(1).take_while(|above| above.starts_with(root));
    searched.map(|above| above.join(USUAL_FILE)).find(|file| file.is_file())
}

/// A file's text, up to a maximum size. Fails if it cannot be read, or if it belongs to another
/// user: its builds and hooks run as the caller.
pub fn read(file: &Path) -> std::io::Result<String> {
    let mut open = std::fs::File::open(file)?;
    check_owner(open.metadata()?.uid())?;
    let mut text = String::new();
    open.by_ref().take(MOST_BYTES).read_to_string(&mut text)?;
    Ok(text)
}

/// Fails unless the owner is the caller, the caller before `sudo`, or root.
fn check_owner(owner: u32) -> std::io::Result<()> {
    let own = rustix::process::geteuid().as_raw();
    let before_sudo = || std::env::var("SUDO_UID").ok()?.parse::<u32>().ok().filter(|_| own == 0);
    match owner == own || owner == 0 || Some(owner) == before_sudo() {
        true => Ok(()),
        false => Err(std::io::Error::new(
            std::io::ErrorKind::PermissionDenied,
            format!(
                "it belongs to user {owner}, not to user {own}, and what it declares would run as user {own}; copy it to use it"
            ),
        )),
    }
}

/// A table of the text; `None` if it is absent. `hint`: its keys. Fails with the line of the first
/// error, or of a table without an owner.
pub fn table<T: DeserializeOwned>(
    text: &str,
    file: &Path,
    table: SettingsTable,
    hint: &str,
) -> Result<Option<T>, Error> {
    let told = |error: toml::de::Error| {
        let problem = error.message().lines().next().unwrap_or_default();
        refused(text, file, error.span().unwrap_or_default(), problem, hint)
    };
    let tables: BTreeMap<Spanned<String>, IgnoredAny> = toml::from_str(text).map_err(told)?;
    let has_no_owner = |name: &&Spanned<String>| !SettingsTable::ALL.iter().any(|table| table.name() == name.as_ref());
    // In the order of the file.
    if let Some(name) = tables.keys().filter(has_no_owner).min_by_key(|name| name.span().start) {
        let all = SettingsTable::ALL.map(SettingsTable::written).join(", ");
        let problem = format!("unknown table `{}`", name.as_ref().escape_debug());
        return Err(refused(text, file, name.span(), &problem, &format!("there are {all}")));
    }
    let whole = toml::Deserializer::parse(text).map_err(told)?;
    whole.deserialize_map(One { table, read: PhantomData }).map_err(told)
}

/// Reads one table and skips the others.
struct One<T> {
    table: SettingsTable,
    read: PhantomData<T>,
}

impl<'de, T: DeserializeOwned> Visitor<'de> for One<T> {
    type Value = Option<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the tables of {USUAL_FILE}")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Option<T>, M::Error> {
        let mut found = None;
        while let Some(name) = map.next_key::<String>()? {
            if name == self.table.name() {
                found = Some(map.next_value()?);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}

/// The error for a range of the text: file, line, problem.
pub fn refused(text: &str, file: &Path, at: Range<usize>, problem: &str, hint: &str) -> Error {
    let line = 1 + text.bytes().take(at.start).filter(|byte| *byte == b'\n').count();
    Error::usage(format!("{}:{line}: {problem}", file.display()), hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notify(text: &str) -> Result<Option<BTreeMap<String, u32>>, Error> {
        table(text, Path::new("f.toml"), SettingsTable::Notify, "its keys are numbers")
    }

    #[test]
    fn an_owner_reads_its_table_and_passes_the_others_over() {
        let found = notify("[host.x]\nanything = []\n[notify]\na = 1\n[[quirk]]\n").unwrap();
        assert_eq!(found, Some([("a".to_owned(), 1)].into()));
        assert_eq!(notify("[subject.x]\n").unwrap(), None);
    }

    #[test]
    fn the_search_ends_at_the_root_of_the_repository() {
        let outside = tempfile::tempdir().unwrap();
        let repository = outside.path().join("repository");
        let below = repository.join("a/b");
        std::fs::create_dir_all(&below).unwrap();
        std::fs::write(outside.path().join(USUAL_FILE), "").unwrap();
        assert_eq!(nearest(&below), None, "outside a repository, only the directory itself is searched");
        std::fs::create_dir(repository.join(".git")).unwrap();
        assert_eq!(nearest(&below), None, "a file above the root is not found");
        std::fs::write(repository.join(USUAL_FILE), "").unwrap();
        assert_eq!(nearest(&below), Some(repository.join(USUAL_FILE)));
        assert_eq!(nearest(&repository), Some(PathBuf::from(USUAL_FILE)), "a short name for the nearest");
    }

    #[test]
    fn a_file_of_another_user_is_refused() {
        let own = rustix::process::geteuid().as_raw();
        assert!(check_owner(own).is_ok() && check_owner(0).is_ok());
        let error = check_owner(own + 4711).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::PermissionDenied);
        assert!(error.to_string().contains("it belongs to user"), "{error}");
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join(USUAL_FILE);
        std::fs::write(&file, "[notify]\n").unwrap();
        assert_eq!(read(&file).unwrap(), "[notify]\n");
        // Only root can give a file away.
        if own == 0 {
            std::os::unix::fs::chown(&file, Some(4711), None).unwrap();
            assert_eq!(read(&file).unwrap_err().kind(), std::io::ErrorKind::PermissionDenied);
        }
    }

    #[test]
    fn errors_have_their_line() {
        let told = |text: &str| {
            let error = notify(text).unwrap_err();
            format!("{}; {}", error.problem, error.hint.unwrap_or_default())
        };
        assert_eq!(
            told("[notify]\n\n[hots.x]\na = 1\n[aaa]\n"),
            "f.toml:3: unknown table `hots`; there are [host.NAME], [notify], [[quirk]], [subject.NAME], [variant.NAME]"
        );
        assert!(told("name = 1\n").starts_with("f.toml:1: unknown table `name`"));
        assert!(told("[host.x]\n[notify]\na = 'x'\n").starts_with("f.toml:3: invalid type"));
        assert!(told("[notify]\na = 1\n[notify]\n").starts_with("f.toml:3: "));
        assert!(told("[notify\n").ends_with("its keys are numbers"));
    }
}
