//! Abilities of programs under the lens in their guests: processes, scripts, files, and every kind
//! of ending. Also, refusals before a boot. Needs the same parts as the tests in `lens_program.rs`.

use crate::lab::lens::{self, compiled, place, point, points, program, source, transfers};
use crate::lab::{Lab, assert_refused};
use faultline_record::outcome::{GuestFailure, Outcome};
use faultline_stats::lens::summary::LensPoint;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

#[test]
#[ignore = "boots guests: make test-guest"]
fn processes_that_a_program_forks_are_counted() {
    let lab = Lab::new();
    let sleepers = compiled("sleepers", &["sleepers.c"], &[]);
    let options = ["--tasks", "2", "--kernel-too", "--ops", "100"];
    for how in ["pipe", "socket"] {
        let [point] = &points(&lab, &options, &[&sleepers, how, "1", "200"])[..] else { panic!() };
        // Pages of both processes, and the kernel's buffers between them.
        assert!(transfers(point) > 1.0, "{how}: {point:?}");
        assert!(point.code.iter().all(|place| !place.name.starts_with("0x")), "{how}: {:?}", point.code);
    }
    let reading = lab.record(1).attempts.remove(0).reading.unwrap();
    assert_eq!((reading.forks, reading.regions), (1, 1));
}

#[test]
#[ignore = "boots guests: make test-guest"]
fn scripts_bring_their_interpreters_and_further_files_come_along() {
    let lab = Lab::new();
    let counters = compiled("counters", &["counters.c"], &[]);
    let script = lab.path("run.sh");
    fs::write(
        &script,
        format!(
            "#!/usr/bin/env sh\nread word < /srv/word\ntest \"$word$MODE\" = quickly || exit 9\n\
             read word < $1 && test $word = argued || exit 8\n{counters} 2 50\n"
        ),
    )
    .unwrap();
    fs::set_permissions(&script, Permissions::from_mode(0o755)).unwrap();
    fs::write(lab.path("word"), "quick\n").unwrap();
    let argument = lab.path("argument");
    fs::write(&argument, "argued\n").unwrap();
    let word = format!("{}=/srv/word", lab.path("word").display());
    let options = ["--tasks", "2", "--whole", "--env", "MODE=ly", "--with", &word, "--with", &counters];
    let words = [script.to_str().unwrap(), argument.to_str().unwrap()];
    let [point] = &points(&lab, &options, &words)[..] else { panic!() };
    let code: Vec<&str> = point.code.iter().map(|place| place.name.as_str()).collect();
    assert!(code.iter().any(|name| name.contains("counters.c:")), "of the program that the script runs: {code:?}");
    assert!(point.instructions.as_ref().unwrap().median > 10_000.0, "{point:?}");
}

/// Outcome and results of a program with one thread.
fn ended(how: &str) -> (Outcome, LensPoint) {
    let lab = Lab::new();
    let endings = compiled("endings", &["endings.c"], &[]);
    // One of these endings executes another program.
    let options = ["--tasks", "1", "--limit", "20s", "--with", "/bin/true", "--format", "json"];
    let output = program(&lab, &options, &[&endings, how]).output().unwrap();
    lab.assert_nothing_left();
    (lab.record(1).attempts.remove(0).outcome.unwrap(), point(&output))
}

#[test]
fn a_program_that_crashes_leaves_what_was_counted() {
    let (outcome, point) = ended("crash");
    assert!(matches!(outcome, Outcome::Crashed { signal: 11, .. }), "{outcome:?}");
    assert!(point.transfers.is_none() && point.cut_short[0].instructions > 1000, "{point:?}");
}

#[test]
#[ignore = "boots guests: make test-guest"]
fn every_end_of_a_program_is_reported_with_its_counts() {
    let (outcome, _) = ended("abort");
    assert!(matches!(outcome, Outcome::Crashed { signal: 6, .. }), "{outcome:?}");
    let (outcome, point) = ended("hang");
    assert!(matches!(outcome, Outcome::GuestFailed { how: GuestFailure::Hung, .. }), "{outcome:?}");
    assert!(point.cut_short[0].instructions > 1000, "{point:?}");
    let (outcome, _) = ended("three");
    assert!(matches!(&outcome, Outcome::Exited { status: 3, stderr } if stderr == "no more beds\n"), "{outcome:?}");
    let (outcome, point) = ended("exec");
    assert_eq!(outcome, Outcome::Done, "the program that it becomes ends well");
    assert!(point.instructions.unwrap().median > 10_000.0);
    let (outcome, point) = ended("fork");
    assert_eq!((outcome, &point.problems[..]), (Outcome::Done, &[][..]));
    let (outcome, point) = ended("orphan");
    assert_eq!(outcome, Outcome::Done);
    assert_eq!(point.problems[0].kind(), "left_processes", "{point:?}");
}

/// A program for 32-bit x86, built without a C library.
fn of_32_bits() -> String {
    let (object, file) = (place().join("short.o"), place().join("short"));
    let run = |command: &mut Command| {
        assert!(command.status().unwrap().success(), "no 32-bit program; hint: apt-get install binutils");
    };
    run(Command::new("as").arg("--32").arg("-o").arg(&object).arg(source("short.s")));
    run(Command::new("ld").args(["-m", "elf_i386", "-o"]).arg(&file).arg(&object));
    file.to_str().unwrap().to_owned()
}

#[test]
#[ignore = "boots guests: make test-guest"]
fn programs_of_32_bits_run_too() {
    let lab = Lab::new();
    let [point] = &points(&lab, &["--tasks", "1"], &[&of_32_bits()])[..] else { panic!() };
    // 10,000 turns of two instructions, and four around them. Instructions interrupted by a page
    // fault begin twice.
    let instructions = point.instructions.as_ref().unwrap().median;
    assert!((20_004.0..20_020.0).contains(&instructions), "{instructions}");
    let reading = lab.record(1).attempts.remove(0).reading.unwrap();
    // A read-modify-write is two accesses, unless it is atomic.
    assert!((10_000..10_010).contains(&reading.totals.accesses), "{}", reading.totals.accesses);
}

/// A C program for 32-bit x86 with region marks, built without a C library.
fn marked_of_32_bits() -> String {
    let file = place().join("marked");
    let compiled = Command::new("cc")
        .args(["-m32", "-O1", "-ffreestanding", "-fno-pic", "-no-pie", "-fno-stack-protector", "-nostdlib", "-static"])
        .arg("-I")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads/harness"))
        .arg("-o")
        .args([&file, &source("marked.c")])
        .status();
    assert!(compiled.unwrap().success(), "no 32-bit program; hint: apt-get install gcc");
    file.to_str().unwrap().to_owned()
}

#[test]
#[ignore = "boots guests: make test-guest"]
fn marks_in_32_bit_code_bound_the_region() {
    let lab = Lab::new();
    let [point] = &points(&lab, &["--tasks", "1"], &[&marked_of_32_bits()])[..] else { panic!() };
    let instructions = point.instructions.as_ref().unwrap().median;
    assert!((2000.0..10_000.0).contains(&instructions), "1,000 additions of 1,000,000: {instructions}");
}

#[test]
fn what_can_not_run_in_a_guest_is_refused_before_a_boot() {
    let lab = Lab::new();
    let file = |name: &str, bytes: &[u8], mode| {
        let path = lab.path(name);
        fs::write(&path, bytes).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let library = lab.path("libgone.so.1");
    let library = library.to_str().unwrap();
    let built = Command::new("cc").args(["-shared", "-fPIC", "-x", "c", "/dev/null", "-o", library]).status().unwrap();
    assert!(built.success());
    let needs = compiled("needs", &["counters.c"], &["-Wl,--no-as-needed", library]);
    fs::remove_file(library).unwrap();
    let arm = [&b"\x7fELF\x02\x01\x01"[..], &[0; 9], &[2, 0, 0xb7, 0], &[0; 44]].concat();
    let own = compiled("counters", &["counters.c"], &[]);
    for (options, program, problem) in [
        (&[][..], "/nowhere/at/all".to_owned(), "cannot run /nowhere/at/all: No such file"),
        (&[], "no-such-program".to_owned(), "there is no program 'no-such-program' in PATH"),
        (&[], file("plain", b"hello\n", 0o644), "it is not executable"),
        (&[], file("text", b"hello\n", 0o755), "/text can't be run: it is not a program in ELF"),
        (&[], file("arm", &arm, 0o755), "is for another architecture (ELF machine 183), not for x86"),
        (&[], file("script", b"#!/nowhere/sh\n", 0o755), "/script needs the interpreter /nowhere/sh"),
        (&[], needs, "libgone.so.1, which is not here"),
        (&["--with", "/nowhere/file"], own.clone(), "`--with /nowhere/file`: No such file"),
        (&["--memory", "200"], own.clone(), "200 MiB of memory are too few for the program's files"),
        (&["--with", "x=y"], own.clone(), "absolute path in the guest"),
        (&["--env", "NAME"], own.clone(), "write it NAME=VALUE"),
        (&["--tasks", "4096"], own.clone(), "CPUs"),
    ] {
        assert_refused(&lens::program(&lab, options, &[&program]).output().unwrap(), 2, problem);
    }
    let refused = lens::program(&lab, &[], &[&own, "--in=/nowhere/at/all"]).output().unwrap();
    assert_refused(&refused, 2, "the argument '--in=/nowhere/at/all' names a file that does not exist");
    assert!(!lab.db().exists());
}
