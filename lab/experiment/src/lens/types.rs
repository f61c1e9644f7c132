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
        TypesError::NoSuchCount { run, .. } => format!("`faultline show {run}` lists the run's numbers of CPUs"),
        TypesError::NoFigures { run } => format!("`faultline show {run}` tells why"),
        TypesError::NoSuchType { known, .. } if known.is_empty() => "no type is known of what moved".to_owned(),
        TypesError::NoSuchType { run, known, .. } => {
            format!("`faultline lens types {run}` lists them: {}, …", known.join(", "))
        }
        TypesError::NotCounted { .. } => "an older version counted it; count it again".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_name_the_run() {
        let no_type = |known: &[&str]| {
            let known = known.iter().map(|&name| name.to_owned()).collect();
            hint(&TypesError::NoSuchType { run: 7, name: "x".to_owned(), known })
        };
        assert_eq!(no_type(&["mm_struct", "zone"]), "`faultline lens types 7` lists them: mm_struct, zone, …");
        assert_eq!(no_type(&[]), "no type is known of what moved");
        assert_eq!(hint(&TypesError::NoFigures { run: 7 }), "`faultline show 7` tells why");
    }
}
