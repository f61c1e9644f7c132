//! `faultline lens machine` with a 32-bit kernel of ours, which starts its CPUs without a library
//! (`examples/lock-lab/machine`). Each boot takes a fraction of a second. Needs the emulator
//! (`make emulator`) and the plugin (`make lens`).

use crate::lab::{Lab, assert_refused, lens, stderr, stdout};
use faultline_record::outcome::{GuestFailure, Outcome, Uncounted};
use faultline_stats::lens::comparison::LensComparison;
use faultline_stats::lens::summary::LensPoint;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output};

/// Operations of each CPU.
const OPERATIONS: &str = "1000";

/// The kernel, compiled into the lab.
fn kernel(lab: &Lab) -> String {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (machine, file) = (own.join("../../examples/lock-lab/machine"), lab.path("kernel.elf"));
    let status = Command::new("cc")
        .args(["-m32", "-march=i686", "-O2", "-g", "-Wall", "-Wextra", "-Werror", "-ffreestanding", "-fno-pic"])
        .args(["-fno-stack-protector", "-no-pie", "-nostdlib", "-static", "-Wl,--build-id=none", "-Wl,-z,noexecstack"])
        .args(["-I", machine.to_str().unwrap()])
        .arg("-I")
        .arg(own.join("../../workloads/harness"))
        .arg(format!("-Wl,-T,{}", machine.join("link.ld").display()))
        .arg("-o")
        .arg(&file)
        .args([machine.join("start.S"), machine.join("machine.c"), own.join("tests/lens_machine/kernel.c")])
        .status()
        .unwrap();
    assert!(status.success(), "the kernel doesn't compile; hint: apt-get install gcc");
    file.to_str().unwrap().to_owned()
}

/// Boots a kernel with its symbols. `words`: further options.
fn boot(lab: &Lab, kernel: &str, words: &[&str]) -> Output {
    let own = ["lens", "machine", "--quiet", "--kernel", kernel, "--memory", "512", "--ops", OPERATIONS];
    lens::command(lab, &[&own[..], words, &["--format", "json"]].concat()).output().unwrap()
}

#[track_caller]
fn point(output: &Output) -> LensPoint {
    lens::assert_status(output, 0);
    let point = lens::point(output);
    assert!(point.problems.is_empty() && point.failures.is_empty(), "{point:?}");
    point
}

/// The outcome of the only attempt of a run that counted nothing.
fn outcome(lab: &Lab, output: &Output) -> Outcome {
    assert!(output.status.code() != Some(2), "{}", stderr(output));
    lab.record(1).attempts.remove(0).outcome.unwrap()
}

fn objcopy(lab: &Lab, arguments: &[&str], from: &str, name: &str) -> String {
    let to = lab.path(name).to_str().unwrap().to_owned();
    let status = Command::new("objcopy").args(arguments).args([from, &to]).status().unwrap();
    assert!(status.success(), "objcopy fails; hint: apt-get install binutils");
    to
}

#[test]
fn a_32_bit_kernel_finds_its_cpus_and_is_counted_between_its_marks() {
    let lab = Lab::new();
    let kernel = kernel(&lab);
    let one = point(&boot(&lab, &kernel, &["--symbols", &kernel]));
    // A loop of six instructions. The start of the kernel, which is not counted, takes more.
    let instructions = one.instructions.as_ref().unwrap().median;
    assert!((3.0..8.0).contains(&instructions), "{instructions}");
    assert_eq!((one.operations, lens::transfers(&one)), (Some(1000), 0.0), "{one:?}");

    // The kernel reads the firmware's MP table, in one socket and in two.
    for sockets in ["1", "2"] {
        let words = ["--symbols", &kernel, "--tasks", "4", "--sockets", sockets];
        let four = point(&boot(&lab, &kernel, &words));
        let cpus: BTreeSet<u32> = four.lines.iter().flat_map(|line| &line.by_cpu).map(|of| of.cpu).collect();
        assert_eq!(cpus, (0..4).collect(), "{:?}", four.lines);
        assert!(four.lines.iter().any(|line| line.name.starts_with("shared")), "{:?}", four.lines);
    }
    lab.assert_nothing_left();
}

#[test]
fn a_64_bit_multiboot_kernel_counts_as_the_same_code_in_a_32_bit_file() {
    let lab = Lab::new();
    let kernel = kernel(&lab);
    let wide = objcopy(&lab, &["-I", "elf32-i386", "-O", "elf64-x86-64"], &kernel, "build-64.elf");
    let words = ["--symbols", &kernel, "--tasks", "2"];
    let [narrow, other] = [&kernel, &wide].map(|kernel| point(&boot(&lab, kernel, &words)));
    assert_eq!(other, narrow);
    // Two builds are compared, although their files have different names.
    let compared = lab.run(&["lens", "compare", "1", "2", "--format", "json"]);
    lens::assert_status(&compared, 0);
    let compared: LensComparison = serde_json::from_slice(&compared.stdout).unwrap();
    assert_eq!((compared.cells.len(), &compared.unmatched[..]), (1, &[][..]));
}

#[test]
fn a_relocated_kernel_has_names_by_its_offset() {
    let lab = Lab::new();
    let kernel = kernel(&lab);
    let elsewhere = ["--strip-debug", "--change-addresses", "0x40000000"];
    let high = objcopy(&lab, &elsewhere, &kernel, "high.elf");
    let names = |symbols: &str| {
        let point = point(&boot(&lab, &kernel, &["--tasks", "2", "--symbols", symbols]));
        point.lines.into_iter().map(|line| line.name).collect::<Vec<_>>()
    };
    assert!(names(&high).iter().all(|name| name.starts_with("0x")), "the symbols are elsewhere");
    let moved = names(&format!("{high}+0xffffffffc0000000"));
    assert!(moved.iter().any(|name| name.starts_with("shared")), "{moved:?}");
}

#[test]
fn a_kernel_that_would_use_an_x2apic_is_counted() {
    let lab = Lab::new();
    let kernel = kernel(&lab);
    point(&boot(&lab, &kernel, &["--append", "x2apic"]));
}

#[test]
fn a_kernel_that_stops_silently_is_ended_before_its_limit() {
    let lab = Lab::new();
    let kernel = kernel(&lab);
    let outcome = outcome(&lab, &boot(&lab, &kernel, &["--append", "halt"]));
    let Outcome::GuestFailed { how: GuestFailure::Hung, text, .. } = &outcome else { panic!("{outcome:?}") };
    assert!(text.contains("the machine made no progress: it executed no new code"), "{text}");
    assert!(text.contains("its console stayed empty"), "{text}");
}

#[test]
fn a_kernel_without_marks_gets_the_hint_for_kernels() {
    let lab = Lab::new();
    let kernel = kernel(&lab);
    let outcome = outcome(&lab, &boot(&lab, &kernel, &["--append", "reset"]));
    assert_eq!(outcome, Outcome::NotCounted { why: Uncounted::NoMarkInMachine });
    let shown = stdout(&lab.run(&["show", "1"]));
    assert!(shown.contains("faultline_mark_begin()") && !shown.contains("lens program"), "{shown}");
}

#[test]
fn elf_files_that_the_emulator_does_not_start_are_refused_beforehand() {
    let lab = Lab::new();
    let kernel = kernel(&lab);
    let without = lab.path("without.elf").to_str().unwrap().to_owned();
    let mut bytes = std::fs::read(&kernel).unwrap();
    let magic = 0x1bad_b002_u32.to_le_bytes();
    let at = bytes.windows(4).position(|word| word == magic).unwrap();
    bytes[at] ^= 1;
    std::fs::write(&without, &bytes).unwrap();
    assert_refused(
        &boot(&lab, &without, &[]),
        2,
        "has neither a Multiboot header in its first 8 KiB nor a note for PVH",
    );
    bytes[at..at + 4].copy_from_slice(&0xe852_50d6_u32.to_le_bytes());
    std::fs::write(&without, &bytes).unwrap();
    assert_refused(&boot(&lab, &without, &[]), 2, "has a header for Multiboot 2");
    assert_refused(&boot(&lab, &kernel, &["--symbols", &format!("{kernel}+x")]), 2, "a hexadecimal offset");
}
