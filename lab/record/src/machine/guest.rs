//! A guest in QEMU, which boots a Linux kernel for each execution and can count with the lens:
//! `qemu:cpus=8,sockets=2,memory=2G,kernel=FILE,boot_limit=90s,accel=kvm,append=PARAMETER`.

use super::text::{
    APPEND, ShapeKeys, accelerator_named, limit, pairs, parts, written, written_limit, written_path, written_shape,
};
use super::{Accelerator, Joined, Kind, Machine, MachineKind, MachineShape};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

pub(super) const KIND: Kind = Kind {
    word: "qemu",
    summary: "qemu:KEY=VALUE,…",
    help: "A guest, qemu:KEY=VALUE,…, is an emulated machine that boots for each execution. Its \
           rates are the emulator's, not those of any hardware. Keys: cpus=N; sockets=N, each a \
           NUMA node; memory=2G; kernel=FILE [default: FAULTLINE_KERNEL, otherwise the newest in \
           /boot, otherwise the one that `make kernel` unpacked]; append=PARAMETER for the \
           kernel, repeatable; boot_limit=90s; accel=kvm to use the host's CPUs. Write a comma in \
           a value twice.",
    example: Some("qemu:cpus=8,sockets=2"),
    parse: |keys| Ok(Machine::Qemu(Guest::parse(keys)?)),
};

/// Default limit for the time without output of a booting kernel. A whole boot of a stock kernel
/// takes 5 s with one CPU and 16 s with 64, on two real CPUs, and several times as long if those
/// are busy.
const BOOT_LIMIT: Duration = Duration::from_secs(40);
const BOOT_LIMIT_PER_CPU: Duration = Duration::from_secs(1);

/// Default limit for the time without output of a booting kernel, with that many CPUs.
pub fn usual_boot_limit(cpus: u32) -> Duration {
    BOOT_LIMIT + BOOT_LIMIT_PER_CPU * cpus
}

/// Under the lens one CPU of the host runs all CPUs, in turns that get shorter with their number. A
/// boot of 32 CPUs took one minute.
const COUNTED_BOOT_LIMIT_PER_CPU: Duration = Duration::from_secs(8);

/// [`usual_boot_limit`] under the lens.
pub fn counted_boot_limit(cpus: u32) -> Duration {
    BOOT_LIMIT + COUNTED_BOOT_LIMIT_PER_CPU * cpus
}

/// A guest, as far as the user specified it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Guest {
    /// CPUs, sockets, memory.
    pub shape: MachineShape,
    /// The kernel's image; `None` for the newest of the distribution.
    pub kernel: Option<PathBuf>,
    /// Execution of its instructions.
    pub accelerator: Accelerator,
    /// Maximum time without output of the booting kernel.
    pub boot_limit: Duration,
    /// Parameters for the kernel's command line.
    pub parameters: Vec<String>,
}

impl Guest {
    fn parse(keys: &str) -> Result<Self, String> {
        let (mut shape, mut boot_limit) = (ShapeKeys::new(), None);
        let (mut kernel, mut accelerator, mut parameters) = (None, Accelerator::default(), Vec::new());
        for (key, value) in pairs(&parts(keys))? {
            match key {
                "kernel" => kernel = Some(PathBuf::from(value)),
                "boot_limit" => boot_limit = Some(limit(value)?),
                "accel" => accelerator = accelerator_named(value)?,
                APPEND => parameters.push(value.to_owned()),
                _ if shape.take(key, value)? => {}
                _ => {
                    return Err(format!(
                        "'{key}' is unknown; cpus, sockets, memory, kernel, boot_limit, accel or append"
                    ));
                }
            }
        }
        let shape = shape.shape()?;
        let boot_limit = boot_limit.unwrap_or_else(|| usual_boot_limit(shape.cpus()));
        Ok(Guest { shape, kernel, accelerator, boot_limit, parameters })
    }
}

impl MachineKind for Guest {
    fn boots_for_each_execution(&self) -> bool {
        true
    }

    fn guest(&self) -> Option<&Guest> {
        Some(self)
    }

    fn joined(&self) -> Option<Joined> {
        Some(Joined::Wires)
    }

    /// Complete: parsing it yields the same guest, if its kernel's path is UTF-8.
    fn written(&self) -> String {
        let kernel = self.kernel.as_ref().map(|kernel| format!(",kernel={}", written_path(kernel))).unwrap_or_default();
        let (shape, limit) = (written_shape(&self.shape), written_limit(self.boot_limit));
        let parameters: String =
            self.parameters.iter().map(|parameter| format!(",append={}", written(parameter))).collect();
        format!("{}:{shape}{kernel},boot_limit={limit},accel={}{parameters}", KIND.word, self.accelerator.word())
    }
}
