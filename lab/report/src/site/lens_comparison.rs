//! Two runs under the lens, compared: which lines of data and which code came, went or changed.

use super::frame::page;
use crate::lens::compare::{
    DID_NOT_REPEAT, NOTHING, cell_name, did_not_repeat, differing, named, nothing_differs, side, unmatched_words,
};
use crate::lens::greatest::{greatest, of_all};
use crate::lens::{seeds, totals};
use crate::page::delivery::Site;
use crate::page::document::table;
use crate::style::UNICODE;
use faultline_model::lens::comparison::{CellComparison, Difference, LensComparison};
use faultline_model::record::RunId;
use maud::{Markup, html as markup};

/// The page.
pub fn lens_comparison_page(compared: &LensComparison, site: &Site) -> String {
    let about = markup! {
        p.standing { "What was counted under the lens: " (link(compared.a, site)) " before, " (link(compared.b, site)) " after." }
    };
    let parts = markup! {
        @if let Some(differing) = differing(compared) { section { p.hint { (differing) } } }
        @if compared.cells.is_empty() { section { p.nothing { (NOTHING) } } }
        @for (number, cell) in compared.cells.iter().enumerate() { (one(number, cell, compared)) }
        @if !compared.unmatched.is_empty() {
            section #unmatched aria-labelledby="unmatched-title" {
                h2 #unmatched-title { "Not compared" }
                ul { @for one in &compared.unmatched { li { (unmatched_words(one)) } } }
            }
        }
        section #reading aria-labelledby="reading-title" {
            h2 #reading-title { "How to read this" }
            ul {
                li { "Figures are per operation; of several repeats they are the median, with the smallest and the greatest in brackets." }
                li { "A transfer is a cache line that a CPU had to fetch because another one wrote it. Data is named by the variable or member on the line, code by the place that fetched it." }
                @if let Some(needed) = seeds::needed(&compared.cells) { li { (needed) } }
            }
        }
    };
    page(site, &format!("Run {} → run {}", compared.a, compared.b), about, parts)
}

fn link(run: RunId, site: &Site) -> Markup {
    markup! { a href=(site.run(run)) { "run " (run) } }
}

fn one(number: usize, cell: &CellComparison, compared: &LensComparison) -> Markup {
    let id = format!("cell-{number}");
    let title = format!("{id}-title");
    markup! {
        section id=(id) aria-labelledby=(title) {
            h2 id=(title) { (cell_name(cell)) }
            p { (totals(cell, &UNICODE)) }
            @if did_not_repeat(compared, cell) { p.failed { (DID_NOT_REPEAT) "." } }
            @if let Some(left_out) = seeds::left_out(cell) { p.hint { (left_out) } }
            @if let Some(nothing) = nothing_differs(cell) { p.nothing { (nothing) "." } }
            (differences("Data", &cell.data, cell))
            (differences("Code", &cell.code, cell))
        }
    }
}

fn differences(kind: &str, all: &[Difference], cell: &CellComparison) -> Markup {
    let head = markup! {
        th scope="col" { (kind.to_lowercase()) }
        th scope="col" { "change" }
        th.number scope="col" { "before" }
        th.number scope="col" { "after" }
        th.number scope="col" { "difference" }
    };
    let body = markup! {
        @for difference in greatest(all) {
            tr {
                th scope="row" { (named(difference)) }
                td { (difference.change.word()) }
                td.number { (side(&difference.a, &UNICODE)) }
                td.number { (side(&difference.b, &UNICODE)) }
                td.number { (seeds::signed(difference.difference, &UNICODE)) }
            }
        }
    };
    let exact = seeds::exact_in(cell, &UNICODE);
    let caption = format!(
        "{kind} that differs, transfers per operation{}",
        if exact.is_empty() { String::new() } else { format!("; {exact}") }
    );
    markup! {
        @if !all.is_empty() {
            (table(&caption, true, head, body))
            @if let Some(of_all) = of_all(all) { p.hint { (of_all) } }
        }
    }
}
