//! What measures the commits of a history: results of different machines are not comparable.

use crate::error::Error;
use crate::installed::without_kernel;
use crate::lab::Lab;
use crate::lens::programs_of;
use crate::target::emulator_version;
use faultline_model::artefact::{Artefact, BuiltKernel};
use faultline_model::facts::Facts;
use faultline_model::line_host::LineHost;
use faultline_model::machine::Machine;
use faultline_model::plan::LineMeasure;
use faultline_targets::Target;

/// What measures commits.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuringMachine {
    /// What tells it apart: values of another one are not comparable. For time, the host and its CPUs, and in guests also the
    /// emulator and the programs that kernels run; for counts, which no host changes, the
    /// emulator, and the programs that kernels run.
    pub name: String,
    /// Facts of the host on which time is measured; `None` of counts.
    pub facts: Option<Facts>,
}

/// The machine that measures time, or counts, of what builds leave. `on`: the host on which time is measured, if it is not this one. Fails if it is not available, or if the workload of a kernel does not exist.
pub fn measuring_machine(
    measure: &LineMeasure,
    artefact: &Artefact,
    on: Option<&LineHost>,
    lab: &Lab<'_>,
) -> Result<MeasuringMachine, Error> {
    match measure {
        LineMeasure::Timed(_) => {
            if let (None, Some(kernel)) = (on, artefact.kernel()) {
                return guests(kernel, lab);
            }
            let machine = on.map_or(Machine::Host, |on| Machine::Ssh(on.host.clone()));
            let facts = lab.machines.ready(&machine, lab.places, lab.stop)?.target.facts();
            let name = host_and_cpus(&facts).join(", ");
            // A kernel that is installed belongs to its commit.
            let is_installed = on.is_some_and(LineHost::is_installed);
            let facts = if is_installed { without_kernel(facts) } else { facts };
            Ok(MeasuringMachine { name, facts: Some(facts) })
        }
        LineMeasure::Counted(_) => {
            let emulator = lab.machines.lens_emulator(lab.places)?;
            let name = match artefact.kernel() {
                Some(kernel) => format!("{emulator}, {}", programs_of(kernel, lab.places)?),
                None => emulator,
            };
            Ok(MeasuringMachine { name, facts: None })
        }
    }
}

/// Guests on this host, in which time is measured.
fn guests(kernel: &BuiltKernel, lab: &Lab<'_>) -> Result<MeasuringMachine, Error> {
    let facts = lab.places.bare_host().facts();
    let mut name = host_and_cpus(&facts);
    name.extend([emulator_version(lab.places)?, programs_of(kernel, lab.places)?]);
    Ok(MeasuringMachine { name: name.join(", "), facts: Some(facts) })
}

/// The name of a host, and what its CPUs are.
fn host_and_cpus(facts: &Facts) -> Vec<String> {
    ["host.name", "cpu.model"].into_iter().filter_map(|key| facts.get_text(key).map(str::to_owned)).collect()
}
