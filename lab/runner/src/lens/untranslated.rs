//! The instruction at which a program in a guest died because the emulator does not translate it.
//! For a commit's build this is a result, because other commits may do without the instruction. A
//! program that is counted alone needs another build first.

use super::naming::Naming;
use faultline_record::lens::counted::Mapping;
use faultline_record::outcome::Outcome;

/// The signal of an instruction that the CPU does not have.
const SIGILL: i32 = 4;

/// The kernel's message about such an instruction, up to its address.
const TRAP: &str = " trap invalid opcode ip:";

/// Bytes of an instruction that are shown.
const SHOWN: usize = 8;

/// Prefixes that may precede an operation.
const PREFIXES: [u8; 11] = [0x66, 0xf2, 0xf3, 0xf0, 0x2e, 0x36, 0x3e, 0x26, 0x64, 0x65, 0x67];

/// The outcome of an execution. A program that died of an instruction of a vector extension that
/// the emulator does not translate is a result of its commit, or else a failure of the lab.
/// `console`: the guest's; `mappings`: the code of the program's processes; `is_of_commit`: true
/// for a commit's build.
pub(super) fn judged(
    outcome: Outcome,
    console: Option<&str>,
    mappings: &[Mapping],
    (naming, is_of_commit): (&Naming, bool),
) -> Outcome {
    if !matches!(outcome, Outcome::Crashed { signal: SIGILL, .. }) {
        return outcome;
    }
    let found = console.and_then(address).and_then(|address| {
        let (function, bytes) = naming.instruction(address, mappings)?;
        Some(text(extension(&bytes)?, address, &function, &bytes))
    });
    found.map_or(outcome, |text| outcome_of(text, is_of_commit))
}

fn outcome_of(text: String, is_of_commit: bool) -> Outcome {
    if is_of_commit { Outcome::NotTranslated { text } } else { Outcome::LabFailed { text } }
}

fn text(extension: &str, address: u64, function: &str, bytes: &[u8]) -> String {
    let bytes: Vec<String> = bytes.iter().take(SHOWN).map(|byte| format!("{byte:02x}")).collect();
    format!(
        "the emulator does not translate {extension} instruction at {address:#x} in {function} ({} …): build the program with \
         `-march=x86-64-v3`, which has AVX2, instead of `-march=native`",
        bytes.join(" ")
    )
}

/// The address in the kernel's last message about an invalid instruction.
fn address(console: &str) -> Option<u64> {
    let (_, rest) = console.lines().rev().find_map(|line| line.split_once(TRAP))?;
    u64::from_str_radix(rest.split_whitespace().next()?, 16).ok()
}

/// The vector extension of an instruction, by its encoding; `None` for other instructions, such as
/// `ud2`, which a program executes to abort.
fn extension(bytes: &[u8]) -> Option<&'static str> {
    match bytes.iter().find(|byte| !PREFIXES.contains(byte))? {
        0x62 => Some("the AVX-512"),
        0xc4 | 0xc5 => Some("the vector"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_trapped_instruction_is_found_in_the_console() {
        let console = "[    1.0] Run /init\n[    2.5] traps: prog[77] trap invalid opcode ip:401136 sp:7ffd0 error:0 in \
            prog[401000+1000]\nmore";
        assert_eq!(address(console), Some(0x40_1136));
        assert_eq!(address("traps: prog[77] trap divide error ip:401136 sp:7ffd0"), None);
    }

    #[test]
    fn only_vector_instructions_are_the_emulators() {
        assert_eq!(extension(&[0x62, 0xf1, 0x7c, 0x48, 0x58, 0xc0]), Some("the AVX-512"));
        assert_eq!(extension(&[0x66, 0xc4, 0xe2]), Some("the vector"));
        // `ud2`, `ud1`, and nothing.
        assert_eq!([&[0x0f, 0x0b][..], &[0x0f, 0xb9], &[]].map(extension), [None; 3]);
    }

    #[test]
    fn an_untranslated_instruction_is_a_commits_result() {
        assert!(outcome_of("x".to_owned(), true).is_final());
        assert!(!outcome_of("x".to_owned(), false).is_final());
    }

    #[test]
    fn the_text_says_what_to_do() {
        let text = text("the AVX-512", 0x40_1136, "sum", &[0x62, 0xf1, 0x7c, 0x48, 0x58, 0xc0]);
        assert!(text.contains("AVX-512 instruction at 0x401136 in sum (62 f1 7c 48 58 c0 …)"), "{text}");
        assert!(text.contains("`-march=x86-64-v3`"), "{text}");
    }
}
