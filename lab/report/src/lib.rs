//! Shows results: text and Markdown for people, JSON and CSV for programs, and HTML pages.
//!
//! It formats finished figures. Nothing here estimates a figure, reads a file or asks for
//! properties of the terminal: the caller states them in a [`Style`].
//!
//! Other crates that show figures use the public modules, too.

mod bisect;
mod capabilities;
mod changes;
mod ci;
mod claims;
mod comparison;
pub mod escape;
mod explained;
mod facts;
pub mod figure;
mod format;
mod grid;
mod history;
mod inventory;
mod lens;
mod missing;
mod names;
mod page;
mod quantity;
mod run;
mod runs;
mod sentences;
mod sheet;
pub mod site;
pub mod style;
mod table;

pub use bisect::{bisect, bisect_gate};
pub use capabilities::capabilities;
pub use changes::changes;
pub use ci::{ci, ci_junit};
pub use claims::claims;
pub use comparison::{comparison, comparison_brief, comparison_gate, comparison_mail, fitness};
pub use facts::facts;
pub use format::{Format, UnknownFormat};
pub use history::{history, history_changes, history_commits, history_gate, history_marked, history_part};
pub use inventory::{ImportFormat, import_formats, imported, workloads};
pub use lens::{budget_table, folded, lens_calibration, lens_compare_table, lens_types_table};
pub use missing::runs_without_value;
pub use names::counted;
pub use page::{comparison_html, html};
pub use run::run_table;
pub use runs::runs;
pub use sentences::{
    caution as caution_words, outcome as outcome_words, unmatched as unmatched_words, worded_cautions, worded_dataset,
};
pub use style::Style;
