// SPDX-License-Identifier: GPL-2.0-or-later
//! A TCG plugin for QEMU's full-system emulator. It counts the cache lines that move between the
//! CPUs of a machine, for a kernel with its processes or for one program.
//!
//! Between a begin and an end mark in a program (or for its whole run) every memory access goes to
//! a model of the CPUs' caches, `faultline-coherence`. When the machine ends, the counts are
//! written as JSON. Virtual clocks keep the CPUs in step, so they interleave finely on a host with
//! few CPUs. The README describes arguments, output and limits.
//!
//! - `qemu`: QEMU's plugin interface; `install`, `callbacks`, `guest_clock`: the functions that
//!   QEMU calls.
//! - `scheduler`, `inspector`, `icount`, `registers`: functions of QEMU for a machine's CPUs and
//!   its time.
//! - `arguments`, `region`, `instruction`, `nest`, `turns`, `overlap`, `ownership`, `guest_time`,
//!   `settled`, `samples`, `report`: plain logic, tested without QEMU.
//! - `lens`: state shared by the callbacks; `counter`: the counts of one CPU; `address`: the places
//!   of its accesses.

mod address;
mod arguments;
mod callbacks;
mod counter;
mod function_start;
mod guest_clock;
mod guest_time;
mod icount;
mod inspector;
mod install;
mod instruction;
mod lens;
mod nest;
mod overlap;
mod ownership;
mod processes;
mod qemu;
mod region;
mod registers;
mod report;
mod samples;
mod scheduler;
mod settled;
mod stall;
mod switches;
mod turns;
