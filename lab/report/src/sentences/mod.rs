//! Sentences about results: one file for each kind of statement that `model` has as data (warnings, cautions, verdicts without an answer, failures,
//! what is not compared). Tables, Markdown, the page and JSON take them from here, so all say the same.

mod advice;
mod caution;
mod change_caution;
mod failure;
mod gate;
mod inconclusive;
mod key;
mod left_out;
mod outcome;
mod problem;
mod unmatched;
mod untyped;
mod warning;
mod withheld;
mod worded;

pub(crate) use advice::advice;
pub use caution::caution;
pub(crate) use change_caution::change_caution;
pub(crate) use failure::{cause, failure};
pub(crate) use gate::{no_figure, unmatched_by_lens};
pub(crate) use inconclusive::inconclusive;
pub(crate) use key::key;
pub(crate) use left_out::series_left_out;
pub use outcome::outcome;
pub(crate) use problem::problem;
pub use unmatched::unmatched;
pub(crate) use untyped::no_names;
pub(crate) use warning::warning;
pub(crate) use withheld::withheld;
pub use worded::{worded_cautions, worded_dataset};
pub(crate) use worded::{
    worded_changes, worded_comparison, worded_fitness, worded_gate, worded_lens_comparison, worded_run,
};

use crate::fact_words;

/// A number of things: `1 cell`, `2 cells`.
fn number(count: usize, thing: &str) -> String {
    if count == 1 { format!("1 {thing}") } else { format!("{count} {thing}s") }
}

/// A share as a percentage with one decimal: `3.2 %`.
fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// The first few facts by name, the rest by number.
fn named(keys: &[String]) -> (String, usize) {
    first_few(keys, fact_words::name)
}

/// The first few, each by its name, the rest by number.
fn first_few(all: &[String], name: impl Fn(&str) -> String) -> (String, usize) {
    const NAMED: usize = 6;
    let (named, rest) = all.split_at(all.len().min(NAMED));
    (named.iter().map(|one| name(one)).collect::<Vec<_>>().join(", "), rest.len())
}
