//! `faultline bisect`

use super::{measuring, present};
use crate::arguments::bisect::Bisect;
use crate::failure::{self, Failure};
use crate::{output, places};
use faultline_experiment::{Concluded, Conclusion};
use faultline_history::bisect::BisectRequest;
use faultline_model::drill::gate::DrillGate;
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
    Ok(match &concluded {
        None => failure::stopped(),
        Some(conclusion) if is_refused(conclusion, arguments) || nothing_said(conclusion) => failure::some_failed(),
        Some(_) => ExitCode::SUCCESS,
    })
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

/// Whether an end of the line cannot be measured.
fn nothing_said(conclusion: &Conclusion) -> bool {
    matches!(&conclusion.what, Concluded::Drill(drill) if drill.unusable_end.is_some())
}

/// Whether a gate was asked for, and is closed. What it found goes to standard error, as standard output has what the search found.
fn is_refused(conclusion: &Conclusion, arguments: &Bisect) -> bool {
    let (Concluded::Drill(found), Some(search)) = (&conclusion.what, conclusion.head.settings.drill()) else {
        return false;
    };
    if !arguments.gate {
        return false;
    }
    let gate = DrillGate::of(found, &search.search, arguments.inconclusive.into());
    failure::warn(&faultline_report::drill_gate(&gate, &search.line, &output::style()).trim_end());
    !gate.is_open()
}
