//! What measures the commits of a history: results of different machines are not comparable.

use crate::error::Error;
use crate::lab::Lab;
use faultline_model::machine::Machine;
use faultline_model::plan::LineMeasure;

/// What tells the machine apart that measures time, or counts, of a program: values of another one are not comparable. For time, this host and its CPUs; for
/// counts, which no host changes, the emulator. Fails if it is not available.
pub fn measuring_machine(measure: &LineMeasure, lab: &Lab<'_>) -> Result<String, Error> {
    match measure {
        LineMeasure::Timed(_) => {
            let facts = lab.machines.ready(&Machine::Host, lab.places, lab.stop)?.target.facts();
            let known = ["host.name", "cpu.model"].map(|key| facts.get_text(key).map(str::to_owned));
            Ok(known.into_iter().flatten().collect::<Vec<_>>().join(", "))
        }
        LineMeasure::Counted(_) => lab.machines.lens_emulator(lab.places),
    }
}
