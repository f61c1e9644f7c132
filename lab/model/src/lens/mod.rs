//! What the lens counts: the plugin's report as it arrives, and as it is saved, with names for code and data. Beside it, the machine's calibration.
//!
//! `symbols` finds the names. `stats` interprets the figures.

pub mod budget;
pub mod by_type;
pub mod calibration;
pub mod callers;
pub mod comparison;
pub mod data;
pub mod gate;
pub mod kernel_symbol;
pub mod key;
pub mod layout;
pub mod memory;
pub mod place;
pub mod problem;
pub mod raw;
pub mod reading;
pub mod settings;
pub mod summary;
pub mod types;
pub mod untyped;
