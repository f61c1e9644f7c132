//! What a system is asked once, when it was reached: its CPUs, its facts, and how its workloads describe themselves.

use super::link::{Answer, Asked, FrameSink, Link, NoAnswer};
use super::reach::Reach;
use crate::agent::inquiry::{self, Heard};
use crate::agent::{Plan, Programs};
use crate::{StopFlag, TargetError};
use faultline_model::describe::WorkloadInfo;
use faultline_model::facts::Facts;
use std::ops::ControlFlow;
use std::time::Duration;

/// Time limit for facts, and every workload's description of itself.
const INQUIRY_LIMIT: Duration = Duration::from_secs(120);

/// What was found.
pub(super) struct Found {
    /// CPUs that programs may use, in the order in which tasks are placed on them; never empty.
    pub(super) cpus: Vec<u32>,
    /// Facts that the system says of itself.
    pub(super) facts: Facts,
    pub(super) workloads: Vec<WorkloadInfo>,
}

/// Whom to ask, and until when.
#[derive(Clone, Copy)]
pub(super) struct Asking<'a> {
    pub(super) reach: &'a Reach,
    pub(super) programs: &'a Programs,
    pub(super) stop: &'a StopFlag,
}

impl Asking<'_> {
    /// Does a plan, and passes on what comes of it. Fails if there is no answer.
    pub(super) fn ask(&self, link: Link, plan: &Plan, take: &mut FrameSink<'_>) -> Result<Link, TargetError> {
        let problem = match link.ask(&Asked { plan, limit: INQUIRY_LIMIT }, take, self.stop) {
            Ok((link, Answer::Done)) => return Ok(link),
            Ok((_, Answer::Failed(text) | Answer::LeftChanged(text))) | Err(NoAnswer::Lost(text)) => text,
            Ok((_, Answer::TimedOut)) => {
                format!("its facts and workloads took more than {} s", INQUIRY_LIMIT.as_secs())
            }
            Err(NoAnswer::Refused | NoAnswer::Stopped) => "stopped".to_owned(),
        };
        Err(TargetError {
            problem: format!("{} cannot be measured: {problem}", self.reach.destination()),
            hint: self.reach.hint_of_room().to_owned(),
        })
    }

    /// Asks for files and descriptions. Fails if there is no answer.
    pub(super) fn inquire(&self, link: Link, plan: &Plan) -> Result<(Link, Heard), TargetError> {
        let mut heard = Heard::default();
        let link = self.ask(link, plan, &mut |frame| {
            heard.take(frame);
            ControlFlow::Continue(())
        })?;
        Ok((link, heard))
    }

    /// Adds the commands that let each workload describe itself.
    pub(super) fn ask_workloads(&self, plan: &mut Plan, link: &Link) {
        inquiry::ask_workloads(plan, &format!("{}/workloads", link.directory()), &self.programs.programs);
    }

    /// The workloads, as they have described themselves. Fails if one did not.
    pub(super) fn workloads(&self, heard: &Heard) -> Result<Vec<WorkloadInfo>, TargetError> {
        heard.workloads("on the host").map_err(|error| TargetError { hint: self.programs.system.hint(), ..error })
    }

    /// It does not say how many CPUs it has.
    pub(super) fn no_cpus(&self, hint: &str) -> TargetError {
        TargetError {
            problem: format!("{} does not say which CPUs it has", self.reach.destination()),
            hint: hint.to_owned(),
        }
    }
}
