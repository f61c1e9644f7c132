//! Reading written datasets: the result equals the announced one.

use crate::generated::datasets;
use crate::samples::{files_of, named};
use faultline_exchange::{FORMATS, Format, read, sniff, write};
use faultline_record::dataset::Dataset;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::collections::HashSet;

/// Writes, reads, and writes again. Returns false if the dataset cannot be written.
fn round_trip(dataset: &Dataset, format: Format) -> Result<bool, TestCaseError> {
    let Ok(written) = write(dataset, format) else {
        return Ok(false);
    };
    let files = files_of(format, &written);
    let read = read(&files, Some(format));
    prop_assert_eq!(read.as_ref(), Ok(&written.held), "{:?}", written.files);
    if written.losses.is_empty() {
        prop_assert_eq!(&written.held, dataset);
    }
    let again = write(&written.held, format).expect("what was held can be written");
    prop_assert_eq!(&again.losses, &Vec::<String>::new(), "{:?}", written.files);
    prop_assert_eq!(&again.files, &written.files);
    let mut paths = HashSet::new();
    for (path, _) in &written.files {
        prop_assert!(paths.insert(path.to_lowercase()), "{} twice", path);
        prop_assert!(!path.starts_with('/') && path.split('/').all(|part| !part.is_empty() && !part.starts_with('.')));
        prop_assert!(path.split('/').all(|part| part.len() <= 255) && !path.contains(['\0', '\\', '\n']), "{}", path);
    }
    Ok(true)
}

/// Minimum share of [`CASES`] that each format can write.
fn least(format: Format) -> usize {
    match format.name() {
        "faultline" => 600,
        "openbsd-result" | "openbsd-data" | "bencher" | "go-bench" | "lkp" => 400,
        "asv" | "otava-csv" => 130,
        "will-it-scale" | "criterion" => 80,
        _ => 25,
    }
}

/// Number of datasets per format.
const CASES: u32 = 600;

/// Also checks that the property is not vacuous: a fair share can be written. The cases, and so the
/// share, are the same each time.
fn round_trips(format: Format) {
    let config = Config { cases: CASES, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let written = std::cell::Cell::new(0);
    let outcome = runner.run(&datasets(), |dataset| {
        written.set(written.get() + usize::from(round_trip(&dataset, format)?));
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{format}: {error}");
    }
    let least = least(format);
    assert!(written.get() >= least, "{format}: only {} of {CASES} could be written", written.get());
}

#[test]
fn every_format_reads_what_it_writes() {
    std::thread::scope(|scope| {
        for format in FORMATS.iter().copied().filter(|format| format.is_written() && !format.holds_changes()) {
            scope.spawn(move || round_trips(format));
        }
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn what_is_written_is_recognised(dataset in datasets()) {
        for format in FORMATS.iter().copied() {
            if let Ok(written) = write(&dataset, format)
                && (format != named("faultline") || !dataset.series.is_empty())
            {
                prop_assert_eq!(sniff(&files_of(format, &written)), Some(format), "{:?}", written.files);
            }
        }
    }
}
