//! What measures the commits of a history: results of different machines are not comparable.

use crate::error::Error;
use crate::lab::Lab;
use faultline_model::facts::Facts;
use faultline_model::machine::Machine;
use faultline_model::plan::LineMeasure;

/// What measures commits.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuringMachine {
    /// What tells it apart: values of another one are not comparable. For time, this host and its CPUs; for counts, which no host changes, the emulator.
    pub name: String,
    /// Facts of the host on which time is measured; `None` of counts.
    pub facts: Option<Facts>,
}

/// The machine that measures time, or counts, of a program. Fails if it is not available.
pub fn measuring_machine(measure: &LineMeasure, lab: &Lab<'_>) -> Result<MeasuringMachine, Error> {
    match measure {
        LineMeasure::Timed(_) => {
            let facts = lab.machines.ready(&Machine::Host, lab.places, lab.stop)?.target.facts();
            let known = ["host.name", "cpu.model"].map(|key| facts.get_text(key).map(str::to_owned));
            let name = known.into_iter().flatten().collect::<Vec<_>>().join(", ");
            Ok(MeasuringMachine { name, facts: Some(facts) })
        }
        LineMeasure::Counted(_) => Ok(MeasuringMachine { name: lab.machines.lens_emulator(lab.places)?, facts: None }),
    }
}
