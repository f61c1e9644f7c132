//! `faultline bisect`

use super::{measuring, present};
use crate::arguments::bisect::Bisect;
use crate::failure::Failure;
use crate::places;
use faultline_history::bisect::BisectRequest;
use faultline_model::drill::{DrillSettings, Noise};
use faultline_model::plan::PinPolicy;
use faultline_model::recipe::Recipe;
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
        repository: arguments.repository.clone(),
        work: arguments.work.clone(),
        old: arguments.old.clone(),
        new: arguments.new.clone(),
        recipe: Recipe {
            command: arguments.build.as_deref().map_or(Ok(Vec::new()), words)?,
            environment: Vec::new(),
            limit_s: arguments.build_limit.as_secs().max(1),
            kept: arguments.keep.clone(),
            is_clean: arguments.clean,
        },
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

fn words(command: &str) -> Result<Vec<String>, Failure> {
    match shell_words::split(command) {
        Ok(words) if !words.is_empty() => Ok(words),
        Ok(_) => {
            Err(Failure::usage("the command that builds is empty", "leave out `--build` if nothing has to be built"))
        }
        Err(error) => Err(Failure::usage(
            format!("cannot split the command '{command}' into words: {error}"),
            "quote it as for a shell",
        )),
    }
}
