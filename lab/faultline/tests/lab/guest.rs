//! Shared parts of guest tests: the guest's files, a machine, and a workload with failing variants.

use super::{Lab, program};
use faultline_record::machine::{Accelerator, MachineShape, usual_boot_limit};
use faultline_targets::StopFlag;
use faultline_targets::host::HostPaths;
use faultline_targets::qemu::{Emulator, GuestPaths, KernelImage, MachineRequest, Named, QemuMachine};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The directory of build products, which contains the command under test.
fn target() -> &'static Path {
    program().parent().unwrap().parent().unwrap()
}

/// The products of `make guest`.
pub fn guest_directory() -> PathBuf {
    let directory = target().join("guest");
    assert!(directory.join("agent").exists(), "no {}; hint: `make guest`", directory.display());
    directory
}

/// The emulator named by `FAULTLINE_QEMU`, or unpacked by `make emulator`.
pub fn emulator() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("FAULTLINE_QEMU") {
        return Some(named.into());
    }
    let file = target().join("qemu/usr/bin/qemu-system-x86_64");
    file.exists().then_some(file)
}

/// The command with the guest's parts and the emulator.
pub fn command(lab: &Lab, words: &[&str]) -> Command {
    let mut command = lab.command(words);
    command.arg("--guest").arg(guest_directory());
    command.args(emulator().iter().flat_map(|file| ["--qemu".as_ref(), file.as_os_str()]));
    command
}

/// The kernel that guests boot.
pub fn kernel() -> KernelImage {
    let unpacked = target().join("kernels/bookworm/vmlinuz");
    KernelImage::of_this_machine(unpacked.is_file().then_some(&*unpacked)).unwrap_or_else(|error| panic!("{error}"))
}

/// A machine of two CPUs, set up as for the lens, with the guest's parts in `guest`.
pub fn machine(lab: &Lab, guest: PathBuf) -> QemuMachine {
    let host = HostPaths {
        workloads: PathBuf::new(),
        scratch: lab.path("scratch"),
        keeper: program().to_owned(),
        sandbox: None,
    };
    let paths = GuestPaths { guest, host, cache: Some(lab.path("cache")) };
    let request = MachineRequest {
        shape: MachineShape::new(2, 1, None).unwrap(),
        kernel: kernel(),
        accelerator: Accelerator::Tcg,
        boot_limit: usual_boot_limit(2),
        parameters: Vec::new(),
        named: Named::ByOptions,
    };
    let emulator = Emulator::find(emulator().as_deref()).unwrap();
    emulator.must_suit_the_lens().unwrap();
    QemuMachine::start(request, paths, emulator, &StopFlag::default()).unwrap()
}

/// A guest directory with the agent and one workload, `troubled`.
pub fn troubled(lab: &Lab) -> PathBuf {
    let directory = lab.path("guest");
    fs::create_dir_all(directory.join("workloads")).unwrap();
    fs::copy(guest_directory().join("agent"), directory.join("agent")).unwrap();
    compile("troubled.c", &directory.join("workloads/troubled"), &["-static"]);
    directory
}

pub fn compile(source: &str, output: &Path, options: &[&str]) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/guest").join(source);
    let status = Command::new("cc").args(options).arg("-o").arg(output).arg(source).status().unwrap();
    assert!(status.success(), "no compiler, or no static C library; hint: apt-get install gcc libc6-dev");
}
