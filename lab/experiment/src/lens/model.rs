//! The modelled machine, from a request.

use super::measured_costs::{self, MEASURED};
use super::request::{Gates, ModelRequest};
use crate::error::Error;
use crate::places::Places;
use faultline_coherence::{Caches, CostTable, DelayTimes, Machine, Topology};
use faultline_model::lens::settings::{CacheBounds, CostTimes, DelaySettings, LensAgain, LensSettings, SavedFile};
use faultline_targets::counting::{MachineModel, Quanta};

/// Much more than any workload needs to notice another CPU's progress.
const MOST_QUANTUM: u64 = 1 << 40;

/// See the plugin's README. The plugin would refuse a smaller one too, but only after a machine has been started.
const LEAST_QUANTUM_OF_TURNS: u64 = 500;

/// The machine, except for its number of CPUs. Fails if it is impossible.
pub(super) fn machine(model: &ModelRequest, places: &Places) -> Result<MachineModel, Error> {
    let costs = costs(&model.costs, places)?;
    let delays = model.predicts.then(|| costs.delays.unwrap_or(DelayTimes::USUAL));
    let costs = CostTable { delays, ..costs };
    if let Some(caches) = model.caches {
        let one = Topology::new(1, 1, 1).map_err(|error| Error::usage(error.to_string(), "name other caches"))?;
        Machine::with(one, costs.costs(), Some(caches)).map_err(|error| {
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
        caches: model.caches,
        quanta,
    })
}

/// The table of costs with that name. Fails if there is none, or if the measured one cannot be read.
fn costs(name: &str, places: &Places) -> Result<CostTable, Error> {
    if name == MEASURED {
        return measured_costs::read(places);
    }
    CostTable::by_name(name).cloned().ok_or_else(|| {
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

/// What a resume needs of every run: the counted file, the plugin, the machine's model as far as the request does not hold it, and the baseline.
pub(super) fn to_count_again(
    model: &MachineModel,
    subject: Option<SavedFile>,
    plugin: SavedFile,
    gates: &Gates,
) -> LensAgain {
    let CostTable { instruction_ps, same_cache_ns, same_socket_ns, other_socket_ns, memory_ns, delays, .. } =
        model.costs;
    LensAgain {
        subject,
        plugin,
        vmlinux: None,
        directory: None,
        whole: false,
        memory_mib: None,
        times: CostTimes {
            instruction_ps,
            same_cache_ns,
            same_socket_ns,
            other_socket_ns,
            memory_ns,
            delays: delays.map(|times| delay_settings(times, &model.costs.name)),
        },
        cache: model.caches.map(|Caches { lines, ways }| CacheBounds { lines, ways }),
        baseline: gates.baseline.map(|run| run.0),
        guest: None,
        machine: None,
    }
}

/// The machine of a resumed run.
pub(super) fn again(settings: &LensSettings, again: &LensAgain) -> MachineModel {
    let CostTimes { instruction_ps, same_cache_ns, same_socket_ns, other_socket_ns, memory_ns, delays } = again.times;
    MachineModel {
        sockets: settings.sockets,
        cpus_per_cache: settings.cpus_per_cache,
        costs: CostTable {
            name: settings.costs.clone().into(),
            source: "saved with the run".into(),
            instruction_ps,
            same_cache_ns,
            same_socket_ns,
            other_socket_ns,
            memory_ns,
            delays: delays.map(delay_times),
        },
        caches: again.cache.map(|CacheBounds { lines, ways }| Caches { lines, ways }),
        quanta: Quanta { contended: settings.quantum, private: settings.private_quantum },
    }
}

/// What tables hold are orders of magnitude, unless they were measured here.
fn delay_settings(times: DelayTimes, table: &str) -> DelaySettings {
    let DelayTimes { atomic_ps, request_percent, wake_ns, interrupt_ns, entry_ns } = times;
    let is_measured = table == MEASURED && times != DelayTimes::USUAL;
    DelaySettings { is_measured, atomic_ps, request_percent, wake_ns, interrupt_ns, entry_ns }
}

fn delay_times(saved: DelaySettings) -> DelayTimes {
    let DelaySettings { atomic_ps, request_percent, wake_ns, interrupt_ns, entry_ns, .. } = saved;
    DelayTimes { atomic_ps, request_percent, wake_ns, interrupt_ns, entry_ns }
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
        again: Some(Box::new(again)),
    }
}
