//! The machines of a subject's partners, the network between them, and the check that each required
//! role has one.

use crate::error::Error;
use crate::lab::Lab;
use faultline_record::cell::Case;
use faultline_record::describe::WorkloadInfo;
use faultline_record::machine::Machine;
use faultline_record::plan::PlanItem;
use faultline_record::role::Role;
use faultline_record::setup::Setup;
use faultline_record::subject::SubjectIndex;
use faultline_runner::SubjectTargets;
use faultline_targets::Target;
use faultline_targets::network::{FORWARDER, Network};

/// Partners of a subject, ready to run, and the network between them and the subject.
pub(crate) struct Partners {
    by_role: Vec<(Role, Box<dyn Target + Sync>)>,
    network: Option<Box<dyn Network>>,
}

impl Partners {
    /// The targets of the subject and its partners.
    pub(crate) fn beside<'a>(&'a self, measured: &'a dyn Target) -> SubjectTargets<'a> {
        let partners = self.by_role.iter().map(|(role, target)| (role.clone(), target.as_ref())).collect();
        SubjectTargets { partners, network: self.network.as_deref(), ..SubjectTargets::alone(measured) }
    }
}

/// Refuses machines without a common network, before they boot.
pub(crate) fn check_joined<'a>(
    measured: &Machine,
    partners: impl IntoIterator<Item = &'a Machine>,
    lab: &Lab<'_>,
) -> Result<(), Error> {
    let partners: Vec<&Machine> = partners.into_iter().collect();
    lab.machines.network(measured, &partners, lab.places, lab.stop).map(drop)
}

/// The items of a subject.
#[derive(Clone, Copy)]
pub(crate) struct Planned<'a> {
    /// The items of all subjects.
    pub(crate) items: &'a [PlanItem],
    /// The subject.
    pub(crate) subject: SubjectIndex,
    /// The workloads in the saved run.
    pub(crate) workloads: &'a [WorkloadInfo],
}

impl<'a> Planned<'a> {
    /// Each planned case with its workload.
    fn cases(self) -> impl Iterator<Item = (&'a Case, &'a WorkloadInfo)> {
        let own = self.items.iter().filter(move |item| item.subject == self.subject);
        own.filter_map(move |item| {
            let case = &item.cell.case;
            Some((case, self.workloads.iter().find(|info| info.name == case.workload)?))
        })
    }

    /// Each planned case with each role of its workload.
    fn roles(self) -> impl Iterator<Item = (&'a Case, &'a Role)> {
        self.cases().flat_map(|(case, info)| info.all_roles().map(move |role| (case, role)))
    }

    /// Each planned case with each required role of its workload.
    fn needed(self) -> impl Iterator<Item = (&'a Case, &'a Role)> {
        self.cases().flat_map(|(case, info)| info.roles.iter().map(move |role| (case, role)))
    }

    /// Refuses roles without a partner and partners without a role. `setup`: of the subject.
    pub(crate) fn check(self, setup: &Setup) -> Result<(), Error> {
        if let Some((case, role)) = self.needed().find(|(_, role)| !setup.partners.contains_key(role)) {
            return Err(Error::usage(
                format!("{} needs a partner in the role {role}", case.workload),
                format!(
                    "say where it runs: `faultline run --partner {role}=host`; in a comparison, `partner.{role}=host` on both sides"
                ),
            ));
        }
        if let Some(forwarder) = setup.partners.keys().next().filter(|only| only.to_string() == FORWARDER)
            && setup.partners.len() == 1
        {
            return Err(Error::usage(
                format!("there is no end beyond the {forwarder}"),
                "say where that runs: `--partner receiver=MACHINE`",
            ));
        }
        match setup.partners.keys().find(|partner| self.roles().all(|(_, role)| role != *partner)) {
            Some(partner) => Err(Error::usage(
                format!("no selected workload has the role {partner}"),
                "remove that partner, or select a workload that needs it",
            )),
            None => Ok(()),
        }
    }

    /// Prepares the partners' machines and the network to the measured machine. Completes the
    /// setup, so the same machines can be created again. Fails if a machine is not available, lacks
    /// a workload, or cannot be connected.
    pub(crate) fn prepare(self, measured: &Machine, setup: &mut Setup, lab: &Lab<'_>) -> Result<Partners, Error> {
        let others: Vec<&Machine> = setup.partners.values().collect();
        let network = lab.machines.network(measured, &others, lab.places, lab.stop)?;
        let mut by_role = Vec::new();
        for (role, machine) in &mut setup.partners {
            let found = lab.machines.ready_partner(machine, lab.places, lab.stop)?;
            *machine = found.machine;
            self.check_workloads(role, found.target.as_ref())?;
            by_role.push((role.clone(), found.target));
        }
        Ok(Partners { by_role, network })
    }

    fn check_workloads(self, role: &Role, target: &dyn Target) -> Result<(), Error> {
        let there = target.workloads()?;
        let is_there = |case: &Case| {
            let info = there.iter().find(|info| info.name == case.workload && info.all_roles().any(|own| own == role));
            info.and_then(|info| info.variant(&case.variant)).is_some_and(|variant| variant.modes.contains(&case.mode))
        };
        match self.roles().find(|(case, own)| *own == role && !is_there(case)) {
            Some((case, _)) => Err(Error::usage(
                format!("the {role}'s machine does not have the workload {case}"),
                "`faultline run --list --on MACHINE` lists those that it has",
            )),
            None => Ok(()),
        }
    }
}
