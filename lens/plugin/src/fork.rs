// SPDX-License-Identifier: GPL-2.0-or-later
//! Processes that the program starts. QEMU executes a fork by forking itself, including the plugin. The child must
//! neither count nor write the parent's report.

use crate::lens::LENS;
use std::io;

/// Registers handlers that record forks of this process, in the parent and in the child.
pub(crate) fn watch() -> io::Result<()> {
    // SAFETY: the handlers are functions of this library, which is never unloaded. They only store to atomics, which a
    // child with one thread may do right after a fork.
    match unsafe { libc::pthread_atfork(None, Some(in_parent), Some(in_child)) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

extern "C" fn in_parent() {
    if let Some(lens) = LENS.get() {
        lens.note_fork();
    }
}

extern "C" fn in_child() {
    if let Some(lens) = LENS.get() {
        lens.become_child();
    }
}
