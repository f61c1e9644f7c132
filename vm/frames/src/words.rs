//! The state words of all blocks. They are made when a block is opened for the first time, so setting up much memory
//! writes none of them.

use crate::frame::{Block, Offset, WORDS_PER_BLOCK};
use crate::state::{StateWord, Word, word_of};
use core::cell::UnsafeCell;
use core::mem::MaybeUninit;

/// A word that may not have been made yet.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct Place(UnsafeCell<MaybeUninit<StateWord>>);

// SAFETY: 1. Only `Words::make` writes a place other than by atomic steps, and its caller promises that nobody else
// accesses the block meanwhile. 2. Only `Words::of` and `Words::word` make references to its content, and their callers
// promise that it was made before. 3. `StateWord` is `Sync`.
unsafe impl Sync for Place {}

/// All words.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Words<'m>(pub(crate) &'m [Place]);

impl<'m> Words<'m> {
    /// The words of a block.
    ///
    /// # Safety
    /// They have been made, and that happened before.
    #[inline]
    pub(crate) unsafe fn of(self, block: Block) -> &'m [StateWord] {
        let places = self.places(block);
        // SAFETY: 1. All of them are made, as the caller promises. 2. Both types are transparent, so a slice of places has
        // the layout of a slice of words. 3. Nobody writes to made words but by atomic steps.
        unsafe { core::slice::from_raw_parts(places.as_ptr().cast::<StateWord>(), places.len()) }
    }

    /// The word that a frame is in.
    ///
    /// # Safety
    /// As for [`of`](Self::of), for the frame's block.
    #[inline(always)]
    pub(crate) unsafe fn word(self, offset: Offset) -> Option<&'m StateWord> {
        // SAFETY: as in `of`, for one place.
        self.0.get(word_of(offset)).map(|place| unsafe { &*place.0.get().cast::<StateWord>() })
    }

    /// Makes the words of a block.
    ///
    /// # Safety
    /// They have not been made, and nobody else makes or accesses them before they have learnt of this call.
    pub(crate) unsafe fn make(self, block: Block, word: impl Fn(u32) -> Word) {
        for (index, place) in (0..).zip(self.places(block)) {
            // SAFETY: 1. The place belongs to the caller alone, as it promises. 2. It is valid for writes: `Place` is an
            // `UnsafeCell`.
            unsafe { (*place.0.get()).write(StateWord::new(word(index))) };
        }
    }

    #[inline]
    fn places(self, block: Block) -> &'m [Place] {
        let first = block.0 as usize * WORDS_PER_BLOCK as usize;
        self.0.get(first..first + WORDS_PER_BLOCK as usize).unwrap_or(&[])
    }
}
