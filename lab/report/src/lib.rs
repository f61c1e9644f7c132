//! What was measured, shown: as a table for people, as JSON, CSV and Markdown for programs, and as a page.
//!
//! Takes finished figures (`faultline-model`) and gives back text. Nothing here estimates a figure, reads a file or
//! knows whether it speaks to a terminal: the caller says so in a [`Style`].
//!
//! The modules that are public are what figures are written with; other rooms that show some write them with the same.

mod changes;
mod comparison;
mod fact_words;
mod facts;
pub mod figure;
mod format;
pub mod grid;
mod imported;
mod introduction;
pub mod json;
mod lens;
mod moment;
pub mod one_line;
mod page;
mod run;
mod runs;
mod sentences;
pub mod sheet;
pub mod style;
pub mod table;
mod workloads;

pub use changes::changes;
pub use comparison::{comparison, comparison_gate, fitness};
pub use facts::facts;
pub use format::{Format, UnknownFormat};
pub use imported::imported;
pub use lens::{budget_table, lens_compare_table};
pub use page::{comparison_html, html};
pub use run::run_table;
pub use runs::runs;
pub use sentences::{caution as caution_words, worded_cautions};
pub use style::Style;
pub use workloads::workloads;
