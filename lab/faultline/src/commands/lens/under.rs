//! The settings that programs and kernels under the lens share, from arguments.

use crate::arguments::lens::{Model, UnderLens as Arguments};
use crate::failure::Failure;
use crate::places;
use faultline_experiment::lens::{Gates, ModelRequest, UnderLens};
use faultline_experiment::{Places, find_run};
use std::path::Path;

/// The request. `places`: for a baseline; `operations`: those of each task, if given. Fails if the baseline or a budget is invalid.
pub(super) fn request(arguments: &Arguments, places: &Places, operations: Option<u64>) -> Result<UnderLens, Failure> {
    let Arguments { counting, conduct, model, gates } = arguments;
    let baseline = gates.baseline.as_deref().map(|run| find_run(run, places)).transpose()?;
    Ok(UnderLens {
        model: modelled(model),
        gates: Gates { budgets: gates.budgets.clone(), baseline },
        repeats: counting.repeats,
        seed: counting.seed,
        operations,
        limit_ms: conduct.limit_ms(),
        jobs: counting.jobs,
        label: counting.label.clone(),
        commit: counting.commit.clone(),
    })
}

/// The modelled machine.
pub(in crate::commands) fn modelled(model: &Model) -> ModelRequest {
    ModelRequest {
        sockets: model.sockets,
        cpus_per_cache: model.cpus_per_cache,
        costs: model.costs.clone(),
        predicts: model.predict,
        caches: model.cache.bounds(),
        quantum: model.quantum,
        private_quantum: model.private_quantum,
    }
}

/// The paths. Fails if a default one cannot be determined.
pub(super) fn places(arguments: &Arguments, db: Option<&Path>) -> Result<Places, Failure> {
    places::for_lens(&arguments.conduct, &arguments.model, db)
}
