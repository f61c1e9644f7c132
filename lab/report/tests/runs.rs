//! Runs and lists as text, Markdown, CSV and JSON. `tests/snapshots` has the expected texts.

use crate::fixtures::{lists, runs as fixture};
use faultline_record::cell::TaskMode;
use faultline_record::describe::WorkloadInfo;
use faultline_record::facts::Facts;
use faultline_record::quantity::Quantity;
use faultline_record::record::RunLine;
use faultline_report::{Format, Style, facts, html, run_table, runs, workloads};
use faultline_stats::command_figures::{CommandFigure, CommandFigures};
use faultline_stats::estimate::Estimate;
use faultline_stats::summary::RunSummary;
use faultline_stats::verdict::VerdictBasis;
use insta::assert_snapshot;

const WIDE: Style = Style { width: Some(140), colour: false, unicode: true };
const MEDIUM: Style = Style { width: Some(100), colour: false, unicode: true };
const NARROW: Style = Style { width: Some(80), colour: false, unicode: false };

#[test]
fn run_as_table() {
    assert_snapshot!("run_wide", run_table(&fixture::small(), Format::Table, &WIDE));
    assert_snapshot!("run_medium", run_table(&fixture::small(), Format::Table, &MEDIUM));
    assert_snapshot!("run_narrow_ascii", run_table(&fixture::small(), Format::Table, &NARROW));
}

#[test]
fn a_verdict_is_shown_with_its_point() {
    // Eight CPUs with a quota of 2.5: at most two tasks have CPUs of their own.
    let mut run = fixture::typical();
    let curve = &mut run.curves[0];
    let judged = curve.points[1].clone();
    curve.verdict.rests_on = judged.efficiency.map(|efficiency| VerdictBasis { tasks: judged.tasks, efficiency });
    let table = run_table(&run, Format::Table, &WIDE);
    let line = table.lines().find(|line| line.starts_with(&run.curves[0].case.to_string())).unwrap();
    assert!(line.ends_with("scales: efficiency 98.6 % (97.1 … 100.0 %) at 2 tasks, n 6"), "{line}");
    let page = html(&run, &fixture::head(&run));
    let link = format!("href=\"#curve-{}:process\"", run.curves[0].case);
    let row = page.split_once(&link).unwrap().1.split_once("</tr>").unwrap().0;
    assert!(row.contains("<data value=\"2\">2</data>") && row.contains(">98.6 %</data>"), "{row}");
}

#[test]
fn a_withheld_verdict_is_shown_with_its_reason() {
    let run = fixture::typical();
    let reason = "The verdict “does not scale” is withheld: other processes used 0.42 CPUs beside 1 task; other processes used 1.53 CPUs beside 8 tasks. Without this, the efficiency could be 31.2 … 91.4 %. Measure again on a quiet machine.";
    let table = run_table(&run, Format::Table, &WIDE);
    let words = table.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(&format!("at 8 tasks, n 6 {reason} two elements")), "{table}");
    assert!(html(&run, &fixture::head(&run)).contains(&format!("<p class=\"reason\">{reason}</p>")));
    let json: serde_json::Value = serde_json::from_str(&run_table(&run, Format::Json, &WIDE)).unwrap();
    let told = &json["curves"][4]["verdict_reason"];
    assert_eq!((told["reason"].as_str(), told["text"].as_str()), (Some("disturbed"), Some(reason)));
    assert!(run_table(&run, Format::Csv, &WIDE).contains(",inconclusive,disturbed\n"));
}

#[test]
fn a_command_has_a_row_for_each_figure_and_nothing_of_curves() {
    let figure = |quantity: Quantity, median: f64| CommandFigure {
        quantity,
        unit: quantity.unit().to_owned(),
        estimate: Estimate { median, low: 0.9 * median, high: 1.1 * median, coverage: 0.97, n: 10 },
        smallest: 0.5 * median,
        largest: 2.0 * median,
    };
    let figures = vec![figure(Quantity::Time, 0.25), figure(Quantity::PeakMemory, 8e6)];
    let run =
        RunSummary { command: Some(CommandFigures { command: "./prog 1".to_owned(), figures }), ..fixture::small() };
    let text = run_table(&run, Format::Table, &WIDE);
    let rows = text.lines().skip_while(|line| *line != "./prog 1").take(4);
    let words: Vec<String> = rows.map(|row| row.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    let expected = [
        "./prog 1",
        "figure median interval range n",
        "time 250.0 ms 225.0 … 275.0 ms 125.0 … 500.0 ms 10",
        "peak memory 8.000 MB 7.200 … 8.800 MB 4.000 … 16.000 MB 10",
    ];
    assert_eq!(words, expected, "{text}");
    assert!(!text.contains("efficiency") && text.contains("smallest and largest value"), "{text}");
    assert!(run_table(&run, Format::Markdown, &WIDE).contains("**./prog 1**"));
}

#[test]
fn run_as_csv_and_markdown() {
    assert_snapshot!("run_csv", run_table(&fixture::small(), Format::Csv, &WIDE));
    assert_snapshot!("run_markdown", run_table(&fixture::small(), Format::Markdown, &WIDE));
}

#[test]
fn runs_with_failures() {
    assert_snapshot!("run_one_cpu", run_table(&fixture::one_cpu(), Format::Table, &MEDIUM));
    assert_snapshot!("run_all_failed", run_table(&fixture::all_failed(), Format::Table, &MEDIUM));
    assert_snapshot!("run_empty", run_table(&fixture::empty(), Format::Table, &MEDIUM));
}

#[test]
fn lists() {
    let head = fixture::head(&fixture::small());
    for format in [Format::Table, Format::Csv, Format::Markdown] {
        assert_snapshot!(format!("runs_{format}"), runs(&lists::runs(), format, &MEDIUM));
        assert_snapshot!(format!("workloads_{format}"), workloads(&lists::workloads(), format, &MEDIUM));
        assert_snapshot!(format!("facts_{format}"), facts(head.facts().unwrap(), format, &MEDIUM));
    }
    let json = runs(&lists::runs(), Format::Json, &MEDIUM);
    assert_eq!(serde_json::from_str::<Vec<RunLine>>(&json).unwrap(), lists::runs());
    let json = workloads(&lists::workloads(), Format::Json, &MEDIUM);
    assert_eq!(serde_json::from_str::<Vec<WorkloadInfo>>(&json).unwrap(), lists::workloads());
    let json = facts(head.facts().unwrap(), Format::Json, &MEDIUM);
    assert_eq!(serde_json::from_str::<Facts>(&json).unwrap(), *head.facts().unwrap());
}

/// Sentences in the JSON are those of the Markdown, which has its own snapshot.
#[test]
fn statements_in_the_json_have_their_sentences() {
    let run = fixture::small();
    let markdown = run_table(&run, Format::Markdown, &WIDE).replace('\\', "");
    let json: serde_json::Value = serde_json::from_str(&run_table(&run, Format::Json, &WIDE)).unwrap();
    let failures = json["curves"].as_array().unwrap().iter().flat_map(|curve| curve["points"].as_array().unwrap());
    let failures = failures.flat_map(|point| point["failures"].as_array().unwrap());
    let texts: Vec<&str> = json["warnings"]
        .as_array()
        .unwrap()
        .iter()
        .chain(failures)
        .map(|said| said["text"].as_str().unwrap())
        .collect();
    assert_eq!(texts.len(), 8, "{texts:?}");
    for text in texts {
        assert!(markdown.contains(&text.replace('\n', " ")), "{text}: {markdown}");
    }
}

#[test]
fn json_survives_a_round_trip() {
    let run = fixture::small();
    let read: RunSummary = serde_json::from_str(&run_table(&run, Format::Json, &WIDE)).unwrap();
    assert_eq!(read, run);
    assert_eq!(read.format, RunSummary::FORMAT);
}

#[test]
fn csv_has_a_record_of_raw_numbers_per_point() {
    let run = fixture::small();
    let text = run_table(&run, Format::Csv, &WIDE);
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header = reader.headers().unwrap().clone();
    let column = |name: &str| header.iter().position(|column| column == name).unwrap();
    let records: Vec<_> = reader.records().map(|record| record.unwrap()).collect();
    let points: Vec<_> = run.curves.iter().flat_map(|curve| &curve.points).collect();
    assert_eq!(records.len(), points.len());
    for (record, point) in records.iter().zip(points) {
        assert_eq!(record[column("value_median")].parse().ok(), point.value.map(|value| value.median));
        assert_eq!(record[column("efficiency_low_ratio")].parse().ok(), point.efficiency.map(|e| e.low));
        assert_eq!(record[column("failures")], point.failures.len().to_string());
    }
}

#[test]
fn colour_is_optional() {
    let coloured = Style { colour: true, ..WIDE };
    let text = run_table(&fixture::small(), Format::Table, &coloured);
    assert!(text.contains("\u{1b}[1m\u{1b}[32mscales"), "{text:?}");
    let plain = run_table(&fixture::small(), Format::Table, &WIDE);
    assert!(!plain.contains('\u{1b}'));
}

#[test]
fn threads_and_processes_are_distinguished() {
    let run = fixture::typical();
    assert!(run.curves.iter().any(|curve| curve.case.mode == TaskMode::Thread));
    let text = run_table(&run, Format::Table, &WIDE);
    assert!(text.contains("zero_fill:base · threads") && text.contains("zero_fill:base · processes"), "{text}");
}
