//! What measures the commits of a history: results of different machines are not comparable.

use crate::error::Error;
use crate::installed::without_kernel;
use crate::lab::Lab;
use crate::lens::programs_of;
use faultline_model::artefact::Artefact;
use faultline_model::facts::Facts;
use faultline_model::line_host::LineHost;
use faultline_model::machine::Machine;
use faultline_model::plan::LineMeasure;

/// What measures commits.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuringMachine {
    /// What tells it apart: values of another one are not comparable. For time, this host and its CPUs; for counts, which no host changes, the
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
            let machine = on.map_or(Machine::Host, |on| Machine::Ssh(on.host.clone()));
            let facts = lab.machines.ready(&machine, lab.places, lab.stop)?.target.facts();
            let known = ["host.name", "cpu.model"].map(|key| facts.get_text(key).map(str::to_owned));
            let name = known.into_iter().flatten().collect::<Vec<_>>().join(", ");
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
