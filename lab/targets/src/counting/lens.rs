//! The lens as targets have it: its plugin, the modelled machine, and the memory that a machine under it takes.

use super::MachineModel;
use super::report_file::ReportFile;
use crate::Plugin;
use crate::qemu::QemuMachine;
use std::path::PathBuf;

/// The lens: its plugin, and the modelled machine.
#[derive(Debug, Clone)]
pub struct Lens {
    /// The plugin's file.
    pub plugin: PathBuf,
    /// The machine, except for its number of CPUs.
    pub model: MachineModel,
    /// Directory for reports.
    pub scratch: PathBuf,
}

impl Lens {
    /// The plugin for a machine of `cpus` CPUs, for people: without a place for its report.
    pub(super) fn described(&self, cpus: u32, is_whole: bool) -> Plugin {
        self.model.plugin(&self.plugin, cpus, "REPORT", is_whole)
    }

    /// The plugin for a machine of `cpus` CPUs, and the place of its report. Fails, in words, if the machine cannot exist or there is no place for the report.
    pub(super) fn attached(&self, cpus: u32, is_whole: bool) -> Result<(Plugin, ReportFile), String> {
        let file = ReportFile::new(&self.scratch)?;
        let plugin = file.in_directory_of(self.model.plugin(&self.plugin, cpus, file.path(), is_whole));
        Ok((plugin, file))
    }
}

/// Memory that an emulator takes in addition to the guest's: its buffer for translated code, and the plugin's tables.
pub(super) const EMULATOR_BYTES: u64 = 1 << 30;

/// Memory of this host that the largest of these machines takes at most, in bytes.
pub(super) fn most_room_bytes(machines: &[QemuMachine]) -> u64 {
    let guest = machines.iter().map(|machine| machine.request().shape.memory_mib() << 20).max();
    EMULATOR_BYTES + guest.unwrap_or_default()
}
