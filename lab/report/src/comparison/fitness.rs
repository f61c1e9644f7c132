//! Whether a machine is fit to measure on, in the four formats: what it can see, whether it differs from itself, what to switch off.

use super::records::number;
use super::{legend, markdown, sequential, text, words};
use crate::format::Format;
use crate::grid::{self, Grid, Side, escape_markdown};
use crate::run::json;
use crate::run::words::one_line;
use crate::sheet::Sheet;
use crate::style::{Signs, Style, Tone, UNICODE};
use faultline_model::comparison::{Details, Fit, Fitness};
use faultline_model::workload_comparison::{Answer, WorkloadComparison};
use textwrap::core::display_width;

/// Columns of the CSV; medians, lowest and highest are in the unit of the column `unit`.
const HEADER: [&str; 13] = [
    "machine",
    "fit",
    "workload",
    "tasks",
    "unit",
    "detectable_ratio",
    "differs_from_itself",
    "a_units",
    "b_units",
    "a_median",
    "b_median",
    "lowest",
    "highest",
];

/// Whether a machine is fit to measure on: the answer first, then what it can see, then what to do about it. JSON is the answer as it is; CSV has a
/// record for each workload.
pub fn fitness(fitness: &Fitness, format: Format, style: &Style) -> String {
    match format {
        Format::Table => as_text(fitness, style),
        Format::Json => json(fitness),
        Format::Csv => csv(fitness),
        Format::Markdown => as_markdown(fitness),
    }
}

fn word(fit: Fit) -> &'static str {
    match fit {
        Fit::Fit => "fit",
        Fit::Coarse => "coarse",
        Fit::Unfit => "unfit",
    }
}

fn tone(fit: Fit) -> Tone {
    match fit {
        Fit::Fit => Tone::Good,
        Fit::Coarse => Tone::Middling,
        Fit::Unfit => Tone::Bad,
    }
}

/// The answer in one line.
fn verdict(fitness: &Fitness) -> String {
    let differs = fitness.compared.suite.workloads.iter().any(differs_from_itself);
    let why = match fitness.fit {
        Fit::Fit => "small differences are seen, and none where there is none",
        Fit::Coarse => "only great differences are seen",
        Fit::Unfit if differs => "this machine differs from itself, so that a difference measured on it says little",
        Fit::Unfit => "next to nothing can be seen on this machine",
    };
    format!("{}: {why}", word(fitness.fit))
}

fn differs_from_itself(comparison: &WorkloadComparison) -> bool {
    matches!(comparison.answer, Answer::Faster | Answer::Slower)
}

/// Whether a workload differs from itself, in a word.
fn itself(answer: Answer) -> &'static str {
    match answer {
        Answer::Faster | Answer::Slower => "yes",
        Answer::NoDifference => "no",
        Answer::Undecided => "undecided",
    }
}

/// What it was found on, and how that ended.
fn surroundings(fitness: &Fitness, signs: &Signs) -> Vec<String> {
    let compared = &fitness.compared;
    let machine = compared.a.machine.as_ref().map(|machine| one_line(machine));
    let ended = compared.sequential.as_ref().map(|sequential| sequential::words(sequential, signs));
    [machine, ended].into_iter().flatten().collect()
}

/// Lowest and highest of all values.
fn range(details: Option<&Details>) -> Option<(f64, f64)> {
    let values = || details.into_iter().flat_map(|details| details.values.iter().flatten().copied());
    let (low, high) = (values().reduce(f64::min)?, values().reduce(f64::max)?);
    (low > 0.0 && high.is_finite()).then_some((low, high))
}

/// How far the highest value lies above the lowest: `3.4 %`.
fn spread(details: Option<&Details>) -> Option<String> {
    range(details).map(|(low, high)| format!("{:.1} %", (high / low - 1.0) * 100.0))
}

/// Columns; where there is little room, the first [`NARROW`] only.
const COLUMNS: [(&str, Side); 6] = [
    ("workload", Side::Left),
    ("sees from", Side::Right),
    ("spread", Side::Right),
    ("differs", Side::Left),
    ("median", Side::Right),
    ("n", Side::Left),
];

/// Number of the columns that stand for all where there is little room.
const NARROW: usize = 4;

/// The grid with all columns, if it fits.
fn fitting(fitness: &Fitness, style: &Style) -> Grid {
    let room = style.width.unwrap_or(usize::MAX);
    let all = grid(fitness, COLUMNS.len(), style.signs());
    match all.lines().iter().all(|line| display_width(line) <= room) {
        true => all,
        false => grid(fitness, NARROW, style.signs()),
    }
}

fn grid(fitness: &Fitness, columns: usize, signs: &Signs) -> Grid {
    let mut grid = Grid::new(&COLUMNS[..columns]);
    let none = || signs.none.to_owned();
    for (comparison, details) in words::rows(&fitness.compared) {
        let [median, _] = words::medians(comparison, &one_line(&comparison.unit), signs);
        let mut row = vec![
            words::name(comparison, details),
            words::detectable(comparison).unwrap_or_else(none),
            spread(details).unwrap_or_else(none),
            itself(comparison.answer).to_owned(),
            median,
            words::units(comparison),
        ];
        row.truncate(columns);
        grid.row(row);
    }
    grid
}

/// What the columns mean.
const LEGEND: [&str; 2] = [
    "sees from: the smallest difference that would be detected four times in five in the time spent; a dash where none would be, or it can't be told. \
     More time sees smaller ones.",
    "spread: how far the highest value lies above the lowest, of both sides together. differs: whether a difference was detected though there is none.",
];

fn legend_of(fitness: &Fitness) -> Vec<String> {
    let mut sentences: Vec<String> = LEGEND.map(str::to_owned).into();
    sentences.extend(legend::correction(&fitness.compared));
    sentences
}

/// Workloads that were found to differ from themselves, each with its evidence.
fn false_alarms(fitness: &Fitness, signs: &Signs) -> Vec<String> {
    words::rows(&fitness.compared)
        .filter(|(comparison, _)| differs_from_itself(comparison))
        .map(|(comparison, details)| {
            format!("{} against itself: {}", words::name(comparison, details), words::answer(comparison, signs))
        })
        .collect()
}

fn as_text(fitness: &Fitness, style: &Style) -> String {
    let signs = style.signs();
    let mut sheet = Sheet::new(style);
    sheet.paragraph(Some(tone(fitness.fit)), "", &verdict(fitness));
    for line in surroundings(fitness, signs) {
        sheet.paragraph(None, "", &line);
    }
    sheet.line("");
    if fitness.compared.suite.workloads.is_empty() {
        sheet.line("Nothing could be measured.");
    } else {
        for (index, line) in fitting(fitness, style).lines().iter().enumerate() {
            let line = if index == 0 { style.paint(Tone::Title, line) } else { line.clone() };
            sheet.line(&line);
        }
    }
    for line in false_alarms(fitness, signs) {
        sheet.hanging(Some(Tone::Bad), "  ", "    ", &line);
    }
    if !fitness.advice.is_empty() {
        sheet.heading("What to switch off or to mind");
    }
    for (number, advice) in (1..).zip(&fitness.advice) {
        sheet.hanging(Some(Tone::Middling), &format!("  {number}. "), "     ", &one_line(&advice.finding));
        sheet.paragraph(None, "     ", &one_line(&advice.remedy));
    }
    text::cautions(&mut sheet, &fitness.compared);
    text::failures(&mut sheet, &fitness.compared);
    sheet.line("");
    for sentence in legend_of(fitness) {
        sheet.paragraph(Some(Tone::Quiet), "", &sentence);
    }
    sheet.text
}

fn as_markdown(fitness: &Fitness) -> String {
    let signs = &UNICODE;
    let mut text = format!("**{}**\n\n", escape_markdown(&verdict(fitness)));
    markdown::list(&mut text, surroundings(fitness, signs));
    if fitness.compared.suite.workloads.is_empty() {
        text.push_str("\nNothing could be measured.\n");
    } else {
        text.push_str(&format!("\n{}", grid(fitness, COLUMNS.len(), signs).markdown()));
    }
    let alarms = false_alarms(fitness, signs);
    if !alarms.is_empty() {
        text.push('\n');
        markdown::list(&mut text, alarms);
    }
    if !fitness.advice.is_empty() {
        text.push_str("\nWhat to switch off or to mind:\n\n");
    }
    for (number, advice) in (1..).zip(&fitness.advice) {
        let [finding, remedy] = [&advice.finding, &advice.remedy].map(|text| escape_markdown(&one_line(text)));
        text.push_str(&format!("{number}. {finding} {remedy}\n"));
    }
    text.push_str(&markdown::cautions(&fitness.compared));
    text.push_str(&markdown::failures(&fitness.compared));
    text.push_str("\nHow to read this:\n\n");
    markdown::list(&mut text, legend_of(fitness));
    text
}

fn csv(fitness: &Fitness) -> String {
    let record = |(comparison, details): (&WorkloadComparison, Option<&Details>)| {
        let range = range(details);
        [
            fitness.compared.a.machine.clone().unwrap_or_default(),
            word(fitness.fit).to_owned(),
            comparison.name.clone(),
            details.and_then(|details| details.tasks).map(|tasks| tasks.to_string()).unwrap_or_default(),
            comparison.unit.clone(),
            number(comparison.detectable),
            itself(comparison.answer).to_owned(),
            comparison.a.units.to_string(),
            comparison.b.units.to_string(),
            number(Some(comparison.a.median)),
            number(Some(comparison.b.median)),
            number(range.map(|(low, _)| low)),
            number(range.map(|(_, high)| high)),
        ]
    };
    grid::csv(HEADER, words::rows(&fitness.compared).map(record))
}
