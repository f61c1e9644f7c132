//! `faultline lens machine` with a disk image: a system that boots with its own loader. The only
//! part of the lens in it is the marks of the program. Lines are counted by physical address, and
//! code is named by an ELF file.

use crate::lab::guest::guest_directory;
use crate::lab::{Lab, assert_refused, lens, stderr, stdout};
use faultline_stats::summary::RunSummary;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

const OPERATIONS: &str = "200";

#[test]
#[ignore = "boots an image under the lens: `make test-guest`"]
fn a_disk_image_is_counted_between_the_marks_of_its_own_program() {
    let lab = Lab::new();
    let (machine, image) = (lab.path("machine"), lab.path("small.img"));
    let programs = machine.join("programs");
    fs::create_dir_all(&programs).unwrap();
    let program = guest_directory().join("workloads/path_stat");
    fs::copy(&program, programs.join("path_stat")).unwrap();
    let words = format!("--scratch /tmp --variant distinct --mode process --tasks 1 --ops {OPERATIONS}");
    fs::write(programs.join("first"), format!("#!/bin/sh\nexec /programs/path_stat {words}\n")).unwrap();
    fs::set_permissions(programs.join("first"), fs::Permissions::from_mode(0o755)).unwrap();
    let (kernel, _) = crate::ssh_guest::disk::package(&lab.path(""), "kernel", "bookworm", "");
    crate::ssh_guest::disk::make(&machine, &kernel);
    crate::ssh_guest::disk::log_in(&machine, "small.img");
    crate::ssh_guest::disk::run(Command::new(crate::ssh_guest::disk::script("image.sh")).arg(&machine).arg(&image));

    let (image, program) = (image.to_str().unwrap(), program.to_str().unwrap());
    let words =
        ["lens", "machine", "--quiet", "--kernel", image, "--memory", "512", "--tasks", "1", "--ops", OPERATIONS];
    let more = ["--symbols", program, "--limit", "15m", "--format", "json"];
    let output = lens::command(&lab, &[&words[..], &more].concat()).output().unwrap();
    lens::assert_status(&output, 0);
    let summary: RunSummary = serde_json::from_slice(&output.stdout).unwrap();
    let counted = summary.lens.unwrap();
    let point = &counted.curves[0].points[0];
    assert!(point.problems.is_empty() && point.failures.is_empty(), "{point:?}");
    assert_eq!((point.cpus, point.operations), (1, Some(200)));
    let instructions = point.instructions.as_ref().unwrap().median;
    assert!((500.0..20_000.0).contains(&instructions), "{instructions} instructions for a stat");
    lab.assert_nothing_left();

    let refused = lens::command(&lab, &["lens", "machine", "--kernel", image, "--append", "quiet"]).output().unwrap();
    assert_refused(&refused, 2, "boots with its own loader");
    assert!(stderr(&refused).contains("--append") && stdout(&refused).is_empty());
}
