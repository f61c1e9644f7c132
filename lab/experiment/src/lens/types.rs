//! The transfers of a stored run by type.

use super::gates::under_lens;
use crate::error::Error;
use crate::places::Places;
use faultline_model::lens::types::LensTypes;
use faultline_model::record::RunId;
use faultline_stats::lens::TypesError;

/// The types of a lens run, or those that are asked for, at `cpus` or at each case's greatest number of CPUs. Fails if there is no such run, if
/// it has no figures by type, or if nothing of a type moved.
pub fn types(run: RunId, asked: &[String], cpus: Option<u32>, places: &Places) -> Result<LensTypes, Error> {
    let record = under_lens(run, places)?;
    faultline_stats::lens::types(&record, asked, cpus).map_err(|error| Error::usage(error.to_string(), hint(&error)))
}

fn hint(error: &TypesError) -> String {
    match error {
        TypesError::NoSuchCount { .. } => "`faultline show` lists the run's numbers of CPUs".to_owned(),
        TypesError::NoFigures { .. } => "`faultline show` tells why".to_owned(),
        TypesError::NoSuchType { known, .. } if known.is_empty() => "no type is known of what moved".to_owned(),
        TypesError::NoSuchType { known, .. } => {
            format!("`faultline lens types RUN` lists them: {}, …", known.join(", "))
        }
        TypesError::NotCounted { .. } => "an older version counted it; count it again".to_owned(),
    }
}
