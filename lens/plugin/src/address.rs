// SPDX-License-Identifier: GPL-2.0-or-later
//! Where an access goes: from what QEMU reports to an address that all CPUs share.

use crate::qemu::MemoryInfo;

/// How addresses are to be understood.
pub(crate) trait AddressSpace {
    /// The address in the space that all CPUs share; none if the access is not to memory.
    fn shared_address(&self, info: MemoryInfo, address: u64) -> Option<u64>;
    /// Whether code at that address runs in user mode.
    fn is_user(&self, code_address: u64) -> bool;
}

/// One process: its virtual addresses are what its threads share. Memory that it maps at two addresses counts as two.
#[derive(Debug)]
pub(crate) struct Process;

impl AddressSpace for Process {
    fn shared_address(&self, _info: MemoryInfo, address: u64) -> Option<u64> {
        Some(address)
    }

    fn is_user(&self, _code_address: u64) -> bool {
        true
    }
}
