//! Exact repeatability of a machine under the lens. Two boots with one seed give equal reports,
//! byte for byte, equal output with time stamps, and equal memory at the end of the counted region,
//! even if the host is busy during one of them.
//!
//! Boots the distribution's own kernel: `make test-repeats` for small machines, `make test-guest`
//! for all. Needs the same parts as the tests in `lens_kernel.rs`. Most of the time goes into
//! boots, so one boot runs all workloads in sequence. `make bench-lens-repeats` boots for each
//! workload.

use crate::lab::Lab;
use crate::lab::guest::{guest_directory, machine};
use faultline_coherence::{Caches, CostTable};
use faultline_record::describe::{SizeMemory, Style, VariantInfo, WorkloadInfo};
use faultline_record::lens::guest_kernel::PhysicalMemory;
use faultline_record::machine::{MachineShape, counted_boot_limit};
use faultline_targets::counting::{MachineModel, Quanta};
use faultline_targets::network::Attachment;
use faultline_targets::program_files::ProgramFiles;
use faultline_targets::qemu::{GuestExecution, ProgramRun, QemuMachine, RunScope};
use faultline_targets::{Ending, Execution, Plugin, StopFlag, Target};
use serde_json::Value;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::ControlFlow;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use std::{fs, thread};

/// All results of a boot.
#[derive(PartialEq, Eq)]
struct Left {
    report: Vec<u8>,
    lines: Vec<String>,
    console: String,
    /// Hashes of the guest's memory, one for each inspection.
    memory: Vec<u64>,
}

/// Work done in a boot.
enum Job {
    /// The workload `zero_fill`, as `lens kernel` starts it.
    ZeroFill,
    /// A shell script that starts the workloads in sequence.
    Script(ProgramFiles),
}

struct Guest {
    lab: Lab,
    machine: QemuMachine,
}

/// Limit for the memory of all tasks together, applied if the workload's default size exceeds it.
/// Eight tasks of `fork_exit:large` stay below it. Setting up 64 times the default would take more
/// than a minute of CPU time in each boot.
const MEMORY_OF_TASKS: u64 = 512 << 20;

/// Arguments for one task on each CPU.
fn words(variant: &str, mode: &str, cpus: u32, operations: u32) -> Vec<String> {
    let pin = (0..cpus).map(|cpu| cpu.to_string()).collect::<Vec<_>>().join(",");
    let (tasks, operations) = (cpus.to_string(), operations.to_string());
    let words = ["--variant", variant, "--mode", mode, "--tasks", &tasks, "--pin", &pin, "--ops", &operations];
    words.map(str::to_owned).to_vec()
}

/// Arguments for the memory size of each task, if the default is too large.
fn size_words(info: &WorkloadInfo, variant: &str, cpus: u32) -> Option<[String; 2]> {
    let (default, _) = info.size.as_ref()?;
    let range = info.size_range(variant).filter(|range| range.memory == Some(SizeMemory::Each))?;
    let size = (MEMORY_OF_TASKS / u64::from(cpus)).max(range.least);
    (size < *default).then(|| ["--size".to_owned(), size.to_string()])
}

impl Guest {
    fn new() -> Self {
        let lab = Lab::new();
        Guest { machine: machine(&lab, guest_directory()), lab }
    }

    /// The workloads that loop, with the variants that a guest can run. It has no compiler, and no
    /// libraries for dynamically linked programs.
    fn workloads(&self) -> Vec<(WorkloadInfo, Vec<VariantInfo>)> {
        let mut all = self.machine.workloads().unwrap();
        all.retain(|info| info.style == Style::Loop && info.name != "compile");
        let is_possible = |variant: &VariantInfo| !variant.name.starts_with("dynamic-");
        let with_variants = |info: WorkloadInfo| {
            let variants = info.variants.iter().filter(|variant| is_possible(variant)).cloned().collect();
            (info, variants)
        };
        all.into_iter().map(with_variants).collect()
    }

    /// A script that runs every variant of every workload, with one task on each CPU; and the
    /// number of variants. It stops at the first failure.
    fn every_workload(&self, cpus: u32, operations: u32) -> (Job, usize) {
        let mut script = "#!/bin/sh\nset -e\n".to_owned();
        let mut count = 0;
        for (info, variants) in self.workloads() {
            for variant in variants {
                let mut words = words(&variant.name, variant.modes[0].word(), cpus, operations);
                words.extend(size_words(&info, &variant.name, cpus).into_iter().flatten());
                let words = words.join(" ");
                script.push_str(&format!("/workloads/{} --scratch /tmp {words}\n", info.name));
                count += 1;
            }
        }
        let file = self.lab.path("every-workload");
        fs::write(&file, script).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        (
            Job::Script(ProgramFiles::find(&[file.to_str().unwrap().to_owned()], Path::new("/tmp"), &[], &[]).unwrap()),
            count,
        )
    }

    /// Boots with `cpus` CPUs and this seed.
    fn boot(&self, cpus: u32, seed: u64, job: &Job) -> Left {
        let report = self.lab.path("report.json");
        let (arguments, program) = match job {
            Job::ZeroFill => (words("base", "process", cpus, 64), None),
            Job::Script(files) => (Vec::new(), Some(ProgramRun { files, directory: "/tmp", scope: RunScope::Marks })),
        };
        let execution = Execution {
            workload: "zero_fill".to_owned(),
            arguments,
            limit: Duration::from_secs(1800),
            directory: None,
            environment: Vec::new(),
            system_settings: Vec::new(),
            attachment: Attachment::Already,
        };
        let plugin = plugin(cpus, &report);
        let memory = Mutex::new(Vec::new());
        let at_end = |whole: &dyn PhysicalMemory| memory.lock().unwrap().push(hash(whole));
        let wanted = GuestExecution {
            execution: &execution,
            plugin: Some(&plugin),
            at_end: Some(&at_end),
            per_cpu_offset: None,
            program,
            seed: Some(seed),
        };
        let shape = MachineShape::new(cpus, 1, None).unwrap();
        let machine = self.machine.with_shape(shape, counted_boot_limit(cpus));
        let mut lines = Vec::new();
        let executed = machine.execute_in_guest(
            &wanted,
            &mut |line| {
                lines.push(String::from_utf8(line.to_vec()).unwrap());
                ControlFlow::Continue(())
            },
            &StopFlag::default(),
        );
        let done = Ending::Exited { status: 0, stderr: String::new() };
        assert_eq!(executed.ending, done, "{lines:?}\n{}", executed.console);
        let memory = memory.into_inner().unwrap();
        let left = Left { report: fs::read(&report).unwrap(), lines, console: executed.console, memory };
        fs::remove_file(report).unwrap();
        left
    }
}

/// A hash of a guest's whole memory. Most of it may be zeros, which are faster to compare than to
/// hash.
fn hash(memory: &dyn PhysicalMemory) -> u64 {
    let mut hasher = DefaultHasher::new();
    let mut part = vec![0; 1 << 16];
    let zeros = part.clone();
    for address in (0..memory.end()).step_by(part.len()) {
        if memory.read(address, &mut part) && part != zeros {
            (address, &part).hash(&mut hasher);
        }
    }
    hasher.finish()
}

/// The default model of `lens kernel`. With unbounded caches, each line of a page that another CPU
/// had before would move, and the report of all workloads would have hundreds of megabytes.
fn plugin(cpus: u32, report: &Path) -> Plugin {
    let (costs, caches) = (CostTable::default(), Some(Caches::DEFAULT));
    let model =
        MachineModel { sockets: 1, cpus_per_cache: None, costs, precision: None, caches, quanta: Quanta::default() };
    model.plugin(&crate::lab::lens::plugin(), cpus, report.to_str().unwrap(), false)
}

/// Runs `what` while two processes per CPU keep this host busy.
fn while_busy<T>(what: impl FnOnce() -> T) -> T {
    let is_over = AtomicBool::new(false);
    let cpus = thread::available_parallelism().unwrap().get();
    thread::scope(|scope| {
        for _ in 0..2 * cpus {
            scope.spawn(|| {
                while !is_over.load(Relaxed) {
                    std::hint::black_box((0..100_000).sum::<u64>());
                }
            });
        }
        // A failed boot must end the load too.
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(what));
        is_over.store(true, Relaxed);
        done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Asserts that two boots left the same.
#[track_caller]
fn assert_same(first: &Left, second: &Left) {
    assert_eq!(first.lines, second.lines);
    assert_eq!(first.console, second.console);
    assert!(first.report == second.report, "the reports differ: {:?}", [first, second].map(counts));
    assert_eq!(first.memory, second.memory, "the guest's memory");
}

/// Boots twice, once on a busy host, and asserts equal results. Returns them.
#[track_caller]
fn assert_repeats(guest: &Guest, cpus: u32, job: &Job) -> Left {
    let quiet = guest.boot(cpus, 1, job);
    assert_same(&quiet, &while_busy(|| guest.boot(cpus, 1, job)));
    let samples = report(&quiet)["samples"]["kept"].as_array().map_or(0, Vec::len);
    assert!(samples > 100, "{samples} samples of the transfers");
    quiet
}

/// Asserts that every workload is counted, and repeats exactly.
#[track_caller]
fn assert_every_workload_repeats(cpus: u32, operations: u32) {
    let guest = Guest::new();
    let (job, count) = guest.every_workload(cpus, operations);
    assert!(count >= 19, "{count}");
    let left = assert_repeats(&guest, cpus, &job);
    assert_eq!(left.lines.iter().filter(|line| *line == "done").count(), count, "{:?}", left.lines);
    assert_eq!(report(&left)["regions"], count);
    // After the first, second, fourth, eighth and sixteenth.
    assert_eq!(left.memory.len(), 5);
    guest.lab.assert_nothing_left();
}

/// Asserts that `zero_fill` repeats exactly, with balanced counts across CPUs. For small machines
/// only: the process that starts the tasks is not pinned, and with many tasks it adds to the count
/// of its current CPU. In the counted region, it opens the tasks' barrier and reads the report of
/// each task.
#[track_caller]
fn assert_zero_fill_repeats(guest: &Guest, cpus: u32) -> Left {
    let left = assert_repeats(guest, cpus, &Job::ZeroFill);
    assert_eq!(left.memory.len(), 1, "one region has one end");
    // The CPUs do equal work, and each CPU's work is counted as its own.
    let counts = counts(&left);
    assert_eq!(counts.len(), cpus as usize);
    let (least, most) = (*counts.iter().min().unwrap(), *counts.iter().max().unwrap());
    assert!(least > 0 && most * 10 <= least * 15, "{counts:?}");
    left
}

fn report(left: &Left) -> Value {
    serde_json::from_slice(&left.report).unwrap()
}

/// Instructions by CPU.
fn counts(left: &Left) -> Vec<u64> {
    let report = report(left);
    let cpus = report["cpus"].as_array().unwrap();
    cpus.iter().map(|cpu| cpu["instructions"].as_u64().unwrap()).collect()
}

#[test]
#[ignore = "boots guests: make test-repeats"]
fn small_machines_repeat_themselves() {
    let guest = Guest::new();
    let first = assert_zero_fill_repeats(&guest, 4);
    assert_zero_fill_repeats(&guest, 8);
    assert!(guest.boot(4, 2, &Job::ZeroFill).report != first.report, "the seed has no effect");
    guest.lab.assert_nothing_left();
}

#[test]
#[ignore = "boots guests: make test-guest"]
fn every_workload_repeats_itself_on_8_cpus() {
    assert_every_workload_repeats(8, 16);
}

#[test]
#[ignore = "boots guests: make test-guest"]
fn every_workload_repeats_itself_on_32_cpus() {
    assert_every_workload_repeats(32, 4);
}

#[test]
#[ignore = "boots guests: make test-guest"]
fn every_workload_repeats_itself_on_64_cpus() {
    assert_every_workload_repeats(64, 2);
}
