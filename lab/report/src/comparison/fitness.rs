//! The fitness of a machine for measurements, in the four formats: detectable changes, false
//! alarms, and what to turn off.

use super::columns::number;
use super::{cautions, failures, legend, words};
use crate::escape::one_line;
use crate::escape::{escape_markdown, escape_markdown_around_code};
use crate::format::Format;
use crate::sentences::{advice, worded_fitness};
use crate::sheet::{Sheet, in_format};
use crate::style::{Signs, Style, Tone};
use crate::table::{self, Form, ResultTable};
use faultline_stats::comparison::{ComparedWorkload, Details, Fit, Fitness};
use faultline_stats::workload_comparison::{Answer, WorkloadComparison};

/// The fitness of a machine: the answer, the detectable changes, and advice.
///
/// JSON is the data with their sentences. CSV has a record per workload.
pub fn fitness(fitness: &Fitness, format: Format, style: &Style) -> String {
    in_format(format, style, |sheet| body(sheet, fitness), || worded_fitness(fitness), || table(fitness).csv())
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

/// The answer to: does the workload differ from itself?
fn itself(answer: Answer) -> &'static str {
    match answer {
        Answer::Faster | Answer::Slower => "yes",
        Answer::Equal => "no",
        Answer::Inconclusive => "inconclusive",
    }
}

/// The machine, and how the check ended.
fn machine_and_end(fitness: &Fitness) -> Vec<String> {
    let compared = &fitness.compared;
    let machine = compared.a.machine.as_ref().map(|machine| one_line(machine));
    let ended = compared.sequential.as_ref().map(legend::sequential);
    [machine, ended].into_iter().flatten().collect()
}

/// The lowest and the highest value.
fn range(details: &Details) -> Option<(f64, f64)> {
    let values = || details.values.iter().flatten().copied();
    let (low, high) = (values().reduce(f64::min)?, values().reduce(f64::max)?);
    (low > 0.0 && high.is_finite()).then_some((low, high))
}

/// The highest value relative to the lowest: `3.4 %`.
fn spread(details: &Details) -> Option<String> {
    range(details).map(|(low, high)| format!("{:.1} %", (high / low - 1.0) * 100.0))
}

/// A workload of a check.
struct Row<'a> {
    fitness: &'a Fitness,
    workload: &'a ComparedWorkload,
    comparison: &'a WorkloadComparison,
    details: &'a Details,
}

fn table(fitness: &Fitness) -> ResultTable<Row<'_>> {
    let rows = fitness.compared.workloads.iter().map(|workload| Row {
        fitness,
        workload,
        comparison: &workload.comparison,
        details: &workload.details,
    });
    ResultTable::new(columns(), rows)
}

type Column<'a> = table::Column<Row<'a>>;

/// In CSV, figures without a unit have that of the column `unit`.
fn columns<'a>() -> Vec<Column<'a>> {
    vec![
        Column::csv_only("machine", |row| row.fitness.compared.a.machine.clone().unwrap_or_default()),
        Column::csv_only("fit", |row| word(row.fitness.fit).to_owned()),
        Column::left("workload", |row, _| words::name(row.workload)).csv("workload", |row| row.comparison.name.clone()),
        Column::csv_option("tasks", |row| row.details.tasks),
        Column::csv_only("unit", |row| row.comparison.unit.clone()),
        Column::right("detectable", |row, signs| {
            words::detectable(row.comparison).unwrap_or_else(|| signs.none.to_owned())
        })
        .csv("detectable_ratio", |row| number(row.comparison.detectable)),
        Column::right("spread", |row, signs| spread(row.details).unwrap_or_else(|| signs.none.to_owned())),
        Column::left("differs", |row, _| itself(row.comparison.answer).to_owned()).csv_as_shown("differs_from_itself"),
        Column::right("median", |row, signs| {
            let [median, _] = words::medians(row.comparison, &one_line(&row.comparison.unit), signs);
            median
        })
        .on(Form::ROOMY),
        Column::left("n", |row, _| words::units(row.comparison)).on(Form::ROOMY),
        Column::csv_only("a_units", |row| row.comparison.a.units.to_string()),
        Column::csv_only("b_units", |row| row.comparison.b.units.to_string()),
        Column::csv_option("a_median", |row| Some(row.comparison.a.median)),
        Column::csv_option("b_median", |row| Some(row.comparison.b.median)),
        Column::csv_option("lowest", |row| range(row.details).map(|(low, _)| low)),
        Column::csv_option("highest", |row| range(row.details).map(|(_, high)| high)),
    ]
}

/// The meaning of the columns.
const LEGEND: [&str; 2] = [
    "detectable: smallest change detectable with 80 % power in the time spent; a dash if unknown. More time detects \
     smaller changes.",
    "spread: highest value of both sides relative to the lowest. differs: yes for a false alarm, no if equality within the \
     margin was shown.",
];

/// Workloads that differ from themselves, each with its evidence.
fn false_alarms(fitness: &Fitness, signs: &Signs) -> Vec<String> {
    let words = |workload: &ComparedWorkload| {
        format!("{} against itself: {}", words::name(workload), words::answer(&workload.comparison, signs))
    };
    fitness.compared.workloads.iter().filter(|workload| differs_from_itself(workload)).map(words).collect()
}

fn body(mut sheet: Sheet<'_>, fitness: &Fitness) -> String {
    let (sheet, compared) = (&mut sheet, &fitness.compared);
    if sheet.is_markdown() {
        sheet.titled(&verdict(fitness), "");
    } else {
        sheet.paragraph(Some(tone(fitness.fit)), "", &verdict(fitness));
    }
    for line in machine_and_end(fitness) {
        sheet.paragraph(None, "", &line);
    }
    sheet.space();
    if compared.workloads.is_empty() {
        sheet.line("Nothing could be measured.");
    } else if sheet.is_markdown() {
        sheet.table(&table(fitness));
    } else {
        sheet.text.push_str(&table(fitness).fitting(sheet.style).1.text(sheet.style));
    }
    for line in false_alarms(fitness, sheet.style.signs()) {
        sheet.item(Some(Tone::Bad), 1, &line);
    }
    if !fitness.advice.is_empty() {
        sheet.heading("Sources of noise");
    }
    for (number, words) in (1..).zip(fitness.advice.iter().map(advice)) {
        let (finding, remedy) = (one_line(&words.finding), one_line(&words.remedy));
        if sheet.is_markdown() {
            let [finding, remedy] = [escape_markdown(&finding), escape_markdown_around_code(&remedy)];
            sheet.list_item(&format!("{number}. {finding}.  \n   To do: {remedy}"));
        } else {
            sheet.labelled(Some(Tone::Middling), &format!("  {number}. "), &finding);
            sheet.paragraph(None, "     ", &remedy);
        }
    }
    cautions(sheet, compared);
    failures(sheet, compared);
    sheet.legend(LEGEND.map(str::to_owned).into_iter().chain(legend::correction(compared)));
    std::mem::take(&mut sheet.text)
}
