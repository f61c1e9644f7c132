//! Installs something on a declared host, reboots it, and waits for it, before it is measured.

use crate::error::Error;
use crate::hosts::{DeclaredHost, Hosts};
use crate::lab::Lab;
use crate::observer::Notice;
use faultline_model::machine::{Machine, SshHost};
use faultline_targets::ssh::{self, BringUp, HostBoot, NotUp};
use std::path::PathBuf;

/// What is to be installed on a host before it is measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstallRequest {
    /// The file.
    pub artefact: PathBuf,
    /// The release of the kernel that is to boot (`uname -r`); any if `None`.
    pub release: Option<String>,
}

/// Installs a file on a machine, reboots it, and waits until it is back. Fails if the machine is not a declared host that says how to install, or if it does not
/// come up with what is wanted.
pub fn install(request: &InstallRequest, machine: &Machine, lab: &mut Lab<'_>) -> Result<HostBoot, Error> {
    let Machine::Ssh(named) = machine else {
        return Err(Error::usage(
            format!("{machine} gets nothing installed"),
            "a host over SSH does: `--on ssh:NAME`, where faultline.toml declares `[host.NAME]`",
        ));
    };
    let hosts = Hosts::read(lab.places)?;
    let declared = hosts.named(named).ok_or_else(|| {
        let hint = format!("`[host.{}]` in faultline.toml with `ssh` and `install` does", named.host());
        Error::usage(format!("nothing says how to install on {}", named.destination()), hint)
    })?;
    let DeclaredHost { host, control } = declared;
    if control.install.is_empty() {
        return Err(Error::usage(
            format!("`[host.{}]` does not say how to install", named.host()),
            format!("for example `install = [\"dpkg\", \"-i\", \"{}\"]`", ssh::ARTEFACT),
        ));
    }
    bring_up(declared, request, lab)?.map_err(|not_up| said(&not_up, host))
}

/// The same for a declared host that says how to install. Fails if that is impossible here, or on a stop; the inner error says why the host is not up.
pub fn bring_up(
    declared: &DeclaredHost,
    request: &InstallRequest,
    lab: &mut Lab<'_>,
) -> Result<Result<HostBoot, NotUp>, Error> {
    let DeclaredHost { host, control } = declared;
    let asked = BringUp { host, control, artefact: &request.artefact, release: request.release.as_deref() };
    lab.observer.notice(&Notice::InstallingOnHost { host: host.destination(), artefact: request.artefact.clone() });
    let up = ssh::bring_up(&asked, &lab.places.ssh_paths()?, lab.stop).map_err(Error::target_as_usage)?;
    if lab.stop.is_set() { Err(Error::stopped()) } else { Ok(up) }
}

/// Why a host is not up, for people.
pub(crate) fn said(not_up: &NotUp, host: &SshHost) -> Error {
    let name = host.destination();
    match not_up {
        NotUp::Unreachable(why) => Error::usage(why.clone(), "nothing was installed"),
        NotUp::Stranger { problem, hint } => Error::usage(problem.clone(), hint.clone()),
        NotUp::CutOff(why) => Error::failed(
            format!("the connection to {name} was lost during the installation: {why}"),
            "install again: nothing is known of its end",
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
                None => "nothing declares how to switch it off and on".to_owned(),
                Some(Ok(())) => "switching it off and on did not help".to_owned(),
                Some(Err(why)) => format!("switching it off and on failed: {why}"),
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
