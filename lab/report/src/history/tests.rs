//! Tests of histories in all formats, with markup in texts.

use super::*;
use faultline_record::bisect::Unusable;
use faultline_record::cell::{Case, TaskMode};
use faultline_record::change_event::{ChangeEvent, ChangeState, Source};
use faultline_record::commit::CommitInfo;
use faultline_record::direction::Effect;
use faultline_record::explained::{FileChange, FilesChanged, LinesChanged, LinkedChanges};
use faultline_record::plan::WhenInconclusive;
use faultline_record::quantity::Quantity;
use faultline_record::record::RunId;
use faultline_stats::bisect::{Change, LayoutsTried, StepLabel};
use faultline_stats::changes::{ChangeCaution, Status};
use faultline_stats::comparison::CounterDifference;
use faultline_stats::gate::Gate;
use faultline_stats::history::{
    Author, Between, Bridge, CauseLabel, ChangedFact, Differing, FailedBuild, HistorySteps, NotMeasured, OtherRun,
    Quirk, QuirkPlace, ShareOfStep, StepBasis, StepCause, StepLayouts, StepMoved, StepState,
};
use faultline_stats::lens::comparison::{Basis, CellComparison, Difference, Spread};
use faultline_stats::lens::key::Key;

/// Subjects of commits.
const HOSTILE: &str = "a | \"b\" <b>\u{1b}[31m\u{202e} `x`\t$(y)";

fn point(position: u32, result: PointResult) -> HistoryPoint {
    let commit = CommitInfo {
        id: format!("{position:040}"),
        committed_s: 1_700_000_000,
        author: HOSTILE.to_owned(),
        subject: HOSTILE.to_owned(),
        ..CommitInfo::default()
    };
    HistoryPoint { commit, run: Some(RunId(3)), environment: 0, result }
}

fn estimate(median: f64) -> Estimate {
    Estimate { median, low: 0.9 * median, high: 1.1 * median, coverage: 0.75, n: 3 }
}

fn measured(median: f64) -> PointResult {
    PointResult::Measured { estimate: estimate(median), least: None, same_as: None }
}

fn series() -> HistorySeries {
    let build = Some(FailedBuild { how: HOSTILE.to_owned(), output: HOSTILE.to_owned() });
    let unusable = PointResult::Unusable(NotMeasured { why: Unusable::Build, build, execution: None });
    let points = [measured(1.0), unusable, measured(1.5), PointResult::None];
    let points: Vec<HistoryPoint> = (0..).zip(points).map(|(position, result)| point(position, result)).collect();
    let between = Between {
        commits: vec![points[2].commit.clone()],
        count: 12,
        authors: vec![Author { name: HOSTILE.to_owned(), commits: 1 }],
        files: FilesChanged::of(vec![
            FileChange { path: HOSTILE.to_owned(), lines: Some(LinesChanged { added: 3, removed: 4 }) },
            FileChange { path: "b.png".to_owned(), lines: None },
        ]),
        linked: LinkedChanges::Gone,
    };
    let step = HistoryStep {
        after: 0,
        by: 2,
        earliest: 0,
        latest: 2,
        from: 1.0,
        to: 1.5,
        effect: Effect::Worse,
        status: Some(Status::Firm),
        between_runs: true,
        cause: None,
        layouts: None,
        boots: None,
        state: StepState::default(),
        between: Some(between),
    };
    let cautions = vec![ChangeCaution::Wanders { share: 0.5 }];
    let basis = StepBasis::Noisy {
        false_alarms: 0.1,
        false_confirmations: 0.01,
        smaller: 2,
        detectable: Some(0.034),
        cautions,
    };
    HistorySeries {
        format: HistorySeries::FORMAT.to_owned(),
        subject: "app".to_owned(),
        repository: "/r".to_owned(),
        forge: None,
        workload: None,
        has_releases: false,
        moved: Vec::new(),
        by_cpu_time: None,
        choice: None,
        load: None,
        command: vec!["./prog".to_owned(), HOSTILE.to_owned()],
        quantity: Quantity::Time,
        unit: "s".to_owned(),
        tasks: 2,
        host: None,
        conditions: String::new(),
        runs: vec![RunId(3), RunId(1)],
        left_out: vec![OtherRun { run: RunId(2), differs_in: Differing::Recipe }],
        points,
        quirks: Vec::new(),
        unplaced_quirks: Vec::new(),
        steps: HistorySteps { basis, least_change: 0.01, steps: vec![step], unjudged: 1, unplaced: 0 },
    }
}

/// A history of exact counts.
fn exact() -> HistorySeries {
    let mut series = series();
    series.quantity = Quantity::Instructions;
    series.unit = "instructions".to_owned();
    series.steps.basis = StepBasis::Exact;
    series.steps.unjudged = 0;
    for step in &mut series.steps.steps {
        (step.status, step.between_runs) = (None, false);
    }
    series
}

/// A history of counts that depend on their seed.
fn of_several_seeds() -> HistorySeries {
    let basis = StepBasis::Seeds { needed: 3, fewest: 5, most: 6, no_step: 0.01, detectable: Some(0.12) };
    HistorySeries { steps: HistorySteps { basis, ..exact().steps }, ..exact() }
}

#[test]
fn counts_of_several_seeds_have_intervals_and_a_sentence_about_comparison() {
    let shown = words(&history(&[of_several_seeds()], Format::Table, &Style::PLAIN));
    for part in [
        "2 threads",
        "0.900 … 1.100",
        "Counts depend on the seed, so each commit was counted with 5 to 6 of them",
        "a step has a p-value of at most 1.0 %",
        "Smallest detectable step between any two neighbours (80 % power): 12.0 %.",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_history_counts_measured_and_unmeasured_commits() {
    let shown = words(&history(&[series()], Format::Table, &Style::PLAIN));
    for part in [
        "2 copies",
        "000000000000 2023-11-14 1.000 s 0.900 … 1.100",
        "does not build",
        "+50.0 %, worse, between runs",
        "2 of 4 commits are measured, 1 cannot be measured, 1 without a result yet. Runs 3, 1.",
        "with a confidence level of 75.0 %.",
        "1 step was found. Stated false-positive rate: 10.0 % of series without a step, 1.0 % for firm steps. Smallest detectable step with 5 or more commits on each side (80 % power): 3.4 %. 2 steps of less than 1.0 % are left out.",
        "At the newest 1 measured commits no step can be found yet",
        "between runs: no run measured commits on both sides",
        "Left out, because their results are not comparable: run 2 (another build recipe).",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let shown = words(&history(&[exact()], Format::Table, &Style::PLAIN));
    assert!(shown.contains("2 threads") && shown.contains("Counts are exact for their seed"), "{shown}");
    assert!(!shown.contains("interval") && !shown.contains("false-positive"), "{shown}");
}

#[test]
fn a_step_has_the_commits_in_between() {
    let shown = words(&history_changes(&[series()], Format::Table, &Style::PLAIN));
    for part in [
        "000000000000 … 000000000000: 12 commits by",
        "2 files, +3 −4 lines",
        "b.png binary",
        "and 11 more",
        "cannot be compared: one of them was deleted",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let csv = history_changes(&[series()], Format::Csv, &Style::PLAIN);
    assert_eq!(csv.lines().count(), 2, "{csv}");
    let json: serde_json::Value =
        serde_json::from_str(&history_changes(&[series()], Format::Json, &Style::PLAIN)).unwrap();
    assert_eq!((&json[0]["basis"], &json[0]["steps"][0]["between"]["count"]), (&"noisy".into(), &12.into()));
    assert_eq!(json[0]["commits"][0][1]["subject"], HOSTILE);
}

#[test]
fn markup_in_texts_is_escaped_in_every_format() {
    let (all, planned) = ([series(), exact()], planned());
    for format in Format::ALL {
        for shown in [
            history(&all, format, &Style::PLAIN),
            history_changes(&all, format, &Style::PLAIN),
            history_commits(&planned, format, &Style::PLAIN),
        ] {
            assert!(!shown.contains('\u{1b}'), "{shown}");
        }
    }
    let markdown = history_changes(&all, Format::Markdown, &Style::PLAIN);
    assert!(markdown.contains("\\<b>") && !markdown.contains(" <b>"), "{markdown}");
    assert_eq!(history(&all, Format::Csv, &Style::PLAIN).lines().count(), 1 + 2 * 4);
    let back: Vec<HistorySeries> = serde_json::from_str(&history(&all, Format::Json, &Style::PLAIN)).unwrap();
    assert_eq!(back, all);
}

fn planned() -> Vec<faultline_stats::history::PlannedCommit> {
    let commit = point(0, PointResult::None).commit;
    vec![faultline_stats::history::PlannedCommit {
        subject: "app".to_owned(),
        tasks: 1,
        commit,
        is_picked: true,
        is_wanted: true,
        is_measured: Some(false),
    }]
}

#[test]
fn a_new_worse_step_closes_the_gate() {
    let told = |all: &[HistorySeries], since: u32, action| {
        let gate = Gate::of_histories(all, |_, step| step.by >= since, action);
        (gate.is_open(), history_gate(&gate, &Style::PLAIN))
    };
    let (is_open, said) = told(&[series()], 2, WhenInconclusive::Fail);
    assert!(
        !is_open && said.contains("app at 2: slower after 000000000000, by 000000000000: +50.0 %, worse, between runs"),
        "{said}"
    );
    let (is_open, said) = told(&[series()], 3, WhenInconclusive::Fail);
    assert!(is_open && said.starts_with("gate: open, no new step for the worse is known\n"), "{said}");
    assert_eq!(
        told(&[exact()], 3, WhenInconclusive::Fail),
        (true, "gate: open, no new step for the worse\n".to_owned())
    );
    let mut short = series();
    short.steps = HistorySteps {
        basis: StepBasis::TooShort { points: 2, needed: 12 },
        least_change: 0.01,
        steps: Vec::new(),
        unjudged: 2,
        unplaced: 0,
    };
    assert!(!told(&[short.clone()], 0, WhenInconclusive::Fail).0);
    assert!(told(&[short], 0, WhenInconclusive::Pass).0);
}

#[test]
fn a_marked_step_passes_and_has_its_reason() {
    let mut all = [series()];
    let event = |at, source, state, reason: Option<&str>, commits: &[u32]| ChangeEvent {
        at: UnixMillis(at),
        source,
        state,
        is_inconclusive: at == 30_000,
        reason: reason.map(str::to_owned),
        commits: commits.iter().map(|number| format!("{number:040}")).collect(),
    };
    let person = || Source::Person { name: HOSTILE.to_owned() };
    let log = vec![
        event(0, Source::Search { run: RunId(8) }, ChangeState::Found, None, &[]),
        event(30_000, Source::Search { run: RunId(7) }, ChangeState::Found, None, &[]),
        event(60_000, Source::Search { run: RunId(9) }, ChangeState::Confirmed, None, &[2]),
        event(120_000, person(), ChangeState::Ignored, Some(HOSTILE), &[]),
    ];
    all[0].steps.steps[0].state = StepState { now: ChangeState::Ignored, fixed_by: Some(2), log };
    all[0].steps.unplaced = 1;
    let shown = words(&history_changes(&all, Format::Table, &Style::PLAIN));
    for part in [
        "1970-01-01 00:00 UTC: not confirmed by run 8",
        "1970-01-01 00:00 UTC: inconclusive: run 7 could not exclude it",
        "1970-01-01 00:01 UTC: confirmed by run 9: commit 000000000000",
        "1970-01-01 00:02 UTC: ignored by a |",
        "reverted by the step at 000000000000",
        "1 mark belongs to a change that is no longer found.",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(words(&history(&all, Format::Table, &Style::PLAIN)).contains("+50.0 %, worse, between runs, ignored"));
    for format in Format::ALL {
        assert!(!history_changes(&all, format, &Style::PLAIN).contains('\u{1b}'));
    }
    let markdown = history_changes(&all, Format::Markdown, &Style::PLAIN);
    assert!(markdown.contains("\\<b>") && !markdown.contains(" <b>"), "{markdown}");
    assert!(history_changes(&all, Format::Csv, &Style::PLAIN).lines().next().unwrap().contains(",state"));
    let back: Vec<HistorySeries> = serde_json::from_str(&history(&all, Format::Json, &Style::PLAIN)).unwrap();
    assert_eq!(back, all);

    let gate = Gate::of_histories(&all, |_, _| true, WhenInconclusive::Fail);
    let said = history_gate(&gate, &Style::PLAIN);
    assert!(
        gate.is_open()
            && said.contains("is ignored, fixed, a quirk, or caused by layout\n")
            && !said.contains('\u{1b}'),
        "{said}"
    );
    assert!(
        said.contains(
            "  passes: app at 2: slower after 000000000000, by 000000000000: +50.0 %, worse, between runs, ignored (a |"
        ),
        "{said}"
    );
    let marked = history_marked(&all[0], &all[0].steps.steps[0], ChangeState::Fixed);
    assert_eq!(
        marked,
        "app at 2: the step after 000000000000, by 000000000000 (+50.0 %, worse, between runs) is marked as fixed\n"
    );
}

#[test]
fn a_step_that_partly_remains_in_random_layouts_closes_the_gate() {
    let mut all = [series()];
    let tried = LayoutsTried { tried: 12, distinct: 12, unchanged: 0, failed: 0, between: None, within: None };
    let part = |share: f64| Some(ShareOfStep { share, low: share - 0.02, high: share + 0.02 });
    let mut told = |is_no_step, of_commits| {
        let layouts = StepLayouts { label: StepLabel::Layout, remains: part(0.4), of_commits, is_no_step, tried };
        all[0].steps.steps[0].layouts = Some(layouts);
        let shown = words(&history_changes(&all, Format::Table, &Style::PLAIN));
        let csv = history_changes(&all, Format::Csv, &Style::PLAIN);
        let gate = Gate::of_histories(&all, |_, _| true, WhenInconclusive::Pass);
        (shown, csv, words(&history_gate(&gate, &Style::PLAIN)))
    };
    let (shown, csv, gate) = told(false, part(0.2));
    assert!(shown.contains("worse, between runs, mostly layout"), "{shown}");
    assert!(shown.contains("mostly layout: less than half of the step remains"), "{shown}");
    assert!(shown.contains("which is a change of +20.0 % (99 % interval: +18.0 % … +22.0 %)."), "{shown}");
    assert!(csv.contains(",mostly-layout,"), "{csv}");
    let doubt = "inconclusive: the layout caused most of the step, but the code may have caused the remaining +20.0 % (99 % interval: +18.0 % … +22.0 %)";
    assert!(gate.contains(doubt), "{gate}");
    let (shown, csv, gate) = told(true, part(0.001));
    assert!(shown.contains("worse, between runs, layout") && !shown.contains("mostly layout"), "{shown}");
    assert!(shown.contains("What remains is less than 1.0 %, with a confidence level of 99 %."), "{shown}");
    assert!(csv.contains(",layout,") && gate.contains("or caused by layout"), "{csv}{gate}");
}

#[test]
fn quirks_have_letters_causes_and_bridges() {
    let fact = |key: &str, before: &str, now: &str| ChangedFact {
        key: key.to_owned(),
        before: Some(before.to_owned()),
        now: Some(now.to_owned()),
    };
    let change = |ratio: f64| Change { ratio, low: ratio - 0.01, high: ratio + 0.01, units: 7 };
    let mut all = [series()];
    all[0].points[2].environment = 1;
    all[0].quirks = vec![
        Quirk {
            letter: "A".to_owned(),
            place: QuirkPlace::Runs { before: RunId(1), since: RunId(3), began: UnixMillis(0) },
            changed: vec![fact("cc --version", "gcc 12", HOSTILE), fact("kernel.release", "6.1", "6.12")],
            declared: vec![HOSTILE.to_owned()],
            bridge: Some(Bridge { commit: 2, before: estimate(1.0), now: estimate(1.4), change: change(1.4) }),
        },
        Quirk {
            letter: "B".to_owned(),
            place: QuirkPlace::Commits { first: 1, last: 1 },
            changed: Vec::new(),
            declared: vec!["other flags".to_owned()],
            bridge: None,
        },
    ];
    all[0].unplaced_quirks = vec!["no place".to_owned()];
    let cause = |label| StepCause {
        quirks: vec!["A".to_owned()],
        label,
        of_environment: Some(change(1.4)),
        of_commits: Some(change(1.07)),
    };
    all[0].steps.steps[0].cause = Some(cause(CauseLabel::Inconclusive));
    let shown = words(&history_changes(&all, Format::Table, &Style::PLAIN));
    for part in [
        "Quirk A, since run 3 (1970-01-01 00:00 UTC): a |",
        "`cc --version` was 'gcc 12', is 'a |",
        "kernel release was '6.1', is '6.12'. Bridged by 000000000000: +40.0 % (+39.0 % … +41.0 %) after it.",
        "Quirk B, commits 000000000000 to 000000000000: other flags (declared). Not measured",
        "The declared quirk 'no place' has no place: the history lacks some of its commits, or",
        "worse, between runs, code or quirk A",
        "share of the environment: +40.0 % (+39.0 % … +41.0 %); of the commits: +7.0 %",
        "code or quirk: no commit measured in both environments decides",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let csv = history(&all, Format::Csv, &Style::PLAIN);
    let quirks: Vec<bool> = csv.lines().skip(1).map(|line| line.contains(",A,") || line.contains(",B,")).collect();
    assert_eq!(quirks, [false, true, true, false], "{csv}");
    for format in Format::ALL {
        for shown in [history(&all, format, &Style::PLAIN), history_changes(&all, format, &Style::PLAIN)] {
            assert!(!shown.contains('\u{1b}'), "{shown}");
        }
    }
    let back: Vec<HistorySeries> = serde_json::from_str(&history(&all, Format::Json, &Style::PLAIN)).unwrap();
    assert_eq!(back, all);

    // A step of the environment passes the gate; one of the program or an unknown cause closes it.
    let told = |all: &[HistorySeries]| {
        let gate = Gate::of_histories(all, |_, _| true, WhenInconclusive::Fail);
        (gate.is_open(), history_gate(&gate, &Style::PLAIN))
    };
    let (is_open, said) = told(&all);
    assert!(!is_open && said.contains("inconclusive: the commits may have changed it by +6.0 % to +8.0 %"), "{said}");
    all[0].steps.steps[0].cause = Some(cause(CauseLabel::MostlyQuirk));
    assert!(!told(&all).0);
    let gate = Gate::of_histories(&all, |_, _| true, WhenInconclusive::Pass);
    let said = history_gate(&gate, &Style::PLAIN);
    let part = "worse, between runs, mostly quirk A: inconclusive: the commits";
    assert!(said.starts_with("gate: open, but it is inconclusive") && said.contains(part), "{said}");
    let shown = words(&history(&all, Format::Table, &Style::PLAIN));
    assert!(shown.contains("The commits may have changed the value by more than 1.0 %"), "{shown}");
    all[0].steps.steps[0].cause = Some(cause(CauseLabel::Quirk));
    let (is_open, said) = told(&all);
    assert!(is_open && said.contains("+50.0 %, worse, between runs, quirk A"), "{said}");
    all[0].steps.steps[0].cause = Some(cause(CauseLabel::Code));
    let (is_open, said) = told(&all);
    assert!(!is_open && said.contains("worse, between runs, code (not quirk A)"), "{said}");
}

#[test]
fn kernels_and_releases_have_their_nouns_and_moved_data() {
    let mut series = exact();
    series.quantity = Quantity::Transfers;
    series.command.clear();
    series.workload = Some("zero_fill:base".to_owned());
    series.has_releases = true;
    series.points[0].commit.id = "6.1.0-50-cloud".to_owned();
    let side = |median: f64| Spread { median, low: median, high: median, n: 1 };
    let went = |name: &str, before: f64| Difference {
        of: Key::Named { name: name.to_owned() }.into(),
        change: faultline_stats::lens::comparison::Change::Went,
        a: side(before),
        b: side(0.0),
        difference: -before,
        beside_a: Vec::new(),
        beside_b: Vec::new(),
    };
    let data = (0..7).map(|number| went(&format!("lock{number} {HOSTILE}"), 7.25)).collect();
    let counts = CellComparison {
        case: Case { workload: "zero_fill".to_owned(), variant: "base".to_owned(), mode: TaskMode::Thread },
        cpus: 2,
        basis: Basis::Repeats,
        transfers: (side(9.0), side(2.0)),
        transfers_difference: -7.0,
        transfers_change: faultline_stats::lens::comparison::Change::Less,
        instructions: (side(1.0), side(1.0)),
        instructions_difference: 0.0,
        data,
        code: Vec::new(),
    };
    series.moved = vec![StepMoved { after: 0, by: 2, counts: Some(counts), counters: Vec::new() }];
    let all = [series];
    let shown = words(&history_changes(&all, Format::Table, &Style::PLAIN));
    for part in [
        "the transfers of cache lines of `zero_fill:base`, per operation, 2 CPUs",
        "2 of 4 releases are measured",
        "6.1.0-50-cloud",
        "Data that moved more or less, transfers per operation (the greatest 5 of 7):",
        "went, 7.250 → 0: lock0 a |",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(!shown.contains("lock5") && !shown.contains("Code that moved"), "{shown}");
    for format in Format::ALL {
        assert!(!history_changes(&all, format, &Style::PLAIN).contains('\u{1b}'));
    }
    let markdown = history_changes(&all, Format::Markdown, &Style::PLAIN);
    assert!(markdown.contains("\\<b>") && !markdown.contains(" <b>"), "{markdown}");
    let back: Vec<HistorySeries> = serde_json::from_str(&history(&all, Format::Json, &Style::PLAIN)).unwrap();
    assert_eq!(back, all);
}

#[test]
fn counts_of_programs_are_per_run_and_counters_are_ranked() {
    let mut series = series();
    let counter = |name: &str, p_corrected| CounterDifference { name: name.to_owned(), a: 1.0, b: 0.25, p_corrected };
    let counters = vec![counter("vmstat.first", 1e-9), counter(HOSTILE, 0.002)];
    series.moved = vec![StepMoved { after: 0, by: 2, counts: None, counters }];
    let shown = words(&history_changes(&[series.clone()], Format::Table, &Style::PLAIN));
    let lines = "Kernel counters that differ, per operation (2): vmstat.first 1.000 → 0.2500 (p < 0.0001) a |";
    assert!(shown.contains(lines) && shown.contains("1.000 → 0.2500 (p = 0.0020)"), "{shown}");
    assert!(!history_changes(&[series], Format::Markdown, &Style::PLAIN).contains('\u{1b}'));
}

#[test]
fn a_release_has_no_author() {
    let mut series = series();
    for point in &mut series.points {
        point.commit = CommitInfo { author: String::new(), subject: "6.12".to_owned(), ..point.commit.clone() };
    }
    let commits = vec![series.points[2].commit.clone()];
    let between = series.steps.steps[0].between.as_mut().unwrap();
    (between.commits, between.authors) = (commits, vec![Author { name: String::new(), commits: 1 }]);
    let text = history_changes(&[series.clone()], Format::Table, &Style::PLAIN);
    assert!(text.contains(": 12 commits\n") && text.contains(" 6.12\n") && !text.contains("()"), "{text}");
    let page = crate::site::steps::commits_between(&series, [0, 2], 1, "h").into_string();
    assert!(page.contains("<p>2 commits of the history</p>") && !page.contains("()"), "{page}");
}

#[test]
fn a_single_execution_has_no_confidence_level() {
    let mut series = series();
    for point in &mut series.points {
        if let PointResult::Measured { estimate, .. } = &mut point.result {
            (estimate.coverage, estimate.n) = (0.0, 1);
        }
    }
    let shown = words(&history(&[series], Format::Table, &Style::PLAIN));
    assert!(!shown.contains("interval: of the median"), "{shown}");
}
