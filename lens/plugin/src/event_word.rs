// SPDX-License-Identifier: GPL-2.0-or-later
//! Decodes QEMU's word for an access with a table: two calls into QEMU for each access would cost as much as everything
//! else.

use crate::qemu::{MemoryInfo, Qemu};

/// Number of bits of the word that are in use: the kind of access is in 16, loads and stores in 2 (QEMU 7.2 and, so
/// far, later ones).
const BITS: u32 = 18;

const STORE: u8 = 1 << 7;

/// The meaning of each word.
#[derive(Debug)]
pub(crate) struct EventWords(Box<[u8]>);

impl EventWords {
    /// Asks QEMU for the meaning of every word.
    pub(crate) fn new(qemu: &Qemu) -> Self {
        let meaning = |info| qemu.size(info) | if qemu.is_store(info) { STORE } else { 0 };
        EventWords((0..1 << BITS).map(meaning).collect())
    }

    /// The number of bytes of the access, and whether it is a store. None for a word with more bits.
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
