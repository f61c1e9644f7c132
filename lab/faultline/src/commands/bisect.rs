//! `faultline bisect`

use super::{building, measuring, present};
use crate::arguments::bisect::Bisect;
use crate::failure::Failure;
use crate::places;
use faultline_history::bisect::BisectRequest;
use faultline_model::drill::{DrillSettings, Noise};
use faultline_model::plan::PinPolicy;
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn bisect(arguments: &Bisect, db: Option<&Path>) -> Result<ExitCode, Failure> {
    let conduct = &arguments.conduct;
    if conduct.output.is_some() {
        return Err(present::no_page());
    }
    let places = places::for_measuring(conduct, db)?;
    let request = request(arguments)?;
    let concluded = measuring::conduct(conduct, &places, |lab| faultline_history::bisect::bisect(&request, lab))?;
    Ok(measuring::status(concluded.as_ref()))
}

fn request(arguments: &Bisect) -> Result<BisectRequest, Failure> {
    Ok(BisectRequest {
        repository: arguments.building.repository.clone(),
        work: arguments.building.work.clone(),
        old: arguments.old.clone(),
        new: arguments.new.clone(),
        recipe: building::recipe(&arguments.building)?,
        command: arguments.command.clone(),
        search: DrillSettings {
            noise: Noise::Any,
            level: arguments.level,
            least: arguments.least,
            most_blocks: arguments.repeats,
            layouts: 0,
            thorough: arguments.thorough,
        },
        pin: arguments.pin.map_or(PinPolicy::Each, Into::into),
        tasks: arguments.tasks,
        limit_ms: arguments.conduct.limit_ms(),
        seed: arguments.seed,
        label: arguments.label.clone(),
        gate: arguments.gate.then(|| arguments.inconclusive.into()),
    })
}
