// SPDX-License-Identifier: GPL-2.0-or-later
//! The plugin's entry point: checks the arguments and the emulator, and registers the first
//! callbacks.

use crate::arguments::{ArgumentError, Arguments};
use crate::callbacks;
use crate::icount::{Icount, NoClock};
use crate::lens::{LENS, Lens, MachineParts, say};
use crate::qemu::{Info, Missing, PluginId, Qemu};
use crate::region::Selection;
use crate::registers::Registers;
use crate::report;
use crate::scheduler::{Housekeeping, NoTurns, Scheduler};
use std::ffi::{CStr, c_char, c_int};
use std::io;
use std::path::PathBuf;

/// A reason why the plugin cannot be installed.
#[derive(Debug, thiserror::Error)]
enum InstallError {
    #[error("an argument is not UTF-8")]
    Encoding,
    #[error(transparent)]
    Argument(#[from] ArgumentError),
    #[error("user-mode emulation is not supported: start qemu-system-x86_64, which runs programs too")]
    UserMode,
    #[error("{0} machines are not supported: start qemu-system-x86_64")]
    Target(String),
    #[error("cpus={1}: the machine has {0} CPUs")]
    Cpus(c_int, u16),
    #[error(transparent)]
    Qemu(#[from] Missing),
    #[error(transparent)]
    NoTurns(#[from] NoTurns),
    #[error(transparent)]
    NoClock(#[from] NoClock),
    #[error("cannot write {0}: {1}")]
    Output(PathBuf, io::Error),
    #[error("the plugin is loaded already")]
    Twice,
}

/// Installs the plugin. QEMU calls it once the plugin is loaded. Returns 0, or 1 after a line on
/// standard error.
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
    // SAFETY: 1. QEMU passes a valid `info` that lives during the call; 2. our `Info` is the
    // beginning of its struct.
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
    if !info.is_system {
        return Err(InstallError::UserMode);
    }
    if target != "x86_64" {
        return Err(InstallError::Target(target.into()));
    }
    let mut arguments = Arguments::parse(arguments.iter().copied())?;
    let cpus = arguments.topology.cpus();
    if info.cpus != c_int::from(cpus) {
        return Err(InstallError::Cpus(info.cpus, cpus));
    }
    arguments.check_turns()?;
    arguments.output = std::path::absolute(&arguments.output)
        .and_then(|path| report::check_path(&path).map(|()| path))
        .map_err(|error| InstallError::Output(arguments.output.clone(), error))?;
    // Reports of two of five programs with their kernel differed from the distribution's emulator,
    // for an unknown cause.
    let uses_own = !matches!(arguments.selection, Selection::Program { kernel_too: true, .. });
    let qemu = Qemu::find(info.version, uses_own)?;
    let machine = arguments.model()?;
    let scheduler = Scheduler::find(cpus.into())?;
    let parts = MachineParts { icount: Icount::find()?, housekeeping: Housekeeping::find()? };
    let registers = Registers::find()?;
    qemu.use_own(callbacks::skips_turn, arguments.check);
    LENS.set(Lens::new(qemu, id, arguments, machine, scheduler, parts, registers)).map_err(|_| InstallError::Twice)?;
    LENS.get().into_iter().for_each(callbacks::register);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_emulators_are_refused() {
        let info = |is_system| Info { target_name: c"".as_ptr(), least_version: 0, version: 2, is_system, cpus: 2 };
        let refused = |is_system, target| install(0, &info(is_system), target, &[]).unwrap_err().to_string();
        assert!(refused(false, "x86_64").starts_with("user-mode emulation is not supported"));
        assert_eq!(refused(true, "aarch64"), "aarch64 machines are not supported: start qemu-system-x86_64");
    }
}
