//! Two lens runs side by side in the four formats.

use crate::format::Format;
use crate::grid::escape_markdown;
use crate::json::json;
use crate::lens::tables;
use crate::lens::words::{cpus, transfers as shown};
use crate::one_line::one_line;
use crate::sheet::Sheet;
use crate::style::{Signs, Style, Tone, UNICODE};
use crate::table::{self, Form, Table};
use faultline_model::lens::comparison::{CellComparison, Change, Difference, LensComparison, Spread, Unmatched};

/// What differs between two lens runs. JSON is the comparison as it is; CSV has a record per figure that differs, and for each cell one of all
/// transfers and one of instructions.
pub fn lens_compare_table(comparison: &LensComparison, format: Format, style: &Style) -> String {
    match format {
        Format::Table => text(comparison, style),
        Format::Json => json(comparison),
        Format::Csv => figures(comparison).csv(),
        Format::Markdown => markdown(comparison),
    }
}

/// All transfers and instructions of a cell: `7.700 → 3.100 transfers per operation (less); …`.
fn totals(cell: &CellComparison, signs: &Signs) -> String {
    let pair = |(a, b): &(Spread, Spread)| format!("{} {} {}", side(a, signs), signs.arrow, side(b, signs));
    let change = match cell.transfers_change {
        Change::Same => "no difference",
        other => other.word(),
    };
    format!("{} transfers ({change}), {} instructions, per operation", pair(&cell.transfers), pair(&cell.instructions))
}

/// A median, with what the repeats span where there are several.
fn side(spread: &Spread, signs: &Signs) -> String {
    let median = shown(spread.median);
    if spread.n < 2 {
        return median;
    }
    format!("{median} ({} {} {})", shown(spread.low), signs.to, shown(spread.high))
}

fn name(cell: &CellComparison) -> String {
    one_line(&format!("{} at {}", cell.case, cpus(cell.cpus)))
}

fn unmatched_words(one: &Unmatched) -> String {
    one_line(&format!("{} at {}: run {} has no counts of it", one.case, cpus(one.cpus), one.missing_in))
}

/// The differences as a table; what shares a line is told for data, what repeats span where there is room.
pub(super) fn differences<'a>(kind: &'static str, differences: &'a [Difference]) -> Table<&'a Difference> {
    Table::new(difference_columns(kind), differences)
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
        DifferenceColumn::left(kind, |difference, _| {
            one_line(&match beside(difference).as_str() {
                "" => difference.name.clone(),
                beside => format!("{} ({beside})", difference.name),
            })
        }),
    ]
}

/// What shared a line with it before, and does after.
fn beside(difference: &Difference) -> String {
    let of = |when: &str, names: &[String]| match names.len() {
        0 => None,
        1 | 2 => Some(format!("{when} on a line with {}", names.join(", "))),
        more => Some(format!("{when} on a line with {} and {} more", names[0], more - 1)),
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
    for cell in &comparison.cells {
        sheet.line("");
        sheet.paragraph(Some(Tone::Title), "", &name(cell));
        sheet.paragraph(Some(tone(cell.transfers_change)), "  ", &totals(cell, signs));
        if cell.data.is_empty() && cell.code.is_empty() {
            sheet.paragraph(Some(Tone::Quiet), "  ", NO_DIFFERENCE);
        }
        for (kind, all) in [("data", &cell.data), ("code", &cell.code)] {
            if !all.is_empty() {
                sheet.table(
                    &format!("{kind} that differs, transfers per operation"),
                    &differences(kind, all).grid(tables::form(style), signs),
                );
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
    sheet.text
}

const NO_DIFFERENCE: &str = "no data or code differs by more than the tolerance";
const NOTHING: &str = "The two runs have no case at the same number of CPUs.";

fn tone(change: Change) -> Tone {
    match change {
        Change::Came | Change::More => Tone::Bad,
        Change::Went | Change::Less => Tone::Good,
        Change::Same => Tone::Quiet,
    }
}

fn markdown(comparison: &LensComparison) -> String {
    let mut text = format!("**Run {} → run {}**\n", comparison.a, comparison.b);
    for cell in &comparison.cells {
        text.push_str(&format!(
            "\n**{}**: {}\n",
            escape_markdown(&name(cell)),
            escape_markdown(&totals(cell, &UNICODE))
        ));
        if cell.data.is_empty() && cell.code.is_empty() {
            text.push_str(&format!("\n{NO_DIFFERENCE}\n"));
        }
        for (kind, all) in [("data", &cell.data), ("code", &cell.code)] {
            if !all.is_empty() {
                text.push_str(&format!("\n{}", differences(kind, all).markdown(&UNICODE)));
            }
        }
    }
    if comparison.cells.is_empty() {
        text.push_str(&format!("\n{NOTHING}\n"));
    }
    for one in &comparison.unmatched {
        text.push_str(&format!("\n- {}\n", escape_markdown(&unmatched_words(one))));
    }
    text
}

/// A figure of a cell on both sides: of all transfers, of instructions, or of what differs.
struct Figure<'a> {
    comparison: &'a LensComparison,
    cell: &'a CellComparison,
    kind: &'static str,
    name: &'a str,
    change: &'static str,
    a: &'a Spread,
    b: &'a Spread,
}

fn figures(comparison: &LensComparison) -> Table<Figure<'_>> {
    let mut figures = Vec::new();
    for cell in &comparison.cells {
        let figure = |kind, name, change, a, b| Figure { comparison, cell, kind, name, change, a, b };
        let (transfers, instructions) = (&cell.transfers, &cell.instructions);
        figures.push(figure("transfers", "", cell.transfers_change.word(), &transfers.0, &transfers.1));
        figures.push(figure("instructions", "", "", &instructions.0, &instructions.1));
        for (kind, all) in [("data", &cell.data), ("code", &cell.code)] {
            figures.extend(all.iter().map(|one| figure(kind, &one.name, one.change.word(), &one.a, &one.b)));
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
        FigureColumn::csv_only("name", |figure| figure.name.to_owned()),
        FigureColumn::csv_only("change", |figure| figure.change.to_owned()),
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
