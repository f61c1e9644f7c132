// SPDX-License-Identifier: GPL-2.0-or-later
//! What a system call means to the clocks, by its number. Source: Linux, `arch/x86/entry/syscalls`, `include/uapi/linux/futex.h`.

/// A system call, as far as the lens cares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SystemCall {
    /// Ends the whole program.
    ExitGroup,
    /// Puts another program in its place.
    Exec,
    /// Never sleeps: its CPU stays busy, and the others wait for it.
    Brief,
    /// Any other: its CPU may sleep, and is idle meanwhile.
    Other,
}

/// mmap, mprotect, munmap, brk, rt_sigaction, rt_sigprocmask, sched_yield, mremap, madvise, getpid, gettid, clock_gettime, getcpu,
/// set_robust_list, rseq.
const BRIEF_64: [i64; 15] = [9, 10, 11, 12, 13, 14, 24, 25, 28, 39, 186, 228, 309, 273, 334];
/// The same, and mmap2 and clock_gettime64, on 32-bit x86.
const BRIEF_32: [i64; 17] = [90, 125, 91, 45, 174, 175, 158, 163, 219, 20, 224, 265, 318, 311, 386, 192, 403];

/// The futex operations that wake or move sleepers: WAKE, REQUEUE, CMP_REQUEUE, WAKE_OP, WAKE_BITSET.
const FUTEX_BRIEF: [u64; 5] = [1, 3, 4, 5, 10];
/// Bits of a futex operation's number; the others are flags.
const FUTEX_OPERATION: u64 = 127;

impl SystemCall {
    /// The call of that number with that second argument.
    pub(crate) fn classify(number: i64, second: u64, is_64_bit: bool) -> Self {
        let brief: &[i64] = if is_64_bit { &BRIEF_64 } else { &BRIEF_32 };
        match (is_64_bit, number) {
            (true, 231) | (false, 252) => SystemCall::ExitGroup,
            (true, 59 | 322) | (false, 11 | 358) => SystemCall::Exec,
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
        assert_eq!(SystemCall::classify(231, 0, true), SystemCall::ExitGroup);
        assert_eq!(SystemCall::classify(231, 0, false), SystemCall::Other);
        assert_eq!(SystemCall::classify(11, 0, false), SystemCall::Exec);
        assert_eq!(SystemCall::classify(11, 0, true), SystemCall::Brief);
        assert_eq!(SystemCall::classify(0, 0, true), SystemCall::Other);
    }

    #[test]
    fn a_futex_call_that_wakes_is_brief_and_one_that_waits_is_not() {
        let (wait_private, wake_private) = (128, 129);
        assert_eq!(SystemCall::classify(202, wake_private, true), SystemCall::Brief);
        assert_eq!(SystemCall::classify(202, wait_private, true), SystemCall::Other);
    }
}
