//! Every table that the command prints fits a terminal of 80 columns, and one of 60: columns are left out, and words go on in lines below.

mod comparison_fixture;
mod fitness_fixture;
mod fixture;
mod lens_differences;
mod lens_fixture;

use faultline_model::changes::{Changes, ChangesFound, Effect, Place, SeriesChanges, Status, Step};
use faultline_model::comparison::Fit;
use faultline_model::describe::{self, WorkloadInfo};
use faultline_model::facts::Facts;
use faultline_model::imported::ImportedLine;
use faultline_model::plan::KindOfRun;
use faultline_model::record::{RunId, RunLine, RunState};
use faultline_model::subject::KindOfSubject;
use faultline_model::time::UnixMillis;
use faultline_report::{
    Format, Style, budget_table, changes, comparison, facts, fitness, imported, lens_compare_table, lens_types_table,
    run_table, runs, workloads,
};
use textwrap::core::display_width;

type Shown = fn(&Style) -> String;

const TABLES: &[(&str, Shown)] = &[
    ("run", |style| run_table(&fixture::small(), Format::Table, style)),
    ("suite", |style| run_table(&fixture::typical(), Format::Table, style)),
    ("run of two points a curve", |style| run_table(&fixture::two_points(), Format::Table, style)),
    ("run on one CPU", |style| run_table(&fixture::one_cpu(), Format::Table, style)),
    ("run that failed", |style| run_table(&fixture::all_failed(), Format::Table, style)),
    ("run of nothing", |style| run_table(&fixture::empty(), Format::Table, style)),
    ("list", |style| runs(&listed(), Format::Table, style)),
    ("workloads", |style| workloads(&described(), Format::Table, style)),
    ("facts", |style| facts(&known(), Format::Table, style)),
    ("lens", |style| run_table(&lens_fixture::typical(), Format::Table, style)),
    ("types of a lens run", |style| lens_types_table(&lens_fixture::types::run(&[]), Format::Table, style)),
    ("lens with long names", |style| run_table(&lens_fixture::long_names(), Format::Table, style)),
    ("lens of nothing", |style| run_table(&lens_fixture::empty(), Format::Table, style)),
    ("lens compare", |style| lens_compare_table(&lens_differences::comparison(), Format::Table, style)),
    ("lens compare by seeds", |style| lens_compare_table(&lens_differences::by_seed(), Format::Table, style)),
    ("budgets", |style| budget_table(&lens_differences::budgets(), Format::Table, style)),
    ("baseline", |style| budget_table(&lens_differences::baseline(), Format::Table, style)),
    ("compare", |style| comparison(&comparison_fixture::typical(), Format::Table, style)),
    ("compare at several numbers of tasks", |style| comparison(&comparison_fixture::scaled(), Format::Table, style)),
    ("compare stored runs", |style| comparison(&comparison_fixture::stored(), Format::Table, style)),
    ("compare in sequence", |style| comparison(&comparison_fixture::in_sequence(), Format::Table, style)),
    ("compare imported", |style| comparison(&comparison_fixture::imported(), Format::Table, style)),
    ("compare nothing", |style| comparison(&comparison_fixture::empty(), Format::Table, style)),
    ("check", |style| fitness(&fitness_fixture::checked(Fit::Coarse), Format::Table, style)),
    ("changes", |style| changes(&steps(), Format::Table, style)),
    ("import", |style| imported(&[taken_in()], Format::Table, style)),
];

#[test]
fn every_table_fits_80_and_60_columns() {
    let mut too_long = Vec::new();
    for (name, shown) in TABLES {
        for width in [80, 60] {
            let text = shown(&Style { width: Some(width), colour: false, unicode: true });
            let longer = text.lines().filter(|line| display_width(line) > width);
            too_long.extend(longer.map(|line| format!("{name} at {width}: {line}")));
        }
    }
    assert!(too_long.is_empty(), "{}", too_long.join("\n"));
}

#[test]
fn text_from_outside_does_not_break_lines() {
    let head = fixture::head(&fixture::hostile());
    let style = Style { width: Some(80), colour: false, unicode: true };
    for text in [
        run_table(&fixture::hostile(), Format::Table, &style),
        run_table(&lens_fixture::hostile(), Format::Table, &style),
        comparison(&comparison_fixture::hostile(), Format::Table, &style),
        facts(head.facts().unwrap(), Format::Table, &style),
    ] {
        let longer: Vec<&str> = text.lines().filter(|line| display_width(line) > 80).collect();
        assert!(longer.is_empty(), "{}", longer.join("\n"));
    }
}

#[test]
fn nothing_is_folded_where_lines_may_be_long() {
    let text = runs(&listed(), Format::Table, &Style::PLAIN);
    assert_eq!(text.lines().count(), 1 + listed().len());
    assert!(text.contains("machine") && text.contains("skipped"));
    let narrow = runs(&listed(), Format::Table, &Style { width: Some(80), ..Style::PLAIN });
    assert!(!narrow.contains("machine") && narrow.contains("failed"), "{narrow}");
}

fn listed() -> Vec<RunLine> {
    let line = RunLine {
        id: RunId(128),
        label: Some("nightly after the memory change".into()),
        started: UnixMillis(1_795_252_714_123),
        state: RunState::Finished,
        kind: KindOfRun::Timed,
        suite: Some("quick".into()),
        workloads: vec!["zero_fill".into()],
        sides: Vec::new(),
        subject: Some(KindOfSubject::System),
        cpus: vec![1, 2, 4, 8, 16, 32],
        history: None,
        planned: 1296,
        whole: Some(1296),
        ended: 1296,
        failed: 13,
        skipped: 0,
        machine: "prüfstand, Linux 6.1.0-18-amd64, Example CPU 9000 @ 2.40 GHz".into(),
    };
    let sides = vec!["./build/old/program --with arguments".to_owned(), "sysctl.vm.overcommit_memory=2".to_owned()];
    let comparison =
        RunLine { id: RunId(4), suite: None, kind: KindOfRun::Comparison, sides, cpus: vec![1], ..line.clone() };
    let lens = RunLine {
        id: RunId(5),
        suite: None,
        kind: KindOfRun::Lens,
        subject: Some(KindOfSubject::Kernel),
        label: None,
        ..line.clone()
    };
    vec![line, comparison, lens]
}

fn described() -> Vec<WorkloadInfo> {
    let zero_fill = "faultline-describe 1 zero_fill\nsummary first touch of pages that nobody has touched before, one after the other\n\
        operation fault\nunit fault/s\ndirection higher\nstyle loop\nwindow_ms 200\n\
        size 4194304 bytes that each task maps at a time, and gives back when all of them are touched\n\
        variant base process,thread base pages: huge pages declined where the system knows them\n\
        variant huge process,thread huge pages of 2 MiB, by madvise\nend\n";
    vec![describe::parse(zero_fill).unwrap()]
}

fn known() -> Facts {
    let mut facts = Facts::default();
    facts.text("mitigation.spec_store_bypass", "Mitigation: Speculative Store Bypass disabled via prctl and seccomp");
    facts.text("workload.protect_churn.sha256", "3b0d5f7c9e21468ab0c1d2e3f405162738495a6b7c8d9eaf0123456789abcdef");
    facts.count("cpu.logical", 8);
    facts
}

fn steps() -> ChangesFound {
    let step = Step {
        after: 1,
        by: 3,
        earliest: 1,
        latest: 3,
        from: 10_321.5,
        to: 12_543.2,
        effect: Effect::Worse,
        status: Status::Provisional,
        gain: 50.0,
    };
    let changes = Changes {
        format: Changes::FORMAT.to_owned(),
        false_alarms: 0.1,
        false_confirmations: 0.02,
        least_change: 0.01,
        smaller: 2,
        cautions: Vec::new(),
        segments: Vec::new(),
        steps: vec![step],
    };
    let place = |position| Place { position, commit: Some(format!("{position}abcdef0123456789")), time: None };
    let series = SeriesChanges {
        index: 0,
        name: "benchmarks.algorithms.sort.large_inputs_of_integers".to_owned(),
        unit: "ns/iteration".to_owned(),
        direction: None,
        missing: 0,
        places: vec![place(1), place(3)],
        changes,
    };
    ChangesFound { format: ChangesFound::FORMAT.to_owned(), series: vec![series], left_out: Vec::new() }
}

fn taken_in() -> ImportedLine {
    ImportedLine {
        name: "nightly results of the whole suite on the big machine".to_owned(),
        source: "google-benchmark".to_owned(),
        imported: UnixMillis(1_560_531_834_000),
        series: 1234,
        points: 567_890,
    }
}
