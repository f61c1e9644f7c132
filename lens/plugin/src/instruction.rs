// SPDX-License-Identifier: GPL-2.0-or-later
//! Decodes what the lens needs from the bytes of an x86 instruction: whether it is a region mark, whether it waits, whether
//! it raises an interrupt or returns from one, and whether it is an atomic read-modify-write. Source: Intel 64 and IA-32 Architectures Software Developer's Manual,
//! volume 2, chapter 2 (prefixes) and the entries HLT, INT, IRET, LOCK, MWAIT, PAUSE and XCHG.

/// The beginning or the end of the region of interest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    Begin,
    End,
}

/// The region mark that an instruction is, if any: `nopl 0x00464101(%rax)` or `…02(%rax)`.
pub(crate) fn mark(bytes: &[u8]) -> Option<Mark> {
    match bytes {
        [0x0f, 0x1f, 0x80, 0x01, 0x41, 0x46, 0x00] => Some(Mark::Begin),
        [0x0f, 0x1f, 0x80, 0x02, 0x41, 0x46, 0x00] => Some(Mark::End),
        _ => None,
    }
}

/// Whether a CPU that executes it sleeps until an interrupt comes: `hlt`, `mwait`.
pub(crate) fn halts(bytes: &[u8]) -> bool {
    matches!(bytes, [0xf4] | [0x0f, 0x01, 0xc9])
}

/// Whether an instruction is `pause`, with which loops wait.
pub(crate) fn pauses(bytes: &[u8]) -> bool {
    matches!(bytes, [0xf3, 0x90])
}

/// Whether an instruction returns from an interrupt or exception in 64-bit mode: `iretq`.
pub(crate) fn returns(bytes: &[u8]) -> bool {
    matches!(bytes, [0x48..=0x4f, 0xcf])
}

/// Whether an instruction raises an interrupt by itself: `int`.
pub(crate) fn raises(bytes: &[u8]) -> bool {
    matches!(bytes, [0xcd, _])
}

/// Whether an instruction is a repeated string instruction: `rep stos`, `rep movs` and the like.
pub(crate) fn is_repeated(bytes: &[u8]) -> bool {
    let legacy = bytes.iter().take_while(|byte| is_legacy_prefix(**byte)).count();
    let (prefixes, rest) = bytes.split_at(legacy);
    let opcode = match rest {
        [0x40..=0x4f, opcode, ..] | [opcode, ..] => *opcode,
        [] => return false,
    };
    let is_string = matches!(opcode, 0x6c..=0x6f | 0xa4..=0xa7 | 0xaa..=0xaf);
    is_string && prefixes.iter().any(|prefix| matches!(prefix, 0xf2 | 0xf3))
}

/// Whether an instruction's memory access, if it has one, is an atomic read-modify-write. It is if the instruction has
/// a lock prefix, or is an `xchg` with memory, which needs no prefix. In 32-bit code 40…4f are no REX prefixes, but whole
/// instructions, so nothing comes after them.
pub(crate) fn is_atomic(bytes: &[u8]) -> bool {
    let legacy = bytes.iter().take_while(|byte| is_legacy_prefix(**byte)).count();
    let (prefixes, mut rest) = bytes.split_at(legacy);
    if prefixes.contains(&0xf0) {
        return true;
    }
    if let [0x40..=0x4f, after @ ..] = rest {
        rest = after;
    }
    matches!(rest, [0x86 | 0x87, modrm, ..] if modrm >> 6 != 3)
}

fn is_legacy_prefix(byte: u8) -> bool {
    matches!(byte, 0xf0 | 0xf2 | 0xf3 | 0x2e | 0x36 | 0x3e | 0x26 | 0x64 | 0x65 | 0x66 | 0x67)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_told_from_other_no_operations() {
        assert_eq!(mark(&[0x0f, 0x1f, 0x80, 1, 0x41, 0x46, 0]), Some(Mark::Begin));
        assert_eq!(mark(&[0x0f, 0x1f, 0x80, 2, 0x41, 0x46, 0]), Some(Mark::End));
        assert_eq!(mark(&[0x0f, 0x1f, 0x80, 3, 0x41, 0x46, 0]), None);
        assert_eq!(mark(&[0x0f, 0x1f, 0x80, 0, 0, 0, 0]), None);
        assert_eq!(mark(&[0x90]), None);
    }

    #[test]
    fn instructions_that_wait_are_told_from_others() {
        assert!(pauses(&[0xf3, 0x90]) && halts(&[0xf4]) && halts(&[0x0f, 0x01, 0xc9]));
        let waits = |bytes| pauses(bytes) || halts(bytes);
        assert!(!waits(&[0x90])); // nop
        assert!(!waits(&[0x0f, 0x01, 0xc8])); // monitor
        assert!(!waits(&[0xf3, 0xa4])); // rep movsb
        assert!(!waits(&[]));
    }

    #[test]
    fn interrupts_by_instructions_and_returns_are_told_from_others() {
        assert!(returns(&[0x48, 0xcf]) && !returns(&[0xcf]) && !returns(&[0xc3]) && !returns(&[0x48, 0xcb]));
        assert!(raises(&[0xcd, 0x80]) && !raises(&[0xcc]) && !raises(&[0x0f, 0x05]));
    }

    #[test]
    fn repeated_string_instructions_are_told_from_single_ones() {
        assert!(is_repeated(&[0xf3, 0x48, 0xab])); // rep stos %rax,(%rdi)
        assert!(is_repeated(&[0xf3, 0xa4])); // rep movsb
        assert!(is_repeated(&[0xf2, 0xae])); // repnz scas
        assert!(!is_repeated(&[0x48, 0xab])); // stos
        assert!(!is_repeated(&[0xf3, 0x90])); // pause
        assert!(!is_repeated(&[0xf3, 0x0f, 0x1e, 0xfa])); // endbr64
        assert!(!is_repeated(&[]));
    }

    #[test]
    fn lock_prefixes_and_exchanges_with_memory_are_atomic() {
        assert!(is_atomic(&[0xf0, 0xff, 0x00])); // lock incl (%rax)
        assert!(is_atomic(&[0x66, 0xf0, 0x0f, 0xb1, 0x0a])); // lock cmpxchg %cx,(%rdx), prefixes in either order
        assert!(is_atomic(&[0x48, 0x87, 0x07])); // xchg %rax,(%rdi)
        assert!(is_atomic(&[0x65, 0x86, 0x07])); // xchg %al,%gs:(%rdi)
        assert!(!is_atomic(&[0x48, 0x87, 0xc7])); // xchg %rax,%rdi
        assert!(!is_atomic(&[0x48])); // dec %eax in 32-bit code
        assert!(!is_atomic(&[0x0f, 0xb1, 0x0a])); // cmpxchg %ecx,(%rdx) without lock
        assert!(!is_atomic(&[0xf3, 0xa4])); // rep movsb
        assert!(!is_atomic(&[]));
    }
}
