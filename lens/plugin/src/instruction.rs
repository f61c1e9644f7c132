// SPDX-License-Identifier: GPL-2.0-or-later
//! Instructions: decoding of the x86 instructions that the lens must recognise, and the words that
//! QEMU passes back with their callbacks. Source: Intel 64 and IA-32 Architectures Software
//! Developer's Manual, volume 2, chapter 2 (prefixes) and the entries HLT, INT, IRET, LOCK, MOV,
//! MWAIT, PAUSE, SYSCALL, SYSRET and XCHG.

/// The beginning or the end of the region of interest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    Begin,
    End,
}

/// The region mark that an instruction is: `nopl 0x00464101(%rax)` or `…02(%rax)`; `None` for
/// others.
pub(crate) fn mark(bytes: &[u8]) -> Option<Mark> {
    match bytes {
        [0x0f, 0x1f, 0x80, 0x01, 0x41, 0x46, 0x00] => Some(Mark::Begin),
        [0x0f, 0x1f, 0x80, 0x02, 0x41, 0x46, 0x00] => Some(Mark::End),
        _ => None,
    }
}

/// True for an instruction that halts the CPU until an interrupt: `hlt`, `mwait`.
pub(crate) fn halts(bytes: &[u8]) -> bool {
    matches!(bytes, [0xf4] | [0x0f, 0x01, 0xc9])
}

/// True for `pause`, with which loops wait.
pub(crate) fn pauses(bytes: &[u8]) -> bool {
    matches!(bytes, [0xf3, 0x90])
}

/// True for a return from an interrupt or exception in 64-bit mode: `iretq`.
pub(crate) fn returns(bytes: &[u8]) -> bool {
    matches!(bytes, [0x48..=0x4f, 0xcf])
}

/// True for a return from a system call: `sysret`.
pub(crate) fn returns_from_call(bytes: &[u8]) -> bool {
    matches!(bytes, [0x0f, 0x07] | [0x48..=0x4f, 0x0f, 0x07])
}

/// True for a system call in 64-bit mode: `syscall`.
pub(crate) fn calls(bytes: &[u8]) -> bool {
    matches!(bytes, [0x0f, 0x05])
}

/// The number of the register that an instruction loads into the page-table register, as
/// instructions number registers: `mov %rax,%cr3`; `None` for others.
pub(crate) fn loads_page_table(bytes: &[u8]) -> Option<u8> {
    let (prefix, modrm) = match *bytes {
        [0x0f, 0x22, modrm] => (0, modrm),
        [prefix @ 0x40..=0x4f, 0x0f, 0x22, modrm] => (prefix, modrm),
        _ => return None,
    };
    let is_cr3 = prefix & 4 == 0 && modrm >> 3 & 7 == 3;
    is_cr3.then_some((prefix & 1) << 3 | modrm & 7)
}

/// True for a software interrupt: `int`.
pub(crate) fn raises(bytes: &[u8]) -> bool {
    matches!(bytes, [0xcd, _])
}

/// True for a repeated string instruction: `rep stos`, `rep movs` and others.
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

/// True if the instruction's memory access, if it has one, is an atomic read-modify-write: with a
/// lock prefix, or an `xchg` with memory, which needs no prefix. In 32-bit code 40…4f are not REX
/// prefixes but whole instructions, so nothing follows them.
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

/// Bit 62 of a canonical x86 address equals bit 63, so it can carry a flag.
const FLAG: u64 = 1 << 62;

/// An accessing instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Site {
    pub(crate) address: u64,
    pub(crate) is_atomic: bool,
}

impl Site {
    /// Packs it into a word.
    pub(crate) fn pack(self) -> usize {
        let flag = if self.is_atomic { FLAG } else { 0 };
        (self.address & !FLAG | flag) as usize
    }

    /// Unpacks a word made by [`Site::pack`].
    pub(crate) fn unpack(word: usize) -> Self {
        let word = word as u64;
        Site { address: word & !FLAG | (word >> 1 & FLAG), is_atomic: word & FLAG != 0 }
    }
}

/// The beginning of a translation block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BlockStart {
    pub(crate) instructions: u32,
    /// The code is counted.
    pub(crate) is_counted: bool,
    /// The code belongs to user space.
    pub(crate) is_user: bool,
    /// Evidence of the interrupts that its CPU is in.
    pub(crate) shows: Shows,
}

/// Evidence that a translation block gives of the interrupts that its CPU is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shows {
    Nothing,
    /// An interrupt's handler begins.
    Handler,
    /// The CPU runs in user mode, so it is in no interrupt.
    User,
}

impl BlockStart {
    /// Packs it into the word that QEMU passes back.
    pub(crate) fn pack(self) -> usize {
        let flags = (self.shows as usize) << 2 | usize::from(self.is_user) << 1 | usize::from(self.is_counted);
        (self.instructions as usize) << 4 | flags
    }

    /// Unpacks a word made by [`BlockStart::pack`].
    pub(crate) fn unpack(word: usize) -> Self {
        let shows = match word >> 2 & 3 {
            0 => Shows::Nothing,
            1 => Shows::Handler,
            _ => Shows::User,
        };
        let (is_counted, is_user) = (word & 1 != 0, word & 2 != 0);
        BlockStart { instructions: (word >> 4) as u32, is_counted, is_user, shows }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn marks_are_distinguished_from_other_no_operations() {
        assert_eq!(mark(&[0x0f, 0x1f, 0x80, 1, 0x41, 0x46, 0]), Some(Mark::Begin));
        assert_eq!(mark(&[0x0f, 0x1f, 0x80, 2, 0x41, 0x46, 0]), Some(Mark::End));
        assert_eq!(mark(&[0x0f, 0x1f, 0x80, 3, 0x41, 0x46, 0]), None);
        assert_eq!(mark(&[0x0f, 0x1f, 0x80, 0, 0, 0, 0]), None);
        assert_eq!(mark(&[0x90]), None);
    }

    #[test]
    fn instructions_that_wait_are_recognised() {
        assert!(pauses(&[0xf3, 0x90]) && halts(&[0xf4]) && halts(&[0x0f, 0x01, 0xc9]));
        let waits = |bytes| pauses(bytes) || halts(bytes);
        assert!(!waits(&[0x90])); // nop
        assert!(!waits(&[0x0f, 0x01, 0xc8])); // monitor
        assert!(!waits(&[0xf3, 0xa4])); // rep movsb
        assert!(!waits(&[]));
    }

    #[test]
    fn software_interrupts_and_returns_are_recognised() {
        assert!(returns(&[0x48, 0xcf]) && !returns(&[0xcf]) && !returns(&[0xc3]) && !returns(&[0x48, 0xcb]));
        assert!(raises(&[0xcd, 0x80]) && !raises(&[0xcc]) && !raises(&[0x0f, 0x05]));
    }

    #[test]
    fn changes_of_the_process_are_recognised() {
        assert_eq!(loads_page_table(&[0x0f, 0x22, 0xd8]), Some(0)); // mov %rax,%cr3
        assert_eq!(loads_page_table(&[0x41, 0x0f, 0x22, 0xdc]), Some(12)); // mov %r12,%cr3
        assert_eq!(loads_page_table(&[0x0f, 0x22, 0xe0]), None); // mov %rax,%cr4
        assert_eq!(loads_page_table(&[0x44, 0x0f, 0x22, 0xd8]), None); // mov %rax,%cr11
        assert_eq!(loads_page_table(&[0x0f, 0x20, 0xd8]), None); // mov %cr3,%rax
        assert!(calls(&[0x0f, 0x05]) && !calls(&[0x0f, 0x34]));
        assert!(returns_from_call(&[0x48, 0x0f, 0x07]) && returns_from_call(&[0x0f, 0x07]) && !returns_from_call(&[]));
    }

    #[test]
    fn repeated_string_instructions_are_recognised() {
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

    #[test]
    fn addresses_of_programs_and_kernels_come_back() {
        for address in [0, 0x40_1000, 0x7fff_ffff_f000, 0xffff_8880_0000_0000, u64::MAX] {
            for is_atomic in [false, true] {
                let site = Site { address, is_atomic };
                assert_eq!(Site::unpack(site.pack()), site);
            }
        }
    }

    #[test]
    fn the_start_of_a_block_fits_a_word() {
        for shows in [Shows::Nothing, Shows::Handler, Shows::User] {
            for (instructions, is_counted) in [(0, false), (1, true), (512, false), (u32::MAX, true)] {
                let start = BlockStart { instructions, is_counted, is_user: !is_counted, shows };
                assert_eq!(BlockStart::unpack(start.pack()), start);
            }
        }
    }
}
