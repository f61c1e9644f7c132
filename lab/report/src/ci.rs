//! The gate between two commits: one table, one sentence, and JUnit's XML.

use crate::comparison::change::percent;
use crate::escape::{cut, one_line};
use crate::figure::quantity;
use crate::format::Format;
use crate::quantity::QuantityWords;
use crate::sentences::outcome;
use crate::sheet::{Sheet, in_format};
use crate::style::Style;
use crate::table::{self, Form, ResultTable};
use faultline_record::bisect::Unusable;
use faultline_record::commit::{CommitInfo, short_name};
use faultline_record::quantity::Quantity;
use faultline_record::record::RunId;
use faultline_stats::ci::{CiLine, CiProgram, CiResult, CiRow, CiState, CiUnusable, CiVerdict};
use faultline_stats::thresholds::CI_OVERLAP;
use maud::{PreEscaped, html};
use serde::Serialize;

/// Letters of a program's name in a table.
const NAME_LETTERS: usize = 40;

/// Changes from this share on are shown as factors instead of percentages.
const MANY: f64 = 9.0;

/// Functions in a sentence about the code behind a changed count.
const CODE_SHOWN: usize = 5;

/// Letters of a failure's text in a sentence.
const FAILURE_LETTERS: usize = 200;

/// The result of the gate: the answer in a sentence, then a row for each measure.
pub fn ci(result: &CiResult, format: Format, style: &Style) -> String {
    in_format(
        format,
        style,
        |sheet| body(sheet, result),
        || Shown { result, state: result.state(), answer: answer(result) },
        || table(result).csv(),
    )
}

/// The JSON: the result with its state and its answer in words.
#[derive(Serialize)]
struct Shown<'a> {
    #[serde(flatten)]
    result: &'a CiResult,
    state: CiState,
    answer: String,
}

fn body(mut sheet: Sheet<'_>, result: &CiResult) -> String {
    sheet.paragraph(None, "", &answer(result));
    if result.programs.iter().any(|program| !program.rows.is_empty()) {
        sheet.table(&table(result));
    }
    for sentence in notes(result) {
        sheet.paragraph(None, "", &sentence);
    }
    sheet.text
}

/// The answer in one sentence.
fn answer(result: &CiResult) -> String {
    let (base, head) = (named(&result.base), named(&result.head));
    let rows = || result.programs.iter().flat_map(|program| program.rows.iter().map(move |row| (program, row)));
    let deciding = || rows().filter(|(_, row)| row.decides);
    let budget = percent(deciding().map(|(_, row)| row.budget).fold(0.0, f64::max));
    match result.state() {
        CiState::Worse => {
            let worse: Vec<String> =
                rows().filter(|(_, row)| row.closes()).map(|(program, row)| risen(program, row)).collect();
            format!("{head} is worse than {base}: {}.", worse.join("; "))
        }
        CiState::NotMeasured => {
            let lacking = result.programs.iter().filter_map(|program| lacking(program, result)).collect::<Vec<_>>();
            format!("Not measured for {base} and {head}: {}.", lacking.join("; "))
        }
        CiState::Within if result.programs.iter().all(|program| program.has_same_build) => {
            format!("{head} and {base} have the same builds.")
        }
        CiState::Within => {
            format!("{head} is within the budget of {budget}: no deciding measure rose by that much since {base}.")
        }
        CiState::Inconclusive => {
            let open = deciding().filter(|(_, row)| row.verdict == CiVerdict::Inconclusive);
            let open: Vec<String> = open.map(|(program, row)| of_program(program, row.quantity)).collect();
            format!(
                "No deciding measure of {head} is shown to be worse than {base} by the budget of {budget}; inconclusive: {}.",
                open.join("; ")
            )
        }
    }
}

/// The deciding measures that a program lacks, in words; `None` if it has all.
fn lacking(program: &CiProgram, result: &CiResult) -> Option<String> {
    let lacking: Vec<&str> = result.lacking(program).into_iter().map(QuantityWords::heading).collect();
    (!lacking.is_empty()).then(|| format!("{} of '{}'", lacking.join(", "), name(program)))
}

fn of_program(program: &CiProgram, what: Quantity) -> String {
    format!("{} of '{}'", what.heading(), name(program))
}

fn named(commit: &CommitInfo) -> String {
    short_name(&commit.id).to_owned()
}

fn name(program: &CiProgram) -> String {
    cut(&one_line(&program.name), NAME_LETTERS)
}

fn risen(program: &CiProgram, row: &CiRow) -> String {
    match row.change {
        Some(_) if is_many(row) => {
            let much = if row.quantity.is_counted() { "many" } else { "much" };
            format!("{} {} as {much}", of_program(program, row.quantity), changed(row))
        }
        Some(_) => format!("{} {}", of_program(program, row.quantity), changed(row)),
        None => format!("{} from 0 to {}", of_program(program, row.quantity), row.head),
    }
}

fn is_many(row: &CiRow) -> bool {
    row.change.is_some_and(|change| change >= MANY)
}

/// The factor of a change: `11.4`, `951`.
fn factor(change: f64) -> String {
    let decimals = if change < 99.0 { 1 } else { 0 };
    format!("{:.decimals$}", 1.0 + change)
}

fn changed(row: &CiRow) -> String {
    match row.change {
        Some(change) if is_many(row) => format!("{} times", factor(change)),
        // Without the sign of a zero.
        Some(change) => format!("{:+.2} %", (1e4 * change).round() / 100.0 + 0.0),
        None => "from 0".to_owned(),
    }
}

/// Sentences about sides that cannot be measured, about measures that cannot decide, and about the
/// code behind changed counts.
fn notes(result: &CiResult) -> Vec<String> {
    let unusable = result
        .programs
        .iter()
        .filter_map(|program| program.unusable.as_ref().map(|unusable| not_measured(program, unusable, result)));
    let coarse = result.programs.iter().flat_map(|program| {
        let is_coarse = |row: &&CiRow| row.decides && row.detectable.is_some_and(|detectable| detectable > row.budget);
        program.rows.iter().filter(is_coarse).map(move |row| coarse(program, row))
    });
    let failed = result.programs.iter().filter_map(|program| {
        let why = program.not_executed.as_ref()?;
        Some(format!("'{}' was not executed on this host: {}.", name(program), one_line(why)))
    });
    let is_unfit = result.by.contains(&Quantity::Time)
        && result
            .programs
            .iter()
            .flat_map(|program| &program.rows)
            .any(|row| row.quantity == Quantity::Time && !row.decides);
    let unfit = is_unfit
        .then(|| "Time does not decide, because this machine is not fit to measure on (`faultline check`).".to_owned());
    let serial = result.by.contains(&Quantity::Transfers).then(|| serial(result)).flatten();
    let code = result.programs.iter().flat_map(|program| {
        [Quantity::Instructions, Quantity::Transfers].into_iter().filter_map(move |what| code(program, what))
    });
    unusable.chain(coarse).chain(failed).chain(unfit).chain(serial).chain(code).collect()
}

/// The sentence about programs whose transfers do not decide; `None` if there is none.
fn serial(result: &CiResult) -> Option<String> {
    let is_serial = |program: &&CiProgram| program.is_serial() && !program.rows.is_empty() && !program.has_same_build;
    let of = |program: &CiProgram| format!("{} of '{}'", percent(program.overlap.unwrap_or_default()), name(program));
    let shares: Vec<String> = result.programs.iter().filter(is_serial).map(of).collect();
    let least = percent(CI_OVERLAP);
    (!shares.is_empty()).then(|| {
        format!(
            "Transfers do not decide if CPUs work at the same time in less than {least} of the time: {}.",
            shares.join(", ")
        )
    })
}

/// The sentence about the code behind a changed count; `None` if it is unknown.
fn code(program: &CiProgram, what: Quantity) -> Option<String> {
    let lines: Vec<&CiLine> = program.lines.iter().filter(|line| line.quantity == what).collect();
    let more = lines.len().saturating_sub(CODE_SHOWN);
    let shown: Vec<String> = lines.iter().take(CODE_SHOWN).map(|line| place(line)).collect();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let begin = match what {
        Quantity::Instructions => format!("'{}' has other code in", name(program)),
        _ => format!("Transfers of '{}' change in", name(program)),
    };
    (!shown.is_empty()).then(|| format!("{begin} {}{more}.", shown.join(", ")))
}

/// Function, place and change of a line.
fn place(line: &CiLine) -> String {
    let mut text = cut(&one_line(&line.function), NAME_LETTERS);
    match (&line.file, line.line) {
        (Some(file), Some(line)) => text += &format!(" {}:{line}", one_line(file)),
        (Some(file), None) => text += &format!(" {}", one_line(file)),
        (None, _) => {}
    }
    match line.delta {
        Some(delta) => format!("{text} ({delta:+.0})"),
        None => text,
    }
}

fn coarse(program: &CiProgram, row: &CiRow) -> String {
    let detectable = row.detectable.unwrap_or_default();
    format!(
        "'{}': {} {} between executions, so only changes of {} or more would have been found.",
        name(program),
        row.quantity.heading(),
        if row.quantity.is_counted() { "differ" } else { "differs" },
        percent((100.0 * detectable).ceil() / 100.0)
    )
}

fn not_measured(program: &CiProgram, CiUnusable { is_head, reason }: &CiUnusable, result: &CiResult) -> String {
    let commit = if *is_head { &result.head } else { &result.base };
    let how = match (&reason.build, &reason.execution) {
        (Some(build), _) => match build.output.lines().rev().find(|line| !line.trim().is_empty()) {
            Some(last) => format!("does not build: {}: {last}", build.how),
            None => format!("does not build: {}", build.how),
        },
        (None, Some(ending)) => format!("cannot be executed: {}", outcome(ending)),
        (None, None) if reason.why == Unusable::Hang => "does not end".to_owned(),
        (None, None) => "cannot be measured".to_owned(),
    };
    let how = cut(&one_line(&how), FAILURE_LETTERS);
    format!("'{}' of {} {}.", name(program), named(commit), how.trim_end_matches('.'))
}

/// A row with its program.
type Row<'a> = (&'a CiProgram, &'a CiRow);

fn table(result: &CiResult) -> ResultTable<Row<'_>> {
    let rows = result.programs.iter().flat_map(|program| program.rows.iter().map(move |row| (program, row)));
    ResultTable::new(columns(), rows)
}

type Column<'a> = table::Column<Row<'a>>;

fn columns<'a>() -> Vec<Column<'a>> {
    vec![
        Column::left("program", |(program, _), _| name(program)).csv("program", |(program, _)| one_line(&program.name)),
        Column::left("measure", |(_, row), _| row.quantity.heading().to_owned())
            .csv("measure", |(_, row)| row.quantity.word().to_owned()),
        Column::right("base", |(_, row), signs| quantity(row.base, row.quantity.unit(), signs))
            .number("base", |(_, row)| Some(row.base)),
        Column::right("head", |(_, row), signs| quantity(row.head, row.quantity.unit(), signs))
            .number("head", |(_, row)| Some(row.head)),
        Column::right("change", |(_, row), _| changed(row)).number("change", |(_, row)| row.change),
        Column::right("interval", |(_, row), signs| match row.interval {
            Some([low, high]) if is_many(row) => format!("{} {} {} times", factor(low), signs.to, factor(high)),
            Some([low, high]) => format!("{:+.1} {} {:+.1} %", 100.0 * low, signs.to, 100.0 * high),
            None if row.executions.is_none() => "exact".to_owned(),
            None => signs.none.to_owned(),
        })
        .on(Form::ALL_BUT_NARROW)
        .csv_as_shown("interval"),
        Column::left("decides", |(_, row), _| if row.decides { "yes" } else { "no" }.to_owned())
            .csv_as_shown("decides"),
        Column::left("verdict", |(_, row), _| verdict(row).to_owned()).csv_as_shown("verdict"),
        Column::csv_only("budget", |(_, row)| row.budget.to_string()),
        Column::csv_option("executions", |(_, row)| row.executions),
        Column::csv_only("runs", |(program, _)| {
            program.runs.iter().map(RunId::to_string).collect::<Vec<_>>().join(" ")
        }),
    ]
}

fn verdict(row: &CiRow) -> &'static str {
    match row.verdict {
        CiVerdict::Equal => "equal",
        CiVerdict::Better => "better",
        CiVerdict::Within => "within budget",
        CiVerdict::Inconclusive => "inconclusive",
        CiVerdict::Worse => "worse",
    }
}

/// JUnit's XML: a test case for each measure. It fails if it closes the gate, and is skipped if it
/// does not decide.
pub fn ci_junit(result: &CiResult) -> String {
    let rows: usize = result.programs.iter().map(|program| program.rows.len()).sum();
    let failures = result.programs.iter().flat_map(|program| &program.rows).filter(|row| row.closes()).count();
    let errors = result.programs.iter().filter(|program| !result.lacking(program).is_empty()).count();
    let suite = html! {
        testsuite name="faultline ci" tests=(rows + errors) failures=(failures) errors=(errors) {
            @for program in &result.programs {
                @for row in &program.rows {
                    testcase classname=(one_line(&program.name)) name=(row.quantity.heading()) {
                        @if row.closes() {
                            failure message=(risen(program, row)) {}
                        } @else if !row.decides {
                            skipped message=(changed(row)) {}
                        }
                    }
                }
                @if let Some(lacking) = lacking(program, result) {
                    testcase classname=(one_line(&program.name)) name="measured" {
                        error message=(program.unusable.as_ref().map_or(lacking, |unusable| not_measured(program, unusable, result))) {}
                    }
                }
            }
        }
    };
    html! { (PreEscaped("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n")) (suite) (PreEscaped("\n")) }.into_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use faultline_stats::history::{FailedBuild, NotMeasured};

    fn row(quantity: Quantity, [base, head]: [f64; 2], decides: bool, verdict: CiVerdict) -> CiRow {
        let is_exact = quantity.is_counted();
        CiRow {
            quantity,
            base,
            head,
            change: (base > 0.0).then(|| head / base - 1.0),
            interval: (!is_exact).then_some([-0.004, 0.021]),
            executions: (!is_exact).then_some(12),
            budget: 0.01,
            decides,
            verdict,
            detectable: (!is_exact).then_some(0.023),
        }
    }

    fn result(programs: Vec<CiProgram>) -> CiResult {
        let commit = |digit: &str| CommitInfo { id: digit.repeat(40), ..CommitInfo::default() };
        let by = vec![Quantity::Instructions, Quantity::Transfers];
        CiResult { format: CiResult::FORMAT.to_owned(), base: commit("a"), head: commit("b"), by, programs }
    }

    fn program(rows: Vec<CiRow>) -> CiProgram {
        CiProgram {
            name: "./prog 10".to_owned(),
            runs: vec![RunId(7)],
            has_same_build: false,
            unusable: None,
            not_executed: None,
            overlap: Some(0.004),
            rows,
            lines: Vec::new(),
        }
    }

    fn worse() -> CiResult {
        result(vec![program(vec![
            row(Quantity::Instructions, [1e6, 1.03e6], true, CiVerdict::Worse),
            row(Quantity::Transfers, [0.0, 40.0], true, CiVerdict::Worse),
            row(Quantity::CpuTime, [0.25, 0.252], false, CiVerdict::Inconclusive),
        ])])
    }

    fn broken() -> CiResult {
        let build = Some(FailedBuild { how: "exit status 2".to_owned(), output: "cc\nno <rule>".to_owned() });
        let reason = NotMeasured { why: Unusable::Build, build, execution: None };
        result(vec![CiProgram { unusable: Some(CiUnusable { is_head: true, reason }), ..program(Vec::new()) }])
    }

    #[test]
    fn the_answer_comes_first() {
        let text = ci(&worse(), Format::Table, &Style::PLAIN);
        assert!(
            text.replace('\n', " ").starts_with(
                "bbbbbbbbbbbb is worse than aaaaaaaaaaaa: instructions of './prog 10' +3.00 %; transfers of './prog 10' from 0 to 40."
            ),
            "{text}"
        );
        assert!(text.contains("CPU time") && text.contains("inconclusive"), "{text}");
        let many = CiRow {
            interval: Some([6.0, 983.0]),
            ..row(Quantity::Transfers, [148.0, 140_748.0], true, CiVerdict::Worse)
        };
        let slow =
            CiRow { interval: Some([9.5, 11.0]), ..row(Quantity::CpuTime, [0.25, 2.75], true, CiVerdict::Worse) };
        let text = ci(&result(vec![program(vec![many, slow])]), Format::Table, &Style::PLAIN);
        let sentence = text.replace('\n', " ");
        assert!(sentence.contains("transfers of './prog 10' 951 times as many;"), "{text}");
        assert!(sentence.contains("CPU time of './prog 10' 11.0 times as much."), "{text}");
        assert!(text.contains("  951 times    7.0 … 984 times"), "{text}");
        assert!(text.contains(" 11.0 times  10.5 … 12.0 times"), "{text}");
        let within = result(vec![program(vec![row(Quantity::Instructions, [1e6, 1.003e6], true, CiVerdict::Within)])]);
        let text = ci(&within, Format::Markdown, &Style::PLAIN);
        assert!(text.starts_with("bbbbbbbbbbbb is within the budget of 1 %"), "{text}");
    }

    #[test]
    fn a_side_that_does_not_build_is_named() {
        let text = ci(&broken(), Format::Table, &Style::PLAIN);
        let begins = "Not measured for aaaaaaaaaaaa and bbbbbbbbbbbb: instructions, transfers of './prog 10'.";
        assert!(text.starts_with(begins), "{text}");
        assert!(text.contains("'./prog 10' of bbbbbbbbbbbb does not build: exit status 2: no <rule>."), "{text}");
        let mut silent = broken();
        let build = silent.programs[0].unusable.as_mut().unwrap().reason.build.as_mut().unwrap();
        (build.how, build.output) = ("it leaves no ./prog".to_owned(), String::new());
        let text = ci(&silent, Format::Table, &Style::PLAIN);
        assert!(text.contains("does not build: it leaves no ./prog.\n"), "{text}");
    }

    #[test]
    fn transfers_of_serial_programs_and_the_code_behind_changes_have_sentences() {
        let text = |program| ci(&result(vec![program]), Format::Markdown, &Style::PLAIN).replace('\n', " ");
        let rows = || vec![row(Quantity::Instructions, [1e6, 1.03e6], true, CiVerdict::Worse)];
        let serial = "Transfers do not decide if CPUs work at the same time in less than 10 % of the time: 0.4 % of './prog 10'.";
        assert!(text(program(rows())).contains(serial), "{}", text(program(rows())));
        let line = |quantity, function: &str, line, delta| CiLine {
            quantity,
            function: function.to_owned(),
            file: Some("src/a.c".to_owned()),
            line,
            delta,
        };
        let mut lines = vec![line(Quantity::Instructions, "main", Some(7), None)];
        lines.extend((0..7).map(|n| line(Quantity::Transfers, "work", (n > 0).then_some(n), Some(20_000.0))));
        let text = text(CiProgram { overlap: Some(0.5), lines, ..program(rows()) });
        assert!(text.contains("'./prog 10' has other code in main src/a.c:7."), "{text}");
        let moved = "Transfers of './prog 10' change in work src/a.c (+20000), work src/a.c:1 (+20000), ";
        assert!(text.contains(moved) && text.contains(" and 2 more.") && !text.contains("do not decide"), "{text}");
    }

    #[test]
    fn junit_fails_what_closes_the_gate_and_escapes_names() {
        let xml = ci_junit(&worse());
        assert!(xml.starts_with("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite "), "{xml}");
        assert!(xml.contains("tests=\"3\" failures=\"2\" errors=\"0\""), "{xml}");
        assert!(xml.contains("<skipped message=\"+0.80 %\"></skipped>"), "{xml}");
        let xml = ci_junit(&broken());
        assert!(xml.contains("errors=\"1\"") && xml.contains("no &lt;rule&gt;"), "{xml}");
    }
}
