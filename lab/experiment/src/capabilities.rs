//! Parts of Faultline on this machine: a trial of each, which boots and measures nothing.

use crate::error::Error;
use crate::lens::find_plugin;
use crate::places::Places;
use crate::target::{LocalMachines, Machines, guest_workloads};
use faultline_record::capability::{Capability, Lack};
use faultline_record::machine::Machine;
use faultline_targets::network::Namespaces;
use faultline_targets::qemu::{Emulator, KernelImage};
use faultline_targets::search_path::first_line;
use faultline_targets::{StopFlag, TargetError};
use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::path::Path;

/// The parts of Faultline on this machine, in the order in which users need them.
pub fn capabilities(places: &Places) -> Vec<Capability> {
    type Trial = fn(&Places) -> Result<String, Lack>;
    let parts: [(&str, Trial); 8] = [
        ("time and memory", workloads),
        ("builds of commits", |_| builds()),
        ("sandbox of commits", sandbox),
        ("network namespaces", networks),
        ("guests", guests),
        ("guests on the host's CPUs (KVM)", |_| hardware()),
        ("counts under the lens", lens),
        ("hardware counters", |_| counters()),
    ];
    parts.map(|(part, trial)| Capability { part, state: trial(places) }).into()
}

fn workloads(places: &Places) -> Result<String, Lack> {
    let ready = LocalMachines.ready(&Machine::Host, places, &StopFlag::default()).map_err(lack)?;
    let workloads = ready.target.workloads().map_err(target_lack)?;
    Ok(format!("{} workloads on {} CPUs", workloads.len(), ready.target.cpus().len()))
}

fn builds() -> Result<String, Lack> {
    let version = |program: &str, package: &str| {
        let lack = || Lack { problem: format!("no {program} runs here"), hint: format!("`apt-get install {package}`") };
        first_line(program, &["--version"]).ok_or_else(lack)
    };
    Ok(format!("{}; {}", version("git", "git")?, version("cc", "gcc")?))
}

fn sandbox(places: &Places) -> Result<String, Lack> {
    match places.lack_of_sandbox().map_err(lack)? {
        None => Ok("no network, home, database or secrets".to_owned()),
        Some(why) => Err(Lack {
            problem: why.to_owned(),
            hint: "allow user namespaces: `sysctl -w user.max_user_namespaces=10000`; in a container, its own options"
                .to_owned(),
        }),
    }
}

fn networks(places: &Places) -> Result<String, Lack> {
    let paths = places.paths_for_facts().map_err(lack)?;
    Namespaces::new(paths, &StopFlag::default()).map_err(target_lack)?;
    Ok("`--on netns`".to_owned())
}

fn guests(places: &Places) -> Result<String, Lack> {
    let emulator = Emulator::find(places.emulator.as_deref()).map_err(target_lack)?;
    let kernel = KernelImage::of_this_machine(places.kernel.as_deref()).map_err(target_lack)?;
    guest_workloads(places).map_err(lack)?;
    Ok(format!("{}, kernel {}", emulator.version(), kernel.path.display()))
}

fn hardware() -> Result<String, Lack> {
    const FILE: &str = "/dev/kvm";
    let hint = |hint: &str| format!("{hint}; guests work without, but slower");
    match OpenOptions::new().read(true).write(true).open(FILE) {
        Ok(_) => Ok("`--on qemu:accel=kvm`".to_owned()),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Err(Lack {
            problem: format!("{FILE}: {error}"),
            hint: hint("`usermod -a -G kvm $USER`, then log in again"),
        }),
        Err(error) => Err(Lack {
            problem: format!("{FILE}: {error}"),
            hint: hint("turn on virtualisation in the firmware, or nested virtualisation of the outer host"),
        }),
    }
}

fn lens(places: &Places) -> Result<String, Lack> {
    let emulator = LocalMachines.lens_emulator(places).map_err(lack)?;
    find_plugin(places).map_err(lack)?;
    guests(places)?;
    Ok(emulator)
}

/// Faultline needs none. They are listed because users of `perf` ask for them.
fn counters() -> Result<String, Lack> {
    let event = ["cpu", "cpu_core", "armv8_pmuv3_0"]
        .into_iter()
        .find(|name| Path::new("/sys/bus/event_source/devices").join(name).is_dir());
    event.map(|name| format!("{name}; not used: the lens counts")).ok_or_else(|| Lack {
        problem: "the kernel has no driver for this machine's counters".to_owned(),
        hint: "none is needed: the lens counts instructions and transfers".to_owned(),
    })
}

fn lack(error: Error) -> Lack {
    Lack { problem: error.problem, hint: error.hint.unwrap_or_default() }
}

fn target_lack(TargetError { problem, hint }: TargetError) -> Lack {
    Lack { problem, hint }
}
