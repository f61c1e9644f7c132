//! The comparison of two lens runs in text, Markdown, CSV and JSON.

use crate::escape::one_line;
use crate::figure::transfers as shown;
use crate::format::Format;
use crate::lens::words::cpus;
use crate::lens::{points, seeds};
use crate::sentences::{key, unmatched_by_lens as unmatched, worded_lens_comparison};
use crate::sheet::{Sheet, in_format};
use crate::style::{Signs, Style, Tone};
use crate::table::{self, Form, ResultTable};
use faultline_stats::lens::comparison::{
    Basis, CellComparison, Difference, EnvironmentPart, LensComparison, Spread, UnmatchedCell,
};
use faultline_stats::lens::key::Key;
use faultline_stats::said::Said;

/// The differences between two lens runs.
///
/// JSON is the comparison with its sentences. CSV has a record per figure that differs, and for
/// each cell one of all transfers and one of instructions.
pub fn lens_compare_table(comparison: &LensComparison, format: Format, style: &Style) -> String {
    in_format(
        format,
        style,
        |sheet| body(sheet, comparison),
        || worded_lens_comparison(comparison),
        || figures(comparison).csv(),
    )
}

/// All transfers and instructions of a cell: `7.700 → 3.100 transfers (less), 2512 → 2518
/// instructions, per operation`. With seeds in common: `7.700 → 3.100 transfers (−4.600; exact,
/// seed 1), …`.
pub(crate) fn totals(cell: &CellComparison, signs: &Signs) -> String {
    let pair = |(a, b): &(Spread, Spread)| format!("{} {} {}", side(a, signs), signs.arrow, side(b, signs));
    let change = seeds::transfers_change(cell, signs);
    let of_instructions =
        seeds::instructions_change(cell, signs).map_or_else(String::new, |change| format!(" ({change})"));
    let (transfers, instructions) = (pair(&cell.transfers), pair(&cell.instructions));
    format!("{transfers} transfers ({change}), {instructions} instructions{of_instructions}, per operation")
}

/// Share of the transfers below which a change is none worth a colour.
const LITTLE: f64 = 0.005;

/// The answer of several cells: that with the greatest change of transfers.
pub(crate) fn answer(cells: &[CellComparison], signs: &Signs) -> (Tone, String) {
    let change = |cell: &CellComparison| (cell.transfers.1.median - cell.transfers.0.median).abs();
    let Some(most) = cells.iter().max_by(|a, b| change(a).total_cmp(&change(b))) else {
        return (Tone::Quiet, NOTHING.to_owned());
    };
    (tone(most), format!("{}: {}.", cell_name(most), totals(most, signs)))
}

/// The tone of a cell: bad with more transfers.
pub(crate) fn tone(cell: &CellComparison) -> Tone {
    let (a, b) = (cell.transfers.0.median, cell.transfers.1.median);
    match (b - a).abs() <= LITTLE * a.abs().max(b.abs()) {
        true => Tone::Quiet,
        false if b > a => Tone::Bad,
        false => Tone::Good,
    }
}

/// A median, with the range of several repeats.
pub(crate) fn side(spread: &Spread, signs: &Signs) -> String {
    let median = shown(spread.median);
    if spread.n < 2 {
        return median;
    }
    format!("{median} ({} {} {})", shown(spread.low), signs.to, shown(spread.high))
}

/// Case and number of CPUs of a cell.
pub(crate) fn cell_name(cell: &CellComparison) -> String {
    one_line(&format!("{} at {}", cell.case, cpus(cell.cpus)))
}

/// The reason for a cell that is not compared.
pub(crate) fn unmatched_words(one: &UnmatchedCell) -> String {
    one_line(&format!("{} at {}: {}", one.case, cpus(one.cpus), unmatched(&one.why)))
}

/// The greatest differences as a table.
pub(crate) fn differences<'a>(kind: &'static str, differences: &'a [Difference]) -> ResultTable<&'a Difference> {
    ResultTable::new(difference_columns(kind), greatest(differences)).sortable()
}

type DifferenceColumn<'a> = table::Column<&'a Difference>;

fn difference_columns<'a>(kind: &'static str) -> Vec<DifferenceColumn<'a>> {
    vec![
        DifferenceColumn::left("change", |difference, _| difference.change.word().to_owned()),
        DifferenceColumn::right("before", |difference, signs| side(&difference.a, signs)).on(Form::ROOMY),
        DifferenceColumn::right("before", |difference, _| shown(difference.a.median)).on(Form::NARROW),
        DifferenceColumn::right("after", |difference, signs| side(&difference.b, signs)).on(Form::ROOMY),
        DifferenceColumn::right("after", |difference, _| shown(difference.b.median)).on(Form::NARROW),
        DifferenceColumn::right("difference", |difference, signs| seeds::signed(difference.difference, signs))
            .on(Form::ROOMY),
        DifferenceColumn::left(kind, |difference, _| named(difference)).leading(0).row_heading(),
    ]
}

/// A difference in one line: `went, 9.310 → 0: mm_struct.mmap_lock`.
pub(crate) fn difference_words(difference: &Difference, signs: &Signs) -> String {
    let values = format!("{} {} {}", shown(difference.a.median), signs.arrow, shown(difference.b.median));
    format!("{}, {values}: {}", difference.change.word(), named(difference))
}

/// The name of a difference, and what shares a line with it.
pub(crate) fn named(difference: &Difference) -> String {
    one_line(&match beside(difference).as_str() {
        "" => key(&difference.of),
        beside => format!("{} ({beside})", key(&difference.of)),
    })
}

/// Data on the same line, before and after.
fn beside(difference: &Difference) -> String {
    let of = |when: &str, keys: &[Said<Key>]| match keys.len() {
        0 => None,
        1 | 2 => {
            Some(format!("{when} on a line with {}", keys.iter().map(|one| key(one)).collect::<Vec<_>>().join(", ")))
        }
        more => Some(format!("{when} on a line with {} and {} more", key(&keys[0]), more - 1)),
    };
    if difference.beside_a == difference.beside_b {
        return of("", &difference.beside_a).unwrap_or_default().trim_start().to_owned();
    }
    [of("before", &difference.beside_a), of("after", &difference.beside_b)]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join("; ")
}

fn body(mut sheet: Sheet<'_>, comparison: &LensComparison) -> String {
    let signs = sheet.style.signs();
    sheet.paragraph(Some(Tone::Title), "", &format!("Run {} {} run {}", comparison.a, signs.arrow, comparison.b));
    if let Some(differing) = differing(comparison) {
        sheet.paragraph(Some(Tone::Middling), "", &differing);
    }
    for cell in &comparison.cells {
        sheet.space();
        sheet.paragraph(Some(Tone::Title), "", &cell_name(cell));
        sheet.paragraph(seeds::tone(cell), "  ", &totals(cell, signs));
        if did_not_repeat(comparison, cell) {
            sheet.paragraph(Some(Tone::Bad), "  ", DID_NOT_REPEAT);
        }
        if let Some(left_out) = seeds::left_out(cell) {
            sheet.paragraph(Some(Tone::Middling), "  ", &left_out);
        }
        if let Some(nothing) = nothing_differs(cell) {
            sheet.paragraph(Some(Tone::Quiet), "  ", nothing);
        }
        for (kind, all) in [("data", &cell.data), ("code", &cell.code)] {
            if !all.is_empty() {
                let form = points::form(sheet.style);
                sheet.subtable(&heading(kind, all, cell, signs), &differences(kind, all), form);
            }
        }
    }
    if comparison.cells.is_empty() {
        sheet.space();
        sheet.line(NOTHING);
    }
    for one in &comparison.unmatched {
        sheet.space();
        sheet.paragraph(Some(Tone::Middling), "", &unmatched_words(one));
    }
    if let Some(needed) = seeds::needed(&comparison.cells) {
        sheet.space();
        sheet.paragraph(Some(Tone::Quiet), "", &needed);
    }
    sheet.text
}

/// The heading of a table of differences.
fn heading(kind: &str, all: &[Difference], cell: &CellComparison, signs: &Signs) -> String {
    let exact = Some(seeds::exact_in(cell, signs)).filter(|exact| !exact.is_empty());
    let parts = [Some(format!("{kind} that differs, transfers per operation")), exact, of_all(all)];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// Words for a cell without any difference in data or code.
pub(crate) fn nothing_differs(cell: &CellComparison) -> Option<&'static str> {
    let is_empty = cell.data.is_empty() && cell.code.is_empty();
    is_empty.then(|| match seeds::in_common(cell) {
        Some(_) if seeds::is_identical(cell) => IDENTICAL,
        Some(seeds) if seeds.len() > 1 => NO_COMMON_DIFFERENCE,
        Some(_) => NO_EXACT_DIFFERENCE,
        None => NO_DIFFERENCE,
    })
}

/// True if one kernel with one seed counted differently in an equal environment.
pub(crate) fn did_not_repeat(comparison: &LensComparison, cell: &CellComparison) -> bool {
    let is_same = comparison.same_subject && comparison.differing.is_empty();
    is_same && seeds::in_common(cell).is_some() && !seeds::is_identical(cell)
}

pub(crate) const DID_NOT_REPEAT: &str =
    "the runs are equal and have the same seed, yet their counts differ: the machine did not repeat exactly";

/// Differences of the runs' environments, if any.
pub(crate) fn differing(comparison: &LensComparison) -> Option<String> {
    let words: Vec<&str> = comparison.differing.iter().map(|&one| environment_part(one)).collect();
    let (last, others) = words.split_last()?;
    let all = if others.is_empty() { (*last).to_owned() } else { format!("{} and {last}", others.join(", ")) };
    Some(format!("The runs also differ in {all}, which may explain the differences below."))
}

fn environment_part(part: EnvironmentPart) -> &'static str {
    match part {
        EnvironmentPart::Emulator => "the emulator",
        EnvironmentPart::Plugin => "the lens's plugin",
        EnvironmentPart::Model => "the modelled machine",
        EnvironmentPart::Memory => "the guests' memory",
        EnvironmentPart::Workloads => "the workloads' programs",
        EnvironmentPart::Part => "the counted processes or region",
        EnvironmentPart::Operations => "the number or size of operations",
    }
}

const IDENTICAL: &str = "both runs have equal counts in everything";
const NO_DIFFERENCE: &str = "no data or code differs by more than the tolerance";
const NO_COMMON_DIFFERENCE: &str = "no data or code differs in the same direction over the seeds";
const NO_EXACT_DIFFERENCE: &str = "no data or code differs";
pub(crate) const NOTHING: &str = "The two runs have no case at the same number of CPUs.";

/// A figure of a cell on both sides: all transfers, instructions, or a difference.
struct Figure<'a> {
    comparison: &'a LensComparison,
    cell: &'a CellComparison,
    kind: &'static str,
    name: String,
    change: &'static str,
    difference: f64,
    a: &'a Spread,
    b: &'a Spread,
}

fn figures<'a>(comparison: &'a LensComparison) -> ResultTable<Figure<'a>> {
    let mut figures = Vec::new();
    for cell in &comparison.cells {
        let figure =
            |kind, name, change, difference, (a, b)| Figure { comparison, cell, kind, name, change, difference, a, b };
        let (transfers, instructions) = (&cell.transfers, &cell.instructions);
        let change = cell.transfers_change.word();
        figures.push(figure(
            "transfers",
            String::new(),
            change,
            cell.transfers_difference,
            (&transfers.0, &transfers.1),
        ));
        figures.push(figure(
            "instructions",
            String::new(),
            "",
            cell.instructions_difference,
            (&instructions.0, &instructions.1),
        ));
        for (kind, all) in [("data", &cell.data), ("code", &cell.code)] {
            let one =
                |one: &'a Difference| figure(kind, key(&one.of), one.change.word(), one.difference, (&one.a, &one.b));
            figures.extend(all.iter().map(one));
        }
    }
    ResultTable::new(figure_columns(), figures)
}

type FigureColumn<'a> = table::Column<Figure<'a>>;

/// Figures are per operation: transfers, or instructions if `kind` is `instructions`.
fn figure_columns<'a>() -> Vec<FigureColumn<'a>> {
    vec![
        FigureColumn::csv_only("a", |figure| figure.comparison.a.to_string()),
        FigureColumn::csv_only("b", |figure| figure.comparison.b.to_string()),
        FigureColumn::csv_only("workload", |figure| figure.cell.case.workload.clone()),
        FigureColumn::csv_only("variant", |figure| figure.cell.case.variant.clone()),
        FigureColumn::csv_only("mode", |figure| figure.cell.case.mode.word().to_owned()),
        FigureColumn::csv_only("cpus", |figure| figure.cell.cpus.to_string()),
        FigureColumn::csv_only("kind", |figure| figure.kind.to_owned()),
        FigureColumn::csv_only("name", |figure| figure.name.clone()),
        FigureColumn::csv_only("change", |figure| figure.change.to_owned()),
        FigureColumn::csv_only("difference", |figure| figure.difference.to_string()),
        FigureColumn::csv_only("seeds", |figure| seeds::joined(&seeds::in_common(figure.cell).unwrap_or_default())),
        FigureColumn::csv_only("in_general", |figure| match (&figure.cell.basis, figure.kind) {
            (Basis::Seeds { in_general, .. }, "transfers") => in_general.word().to_owned(),
            _ => String::new(),
        }),
        FigureColumn::csv_only("a_median", |figure| figure.a.median.to_string()),
        FigureColumn::csv_only("a_low", |figure| figure.a.low.to_string()),
        FigureColumn::csv_only("a_high", |figure| figure.a.high.to_string()),
        FigureColumn::csv_only("a_n", |figure| figure.a.n.to_string()),
        FigureColumn::csv_only("b_median", |figure| figure.b.median.to_string()),
        FigureColumn::csv_only("b_low", |figure| figure.b.low.to_string()),
        FigureColumn::csv_only("b_high", |figure| figure.b.high.to_string()),
        FigureColumn::csv_only("b_n", |figure| figure.b.n.to_string()),
    ]
}

/// Maximum number of differences shown.
const SHOWN: usize = 20;

/// Minimum size of a shown difference, relative to the greatest. Exact differences are many, and
/// most are small.
const SHARE: f64 = 0.01;

/// The differences shown. JSON and CSV have all. `all`: greatest first.
pub(crate) fn greatest(all: &[Difference]) -> &[Difference] {
    let least = all.first().map_or(0.0, |first| SHARE * first.difference.abs());
    let shown = all.iter().take(SHOWN).take_while(|one| one.difference.abs() >= least).count();
    &all[..shown]
}

/// `the 3 greatest of 116`; `None` if all are shown.
pub(crate) fn of_all(all: &[Difference]) -> Option<String> {
    let shown = greatest(all).len();
    (shown < all.len()).then(|| format!("the {shown} greatest of {}", all.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use faultline_stats::lens::comparison::Change;

    fn of(differences: &[f64]) -> Vec<Difference> {
        let spread = Spread { median: 0.0, low: 0.0, high: 0.0, n: 1 };
        let one = |&difference: &f64| Difference {
            of: Key::Named { name: "lock".into() }.into(),
            change: Change::More,
            a: spread,
            b: spread,
            difference,
            beside_a: Vec::new(),
            beside_b: Vec::new(),
        };
        differences.iter().map(one).collect()
    }

    #[test]
    fn small_differences_beside_a_great_one_are_left_out() {
        let all = of(&[-2.0, 0.5, 0.02, 0.019, 0.001]);
        assert_eq!((greatest(&all).len(), of_all(&all).unwrap().as_str()), (3, "the 3 greatest of 5"));
        assert_eq!((greatest(&all[3..]).len(), of_all(&all[..3])), (2, None));
        assert_eq!((greatest(&[]).len(), of_all(&[])), (0, None));
    }

    #[test]
    fn no_more_are_shown_than_can_be_read() {
        assert_eq!(greatest(&of(&[1.0; 30])).len(), SHOWN);
    }
}
