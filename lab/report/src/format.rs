//! The output formats, their names, and JSON.

use serde::Serialize;
use std::fmt;
use std::str::FromStr;

/// An output format.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Format {
    /// Columns for people.
    #[default]
    Table,
    /// The data themselves, with the name and version of their structure if they have one.
    Json,
    /// One header line, then one line per record; raw numbers, units in the header.
    Csv,
    /// A pipe table, for documents.
    Markdown,
}

impl Format {
    /// Every format, in the order in which help lists them.
    pub const ALL: [Format; 4] = [Format::Table, Format::Json, Format::Csv, Format::Markdown];

    /// The name used in arguments.
    pub fn name(self) -> &'static str {
        match self {
            Format::Table => "table",
            Format::Json => "json",
            Format::Csv => "csv",
            Format::Markdown => "markdown",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// No format has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown format '{0}': expected table, json, csv or markdown")]
pub struct UnknownFormat(pub String);

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        Format::ALL.into_iter().find(|format| format.name() == word).ok_or_else(|| UnknownFormat(word.to_owned()))
    }
}

/// Indented JSON with a line end. Numbers that are not finite become `null`.
pub fn json<T: Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string_pretty(value).expect("plain data with text keys") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_leads_back_to_its_format() {
        for format in Format::ALL {
            assert_eq!(format.name().parse(), Ok(format));
        }
    }

    #[test]
    fn an_unknown_name_lists_the_known_ones() {
        let error = "xml".parse::<Format>().unwrap_err().to_string();
        for format in Format::ALL {
            assert!(error.contains(format.name()), "{error}");
        }
    }
}
