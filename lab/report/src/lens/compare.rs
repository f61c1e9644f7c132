//! Two lens runs side by side in the four formats.

use crate::figure::transfers as shown;
use crate::format::Format;
use crate::grid::escape_markdown;
use crate::json::json;
use crate::lens::greatest::{greatest, of_all};
use crate::lens::seeds;
use crate::lens::tables;
use crate::lens::words::cpus;
use crate::one_line::one_line;
use crate::sentences::{key, unmatched_by_lens as unmatched, worded_lens_comparison};
use crate::sheet::Sheet;
use crate::style::{Signs, Style, Tone, UNICODE};
use crate::table::{self, Form, Table};
use faultline_model::lens::comparison::{
    Basis, CellComparison, Difference, LensComparison, Spread, Surrounding, Unmatched,
};
use faultline_model::lens::key::Key;
use faultline_model::said::Said;

/// What differs between two lens runs. JSON is the comparison with its words; CSV has a record per figure that differs, and for each cell one of all
/// transfers and one of instructions.
pub fn lens_compare_table(comparison: &LensComparison, format: Format, style: &Style) -> String {
    match format {
        Format::Table => text(comparison, style),
        Format::Json => json(&worded_lens_comparison(comparison)),
        Format::Csv => figures(comparison).csv(),
        Format::Markdown => markdown(comparison),
    }
}

/// All transfers and instructions of a cell: `7.700 → 3.100 transfers (less), 2512 → 2518 instructions, per operation`.
/// With seeds in common: `7.700 → 3.100 transfers (−4.600; exact, seed 1), …`.
pub(crate) fn totals(cell: &CellComparison, signs: &Signs) -> String {
    let pair = |(a, b): &(Spread, Spread)| format!("{} {} {}", side(a, signs), signs.arrow, side(b, signs));
    let change = seeds::transfers_change(cell, signs);
    let of_instructions =
        seeds::instructions_change(cell, signs).map_or_else(String::new, |change| format!(" ({change})"));
    let (transfers, instructions) = (pair(&cell.transfers), pair(&cell.instructions));
    format!("{transfers} transfers ({change}), {instructions} instructions{of_instructions}, per operation")
}

/// A median, with what the repeats span where there are several.
pub(crate) fn side(spread: &Spread, signs: &Signs) -> String {
    let median = shown(spread.median);
    if spread.n < 2 {
        return median;
    }
    format!("{median} ({} {} {})", shown(spread.low), signs.to, shown(spread.high))
}

/// The case and the number of CPUs of a cell.
pub(crate) fn cell_name(cell: &CellComparison) -> String {
    one_line(&format!("{} at {}", cell.case, cpus(cell.cpus)))
}

/// Why a cell is not compared.
pub(crate) fn unmatched_words(one: &Unmatched) -> String {
    one_line(&format!("{} at {}: {}", one.case, cpus(one.cpus), unmatched(&one.why)))
}

/// The greatest differences as a table; what shares a line is told for data, what repeats span where there is room.
pub(super) fn differences<'a>(kind: &'static str, differences: &'a [Difference]) -> Table<&'a Difference> {
    Table::new(difference_columns(kind), greatest(differences))
}

type DifferenceColumn<'a> = table::Column<&'a Difference>;

fn difference_columns<'a>(kind: &'static str) -> Vec<DifferenceColumn<'a>> {
    const ROOMY: &[Form] = &[Form::Wide, Form::Markdown];
    const NARROW: &[Form] = &[Form::Narrow];
    vec![
        DifferenceColumn::left("change", |difference, _| difference.change.word().to_owned()),
        DifferenceColumn::right("before", |difference, signs| side(&difference.a, signs)).on(ROOMY),
        DifferenceColumn::right("before", |difference, _| shown(difference.a.median)).on(NARROW),
        DifferenceColumn::right("after", |difference, signs| side(&difference.b, signs)).on(ROOMY),
        DifferenceColumn::right("after", |difference, _| shown(difference.b.median)).on(NARROW),
        DifferenceColumn::right("difference", |difference, signs| seeds::signed(difference.difference, signs))
            .on(ROOMY),
        DifferenceColumn::left(kind, |difference, _| named(difference)),
    ]
}

/// A difference in one line: `went, 9.310 → 0: mm_struct.mmap_lock`.
pub(crate) fn difference_words(difference: &Difference, signs: &Signs) -> String {
    let values = format!("{} {} {}", shown(difference.a.median), signs.arrow, shown(difference.b.median));
    format!("{}, {values}: {}", difference.change.word(), named(difference))
}

/// Its name, and what shares a line with it.
pub(crate) fn named(difference: &Difference) -> String {
    one_line(&match beside(difference).as_str() {
        "" => key(&difference.of),
        beside => format!("{} ({beside})", key(&difference.of)),
    })
}

/// What shared a line with it before, and does after.
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

fn text(comparison: &LensComparison, style: &Style) -> String {
    let signs = style.signs();
    let mut sheet = Sheet::new(style);
    sheet.paragraph(Some(Tone::Title), "", &format!("Run {} {} run {}", comparison.a, signs.arrow, comparison.b));
    if let Some(differing) = differing(comparison) {
        sheet.paragraph(Some(Tone::Middling), "", &differing);
    }
    for cell in &comparison.cells {
        sheet.line("");
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
                sheet.table(&heading(kind, all, cell, signs), &differences(kind, all).grid(tables::form(style), signs));
            }
        }
    }
    if comparison.cells.is_empty() {
        sheet.line("");
        sheet.line(NOTHING);
    }
    for one in &comparison.unmatched {
        sheet.line("");
        sheet.paragraph(Some(Tone::Middling), "", &unmatched_words(one));
    }
    if let Some(needed) = seeds::needed(&comparison.cells) {
        sheet.line("");
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

/// That no data or code of the cell differs, if so.
pub(crate) fn nothing_differs(cell: &CellComparison) -> Option<&'static str> {
    let is_empty = cell.data.is_empty() && cell.code.is_empty();
    is_empty.then(|| match seeds::in_common(cell) {
        Some(_) if seeds::is_identical(cell) => IDENTICAL,
        Some(seeds) if seeds.len() > 1 => NO_COMMON_DIFFERENCE,
        Some(_) => NO_EXACT_DIFFERENCE,
        None => NO_DIFFERENCE,
    })
}

/// Whether one kernel with one seed counted differently in the same surroundings.
pub(crate) fn did_not_repeat(comparison: &LensComparison, cell: &CellComparison) -> bool {
    let is_same = comparison.same_subject && comparison.differing.is_empty();
    is_same && seeds::in_common(cell).is_some() && !seeds::is_identical(cell)
}

pub(crate) const DID_NOT_REPEAT: &str = "nothing differs between the runs, yet they counted otherwise with the same seed: the machine did not repeat exactly";

/// What the runs differ in besides what they count, if anything.
pub(crate) fn differing(comparison: &LensComparison) -> Option<String> {
    let words: Vec<&str> = comparison.differing.iter().map(|&one| surrounding(one)).collect();
    let (last, others) = words.split_last()?;
    let all = if others.is_empty() { (*last).to_owned() } else { format!("{} and {last}", others.join(", ")) };
    Some(format!("The runs also differ in {all}, which may explain differences below."))
}

fn surrounding(surrounding: Surrounding) -> &'static str {
    match surrounding {
        Surrounding::Emulator => "the emulator",
        Surrounding::Plugin => "the lens's plugin",
        Surrounding::Model => "the modelled machine",
        Surrounding::Memory => "the guests' memory",
        Surrounding::Workloads => "the workloads' programs",
        Surrounding::Operations => "the number or size of operations",
    }
}

const IDENTICAL: &str = "both runs counted the same in everything";
const NO_DIFFERENCE: &str = "no data or code differs by more than the tolerance";
const NO_COMMON_DIFFERENCE: &str = "no data or code differs in the same direction over the seeds";
const NO_EXACT_DIFFERENCE: &str = "no data or code differs";
pub(crate) const NOTHING: &str = "The two runs have no case at the same number of CPUs.";

fn markdown(comparison: &LensComparison) -> String {
    let mut text = format!("**Run {} → run {}**\n", comparison.a, comparison.b);
    if let Some(differing) = differing(comparison) {
        text.push_str(&format!("\n{differing}\n"));
    }
    for cell in &comparison.cells {
        text.push_str(&format!(
            "\n**{}**: {}\n",
            escape_markdown(&cell_name(cell)),
            escape_markdown(&totals(cell, &UNICODE))
        ));
        if did_not_repeat(comparison, cell) {
            text.push_str(&format!("\n{DID_NOT_REPEAT}\n"));
        }
        if let Some(left_out) = seeds::left_out(cell) {
            text.push_str(&format!("\n{left_out}\n"));
        }
        if let Some(nothing) = nothing_differs(cell) {
            text.push_str(&format!("\n{nothing}\n"));
        }
        for (kind, all) in [("data", &cell.data), ("code", &cell.code)] {
            if !all.is_empty() {
                text.push_str(&format!("\n{}", differences(kind, all).markdown(&UNICODE)));
                if let Some(of_all) = of_all(all) {
                    text.push_str(&format!("\n{of_all}\n"));
                }
            }
        }
    }
    if comparison.cells.is_empty() {
        text.push_str(&format!("\n{NOTHING}\n"));
    }
    for one in &comparison.unmatched {
        text.push_str(&format!("\n- {}\n", escape_markdown(&unmatched_words(one))));
    }
    if let Some(needed) = seeds::needed(&comparison.cells) {
        text.push_str(&format!("\n{needed}\n"));
    }
    text
}

/// A figure of a cell on both sides: of all transfers, of instructions, or of what differs.
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

fn figures<'a>(comparison: &'a LensComparison) -> Table<Figure<'a>> {
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
    Table::new(figure_columns(), figures)
}

type FigureColumn<'a> = table::Column<Figure<'a>>;

/// Figures are transfers per operation, of instructions where `kind` is `instructions`.
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
