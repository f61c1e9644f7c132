//! Chains of calls on stacks built by hand or at random.

use super::*;
use crate::unwind::places;
use crate::written_btf::Written;
use faultline_lens_format::{RawSample, Space, Stack};
use proptest::prelude::*;

/// Address of the kernel's table of addresses.
const AT: u64 = 0xffff_ffff_8200_0000;

/// Address of the first function; each function has 16 bytes.
const CODE: u64 = 0xffff_ffff_8100_0000;

const STACK: u64 = 0xffff_c900_0000_1000;

/// Kinds of entries, as Linux 6.1 and 6.12 number them.
const CALL: [u64; 2] = [0, 2];
const REGISTERS: [u64; 2] = [1, 3];
const FRAME: [u64; 2] = [2, 4];
const UNKNOWN: [u64; 2] = [0, 0];
const THE_END: [u64; 2] = [0, 1];

/// The form of Linux 6.1, or of 6.12.
fn form(is_new: bool) -> Form {
    let mut btf = Written::new();
    let (short, int) = (btf.int("short", 2), btf.int("unsigned int", 4));
    let kind: &[(&str, u32, u32, u32)] = match is_new {
        true => &[("type", int, 40, 3), ("signal", int, 43, 1)],
        false => &[("type", int, 40, 2), ("end", int, 42, 1)],
    };
    let fields =
        [("sp_offset", short, 0, 0), ("bp_offset", short, 16, 0), ("sp_reg", int, 32, 4), ("bp_reg", int, 36, 4)];
    btf.bit_fields("orc_entry", 6, &[&fields[..], kind].concat());
    Form::described(&BtfTypes::parse(&btf.bytes()).unwrap()).unwrap()
}

/// An entry: stack base and offset, frame base and offset, kind.
type Entry = (u64, i16, u64, i16, [u64; 2]);

/// Functions of 16 bytes each, with one entry for each.
fn tables(is_new: bool, entries: &[Entry]) -> Orc {
    let (mut places, mut bytes) = (Vec::new(), Vec::new());
    for (index, &(stack_base, stack_offset, frame_base, frame_offset, kinds)) in entries.iter().enumerate() {
        let own = AT + 4 * index as u64;
        places.extend(((CODE + 16 * index as u64).wrapping_sub(own) as u32).to_le_bytes());
        bytes.extend(stack_offset.to_le_bytes());
        bytes.extend(frame_offset.to_le_bytes());
        let ends = !is_new && kinds == THE_END;
        let word = stack_base | frame_base << 4 | kinds[usize::from(is_new)] << 8 | u64::from(ends) << 10;
        bytes.extend((word as u16).to_le_bytes());
    }
    Orc::new(form(is_new), AT, places, bytes).unwrap()
}

/// An address in the middle of a function.
fn within(function: usize) -> u64 {
    CODE + 16 * function as u64 + 8
}

/// The functions found from an instruction of the first one, by number, and true if the chain is
/// complete.
fn found(orc: &Orc, frame_pointer: u64, words: &[u64]) -> (Vec<u64>, bool) {
    let mut registers = [0; 16];
    (registers[register::RSP], registers[register::RBP]) = (STACK, frame_pointer);
    registers[register::R10] = STACK + 16;
    let sample =
        RawSample { cpu: 0, site: within(0), line: 0, space: Space::Virtual, registers, stack: Stack(words.to_vec()) };
    let places = places(&sample, |state, piece| orc.caller(state, piece));
    (places.addresses.iter().map(|address| address.wrapping_sub(CODE) / 16).collect(), places.is_whole)
}

const END: Entry = (UNDEFINED, 0, UNDEFINED, 0, THE_END);
const NOTHING: Entry = (UNDEFINED, 0, UNDEFINED, 0, UNKNOWN);

#[test]
fn callers_are_found_by_stack_and_frame_pointer() {
    for is_new in [false, true] {
        let entries = [
            // It has pushed the caller's frame pointer, and uses its own.
            (SP, 16, PREVIOUS_STACK, -16, CALL),
            (BP, 16, PREVIOUS_STACK, -16, CALL),
            (R10, 8, UNDEFINED, 0, CALL),
            END,
        ];
        let words = [STACK + 24, within(1), 0, 7, within(3)];
        assert_eq!(found(&tables(is_new, &entries), 0, &words), (vec![0, 1, 3], true));
        let by_r10 = [(R10, 8, UNDEFINED, 0, CALL), END];
        assert_eq!(found(&tables(is_new, &by_r10), 0, &[0, 0, within(1)]), (vec![0, 1], true));
        let indirect = [(SP_INDIRECT, 8, UNDEFINED, 0, CALL), END];
        assert_eq!(found(&tables(is_new, &indirect), 0, &[STACK + 8, within(1)]), (vec![0, 1], true));
    }
}

#[test]
fn what_an_exception_interrupted_goes_on_and_a_program_ends_it() {
    for is_new in [false, true] {
        let entries = [(SP, 8, UNDEFINED, 0, CALL), (SP, 0, UNDEFINED, 0, REGISTERS), (SP, 8, UNDEFINED, 0, CALL), END];
        let mut words = vec![within(1)];
        // The saved registers: the instruction, the code segment, the flags, the stack pointer.
        words.extend([0; 16].into_iter().chain([within(2), 0x10, 0, STACK + 8 * 22, 0]));
        words.push(within(3));
        assert_eq!(found(&tables(is_new, &entries), 0, &words), (vec![0, 1, 2, 3], true));
        words[18] = 0x33;
        assert_eq!(found(&tables(is_new, &entries), 0, &words), (vec![0, 1], true));
        let entries = [(SP, 0, UNDEFINED, 0, FRAME), (SP, 8, UNDEFINED, 0, CALL), END];
        let words = [within(1), 0x10, 0, STACK + 40, 0, within(2)];
        assert_eq!(found(&tables(is_new, &entries), 0, &words), (vec![0, 1, 2], true));
    }
}

#[test]
fn what_is_not_known_is_not_guessed() {
    for is_new in [false, true] {
        let step = (SP, 8, UNDEFINED, 0, CALL);
        let of = |entries: &[Entry], words: &[u64]| found(&tables(is_new, entries), 0, words);
        assert_eq!(of(&[step, NOTHING], &[within(1), within(1)]), (vec![0, 1], false), "no table for the function");
        assert_eq!(of(&[step, step], &[within(1)]), (vec![0, 1], false), "the piece of the stack ends");
        let (before, _) = of(&[step, END], &[CODE - 100]);
        assert_eq!(before.len(), 2, "an address before the first function has no caller");
        assert_eq!(of(&[(BP, 16, UNDEFINED, 0, CALL), END], &[within(1)]), (vec![0], false), "a frame elsewhere");
        assert_eq!(of(&[(SP, 0, UNDEFINED, 0, CALL), END], &[within(1)]), (vec![0], false), "it does not lead upwards");
    }
    assert_eq!(Orc::new(form(true), AT, vec![0; 8], vec![0; 6]).map(|_| ()), None, "tables of different lengths");
}

proptest! {
    /// Functions with frames of any size call each other in any order.
    #[test]
    fn any_chain_is_found(
        sizes in prop::collection::vec(1i16..40, 1..30),
        calls in prop::collection::vec(0usize..30, 0..40),
        is_new: bool,
    ) {
        let count = sizes.len();
        let mut entries: Vec<Entry> = sizes.iter().map(|size| (SP, 8 * size, UNDEFINED, 0, CALL)).collect();
        entries.push(END);
        let mut chain = vec![0];
        chain.extend(calls.iter().map(|call| call % count));
        chain.push(count);
        let mut words = Vec::new();
        for pair in chain.windows(2) {
            words.extend(vec![0xbad; sizes[pair[0]] as usize - 1]);
            words.push(within(pair[1]));
        }
        let expected = chain.iter().map(|&function| function as u64).collect::<Vec<_>>();
        prop_assert_eq!(found(&tables(is_new, &entries), 0, &words), (expected, true));
    }
}
