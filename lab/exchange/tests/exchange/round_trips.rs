//! What is written is read back as was said.

use crate::generated::datasets;
use crate::samples::files_of;
use faultline_exchange::{Format, read, sniff, write};
use faultline_model::dataset::Dataset;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::collections::HashSet;

/// Writes, reads, and writes again. Whether it could be written at all.
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

/// Also sees to it that the property isn't empty: a fair share can be written.
fn round_trips(format: Format, least: usize) {
    const CASES: u32 = 600;
    let mut runner = TestRunner::new(Config { cases: CASES, failure_persistence: None, ..Config::default() });
    let written = std::cell::Cell::new(0);
    let outcome = runner.run(&datasets(), |dataset| {
        written.set(written.get() + usize::from(round_trip(&dataset, format)?));
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{format}: {error}");
    }
    assert!(written.get() >= least, "{format}: only {} of {CASES} could be written", written.get());
}

macro_rules! formats {
    ($($name:ident: $format:ident, $least:literal;)*) => {
        $(#[test] fn $name() { round_trips(Format::$format, $least); })*
    };
}

formats! {
    will_it_scale: WillItScale, 80;
    openbsd_result: OpenbsdResult, 400;
    openbsd_data: OpenbsdData, 400;
    asv: Asv, 130;
    otava_csv: OtavaCsv, 130;
    bencher: Bencher, 400;
    hyperfine: Hyperfine, 25;
    go_bench: GoBench, 400;
    criterion: Criterion, 80;
    lkp: Lkp, 400;
    faultline: Faultline, 600;
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn what_is_written_is_recognised(dataset in datasets()) {
        for format in Format::ALL {
            if let Ok(written) = write(&dataset, format)
                && (format != Format::Faultline || !dataset.series.is_empty())
            {
                prop_assert_eq!(sniff(&files_of(format, &written)), Some(format), "{:?}", written.files);
            }
        }
    }
}
