//! The callers of a sample of the transfers on the page: a flame graph, and the chains of the top lines as a table.

use crate::lens::callers::{basis, chain, heading, share};
use crate::lens::words;
use crate::one_line::one_line;
use crate::page::document::table;
use crate::page::value;
use crate::style::UNICODE;
use faultline_model::lens::callers::{CallersFigures, ChainFigures, LineCallers};
use maud::{Markup, html as markup};

/// The flame graph. `name`: that of the case.
pub(super) fn figure(name: &str, figures: &CallersFigures, cpus: u32) -> Markup {
    let at = words::cpus(cpus);
    let top = figures.chains.first().map(|top| (chain(figures, top, &UNICODE), top.samples));
    let most = top.map_or_else(String::new, |(chain, samples)| format!("; most samples, {samples}: {chain}"));
    let label = format!("Flame graph of {name} at {at}: callers by {}{most}", basis(figures));
    markup! {
        figure.callers {
            div.chart.flame data-cpus=(cpus) aria-label=(label) aria-describedby="chart-keys" {
                noscript { p.nothing { "The chart needs JavaScript. The tables below hold the same figures." } }
            }
            figcaption {
                "Callers at " (at) ", by " (basis(figures)) ". A function lies on its caller; its width is its share of the transfers, with all that it called. "
                "Slanted names were inlined; dashed boxes stand for callers that are not known. Functions with less than 0.2 % are not drawn."
            }
        }
    }
}

/// The chains of the top lines.
pub(super) fn lines(name: &str, figures: &CallersFigures, cpus: u32) -> Markup {
    let head = markup! {
        th scope="col" { "data" }
        th.number scope="col" { "samples" }
        th.number scope="col" { "of its samples" }
        th scope="col" { "function and its callers" }
    };
    let body = markup! {
        @for line in &figures.lines { @for chain in &line.chains { (row(figures, line, chain)) } }
    };
    table(&format!("{name}: {}", heading(figures, cpus)), true, head, body)
}

fn row(figures: &CallersFigures, line: &LineCallers, of: &ChainFigures) -> Markup {
    markup! {
        tr {
            th scope="row" { (one_line(&line.name)) }
            td.number { (value::count(u32::try_from(of.samples).unwrap_or(u32::MAX))) }
            td.number { (share(line, of)) }
            td.words { (chain(figures, of, &UNICODE)) }
        }
    }
}
