// SPDX-License-Identifier: GPL-2.0-or-later
//! QEMU's scheduling of a machine's CPUs on one thread: the running CPU, the end of its turn, the
//! RCU notifier that would end turns, and data that only this thread touches.
//!
//! The functions and variables are not part of the plugin interface, which has nothing for this
//! purpose. QEMU exports them if it is built with modules, as distributions do.

use crate::qemu::{Missing, function, lookup, writable_bytes_from};
use std::cell::UnsafeCell;
use std::ffi::{CStr, c_int, c_uint};
use std::marker::PhantomData;
use std::ptr::{null, null_mut};

/// QEMU's functions for the turns of CPUs, and the running CPU.
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

/// The last known running CPU.
struct Running {
    /// QEMU's variable `current_cpu` of the thread that runs the CPUs; null before the first
    /// look-up.
    variable: *const *mut Cpu,
    /// Its value at the last look-up.
    cpu: *mut Cpu,
    index: c_uint,
    /// All CPUs by number; empty before the first look-up.
    all: Vec<*mut Cpu>,
}

// SAFETY: the pointers are QEMU's. CPUs and the thread that runs them exist until the process ends.
unsafe impl Send for Running {}

/// A reason why CPUs cannot take turns.
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
#[error("cannot determine the running CPU: QEMU's current_cpu is none of the machine's CPUs")]
pub(crate) struct UnknownCpu;

/// The thread-local variable (include/hw/core/cpu.h, from 1.3 to 11.1).
const CURRENT_CPU: &CStr = c"current_cpu";

impl Scheduler {
    /// Finds the functions, and checks that this machine's `cpus` CPUs share one thread. Call at
    /// installation.
    pub(crate) fn find(cpus: c_uint) -> Result<Self, NoTurns> {
        if has_threads()? {
            return Err(NoTurns::Threads);
        }
        if lookup(CURRENT_CPU).is_none() {
            return Err(NoTurns::Missing("current_cpu"));
        }
        let running = OneThread::new(Running { variable: null(), cpu: null_mut(), index: 0, all: Vec::new() });
        // SAFETY: the types are those of `qemu_get_cpu` and `cpu_exit` in QEMU's
        // include/hw/core/cpu.h, from 1.3 to 11.1, and of `cpu_loop_exit_restore` in
        // include/exec/exec-all.h (10.2: cpu-common.h), from 2.4 on.
        unsafe {
            let get_cpu = function(c"qemu_get_cpu")?;
            let exit = function(c"cpu_exit")?;
            let leave_block = function(c"cpu_loop_exit_restore")?;
            Ok(Scheduler { get_cpu, exit, leave_block, cpus, running })
        }
    }

    /// The running CPU.
    ///
    /// Callbacks get the number of a CPU too. But from QEMU 9.0 on, if CPUs share a thread, the
    /// number of the CPU that translates a block is compiled into it, and each CPU that executes
    /// the block passes that number (`gen_cpu_index` in accel/tcg/plugin-gen.c).
    ///
    /// # Errors
    /// If QEMU is of a version that this module does not fit.
    ///
    /// # Safety
    /// Call in a callback of a CPU.
    #[inline]
    pub(crate) unsafe fn running_cpu(&self) -> Result<c_uint, UnknownCpu> {
        // SAFETY: as the caller promises; the loan ends when this returns.
        let running = unsafe { self.running.lend() };
        // SAFETY: the variable is this thread's, which runs all CPUs, and lives as long as the
        // thread.
        if !running.variable.is_null() && unsafe { running.variable.read() } == running.cpu {
            return Ok(running.index);
        }
        self.look_up(running)
    }

    /// Looks up the running CPU, which has changed since the last look-up.
    #[cold]
    fn look_up(&self, running: &mut Running) -> Result<c_uint, UnknownCpu> {
        if running.all.is_empty() {
            running.variable = lookup(CURRENT_CPU).ok_or(UnknownCpu)?.cast_const().cast();
            // SAFETY: `get_cpu` walks the list of CPUs, which only grows before the first one runs.
            running.all = (0..self.cpus).map(|index| unsafe { (self.get_cpu)(index as c_int) }).collect();
        }
        // SAFETY: `lookup` has found the variable of this thread, which has that type and lives as
        // long as the thread.
        running.cpu = unsafe { running.variable.read() };
        // CPUs take turns in the order of their numbers.
        let after_last = (running.index + 1..self.cpus).chain(0..=running.index);
        let is_it = |index: &c_uint| running.all.get(*index as usize) == Some(&running.cpu);
        running.index = { after_last }.find(is_it).filter(|_| !running.cpu.is_null()).ok_or(UnknownCpu)?;
        Ok(running.index)
    }

    /// Ends the turn of the running CPU after its present translation block. Call in a callback of
    /// that CPU.
    pub(crate) fn end_turn(&self, cpu: c_uint) {
        // SAFETY: 1. `get_cpu` walks the list of CPUs, which is complete once one runs; 2. `exit`
        // sets flags of the CPU, from 10.2 on of all CPUs, and may be called on any thread; 3. null
        // is not passed on.
        unsafe {
            let cpu = (self.get_cpu)(cpu as c_int);
            if !cpu.is_null() {
                (self.exit)(cpu);
            }
        }
    }

    /// Ends the turn of a CPU before its present translation block, which runs in a later turn.
    /// Does not return, except for a number that no CPU has. `return_address`: of the block's
    /// callback.
    ///
    /// # Safety
    /// Call in the callback of that CPU's block, at the block's beginning, on the CPU's thread.
    /// QEMU jumps out of all functions from the callback on (`siglongjmp`): none of them may hold a
    /// value that needs to be dropped.
    pub(crate) unsafe fn refuse_block(&self, cpu: c_uint, return_address: usize) {
        // SAFETY: 1. as for `end_turn`; 2. the return address lies in the block's code, from which
        // QEMU finds the guest's state at the beginning of the block; 3. the caller promises that
        // the jump drops nothing.
        unsafe {
            let cpu = (self.get_cpu)(cpu as c_int);
            if !cpu.is_null() {
                (self.exit)(cpu);
                (self.leave_block)(cpu, return_address)
            }
        }
    }
}

/// True if QEMU runs each of a machine's CPUs on a thread of its own, as accelerators other than
/// TCG always do. TCG has a variable for it up to version 10.0, and a function from 10.1 on.
fn has_threads() -> Result<bool, Missing> {
    let is_tcg = read_flag(c"tcg_allowed").ok_or(Missing("tcg_allowed"))?;
    if !is_tcg {
        return Ok(true);
    }
    if let Some(has_threads) = read_flag(c"mttcg_enabled") {
        return Ok(has_threads);
    }
    // SAFETY: 1. the type is that of `qemu_tcg_mttcg_enabled` in include/system/tcg.h of QEMU 10.1;
    // 2. it reads the accelerator, which was created before plugins are loaded, and is TCG.
    unsafe { Ok(function::<unsafe extern "C" fn() -> bool>(c"qemu_tcg_mttcg_enabled")?()) }
}

/// A flag of QEMU's accelerator, `tcg_allowed` or `mttcg_enabled`; `None` if it is not exported.
fn read_flag(name: &CStr) -> Option<bool> {
    // SAFETY: 1. both are globals of the type `bool` (accel/tcg/tcg-all.c), set when the
    // accelerator is created, before plugins are loaded; 2. they are read as a byte, of which every
    // value is valid.
    lookup(name).map(|flag| unsafe { flag.cast::<u8>().read() } != 0)
}

/// Data that only the thread that runs all CPUs touches.
pub(crate) struct OneThread<T>(UnsafeCell<T>);

// SAFETY: 1. QEMU runs the machine's CPUs on one thread, which [`Scheduler::find`] checks; 2.
// callbacks of CPUs and of the reset come from that thread, one at a time, and do not nest; between
// them QEMU asks on that thread for the guest's time; 3. installation is over before QEMU creates
// the thread; 4. the exit callback comes on that thread, if a device ends QEMU from within an
// access, or on the main thread, which has paused all CPUs under QEMU's lock before it ends in
// order (`vm_shutdown`); 5. so lent data move between threads, one after the other, and so does all
// that they share among each other (the cells of the model's lines), because it is in such values
// only. Not covered: the main thread may exit with an error in the middle of a run; the lens's
// machines have no device that does this.
unsafe impl<T> Sync for OneThread<T> {}

// SAFETY: as for `Sync`.
unsafe impl<T> Send for OneThread<T> {}

impl<T> OneThread<T> {
    pub(crate) fn new(value: T) -> Self {
        OneThread(UnsafeCell::new(value))
    }

    /// Lends the data.
    ///
    /// # Safety
    /// Call in a callback of a CPU, or at installation, reset or exit, or on the thread of the CPUs
    /// while no callback runs. End the loan before the next call.
    #[inline]
    #[allow(clippy::mut_from_ref)]
    pub(crate) unsafe fn lend(&self) -> &mut T {
        // SAFETY: there is no other loan, as the caller promises and the type's own list says.
        unsafe { &mut *self.0.get() }
    }
}

/// QEMU's functions for RCU notifiers.
///
/// QEMU frees memory that others may still read once all readers have passed a quiescent point
/// (RCU). A thread that runs CPUs passes one at the end of each turn. From 10.2 on QEMU ends a turn
/// for this purpose if it has waited for 50 ms of the host's time. Under the lens turns end soon
/// enough without that, so the thread's notifier is removed. It is found in the thread's
/// `rcu_reader`, by the links of its list. Source: util/rcu.c and include/qemu/rcu.h, up to version
/// 11.1.
#[derive(Clone, Copy)]
pub(crate) struct Housekeeping {
    reader: unsafe extern "C" fn() -> *const usize,
    remove: unsafe extern "C" fn(*const usize),
}

/// The CPU thread has no notifier to remove.
#[derive(Debug, thiserror::Error)]
#[error("this QEMU may end the turn of a CPU at any time: the CPU thread has no RCU notifier in the expected place")]
pub(crate) struct NoNotifier;

/// Upper bound of the size of `rcu_reader`, in words.
const MOST_WORDS: usize = 16;

/// Words of a notifier: a function and two links, to the next one, and back to the word that leads
/// to it.
const WORDS_OF_NOTIFIER: usize = 3;
const LINK_BACK: usize = 2;

impl Housekeeping {
    /// Finds the functions.
    pub(crate) fn find() -> Result<Self, Missing> {
        // SAFETY: the types are those of QEMU's include/qemu/rcu.h, from 7.2 to 11.1.
        unsafe {
            Ok(Housekeeping {
                reader: function(c"get_ptr_rcu_reader")?,
                remove: function(c"rcu_remove_force_rcu_notifier")?,
            })
        }
    }

    /// Removes the notifier of this thread.
    ///
    /// # Errors
    /// If the thread has no notifier.
    ///
    /// # Safety
    /// Call on the thread that runs the CPUs, when none executes code.
    pub(crate) unsafe fn stop_interrupting(&self) -> Result<(), NoNotifier> {
        // SAFETY: it returns the address of a thread-local variable.
        let reader = unsafe { (self.reader)() };
        // SAFETY: as the caller promises.
        let notifier = unsafe { notifier_in(reader) }.ok_or(NoNotifier)?;
        // SAFETY: it is in the list, and this thread's.
        unsafe { (self.remove)(notifier) };
        Ok(())
    }
}

/// The notifier that one of the first words at `reader` leads to.
///
/// # Safety
/// `reader` must be aligned. The memory there must not change meanwhile.
unsafe fn notifier_in(reader: *const usize) -> Option<*const usize> {
    let words = (writable_bytes_from(reader as usize) / size_of::<usize>()).min(MOST_WORDS);
    (0..words).map(|word| reader.wrapping_add(word)).find_map(|head| {
        // SAFETY: the word is within a mapping that can be read.
        let notifier = unsafe { head.read() } as *const usize;
        if !notifier.is_aligned() || writable_bytes_from(notifier as usize) < WORDS_OF_NOTIFIER * size_of::<usize>() {
            return None;
        }
        // SAFETY: as above.
        let back = unsafe { notifier.add(LINK_BACK).read() };
        (back == head as usize).then_some(notifier)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn a_notifier_is_found_by_its_links() {
        let mut reader = Box::new([0_usize; 20]);
        let mut notifier = Box::new([1, 0, 0]);
        let other = Box::new([0_usize; 4]);
        *reader = [7, 1, other.as_ptr() as usize, 3].into_iter().chain([0; 16]).collect::<Vec<_>>().try_into().unwrap();
        // SAFETY: the words are ours.
        assert_eq!(unsafe { notifier_in(reader.as_ptr()) }, None);
        reader[4] = notifier.as_ptr() as usize;
        notifier[LINK_BACK] = &raw const reader[4] as usize;
        // SAFETY: as above.
        assert_eq!(unsafe { notifier_in(reader.as_ptr()) }, Some(notifier.as_ptr()));
    }
}
