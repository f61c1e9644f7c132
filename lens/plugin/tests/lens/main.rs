// SPDX-License-Identifier: GPL-2.0-or-later
//! The plugin in QEMU's user mode: with programs whose transfers can be derived on paper, and with programs, arguments
//! and endings that go wrong. Needs `qemu-x86_64` and `qemu-i386` (Debian: package qemu-user), `qemu-system-x86_64`
//! (`make emulator`) and a C compiler.

mod analytic;
mod arguments;
mod emulator;
mod endings;
mod events;
