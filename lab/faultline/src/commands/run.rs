//! `faultline run`

use super::measuring;
use crate::arguments::Run;
use crate::failure::Failure;
use crate::places;
use faultline_experiment::install::InstallRequest;
use faultline_experiment::{RunRequest, TreeRequest};
use faultline_model::machine::Machine;
use faultline_model::role::Role;
use faultline_runner::Request;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn run(arguments: &Run, db: Option<&Path>) -> Result<ExitCode, Failure> {
    let conduct = &arguments.conduct;
    let request = RunRequest {
        request: Request {
            workloads: arguments.workloads_chosen.clone(),
            copies: arguments.copies,
            ..measuring::request(&arguments.measuring, conduct)
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
    let places = places::for_measuring(conduct, db)?;
    let concluded = measuring::conduct(conduct, &places, |lab| faultline_experiment::run(&request, lab))?;
    Ok(measuring::status(concluded.as_ref()))
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
