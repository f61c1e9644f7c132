//! A comparison in about ten lines: the answer in one sentence, a compact row per workload, and
//! what a longer output would add.

use super::change::Change;
use super::{legend, words};
use crate::escape::one_line;
use crate::names::counted;
use crate::sheet::Sheet;
use crate::style::{Signs, Style};
use crate::table::{self, Form, ResultTable};
use faultline_stats::comparison::{ComparedWorkload, Comparison};
use faultline_stats::workload_comparison::Answer;

/// Rows. Of more workloads, those that changed come first, and the others are counted.
const ROWS: usize = 5;

/// A comparison in about ten lines of text.
pub fn comparison_brief(compared: &Comparison, style: &Style) -> String {
    let mut sheet = Sheet::new(style);
    let (tone, sentence) = words::sentence(compared, style.signs());
    sheet.paragraph(Some(tone), "", &sentence);
    let (shown, others) = rows(compared);
    if !shown.is_empty() {
        sheet.table(&ResultTable::new(columns(), shown));
    }
    sheet.paragraph(None, "", &further(compared, &others));
    sheet.text
}

/// The shown workloads and the others.
fn rows(compared: &Comparison) -> (Vec<&ComparedWorkload>, Vec<&ComparedWorkload>) {
    let mut all: Vec<&ComparedWorkload> = compared.workloads.iter().collect();
    if all.len() > ROWS {
        all.sort_by_key(|workload| match workload.comparison.answer {
            Answer::Slower => 0,
            Answer::Faster => 1,
            Answer::Inconclusive => 2,
            Answer::Equal => 3,
        });
    }
    let others = all.split_off(ROWS.min(all.len()));
    (all, others)
}

type Column<'a> = table::Column<&'a ComparedWorkload>;

fn columns<'a>() -> Vec<Column<'a>> {
    fn median(workload: &ComparedWorkload, side: usize, signs: &Signs) -> String {
        words::medians(&workload.comparison, &one_line(&workload.comparison.unit), signs)[side].clone()
    }
    fn change(workload: &ComparedWorkload, signs: &Signs, words: impl Fn(&Change) -> String) -> String {
        Change::of(&workload.comparison).map_or_else(|| signs.none.to_owned(), |change| words(&change))
    }
    vec![
        Column::left("workload", |workload, _| words::name(workload)),
        Column::right("A", |workload, signs| median(workload, 0, signs)).on(Form::ALL_BUT_NARROW),
        Column::right("B", |workload, signs| median(workload, 1, signs)).on(Form::ALL_BUT_NARROW),
        Column::right("change", |workload, signs| change(workload, signs, |change| change.words(signs)))
            .on(Form::ALL_BUT_NARROW),
        Column::left("interval", |workload, signs| change(workload, signs, |change| change.span(signs)))
            .on(Form::ALL_BUT_NARROW),
        Column::right("change", |workload, signs| change(workload, signs, |change| change.margin(signs)))
            .on(Form::NARROW),
        Column::left("answer", |workload, signs| words::answer_words(&workload.comparison, signs)),
    ]
}

/// Everything that the rows do not show, in a few words.
fn further(compared: &Comparison, others: &[&ComparedWorkload]) -> String {
    let of = |answer: Answer| others.iter().filter(move |workload| workload.comparison.answer == answer);
    let kinds =
        [Answer::Slower, Answer::Faster, Answer::Inconclusive, Answer::Equal].into_iter().filter_map(|answer| {
            let number = of(answer).count();
            (number > 0).then(|| format!("{number} {}", words::answer_word(answer)))
        });
    let kinds: Vec<String> = kinds.collect();
    let failed: usize = compared.workloads.iter().flat_map(|workload| &workload.details.failures).map(Vec::len).sum();
    let cautions: Vec<&str> = legend::cautions(compared).iter().map(|caution| caution.code.word()).collect();
    let parts = [
        (!kinds.is_empty())
            .then(|| format!("{} not listed: {}.", counted(others.len() as u64, "workload"), kinds.join(", "))),
        (failed > 0).then(|| format!("{} failed.", counted(failed as u64, "execution"))),
        (!compared.unmatched.is_empty())
            .then(|| format!("{} not compared.", counted(compared.unmatched.len() as u64, "workload"))),
        (!cautions.is_empty()).then(|| format!("Cautions: {}.", cautions.join(", "))),
        Some("`--verbose` shows both sides, reasons, cautions and further figures.".to_owned()),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}
