//! Saved counts of the lens, with names for code and data; and a machine's calibration.
//! `faultline_lens_format` declares the plugin's report.
//!
//! `symbols` finds the names. `stats` interprets the figures.

pub mod budget;
pub mod by_object;
pub mod by_type;
pub mod calibration;
pub mod callers;
pub mod counted;
pub mod data;
pub mod guest_kernel;
pub mod layout;
pub mod problem;
pub mod reading;
pub mod settings;
