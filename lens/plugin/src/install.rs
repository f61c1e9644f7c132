// SPDX-License-Identifier: GPL-2.0-or-later
//! The plugin's entry point: checks the arguments and the emulator, then registers the first callbacks.

use crate::arguments::{ArgumentError, Arguments, KERNEL_QUANTA, PROGRAM_QUANTA};
use crate::callbacks;
use crate::fork;
use crate::housekeeping::Housekeeping;
use crate::icount::{Icount, NoClock};
use crate::lens::{LENS, Lens, MachineParts, Watched, say};
use crate::output;
use crate::pace::Pace;
use crate::qemu::{Info, Missing, PluginId, Qemu};
use crate::scheduler::{NoTurns, Scheduler};
use crate::turns::Grain;
use std::ffi::{CStr, c_char, c_int};
use std::io;
use std::path::PathBuf;

/// Why the plugin cannot be installed.
#[derive(Debug, thiserror::Error)]
enum InstallError {
    #[error("an argument is not UTF-8")]
    Encoding,
    #[error(transparent)]
    Argument(#[from] ArgumentError),
    #[error("{0}: it reads x86-64 and 32-bit x86 instructions alone")]
    Target(String),
    #[error("{0}: in full-system emulation it counts x86-64 kernels alone")]
    System(String),
    #[error("the machine has {0} CPUs, cpus={1} says otherwise")]
    Cpus(c_int, u16),
    #[error(transparent)]
    Qemu(#[from] Missing),
    #[error(transparent)]
    NoTurns(#[from] NoTurns),
    #[error(transparent)]
    NoClock(#[from] NoClock),
    #[error("{0}: can't be written: {1}")]
    Output(PathBuf, io::Error),
    #[error("agent: only for a program in a machine")]
    AgentInUserMode,
    #[error("forks can't be watched: {0}")]
    Fork(io::Error),
    #[error("it is loaded already")]
    Twice,
}

/// Called by QEMU once the plugin is loaded. Returns 0, or 1 after a line on standard error.
///
/// # Safety
/// QEMU's contract: `info` points to its description, and `argv` to `argc` C strings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qemu_plugin_install(
    id: PluginId,
    info: *const Info,
    argc: c_int,
    argv: *const *const c_char,
) -> c_int {
    // SAFETY: 1. QEMU passes a valid `info` that lives during the call; 2. our `Info` is the beginning of its struct.
    let info = unsafe { &*info };
    let texts: Option<Vec<&str>> = (0..argc.max(0) as usize)
        // SAFETY: `argv` has `argc` strings, which live as long as the plugin.
        .map(|index| unsafe { CStr::from_ptr(*argv.add(index)) }.to_str().ok())
        .collect();
    // SAFETY: QEMU's name of its target is a C string.
    let target = unsafe { CStr::from_ptr(info.target_name) }.to_string_lossy();
    match texts.ok_or(InstallError::Encoding).and_then(|texts| install(id, info, &target, &texts)) {
        Ok(()) => 0,
        Err(error) => {
            say(error);
            1
        }
    }
}

fn install(id: PluginId, info: &Info, target: &str, arguments: &[&str]) -> Result<(), InstallError> {
    if info.is_system && target != "x86_64" {
        return Err(InstallError::System(target.into()));
    }
    let is_64_bit = match target {
        "x86_64" => true,
        "i386" => false,
        other => return Err(InstallError::Target(other.into())),
    };
    let usual = if info.is_system { KERNEL_QUANTA } else { PROGRAM_QUANTA };
    let mut arguments = Arguments::parse(arguments.iter().copied(), usual)?;
    let cpus = arguments.topology.cpus();
    if info.is_system {
        if info.cpus != c_int::from(cpus) {
            return Err(InstallError::Cpus(info.cpus, cpus));
        }
        arguments.check_turns()?;
    } else if arguments.selection.is_program() {
        return Err(InstallError::AgentInUserMode);
    }
    // The program may change its directory before the report is written.
    arguments.output = std::path::absolute(&arguments.output)
        .and_then(|path| output::check(&path).map(|()| path))
        .map_err(|error| InstallError::Output(arguments.output.clone(), error))?;
    let qemu = Qemu::find(info.version)?;
    let watched = if info.is_system { Watched::Kernel } else { Watched::Program { is_64_bit } };
    let machine = arguments.machine()?;
    let pace = match watched {
        Watched::Program { .. } => Pace::threads(cpus.into(), arguments.quanta, arguments.stall),
        Watched::Kernel => Pace::turns(cpus.into(), grain(&arguments), Scheduler::find(cpus.into())?),
    };
    let parts = match watched {
        Watched::Program { .. } => None,
        Watched::Kernel => Some(MachineParts { icount: Icount::find()?, housekeeping: Housekeeping::find()? }),
    };
    LENS.set(Lens::new(qemu, id, arguments, machine, watched, pace, parts)).map_err(|_| InstallError::Twice)?;
    if !info.is_system {
        fork::watch().map_err(InstallError::Fork)?;
    }
    LENS.get().into_iter().for_each(callbacks::register);
    Ok(())
}

/// How finely the CPUs of a machine interleave.
fn grain(arguments: &Arguments) -> Grain {
    match arguments.selection.is_program() {
        true => Grain::Fine(arguments.quanta),
        false => Grain::Coarse(arguments.quanta.contended),
    }
}
