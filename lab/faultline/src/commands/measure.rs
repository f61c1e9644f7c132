//! `faultline run`, `check` and `resume`: measurements of one subject.

use super::measuring::{self, places, places_to_measure, places_with_programs};
use super::result::write_text;
use crate::arguments::Global;
use crate::arguments::measure::{Check, Resume, Run};
use crate::failure::{self, Failure};
use crate::output;
use faultline_experiment::stored::{self, SubjectFacts};
use faultline_experiment::{
    CheckRequest, Concluded, Conclusion, InstallRequest, LocalMachines, Places, ResumeRequest, RunRequest, TreeRequest,
    find_run, hosts, operand,
};
use faultline_record::machine::Machine;
use faultline_record::record::RunId;
use faultline_record::role::Role;
use faultline_record::subject::Subject;
use faultline_report::Format;
use faultline_runner::Request;
use std::collections::BTreeMap;
use std::process::ExitCode;

pub(crate) fn run(arguments: &Run, global: &Global) -> Result<ExitCode, Failure> {
    if arguments.list {
        return list(arguments, global);
    }
    let conduct = &arguments.conduct;
    let request = RunRequest {
        command: command(arguments)?,
        request: Request {
            workloads: arguments.workloads_chosen.clone(),
            ends_at_failure: !arguments.program.is_empty() && !arguments.ignore_failure,
            ..measuring::request(&arguments.measuring, conduct)?
        },
        tree: tree(arguments),
        machine: arguments.machine.on.clone().unwrap_or_default(),
        install: arguments
            .install
            .clone()
            .map(|artefact| InstallRequest { artefact, release: arguments.release.clone() }),
        partners: partners(arguments)?,
        seed: arguments.measuring.seed,
        label: arguments.label.clone(),
        commit: arguments.commit.clone(),
    };
    let places = places_to_measure(conduct, global)?;
    hosts::check(request.partners.values().chain([&request.machine]), &places)?;
    let json = arguments.export.export_json.as_deref();
    json.map_or(Ok(()), output::check_file)?;
    let concluded = measuring::conduct(conduct, &places, |lab| faultline_experiment::run(&request, lab))?;
    let has_ended_early = |concluded: &Conclusion| match &concluded.what {
        Concluded::Figures(figures) => figures.progress.failed > 0 && figures.progress.skipped > 0,
        _ => false,
    };
    if request.request.ends_at_failure && concluded.as_ref().is_some_and(has_ended_early) {
        failure::warn(&"hint: the run ended with its first failure; `--ignore-failure` goes on");
    }
    if let Some((path, concluded)) = json.zip(concluded.as_ref()) {
        write_text(&exported(concluded.run(), &places)?, path)?;
    }
    Ok(measuring::status(concluded.as_ref()))
}

/// The command to measure, with what runs around it; `None` for workloads.
fn command(arguments: &Run) -> Result<Option<Subject>, Failure> {
    let Run { program, around, measuring, .. } = arguments;
    if program.is_empty() {
        measuring::refuse_around(around, measuring)?;
        if arguments.export.export_json.is_some() {
            return Err(measuring::only_for_commands("--export-json"));
        }
        if arguments.ignore_failure {
            return Err(measuring::only_for_commands("--ignore-failure"));
        }
        return Ok(None);
    }
    Ok(Some(measuring::around(around, measuring)?.command(program)?))
}

/// The executions of a run as hyperfine's JSON.
fn exported(run: RunId, places: &Places) -> Result<String, Failure> {
    let format = "hyperfine".parse().expect("it is a format");
    let operand = operand::resolve(&run.to_string(), None, places)?;
    let written = faultline_exchange::write(&operand.dataset(), format)
        .map_err(|error| Failure::new(format!("{}: {error}", operand.name), error.hint))?;
    Ok(written.files.into_iter().map(|(_, text)| text).collect())
}

/// Lists the workloads of a machine.
fn list(arguments: &Run, global: &Global) -> Result<ExitCode, Failure> {
    let places = places_with_programs(&arguments.conduct.place, global)?;
    let machine = arguments.machine.on.clone().unwrap_or_default();
    let infos = faultline_experiment::workloads(&machine, &LocalMachines, &places)?;
    output::print(&faultline_report::workloads(&infos, arguments.conduct.format, &output::style()))?;
    Ok(ExitCode::SUCCESS)
}

fn partners(arguments: &Run) -> Result<BTreeMap<Role, Machine>, Failure> {
    let mut partners = BTreeMap::new();
    for (role, machine) in &arguments.partners {
        if partners.insert(role.clone(), machine.clone()).is_some() {
            return Err(Failure::usage(format!("'--partner {role}=…' is given twice"), "a role has one partner"));
        }
    }
    Ok(partners)
}

fn tree(arguments: &Run) -> Option<TreeRequest> {
    Some(TreeRequest { directory: arguments.tree.clone()?, command: arguments.command.clone()? })
}

pub(crate) fn check(arguments: &Check, global: &Global) -> Result<ExitCode, Failure> {
    let conduct = &arguments.conduct;
    if let Some(run) = &arguments.facts {
        return facts(run.as_deref(), arguments, global);
    }
    let request = CheckRequest {
        workloads: arguments.workloads_chosen.clone(),
        time: arguments.time,
        limit_ms: conduct.limit_ms(),
        machine: arguments.machine.on.clone().unwrap_or_default(),
        seed: None,
    };
    let places = places_to_measure(conduct, global)?;
    hosts::check([&request.machine], &places)?;
    let concluded = measuring::conduct(conduct, &places, |lab| faultline_experiment::check(&request, lab))?;
    show_capabilities(conduct.format, &places)?;
    Ok(measuring::status(concluded.as_ref()))
}

/// Shows what works on this machine, below a table.
fn show_capabilities(format: Format, places: &Places) -> Result<(), Failure> {
    if format != Format::Table {
        return Ok(());
    }
    let capabilities = faultline_experiment::capabilities(places);
    output::print(&format!("\n{}", faultline_report::capabilities(&capabilities, &output::style())))
}

/// Shows the facts saved with a run, or those of a machine.
fn facts(run: Option<&str>, arguments: &Check, global: &Global) -> Result<ExitCode, Failure> {
    let conduct = &arguments.conduct;
    let facts = match (run, &arguments.machine.on) {
        (None, on) => {
            let places = places_with_programs(&conduct.place, global)?;
            faultline_experiment::facts(&on.clone().unwrap_or_default(), &LocalMachines, &places)?
        }
        (Some(_), Some(_)) => {
            return Err(Failure::usage(
                "`--facts RUN` shows saved facts, so `--on` does not apply",
                "`--facts` without a run shows the facts of a machine",
            ));
        }
        (Some(run), None) => {
            let SubjectFacts { run, facts, others } = stored::facts(run, &places(global)?)?;
            for other in others {
                failure::warn(&format!(
                    "these are the facts of side A; `faultline check --facts {run}@{other}` shows those of side {other}"
                ));
            }
            facts
        }
    };
    output::print(&faultline_report::facts(&facts, conduct.format, &output::style()))?;
    if run.is_none() && arguments.machine.on.is_none() {
        show_capabilities(conduct.format, &places_with_programs(&conduct.place, global)?)?;
    }
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn resume(arguments: &Resume, global: &Global) -> Result<ExitCode, Failure> {
    let conduct = &arguments.conduct;
    // A run continues as it was saved, whatever `faultline.toml` declares by now.
    let sandboxing = arguments.sandbox.choice();
    let places = Places { settings: None, sandboxing, ..places_to_measure(conduct, global)? };
    let run = arguments.run.as_deref().map(|run| find_run(run, &places)).transpose()?;
    let request = ResumeRequest { run, limit_ms: conduct.limit_ms(), jobs: arguments.jobs };
    let concluded = measuring::conduct(conduct, &places, |lab| faultline_history::resume(&request, lab))?;
    Ok(measuring::status(concluded.as_ref()))
}
