//! The four formats of every list, against files of what is expected (`tests/snapshots`).

mod fixture;

use faultline_model::cell::TaskMode;
use faultline_model::count::Count;
use faultline_model::describe::{self, WorkloadInfo};
use faultline_model::plan::KindOfRun;
use faultline_model::record::{RunId, RunLine, RunState};
use faultline_model::run_of_history::{HistoryStage, RunOfHistory};
use faultline_model::subject::KindOfSubject;
use faultline_model::summary::RunSummary;
use faultline_model::time::UnixMillis;
use faultline_model::verdict::VerdictBasis;
use faultline_report::{Format, Style, facts, html, run_table, runs, workloads};
use insta::assert_snapshot;

const WIDE: Style = Style { width: Some(140), colour: false, unicode: true };
const MEDIUM: Style = Style { width: Some(100), colour: false, unicode: true };
const NARROW: Style = Style { width: Some(80), colour: false, unicode: false };

fn descriptions() -> Vec<WorkloadInfo> {
    let zero_fill = "faultline-describe 1 zero_fill\nsummary first touch of pages\noperation fault\nunit fault/s\ndirection higher\n\
        style loop\nwindow_ms 200\nsize 4194304 bytes that each task maps at a time\nvariant base process,thread base pages\n\
        variant huge process,thread huge pages of 2 MiB, by madvise\nend\n";
    let tree_build = "faultline-describe 1 tree_build\nsummary build a whole source tree\noperation build\nunit s\n\
        direction lower\nstyle once\nwindow_ms 2000\nvariant generated process a tree made by rule\nend\n";
    [zero_fill, tree_build].map(|text| describe::parse(text).unwrap()).into()
}

fn lines() -> Vec<RunLine> {
    let line = RunLine {
        id: RunId(12),
        label: Some("größer, \"nach\" dem Umbau".into()),
        started: UnixMillis(1_795_252_714_123),
        state: RunState::Finished,
        kind: KindOfRun::Timed,
        suite: Some("quick".into()),
        workloads: vec!["zero_fill".into(), "tree_build".into()],
        sides: Vec::new(),
        subject: Some(KindOfSubject::System),
        cpus: vec![1, 2, 4, 8],
        history: None,
        planned: 96,
        whole: Some(96),
        ended: 96,
        failed: 3,
        skipped: 0,
        machine: "prüfstand, Linux 6.1.0-18-amd64".into(),
    };
    let open =
        RunLine { id: RunId(7), label: None, suite: None, state: RunState::Open, ended: 40, failed: 0, ..line.clone() };
    let lens = RunLine {
        id: RunId(5),
        suite: None,
        kind: KindOfRun::Lens,
        subject: Some(KindOfSubject::Kernel),
        ..open.clone()
    };
    let sides = vec!["./old 1".to_owned(), "./new 1".to_owned()];
    let comparison =
        RunLine { id: RunId(4), suite: None, kind: KindOfRun::Comparison, sides, cpus: vec![1], ..line.clone() };
    let chosen = RunLine { id: RunId(3), suite: None, workloads: vec!["zero_fill".into()], ..line.clone() };
    let workloads = ["fork_exit", "map_churn", "path_stat", "zero_fill"].map(str::to_owned).into();
    let four = RunLine { id: RunId(2), suite: None, workloads, ..line.clone() };
    let finished = RunLine {
        id: RunId(1),
        suite: None,
        kind: KindOfRun::History,
        workloads: vec!["load".into()],
        subject: Some(KindOfSubject::Program),
        cpus: vec![2],
        history: Some(RunOfHistory {
            subject: "app".into(),
            measured: "load".into(),
            counted: None,
            commits: 16,
            stage: None,
        }),
        ..line.clone()
    };
    // Nothing is planned yet, and how much there will be is known.
    let commit = "1f3a9c25d7b04e8861f3a9c25d7b04e8861f3a9c".to_owned();
    let builds = RunLine {
        id: RunId(14),
        state: RunState::Open,
        workloads: Vec::new(),
        history: Some(RunOfHistory {
            stage: Some(HistoryStage::Build { commit, number: 3 }),
            ..finished.history.clone().unwrap()
        }),
        planned: 0,
        whole: Some(48),
        ended: 0,
        failed: 0,
        ..finished.clone()
    };
    // The first counts decide how many there are.
    let counts = RunLine {
        id: RunId(13),
        workloads: vec!["zero_fill".into()],
        history: Some(RunOfHistory {
            measured: "zero_fill".into(),
            counted: Some(Count::Transfers),
            stage: Some(HistoryStage::Measure),
            ..finished.history.clone().unwrap()
        }),
        planned: 16,
        whole: None,
        ended: 7,
        ..builds.clone()
    };
    vec![builds, counts, line, open, lens, comparison, chosen, four, finished]
}

#[test]
fn run_as_table() {
    assert_snapshot!("run_wide", run_table(&fixture::small(), Format::Table, &WIDE));
    assert_snapshot!("run_medium", run_table(&fixture::small(), Format::Table, &MEDIUM));
    assert_snapshot!("run_narrow_ascii", run_table(&fixture::small(), Format::Table, &NARROW));
}

#[test]
fn a_verdict_is_shown_with_the_point_it_rests_on_and_no_other() {
    // Eight CPUs, and a quota of 2.5: no point is oversubscribed, and two tasks are the most that have CPUs of their own.
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
    let reason = "The verdict “does not scale” is withheld: others used 0.42 CPUs beside 1 task; others used 1.53 CPUs beside 8 tasks. Without this, the efficiency could be 31.2 … 91.4 %. Measure again on a quiet machine.";
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
fn run_as_csv_json_and_markdown() {
    assert_snapshot!("run_csv", run_table(&fixture::small(), Format::Csv, &WIDE));
    assert_snapshot!("run_json", run_table(&fixture::small(), Format::Json, &WIDE));
    assert_snapshot!("run_markdown", run_table(&fixture::small(), Format::Markdown, &WIDE));
}

#[test]
fn run_in_trouble() {
    assert_snapshot!("run_one_cpu", run_table(&fixture::one_cpu(), Format::Table, &MEDIUM));
    assert_snapshot!("run_all_failed", run_table(&fixture::all_failed(), Format::Table, &MEDIUM));
    assert_snapshot!("run_empty", run_table(&fixture::empty(), Format::Table, &MEDIUM));
}

#[test]
fn lists() {
    for format in Format::ALL {
        assert_snapshot!(format!("runs_{format}"), runs(&lines(), format, &MEDIUM));
        assert_snapshot!(format!("workloads_{format}"), workloads(&descriptions(), format, &MEDIUM));
        let head = fixture::head(&fixture::small());
        assert_snapshot!(format!("facts_{format}"), facts(head.facts().unwrap(), format, &MEDIUM));
    }
}

#[test]
fn json_is_the_summary_and_can_be_read_back() {
    let run = fixture::small();
    let read: RunSummary = serde_json::from_str(&run_table(&run, Format::Json, &WIDE)).unwrap();
    assert_eq!(read, run);
    assert_eq!(read.format, RunSummary::FORMAT);
}

#[test]
fn csv_has_a_record_per_point_and_the_raw_numbers() {
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
fn tables_keep_to_their_width() {
    for run in [fixture::small(), fixture::typical(), fixture::two_points(), fixture::one_cpu(), fixture::all_failed()]
    {
        for style in [WIDE, MEDIUM, NARROW] {
            for line in run_table(&run, Format::Table, &style).lines() {
                let width = textwrap::core::display_width(line);
                assert!(width <= style.width.unwrap(), "{width}: {line}");
            }
        }
    }
}

#[test]
fn what_comes_from_outside_cannot_speak_to_the_terminal() {
    let text = run_table(&fixture::hostile(), Format::Table, &WIDE);
    assert!(!text.contains('\u{1b}'), "{text}");
}

#[test]
fn colour_is_there_only_when_asked_for() {
    let coloured = Style { colour: true, ..WIDE };
    let text = run_table(&fixture::small(), Format::Table, &coloured);
    assert!(text.contains("\u{1b}[1m\u{1b}[32mscales"), "{text:?}");
    let plain = run_table(&fixture::small(), Format::Table, &WIDE);
    assert!(!plain.contains('\u{1b}'));
}

#[test]
fn threads_and_processes_are_told_apart() {
    let run = fixture::typical();
    assert!(run.curves.iter().any(|curve| curve.case.mode == TaskMode::Thread));
    let text = run_table(&run, Format::Table, &WIDE);
    assert!(text.contains("zero_fill:base · threads") && text.contains("zero_fill:base · processes"), "{text}");
}
