//! What the lens counts: the plugin's report as it comes, and as it is kept, with names for code and data.
//!
//! Finding names belongs to `symbols`; what the figures mean, to `stats`.

pub mod comparison;
pub mod data;
pub mod gate;
pub mod kernel_symbol;
pub mod raw;
pub mod reading;
pub mod settings;
pub mod summary;
