//! `faultline.toml`: its text, its tables, and errors with the line. Each table has one owner, who reads it and knows its keys; the others pass it over. A table that
//! has no owner is refused by everyone.

use crate::error::Error;
use serde::Deserializer;
use serde::de::{DeserializeOwned, IgnoredAny, MapAccess, Visitor};
use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;
use std::marker::PhantomData;
use std::ops::Range;
use std::path::Path;
use toml::Spanned;

/// The default file.
pub const USUAL_FILE: &str = "faultline.toml";

/// Maximum number of bytes that are read from it.
const MOST_BYTES: u64 = 1 << 20;

/// A table of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Table {
    /// Hosts over SSH; owner: [`crate::hosts`].
    Host,
    /// Who is notified of confirmed changes; owner: the reader of histories.
    Notify,
    /// Changes of the surroundings; owner: the reader of histories.
    Quirk,
    /// Subjects of histories; owner: the reader of histories.
    Subject,
    /// Sides of comparisons; owner: [`crate::variants`].
    Variant,
}

impl Table {
    /// Every table that there is.
    pub const ALL: [Table; 5] = [Table::Host, Table::Notify, Table::Quirk, Table::Subject, Table::Variant];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Table::Host => "host",
            Table::Notify => "notify",
            Table::Quirk => "quirk",
            Table::Subject => "subject",
            Table::Variant => "variant",
        }
    }

    /// As its head is written.
    fn written(self) -> &'static str {
        match self {
            Table::Host => "[host.NAME]",
            Table::Notify => "[notify]",
            Table::Quirk => "[[quirk]]",
            Table::Subject => "[subject.NAME]",
            Table::Variant => "[variant.NAME]",
        }
    }
}

/// A file's text, up to more bytes than anyone needs. Fails if it cannot be read.
pub fn read(file: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    std::fs::File::open(file)?.take(MOST_BYTES).read_to_string(&mut text)?;
    Ok(text)
}

/// A table of its text, as its owner reads it; `None` if it is not there. `hint`: what its keys are. Fails with the line of the first error, or of a table without
/// an owner.
pub fn table<T: DeserializeOwned>(text: &str, file: &Path, table: Table, hint: &str) -> Result<Option<T>, Error> {
    let told = |error: toml::de::Error| {
        let problem = error.message().lines().next().unwrap_or_default();
        refused(text, file, error.span().unwrap_or_default(), problem, hint)
    };
    let tables: BTreeMap<Spanned<String>, IgnoredAny> = toml::from_str(text).map_err(told)?;
    let has_no_owner = |name: &&Spanned<String>| !Table::ALL.iter().any(|table| table.name() == name.as_ref());
    // In the order of the file.
    if let Some(name) = tables.keys().filter(has_no_owner).min_by_key(|name| name.span().start) {
        let all = Table::ALL.map(Table::written).join(", ");
        let problem = format!("unknown table `{}`", name.as_ref().escape_debug());
        return Err(refused(text, file, name.span(), &problem, &format!("there are {all}")));
    }
    let whole = toml::Deserializer::parse(text).map_err(told)?;
    whole.deserialize_map(One { table, read: PhantomData }).map_err(told)
}

/// Reads one table, and passes the others over.
struct One<T> {
    table: Table,
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

/// The error for something at a place in the text: the file, the line, and the problem.
pub fn refused(text: &str, file: &Path, at: Range<usize>, problem: &str, hint: &str) -> Error {
    let line = 1 + text.bytes().take(at.start).filter(|byte| *byte == b'\n').count();
    Error::usage(format!("{}:{line}: {problem}", file.display()), hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notify(text: &str) -> Result<Option<BTreeMap<String, u32>>, Error> {
        table(text, Path::new("f.toml"), Table::Notify, "its keys are numbers")
    }

    #[test]
    fn an_owner_reads_its_table_and_passes_the_others_over() {
        let found = notify("[host.x]\nanything = []\n[notify]\na = 1\n[[quirk]]\n").unwrap();
        assert_eq!(found, Some([("a".to_owned(), 1)].into()));
        assert_eq!(notify("[subject.x]\n").unwrap(), None);
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
