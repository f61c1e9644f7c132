//! Paths: the default ones, replaced by those that the user named.

use crate::arguments::lens::Model;
use crate::arguments::{Conduct, WorkloadsPlace};
use crate::failure::Failure;
use faultline_experiment::Places;
use std::path::Path;

/// The default paths, with the named database. Fails if a default one cannot be determined.
pub(crate) fn found(db: Option<&Path>) -> Result<Places, Failure> {
    let places = Places::find()?;
    Ok(Places { database: db.map(Path::to_owned).or(places.database), ..places })
}

/// The same, with the named programs. Fails like [`found`].
pub(crate) fn with_programs(place: &WorkloadsPlace, db: Option<&Path>) -> Result<Places, Failure> {
    let places = found(db)?;
    Ok(Places {
        workloads: place.workloads.clone().or(places.workloads),
        guest: place.guest.clone().or(places.guest),
        emulator: place.qemu.clone().or(places.emulator),
        ..places
    })
}

/// Paths for measuring. Fails like [`found`].
pub(crate) fn for_measuring(conduct: &Conduct, db: Option<&Path>) -> Result<Places, Failure> {
    let places = with_programs(&conduct.place, db)?;
    Ok(Places { scratch: conduct.scratch.clone().unwrap_or(places.scratch), ..places })
}

/// Paths for counting under the lens. Fails like [`found`].
pub(crate) fn for_lens(conduct: &Conduct, model: &Model, db: Option<&Path>) -> Result<Places, Failure> {
    let places = for_measuring(conduct, db)?;
    Ok(Places { plugin: model.plugin.clone().or(places.plugin), ..places })
}
