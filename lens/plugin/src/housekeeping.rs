// SPDX-License-Identifier: GPL-2.0-or-later
//! Keeps QEMU's housekeeping from ending the turns of CPUs.
//!
//! QEMU frees memory that others may still read when all readers have passed a point (RCU). A thread that runs CPUs
//! passes one at the end of each turn. From 10.2 on QEMU ends a turn for this purpose if it has waited for 50 ms of the
//! host's time. Under the lens turns end soon enough by themselves, so the thread's notifier is removed. It is found in
//! the thread's `rcu_reader`, by the links of its list. Source: util/rcu.c and include/qemu/rcu.h, up to version 11.1.

use crate::memory_map::writable_bytes_from;
use crate::qemu::{Missing, function};

/// QEMU's functions.
#[derive(Clone, Copy)]
pub(crate) struct Housekeeping {
    reader: unsafe extern "C" fn() -> *const usize,
    remove: unsafe extern "C" fn(*const usize),
}

/// The thread has no such notifier.
#[derive(Debug, thiserror::Error)]
#[error(
    "this QEMU may end the turn of a CPU at any time: the thread of the CPUs has no notifier for it where it is expected"
)]
pub(crate) struct NoNotifier;

/// `rcu_reader` is shorter than this, in words.
const MOST_WORDS: usize = 16;

/// A notifier is a function and two links: to the next one, and back to the word that leads to it.
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
    /// If it has none.
    ///
    /// # Safety
    /// Call it on the thread that runs the CPUs, when none executes code.
    pub(crate) unsafe fn stop_interrupting(&self) -> Result<(), NoNotifier> {
        // SAFETY: it gives the address of a thread-local variable.
        let reader = unsafe { (self.reader)() };
        // SAFETY: as the caller promises.
        let notifier = unsafe { notifier_in(reader) }.ok_or(NoNotifier)?;
        // SAFETY: it is in the list, and this thread's.
        unsafe { (self.remove)(notifier) };
        Ok(())
    }
}

/// The notifier to which one of the first words at `reader` leads.
///
/// # Safety
/// `reader` must be aligned. Nobody may change what is there meanwhile.
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
