//! The callers of an instruction, from the registers of its CPU and a piece of its stack.
//!
//! Each step leads from a function to its caller, by the tables that compilers emit for this
//! purpose: [`orc`] for kernels, [`eh_frame`] for programs. Where the tables or the piece of the
//! stack end, the chain ends and is marked as incomplete. Nothing is guessed from values that look
//! like addresses.

pub(crate) mod eh_frame;
pub(crate) mod orc;

use faultline_lens_format::RawSample;

/// Maximum number of callers of an instruction. A longer chain is damaged, or a recursion too deep
/// to be useful.
const MOST_CALLERS: usize = 128;

/// Bytes of a word of the stack.
const WORD_BYTES: u64 = 8;

/// A register, by its number in DWARF.
pub(crate) mod register {
    pub(crate) const RDX: usize = 1;
    pub(crate) const RDI: usize = 5;
    pub(crate) const RBP: usize = 6;
    pub(crate) const RSP: usize = 7;
    pub(crate) const R10: usize = 10;
    pub(crate) const R13: usize = 13;
}

/// A function that runs or waits for a called one: its address and registers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct State {
    /// The instruction, or the return address of the called function.
    pub(crate) address: u64,
    /// The address is the instruction's own.
    pub(crate) is_exact: bool,
    /// Registers by DWARF number; `None` if the value is not known.
    pub(crate) registers: [Option<u64>; 16],
}

impl State {
    fn of(sample: &RawSample) -> Self {
        State { address: sample.site, is_exact: true, registers: sample.registers.map(Some) }
    }

    /// An address within the instruction that runs or calls: a call may be the last instruction of
    /// its function.
    pub(crate) fn place(&self) -> u64 {
        if self.is_exact { self.address } else { self.address.wrapping_sub(1) }
    }

    pub(crate) fn stack_pointer(&self) -> Option<u64> {
        self.registers[register::RSP]
    }
}

/// A piece of a stack.
pub(crate) struct Piece<'a> {
    from: u64,
    words: &'a [u64],
}

impl<'a> Piece<'a> {
    pub(crate) fn of(sample: &'a RawSample) -> Self {
        Piece { from: sample.stack_pointer(), words: &sample.stack.0 }
    }

    /// The word at an address; `None` if it was not kept.
    pub(crate) fn word(&self, address: u64) -> Option<u64> {
        let offset = address.checked_sub(self.from)?;
        let is_aligned = offset.is_multiple_of(WORD_BYTES);
        self.words.get(usize::try_from(offset / WORD_BYTES).ok()?).copied().filter(|_| is_aligned)
    }
}

/// The caller of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Caller {
    /// The caller.
    Found(Box<State>),
    /// None: the thread, or the kernel's work, begins here.
    None,
    /// The caller is not known.
    Unknown,
}

/// Addresses of the instructions that ran or called, innermost first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// An address within each instruction.
    pub addresses: Vec<u64>,
    /// True if the last one has no caller, false if its caller is not known.
    pub is_whole: bool,
}

impl Places {
    /// The place of an instruction whose callers are not known.
    pub(crate) fn alone(sample: &RawSample) -> Self {
        Places { addresses: vec![sample.site], is_whole: false }
    }
}

/// The chain of callers of a sample. `caller` makes one step.
pub(crate) fn places(sample: &RawSample, caller: impl Fn(&State, &Piece<'_>) -> Caller) -> Places {
    let piece = Piece::of(sample);
    let mut state = State::of(sample);
    let mut addresses = vec![state.place()];
    while addresses.len() <= MOST_CALLERS {
        match caller(&state, &piece) {
            Caller::None => return Places { addresses, is_whole: true },
            Caller::Unknown => break,
            Caller::Found(next) => {
                // A caller's frame lies above, unless an exception or an interrupt changed the
                // stack.
                if !next.is_exact && next.stack_pointer() <= state.stack_pointer() {
                    break;
                }
                addresses.push(next.place());
                state = *next;
            }
        }
    }
    Places { addresses, is_whole: false }
}
