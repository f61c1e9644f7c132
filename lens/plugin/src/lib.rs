// SPDX-License-Identifier: GPL-2.0-or-later
//! A TCG plugin for QEMU's full-system emulator. It counts the cache lines that move between the CPUs of a machine, of
//! its kernel with its processes or of one program.
//!
//! Between a begin and an end mark in a program (or for its whole run) every memory access goes to a model of the
//! CPUs' caches, `faultline-coherence`. When the machine ends, the counts are written as JSON. Virtual clocks keep the
//! CPUs in step, so they interleave finely on a host with few CPUs. See the README for arguments, output and limits.
//!
//! - `qemu`: QEMU's C interface only; `install`, `callbacks`, `guest_clock`: the functions that QEMU calls.
//! - `registers`: the registers and the stack of the CPU that runs.
//! - `scheduler`, `inspector`, `icount`, `housekeeping`: functions of QEMU outside its plugin interface, for the CPUs of a
//!   machine and its time; `memory_map`: how far QEMU's structures may be read.
//! - `arguments`, `selection`, `gates`, `instruction`, `nest`, `site`, `turns`, `overlap`, `guest_time`, `waiting`,
//!   `settled`, `samples`, `report`: plain logic, tested without QEMU.
//! - `lens`: what the callbacks share; `pace`: keeps CPUs in step with `turns`; `one_thread`: data of the CPUs' thread; `counter`: the counts of
//!   one CPU; `address`: where its accesses go; `reached`: the addresses at which a machine's program reached lines.
//! - `output`: the report's file.

mod address;
mod arguments;
mod callbacks;
mod counter;
mod event_word;
mod gates;
mod guest_clock;
mod guest_time;
mod housekeeping;
mod icount;
mod inspector;
mod install;
mod instruction;
mod lens;
mod memory_map;
mod nest;
mod one_thread;
mod output;
mod overlap;
mod ownership;
mod pace;
mod qemu;
mod reached;
mod region_end;
mod registers;
mod report;
mod samples;
mod scheduler;
mod selection;
mod settled;
mod site;
mod turns;
mod waiting;
