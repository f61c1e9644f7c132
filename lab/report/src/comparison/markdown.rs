//! A comparison as Markdown that reads as plain text too: what a post to a mailing list needs.

use super::{cautions, columns, counters, legend, scaling, sequential, words};
use crate::fact_words;
use crate::grid::escape_markdown;
use crate::one_line::one_line;
use crate::sentences;
use crate::style::{Signs, UNICODE};
use crate::table::{self, Form, Table};
use faultline_model::comparison::{Comparison, FactDifference};
use faultline_model::facts::FactValue;

/// The whole comparison.
pub(super) fn markdown(compared: &Comparison) -> String {
    let signs = &UNICODE;
    let mut text = head(compared);
    if compared.workloads.is_empty() {
        text.push_str("There is nothing that both sides have.\n");
    } else {
        text.push_str(&columns::table(compared).markdown(signs));
        text.extend(words::overall(compared, signs).map(|overall| format!("\n{overall}.\n")));
        text.push_str(&format!("\nAnswers: {}\n\n", words::tally(compared, signs)));
        list(&mut text, words::answers(compared, signs, false));
    }
    figures(&mut text, compared);
    untested(&mut text, compared);
    text.push_str(&cautions(compared));
    counters(&mut text, compared);
    laws(&mut text, compared);
    facts(&mut text, compared);
    text.push_str(&failures(compared));
    let sentences = legend::sentences(compared, Form::Markdown, signs);
    if !sentences.is_empty() {
        text.push_str("\nHow to read this:\n\n");
    }
    list(&mut text, sentences);
    text
}

fn head(compared: &Comparison) -> String {
    let mut text = format!("**{}**\n\n", escape_markdown(&words::title(compared, &UNICODE)));
    let mut lines = vec![
        format!("A: {}", words::side(compared, &compared.a)),
        format!("B: {}", words::side(compared, &compared.b)),
    ];
    lines.extend(words::machine(compared).map(|machine| format!("Both on {machine}")));
    list(&mut text, lines);
    if let Some(sequential) = &compared.sequential {
        text.push_str(&format!("\n{}\n", escape_markdown(&sequential::words(sequential))));
    }
    text + "\n"
}

/// A list, an item for each line.
pub(super) fn list(text: &mut String, lines: impl IntoIterator<Item = String>) {
    for line in lines {
        text.push_str(&format!("- {}\n", escape_markdown(&line)));
    }
}

fn figures(text: &mut String, compared: &Comparison) {
    for workload in &compared.workloads {
        let figures = words::figures(&workload.details, &UNICODE);
        if !figures.is_empty() {
            text.push_str(&format!("\nFurther figures of {}:\n\n", escape_markdown(&words::name(workload))));
        }
        list(text, figures);
    }
}

fn untested(text: &mut String, compared: &Comparison) {
    if !compared.untested.is_empty() {
        text.push_str("\nNot tested:\n\n");
        list(text, compared.untested.iter().map(|figure| words::untested(figure, &UNICODE)));
    }
}

pub(super) fn cautions(compared: &Comparison) -> String {
    let cautions = cautions::grouped(compared);
    if cautions.is_empty() {
        return String::new();
    }
    let mut text = "\nCautions:\n\n".to_owned();
    for caution in cautions {
        let names = caution.names.map_or_else(String::new, |names| format!(" ({names})"));
        let sentence = escape_markdown(&format!("{}{names}", caution.text));
        text.push_str(&format!("- **{}**: {sentence}\n", caution.code.word()));
    }
    text
}

fn counters(text: &mut String, compared: &Comparison) {
    let told = &compared.workloads;
    if told.iter().all(|workload| workload.details.counters.is_empty()) {
        return;
    }
    let left_out: usize = told.iter().map(|workload| counters::left_out(&workload.details.counters)).sum();
    let rows = told.iter().flat_map(|workload| counters::rows(words::name(workload), &workload.details.counters));
    let more = if left_out > 0 { format!("; {left_out} more in the JSON") } else { String::new() };
    let table = counters::table(rows).markdown(&UNICODE);
    text.push_str(&format!("\nKernel counters that differ, the most telling first{more}:\n\n{table}"));
}

fn laws(text: &mut String, compared: &Comparison) {
    for case in &compared.scaling {
        text.push_str(&format!("\nScaling of {}:\n\n", escape_markdown(&scaling::title(case))));
        list(text, scaling::sentences(case, &UNICODE).into_iter().map(|(_, sentence)| sentence));
    }
}

fn facts(text: &mut String, compared: &Comparison) {
    if compared.facts.is_empty() {
        return;
    }
    let table = Table::new(fact_columns(), &compared.facts);
    text.push_str(&format!("\n{}", table.markdown(&UNICODE)));
}

type FactColumn<'a> = table::Column<&'a FactDifference>;

fn fact_columns<'a>() -> Vec<FactColumn<'a>> {
    vec![
        FactColumn::left("fact that differs", |fact, _| {
            one_line(&format!("{} ({})", fact_words::name(&fact.key), fact.key))
        }),
        FactColumn::left("A", |fact, signs| fact_value(&fact.key, fact.a.as_ref(), signs)),
        FactColumn::left("B", |fact, signs| fact_value(&fact.key, fact.b.as_ref(), signs)),
    ]
}

fn fact_value(key: &str, value: Option<&FactValue>, signs: &Signs) -> String {
    value.map_or_else(|| signs.none.to_owned(), |value| fact_words::value(key, value, signs))
}

pub(super) fn failures(compared: &Comparison) -> String {
    let mut text = String::new();
    let failures = words::failures(compared, &UNICODE);
    let unmatched = compared.unmatched.iter().map(|unmatched| sentences::unmatched(unmatched)).collect();
    for (heading, lines) in [("Failed, and left out", failures), ("Not compared", unmatched)] {
        if !lines.is_empty() {
            text.push_str(&format!("\n{heading}:\n\n"));
            list(&mut text, lines);
        }
    }
    text
}
