//! Compares two lens runs that were measured before.

use super::gates::counted;
use crate::error::Error;
use crate::places::Places;
use crate::run_names::find_run;
use faultline_model::lens::comparison::LensComparison;

/// Compares two runs, each named by its number, label or commit. Fails if one does not exist, measured time, or has no counts.
pub fn compare(a: &str, b: &str, places: &Places) -> Result<LensComparison, Error> {
    let load = |name| counted(find_run(name, places)?, places);
    Ok(faultline_stats::lens::compare_runs(&load(a)?, &load(b)?))
}
