//! Values that complete an argument: workloads, runs and labels, from the programs and the database. If these cannot be read, there are no candidates, and
//! never an error.

use clap_complete::engine::{
    ArgValueCandidates, ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter,
};
use faultline_experiment::{LocalMachines, Places, stored};
use faultline_model::machine::Machine;
use faultline_model::record::RunLine;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::PathBuf;

/// Completes a workload: `NAME` and `NAME:VARIANT`.
pub(crate) fn workload() -> ArgValueCandidates {
    ArgValueCandidates::new(workloads)
}

/// Completes a run: numbers and labels.
pub(crate) fn run() -> ArgValueCandidates {
    ArgValueCandidates::new(runs)
}

/// Completes anything that can be compared or exported: runs, workloads, files.
pub(crate) fn anything() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let begins = |candidate: &CompletionCandidate| {
            candidate.get_value().as_encoded_bytes().starts_with(current.as_encoded_bytes())
        };
        let known = runs().into_iter().chain(workloads()).filter(begins);
        known.chain(PathCompleter::any().complete(current)).collect()
    })
}

fn workloads() -> Vec<CompletionCandidate> {
    let Some(places) = named_places() else { return Vec::new() };
    let infos = faultline_experiment::workloads(&Machine::Host, &LocalMachines, &places).unwrap_or_default();
    let candidate = |name: String, help: &str| CompletionCandidate::new(name).help(Some(help.to_owned().into()));
    let of_one = infos.iter().flat_map(|info| {
        let variants =
            info.variants.iter().map(|variant| candidate(format!("{}:{}", info.name, variant.name), &variant.text));
        std::iter::once(candidate(info.name.clone(), &info.summary)).chain(variants)
    });
    of_one.collect()
}

fn runs() -> Vec<CompletionCandidate> {
    let Some(places) = named_places() else { return Vec::new() };
    let lines = stored::runs(&places).unwrap_or_default();
    let about =
        |line: &RunLine| line.label.clone().or_else(|| line.suite.clone()).unwrap_or_else(|| line.machine.clone());
    let numbers = lines.iter().map(|line| CompletionCandidate::new(line.id.to_string()).help(Some(about(line).into())));
    let labels: BTreeSet<&String> = lines.iter().filter_map(|line| line.label.as_ref()).collect();
    numbers.chain(labels.into_iter().map(CompletionCandidate::new)).collect()
}

/// The paths in the environment. Options of the line are ignored.
fn named_places() -> Option<Places> {
    let database = std::env::var_os("FAULTLINE_DB").map(PathBuf::from);
    let places = Places::find().ok()?;
    let workloads = std::env::var_os("FAULTLINE_WORKLOADS").map(PathBuf::from);
    Some(Places { database: database.or(places.database), workloads: workloads.or(places.workloads), ..places })
}
