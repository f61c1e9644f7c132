//! The page of two lens runs: which data and code caused more or fewer transfers.

use super::page;
use crate::lens::compare::{
    DID_NOT_REPEAT, NOTHING, answer, cell_name, did_not_repeat, differences, differing, nothing_differs, of_all,
    unmatched_words,
};
use crate::lens::{seeds, totals};
use crate::page::delivery::Site;
use crate::page::document::{listed, reading, section};
use crate::page::element;
use crate::style::UNICODE;
use faultline_record::record::RunId;
use faultline_stats::lens::comparison::{CellComparison, Difference, LensComparison};
use maud::{Markup, html as markup};

/// The page of two lens runs.
pub fn lens_comparison_page(compared: &LensComparison, site: &Site) -> String {
    let link = |run: RunId| markup! { a href=(site.run(run)) { "run " (run) } };
    let about = markup! {
        (element::answer(answer(&compared.cells, &UNICODE)))
        p.standing { "Counts under the lens: " (link(compared.a)) " before, " (link(compared.b)) " after." }
    };
    let unmatched: Vec<String> = compared.unmatched.iter().map(unmatched_words).collect();
    let sentences = [
        "Figures are per operation. For several repeats they are medians, with the smallest and the greatest in brackets.",
        "A transfer is a cache line that a CPU had to fetch because another CPU wrote it. Data is named by the variable or \
         member on the line, code by the place that fetched the line.",
    ];
    let needed = seeds::needed(&compared.cells);
    let parts = markup! {
        @if let Some(differing) = differing(compared) { section { p.hint { (differing) } } }
        @if compared.cells.is_empty() { section { p.nothing { (NOTHING) } } }
        @for (number, cell) in compared.cells.iter().enumerate() {
            (section(&format!("cell-{number}"), &cell_name(cell), one(cell, compared)))
        }
        (listed("unmatched", "Not compared", &unmatched))
        (reading(sentences.map(str::to_owned).into_iter().chain(needed)))
    };
    page(site, &format!("Run {} → run {}", compared.a, compared.b), about, parts)
}

fn one(cell: &CellComparison, compared: &LensComparison) -> Markup {
    markup! {
        p { (totals(cell, &UNICODE)) }
        @if did_not_repeat(compared, cell) { p.failed { (DID_NOT_REPEAT) "." } }
        @if let Some(left_out) = seeds::left_out(cell) { p.hint { (left_out) } }
        @if let Some(nothing) = nothing_differs(cell) { p.nothing { (nothing) "." } }
        (table("data", &cell.data, cell))
        (table("code", &cell.code, cell))
    }
}

fn table(kind: &'static str, all: &[Difference], cell: &CellComparison) -> Markup {
    let exact = Some(seeds::exact_in(cell, &UNICODE)).filter(|exact| !exact.is_empty());
    let exact = exact.map_or_else(String::new, |exact| format!("; {exact}"));
    let name = if kind == "data" { "Data" } else { "Code" };
    markup! {
        @if !all.is_empty() {
            (differences(kind, all).html(&format!("{name} that differs, transfers per operation{exact}")))
            @if let Some(of_all) = of_all(all) { p.hint { (of_all) } }
        }
    }
}
