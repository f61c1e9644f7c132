// SPDX-License-Identifier: GPL-2.0-or-later
//! QEMU's instruction counter (`-icount`), the source of a machine's time; and its replacement by
//! the guest's time.
//!
//! All requests for a machine's time go through two entries of the accelerator's table of
//! functions, which `icount_get` fills with itself: devices and their timers through one, the time
//! stamp counter through the other. The entries are found by that address, so their place in the
//! table does not matter. Afterwards both are called, to check that the new function answers.
//!
//! QEMU limits a CPU's turn to its share of the instructions that remain until the next timer. It
//! computes them from the shift, the base-2 logarithm of nanoseconds per instruction, which its
//! adaptive mode changes at run time. The shift is a field of `timers_state`, found by its effect
//! on `icount_to_ns`.
//!
//! Source: accel/tcg/icount-common.c, accel/tcg/tcg-accel-ops.c and system/cpus.c of QEMU 10.0.

use crate::guest_time::OwnTime;
use crate::qemu::{Missing, function, lookup, writable_bytes_from};
use std::ffi::c_int;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Returns the time, in nanoseconds.
pub(crate) type Clock = unsafe extern "C" fn() -> i64;

/// QEMU's functions for the time of a machine.
#[derive(Clone, Copy)]
pub(crate) struct Icount {
    now: Clock,
    instructions: Clock,
    to_ns: unsafe extern "C" fn(i64) -> i64,
    is_cpu_thread: unsafe extern "C" fn() -> bool,
    is_locked: unsafe extern "C" fn() -> bool,
    accelerator: unsafe extern "C" fn() -> *mut usize,
    device_time: Clock,
    cpu_time: Clock,
    timers: *mut i16,
    until_timer: unsafe extern "C" fn(c_int, c_int) -> i64,
}

// SAFETY: functions, and a variable of QEMU's that exists until the process ends.
unsafe impl Send for Icount {}
// SAFETY: as above; the variable is used only in `Shift::find`, on one thread.
unsafe impl Sync for Icount {}

/// QEMU's shift: the base-2 logarithm of nanoseconds per instruction.
pub(crate) struct Shift {
    place: *mut i16,
    /// The value at the start of QEMU.
    given: i16,
}

// SAFETY: the place is QEMU's and exists until the process ends.
unsafe impl Send for Shift {}

/// A reason why the guest's time cannot replace QEMU's.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoClock {
    #[error("this QEMU does not export {0}: it must be built with modules, as distributions build it")]
    Missing(&'static str),
    #[error("time must follow the instructions: start QEMU with -icount shift=4,sleep=off")]
    HostTime,
    #[error("this QEMU keeps a machine's time elsewhere than version 10: the plugin cannot replace the guest's clock")]
    Elsewhere,
}

impl From<Missing> for NoClock {
    fn from(missing: Missing) -> Self {
        NoClock::Missing(missing.0)
    }
}

/// `use_icount` with a fixed shift (`ICOUNT_PRECISE` in include/exec/icount.h).
const PRECISE: c_int = 1;

/// Upper bound of the accelerator's table, in words.
const MOST_WORDS: usize = 64;

/// `QEMU_CLOCK_VIRTUAL` and `QEMU_TIMER_ATTR_ALL` in include/qemu/timer.h.
const MACHINE_CLOCK: c_int = 1;
const ALL_TIMERS: c_int = -1;

/// Number of entries: one for devices, one for the time stamp counter.
const ENTRIES: usize = 2;

/// Upper bound of `timers_state`, in numbers of 16 bits.
const MOST_FIELDS: usize = 256;

impl Icount {
    /// Finds the functions, and checks that QEMU counts instructions. Call at installation.
    pub(crate) fn find() -> Result<Self, NoClock> {
        let mode = lookup(c"use_icount").ok_or(Missing("use_icount"))?;
        // SAFETY: an integer or an enumeration (include/exec/icount.h), set before plugins are
        // loaded.
        if unsafe { mode.cast::<c_int>().read() } != PRECISE {
            return Err(NoClock::HostTime);
        }
        // SAFETY: the types are those of QEMU's include/exec/icount.h, system/cpus.h,
        // system/accel-ops.h and qemu/main-loop.h, from 7.2 to 11.1. `bool` is one byte that is 0
        // or 1 on both sides.
        unsafe {
            Ok(Icount {
                now: function(c"icount_get")?,
                instructions: function(c"icount_get_raw")?,
                to_ns: function(c"icount_to_ns")?,
                is_cpu_thread: function(c"qemu_in_vcpu_thread")?,
                // Its name before 9.0 is the second.
                is_locked: function(c"bql_locked")
                    .or_else(|missing| function(c"qemu_mutex_iothread_locked").map_err(|_| missing))?,
                accelerator: function(c"cpus_get_accel")?,
                device_time: function(c"cpus_get_virtual_clock")?,
                cpu_time: function(c"cpus_get_elapsed_ticks")?,
                until_timer: function(c"qemu_clock_deadline_ns_all")?,
                timers: lookup(c"timers_state").ok_or(Missing("timers_state"))?.cast(),
            })
        }
    }

    /// QEMU's own time with 2^`shift` nanoseconds per instruction. Call where QEMU asks for the
    /// time, while the shift does not change.
    pub(crate) fn own_time(&self, shift: i16) -> OwnTime {
        // SAFETY: QEMU itself would call the first function where it asks for the time, and the
        // others are parts of it.
        unsafe {
            loop {
                let instructions = (self.instructions)();
                let now_ns = (self.now)();
                // On another thread than the CPUs', instructions may have been added meanwhile.
                if (self.instructions)() == instructions {
                    let skipped_ns = now_ns - (self.to_ns)(instructions);
                    return OwnTime { instructions, now_ns: (instructions << shift) + skipped_ns, skipped_ns };
                }
            }
        }
    }

    /// Finds the shift.
    ///
    /// # Errors
    /// If it is not in the expected place.
    ///
    /// # Safety
    /// As for [`Icount::replace`].
    pub(crate) unsafe fn shift(&self) -> Result<Shift, NoClock> {
        // SAFETY: it shifts a number.
        let ns = || unsafe { (self.to_ns)(1) };
        let given = ns().trailing_zeros() as i16;
        let fields = writable_bytes_from(self.timers as usize) / size_of::<i16>();
        let has_effect = |place: &*mut i16| {
            // SAFETY: the field is within a mapping that can be read and written, and no other code
            // uses it now, as the caller promises. It has its value again when this returns.
            unsafe {
                if place.read_volatile() != given {
                    return false;
                }
                place.write_volatile(given + 1);
                let is_changed = ns() == 2 << given;
                place.write_volatile(given);
                is_changed
            }
        };
        let places = (0..fields.min(MOST_FIELDS)).map(|field| self.timers.wrapping_add(field));
        let place = { places }.find(has_effect).ok_or(NoClock::Elsewhere)?;
        Ok(Shift { place, given })
    }

    /// Nanoseconds until the machine's next timer; 0 if it is due, negative if there is none. QEMU
    /// asks for the time meanwhile. Call where QEMU asks for the time.
    pub(crate) fn until_timer(&self) -> i64 {
        // SAFETY: it reads the lists of timers, under their own locks, which QEMU does not hold
        // when it asks for the time.
        unsafe { (self.until_timer)(MACHINE_CLOCK, ALL_TIMERS) }
    }

    /// True on the thread that runs the CPUs.
    pub(crate) fn is_on_cpu_thread(&self) -> bool {
        // SAFETY: it reads a thread-local variable.
        unsafe { (self.is_cpu_thread)() }
    }

    /// True on the thread that runs the CPUs while it holds QEMU's lock: between two rounds of
    /// turns, in a timer, or in a device. The lock is not held when a CPU reads its time stamp
    /// counter, or when QEMU computes the number of instructions of a turn.
    pub(crate) fn is_between_rounds(&self) -> bool {
        // SAFETY: it reads a thread-local variable.
        self.is_on_cpu_thread() && unsafe { (self.is_locked)() }
    }

    /// Replaces `icount_get` by `clock`. `asked` counts the calls of `clock`.
    ///
    /// # Errors
    /// If QEMU asks another function for the time.
    ///
    /// # Safety
    /// Call on the thread that runs or creates the CPUs, when no CPU executes code, and while no
    /// other code asks for the time.
    pub(crate) unsafe fn replace(&self, clock: Clock, asked: &AtomicU32) -> Result<(), NoClock> {
        // SAFETY: the accelerator is registered before CPUs are created.
        let table = unsafe { (self.accelerator)() };
        let words = writable_bytes_from(table as usize) / size_of::<usize>();
        let is_ours = |word: &usize| {
            // SAFETY: the word is aligned like the table, and within a mapping that can be read and
            // written.
            unsafe { table.add(*word).read() == self.now as usize }
        };
        let entries: Vec<usize> = (0..words.min(MOST_WORDS)).filter(is_ours).collect();
        if entries.len() != ENTRIES {
            return Err(NoClock::Elsewhere);
        }
        for entry in entries {
            // SAFETY: as above; the word holds a function of the same type.
            unsafe { table.add(entry).write(clock as usize) };
        }
        // Relaxed, both: this thread counts.
        let before = asked.load(Relaxed);
        // SAFETY: no CPU executes code, so the time may be asked for.
        unsafe {
            (self.device_time)();
            (self.cpu_time)();
        }
        if asked.load(Relaxed).wrapping_sub(before) < ENTRIES as u32 { Err(NoClock::Elsewhere) } else { Ok(()) }
    }
}

impl Shift {
    /// The shift at the start of QEMU, in use until the first region.
    pub(crate) fn given(&self) -> i16 {
        self.given
    }

    /// Sets how QEMU shares the time until the next timer among `cpus` CPUs. Call on the thread of
    /// the CPUs, with QEMU's lock.
    ///
    /// Within a region: as many instructions per nanosecond as QEMU supports, because the guest's
    /// time does not follow them. Outside, each CPU may use all of this time: usually one CPU works
    /// and the others are idle or wait for it, and turns would otherwise be very short. If all CPUs
    /// work, the timer is late by the turns of the others.
    pub(crate) fn set(&self, is_within: bool, cpus: u16) {
        let shift = if is_within { 0 } else { (self.given - cpus.ilog2() as i16).max(0) };
        // SAFETY: QEMU reads the place on this thread, or with the lock.
        unsafe { self.place.write_volatile(shift) };
    }
}
