// SPDX-License-Identifier: GPL-2.0-or-later
//! QEMU's word for an access, taken apart by a table: two calls into QEMU for each access would cost as much as all the rest.

use crate::qemu::{MemoryInfo, Qemu};

/// Bits of the word that are in use: the kind of access in 16, loads and stores in 2 (QEMU 7.2 and, so far, later ones).
const BITS: u32 = 18;

const STORE: u8 = 1 << 7;

/// What each word means.
#[derive(Debug)]
pub(crate) struct EventWords(Box<[u8]>);

impl EventWords {
    /// Asks QEMU for every word.
    pub(crate) fn new(qemu: &Qemu) -> Self {
        let meaning = |info| qemu.size(info) | if qemu.is_store(info) { STORE } else { 0 };
        EventWords((0..1 << BITS).map(meaning).collect())
    }

    /// The access's bytes, and whether it stores; none for a word of more bits.
    #[inline]
    pub(crate) fn known(&self, info: MemoryInfo) -> Option<(u8, bool)> {
        self.0.get(info as usize).map(|meaning| (meaning & !STORE, meaning & STORE != 0))
    }

    /// The same for any word.
    #[inline]
    pub(crate) fn meaning(&self, qemu: &Qemu, info: MemoryInfo) -> (u8, bool) {
        self.known(info).unwrap_or_else(|| (qemu.size(info), qemu.is_store(info)))
    }
}
