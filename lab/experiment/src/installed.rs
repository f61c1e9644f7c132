//! A declared host that installs each build before measuring it: installs, reboots, checks the
//! kernel, and runs one workload. Each execution installs and boots again, so its value includes
//! differences between boots.

use crate::bench::{Bench, BlockPlace, FailingTarget, Sink, Stretched};
use crate::error::Error;
use crate::hosts;
use crate::lab::{Lab, Notice};
use crate::measure;
use faultline_record::artefact::{Artefact, BuiltKernel};
use faultline_record::cell::Cell;
use faultline_record::describe::WorkloadInfo;
use faultline_record::facts::Facts;
use faultline_record::machine::{ControlledHost, HostControl, Machine, SshHost};
use faultline_record::outcome::GuestFailure;
use faultline_record::plan::{PlanItem, Timing};
use faultline_record::subject::{Subject, SubjectIndex};
use faultline_runner::lens::case_of_workload;
use faultline_runner::{block_of_cell, timing_of_case};
use faultline_targets::ssh::{BringUp, FoundAgain, HostBoot, NotUp, SshPaths};
use faultline_targets::{Ending, Execution, StopFlag, Target, TargetError, lack, ssh};
use std::cell::OnceCell;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Maximum number of consecutive lost connections without an execution that counts.
pub(crate) const MOST_CUTS: u32 = 3;

/// Prefixes of the keys of facts that belong to the running kernel, and so to the build and not the
/// host.
const OF_THE_KERNEL: [&str; 4] = ["boot.", "huge_pages.", "kernel.", "mitigation."];

/// The host.
pub(crate) struct InstallingHost {
    on: ControlledHost,
    kernel: BuiltKernel,
    release_file: String,
    paths: SshPaths,
    cell: Cell,
    timing: Timing,
    workloads: Vec<WorkloadInfo>,
    facts: Facts,
    /// The installed build that has not been measured yet.
    up: Option<(SubjectIndex, Up)>,
}

/// A host after an installation.
enum Up {
    /// Running the build.
    Watched(Box<WatchedHost>),
    /// Not running, which is the build's result.
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
    /// Inspects the host. Fails if it cannot be reached, has too few CPUs, or lacks the workload.
    pub(crate) fn open(
        (on, release_file): (&ControlledHost, &str),
        kernel: &BuiltKernel,
        tasks: u32,
        lab: &Lab<'_>,
    ) -> Result<Self, Error> {
        let target = lab.machines.ready(&on.machine(), lab.places, lab.stop)?.target;
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
            on: on.clone(),
            kernel: kernel.clone(),
            release_file: release_file.to_owned(),
            paths: lab.places.ssh_paths()?,
            cell: Cell { case, tasks },
            timing,
            workloads,
            facts: without_kernel(target.facts()),
            up: None,
        })
    }

    /// The release of a build's kernel. Fails in words.
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

    /// The host with a subject installed, unless it is installed already and not measured. A build
    /// that cannot be installed or does not boot has a target that executes nothing. Fails if the
    /// build is gone, if the host cannot be reached, or on a stop.
    fn ready(&mut self, index: SubjectIndex, subject: &Subject, lab: &mut Lab<'_>) -> Result<&dyn Target, Error> {
        let up = match self.up.take() {
            Some((up, Up::Watched(host))) if up == index && host.is_up_again(lab)? => Up::Watched(host),
            _ => self.install(subject, lab)?,
        };
        Ok(self.up.insert((index, up)).1.target())
    }

    fn install(&self, subject: &Subject, lab: &mut Lab<'_>) -> Result<Up, Error> {
        let directory = PathBuf::from(subject.setup.directory.as_deref().unwrap_or_default());
        let artefact = directory.join(&self.kernel.image);
        let release = self.release(&directory).ok().filter(|_| artefact.is_file()).ok_or_else(|| {
            Error::failed(
                format!("the build {} no longer exists", directory.display()),
                "start a new run: it builds the commit again",
            )
        })?;
        let request = InstallRequest { artefact, release: Some(release) };
        let host = &self.on.host;
        match bring_up(&self.on, &request, lab)? {
            Ok(boot) => self.connected(boot, lab),
            Err(NotUp::NotInstalled(why)) if lack::said_in(&why).is_none() => {
                let problem = not_up_error(&NotUp::NotInstalled(why), host).problem;
                Ok(Up::Failing(FailingTarget::not_installed(self.cell.tasks, problem)))
            }
            Err(not_up @ (NotUp::NotBack { .. } | NotUp::OtherKernel { .. })) => {
                Ok(Up::Failing(FailingTarget::not_booted(self.cell.tasks, not_up_error(&not_up, host).problem)))
            }
            // Not a fault of the build.
            Err(not_up) => Err(not_up_error(&not_up, host)),
        }
    }

    fn connected(&self, boot: HostBoot, lab: &Lab<'_>) -> Result<Up, Error> {
        let machine = self.on.machine();
        let ControlledHost { host, control } = self.on.clone();
        let connect = || Ok(lab.machines.ready(&machine, lab.places, lab.stop)?.target);
        let look = || {
            let found = find_again((&host, &control), &boot.id, &self.paths, lab.stop);
            if lab.stop.is_set() { Err(Error::stopped()) } else { found }
        };
        let target = connect_again(connect, look)?;
        let Some(target) = target.filter(|target| target.facts().get_text("boot.id") == Some(&boot.id)) else {
            let why = format!("{} went down after its boot", host.destination());
            return Ok(Up::Failing(FailingTarget::not_booted(self.cell.tasks, why)));
        };
        let paths = self.paths.clone();
        let watched = WatchedHost { target, boot: boot.id, host, control, paths, lost: OnceCell::new() };
        Ok(Up::Watched(Box::new(watched)))
    }
}

impl Bench for InstallingHost {
    fn facts(&self) -> Facts {
        self.facts.clone()
    }

    fn workloads(&self) -> Result<Vec<WorkloadInfo>, Error> {
        Ok(self.workloads.clone())
    }

    /// Inner error: there is nothing to install.
    fn machine(&self, _: &Artefact, directory: &Path, _: &mut Lab<'_>) -> Result<Result<Machine, String>, Error> {
        if !directory.join(&self.kernel.image).is_file() {
            return Ok(Err(format!("it leaves no file {}", self.kernel.image)));
        }
        Ok(self.release(directory).map(|_| self.on.machine()))
    }

    fn block(&self, subjects: &[SubjectIndex], place: BlockPlace) -> Vec<PlanItem> {
        block_of_cell(subjects, (&self.cell, Some(self.timing)), (place.block, place.ordinal), place.seed)
    }

    /// Installs the build of each item and measures it. Fails if the host is lost.
    fn measure(&mut self, items: &[PlanItem], into: &mut Sink<'_>, lab: &mut Lab<'_>) -> Result<Stretched, Error> {
        for item in items {
            let target = match self.ready(item.subject, into.subject(item.subject)?, lab) {
                Ok(target) => target,
                Err(error) if error == Error::stopped() || lab.stop.is_set() => return Ok(Stretched::Stopped),
                Err(error) => return Err(measure::host_lost(error.problem, into.head)),
            };
            match into.stretch((target, None), std::slice::from_ref(item), lab)? {
                Stretched::ToTheEnd => self.up = None,
                ended => return Ok(ended),
            }
        }
        Ok(Stretched::ToTheEnd)
    }
}

/// Connects, and retries if the connection is cut before an execution. `look`: checks whether the
/// same boot answers. `None`: another boot does.
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

/// Looks for a host after its connection was lost. `boot`: its boot id. Fails if it does not come
/// back, or on a stop.
fn find_again(
    (host, control): (&SshHost, &HostControl),
    boot: &str,
    paths: &SshPaths,
    stop: &StopFlag,
) -> Result<FoundAgain, Error> {
    ssh::find_again((host, control), boot, paths, stop)?.map_err(|not_up| not_up_error(&not_up, host))
}

/// Waits until a host answers, and power-cycles it once if it does not. Fails if it does not come
/// back, or on a stop.
pub fn await_host(on: &ControlledHost, lab: &Lab<'_>) -> Result<(), Error> {
    find_again((&on.host, &on.control), "", &lab.places.ssh_paths()?, lab.stop).map(drop)
}

/// The facts of a host that do not depend on the installed build.
pub(crate) fn without_kernel(mut facts: Facts) -> Facts {
    facts.0.retain(|key, _| !OF_THE_KERNEL.iter().any(|family| key.starts_with(family)));
    facts
}

/// A host that runs a build. It is checked after each execution and after a lost connection: a host
/// that went down failed, a cut network did not.
struct WatchedHost {
    target: Box<dyn Target>,
    /// Its boot id.
    boot: String,
    host: SshHost,
    control: HostControl,
    paths: SshPaths,
    /// The reason why it did not come back after a lost connection.
    lost: OnceCell<Error>,
}

impl WatchedHost {
    fn find_again(&self, stop: &StopFlag) -> Result<FoundAgain, Error> {
        find_again((&self.host, &self.control), &self.boot, &self.paths, stop)
    }

    /// True if the same boot answers after an execution that did not count. Fails if none does, or
    /// on a stop.
    fn is_up_again(&self, lab: &Lab<'_>) -> Result<bool, Error> {
        match self.lost.get() {
            Some(error) => Err(error.clone()),
            None => Ok(self.find_again(lab.stop)? == FoundAgain::SameBoot),
        }
    }

    /// The end of an execution, given the state of the host after it.
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
                // No execution follows one that did not count.
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

/// A file to install on a host before measuring it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstallRequest {
    /// The file.
    pub artefact: PathBuf,
    /// The release of the kernel that must boot (`uname -r`); any if `None`.
    pub release: Option<String>,
}

/// Installs a file on a machine, reboots it, and waits for it. Fails if the machine is not a
/// declared host with an install command, or if it does not come up as expected.
pub fn install(request: &InstallRequest, machine: &Machine, lab: &mut Lab<'_>) -> Result<HostBoot, Error> {
    let Some(named) = machine.ssh_host() else {
        return Err(Error::usage(
            format!("{machine} does not support installation"),
            "a host over SSH does: `--on ssh:NAME`, where faultline.toml declares `[host.NAME]`",
        ));
    };
    let declared = hosts::declared(named, lab.places)?.ok_or_else(|| {
        let hint = format!("`[host.{}]` in faultline.toml, with `ssh` and `install`, declares one", named.host());
        Error::usage(format!("no `install` command is declared for {}", named.destination()), hint)
    })?;
    let ControlledHost { host, control } = &declared;
    if control.install.is_empty() {
        return Err(Error::usage(
            format!("`[host.{}]` does not say how to install", named.host()),
            format!("for example `install = [\"dpkg\", \"-i\", \"{}\"]`", ssh::ARTEFACT),
        ));
    }
    bring_up(&declared, request, lab)?.map_err(|not_up| not_up_error(&not_up, host))
}

/// Installs a file on a declared host. Fails if that is impossible here, or on a stop. Inner error:
/// the reason why the host is not up.
pub fn bring_up(
    declared: &ControlledHost,
    request: &InstallRequest,
    lab: &mut Lab<'_>,
) -> Result<Result<HostBoot, NotUp>, Error> {
    let ControlledHost { host, control } = declared;
    let asked = BringUp { host, control, artefact: &request.artefact, release: request.release.as_deref() };
    lab.observer.notice(&Notice::InstallingOnHost { host: host.destination(), artefact: request.artefact.clone() });
    let up = ssh::bring_up(&asked, &lab.places.ssh_paths()?, lab.stop).map_err(Error::target_as_usage)?;
    if lab.stop.is_set() { Err(Error::stopped()) } else { Ok(up) }
}

/// The error for a host that is not up.
pub(crate) fn not_up_error(not_up: &NotUp, host: &SshHost) -> Error {
    let name = host.destination();
    match not_up {
        NotUp::Unreachable(why) => Error::usage(why.clone(), "nothing was installed"),
        NotUp::Stranger { problem, hint } => Error::usage(problem.clone(), hint.clone()),
        NotUp::CutOff(why) => Error::failed(
            format!("the connection to {name} was lost during the installation: {why}"),
            "install again: its result is unknown",
        ),
        NotUp::NotInstalled(why) => {
            Error::failed(format!("the installation on {name} failed: {why}"), "the host was not rebooted")
        }
        NotUp::NotRebooted(why) => Error::failed(
            format!("{name} could not be rebooted: {why}"),
            "`reboot = […]` in `[host.NAME]` names another command",
        ),
        NotUp::NotBack { limit, power_cycled } => {
            let cycled = match power_cycled {
                None => "no `power_cycle` is declared".to_owned(),
                Some(Ok(())) => "power-cycling it did not help".to_owned(),
                Some(Err(why)) => format!("power-cycling it failed: {why}"),
            };
            Error::failed(
                format!("{name} did not come back within {} s; {cycled}", limit.as_secs_f64()),
                "`back_limit` and `power_cycle` in `[host.NAME]` say how long to wait, and what to do then",
            )
        }
        NotUp::OtherKernel { expected, found } => Error::failed(
            format!("{name} booted {found} instead of {expected}"),
            "the installation must make the new kernel the one that boots",
        ),
        NotUp::Stopped => Error::stopped(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut() -> Error {
        Error::failed("the connection was cut".to_owned(), String::new())
    }

    /// The result of connecting to a host that accepts the given try, and the number of checks.
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
