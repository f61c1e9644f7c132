//! Compares two lens runs that were measured before.

use super::gates::counted;
use crate::error::Error;
use crate::places::Places;
use crate::run_names::find_run;
use faultline_model::lens::comparison::LensComparison;
use faultline_model::record::RunId;

/// Compares two runs, each named by its number, label or commit. Fails if one does not exist, measured time, or has no counts.
pub fn compare(a: &str, b: &str, places: &Places) -> Result<LensComparison, Error> {
    compare_runs([find_run(a, places)?, find_run(b, places)?], places)
}

/// The same of runs that are known by their numbers.
pub fn compare_runs([a, b]: [RunId; 2], places: &Places) -> Result<LensComparison, Error> {
    Ok(faultline_stats::lens::compare_runs(&counted(a, places)?, &counted(b, places)?))
}
