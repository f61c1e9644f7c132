//! The literature's comparisons beside what a test makes of their raw values: improvement, claim, interval, answer.
//!
//! The test isn't made here: [`Table::pairs`] gives the raw values out, whoever calls has them compared, and [`compared`] shows the outcome.

#[cfg(test)]
mod example;
mod footnotes;
mod markdown;
mod ranges;
mod records;
mod row;
mod show;
mod table;
mod text;
mod words;

pub use show::compared;
pub use table::{Judged, Pair, Table, tables};
