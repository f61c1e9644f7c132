//! Malformed input gives a valid dataset or a one-line error.

use crate::samples::{all, named};
use faultline_exchange::{FORMATS, Files, Format, read, read_changes, sniff};
use faultline_record::dataset::{Dataset, Measured};
use proptest::collection::vec;
use proptest::prelude::*;

/// Reads in every format. An error must be one short line with a hint.
fn try_all(files: &Files) {
    for format in FORMATS.iter().copied().map(Some).chain([None]) {
        let values = read(files, format).err();
        let changes = format.and_then(|format| read_changes(files, format).err());
        for error in [values, changes].into_iter().flatten() {
            let line = error.to_string();
            assert!(!line.contains('\n') && line.len() < 1500, "{line}");
            assert!(!error.hint().is_empty());
        }
    }
}

fn message(format: Format, text: &str) -> String {
    read(&Files::one("given", text.as_bytes().to_vec()), Some(format)).unwrap_err().to_string()
}

/// Bytes that are known to break parsers.
fn morsel() -> impl Strategy<Value = Vec<u8>> {
    let known = prop::sample::select(vec![
        "NaN",
        "Infinity",
        "-1",
        "1e999",
        "1e-999",
        "null",
        "\"",
        "[",
        "]",
        "{",
        "}",
        ",",
        ":",
        "\n",
        "\r\n",
        "\t",
        " ",
        "-",
        "0",
        "99999999999999999999",
        "\u{feff}",
        "\0",
        "×",
        "\"version\": 2",
        "Benchmark",
        "VALUE 1 s",
        "PASS\t",
        "time,",
        "9223372036854775807",
    ]);
    prop_oneof![known.prop_map(|text| text.as_bytes().to_vec()), vec(any::<u8>(), 0..6)]
}

#[derive(Debug, Clone)]
struct Change {
    at: prop::sample::Index,
    length: usize,
    instead: Vec<u8>,
}

fn change() -> impl Strategy<Value = Change> {
    (any::<prop::sample::Index>(), prop_oneof![Just(0usize), 1usize..4, Just(200)], morsel())
        .prop_map(|(at, length, instead)| Change { at, length, instead })
}

fn changed(bytes: &[u8], changes: &[Change]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for change in changes {
        let at = change.at.index(bytes.len() + 1);
        let end = (at + change.length).min(bytes.len());
        bytes.splice(at..end, change.instead.iter().copied());
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes(bytes in vec(any::<u8>(), 0..300)) {
        try_all(&Files::one("given", bytes));
    }

    #[test]
    fn arbitrary_morsels(morsels in vec(morsel(), 0..40)) {
        try_all(&Files::one("given", morsels.concat()));
    }

    #[test]
    fn samples_that_were_changed(which in any::<prop::sample::Index>(), changes in vec(change(), 1..5)) {
        let samples = all();
        let (_, files) = which.get(&samples);
        let changed = files.contents().map(|(path, bytes)| (path.to_owned(), changed(bytes, &changes)));
        let changed = if files.is_directory() {
            Files::directory("given", changed)
        } else {
            Files::one("given", changed.map(|(_, bytes)| bytes).next().unwrap())
        };
        try_all(&changed);
    }
}

#[test]
fn nothing_at_all() {
    try_all(&Files::one("given", vec![]));
    try_all(&Files::directory("given", []));
    for format in FORMATS.iter().copied().map(Some).chain([None]) {
        let error = read(&Files::one("given", b" \n".to_vec()), format).unwrap_err().to_string();
        assert_eq!(error, "given: the file is empty");
    }
}

#[test]
fn deep_nesting() {
    for opening in ["[", "{\"a\":", "{\"results\":[", "{\"a\":[", "{\"a\":{\"b\":{\"value\":"] {
        try_all(&Files::one("given", opening.repeat(100_000).into_bytes()));
    }
}

#[test]
fn line_ends_and_a_byte_order_mark_change_nothing() {
    for (format, files) in all().into_iter().filter(|(format, _)| !format.holds_changes()) {
        let as_on_windows = files.contents().map(|(path, bytes)| {
            let text = String::from_utf8(bytes.to_vec()).unwrap().replace('\n', "\r\n");
            (path.to_owned(), format!("\u{feff}{text}").into_bytes())
        });
        let changed = if files.is_directory() {
            Files::directory(files.given(), as_on_windows)
        } else {
            Files::one(files.given(), as_on_windows.map(|(_, bytes)| bytes).next().unwrap())
        };
        assert_eq!(read(&changed, None), read(&files, Some(format)), "{format}");
    }
}

#[test]
fn an_error_names_file_line_and_what_was_expected() {
    let cases = [
        (
            named("will-it-scale"),
            "tasks,x\n",
            "given:1: found 'tasks,x', expected 'tasks,processes,processes_idle,threads,threads_idle,linear'",
        ),
        (
            named("will-it-scale"),
            "tasks,processes,processes_idle,threads,threads_idle,linear\n1,2\n",
            "given:2: found 2 columns, expected 6 columns",
        ),
        (
            named("will-it-scale"),
            "tasks,processes,processes_idle,threads,threads_idle,linear\n1,2,3,4,inf,6\n",
            "given:2: found 'inf', expected threads_idle: a finite number",
        ),
        (
            named("openbsd-result"),
            "VALUE 1 s real\nPASS\tmake\nVALUE x s real\n",
            "given:3: found 'x', expected a value: a finite number",
        ),
        (
            named("openbsd-result"),
            "VALUE 1 s real\n",
            "given:1: found the end, expected the status of the test that has the last values",
        ),
        (
            named("openbsd-result"),
            "hello\n",
            "given:1: found 'hello', expected `VALUE NUMBER UNIT NAME` or `STATUS TEST MESSAGE`",
        ),
        (
            named("openbsd-result"),
            "VALUE 1 s real\nPASS\ta\nVALUE 1 ms real\nPASS\ta\n",
            "given:3: found the unit 'ms', expected 's', the unit of the earlier values of 'a'",
        ),
        (named("openbsd-data"), "# test subtest\na b 1 2 3\n", "given:2: found 5 columns, expected 8 columns"),
        (
            named("openbsd-data"),
            "a b 1 yesterday 3 1.5 s h\n",
            "given:1: found 'yesterday', expected the checkout in seconds since 1970",
        ),
        (
            named("otava-csv"),
            "time,a\n2024-01-01,1\n2024-01-02\n",
            "given:3: found 1 columns, expected 2, as in the header",
        ),
        (named("otava-csv"), "time,a\n2024-01-01,1\n2024-01-02,x\n", "given:3: found 'x', expected a: a finite number"),
        (named("otava-csv"), "time,a\nsoon,1\n", "given:2: found 'soon', expected a time: 2026-01-31 12:00:00 +0000"),
        (
            named("otava-csv"),
            "when,a\n1,1\n",
            "given:1: found no column `time`, expected a header with `time` and metrics",
        ),
        (named("otava-csv"), "time,a,a\n1,1,1\n", "given:1: found two columns 'a', expected each metric once"),
        (
            named("hyperfine"),
            "{\"results\": [\n{\"command\": \"a\", \"times\": [1, \"x\"]}]}",
            "given:2:33: found string \"x\", expected a number in hyperfine's JSON",
        ),
        (
            named("hyperfine"),
            "{\"results\": [{\"command\": \"a\"}]}",
            "given: found command 1 without times and mean, expected `times` or `mean` of each",
        ),
        (
            named("bencher"),
            "{\"a\": {\"latency\":\n{}}}",
            "given:2:2: found an error in JSON (missing field `value`), expected Bencher metric format",
        ),
        (named("lkp"), "{\"a\": [1, []]}", "given:1:13: found a value of another kind, expected lkp's matrix"),
        (
            named("hyperfine"),
            "{\"results\": [{\"command\": \"a\", \"times\": [NaN]}]}",
            "given:1:41: found 'NaN', expected hyperfine's JSON (expected value)",
        ),
        (named("lkp"), "{\"a\": [1, \"x\"]}", "given: found 'x', expected a number of 'a'"),
        (
            named("go-bench"),
            "BenchmarkA 1 -5 ns/op\n",
            "given: found a time below zero of 'A', expected a dataset of go-bench: each benchmark once, with finite \
             values, and times that are not below zero",
        ),
        (
            named("google-benchmark"),
            "{\"benchmarks\": [\n{\"name\": \"a\", \"time_unit\": \"ns\"}]}",
            "given: found the benchmark 'a' without `real_time`, expected `real_time` of each benchmark that ran",
        ),
        (
            named("google-benchmark"),
            "{\"benchmarks\": [",
            "given:1:16: found the end of the file within a value, expected the rest of google-benchmark's JSON",
        ),
        (
            named("pytest-benchmark"),
            "{\"benchmarks\": []}",
            "given: found no benchmark, expected `benchmarks` with their `stats`",
        ),
        (
            named("iperf3"),
            "{\"start\": {\"connected\": []}, \"intervals\": [], \"end\": {}, \"error\": \"unable to connect to server\"}",
            "given: found iperf3's error 'unable to connect to server', expected a test that succeeded",
        ),
        (named("iperf3"), "{\"start\": {}}", "given: found no `test_start`, expected iperf3's JSON"),
        (
            named("tcpbench"),
            "Conn:   1 Mbps:    x Peak Mbps:    1.0 Avg Mbps:    1.0\n",
            "given:1: found 'x', expected an interval of tcpbench: a finite number",
        ),
        (
            named("tcpbench"),
            "Conn:   0 Mbps: 0 Peak Mbps: 0 Avg Mbps: 0\n",
            "given: found no benchmark, expected intervals of tcpbench",
        ),
        (named("fio"), "{\"jobs\": []}", "given: found no benchmark, expected jobs of fio"),
        (
            named("jmh"),
            "[{\"benchmark\": \"a\",\n\"mode\": 3}]",
            "given:2:9: found integer `3`, expected a string in JMH's JSON",
        ),
        (
            named("github-action-benchmark"),
            "[{\"name\": \"a\", \"unit\": \"s\", \"value\": \"x\"}]",
            "given: found the value of 'a', which is no finite number, expected a finite number as `value`",
        ),
        (
            named("hyperfine-csv"),
            "command,mean,stddev,median,user,system,min,max\na,1,,1,0,0,1,x\n",
            "given:2: found 'x', expected max: a finite number",
        ),
        (
            named("hyperfine-csv"),
            "command,mean,stddev,median,user,system,min,max\na,,,,,,,\n",
            "given: found command 1 without times and mean, expected `times` or `mean` of each",
        ),
        (named("go-bench"), "PASS\n", "given: found no benchmark, expected lines `BenchmarkName N VALUE UNIT`"),
        (
            named("faultline"),
            "{\"format\": \"faultline-dataset/2\", \"series\": []}",
            "given: found the format 'faultline-dataset/2', expected a dataset of faultline: each benchmark once, with \
             finite values, and times that are not below zero",
        ),
    ];
    for (format, text, expected) in cases {
        assert_eq!(message(format, text), expected);
    }
}

#[test]
fn a_format_that_needs_a_file_gets_no_directory() {
    let files = Files::directory("given", [("a".to_owned(), vec![]), ("b".to_owned(), vec![])]);
    let error = read(&files, Some(named("lkp"))).unwrap_err().to_string();
    assert_eq!(error, "given: found a directory of 2 files, expected one file in the format lkp");
}

#[test]
fn a_file_that_was_recognised_says_as_what() {
    let files = Files::one("given", b"{\"results\": []}".to_vec());
    let error = read(&files, None).unwrap_err().to_string();
    assert_eq!(error, "given: found no benchmark, expected arrays of numbers (recognised as lkp)");
    let error = read(&Files::directory("given", []), None).unwrap_err().to_string();
    assert_eq!(error, "given: unrecognised file format: a directory of no files");
}

#[test]
fn more_cells_than_anyone_has_are_not_read() {
    let cells = "1,".repeat(10_000_001);
    assert_eq!(
        message(named("lkp"), &format!("{{\"a\": [{cells}1]}}")),
        "given: found 10000001 commas, expected at most 10000000 parts"
    );
}

/// A sample with the same change in all its files.
fn damaged(files: &Files, damage: impl Fn(&[u8]) -> Vec<u8>) -> Files {
    let mut contents = files.contents().map(|(path, bytes)| (path.to_owned(), damage(bytes)));
    match files.is_directory() {
        true => Files::directory("given", contents),
        false => Files::one("given", contents.next().unwrap().1),
    }
}

/// Checks the requirements of every dataset that was read.
fn assert_sound(dataset: &Dataset) {
    assert!(!dataset.series.is_empty());
    for series in &dataset.series {
        assert!(!series.points.is_empty(), "{series} has no run");
        for point in &series.points {
            let values = point.measured.values();
            assert!(values.iter().all(|value| value.is_finite()), "{series}: {values:?}");
            assert!(
                !values.is_empty() || matches!(point.measured, Measured::Missing(_)),
                "{series} has a run of nothing"
            );
        }
    }
}

/// Reads a sample in its own and in the recognised format: either a one-line error with a hint, or
/// a valid dataset.
fn error_or_sound(format: Format, files: &Files) {
    for format in [Some(format), None] {
        match read(files, format) {
            Ok(dataset) if format != Some(named("faultline")) => assert_sound(&dataset),
            Ok(_) => {}
            Err(error) => assert!(!error.to_string().contains('\n') && !error.hint().is_empty(), "{error}"),
        }
    }
}

#[test]
fn samples_that_are_cut_off() {
    for (format, files) in all() {
        for quarter in 0..4 {
            error_or_sound(format, &damaged(&files, |bytes| bytes[..bytes.len() * quarter / 4].to_vec()));
        }
        // A truncated array or object is not JSON.
        let is_json = files.contents().all(|(_, bytes)| bytes.trim_ascii_start().starts_with(b"{"))
            && format != named("go-test-json");
        if is_json && !format.holds_changes() {
            let half = damaged(&files, |bytes| bytes[..bytes.len() / 2].to_vec());
            let error = read(&half, Some(format)).unwrap_err().to_string();
            assert!(error.contains("found the end of the file within a value"), "{format}: {error}");
        }
    }
}

#[test]
fn samples_with_flipped_bits() {
    for (format, files) in all() {
        for seed in 1..=40u64 {
            let damage = |bytes: &[u8]| {
                let mut bytes = bytes.to_vec();
                let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
                for _ in 0..1 + seed % 4 {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    if let Some(at) = (state >> 33).checked_rem(bytes.len() as u64) {
                        bytes[usize::try_from(at).unwrap()] ^= 1 << (state >> 8 & 7);
                    }
                }
                bytes
            };
            error_or_sound(format, &damaged(&files, damage));
        }
    }
}

#[test]
fn samples_in_another_encoding() {
    for (format, files) in all() {
        let utf16 = damaged(&files, |bytes| {
            let text = String::from_utf8(bytes.to_vec()).unwrap();
            [0xff, 0xfe].into_iter().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect()
        });
        for format in [Some(format), None].into_iter().filter(|_| !format.holds_changes()) {
            let error = read(&utf16, format).unwrap_err();
            assert!(error.to_string().ends_with(": UTF-16 text, expected UTF-8"), "{error}");
            assert!(error.hint().contains("iconv"));
        }
    }
}

#[test]
fn ambiguous_formats_are_reported() {
    let both = "{\"results\": [{\"command\": \"a\", \"mean\": 1}], \"machine_info\": {}, \
        \"benchmarks\": [{\"name\": \"a\", \"stats\": {\"mean\": 1}}]}";
    let files = Files::one("given", both.as_bytes().to_vec());
    let error = read(&files, None).unwrap_err();
    assert_eq!(error.to_string(), "given: ambiguous file format: it can be read as hyperfine or pytest-benchmark");
    assert!(read(&files, Some(named("hyperfine"))).is_ok());
    // Only one of the two formats can read it.
    let one = both.replace("\"mean\": 1}}]", "\"mean\": \"x\"}}]");
    assert_eq!(sniff(&Files::one("given", one.into_bytes())), Some(named("hyperfine")));
}

#[test]
fn what_is_too_large_is_not_read() {
    let bytes = vec![b' '; usize::try_from(Files::LIMIT_BYTES).unwrap() + 1];
    let error = read(&Files::one("given", bytes), None).unwrap_err().to_string();
    assert_eq!(error, "given: 134,217,729 bytes (128.0 MiB), more than the limit of 134,217,728 bytes (128.0 MiB)");
}
