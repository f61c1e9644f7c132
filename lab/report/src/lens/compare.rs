//! Two lens runs side by side in the four formats.

use crate::format::Format;
use crate::grid::{self, Grid, Side, escape_markdown};
use crate::json::json;
use crate::lens::tables;
use crate::lens::words::{cpus, transfers as shown};
use crate::one_line::one_line;
use crate::sheet::Sheet;
use crate::style::{Signs, Style, Tone, UNICODE};
use faultline_model::lens::comparison::{CellComparison, Change, Difference, LensComparison, Spread, Unmatched};

/// Columns of the CSV; figures are transfers per operation, of instructions where `kind` is `instructions`.
const HEADER: [&str; 17] = [
    "a", "b", "workload", "variant", "mode", "cpus", "kind", "name", "change", "a_median", "a_low", "a_high", "a_n",
    "b_median", "b_low", "b_high", "b_n",
];

/// What differs between two lens runs. JSON is the comparison as it is; CSV has a record per figure that differs, and for each cell one of all
/// transfers and one of instructions.
pub fn lens_compare_table(comparison: &LensComparison, format: Format, style: &Style) -> String {
    match format {
        Format::Table => text(comparison, style),
        Format::Json => json(comparison),
        Format::Csv => csv(comparison),
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
    one_line(&format!("{} at {}: run {} has no reading of it", one.case, cpus(one.cpus), one.missing_in))
}

/// The differences as a grid; what shares a line is told for data, what repeats span where there is room.
pub(super) fn differences(kind: &'static str, differences: &[Difference], style: &Style) -> Grid {
    let signs = style.signs();
    let figure = |spread: &Spread| match tables::is_narrow(style) {
        true => shown(spread.median),
        false => side(spread, signs),
    };
    let mut columns = vec![("change", Side::Left), ("before", Side::Right), ("after", Side::Right)];
    columns.push((kind, Side::Left));
    let mut grid = Grid::new(&columns);
    for difference in differences {
        let beside = beside(difference);
        let name = if beside.is_empty() { difference.name.clone() } else { format!("{} ({beside})", difference.name) };
        grid.row(vec![
            difference.change.word().to_owned(),
            figure(&difference.a),
            figure(&difference.b),
            one_line(&name),
        ]);
    }
    grid
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
        sheet.line(&style.paint(Tone::Title, &name(cell)));
        sheet.paragraph(Some(tone(cell.transfers_change)), "  ", &totals(cell, signs));
        if cell.data.is_empty() && cell.code.is_empty() {
            sheet.paragraph(Some(Tone::Quiet), "  ", NO_DIFFERENCE);
        }
        for (kind, all) in [("data", &cell.data), ("code", &cell.code)] {
            if !all.is_empty() {
                sheet.table(&format!("{kind} that differs, transfers per operation"), &differences(kind, all, style));
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
                text.push_str(&format!("\n{}", differences(kind, all, &Style::PLAIN).markdown()));
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

fn csv(comparison: &LensComparison) -> String {
    let mut records = Vec::new();
    for cell in &comparison.cells {
        let mut record = |kind: &str, name: &str, change: &str, a: &Spread, b: &Spread| {
            let numbers = |spread: &Spread| {
                [spread.median.to_string(), spread.low.to_string(), spread.high.to_string(), spread.n.to_string()]
            };
            let ([am, al, ah, an], [bm, bl, bh, bn]) = (numbers(a), numbers(b));
            let case = &cell.case;
            records.push([
                comparison.a.to_string(),
                comparison.b.to_string(),
                case.workload.clone(),
                case.variant.clone(),
                case.mode.word().to_owned(),
                cell.cpus.to_string(),
                kind.to_owned(),
                name.to_owned(),
                change.to_owned(),
                am,
                al,
                ah,
                an,
                bm,
                bl,
                bh,
                bn,
            ]);
        };
        record("transfers", "", cell.transfers_change.word(), &cell.transfers.0, &cell.transfers.1);
        record("instructions", "", "", &cell.instructions.0, &cell.instructions.1);
        for (kind, all) in [("data", &cell.data), ("code", &cell.code)] {
            for difference in all {
                record(kind, &difference.name, difference.change.word(), &difference.a, &difference.b);
            }
        }
    }
    grid::csv(HEADER, records)
}
