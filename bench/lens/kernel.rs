//! Cost of the lens in a guest of 8 CPUs, and repeatability of its counts: equal work in one
//! emulator with one set of CPU flags, alternately without and with the plugin. Prints medians, and
//! the spread of the repeats, each with another seed.
//!
//! Time is the host's, from the line before the region of interest to the line after it, and of the
//! boot until the agent's hello: under the lens the guest has no clock of the host's. If
//! `FAULTLINE_CACHE_PLUGIN` names QEMU's plugin `cache` (contrib/plugins/cache.c, built for this
//! QEMU), it is measured too. `make bench-lens` runs it, after `make guest lens`. Quote only
//! figures from an idle machine.

use faultline_coherence::{Caches, CostTable};
use faultline_lens_format::RawReport;
use faultline_record::machine::{Accelerator, MachineShape};
use faultline_record::protocol::{self, Event};
use faultline_targets::counting::{MachineModel, Quanta};
use faultline_targets::host::HostPaths;
use faultline_targets::network::Attachment;
use faultline_targets::qemu::{
    EMULATOR_PROGRAM, Emulator, GuestExecution, GuestPaths, KernelImage, MachineRequest, Named, QemuMachine,
};
use faultline_targets::{Ending, Execution, Plugin, StopFlag, keeper};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

const CPUS: u32 = 8;
const REPEATS: usize = 5;

/// Maximum relative standard deviation of counts.
const ALLOWED: f64 = 0.02;

/// Case, operations of each task without the plugin and with it (time per operation is compared),
/// and the maximum cost.
const CASES: [(&str, &str, u64, u64, f64); 2] =
    [("fault_existing", "shared", 8192, 4096, 4.0), ("zero_fill", "base", 16384, 4096, 6.0)];

/// Time limit for a boot, and for one in which QEMU's plugin `cache` counts from the first
/// instruction.
const BOOT_LIMIT: Duration = Duration::from_secs(120);
const CACHE_BOOT_LIMIT: Duration = Duration::from_secs(1800);

/// One boot's figures.
struct Turn {
    boot: f64,
    ns_per_operation: f64,
    report: Option<RawReport>,
    operations: u64,
}

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    if words.next().is_some_and(|first| first == keeper::ARGUMENT) {
        return keeper::run(words);
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace().join("target"), PathBuf::from);
    let scratch = tempfile::tempdir().expect("a scratch directory");
    let own = std::env::current_exe().expect("our own program");
    let host = HostPaths {
        workloads: target.join("workloads"),
        scratch: scratch.path().to_owned(),
        keeper: own,
        sandbox: None,
    };
    let paths = GuestPaths { guest: workspace().join("target/guest"), host, cache: Some(scratch.path().join("cache")) };
    let unpacked_kernel = target.join("kernels/bookworm/vmlinuz");
    let request = MachineRequest {
        shape: MachineShape::new(CPUS, 1, None).expect("a machine"),
        kernel: KernelImage::of_this_machine(unpacked_kernel.is_file().then_some(&unpacked_kernel))
            .expect("a kernel; hint: make kernel"),
        accelerator: Accelerator::Tcg,
        boot_limit: BOOT_LIMIT,
        parameters: Vec::new(),
        named: Named::ByOptions,
    };
    let unpacked = target.join("qemu/usr/bin").join(EMULATOR_PROGRAM);
    let emulator =
        Emulator::find(unpacked.exists().then_some(unpacked.as_path())).expect("an emulator; hint: make emulator");
    let machine =
        QemuMachine::start(request, paths, emulator, &StopFlag::default()).expect("a guest; hint: make guest");
    let patient = machine.with_shape(machine.request().shape, CACHE_BOOT_LIMIT);
    let report = scratch.path().join("report.json");
    let lens = model().plugin(
        &workspace().join("target/lens/libfaultline_lens.so"),
        CPUS,
        report.to_str().expect("a path in UTF-8"),
        false,
    );
    let cache = std::env::var_os("FAULTLINE_CACHE_PLUGIN").map(|file| Plugin {
        file: file.into(),
        values: vec![("cores".to_owned(), CPUS.to_string())],
        directory: None,
    });
    if cache.is_none() {
        println!("QEMU's plugin `cache` is not compared: FAULTLINE_CACHE_PLUGIN names none");
    }
    let mut all_kept = true;
    for (workload, variant, plain_operations, operations, most) in CASES {
        let turn = |machine: &QemuMachine, plugin: Option<(&Plugin, u64)>, operations| {
            run(machine, (workload, variant), operations, plugin, &report)
        };
        let (mut plain, mut counted, mut cached) = (Vec::new(), Vec::new(), Vec::new());
        for seed in 0..REPEATS as u64 {
            plain.push(turn(&machine, None, plain_operations));
            counted.push(turn(&machine, Some((&lens, seed)), operations));
            cached.extend(cache.as_ref().map(|cache| turn(&patient, Some((cache, seed)), operations)));
        }
        println!("{workload}:{variant} at {CPUS} CPUs, {REPEATS} boots each");
        let ratio = compare("without the plugin", &plain, "with the lens", &counted);
        if !cached.is_empty() {
            compare("with the lens", &counted, "with QEMU's cache plugin", &cached);
        }
        all_kept &= repeatable(&counted) & (ratio <= most);
    }
    if all_kept { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn workspace() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace")
}

fn model() -> MachineModel {
    MachineModel {
        sockets: 1,
        cpus_per_cache: None,
        costs: CostTable::default(),
        caches: Some(Caches::DEFAULT),
        quanta: Quanta::default(),
        precision: None,
    }
}

/// One boot with one execution. `plugin`: with the seed of the boot.
fn run(
    machine: &QemuMachine,
    (workload, variant): (&str, &str),
    operations: u64,
    plugin: Option<(&Plugin, u64)>,
    report: &std::path::Path,
) -> Turn {
    let pin = (0..CPUS).map(|cpu| cpu.to_string()).collect::<Vec<_>>().join(",");
    let arguments = [
        ("--variant", variant.to_owned()),
        ("--mode", "process".to_owned()),
        ("--tasks", CPUS.to_string()),
        ("--pin", pin),
        ("--ops", operations.to_string()),
    ];
    let arguments = arguments.into_iter().flat_map(|(name, value)| [name.to_owned(), value]).collect();
    let execution = Execution {
        workload: workload.to_owned(),
        arguments,
        limit: Duration::from_secs(600),
        directory: None,
        environment: Vec::new(),
        system_settings: Vec::new(),
        attachment: Attachment::Already,
    };
    let _ = std::fs::remove_file(report);
    let (mut operations, mut began, mut length) = (0, Instant::now(), Duration::ZERO);
    let (plugin, seed) = plugin.unzip();
    let wanted =
        GuestExecution { execution: &execution, plugin, at_end: None, per_cpu_offset: None, program: None, seed };
    let mut sink = |line: &[u8]| {
        match protocol::parse(line) {
            Ok(Event::Begin(_)) => began = Instant::now(),
            Ok(Event::Window(interval)) => {
                operations += u64::try_from(interval.total()).unwrap_or(0);
                length = began.elapsed();
            }
            _ => {}
        }
        ControlFlow::Continue(())
    };
    let executed = machine.execute_in_guest(&wanted, &mut sink, &StopFlag::default());
    assert!(matches!(executed.ending, Ending::Exited { status: 0, .. }), "{:?}", executed.ending);
    Turn {
        boot: executed.hello_after.expect("a hello").as_secs_f64(),
        ns_per_operation: length.as_nanos() as f64 / operations as f64,
        report: std::fs::read(report).ok().and_then(|bytes| RawReport::parse(&bytes).ok()),
        operations,
    }
}

/// Prints two sides; returns the ratio of the medians of time per operation.
fn compare(name: &str, side: &[Turn], other_name: &str, other: &[Turn]) -> f64 {
    let times = |turns: &[Turn]| sorted(turns.iter().map(|turn| turn.ns_per_operation));
    let boots = |turns: &[Turn]| sorted(turns.iter().map(|turn| turn.boot));
    for (name, turns) in [(name, side), (other_name, other)] {
        let (time, boot) = (times(turns), boots(turns));
        println!(
            "  {name:24} {:10.0} ns/operation ({:.0} to {:.0}), boot {:.2} s ({:.2} to {:.2})",
            median(&time),
            time[0],
            time[time.len() - 1],
            median(&boot),
            boot[0],
            boot[boot.len() - 1]
        );
    }
    let ratio = median(&times(other)) / median(&times(side));
    println!("  region of interest {ratio:.2} times, boot {:.2} times", median(&boots(other)) / median(&boots(side)));
    ratio
}

/// Prints how much the counts differ from boot to boot. False if they exceed the bound.
fn repeatable(turns: &[Turn]) -> bool {
    let per_operation = |of: fn(&RawReport) -> u64| -> Vec<f64> {
        let reported = turns.iter().filter_map(|turn| Some((turn.report.as_ref()?, turn.operations)));
        reported.map(|(report, operations)| of(report) as f64 / operations as f64).collect()
    };
    let mut kept = true;
    for (name, of) in [
        ("transfers", (|report| report.operation.totals.transfers) as fn(&RawReport) -> u64),
        ("instructions", |report| report.operation.totals.instructions),
    ] {
        let values = per_operation(of);
        let (mean, variation) = (mean(&values), variation(&values));
        println!(
            "  {name} per operation: mean {mean:.4}, standard deviation {:.2} % of it, {values:.4?}",
            100.0 * variation
        );
        kept &= variation <= ALLOWED;
    }
    kept
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

/// Median of an odd number of sorted values.
fn median(values: &[f64]) -> f64 {
    values[values.len() / 2]
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Relative standard deviation of a sample.
fn variation(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / (values.len() - 1) as f64).sqrt() / mean
}
