//! A declared host on which each build is installed before it is measured: the build is installed, the host reboots, its kernel is checked, and one workload
//! runs. Each execution has an installation and a boot of its own, so differences between boots are within its values.

use crate::error::Error;
use crate::failing_target::FailingTarget;
use crate::hosts::DeclaredHost;
use crate::install::{InstallRequest, bring_up, said};
use crate::lab::Lab;
use faultline_model::artefact::BuiltKernel;
use faultline_model::cell::Case;
use faultline_model::describe::WorkloadInfo;
use faultline_model::facts::Facts;
use faultline_model::line_host::LineHost;
use faultline_model::machine::{HostControl, Machine, SshHost};
use faultline_model::outcome::GuestFailure;
use faultline_model::plan::Timing;
use faultline_model::subject::{Subject, SubjectIndex};
use faultline_runner::lens::case_of_workload;
use faultline_runner::timing_of_case;
use faultline_targets::ssh::{self, FoundAgain, HostBoot, NotUp, SshPaths};
use faultline_targets::{Ending, Execution, StopFlag, Target, TargetError};
use std::cell::OnceCell;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// How often in succession the connection to a host may be lost without any execution that counts.
pub(crate) const MOST_CUTS: u32 = 3;

/// Beginnings of the keys of facts that belong to the kernel that is up, and so to the build and not to the host.
const OF_THE_KERNEL: [&str; 4] = ["boot.", "huge_pages.", "kernel.", "mitigation."];

/// The host.
pub(crate) struct InstallingHost {
    declared: DeclaredHost,
    kernel: BuiltKernel,
    release_file: String,
    paths: SshPaths,
    case: Case,
    timing: Timing,
    tasks: u32,
    workloads: Vec<WorkloadInfo>,
    facts: Facts,
    /// What was brought up last, if it has not been measured.
    up: Option<(SubjectIndex, Up)>,
}

/// A host after an installation.
enum Up {
    /// It is up with the build.
    Watched(Box<WatchedHost>),
    /// It is not, which is the build's result.
    Failing(FailingTarget),
}

impl Up {
    fn target(&self) -> &dyn Target {
        match self {
            Up::Watched(host) => host.as_ref(),
            Up::Failing(failing) => failing,
        }
    }
}

impl InstallingHost {
    /// Looks at the host as it is. Fails if it cannot be reached, has too few CPUs, or if the workload does not exist.
    pub(crate) fn open(
        on: &LineHost,
        release_file: &str,
        kernel: &BuiltKernel,
        tasks: u32,
        lab: &Lab<'_>,
    ) -> Result<Self, Error> {
        let machine = Machine::Ssh(on.host.clone());
        let target = lab.machines.ready(&machine, lab.places, lab.stop)?.target;
        let workloads = target.workloads().map_err(Error::target_as_usage)?;
        let case = case_of_workload(&kernel.workload, kernel.mode, &workloads)?;
        let timing = timing_of_case(&case, &workloads)?;
        let cpus = target.cpus().len();
        if tasks as usize > cpus {
            return Err(Error::usage(
                format!("{tasks} tasks need {tasks} CPUs, and {cpus} can be used on {}", on.host.destination()),
                "`cpus` in faultline.toml says how many tasks there are",
            ));
        }
        Ok(InstallingHost {
            declared: DeclaredHost { host: on.host.clone(), control: on.control.clone() },
            kernel: kernel.clone(),
            release_file: release_file.to_owned(),
            paths: lab.places.ssh_paths()?,
            case,
            timing,
            tasks,
            workloads,
            facts: without_kernel(target.facts()),
            up: None,
        })
    }

    /// The facts of the host that no build changes.
    pub(crate) fn facts(&self) -> Facts {
        self.facts.clone()
    }

    /// Its workloads.
    pub(crate) fn workloads(&self) -> &[WorkloadInfo] {
        &self.workloads
    }

    /// What is measured.
    pub(crate) fn case(&self) -> &Case {
        &self.case
    }

    /// For how long.
    pub(crate) fn timing(&self) -> Timing {
        self.timing
    }

    /// The machine on which a build is measured. Inner error, in words: there is nothing to install, which is a result of the build.
    pub(crate) fn machine(&self, directory: &Path) -> Result<Machine, String> {
        if !directory.join(&self.kernel.image).is_file() {
            return Err(format!("it leaves no file {}", self.kernel.image));
        }
        self.release(directory)?;
        Ok(Machine::Ssh(self.declared.host.clone()))
    }

    /// The release of the kernel of a build. Fails in words.
    fn release(&self, directory: &Path) -> Result<String, String> {
        let file = directory.join(&self.release_file);
        let text = std::fs::read_to_string(&file)
            .map_err(|error| format!("its file {} cannot be read: {error}", self.release_file))?;
        let release = text.trim();
        match release.is_empty() || release.contains(char::is_whitespace) {
            true => Err(format!("its file {} has no kernel's release", self.release_file)),
            false => Ok(release.to_owned()),
        }
    }

    /// The host with a subject installed: what was brought up before and has not been measured, otherwise it is installed, and the host reboots. A build that cannot
    /// be installed or does not boot has a target on which nothing can be executed. Fails if the build is not there any more, if the host cannot be reached, or on a stop.
    pub(crate) fn ready(
        &mut self,
        index: SubjectIndex,
        subject: &Subject,
        lab: &mut Lab<'_>,
    ) -> Result<&dyn Target, Error> {
        let up = match self.up.take() {
            Some((up, Up::Watched(host))) if up == index && host.is_up_again(lab)? => Up::Watched(host),
            _ => self.install(subject, lab)?,
        };
        Ok(self.up.insert((index, up)).1.target())
    }

    /// What was brought up has been measured.
    pub(crate) fn measured(&mut self) {
        self.up = None;
    }

    fn install(&self, subject: &Subject, lab: &mut Lab<'_>) -> Result<Up, Error> {
        let directory = PathBuf::from(subject.setup.directory.as_deref().unwrap_or_default());
        let artefact = directory.join(&self.kernel.image);
        let release = self.release(&directory).ok().filter(|_| artefact.is_file()).ok_or_else(|| {
            Error::failed(
                format!("the build {} is not there any more", directory.display()),
                "start a new run: it builds the commit again",
            )
        })?;
        let request = InstallRequest { artefact, release: Some(release) };
        let host = &self.declared.host;
        match bring_up(&self.declared, &request, lab)? {
            Ok(boot) => self.connected(boot, lab),
            Err(not_up @ NotUp::NotInstalled(_)) => {
                Ok(Up::Failing(FailingTarget::not_installed(self.tasks, said(&not_up, host).problem)))
            }
            Err(not_up @ (NotUp::NotBack { .. } | NotUp::OtherKernel { .. })) => {
                Ok(Up::Failing(FailingTarget::not_booted(self.tasks, said(&not_up, host).problem)))
            }
            // No fault of the build.
            Err(not_up) => Err(said(&not_up, host)),
        }
    }

    fn connected(&self, boot: HostBoot, lab: &Lab<'_>) -> Result<Up, Error> {
        let DeclaredHost { host, control } = self.declared.clone();
        let machine = Machine::Ssh(host.clone());
        let connect = || Ok(lab.machines.ready(&machine, lab.places, lab.stop)?.target);
        let look = || {
            let found = find_again((&host, &control), &boot.id, &self.paths, lab.stop);
            if lab.stop.is_set() { Err(Error::stopped()) } else { found }
        };
        let target = connect_again(connect, look)?;
        let Some(target) = target.filter(|target| target.facts().get_text("boot.id") == Some(&boot.id)) else {
            let why = format!("{} went down after its boot", host.destination());
            return Ok(Up::Failing(FailingTarget::not_booted(self.tasks, why)));
        };
        let paths = self.paths.clone();
        let watched = WatchedHost { target, boot: boot.id, host, control, paths, lost: OnceCell::new() };
        Ok(Up::Watched(Box::new(watched)))
    }
}

/// Connects, also if the connection is cut before anything has been executed. `look`: whether the same boot answers afterwards. `None`: another one does.
fn connect_again<T>(
    mut connect: impl FnMut() -> Result<T, Error>,
    mut look: impl FnMut() -> Result<FoundAgain, Error>,
) -> Result<Option<T>, Error> {
    for _ in 0..MOST_CUTS {
        if let Ok(connected) = connect() {
            return Ok(Some(connected));
        }
        if look()? == FoundAgain::OtherBoot {
            return Ok(None);
        }
    }
    connect().map(Some)
}

/// Looks for a host again whose connection was lost. `boot`: the identifier of its boot. Fails if it does not come back, or on a stop.
fn find_again(
    (host, control): (&SshHost, &HostControl),
    boot: &str,
    paths: &SshPaths,
    stop: &StopFlag,
) -> Result<FoundAgain, Error> {
    ssh::find_again((host, control), boot, paths, stop)?.map_err(|not_up| said(&not_up, host))
}

/// Waits until a host answers, and switches it off and on once if it does not. Fails if it does not come back, or on a stop.
pub fn await_host(on: &LineHost, lab: &Lab<'_>) -> Result<(), Error> {
    find_again((&on.host, &on.control), "", &lab.places.ssh_paths()?, lab.stop).map(drop)
}

/// The facts of a host that are the same whatever is installed.
pub(crate) fn without_kernel(mut facts: Facts) -> Facts {
    facts.0.retain(|key, _| !OF_THE_KERNEL.iter().any(|family| key.starts_with(family)));
    facts
}

/// A host that is up with a build. After an execution, and if the connection was lost, it is looked at again: a host that went down under a workload failed, and a
/// network that was cut did not.
struct WatchedHost {
    target: Box<dyn Target>,
    /// The identifier of its boot.
    boot: String,
    host: SshHost,
    control: HostControl,
    paths: SshPaths,
    /// Why it did not come back after the connection was lost, if it did not.
    lost: OnceCell<Error>,
}

impl WatchedHost {
    fn find_again(&self, stop: &StopFlag) -> Result<FoundAgain, Error> {
        find_again((&self.host, &self.control), &self.boot, &self.paths, stop)
    }

    /// Whether the same boot answers, after an execution that did not count. Fails if none does, or on a stop.
    fn is_up_again(&self, lab: &Lab<'_>) -> Result<bool, Error> {
        match self.lost.get() {
            Some(error) => Err(error.clone()),
            None => Ok(self.find_again(lab.stop)? == FoundAgain::SameBoot),
        }
    }

    /// How an execution ended, given what is known of the host after it.
    fn after(&self, ending: Ending, stop: &StopFlag) -> Ending {
        let said = match &ending {
            Ending::ConnectionLost { text } => text.clone(),
            _ => "another boot answers".to_owned(),
        };
        match self.find_again(stop) {
            Ok(FoundAgain::SameBoot) => ending,
            Ok(FoundAgain::OtherBoot) => Ending::GuestFailed {
                failure: GuestFailure::Lost,
                text: format!("{} went down while it ran: {said}", self.host.destination()),
                console: String::new(),
            },
            Err(_) if stop.is_set() => Ending::Stopped,
            Err(error) => {
                let text = error.problem.clone();
                // An execution that did not count is the last one.
                let _ = self.lost.set(error);
                Ending::ConnectionLost { text }
            }
        }
    }
}

impl Target for WatchedHost {
    fn facts(&self) -> Facts {
        self.target.facts()
    }

    fn workloads(&self) -> Result<Vec<WorkloadInfo>, TargetError> {
        self.target.workloads()
    }

    fn cpus(&self) -> &[u32] {
        self.target.cpus()
    }

    fn execute(
        &self,
        execution: &Execution,
        sink: &mut (dyn FnMut(&[u8]) -> ControlFlow<()> + '_),
        stop: &StopFlag,
    ) -> Ending {
        match self.target.execute(execution, sink, stop) {
            ending @ (Ending::Stopped | Ending::Refused | Ending::LeftChanged { .. }) => ending,
            ending => self.after(ending, stop),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut() -> Error {
        Error::failed("the connection was cut".to_owned(), String::new())
    }

    /// What comes of a host that connects at the given try, and how often it was looked for.
    fn connected(at: u32, mut look: impl FnMut() -> Result<FoundAgain, Error>) -> (Result<Option<u32>, Error>, u32) {
        let (mut tries, mut looks) = (0, 0);
        let connect = || {
            tries += 1;
            if tries >= at { Ok(tries) } else { Err(cut()) }
        };
        let counted_look = || {
            looks += 1;
            look()
        };
        (connect_again(connect, counted_look), looks)
    }

    #[test]
    fn a_connection_that_is_cut_before_an_execution_is_made_again_a_few_times() {
        let same = || Ok(FoundAgain::SameBoot);
        assert_eq!(connected(1, same), (Ok(Some(1)), 0));
        assert_eq!(connected(1 + MOST_CUTS, same), (Ok(Some(1 + MOST_CUTS)), MOST_CUTS));
        assert_eq!(connected(2 + MOST_CUTS, same), (Err(cut()), MOST_CUTS));
    }

    #[test]
    fn a_host_that_went_down_or_is_gone_is_not_connected_to_again() {
        assert_eq!(connected(2, || Ok(FoundAgain::OtherBoot)), (Ok(None), 1));
        let gone = || Error::failed("it did not come back".to_owned(), String::new());
        assert_eq!(connected(2, || Err(gone())), (Err(gone()), 1));
    }
}
