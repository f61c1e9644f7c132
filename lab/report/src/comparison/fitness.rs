//! Whether a machine is fit to measure on, in the four formats: what it can see, whether it differs from itself, what to turn off.

use super::columns::number;
use super::{legend, markdown, sequential, text, words};
use crate::format::Format;
use crate::grid::{escape_markdown, escape_markdown_around_code};
use crate::json::json;
use crate::one_line::one_line;
use crate::sentences::{advice, worded_fitness};
use crate::sheet::Sheet;
use crate::style::{Signs, Style, Tone, UNICODE};
use crate::table::{self, Form, Table};
use faultline_model::comparison::{ComparedWorkload, Details, Fit, Fitness};
use faultline_model::workload_comparison::{Answer, WorkloadComparison};

/// Whether a machine is fit to measure on: the answer first, then what it can see, then what to do about it. JSON is the data with their words; CSV has a
/// record for each workload.
pub fn fitness(fitness: &Fitness, format: Format, style: &Style) -> String {
    match format {
        Format::Table => as_text(fitness, style),
        Format::Json => json(&worded_fitness(fitness)),
        Format::Csv => table(fitness).csv(),
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
    let differs = fitness.compared.workloads.iter().any(differs_from_itself);
    let why = match fitness.fit {
        Fit::Fit => "small differences are detected, and none was found between the machine and itself",
        Fit::Coarse => "only large differences are detected",
        Fit::Unfit if differs => "this machine differs from itself, so a difference measured on it means little",
        Fit::Unfit => "hardly any difference can be detected on this machine",
    };
    format!("{}: {why}", word(fitness.fit))
}

fn differs_from_itself(workload: &ComparedWorkload) -> bool {
    matches!(workload.comparison.answer, Answer::Faster | Answer::Slower)
}

/// Whether a workload differs from itself, in a word.
fn itself(answer: Answer) -> &'static str {
    match answer {
        Answer::Faster | Answer::Slower => "yes",
        Answer::Equal => "no",
        Answer::Inconclusive => "inconclusive",
    }
}

/// What it was found on, and how that ended.
fn surroundings(fitness: &Fitness) -> Vec<String> {
    let compared = &fitness.compared;
    let machine = compared.a.machine.as_ref().map(|machine| one_line(machine));
    let ended = compared.sequential.as_ref().map(sequential::words);
    [machine, ended].into_iter().flatten().collect()
}

/// Lowest and highest of all values.
fn range(details: &Details) -> Option<(f64, f64)> {
    let values = || details.values.iter().flatten().copied();
    let (low, high) = (values().reduce(f64::min)?, values().reduce(f64::max)?);
    (low > 0.0 && high.is_finite()).then_some((low, high))
}

/// How far the highest value lies above the lowest: `3.4 %`.
fn spread(details: &Details) -> Option<String> {
    range(details).map(|(low, high)| format!("{:.1} %", (high / low - 1.0) * 100.0))
}

/// A workload with what it belongs to.
struct Row<'a> {
    fitness: &'a Fitness,
    workload: &'a ComparedWorkload,
    comparison: &'a WorkloadComparison,
    details: &'a Details,
}

fn table(fitness: &Fitness) -> Table<Row<'_>> {
    let rows = fitness.compared.workloads.iter().map(|workload| Row {
        fitness,
        workload,
        comparison: &workload.comparison,
        details: &workload.details,
    });
    Table::new(columns(), rows)
}

type Column<'a> = table::Column<Row<'a>>;

/// In CSV, medians, lowest and highest are in the unit of the column `unit`.
fn columns<'a>() -> Vec<Column<'a>> {
    const ROOMY: &[Form] = &[Form::Wide, Form::Markdown];
    vec![
        Column::csv_only("machine", |row| row.fitness.compared.a.machine.clone().unwrap_or_default()),
        Column::csv_only("fit", |row| word(row.fitness.fit).to_owned()),
        Column::left("workload", |row, _| words::name(row.workload)).csv("workload", |row| row.comparison.name.clone()),
        Column::csv_only("tasks", |row| row.details.tasks.map_or_else(String::new, |tasks| tasks.to_string())),
        Column::csv_only("unit", |row| row.comparison.unit.clone()),
        Column::right("detectable", |row, signs| {
            words::detectable(row.comparison).unwrap_or_else(|| signs.none.to_owned())
        })
        .csv("detectable_ratio", |row| number(row.comparison.detectable)),
        Column::right("spread", |row, signs| spread(row.details).unwrap_or_else(|| signs.none.to_owned())),
        Column::left("differs", |row, _| itself(row.comparison.answer).to_owned())
            .csv("differs_from_itself", |row| itself(row.comparison.answer).to_owned()),
        Column::right("median", |row, signs| {
            let [median, _] = words::medians(row.comparison, &one_line(&row.comparison.unit), signs);
            median
        })
        .on(ROOMY),
        Column::left("n", |row, _| words::units(row.comparison)).on(ROOMY),
        Column::csv_only("a_units", |row| row.comparison.a.units.to_string()),
        Column::csv_only("b_units", |row| row.comparison.b.units.to_string()),
        Column::csv_only("a_median", |row| number(Some(row.comparison.a.median))),
        Column::csv_only("b_median", |row| number(Some(row.comparison.b.median))),
        Column::csv_only("lowest", |row| number(range(row.details).map(|(low, _)| low))),
        Column::csv_only("highest", |row| number(range(row.details).map(|(_, high)| high))),
    ]
}

/// What the columns mean.
const LEGEND: [&str; 2] = [
    "detectable: the smallest difference that is detected with 80 % power in the time spent; a dash where it isn't known. More time detects smaller ones.",
    "spread: how far the highest value lies above the lowest, of both sides together. differs: yes where a difference was found though there is none, no \
     where equality within the margin was shown.",
];

fn legend_of(fitness: &Fitness) -> Vec<String> {
    let mut sentences: Vec<String> = LEGEND.map(str::to_owned).into();
    sentences.extend(legend::correction(&fitness.compared));
    sentences
}

/// Workloads that were found to differ from themselves, each with its evidence.
fn false_alarms(fitness: &Fitness, signs: &Signs) -> Vec<String> {
    let words = |workload: &ComparedWorkload| {
        format!("{} against itself: {}", words::name(workload), words::answer(&workload.comparison, signs))
    };
    fitness.compared.workloads.iter().filter(|workload| differs_from_itself(workload)).map(words).collect()
}

fn as_text(fitness: &Fitness, style: &Style) -> String {
    let signs = style.signs();
    let mut sheet = Sheet::new(style);
    sheet.paragraph(Some(tone(fitness.fit)), "", &verdict(fitness));
    for line in surroundings(fitness) {
        sheet.paragraph(None, "", &line);
    }
    sheet.line("");
    if fitness.compared.workloads.is_empty() {
        sheet.line("Nothing could be measured.");
    } else {
        sheet.text.push_str(&table(fitness).fitting(style).1.text(style));
    }
    for line in false_alarms(fitness, signs) {
        sheet.hanging(Some(Tone::Bad), "  ", "    ", &line);
    }
    if !fitness.advice.is_empty() {
        sheet.heading("What to turn off or watch for");
    }
    for (number, words) in (1..).zip(fitness.advice.iter().map(advice)) {
        sheet.hanging(Some(Tone::Middling), &format!("  {number}. "), "     ", &one_line(&words.finding));
        sheet.paragraph(None, "     ", &one_line(&words.remedy));
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
    markdown::list(&mut text, surroundings(fitness));
    if fitness.compared.workloads.is_empty() {
        text.push_str("\nNothing could be measured.\n");
    } else {
        text.push_str(&format!("\n{}", table(fitness).markdown(signs)));
    }
    let alarms = false_alarms(fitness, signs);
    if !alarms.is_empty() {
        text.push('\n');
        markdown::list(&mut text, alarms);
    }
    if !fitness.advice.is_empty() {
        text.push_str("\nWhat to turn off or watch for:\n\n");
    }
    for (number, words) in (1..).zip(fitness.advice.iter().map(advice)) {
        let finding = escape_markdown(&one_line(&words.finding));
        let remedy = escape_markdown_around_code(&one_line(&words.remedy));
        text.push_str(&format!("{number}. {finding}.  \n   To do: {remedy}\n"));
    }
    text.push_str(&markdown::cautions(&fitness.compared));
    text.push_str(&markdown::failures(&fitness.compared));
    text.push_str("\nHow to read this:\n\n");
    markdown::list(&mut text, legend_of(fitness));
    text
}
