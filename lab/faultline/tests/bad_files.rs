//! Unreadable files of other tools. Each gets one line with the place and the reason, a hint, and
//! exit status 2. Nothing is left behind.

use crate::lab::Lab;

/// File name, content, expected message, and a part of the expected hint.
struct Bad(&'static str, &'static [u8], &'static str, &'static str);

const BAD: [Bad; 17] = [
    Bad("empty.json", b"", "the file is empty", "check that the tool succeeded"),
    Bad("blank.txt", b" \n\n", "the file is empty", "check that the tool succeeded"),
    Bad("utf16.json", b"\xff\xfe{\0}\0", "UTF-16 text, expected UTF-8", "iconv"),
    Bad("latin.txt", b"BenchmarkA 1 5 ns/op\nBenchmark\xe9 1 5 ns/op\n", "latin.txt:2: found the byte 0xe9", "--from"),
    Bad(
        "cut.json",
        b"{\"results\": [{\"command\": \"a\",\n\"times\": [1, 2",
        "cut.json:2:14: found the end of the file",
        "complete",
    ),
    Bad(
        "nan.json",
        b"{\"results\": [{\"command\": \"a\", \"times\": [NaN]}]}",
        "nan.json:1:41: found 'NaN'",
        "complete",
    ),
    Bad("large.json", b"{\"results\": [{\"command\": \"a\", \"times\": [1e999]}]}", "number out of range", "complete"),
    Bad(
        "below.json",
        b"{\"results\": [{\"command\": \"a\", \"times\": [-1]}]}",
        "a time below zero of 'a'",
        "complete",
    ),
    Bad("none.json", b"{\"results\": []}", "no benchmark, expected arrays of numbers (recognised as lkp)", "--from"),
    Bad("object.json", b"{}", "unrecognised file format: it begins with '{}'", "--from"),
    Bad("list.json", b"[]", "unrecognised file format: it begins with '[]'", "--from"),
    Bad("letter.txt", b"Dear reader,\n", "it begins with 'Dear reader,'", "--from"),
    Bad(
        "events.json",
        b"{\"Action\":\"pass\",\"Package\":\"a\"}\n",
        "no benchmark, expected output of benchmarks",
        "complete",
    ),
    Bad(
        "fields.csv",
        b"command,mean,stddev,median,user,system,min,max\na,1\n",
        "fields.csv:2: found 2 columns, expected 8",
        "complete",
    ),
    Bad(
        "quote.csv",
        b"date,ms\n2026-01-01,\"1\n2026-01-02,2\n",
        "quote.csv:2: found a quote that is not closed",
        "complete",
    ),
    Bad(
        "words.txt",
        b"BenchmarkA 1 x ns/op\n",
        "words.txt:1: found 'x', expected a value: a finite number",
        "complete",
    ),
    Bad(
        "both.json",
        b"{\"results\": [{\"command\": \"a\", \"mean\": 1}], \"machine_info\": {}, \
          \"benchmarks\": [{\"name\": \"a\", \"stats\": {\"mean\": 1}}]}",
        "ambiguous file format: it can be read as hyperfine or pytest-benchmark",
        "--from",
    ),
];

#[test]
fn files_that_cannot_be_read_are_refused_with_one_line_and_a_hint() {
    let lab = Lab::new();
    for Bad(name, content, problem, hint) in BAD {
        let path = lab.path(name);
        std::fs::write(&path, content).unwrap();
        let path = path.to_str().unwrap();
        for arguments in [&["import", path][..], &["changes", path], &["export", path, "--to", "lkp"]] {
            let output = lab.run(arguments);
            crate::lab::assert_refused(&output, 2, problem);
            assert!(
                crate::lab::stderr(&output).lines().nth(1).unwrap().contains(hint),
                "{}",
                crate::lab::stderr(&output)
            );
        }
    }
    assert!(!lab.db().exists(), "nothing was kept");
}

#[test]
fn paths_that_are_no_files_of_figures_are_refused() {
    let lab = Lab::new();
    let (nothing, directory) = (lab.path("nothing"), lab.path("directory"));
    std::fs::create_dir(&directory).unwrap();
    let [nothing, directory] = [&nothing, &directory].map(|path| path.to_str().unwrap());
    crate::lab::assert_refused(&lab.run(&["import", nothing]), 2, "there is no file");
    crate::lab::assert_refused(
        &lab.run(&["import", directory]),
        2,
        "unrecognised file format: a directory of no files",
    );
    crate::lab::assert_refused(
        &lab.run(&["import", directory, "--from", "jmh"]),
        2,
        "found a directory of no files, expected one file in the format jmh",
    );
    crate::lab::assert_refused(&lab.run(&["export", nothing, "--to", "jmh"]), 2, "invalid value 'jmh'");
}

#[test]
fn a_dash_is_standard_input_and_runs_without_a_value_are_counted() {
    let lab = Lab::new();
    let table = lab.path("nightly.csv");
    let rows: String =
        (1..=14).map(|day| format!("2026-01-{day:02},{}\n", ["5", "NaN", ""][(day % 9).max(6) - 6])).collect();
    std::fs::write(&table, format!("date,ms\n{rows}")).unwrap();
    let from_file = lab.run(&["changes", table.to_str().unwrap(), "--format", "json"]);
    let input = || std::fs::File::open(&table).unwrap();
    let piped = |arguments: &[&str]| lab.command(arguments).stdin(input()).output().unwrap();
    let from_input = piped(&["changes", "-", "--format", "json"]);
    assert!(from_input.status.success(), "{}", crate::lab::stderr(&from_input));
    assert_eq!((&from_input.stdout, &from_input.stderr), (&from_file.stdout, &from_file.stderr));
    let missing = "left out, without a value: 2 of 14 runs of ms: NaN, no value\n";
    assert_eq!(crate::lab::stderr(&from_input), missing);
    let imported = piped(&["import", "-"]);
    assert_eq!(
        crate::lab::stderr(&imported),
        format!("imported as 'import' from csv: 1 benchmark, 14 runs\n{missing}")
    );
    for sides in [["-", table.to_str().unwrap()], [table.to_str().unwrap(), "-"]] {
        let compared = piped(&[&["compare"], &sides[..], &["--better", "lower"]].concat());
        assert!(compared.status.success(), "{sides:?}: {}", crate::lab::stderr(&compared));
    }
    let nothing = lab.command(&["changes", "-"]).stdin(std::process::Stdio::null()).output().unwrap();
    crate::lab::assert_refused(&nothing, 2, "standard input: the file is empty");
}

#[test]
fn a_link_to_itself_is_reported_as_unreadable_and_not_missing() {
    let lab = Lab::new();
    let link = lab.path("link.json");
    std::os::unix::fs::symlink(&link, &link).unwrap();
    crate::lab::assert_refused(&lab.run(&["import", link.to_str().unwrap()]), 2, "cannot read");
}
