// SPDX-License-Identifier: GPL-2.0-or-later
//! A TCG plugin for QEMU. It counts the cache lines that move between CPUs, in a program under QEMU's user mode or in a
//! whole machine with its kernel.
//!
//! Between a begin and an end mark in the program (or for its whole run) every memory access goes to a model of the
//! CPUs' caches, `faultline-coherence`. When the program ends, the counts are written as JSON. Virtual clocks keep the
//! CPUs in step, so they interleave finely on a host with few CPUs. See the README for arguments, output and limits.
//!
//! - `qemu`: QEMU's C interface only; `install`, `callbacks`: the functions that QEMU calls.
//! - `arguments`, `instruction`, `site`, `lockstep`, `turns`, `settled`, `system_call`, `report`: plain logic, tested
//!   without QEMU.
//! - `lens`: what the callbacks share; `pace`: keeps CPUs in step with `lockstep` or `turns`; `counter`: the counts of
//!   one CPU; `address`: where its accesses go.
//! - `program`, `output`, `fork`: the program's file, the report's file, and processes that the program starts.

mod address;
mod arguments;
mod callbacks;
mod counter;
mod event_word;
mod fork;
mod install;
mod instruction;
mod lens;
mod lockstep;
mod output;
mod pace;
mod program;
mod qemu;
mod report;
mod settled;
mod site;
mod system_call;
mod turns;
