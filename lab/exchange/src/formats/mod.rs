//! The formats, one file each, and their list.

mod asv;
mod bencher;
mod criterion;
mod csv;
mod faultline;
mod fio;
mod github_action_benchmark;
mod go_bench;
mod go_test_json;
mod google_benchmark;
mod hyperfine;
mod iperf3;
mod jmh;
mod lkp;
mod openbsd_data;
mod openbsd_result;
mod otava_csv;
mod otava_json;
mod pytest_benchmark;
mod tcpbench;
mod will_it_scale;

use crate::format::{Format, FormatDescriptor};
use std::str::FromStr;

/// All formats in the order of the help.
pub static FORMATS: &[Format] = &[
    &faultline::FORMAT,
    &csv::FORMAT,
    &will_it_scale::FORMAT,
    &openbsd_result::FORMAT,
    &openbsd_data::FORMAT,
    &asv::FORMAT,
    &otava_csv::FORMAT,
    &otava_json::FORMAT,
    &bencher::FORMAT,
    &hyperfine::FORMAT,
    &hyperfine::CSV_FORMAT,
    &go_bench::FORMAT,
    &go_test_json::FORMAT,
    &google_benchmark::FORMAT,
    &criterion::FORMAT,
    &pytest_benchmark::FORMAT,
    &jmh::FORMAT,
    &github_action_benchmark::FORMAT,
    &lkp::FORMAT,
    &iperf3::FORMAT,
    &tcpbench::FORMAT,
    &fio::FORMAT,
];

/// The error for an unknown format name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown format '{0}': expected {names}", names = listed(FORMATS))]
pub struct UnknownFormat(pub String);

impl FromStr for &'static FormatDescriptor {
    type Err = UnknownFormat;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        FORMATS.iter().copied().find(|format| format.name() == word).ok_or_else(|| UnknownFormat(word.to_owned()))
    }
}

/// Format names as a list: `asv, bencher or lkp`.
pub(crate) fn listed(formats: &[Format]) -> String {
    let names: Vec<_> = formats.iter().map(|format| format.name()).collect();
    match names.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_leads_back_to_its_format() {
        for format in FORMATS {
            assert!(std::ptr::eq(format.name().parse::<Format>().unwrap(), *format), "two formats are named {format}");
        }
    }

    #[test]
    fn an_unknown_name_lists_the_known_ones() {
        let error = "xml".parse::<Format>().unwrap_err().to_string();
        for format in FORMATS {
            assert!(error.contains(format.name()), "{error}");
        }
    }

    #[test]
    fn every_format_is_described() {
        for format in FORMATS {
            assert!(!format.description().is_empty() && !format.reads().is_empty(), "{format}");
            assert_eq!(format.writes().is_empty(), !format.is_written(), "{format}");
        }
    }
}
