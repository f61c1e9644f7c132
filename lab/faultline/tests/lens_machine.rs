//! `faultline lens machine` with a kernel other than Linux: the distribution's GNU Mach with a test
//! task, on one and on two CPUs. Needs the files unpacked by `packages/gnumach.sh`, so it is
//! ignored by default; run `make test-guest`.

use crate::lab::{Lab, assert_refused, lens, stderr, stdout};
use faultline_stats::lens::summary::LensPoint;
use faultline_stats::summary::RunSummary;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Operations of each thread of the task.
const OPERATIONS: &str = "100";

/// The kernel, stripped and with symbols.
fn gnumach() -> [PathBuf; 2] {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packages/gnumach.sh");
    let output = Command::new(script).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let paths: Vec<PathBuf> = stdout(&output).lines().map(PathBuf::from).collect();
    paths.try_into().unwrap()
}

/// The task, compiled into the lab.
fn task(lab: &Lab) -> String {
    let (source, file) = (Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lens_machine/task.c"), lab.path("task"));
    let harness = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads/harness");
    let status = Command::new("cc")
        .args(["-O2", "-g", "-Wall", "-Wextra", "-Werror", "-ffreestanding", "-fno-stack-protector", "-fno-pic"])
        .args(["-no-pie", "-nostdlib", "-static", "-Wl,-Ttext=0x400000", "-Wl,--build-id=none"])
        .arg(format!("-DOPERATIONS={OPERATIONS}"))
        .arg("-I")
        .arg(harness)
        .arg("-o")
        .args([&file, &source])
        .status()
        .unwrap();
    assert!(status.success(), "the task doesn't compile; hint: apt-get install gcc");
    file.to_str().unwrap().to_owned()
}

/// Boots the kernel with `cpus` CPUs, and a thread of the task on each.
fn count(lab: &Lab, task: &str, cpus: u32, more: &[&str]) -> Output {
    let [kernel, symbols] = gnumach();
    let argument = if cpus > 1 { "${host-port} " } else { "" };
    let module = format!("{task} {argument}$(task-create) $(task-resume)");
    let cpus = cpus.to_string();
    let words = ["lens", "machine", "--quiet", "--memory", "512", "--tasks", &cpus, "--ops", OPERATIONS, "--append"];
    let files = ["console=com0", "--kernel", kernel.to_str().unwrap(), "--module", &module, "--symbols", task];
    let symbols = ["--symbols", symbols.to_str().unwrap(), "--format", "json"];
    lens::command(lab, &[&words[..], &files, &symbols, more].concat()).output().unwrap()
}

#[track_caller]
fn point(output: &Output) -> LensPoint {
    lens::assert_status(output, 0);
    let summary: RunSummary = serde_json::from_slice(&output.stdout).unwrap();
    let point = summary.lens.unwrap().curves.remove(0).points.remove(0);
    assert!(point.problems.is_empty() && point.failures.is_empty(), "{point:?}");
    point
}

/// A single CPU moves no line, whatever the kernel. A word that two CPUs increment in turn moves
/// nearly once per operation, and a per-CPU word never does. Only a file describes the kernel, but
/// its lines and code still have names.
#[test]
#[ignore = "boots guests: make test-guest"]
fn a_kernel_that_is_not_linux_is_counted_by_physical_addresses() {
    let lab = Lab::new();
    let task = task(&lab);
    let one = point(&count(&lab, &task, 1, &[]));
    assert_eq!((one.operations, lens::transfers(&one)), (Some(100), 0.0), "{one:?}");
    assert!(one.instructions.unwrap().median > 500.0);

    let two = point(&count(&lab, &task, 2, &[]));
    assert_eq!((two.operations, &two.seeds[..]), (Some(200), &[Some(1)][..]));
    // The shared word moves unless one CPU increments it twice in a row. The per-CPU words have the
    // same type.
    let types = &two.types.as_ref().unwrap().types;
    let lonely = types.iter().find(|of| of.name == "lonely").map(|of| of.moved.transfers);
    assert!(lonely.is_some_and(|moved| (0.7..=1.02).contains(&moved)), "{lonely:?}: {:?}", two.lines);
    let all = lens::transfers(&two);
    assert!(all > 10.0, "the kernel's own locks move too: {all}");
    let named = two.lines.iter().filter(|line| !line.name.starts_with("0x")).count();
    assert!(named >= 3, "{:?}", two.lines);
    assert!(two.code.iter().take(5).all(|place| !place.name.starts_with("0x")), "{:?}", two.code);
    assert!(two.interrupts.is_some(), "interrupts are told apart");
    let folded = stdout(&lab.run(&["show", "2", "--format", "folded"]));
    assert!(folded.contains(";syscall_vm_deallocate;vm_deallocate;"), "{folded}");

    // An equal seed gives equal counts in everything.
    assert_eq!(point(&count(&lab, &task, 2, &[])), two);
    let compared = lab.run(&["lens", "compare", "2", "3"]);
    assert!(stdout(&compared).contains("both runs have equal counts in everything"), "{}", stdout(&compared));
    assert!(stdout(&lab.run(&["show", "3"])).contains("under the lens: machine with "));
    lab.assert_nothing_left();
}

#[test]
fn files_that_are_missing_are_refused_before_anything_starts() {
    let lab = Lab::new();
    let kernel = lab.path("kernel");
    // The Multiboot header.
    std::fs::write(&kernel, [0x02, 0xb0, 0xad, 0x1b]).unwrap();
    let kernel = kernel.to_str().unwrap();
    let text = lab.path("text");
    std::fs::write(&text, "no kernel").unwrap();
    let started = lens::command(&lab, &["lens", "machine", "--kernel", text.to_str().unwrap()]).output().unwrap();
    assert_refused(&started, 2, "/text is not a kernel that the emulator starts");
    let refused = |words: &[&str], problem: &str| {
        let words = [&["lens", "machine", "--kernel", kernel], words].concat();
        assert_refused(&lens::command(&lab, &words).output().unwrap(), 2, problem);
    };
    refused(&["--module", "/nonexistent/task task"], "cannot read /nonexistent/task");
    refused(&["--symbols", "/nonexistent/symbols"], "cannot read /nonexistent/symbols");
    refused(&["--symbols", kernel], "not an ELF file");
    let task = task(&lab);
    refused(&["--symbols", &task, "--budget", "nosuch<=1@1"], "nor a type in the files with symbols: nosuch");
    refused(&["--tasks", "0"], "it must be a whole number from 1 to 4096");
    refused(&["--quantum", "5"], "too short for a kernel");
}
