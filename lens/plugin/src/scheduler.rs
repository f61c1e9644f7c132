// SPDX-License-Identifier: GPL-2.0-or-later
//! QEMU's functions and variables that concern the turns of a machine's CPUs on one thread: which CPU runs, and that its
//! turn ends.
//!
//! They are not part of the plugin interface, which has nothing for this purpose. QEMU exports them if it is built with
//! modules, as distributions do.

use crate::one_thread::OneThread;
use crate::qemu::{Missing, function, lookup};
use std::ffi::{CStr, c_int, c_uint};
use std::marker::PhantomData;
use std::ptr::{null, null_mut};

/// The functions, and the CPU that runs.
pub(crate) struct Scheduler {
    get_cpu: unsafe extern "C" fn(c_int) -> *mut Cpu,
    exit: unsafe extern "C" fn(*mut Cpu),
    leave_block: unsafe extern "C" fn(*mut Cpu, usize) -> !,
    /// Number of CPUs.
    cpus: c_uint,
    running: OneThread<Running>,
}

/// A CPU of QEMU's.
#[repr(C)]
struct Cpu {
    opaque: [u8; 0],
    not_send: PhantomData<*mut u8>,
}

/// The CPU that runs, as last seen.
struct Running {
    /// QEMU's variable `current_cpu` of the thread that runs the CPUs; null before the first look.
    variable: *const *mut Cpu,
    /// Its value at the last look.
    cpu: *mut Cpu,
    index: c_uint,
    /// All CPUs by number; empty before the first look.
    all: Vec<*mut Cpu>,
}

// SAFETY: the pointers are QEMU's. CPUs and the thread that runs them exist until the process ends.
unsafe impl Send for Running {}

/// Why CPUs cannot take turns.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoTurns {
    #[error("this QEMU does not export {0}: it must be built with modules, as distributions build it")]
    Missing(&'static str),
    #[error("CPUs must share one thread: start QEMU with -accel tcg,thread=single")]
    Threads,
}

impl From<Missing> for NoTurns {
    fn from(missing: Missing) -> Self {
        NoTurns::Missing(missing.0)
    }
}

/// QEMU's `current_cpu` is none of its CPUs.
#[derive(Debug, thiserror::Error)]
#[error("this QEMU does not tell which CPU runs: its current_cpu is none of the CPUs")]
pub(crate) struct UnknownCpu;

/// The thread-local variable (include/hw/core/cpu.h, from 1.3 to 11.1).
const CURRENT_CPU: &CStr = c"current_cpu";

impl Scheduler {
    /// Finds the functions, and checks that the threads of this machine's `cpus` CPUs are one. Call it at installation
    /// in a system.
    pub(crate) fn find(cpus: c_uint) -> Result<Self, NoTurns> {
        if has_threads()? {
            return Err(NoTurns::Threads);
        }
        if lookup(CURRENT_CPU).is_none() {
            return Err(NoTurns::Missing("current_cpu"));
        }
        let running = OneThread::new(Running { variable: null(), cpu: null_mut(), index: 0, all: Vec::new() });
        // SAFETY: the types are those of `qemu_get_cpu` and `cpu_exit` in QEMU's include/hw/core/cpu.h, from 1.3 to
        // 11.1, and of `cpu_loop_exit_restore` in include/exec/exec-all.h (10.2: cpu-common.h), from 2.4 on.
        unsafe {
            let get_cpu = function(c"qemu_get_cpu")?;
            let exit = function(c"cpu_exit")?;
            let leave_block = function(c"cpu_loop_exit_restore")?;
            Ok(Scheduler { get_cpu, exit, leave_block, cpus, running })
        }
    }

    /// The CPU that runs.
    ///
    /// Callbacks get the number of a CPU too. But from QEMU 9.0 on, if CPUs share a thread, the number of the CPU that
    /// translates a block is compiled into it, and each CPU that executes the block passes that one (`gen_cpu_index` in
    /// accel/tcg/plugin-gen.c).
    ///
    /// # Errors
    /// If QEMU does not tell, because it is of a version that this module does not fit.
    ///
    /// # Safety
    /// Call it in a callback of a CPU.
    #[inline]
    pub(crate) unsafe fn running_cpu(&self) -> Result<c_uint, UnknownCpu> {
        // SAFETY: as the caller promises; it is given back when this returns.
        let running = unsafe { self.running.lend() };
        // SAFETY: the variable is this thread's, which runs all CPUs, and lives as long as the thread.
        if !running.variable.is_null() && unsafe { running.variable.read() } == running.cpu {
            return Ok(running.index);
        }
        self.look(running)
    }

    /// Another CPU than at the last look runs, or this is the first look.
    #[cold]
    fn look(&self, running: &mut Running) -> Result<c_uint, UnknownCpu> {
        if running.all.is_empty() {
            running.variable = lookup(CURRENT_CPU).ok_or(UnknownCpu)?.cast_const().cast();
            // SAFETY: `get_cpu` walks the list of CPUs, which only grows before the first one runs.
            running.all = (0..self.cpus).map(|index| unsafe { (self.get_cpu)(index as c_int) }).collect();
        }
        // SAFETY: `lookup` has found the variable of this thread, which has that type and lives as long as the thread.
        running.cpu = unsafe { running.variable.read() };
        // CPUs take turns in the order of their numbers.
        let after_last = (running.index + 1..self.cpus).chain(0..=running.index);
        let is_it = |index: &c_uint| running.all.get(*index as usize) == Some(&running.cpu);
        running.index = { after_last }.find(is_it).filter(|_| !running.cpu.is_null()).ok_or(UnknownCpu)?;
        Ok(running.index)
    }

    /// The turn of the CPU that runs ends after its present translation block. Call it in a callback of that CPU.
    pub(crate) fn end_turn(&self, cpu: c_uint) {
        // SAFETY: 1. `get_cpu` walks the list of CPUs, which is complete once one runs; 2. `exit` sets flags of the
        // CPU, from 10.2 on of all CPUs, and may be called on any thread; 3. null is not passed on.
        unsafe {
            let cpu = (self.get_cpu)(cpu as c_int);
            if !cpu.is_null() {
                (self.exit)(cpu);
            }
        }
    }

    /// The turn of a CPU ends before its present translation block, which runs in a later turn. Does not return, except
    /// for a number that no CPU has. `return_address`: of the block's callback.
    ///
    /// # Safety
    /// Call it in the callback of that CPU's block, at the block's beginning, on the CPU's thread. QEMU jumps out of all
    /// functions from the callback on (`siglongjmp`): none of them may hold anything that has to be dropped.
    pub(crate) unsafe fn refuse_block(&self, cpu: c_uint, return_address: usize) {
        // SAFETY: 1. as for `end_turn`; 2. the return address lies in the block's code, from which QEMU finds the
        // guest's state at the beginning of the block; 3. the caller promises that the jump drops nothing.
        unsafe {
            let cpu = (self.get_cpu)(cpu as c_int);
            if !cpu.is_null() {
                (self.exit)(cpu);
                (self.leave_block)(cpu, return_address)
            }
        }
    }
}

/// Whether QEMU runs each of a machine's CPUs on a separate thread, as accelerators other than TCG always do. For TCG a
/// variable tells up to version 10.0, and a function from 10.1 on.
fn has_threads() -> Result<bool, Missing> {
    let is_tcg = read_flag(c"tcg_allowed").ok_or(Missing("tcg_allowed"))?;
    if !is_tcg {
        return Ok(true);
    }
    if let Some(has_threads) = read_flag(c"mttcg_enabled") {
        return Ok(has_threads);
    }
    // SAFETY: 1. the type is that of `qemu_tcg_mttcg_enabled` in include/system/tcg.h of QEMU 10.1; 2. it reads the
    // accelerator, which was created before plugins are loaded, and is TCG.
    unsafe { Ok(function::<unsafe extern "C" fn() -> bool>(c"qemu_tcg_mttcg_enabled")?()) }
}

/// A flag of QEMU's accelerator, `tcg_allowed` or `mttcg_enabled`. None if it is not exported.
fn read_flag(name: &CStr) -> Option<bool> {
    // SAFETY: 1. both are globals of the type `bool` (accel/tcg/tcg-all.c), set when the accelerator is created, before
    // plugins are loaded; 2. they are read as a byte, of which every value is valid.
    lookup(name).map(|flag| unsafe { flag.cast::<u8>().read() } != 0)
}
