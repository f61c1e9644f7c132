//! A comparison for people at a terminal.

use super::{cautions, columns, counters, legend, scaling, sequential, words};
use crate::fact_words;
use crate::grid::Grid;
use crate::one_line::one_line;
use crate::sentences;
use crate::sheet::Sheet;
use crate::style::{Style, Tone};
use crate::table::Form;
use faultline_model::comparison::{ComparedWorkload, Comparison, FactDifference};

/// The whole comparison.
pub(super) fn text(compared: &Comparison, style: &Style) -> String {
    let mut sheet = Sheet::new(style);
    head(&mut sheet, compared);
    sheet.line("");
    let (form, grid) = columns::table(compared).fitting(style);
    if compared.workloads.is_empty() {
        sheet.line("There is nothing that both sides have.");
    } else {
        rows(&mut sheet, compared, form, &grid);
        overall(&mut sheet, compared);
        answers(&mut sheet, compared, form);
    }
    figures(&mut sheet, compared);
    untested(&mut sheet, compared);
    cautions(&mut sheet, compared);
    counters(&mut sheet, compared);
    laws(&mut sheet, compared);
    facts(&mut sheet, compared);
    failures(&mut sheet, compared);
    explain(&mut sheet, compared, form);
    sheet.text
}

fn head(sheet: &mut Sheet<'_>, compared: &Comparison) {
    let signs = sheet.style.signs();
    sheet.paragraph(Some(Tone::Title), "", &words::title(compared, signs));
    for (letter, side) in [("A  ", &compared.a), ("B  ", &compared.b)] {
        sheet.hanging(None, letter, "   ", &words::side(compared, side));
    }
    if let Some(machine) = words::machine(compared) {
        sheet.hanging(None, "on ", "   ", &machine);
    }
    if let Some(sequential) = &compared.sequential {
        sheet.paragraph(Some(Tone::Quiet), "", &sequential::words(sequential));
    }
}

fn rows(sheet: &mut Sheet<'_>, compared: &Comparison, form: Form, grid: &Grid) {
    let folded = grid.folded(sheet.style.width);
    sheet.headings(folded.headings.as_deref());
    for (ComparedWorkload { comparison, .. }, lines) in compared.workloads.iter().zip(folded.rows) {
        if form == Form::Narrow {
            let [name, unit] = [&comparison.name, &comparison.unit].map(|text| one_line(text));
            let (direction, n) = (comparison.direction.word(), words::units(comparison));
            sheet.paragraph(None, "", &format!("{name}: {unit}, {direction} is better; n {n}"));
        }
        let word = match form {
            Form::Narrow => words::answer_word(comparison.answer).to_owned(),
            Form::Wide | Form::Medium | Form::Markdown => words::answer_words(comparison, sheet.style.signs()),
        };
        let painted = sheet.style.paint(words::answer_tone(comparison.answer), &word);
        // What follows the answer in its row are numbers: its last occurrence is the answer itself.
        for line in lines {
            sheet.line(&match line.rfind(&word) {
                Some(at) => format!("{}{painted}{}", &line[..at], &line[at + word.len()..]),
                None => line,
            });
        }
    }
}

fn overall(sheet: &mut Sheet<'_>, compared: &Comparison) {
    if let Some(overall) = words::overall(compared, sheet.style.signs()) {
        sheet.line("");
        sheet.paragraph(None, "", &overall);
    }
}

fn answers(sheet: &mut Sheet<'_>, compared: &Comparison, form: Form) {
    let signs = sheet.style.signs();
    sheet.heading(&format!("Answers: {}", words::tally(compared, signs)));
    for answer in words::answers(compared, signs, form != Form::Wide) {
        sheet.hanging(None, "  ", "    ", &answer);
    }
}

fn figures(sheet: &mut Sheet<'_>, compared: &Comparison) {
    if words::has_figures(compared) {
        sheet.heading("Further figures");
    }
    for workload in &compared.workloads {
        let figures = words::figures(&workload.details, sheet.style.signs());
        if !figures.is_empty() {
            sheet.paragraph(None, "  ", &words::name(workload));
        }
        for figure in figures {
            sheet.hanging(None, "    ", "      ", &figure);
        }
    }
}

fn untested(sheet: &mut Sheet<'_>, compared: &Comparison) {
    if !compared.untested.is_empty() {
        sheet.heading("Not tested");
    }
    for figure in &compared.untested {
        sheet.hanging(None, "  ", "    ", &words::untested(figure, sheet.style.signs()));
    }
}

pub(super) fn cautions(sheet: &mut Sheet<'_>, compared: &Comparison) {
    let cautions = cautions::grouped(compared);
    if !cautions.is_empty() {
        sheet.heading("Cautions");
    }
    for caution in cautions {
        let code = sheet.style.paint(Tone::Middling, caution.code.word());
        let names = caution.names.map_or_else(String::new, |names| format!(" [{names}]"));
        sheet.line(&format!("  {code}"));
        sheet.paragraph(None, "    ", &format!("{}{names}", caution.text));
    }
}

fn counters(sheet: &mut Sheet<'_>, compared: &Comparison) {
    let signs = sheet.style.signs();
    let mut told = compared.workloads.iter().filter(|workload| !workload.details.counters.is_empty()).peekable();
    if told.peek().is_some() {
        sheet.heading("Kernel counters that differ, per operation");
    }
    for workload in told {
        let counters = &workload.details.counters;
        let left_out = counters::left_out(counters);
        let more = if left_out > 0 { format!(", and {left_out} more in the JSON") } else { String::new() };
        let name = words::name(workload);
        let heading = format!("{name}{more}");
        let table = counters::table(counters::rows(name, counters));
        sheet.table(&heading, &table.grid(Form::Wide, signs));
    }
}

fn laws(sheet: &mut Sheet<'_>, compared: &Comparison) {
    let signs = sheet.style.signs();
    if !compared.scaling.is_empty() {
        sheet.heading("Scaling");
    }
    for case in &compared.scaling {
        sheet.paragraph(None, "  ", &scaling::title(case));
        for (tone, sentence) in scaling::sentences(case, signs) {
            sheet.hanging(Some(tone), "    ", "      ", &sentence);
        }
    }
}

fn facts(sheet: &mut Sheet<'_>, compared: &Comparison) {
    if !compared.facts.is_empty() {
        sheet.heading("Facts that differ");
    }
    for FactDifference { key, a, b } in &compared.facts {
        sheet.paragraph(None, "  ", &one_line(&format!("{} ({key})", fact_words::name(key))));
        for (letter, value) in [("    A  ", a), ("    B  ", b)] {
            let value = value.as_ref();
            let value = value
                .map_or_else(|| "not known".to_owned(), |value| fact_words::value(key, value, sheet.style.signs()));
            sheet.hanging(None, letter, "       ", &value);
        }
    }
}

pub(super) fn failures(sheet: &mut Sheet<'_>, compared: &Comparison) {
    let failures = words::failures(compared, sheet.style.signs());
    let unmatched = compared.unmatched.iter().map(|unmatched| one_line(&sentences::unmatched(unmatched))).collect();
    for (heading, tone, lines) in
        [("Failed, and left out", Tone::Bad, failures), ("Not compared", Tone::Quiet, unmatched)]
    {
        if !lines.is_empty() {
            sheet.heading(heading);
        }
        for line in lines {
            sheet.hanging(Some(tone), "  ", "    ", &line);
        }
    }
}

fn explain(sheet: &mut Sheet<'_>, compared: &Comparison, form: Form) {
    let sentences = legend::sentences(compared, form, sheet.style.signs());
    if !sentences.is_empty() {
        sheet.line("");
    }
    for sentence in sentences {
        sheet.paragraph(Some(Tone::Quiet), "", &sentence);
    }
}
