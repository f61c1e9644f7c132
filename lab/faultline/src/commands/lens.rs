//! `faultline lens`: counts of cache-line transfers.

use super::measuring::{self, places, places_to_count};
use crate::arguments::Global;
use crate::arguments::lens::{
    Calibrate, Compare, Kernel, Lens, Machine, Model, Program, Types, UnderLens as Arguments,
};
use crate::failure::{self, Failure};
use crate::output;
use faultline_experiment::lens::{
    self, Gates, GuestRequest, LensKernelRequest, LensMachineRequest, LensProgramRequest, MEASURED, ModelRequest,
    UnderLens,
};
use faultline_experiment::{Places, find_run};
use std::process::ExitCode;

pub(crate) fn lens(command: &Lens, global: &Global) -> Result<ExitCode, Failure> {
    match command {
        Lens::Program(arguments) => program(arguments, global),
        Lens::Kernel(arguments) => kernel(arguments, global),
        Lens::Machine(arguments) => machine(arguments, global),
        Lens::Compare(arguments) => compare(arguments, global),
        Lens::Types(arguments) => types(arguments, global),
        Lens::Calibrate(arguments) => calibrate(arguments, global),
    }
}

/// The shared part of a request. `operations`: those of each task, if given. Fails if there is no
/// such baseline.
fn request(arguments: &Arguments, places: &Places, operations: Option<u64>) -> Result<UnderLens, Failure> {
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
pub(super) fn modelled(model: &Model) -> ModelRequest {
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

fn program(arguments: &Program, global: &Global) -> Result<ExitCode, Failure> {
    let Arguments { conduct, model, .. } = &arguments.under;
    let places = places_to_count(conduct, model, global)?;
    let guest = &arguments.guest;
    let request = LensProgramRequest {
        argv: arguments.argv.clone(),
        threads: arguments.tasks.clone(),
        whole: arguments.whole,
        guest: GuestRequest {
            with: guest.with.clone(),
            environment: guest.env.clone(),
            kernel_too: arguments.kernel_too,
            process: arguments.process.clone(),
            bounds: arguments.bounds.bounds(),
            debug_directories: guest.debug_dir.clone(),
            kernel: guest.kernel.clone(),
            parameters: guest.append.clone(),
            memory_mib: guest.memory,
        },
        under: request(&arguments.under, &places, arguments.ops)?,
    };
    let concluded = measuring::conduct(conduct, &places, |lab| lens::program(&request, lab))?;
    Ok(measuring::status(concluded.as_ref()))
}

fn kernel(arguments: &Kernel, global: &Global) -> Result<ExitCode, Failure> {
    let Arguments { conduct, model, .. } = &arguments.under;
    let places = places_to_count(conduct, model, global)?;
    let request = LensKernelRequest {
        workloads: arguments.workloads_chosen.clone(),
        cpus: arguments.tasks.clone(),
        kernel: arguments.kernel.clone(),
        vmlinux: arguments.vmlinux.clone(),
        parameters: arguments.append.clone(),
        memory_mib: arguments.memory,
        mode: arguments.mode.map(Into::into),
        size: arguments.size,
        under: request(&arguments.under, &places, arguments.ops)?,
    };
    let concluded = measuring::conduct(conduct, &places, |lab| lens::kernel(&request, lab))?;
    Ok(measuring::status(concluded.as_ref()))
}

fn machine(arguments: &Machine, global: &Global) -> Result<ExitCode, Failure> {
    let Arguments { conduct, model, .. } = &arguments.under;
    let places = places_to_count(conduct, model, global)?;
    let request = LensMachineRequest {
        kernel: arguments.kernel.clone(),
        modules: arguments.module.clone(),
        parameters: arguments.append.clone(),
        symbols: arguments.symbols.clone(),
        cpus: arguments.tasks.clone(),
        memory_mib: arguments.memory,
        under: request(&arguments.under, &places, Some(arguments.ops))?,
    };
    let concluded = measuring::conduct(conduct, &places, |lab| lens::machine(&request, lab))?;
    Ok(measuring::status(concluded.as_ref()))
}

fn compare(arguments: &Compare, global: &Global) -> Result<ExitCode, Failure> {
    let comparison = lens::compare(&arguments.a, &arguments.b, &places(global)?)?;
    output::print(&faultline_report::lens_compare_table(&comparison, arguments.format.format, &output::style()))?;
    Ok(ExitCode::SUCCESS)
}

fn types(arguments: &Types, global: &Global) -> Result<ExitCode, Failure> {
    let places = places(global)?;
    let types = lens::types(find_run(&arguments.run, &places)?, &arguments.types, arguments.tasks, &places)?;
    output::print(&faultline_report::lens_types_table(
        &types,
        arguments.all,
        arguments.format.format,
        &output::style(),
    ))?;
    Ok(ExitCode::SUCCESS)
}

fn calibrate(arguments: &Calibrate, global: &Global) -> Result<ExitCode, Failure> {
    let places = places(global)?;
    let stop = output::stop_flag()?;
    let calibration = lens::calibrate(&places, &stop)?;
    output::print(&faultline_report::lens_calibration(&calibration, arguments.format.format, &output::style()))?;
    if !arguments.dry_run {
        let file = lens::keep_costs(&calibration, &places)?;
        failure::warn(&format!("saved in {}; `--costs {MEASURED}` uses it", file.display()));
    }
    Ok(ExitCode::SUCCESS)
}
