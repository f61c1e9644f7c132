//! `faultline try`

use super::{building, compare, measuring};
use crate::arguments::measuring::Measuring;
use crate::arguments::try_patches::Try;
use crate::failure::Failure;
use crate::places;
use faultline_experiment::USUAL_LEVEL;
use faultline_history::try_patches::TryRequest;
use faultline_model::plan::USUAL_MARGIN;
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn try_patches(arguments: &Try, db: Option<&Path>) -> Result<ExitCode, Failure> {
    let request = request(arguments)?;
    let places = places::for_measuring(&arguments.conduct, db)?;
    let concluded = measuring::conduct(&arguments.conduct, &places, |lab| {
        faultline_history::try_patches::try_patches(&request, lab)
    })?;
    Ok(measuring::status(concluded.as_ref()))
}

fn request(arguments: &Try) -> Result<TryRequest, Failure> {
    let measuring = Measuring {
        cpus: Some(vec![arguments.tasks]),
        repeats: arguments.repeats,
        time: arguments.time,
        pin: arguments.pin,
        ..Measuring::default()
    };
    Ok(TryRequest {
        repository: arguments.building.repository.clone(),
        work: arguments.building.work.clone(),
        on: arguments.on.clone(),
        patches: arguments.patches.clone(),
        recipe: building::recipe(&arguments.building)?,
        command: arguments.command.clone(),
        level: arguments.certainty.level.unwrap_or(USUAL_LEVEL),
        margin: arguments.certainty.margin.unwrap_or(USUAL_MARGIN),
        once: arguments.certainty.once,
        purpose: compare::purpose(arguments.gate, arguments.inconclusive.into()),
        measuring: measuring::request(&measuring, &arguments.conduct),
        seed: arguments.seed,
        label: arguments.label.clone(),
    })
}
