//! The formats that are read and written, and their names.

use std::fmt;
use std::str::FromStr;

/// A tool's way to keep results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// will-it-scale's CSV.
    WillItScale,
    /// The OpenBSD lab's `test.result`.
    OpenbsdResult,
    /// The OpenBSD lab's `test.data`.
    OpenbsdData,
    /// asv's results.
    Asv,
    /// Otava's CSV.
    OtavaCsv,
    /// Otava's report of changes.
    OtavaJson,
    /// Bencher metric format.
    Bencher,
    /// hyperfine's JSON.
    Hyperfine,
    /// What Go's benchmarks print.
    GoBench,
    /// criterion's measurements.
    Criterion,
    /// lkp-tests' `matrix.json`.
    Lkp,
    /// Our own.
    Faultline,
}

impl Format {
    /// Every format, in the order in which help lists them.
    pub const ALL: [Format; 12] = [
        Format::Faultline,
        Format::WillItScale,
        Format::OpenbsdResult,
        Format::OpenbsdData,
        Format::Asv,
        Format::OtavaCsv,
        Format::OtavaJson,
        Format::Bencher,
        Format::Hyperfine,
        Format::GoBench,
        Format::Criterion,
        Format::Lkp,
    ];

    /// The name used in arguments.
    pub fn name(self) -> &'static str {
        match self {
            Format::WillItScale => "will-it-scale",
            Format::OpenbsdResult => "openbsd-result",
            Format::OpenbsdData => "openbsd-data",
            Format::Asv => "asv",
            Format::OtavaCsv => "otava-csv",
            Format::OtavaJson => "otava-json",
            Format::Bencher => "bencher",
            Format::Hyperfine => "hyperfine",
            Format::GoBench => "go-bench",
            Format::Criterion => "criterion",
            Format::Lkp => "lkp",
            Format::Faultline => "faultline",
        }
    }

    /// What it is, in one line for people.
    pub fn description(self) -> &'static str {
        match self {
            Format::WillItScale => "will-it-scale's CSV, one file per test case; or a directory of them",
            Format::OpenbsdResult => "the OpenBSD lab's test.result: one execution of its tests",
            Format::OpenbsdData => "the OpenBSD lab's test.data: values over checkouts and repeats",
            Format::Asv => "asv's results directory: benchmarks.json, MACHINE/machine.json, MACHINE/HASH-ENV.json",
            Format::OtavaCsv => "Otava's CSV: time, commit and one column per metric",
            Format::OtavaJson => "Otava's JSON report of changes",
            Format::Bencher => "Bencher metric format (BMF), JSON",
            Format::Hyperfine => "hyperfine's JSON (--export-json)",
            Format::GoBench => "the text that `go test -bench` prints",
            Format::Criterion => "criterion's directory: target/criterion/**/new/*.json",
            Format::Lkp => "lkp-tests' matrix.json",
            Format::Faultline => "everything Faultline knows of the values, JSON",
        }
    }

    /// Whether it is a directory rather than a file.
    pub fn is_directory(self) -> bool {
        matches!(self, Format::Asv | Format::Criterion)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// No format has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown format '{0}': expected {names}", names = names())]
pub struct UnknownFormat(pub String);

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        Format::ALL.into_iter().find(|format| format.name() == word).ok_or_else(|| UnknownFormat(word.to_owned()))
    }
}

/// `asv, bencher or lkp`, of all formats.
pub(crate) fn names() -> String {
    let names: Vec<_> = Format::ALL.iter().map(|format| format.name()).collect();
    let (last, others) = names.split_last().expect("there are formats");
    format!("{} or {last}", others.join(", "))
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
