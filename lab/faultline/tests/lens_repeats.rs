//! A machine under the lens repeats itself exactly: two boots with the same seed have the same report, byte for byte, the same output
//! with its time stamps, and the same memory at the end of the counted part, although the host is busy during one of them. Boots the
//! distribution's own kernel: `make test-repeats` for small machines, `make test-guest` for all. Needs what the tests in
//! `lens_kernel.rs` need.

mod lab;

use faultline_coherence::CostTable;
use faultline_model::lens::memory::PhysicalMemory;
use faultline_model::machine::{MachineShape, counted_boot_limit};
use faultline_targets::counting::{MachineModel, Quanta};
use faultline_targets::qemu::{GuestExecution, QemuMachine};
use faultline_targets::{Ending, Execution, Plugin, StopFlag};
use lab::Lab;
use lab::guest::{guest_directory, machine};
use serde_json::Value;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

/// Everything that a boot leaves.
#[derive(PartialEq, Eq)]
struct Left {
    report: Vec<u8>,
    lines: Vec<String>,
    console: String,
    /// Hashes of the guest's memory, one for each look at it.
    memory: Vec<u64>,
}

struct Guest {
    lab: Lab,
    machine: QemuMachine,
}

impl Guest {
    fn new() -> Self {
        let lab = Lab::new();
        Guest { machine: machine(&lab, guest_directory()), lab }
    }

    /// Boots with that many CPUs and a seed, and zero-fills with a task on each CPU.
    fn boot(&self, cpus: u32, seed: u64) -> Left {
        let report = self.lab.path("report.json");
        let pin = (0..cpus).map(|cpu| cpu.to_string()).collect::<Vec<_>>().join(",");
        let tasks = cpus.to_string();
        let words = ["--variant", "base", "--mode", "process", "--tasks", &tasks, "--pin", &pin, "--ops", "64"];
        let execution = Execution {
            workload: "zero_fill".to_owned(),
            arguments: words.map(str::to_owned).to_vec(),
            limit: Duration::from_secs(600),
            directory: None,
            environment: Vec::new(),
            system_settings: Vec::new(),
        };
        let plugin = plugin(cpus, &report);
        let memory = Mutex::new(Vec::new());
        let at_end = |whole: &dyn PhysicalMemory| memory.lock().unwrap().push(hash(whole));
        let wanted = GuestExecution {
            execution: &execution,
            plugin: Some(&plugin),
            at_end: Some(&at_end),
            per_cpu_offset: None,
            program: None,
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
        assert_eq!(executed.ending, done, "{}", executed.console);
        let memory = memory.into_inner().unwrap();
        let left = Left { report: fs::read(&report).unwrap(), lines, console: executed.console, memory };
        fs::remove_file(report).unwrap();
        left
    }
}

/// A hash of all that a guest's memory contains.
fn hash(memory: &dyn PhysicalMemory) -> u64 {
    let mut hasher = DefaultHasher::new();
    let mut page = vec![0; 1 << 20];
    for address in (0..memory.end()).step_by(page.len()) {
        if memory.read(address, &mut page) {
            page.hash(&mut hasher);
        }
    }
    hasher.finish()
}

fn plugin(cpus: u32, report: &Path) -> Plugin {
    let costs = CostTable::default();
    let model = MachineModel { sockets: 1, cpus_per_cache: None, costs, caches: None, quanta: Quanta::default() };
    model.plugin(&lab::lens::plugin(), cpus, report.to_str().unwrap(), false)
}

/// Does `what` while every CPU of this host is busy twice over.
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

#[track_caller]
fn assert_repeats(guest: &Guest, cpus: u32) -> Left {
    let quiet = guest.boot(cpus, 1);
    let busy = while_busy(|| guest.boot(cpus, 1));
    assert_eq!(quiet.lines, busy.lines, "{cpus} CPUs");
    assert_eq!(quiet.console, busy.console, "{cpus} CPUs");
    assert!(quiet.report == busy.report, "the reports at {cpus} CPUs differ: {:?}", [&quiet, &busy].map(counts));
    assert_eq!(quiet.memory.len(), 1, "one region has one end");
    assert_eq!(quiet.memory, busy.memory, "{cpus} CPUs: the guest's memory");
    let samples = report(&quiet)["samples"]["kept"].as_array().map_or(0, Vec::len);
    assert!(samples > 100, "{samples} samples of the transfers");
    let counts = counts(&quiet);
    assert!(counts.len() == cpus as usize && counts.iter().all(|&count| count > 0), "{counts:?}");
    // Each CPU does the same work, and what a CPU does is counted as its own. One of many may also do the kernel's own work.
    let mut ordered = counts.clone();
    ordered.sort_unstable();
    let alike = if cpus > 8 { &ordered[..ordered.len() - 1] } else { &ordered[..] };
    assert!(alike[alike.len() - 1] * 10 <= alike[0] * 15, "{counts:?}");
    quiet
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
    let first = assert_repeats(&guest, 4);
    assert_repeats(&guest, 8);
    assert!(guest.boot(4, 2).report != first.report, "the seed has no effect");
    guest.lab.assert_nothing_left();
}

#[test]
#[ignore = "boots large guests: make test-guest"]
fn large_machines_repeat_themselves() {
    let guest = Guest::new();
    assert_repeats(&guest, 32);
    assert_repeats(&guest, 64);
}
