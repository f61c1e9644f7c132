//! Keys of subjects that are measured on a host over SSH, which the same file declares.

use super::release::ReleaseEntry;
use super::{Entry, Measure};
use crate::releases::UNAME;
use faultline_experiment::hosts::Hosts;
use faultline_model::line_host::LineHost;
use faultline_model::machine::Machine;
use std::path::Path;

impl Entry {
    /// The host to which programs are sent, if one is named. `directory`: where paths begin. Fails with the problem.
    pub(super) fn host(&self, directory: &Path, hosts: &Hosts) -> Result<Option<LineHost>, String> {
        let Some(on) = &self.on else { return Ok(None) };
        if matches!(self.measure, Some(Measure::Instructions | Measure::Transfers)) {
            return Err("`on` applies only to time: the lens counts in guests on this machine".to_owned());
        }
        let machine = on.parse::<Machine>().map_err(|problem| format!("`on`: {problem}"))?;
        let Machine::Ssh(named) = machine else {
            return Err(format!("`on` takes a declared host, `ssh:NAME`, not '{}'", on.escape_debug()));
        };
        let Some(declared) = hosts.named(&named) else {
            let names: Vec<&str> = hosts.names().collect();
            let there = if names.is_empty() { "none is declared".to_owned() } else { names.join(", ") };
            return Err(format!("`on`: `[host.{}]` is not declared in this file ({there})", named.host()));
        };
        declared.clone().of_line(&named, directory).map(Some).map_err(|error| format!("`on`: {error}"))
    }

    /// The host on which kernels are installed, if one is named. Fails with the problem.
    pub(super) fn installing_host(&self, directory: &Path, hosts: &Hosts) -> Result<Option<LineHost>, String> {
        let Some(on) = self.host(directory, hosts)? else {
            return match self.release_file {
                Some(_) => Err("`release_file` belongs to a kernel that is installed on a host: give `on`".to_owned()),
                None => Ok(None),
            };
        };
        if on.control.install.is_empty() {
            return Err(format!("`on`: `[host.{}]` does not say how to install; give it `install`", on.name));
        }
        let of_guests = [("vmlinux", self.vmlinux.is_some()), ("ops", self.ops.is_some())];
        if let Some((key, _)) = of_guests.into_iter().find(|(_, is_given)| *is_given) {
            return Err(format!("`{key}` does not apply to kernels that are installed on a host"));
        }
        if self.release.iter().any(ReleaseEntry::is_kernel) {
            return match self.release_file {
                Some(_) => {
                    Err("`release_file` does not apply to kernels that are there already: each release has `uname`"
                        .to_owned())
                }
                None => Ok(Some(LineHost { release_file: Some(UNAME.to_owned()), ..on })),
            };
        }
        let release_file = self.release_file.clone().ok_or_else(|| {
            "give `release_file`, a file of the build with the kernel's release, for example \
             \"include/config/kernel.release\": the kernel that boots is compared with it"
                .to_owned()
        })?;
        Ok(Some(LineHost { release_file: Some(release_file), ..on }))
    }
}
