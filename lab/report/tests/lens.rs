//! Lens runs as text, Markdown, CSV, JSON and HTML. `tests/snapshots` has the expected texts.

use crate::fixtures::{lens as lens_fixture, lens_comparisons as lens_differences, types as type_fixture};
use faultline_lens_format::{CostTimes, DelayTimes};
use faultline_record::lens::calibration::{Calibration, Delays, Nearness, Pair, Probe, Time};
use faultline_record::machine::Machine;
use faultline_record::plan::{RunKind, Settings};
use faultline_record::record::{RunHead, Session};
use faultline_record::subject::Subject;
use faultline_report::site::{Site, lens_comparison_page};
use faultline_report::{
    Format, Style, budget_table, folded, html, lens_calibration, lens_compare_table, lens_types_table, run_table,
};
use faultline_stats::lens::comparison::LensComparison;
use faultline_stats::lens::gate::GateReport;
use faultline_stats::lens::key::Key;
use faultline_stats::lens::types::LensTypes;
use faultline_stats::summary::RunSummary;
use insta::assert_snapshot;

const WIDE: Style = Style { width: Some(140), colour: false, unicode: true };
const NARROW: Style = Style { width: Some(80), colour: false, unicode: false };

fn head(summary: &RunSummary) -> RunHead {
    let lens = summary.lens.as_ref().unwrap();
    RunHead {
        id: summary.run,
        label: summary.label.clone(),
        settings: Settings {
            cpus: vec![1, 2, 8, 32, 64],
            repeats: 1,
            seed: 1,
            limit_ms: None,
            size: None,
            kind: RunKind::Lens(lens.settings.clone()),
        },
        subjects: vec![Subject { what: lens.subject.clone(), ..Subject::as_is(Machine::Host) }],
        workloads: Vec::new(),
        state: summary.state,
        sessions: vec![Session { started: summary.started, facts: vec![Default::default()] }],
    }
}

#[test]
fn a_run_in_every_format() {
    assert_snapshot!("lens_wide", run_table(&lens_fixture::typical(), Format::Table, &WIDE));
    assert_snapshot!("lens_narrow_ascii", run_table(&lens_fixture::typical(), Format::Table, &NARROW));
    assert_snapshot!("lens_csv", run_table(&lens_fixture::typical(), Format::Csv, &WIDE));
    assert_snapshot!("lens_markdown", run_table(&lens_fixture::typical(), Format::Markdown, &WIDE));
    assert_snapshot!("lens_folded", folded(&lens_fixture::typical()).unwrap());
    assert_eq!(folded(&lens_fixture::empty()), None);
    assert_snapshot!("lens_empty", run_table(&lens_fixture::empty(), Format::Table, &WIDE));
}

#[test]
fn one_larger_number_of_cpus_has_a_verdict_too() {
    assert_snapshot!("lens_one_number", run_table(&lens_fixture::one_number(false), Format::Table, &WIDE));
    let contended = run_table(&lens_fixture::one_number(true), Format::Table, &WIDE);
    let words = contended.split_whitespace().collect::<Vec<_>>().join(" ");
    let verdict = "contended: 1.000 transfers per operation at 4 CPUs, 0 at 1; each operation moves zone.lock 0.4500 times, one \
                   move after another: it cannot scale beyond 3.200 CPUs; predicted: 4 CPUs do";
    assert!(words.contains(verdict), "{contended}");
}

#[test]
fn a_calibration_in_every_format() {
    let time = |median_ns: f64| Time { median_ns, quartiles_ns: (median_ns * 0.9, median_ns * 1.25) };
    let pair = |one, other, nearness, ns| Pair { one, other, nearness, hand_over: time(ns) };
    let calibration = Calibration {
        machine: "bench".to_owned(),
        measured: Probe {
            instruction_ps: 251.3,
            pairs: vec![
                pair(0, 1, Nearness::SameCache, 48.0),
                pair(0, 2, Nearness::OtherSocket, 220.5),
                pair(1, 2, Nearness::Unknown, 221.25),
            ],
            delays: Delays {
                atomic: time(4.5),
                contended: time(8.25),
                wake: time(41_000.0),
                interrupt: time(1_510.0),
                call: time(62.0),
            },
        },
        costs: CostTimes {
            instruction_ps: 251,
            same_cache_ns: 28,
            same_socket_ns: 28,
            other_socket_ns: 127,
            memory_ns: 100,
        },
        delays: DelayTimes { atomic_ps: 4249, request_percent: 73, wake_ns: 41_000, interrupt_ns: 1510, entry_ns: 37 },
    };
    for format in [Format::Table, Format::Csv, Format::Markdown] {
        assert_snapshot!(format!("lens_calibration_{format}"), lens_calibration(&calibration, format, &WIDE));
    }
    let json: serde_json::Value = serde_json::from_str(&lens_calibration(&calibration, Format::Json, &WIDE)).unwrap();
    assert_eq!(
        (&json["costs"]["same_cache_ns"], &json["measured"]["pairs"][1]["nearness"]),
        (&28.into(), &"other_socket".into())
    );
    assert_snapshot!("lens_calibration_narrow", lens_calibration(&calibration, Format::Table, &NARROW));
    assert!(!lens_calibration(&calibration, Format::Table, &WIDE).contains("moved"));
    let moved = |pair: &Pair| Pair { hand_over: Time { quartiles_ns: (25.0, 220.0), ..pair.hand_over }, ..*pair };
    let pairs = calibration.measured.pairs.iter().map(moved).collect();
    let moved = Calibration { measured: Probe { pairs, ..calibration.measured.clone() }, ..calibration };
    let table = lens_calibration(&moved, Format::Table, &WIDE);
    let note = "Half of the times of a hand-over between CPUs 0 and 1 were 25.0 … 220.0 ns, and 2 more times varied as much: a hypervisor moved the CPUs";
    assert!(table.split_whitespace().collect::<Vec<_>>().join(" ").contains(note), "{table}");
    assert!(lens_calibration(&moved, Format::Markdown, &WIDE).contains("a hypervisor moved the CPUs"));
}

#[test]
fn the_types_of_a_run_in_every_format() {
    let types = type_fixture::run(&[]);
    for format in [Format::Table, Format::Csv, Format::Markdown] {
        assert_snapshot!(format!("lens_types_{format}"), lens_types_table(&types, false, format, &WIDE));
    }
    assert_eq!(
        serde_json::from_str::<LensTypes>(&lens_types_table(&types, false, Format::Json, &WIDE)).unwrap(),
        types
    );
    let asked = type_fixture::run(&["mm_struct", "list_lru_node"]);
    assert_snapshot!("lens_types_narrow", lens_types_table(&asked, false, Format::Table, &NARROW));
}

#[test]
fn many_types_fit_a_hundred_lines_unless_all_are_requested() {
    let mut types = type_fixture::run(&[]);
    let cells = std::mem::take(&mut types.cells);
    types.cells = cells.iter().cycle().take(4).cloned().collect();
    let lines = |is_whole| lens_types_table(&types, is_whole, Format::Table, &WIDE).lines().count();
    assert!(lines(false) <= 100 && lines(true) > 100, "{} {}", lines(false), lines(true));
    let text = lens_types_table(&types, false, Format::Table, &WIDE);
    assert!(text.contains("`--all` shows more types"), "{text}");
}

#[test]
fn long_names_are_whole_on_the_page() {
    let run = lens_fixture::long_names();
    let page = html(&run, &head(&run));
    let tables = page.split_once("<script id=\"data\"").unwrap().0;
    for name in [
        "PerCpuCache as faultline_frames::FrameSource&gt;::take_one_or_refill cache.rs:1234",
        "AtomicU64::compare_exchange_weak",
    ] {
        assert!(tables.contains(name), "{name}");
    }
}

#[test]
fn the_page_opens_with_what_moves_and_a_fix() {
    let run = lens_fixture::typical();
    let page = html(&run, &head(&run));
    let answer = page.split_once("id=\"answer\"").unwrap().1.split_once("</p>").unwrap().0;
    for part in [
        "fault_existing:shared has the most transfers of 4 cases: ",
        "Transfers per fault grow from 4.800 at 2 CPUs to 9.700 at 32 CPUs; 45.0 % of them move zone.lock, ",
        "moved by do_anonymous_page memory.c:4071: keep it per CPU, or write it less often.",
    ] {
        assert!(answer.contains(part), "{part}: {answer}");
    }
    assert!(page.contains("<h1>lens kernel"), "pages are named after what was asked");
}

#[test]
fn a_comparison_in_every_format() {
    for format in [Format::Table, Format::Csv, Format::Markdown] {
        assert_snapshot!(
            format!("lens_compare_{format}"),
            lens_compare_table(&lens_differences::comparison(), format, &WIDE)
        );
    }
    assert_snapshot!(
        "lens_compare_narrow",
        lens_compare_table(&lens_differences::comparison(), Format::Table, &NARROW)
    );
}

#[test]
fn a_comparison_by_seeds_in_every_format() {
    let comparison = lens_differences::by_seed();
    for format in [Format::Table, Format::Csv, Format::Markdown] {
        assert_snapshot!(format!("lens_compare_seeds_{format}"), lens_compare_table(&comparison, format, &WIDE));
    }
    assert_snapshot!("lens_compare_seeds_narrow", lens_compare_table(&comparison, Format::Table, &NARROW));
    let json = lens_compare_table(&comparison, Format::Json, &WIDE);
    assert_eq!(serde_json::from_str::<LensComparison>(&json).unwrap(), comparison);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let of_cells = json["cells"].as_array().unwrap().iter().map(|cell| &cell["basis"]["in_general"]);
    let kinds: Vec<&str> = of_cells.clone().map(|general| general["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["one-seed", "one-seed", "too-few-seeds", "more", "same", "inconclusive"]);
    assert!(of_cells.skip(2).all(|general| general["difference"]["median"].is_f64()));
    assert_eq!(json["cells"][2]["data"][0]["of"]["text"], "zone.lock");
}

#[test]
fn equal_runs_with_different_counts_are_reported() {
    let comparison = LensComparison { same_subject: true, ..lens_differences::by_seed() };
    let text = lens_compare_table(&comparison, Format::Table, &WIDE);
    let words =
        "the runs are equal and have the same seed, yet their counts differ: the machine did not repeat exactly";
    assert_eq!(text.matches(words).count(), comparison.cells.len() - 1, "the first is identical: {text}");
    assert!(!lens_compare_table(&lens_differences::by_seed(), Format::Table, &WIDE).contains(words));
    let other = LensComparison { differing: lens_differences::comparison().differing, ..comparison };
    let text = lens_compare_table(&other, Format::Table, &WIDE);
    assert!(!text.contains(words) && text.contains("the emulator, the lens's plugin and the guests' memory"), "{text}");
}

#[test]
fn gates_in_every_format() {
    for format in [Format::Table, Format::Csv, Format::Markdown] {
        assert_snapshot!(format!("lens_budgets_{format}"), budget_table(&lens_differences::budgets(), format, &WIDE));
    }
    assert_snapshot!("lens_baseline", budget_table(&lens_differences::baseline(), Format::Table, &WIDE));
    let nothing = GateReport { checks: Vec::new(), ..lens_differences::budgets() };
    assert_eq!(budget_table(&nothing, Format::Table, &WIDE), "Run 12: no budget to check\n");
}

#[test]
fn json_survives_a_round_trip() {
    let run = lens_fixture::typical();
    assert_eq!(serde_json::from_str::<RunSummary>(&run_table(&run, Format::Json, &WIDE)).unwrap(), run);
    let comparison = lens_differences::comparison();
    let json = lens_compare_table(&comparison, Format::Json, &WIDE);
    assert_eq!(serde_json::from_str::<LensComparison>(&json).unwrap(), comparison);
    let gate = lens_differences::budgets();
    let json = budget_table(&gate, Format::Json, &WIDE);
    assert_eq!(serde_json::from_str::<GateReport>(&json).unwrap(), gate);
    assert!(json.contains("\"text\": \"the run has no such case at that number of CPUs\""), "{json}");
}

#[test]
fn the_page_has_every_case_and_line_and_loads_nothing() {
    let run = lens_fixture::typical();
    let page = html(&run, &head(&run));
    let lens = run.lens.as_ref().unwrap();
    for curve in &lens.curves {
        assert!(page.contains(&curve.case.to_string()), "{}", curve.case);
    }
    for line in &lens.curves[0].points[3].lines {
        assert!(page.contains(&line.address), "{}", line.address);
    }
    for setting in ["/boot/vmlinuz-6.1.0-18-amd64, command line: quiet nokaslr", "operations per task"] {
        assert!(page.contains(setting), "{setting}");
    }
    assert!(page.contains("default-src 'none'; script-src 'sha256-"));
    assert_eq!(html(&run, &head(&run)), page);
}

#[test]
fn the_page_escapes_texts() {
    let run = lens_fixture::hostile();
    let page = html(&run, &head(&run));
    assert_eq!(page.matches("<script").count(), 2, "the data and the page's own");
    assert!(!page.contains("<img") && !page.contains("<!--") && !page.contains('\u{1b}'));
}

/// Rows of tables that begin with a name, without markup.
fn rows_of(page: &str, name: &str) -> Vec<Vec<String>> {
    let rows = page.split("<tr>").skip(1).map(|row| row.split("</tr>").next().unwrap());
    let text = |cell: &str| {
        let mut parts = cell.split('<');
        let first = parts.next().unwrap_or_default().to_owned();
        parts.filter_map(|part| part.split_once('>')).fold(first, |text, (_, rest)| text + rest)
    };
    let cells = |row: &str| {
        row.split_inclusive("</t")
            .map(|cell| text(cell.split_once('>').map_or("", |(_, rest)| rest.trim_end_matches("</t"))))
            .collect::<Vec<_>>()
    };
    rows.filter(|row| row.contains(&format!(">{name}<"))).map(cells).collect()
}

#[test]
fn two_runs_are_compared_on_a_page() {
    let page = lens_comparison_page(&lens_differences::comparison(), &Site::served());
    assert!(page.contains("<h1>Run 12 → run 15</h1>"), "{page}");
    assert!(page.contains("href=\"/runs/12\"") && page.contains("href=\"/runs/15\""));
    // Only the second of two cells has differences.
    assert_eq!(
        ["cell-0", "cell-1", "cell-2"].map(|id| page.contains(&format!("<section id=\"{id}\""))),
        [true, true, false]
    );
    let data = page.find("Data that differs").unwrap();
    assert!(page.find("id=\"cell-1\"").unwrap() < data && data < page.find("Code that differs").unwrap());
    assert_eq!(page.matches("Data that differs, transfers per operation").count(), 2, "caption and name of the region");
    let lock = rows_of(&page, "zone.lock");
    assert_eq!(lock.len(), 1, "{page}");
    assert!(lock[0].iter().any(|cell| cell == "went") && lock[0].iter().any(|cell| cell.contains("3.46")), "{lock:?}");
    // Cells of only one run are stated.
    let unmatched = page.split("id=\"unmatched\"").nth(1).unwrap();
    assert_eq!(unmatched.split("</ul>").next().unwrap().matches("<li>").count(), 3);
    // Differences of the environment come first.
    assert!(page.contains("emulator") && page.contains("plugin"));
}

#[test]
fn a_page_of_two_runs_has_the_number_of_seeds_or_states_that_nothing_is_comparable() {
    let by_seed = lens_comparison_page(&lens_differences::by_seed(), &Site::served());
    assert_eq!(by_seed.matches("<section id=\"cell-").count(), 6);
    assert!(!by_seed.contains("id=\"unmatched\""));
    let nothing = LensComparison { cells: Vec::new(), unmatched: Vec::new(), ..lens_differences::comparison() };
    let nothing = lens_comparison_page(&nothing, &Site::served());
    assert!(!nothing.contains("<table") && nothing.contains("class=\"nothing\""), "{nothing}");
}

#[test]
fn names_of_code_and_data_are_escaped() {
    let mut hostile = lens_differences::comparison();
    let Key::Named { name } = &mut hostile.cells[1].data[0].of.what else { panic!() };
    *name = "</script><img src=x onerror=alert(1)>".into();
    let page = lens_comparison_page(&hostile, &Site::served());
    assert!(!page.contains("<img") && page.contains("&lt;img src=x"), "{page}");
}
