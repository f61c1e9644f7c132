// SPDX-License-Identifier: GPL-2.0-or-later
//! The nested interrupts that a CPU is in. Independent of QEMU.
//!
//! An interrupt begins with the first instruction of its handler. It ends with the `iretq` that
//! pops the frame which the CPU pushed when the interrupt came. The frame's address is not known,
//! but the handler's first block stores something just below it, on the same stack. So an `iretq`
//! that loads from just above that place pops this frame. Exceptions within an interrupt have
//! frames further below, those around it have frames further above.
//!
//! In user mode a CPU is in no interrupt. This ends interrupts from which a kernel never returns in
//! this way: it may switch to another task at the end of an interrupt, or return to user mode by
//! another stack.

/// Maximum distance of the frame above the first store of a handler: the registers that kernels
/// save first.
const MOST_BELOW_FRAME: u64 = 256;

/// The words of a frame: instruction pointer, code segment, flags, stack pointer, stack segment.
const FRAME_WORDS: u8 = 5;

/// Maximum depth of nesting. Beyond it, a kernel has left interrupts in an unrecognised way.
const DEEPEST: usize = 64;

/// The interrupts that one CPU is in.
#[derive(Debug, Default)]
pub(crate) struct Nest {
    /// For each interrupt, the address of its handler's first store; `None` before that. The
    /// innermost is the last.
    stores: Vec<Option<u64>>,
    /// Words of the innermost frame that are still to be loaded, if an `iretq` is popping it.
    words_to_come: u8,
    /// The last instruction was a software interrupt, which is a system call.
    is_software: bool,
}

impl Nest {
    /// True if the CPU is in an interrupt.
    pub(crate) fn is_in_interrupt(&self) -> bool {
        !self.stores.is_empty()
    }

    /// Notes that an instruction is about to raise a software interrupt.
    pub(crate) fn raise(&mut self) {
        self.is_software = true;
    }

    /// Notes that a handler begins.
    pub(crate) fn enter(&mut self) {
        self.words_to_come = 0;
        if std::mem::take(&mut self.is_software) {
            return;
        }
        if self.stores.len() == DEEPEST {
            self.stores.remove(0);
        }
        self.stores.push(None);
    }

    /// Notes a store by the first block of a handler.
    pub(crate) fn store(&mut self, address: u64) {
        if let Some(first @ None) = self.stores.last_mut() {
            *first = Some(address);
        }
    }

    /// Notes a load by an `iretq`. The last word of a frame ends its interrupt, and all within it.
    pub(crate) fn load_for_return(&mut self, address: u64) {
        if self.words_to_come > 0 {
            self.words_to_come -= 1;
            if self.words_to_come == 0 {
                self.stores.pop();
            }
            return;
        }
        let is_of = |store: &Option<u64>| {
            store.is_none_or(|store| (1..=MOST_BELOW_FRAME).contains(&address.wrapping_sub(store)))
        };
        if let Some(place) = self.stores.iter().rposition(is_of) {
            self.stores.truncate(place + 1);
            self.words_to_come = FRAME_WORDS - 1;
        }
    }

    /// Notes that the CPU runs in user mode.
    pub(crate) fn leave_kernel(&mut self) {
        self.stores.clear();
        (self.words_to_come, self.is_software) = (0, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn return_to(nest: &mut Nest, frame: u64) {
        (0..5).for_each(|word| nest.load_for_return(frame + 8 * word));
    }

    /// Enters an interrupt whose handler first stores that far below its frame.
    fn enter(nest: &mut Nest, frame: u64, below: u64) {
        nest.enter();
        nest.store(frame - below);
        nest.store(frame - below - 8);
    }

    #[test]
    fn an_interrupt_ends_with_the_last_word_of_its_frame() {
        for below in [8, 160] {
            let mut nest = Nest::default();
            enter(&mut nest, 0x9fd8, below);
            (0..4).for_each(|word| nest.load_for_return(0x9fd8 + 8 * word));
            assert!(nest.is_in_interrupt());
            nest.load_for_return(0x9fd8 + 32);
            assert!(!nest.is_in_interrupt());
        }
    }

    #[test]
    fn exceptions_around_and_within_do_not_end_it() {
        let mut nest = Nest::default();
        return_to(&mut nest, 0x9fd8);
        enter(&mut nest, 0x9000, 8);
        return_to(&mut nest, 0x8e00);
        assert!(nest.is_in_interrupt());
        return_to(&mut nest, 0x9000);
        assert!(!nest.is_in_interrupt());
        return_to(&mut nest, 0x9fd8);
        assert!(!nest.is_in_interrupt());
    }

    #[test]
    fn interrupts_nest() {
        let mut nest = Nest::default();
        enter(&mut nest, 0x9000, 8);
        enter(&mut nest, 0x5_0000, 8);
        return_to(&mut nest, 0x5_0000);
        assert!(nest.is_in_interrupt());
        enter(&mut nest, 0x4_0000, 8);
        return_to(&mut nest, 0x9000);
        assert!(!nest.is_in_interrupt(), "the inner one was left in another way");
    }

    #[test]
    fn user_mode_is_in_no_interrupt() {
        let mut nest = Nest::default();
        enter(&mut nest, 0x9000, 8);
        nest.leave_kernel();
        assert!(!nest.is_in_interrupt());
        return_to(&mut nest, 0x9000);
        assert!(!nest.is_in_interrupt());
    }

    #[test]
    fn a_handler_without_a_store_ends_with_the_next_return() {
        let mut nest = Nest::default();
        nest.enter();
        return_to(&mut nest, 0x9000);
        assert!(!nest.is_in_interrupt());
    }

    #[test]
    fn a_system_call_by_an_interrupt_s_gate_is_none() {
        let mut nest = Nest::default();
        nest.raise();
        nest.enter();
        assert!(!nest.is_in_interrupt());
        nest.enter();
        assert!(nest.is_in_interrupt());
    }

    #[test]
    fn the_depth_is_bounded() {
        let mut nest = Nest::default();
        (0..1000).for_each(|_| nest.enter());
        assert_eq!(nest.stores.len(), DEEPEST);
    }
}
