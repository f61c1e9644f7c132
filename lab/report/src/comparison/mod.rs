//! A comparison in text, Markdown, CSV and JSON: sides, answers, and what else differs.

mod brief;
pub(crate) mod change;
pub(crate) mod columns;
mod fitness;
pub(crate) mod legend;
mod mail;
pub(crate) mod scaling;
pub(crate) mod words;

pub use brief::comparison_brief;
pub(crate) use columns::counter_words;
pub use fitness::fitness;
pub use mail::comparison_mail;
pub use words::comparison_gate;

use crate::escape::one_line;
use crate::format::Format;
use crate::sentences::{self, worded_comparison};
use crate::sheet::{Sheet, in_format};
use crate::style::{Style, Tone};
use crate::table::Form;
use faultline_stats::comparison::{ComparedWorkload, Comparison};

/// A comparison: a row per workload, the answers in words, and what else differs.
///
/// JSON is the comparison. CSV has a record per workload and per further figure.
pub fn comparison(compared: &Comparison, format: Format, style: &Style) -> String {
    in_format(
        format,
        style,
        |sheet| body(sheet, compared),
        || worded_comparison(compared),
        || columns::table_with_figures(compared).csv(),
    )
}

fn body(mut sheet: Sheet<'_>, compared: &Comparison) -> String {
    let sheet = &mut sheet;
    head(sheet, compared);
    sheet.space();
    let form = if compared.workloads.is_empty() {
        sheet.line("The sides have nothing in common.");
        Form::Wide
    } else {
        answers(sheet, compared)
    };
    figures(sheet, compared);
    let signs = sheet.style.signs();
    let untested = compared.untested.iter().map(|figure| words::untested(figure, signs));
    listed(sheet, "Not tested", None, untested.collect());
    cautions(sheet, compared);
    counters(sheet, compared);
    laws(sheet, compared);
    if !compared.facts.is_empty() {
        sheet.heading("Facts that differ");
        sheet.table(&columns::facts(compared));
    }
    failures(sheet, compared);
    sheet.legend(legend::sentences(compared, form, signs));
    std::mem::take(&mut sheet.text)
}

fn head(sheet: &mut Sheet<'_>, compared: &Comparison) {
    sheet.paragraph(Some(Tone::Title), "", &words::title(compared, sheet.style.signs()));
    sheet.labelled(None, "A  ", &words::side(compared, &compared.a));
    sheet.labelled(None, "B  ", &words::side(compared, &compared.b));
    if let Some(machine) = words::machine(compared) {
        sheet.labelled(None, "on ", &machine);
    }
    if let Some(sequential) = &compared.sequential {
        sheet.paragraph(Some(Tone::Quiet), "", &legend::sequential(sequential));
    }
}

/// The table of answers, the overall change, and each answer in words. Returns the form of the
/// table.
fn answers(sheet: &mut Sheet<'_>, compared: &Comparison) -> Form {
    let signs = sheet.style.signs();
    let form = if sheet.is_markdown() {
        sheet.table(&columns::table(compared));
        Form::Markdown
    } else {
        rows(sheet, compared)
    };
    if let Some(overall) = words::overall(compared, signs) {
        sheet.space();
        sheet.paragraph(None, "", &overall);
    }
    sheet.heading(&format!("Answers: {}", words::tally(compared, signs)));
    let has_system_column = matches!(form, Form::Wide | Form::Markdown);
    for answer in words::answers(compared, signs, !has_system_column) {
        sheet.item(None, 1, &answer);
    }
    form
}

/// The rows of text, with coloured answers. Narrow rows have name, unit and n above them.
fn rows(sheet: &mut Sheet<'_>, compared: &Comparison) -> Form {
    let (form, grid) = columns::table(compared).fitting(sheet.style);
    let folded = grid.folded(sheet.style.width);
    sheet.headings(folded.headings.as_deref());
    for (ComparedWorkload { comparison, .. }, lines) in compared.workloads.iter().zip(folded.rows) {
        let word = match form {
            Form::Narrow => {
                let [name, unit] = [&comparison.name, &comparison.unit].map(|text| one_line(text));
                let (direction, n) = (comparison.direction.word(), words::units(comparison));
                sheet.paragraph(None, "", &format!("{name}: {unit}, {direction} is better; n {n}"));
                words::answer_word(comparison.answer).to_owned()
            }
            Form::Wide | Form::Medium | Form::Markdown | Form::Page => {
                words::answer_words(comparison, sheet.style.signs())
            }
        };
        let painted = sheet.style.paint(words::answer_tone(comparison.answer), &word);
        // Only numbers follow the answer in its row, so the last occurrence is the answer itself.
        for line in lines {
            sheet.line(&match line.rfind(&word) {
                Some(at) => format!("{}{painted}{}", &line[..at], &line[at + word.len()..]),
                None => line,
            });
        }
    }
    form
}

fn figures(sheet: &mut Sheet<'_>, compared: &Comparison) {
    if words::has_figures(compared) {
        sheet.heading("Further figures");
    }
    for workload in compared.workloads.iter().filter(|workload| !workload.details.figures.is_empty()) {
        sheet.paragraph(None, "  ", &words::name(workload));
        for figure in words::figures(&workload.details, sheet.style.signs()) {
            sheet.item(None, 2, &figure);
        }
    }
}

/// The cautions, each once.
fn cautions(sheet: &mut Sheet<'_>, compared: &Comparison) {
    let cautions = legend::cautions(compared);
    if !cautions.is_empty() {
        sheet.heading("Cautions");
    }
    for caution in cautions {
        sheet.warning(caution.code.word(), &caution.text, caution.names.as_deref());
    }
}

fn counters(sheet: &mut Sheet<'_>, compared: &Comparison) {
    let mut with_counters =
        compared.workloads.iter().filter(|workload| !workload.details.counters.is_empty()).peekable();
    if with_counters.peek().is_some() {
        sheet.heading("Kernel counters that differ, most significant first");
    }
    for workload in with_counters {
        let (table, left_out) = columns::counters(&workload.details.counters, columns::COUNTERS_IN_TEXT);
        let more = if left_out > 0 { format!(", and {left_out} more in the JSON") } else { String::new() };
        sheet.subtable(&format!("{}{more}", words::name(workload)), &table, Form::Wide);
    }
}

fn laws(sheet: &mut Sheet<'_>, compared: &Comparison) {
    if !compared.scaling.is_empty() {
        sheet.heading("Scaling");
    }
    for case in &compared.scaling {
        sheet.paragraph(None, "  ", &scaling::title(case));
        for (tone, sentence) in scaling::sentences(case, sheet.style.signs()) {
            sheet.item(Some(tone), 2, &sentence);
        }
    }
}

/// Failed executions, and what is not compared.
fn failures(sheet: &mut Sheet<'_>, compared: &Comparison) {
    let failures = words::failures(compared, sheet.style.signs());
    let unmatched = compared.unmatched.iter().map(|unmatched| one_line(&sentences::unmatched(unmatched))).collect();
    listed(sheet, "Failed, and left out", Some(Tone::Bad), failures);
    listed(sheet, "Not compared", Some(Tone::Quiet), unmatched);
}

fn listed(sheet: &mut Sheet<'_>, heading: &str, tone: Option<Tone>, lines: Vec<String>) {
    if !lines.is_empty() {
        sheet.heading(heading);
    }
    for line in lines {
        sheet.item(tone, 1, &line);
    }
}
