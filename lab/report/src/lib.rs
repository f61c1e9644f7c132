//! Shows results: tables and Markdown for people, JSON and CSV for programs, and the page.
//!
//! It takes finished figures (`faultline-model`) and returns text. Nothing here estimates a figure, reads a file or
//! knows whether the output is a terminal: the caller says so in a [`Style`].
//!
//! The public modules format figures; other crates that show figures use them too.

mod changes;
mod comparison;
mod drill;
mod explained;
mod fact_words;
mod facts;
pub mod figure;
mod format;
mod gate;
pub mod grid;
mod history;
mod imported;
mod introduction;
pub mod json;
mod lens;
mod moment;
pub mod one_line;
mod page;
mod quantity;
mod run;
mod runs;
mod sentences;
pub mod sheet;
pub mod site;
pub mod style;
pub mod table;
mod workloads;

pub use changes::changes;
pub use comparison::{comparison, comparison_gate, fitness};
pub use drill::{drill, drill_gate};
pub use facts::facts;
pub use format::{Format, UnknownFormat};
pub use history::{history, history_changes, history_commits, history_gate, history_marked, history_part};
pub use imported::imported;
pub use lens::{budget_table, folded, lens_calibration, lens_compare_table, lens_types_table};
pub use page::{comparison_html, html};
pub use run::run_table;
pub use runs::runs;
pub use sentences::{
    caution as caution_words, outcome as outcome_words, unmatched as unmatched_words, worded_cautions, worded_dataset,
};
pub use style::Style;
pub use workloads::workloads;
