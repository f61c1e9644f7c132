//! Output of `go test -json -bench`: one JSON object per line, an event of test2json.
//!
//! Events with the action `output` carry the text of `go test -bench`, often in halves of lines,
//! and packages tested in parallel are interleaved. The texts of each package are joined and read
//! like `go-bench`. Lines that are not JSON objects are skipped: `go` prints them itself, for
//! example during downloads.
//!
//! Samples: Go 1.26.8; `go test -json -bench . -count 3 -cpu 1,2 -benchtime 5ms ./...` over two
//! packages, with a benchmark that fails, one that is skipped and one that prints; the line `cpu:`
//! was made neutral.

use super::go_bench;
use crate::error::ReadError;
use crate::files::File;
use crate::format::{Content, FormatDescriptor, Read};
use crate::json;
use crate::recognition::FormatMatch;
use faultline_record::dataset::Dataset;
use serde::Deserialize;
use std::collections::HashMap;

pub(crate) static FORMAT: FormatDescriptor = FormatDescriptor {
    name: "go-test-json",
    description: "events of Go's tests (go test -json -bench)",
    reads: "as go-bench, with the output of each package joined",
    writes: "",
    is_directory: false,
    recognise: |glance| FormatMatch::Mark.when(glance.has_line(is_event)),
    content: Content::Values { read: Read::File(read), write: None },
};

const OUTPUT: &str = "output";

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Event {
    action: String,
    #[serde(default)]
    package: String,
    #[serde(default)]
    output: String,
}

/// True for a package event of test2json: on one line, the action first or after the time.
fn is_event(line: &str) -> bool {
    let begins = line.starts_with(r#"{"Time":"#) || line.starts_with(r#"{"Action":"#);
    begins && line.contains(r#""Action":""#) && line.contains(r#""Package":""#)
}

/// The lines that a package has printed so far.
#[derive(Default)]
struct Printed {
    /// Each line with its line number in the file.
    lines: Vec<(u64, String)>,
    /// True if the last line is incomplete.
    open: bool,
}

impl Printed {
    fn print(&mut self, number: u64, text: &str) {
        for piece in text.split_inclusive('\n') {
            match self.lines.last_mut() {
                Some((_, line)) if self.open => line.push_str(piece),
                _ => self.lines.push((number, piece.to_owned())),
            }
            self.open = !piece.ends_with('\n');
        }
    }
}

fn read(file: File<'_>) -> Result<Dataset, ReadError> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut packages: Vec<Printed> = Vec::new();
    for (number, line) in (1..).zip(file.text.lines()).filter(|(_, line)| line.starts_with('{')) {
        let event: Event = json::parse_line(file.name, number, line, "an event of `go test -json`")?;
        if event.action != OUTPUT {
            continue;
        }
        let place = *places.entry(event.package).or_insert_with(|| {
            packages.push(Printed::default());
            packages.len() - 1
        });
        packages[place].print(number, &event.output);
    }
    let lines: Vec<(u64, &str)> = packages
        .iter()
        .flat_map(|package| &package.lines)
        .map(|(number, line)| (*number, line.trim_end()))
        .filter(|(_, line)| !line.is_empty())
        .collect();
    go_bench::read_lines(file.name, &lines, "output of benchmarks among the events (`go test -json -bench .`)")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(package: &str, output: &str) -> String {
        format!("{}\n", serde_json::json!({"Action": "output", "Package": package, "Output": output}))
    }

    fn read(text: &str) -> Result<Dataset, ReadError> {
        super::read(File { name: "given", text })
    }

    #[test]
    fn lines_are_joined_by_package() {
        let text = [
            event("a", "pkg: a\nBenchmarkX-2 \t"),
            event("b", "pkg: b\nBenchmarkX-2 \t"),
            "go: downloading something\n".to_owned(),
            event("b", " 100\t 7 ns"),
            event("a", " 100\t 5 ns/op\n"),
            event("b", "/op\n"),
        ];
        let dataset = read(&text.concat()).unwrap();
        let named: Vec<_> =
            dataset.series.iter().map(|series| (series.to_string(), series.points[0].measured.values()[0])).collect();
        assert_eq!(named, [("a.X×2".to_owned(), 5.0), ("b.X×2".to_owned(), 7.0)]);
    }

    #[test]
    fn errors_name_the_line_of_the_file() {
        let text = [event("a", "pkg: a\n"), event("a", "BenchmarkX 1"), event("a", " x ns/op\n")].concat();
        let error = read(&text).unwrap_err().to_string();
        assert_eq!(error, "given:2: found 'x', expected a value: a finite number");
        let cut = &text[..text.len() - 5];
        let error = read(cut).unwrap_err().to_string();
        assert!(error.starts_with("given:3:"), "{error}");
        let error = read(&event("a", "ok  \ta\t0.1s\n")).unwrap_err().to_string();
        assert_eq!(
            error,
            "given: found no benchmark, expected output of benchmarks among the events (`go test -json -bench .`)"
        );
    }
}
