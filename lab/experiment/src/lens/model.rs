//! The modelled machine of a request, the kernel's image, and the guests.

use crate::error::Error;
use crate::lens::costs::MEASURED;
use crate::lens::request::{Gates, ModelRequest, UnderLens};
use crate::lens::{costs, gates};
use crate::places::Places;
use faultline_coherence::{CostTable, Costs, DelayTimes, Machine, Topology};
use faultline_record::lens::settings::{DelaySettings, LensAgain, LensSettings, Precision, SavedFile};
use faultline_record::machine::{Accelerator, Guest, MachineShape, usual_boot_limit};
use faultline_symbols::SymbolError;
use faultline_targets::counting::{MachineModel, Quanta};
use faultline_targets::qemu::{KernelImage, MachineRequest, Named};
use std::path::Path;

/// Far more than any workload needs to notice another CPU's progress.
const MOST_QUANTUM: u64 = 1 << 40;

/// See the plugin's README. The plugin refuses smaller ones too, but only after the machine
/// started.
const LEAST_QUANTUM_OF_TURNS: u64 = 500;

/// The machine, except for its number of CPUs. Fails if it is impossible.
pub(super) fn machine(model: &ModelRequest, places: &Places) -> Result<MachineModel, Error> {
    let (costs, precision) = costs(&model.costs, places)?;
    let delays = model.predicts.then(|| costs.delays.unwrap_or(DelayTimes::USUAL));
    let costs = CostTable { delays, ..costs };
    if let Some(caches) = model.caches {
        let one = Topology::new(1, 1, 1).map_err(|error| Error::usage(error.to_string(), "name other caches"))?;
        Machine::with(one, Costs::new(&costs.times), Some(caches)).map_err(|error| {
            Error::usage(
                error.to_string(),
                "for example `--cache 16384x16`, 1 MiB in sets of 16, or `--cache unbounded`",
            )
        })?;
    }
    let quanta = Quanta { contended: model.quantum, private: model.private_quantum };
    for quantum in [model.quantum, model.private_quantum].into_iter().flatten() {
        if quantum > MOST_QUANTUM {
            return Err(Error::usage(format!("a quantum of {quantum} is too long"), "use a few thousand at most"));
        }
    }
    if let (Some(contended), Some(private)) = (model.quantum, model.private_quantum)
        && private < contended
    {
        return Err(Error::usage(
            format!("the private quantum, {private}, is below the quantum, {contended}"),
            "it applies to threads without a recent transfer: make it the larger one",
        ));
    }
    Ok(MachineModel {
        sockets: model.sockets,
        cpus_per_cache: model.cpus_per_cache,
        costs,
        precision,
        caches: model.caches,
        quanta,
    })
}

/// The table of costs with that name; for the measured one its precision, if known. Fails if it
/// does not exist, or if the measured one cannot be read.
fn costs(name: &str, places: &Places) -> Result<(CostTable, Option<Precision>), Error> {
    if name == MEASURED {
        return costs::read(places);
    }
    CostTable::by_name(name).cloned().map(|table| (table, None)).ok_or_else(|| {
        let names: Vec<&str> = CostTable::presets().iter().map(|table| table.name.as_ref()).collect();
        Error::usage(
            format!("there is no cost table '{name}'"),
            format!("choose one of {}, {MEASURED}", names.join(", ")),
        )
    })
}

/// Refuses quanta that are impossible on a machine whose CPUs take turns.
pub(super) fn check_turns(model: &ModelRequest) -> Result<(), Error> {
    if let Some(quantum) = model.quantum.filter(|&quantum| quantum < LEAST_QUANTUM_OF_TURNS) {
        return Err(Error::usage(
            format!("a quantum of {quantum} is too short for a kernel"),
            format!("use at least {LEAST_QUANTUM_OF_TURNS}: a CPU's turn lasts at least one translation block"),
        ));
    }
    if model.private_quantum.is_some() {
        return Err(Error::usage(
            "a private quantum applies only to programs",
            "leave out `--private-quantum`; a kernel has only `--quantum`",
        ));
    }
    Ok(())
}

/// Data for a resume of any lens run: the counted file, the plugin, the machine's model beyond the
/// request, and the baseline.
pub(super) fn to_count_again(
    model: &MachineModel,
    subject: Option<SavedFile>,
    plugin: SavedFile,
    gates: &Gates,
) -> LensAgain {
    LensAgain {
        subject,
        delays: model.costs.delays.map(|times| delay_settings(times, model)),
        cache: model.caches,
        baseline: gates.baseline.map(|run| run.0),
        ..LensAgain::new(plugin, model.costs.times)
    }
}

/// The machine of a resumed run.
pub(super) fn again(settings: &LensSettings, again: &LensAgain) -> MachineModel {
    MachineModel {
        sockets: settings.sockets,
        cpus_per_cache: settings.cpus_per_cache,
        costs: CostTable {
            name: settings.costs.clone().into(),
            source: "saved with the run".into(),
            times: again.times,
            delays: again.delays.map(|delays| delays.times),
        },
        precision: again.delays.and_then(|delays| delays.precision),
        caches: again.cache,
        quanta: Quanta { contended: settings.quantum, private: settings.private_quantum },
    }
}

/// Settings for a model's times. Times not measured here are orders of magnitude.
fn delay_settings(times: DelayTimes, model: &MachineModel) -> DelaySettings {
    let is_measured = model.costs.name == MEASURED && times != DelayTimes::USUAL;
    DelaySettings { is_measured, times, precision: model.precision }
}

/// The saved settings of a request. `operations`: those of each task, if given.
pub(super) fn settings(model: &ModelRequest, gates: &Gates, operations: Option<u64>, again: LensAgain) -> LensSettings {
    LensSettings {
        sockets: model.sockets,
        cpus_per_cache: model.cpus_per_cache,
        costs: model.costs.clone(),
        operations_per_task: operations,
        quantum: model.quantum,
        private_quantum: model.private_quantum,
        budgets: gates.budgets.clone(),
        again: Box::new(again),
    }
}

/// The named image, or the default of this machine. Fails if there is none.
pub(super) fn image(named: Option<&Path>, places: &Places) -> Result<KernelImage, Error> {
    match named {
        Some(named) => KernelImage::open(named).map_err(|error| {
            Error::usage(error.problem, "`--kernel` takes a bzImage or a vmlinuz for x86-64 that can be read")
        }),
        None => KernelImage::of_this_machine(places.kernel.as_deref()).map_err(|error| {
            Error::usage(
                error.problem,
                "`make kernel` unpacks one; or install one, for example with `apt-get install linux-image-amd64`; or name one with `--kernel`",
            )
        }),
    }
}

/// The numbers of CPUs without duplicates, ascending.
pub(super) fn each_once(cpus: impl IntoIterator<Item = u32>) -> Vec<u32> {
    let mut cpus: Vec<u32> = cpus.into_iter().collect();
    cpus.sort_unstable();
    cpus.dedup();
    cpus
}

/// A machine for each number of CPUs, in ascending order.
pub(super) fn shapes(cpus: &[u32], sockets: u32, memory_mib: Option<u64>) -> Result<Vec<MachineShape>, Error> {
    each_once(cpus.iter().copied())
        .iter()
        .map(|&cpus| MachineShape::new(cpus, sockets, memory_mib))
        .collect::<Result<_, _>>()
        .map_err(|error| Error::usage(error.problem, error.hint))
}

/// The modelled machine, and a machine for each number of CPUs. Fails if the modelled machine is
/// impossible, or if a budget is for another number of CPUs.
pub(super) fn modelled(
    under: &UnderLens,
    cpus: &[u32],
    memory_mib: Option<u64>,
    places: &Places,
) -> Result<(MachineModel, Vec<MachineShape>), Error> {
    check_turns(&under.model)?;
    let machine = machine(&under.model, places)?;
    machine.check(cpus).map_err(Error::target_as_usage)?;
    let shapes = shapes(cpus, under.model.sockets, memory_mib)?;
    gates::check_counts(&under.gates, cpus)?;
    Ok((machine, shapes))
}

/// The saved form of the machine of a shape. `kernel`: the file of its kernel.
pub(super) fn guest(shape: MachineShape, kernel: &Path, parameters: &[String]) -> Guest {
    Guest {
        shape,
        kernel: Some(kernel.to_owned()),
        accelerator: Accelerator::Tcg,
        boot_limit: usual_boot_limit(shape.cpus()),
        parameters: parameters.to_vec(),
    }
}

/// The machine that the guest describes, with this kernel.
pub(super) fn machine_request(guest: Guest, kernel: KernelImage) -> MachineRequest {
    let Guest { shape, accelerator, boot_limit, parameters, .. } = guest;
    MachineRequest { shape, kernel, accelerator, boot_limit, parameters, named: Named::ByOptions }
}

pub(super) fn symbols_failed(error: SymbolError) -> Error {
    Error::usage(error.problem, error.hint)
}
