// SPDX-License-Identifier: GPL-2.0-or-later
//! What a system call means for the clocks, by its number. Source: Linux, `arch/x86/entry/syscalls`,
//! `include/uapi/linux/futex.h`.

/// The kind of a system call, as far as the lens is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SystemCall {
    /// Ends the whole program.
    ExitGroup,
    /// Replaces the program by another one.
    Exec,
    /// Never sleeps: its CPU stays busy, and the others wait for it.
    Brief,
    /// The same, and its result is the number of sleeping threads that it woke.
    Wake,
    /// Starts a thread of the program if its result is above 0.
    Thread,
    /// Any other call: its CPU may sleep, and counts as idle meanwhile.
    Other,
}

/// Calls that return at once: files by name and descriptor (except reading and writing, which may wait for a pipe),
/// memory, signals, time, limits, identities, scheduling and threads.
const BRIEF_64: [i64; 54] = [
    3, 4, 5, 6, 8, 9, 10, 11, 12, 13, 14, 21, 24, 25, 27, 28, 39, 63, 79, 96, 97, 98, 99, 102, 104, 107, 108, 110, 131,
    149, 150, 157, 158, 160, 186, 200, 201, 203, 204, 218, 228, 229, 234, 257, 262, 269, 273, 302, 309, 318, 324, 332,
    334, 439,
];
/// The same, and mmap2 and clock_gettime64, on 32-bit x86.
const BRIEF_32: [i64; 17] = [90, 125, 91, 45, 174, 175, 158, 163, 219, 20, 224, 265, 318, 311, 386, 192, 403];

/// The futex operations that wake sleeping threads: WAKE, WAKE_OP, WAKE_BITSET.
const FUTEX_WAKE: [u64; 3] = [1, 5, 10];
/// Those that also move sleeping threads, and return the number of both: REQUEUE, CMP_REQUEUE.
const FUTEX_BRIEF: [u64; 2] = [3, 4];
/// Bits of a futex operation's number; the others are flags.
const FUTEX_OPERATION: u64 = 127;
/// Flag of clone: the new task shares the memory, so it is a thread.
const CLONE_VM: u64 = 0x100;

impl SystemCall {
    /// The call with that number and those first arguments.
    pub(crate) fn classify(number: i64, first: u64, second: u64, is_64_bit: bool) -> Self {
        let brief: &[i64] = if is_64_bit { &BRIEF_64 } else { &BRIEF_32 };
        match (is_64_bit, number) {
            (true, 231) | (false, 252) => SystemCall::ExitGroup,
            (true, 59 | 322) | (false, 11 | 358) => SystemCall::Exec,
            (true, 56) | (false, 120) if first & CLONE_VM != 0 => SystemCall::Thread,
            // clone3, whose flags are in memory.
            (_, 435) => SystemCall::Thread,
            (true, 202) | (false, 240 | 422) if FUTEX_WAKE.contains(&(second & FUTEX_OPERATION)) => SystemCall::Wake,
            (true, 202) | (false, 240 | 422) if FUTEX_BRIEF.contains(&(second & FUTEX_OPERATION)) => SystemCall::Brief,
            (_, number) if brief.contains(&number) => SystemCall::Brief,
            _ => SystemCall::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_machine() {
        assert_eq!(SystemCall::classify(231, 0, 0, true), SystemCall::ExitGroup);
        assert_eq!(SystemCall::classify(231, 0, 0, false), SystemCall::Other);
        assert_eq!(SystemCall::classify(11, 0, 0, false), SystemCall::Exec);
        assert_eq!(SystemCall::classify(11, 0, 0, true), SystemCall::Brief);
        assert_eq!(SystemCall::classify(0, 0, 0, true), SystemCall::Other);
    }

    #[test]
    fn futex_calls_are_told_apart() {
        let futex = |operation| SystemCall::classify(202, 0, operation, true);
        let (wait_private, wake_private, requeue) = (128, 129, 3);
        assert_eq!((futex(wake_private), futex(requeue)), (SystemCall::Wake, SystemCall::Brief));
        assert_eq!(futex(wait_private), SystemCall::Other);
    }

    #[test]
    fn threads_are_told_from_processes() {
        assert_eq!(SystemCall::classify(56, 0x3d_0f00, 0, true), SystemCall::Thread);
        assert_eq!(SystemCall::classify(435, 0x7fff_0000, 88, true), SystemCall::Thread);
        assert_eq!(SystemCall::classify(56, 17, 0, true), SystemCall::Other);
    }
}
