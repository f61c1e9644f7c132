//! What stands beside the answers: cautions, facts that differ, failures, and the looks that a live comparison took.

use crate::comparison::{cautions, sequential, words};
use crate::fact_words;
use crate::one_line::one_line;
use crate::page::document::table;
use crate::page::value;
use crate::sentences;
use crate::style::UNICODE;
use faultline_model::comparison::Comparison;
use faultline_model::facts::FactValue;
use maud::{Markup, html as markup};

/// Further figures of each workload that has some.
pub(super) fn figures(compared: &Comparison) -> Markup {
    markup! {
        @if words::has_figures(compared) {
            section #figures aria-labelledby="figures-title" {
                h2 #figures-title { "Further figures" }
                @for workload in &compared.workloads {
                    @let figures = words::figures(&workload.details, &UNICODE);
                    @if !figures.is_empty() {
                        h3 { (words::name(workload)) }
                        ul.shortfalls { @for figure in &figures { li { (figure) } } }
                    }
                }
            }
        }
    }
}

/// Figures that aren't tested.
pub(super) fn untested(compared: &Comparison) -> Markup {
    markup! {
        @if !compared.untested.is_empty() {
            section #untested aria-labelledby="untested-title" {
                h2 #untested-title { "Not tested" }
                ul.shortfalls { @for figure in &compared.untested { li { (words::untested(figure, &UNICODE)) } } }
            }
        }
    }
}

/// What may make the answers lie.
pub(super) fn cautions(compared: &Comparison) -> Markup {
    let cautions = cautions::grouped(compared);
    markup! {
        @if !cautions.is_empty() {
            section #cautions aria-labelledby="cautions-title" {
                h2 #cautions-title { "Cautions" }
                ul.warnings {
                    @for caution in &cautions {
                        li {
                            b { (caution.code.word()) } " " (caution.text)
                            @if let Some(names) = &caution.names { " " span.cells { (names) } }
                        }
                    }
                }
            }
        }
    }
}

/// Facts that differ.
pub(super) fn facts(compared: &Comparison) -> Markup {
    let known = |key: &str, value: &Option<FactValue>| match value {
        Some(value) => markup! { (fact_words::value(key, value, &UNICODE)) },
        None => markup! { span.none { "not known" } },
    };
    let head = markup! { th scope="col" { "fact" } th scope="col" { "A" } th scope="col" { "B" } };
    let body = markup! {
        @for fact in &compared.facts {
            tr {
                th scope="row" { (fact_words::name(&fact.key)) br; small { code { (one_line(&fact.key)) } } }
                td.fact { (known(&fact.key, &fact.a)) }
                td.fact { (known(&fact.key, &fact.b)) }
            }
        }
    };
    markup! {
        @if !compared.facts.is_empty() {
            section #facts aria-labelledby="facts-title" {
                h2 #facts-title { "Facts that differ" }
                (table("Facts about the machines that differ", false, head, body))
            }
        }
    }
}

/// What is on one side only.
pub(super) fn unmatched(compared: &Comparison) -> Markup {
    markup! {
        @if !compared.unmatched.is_empty() {
            section #unmatched aria-labelledby="unmatched-title" {
                h2 #unmatched-title { "Not compared" }
                ul.shortfalls { @for unmatched in &compared.unmatched { li { (one_line(&sentences::unmatched(unmatched))) } } }
            }
        }
    }
}

/// The looks that were planned, and those that were taken.
pub(super) fn looks(compared: &Comparison) -> Markup {
    let Some(sequential) = &compared.sequential else { return markup! {} };
    let head = markup! {
        th.number scope="col" { "look" }
        th.number scope="col" { "blocks before it" }
        th.number scope="col" { "error it may spend" }
        th scope="col" { "taken" }
    };
    let taken = |number: usize| if number <= sequential.taken as usize { "yes" } else { "no" };
    let body = markup! {
        @for (number, look) in (1..).zip(&sequential.looks) {
            tr {
                th.number scope="row" { (number) }
                td.number { (value::count(look.blocks)) }
                td.number { (value::data(look.alpha, &format!("{:.3} %", look.alpha * 100.0))) }
                td { (taken(number)) }
            }
        }
    };
    markup! {
        section #looks aria-labelledby="looks-title" {
            h2 #looks-title { "How it ended" }
            p { (sequential::words(sequential)) }
            (table("The looks at the data that were planned", false, head, body))
        }
    }
}
