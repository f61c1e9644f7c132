//! The callers of a kernel's functions by its ORC tables, which have for each range of instructions
//! the places of the caller's stack, frame pointer and return address (Linux,
//! Documentation/arch/x86/orc-unwinder.rst and arch/x86/kernel/unwind_orc.c).
//!
//! The form of an entry changed between versions, and is taken from the kernel's own description of
//! its types (BTF).

use super::{Caller, Piece, State, WORD_BYTES, register};
use crate::btf::BtfTypes;
use crate::layout::Describe;

/// Size of an entry of the table of addresses.
const PLACE_BYTES: usize = 4;

/// The bits of a value in an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct BitField {
    first_bit: u32,
    bits: u32,
}

impl BitField {
    fn of(self, entry: u64) -> u64 {
        entry >> self.first_bit & ((1 << self.bits) - 1)
    }

    fn signed(self, entry: u64) -> u64 {
        let unused = u64::BITS - self.bits;
        ((self.of(entry) << unused).cast_signed() >> unused).cast_unsigned()
    }
}

/// The form of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Form {
    bytes: usize,
    stack_offset: BitField,
    frame_offset: BitField,
    stack_base: BitField,
    frame_base: BitField,
    kind: BitField,
    /// The bit that marks the end of the stack, up to Linux 6.3; later versions use the kind.
    end: Option<BitField>,
}

impl Form {
    /// The form that the kernel describes; `None` if it describes none.
    pub(crate) fn described(layouts: &BtfTypes) -> Option<Self> {
        let at = layouts.structure("orc_entry")?;
        let part = |name: &str| {
            let member = layouts.declared(at, name)?;
            let (first, bits) = match member.bits {
                Some(bits) => (bits.first, bits.count),
                None => (0, 8 * layouts.bytes(member.at)?),
            };
            let first_bit = u32::try_from(8 * member.offset + first).ok()?;
            let bits = u32::try_from(bits).ok()?;
            (bits > 0 && first_bit + bits <= u64::BITS && bits < u64::BITS).then_some(BitField { first_bit, bits })
        };
        let bytes = usize::try_from(layouts.bytes(at)?).ok()?;
        (1..=size_of::<u64>()).contains(&bytes).then_some(())?;
        Some(Form {
            bytes,
            stack_offset: part("sp_offset")?,
            frame_offset: part("bp_offset")?,
            stack_base: part("sp_reg")?,
            frame_base: part("bp_reg")?,
            kind: part("type")?,
            end: part("end"),
        })
    }
}

/// The kind of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// No information.
    Undefined,
    /// The stack ends there.
    End,
    /// The return address is below the caller's stack.
    Call,
    /// All registers of the interrupted code are on the stack.
    Registers,
    /// Only the registers that the processor pushes are on the stack.
    Frame,
}

/// The tables of a kernel.
#[derive(Debug)]
pub(crate) struct Orc {
    form: Form,
    /// Address of the table of addresses in the kernel.
    at: u64,
    /// The table of addresses, each relative to its own place; ascending.
    places: Vec<u8>,
    entries: Vec<u8>,
}

/// Offsets in `struct pt_regs`, by the registers' numbers in DWARF.
const SAVED: [u64; 16] = [80, 96, 88, 40, 104, 112, 32, 152, 72, 64, 56, 48, 24, 16, 8, 0];
const SAVED_ADDRESS: u64 = 128;
const SAVED_CODE_SEGMENT: u64 = 136;

/// The bits of a code segment with the CPU's mode: not 0 for a program.
const PRIVILEGE: u64 = 3;

/// Numbers of registers in an entry.
const UNDEFINED: u64 = 0;
const PREVIOUS_STACK: u64 = 1;
const DX: u64 = 2;
const DI: u64 = 3;
const BP: u64 = 4;
const SP: u64 = 5;
const R10: u64 = 6;
const R13: u64 = 7;
const BP_INDIRECT: u64 = 8;
const SP_INDIRECT: u64 = 9;

impl Orc {
    /// Tables of a kernel. `at`: the address of the first one. `None` if their sizes do not match.
    pub(crate) fn new(form: Form, at: u64, places: Vec<u8>, entries: Vec<u8>) -> Option<Self> {
        let count = places.len() / PLACE_BYTES;
        let fits = count > 0 && places.len() == count * PLACE_BYTES && entries.len() == count * form.bytes;
        fits.then_some(Orc { form, at, places, entries })
    }

    /// The first address to which an entry applies.
    fn place(&self, index: usize) -> Option<u64> {
        let bytes = self.places.get(index * PLACE_BYTES..)?.first_chunk()?;
        let own = self.at.wrapping_add((index * PLACE_BYTES) as u64);
        Some(own.wrapping_add_signed(i32::from_le_bytes(*bytes).into()))
    }

    /// The entry for an address.
    fn entry(&self, address: u64) -> Option<u64> {
        let (mut low, mut high) = (0, self.places.len() / PLACE_BYTES);
        while low < high {
            let middle = low.midpoint(high);
            if self.place(middle)? <= address {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let from = low.checked_sub(1)? * self.form.bytes;
        let mut bytes = [0; size_of::<u64>()];
        bytes.get_mut(..self.form.bytes)?.copy_from_slice(self.entries.get(from..from + self.form.bytes)?);
        Some(u64::from_le_bytes(bytes))
    }

    fn kind(&self, entry: u64) -> Kind {
        let Form { kind, end, stack_base, .. } = self.form;
        let Some(end) = end else {
            return match kind.of(entry) {
                1 => Kind::End,
                2 => Kind::Call,
                3 => Kind::Registers,
                4 => Kind::Frame,
                _ => Kind::Undefined,
            };
        };
        match kind.of(entry) {
            _ if stack_base.of(entry) == UNDEFINED && end.of(entry) == 1 => Kind::End,
            _ if stack_base.of(entry) == UNDEFINED => Kind::Undefined,
            0 => Kind::Call,
            1 => Kind::Registers,
            2 => Kind::Frame,
            _ => Kind::Undefined,
        }
    }

    /// The caller of a kernel's function.
    pub(crate) fn caller(&self, state: &State, piece: &Piece<'_>) -> Caller {
        let Some(entry) = self.entry(state.place()) else { return Caller::Unknown };
        match self.kind(entry) {
            Kind::Undefined => Caller::Unknown,
            Kind::End => Caller::None,
            kind => self.found(kind, entry, state, piece).unwrap_or(Caller::Unknown),
        }
    }

    /// Finds the caller; `None` if a value that it needs is not known.
    fn found(&self, kind: Kind, entry: u64, state: &State, piece: &Piece<'_>) -> Option<Caller> {
        let stack = self.previous_stack(entry, state, piece)?;
        match kind {
            Kind::Registers => {
                let registers = SAVED.map(|offset| piece.word(stack.wrapping_add(offset)));
                interrupted(registers, stack.wrapping_add(SAVED_ADDRESS), piece)
            }
            Kind::Frame => {
                let mut registers = [None; 16];
                registers[register::RSP] = piece.word(stack.wrapping_add(3 * WORD_BYTES));
                registers[register::RBP] = self.previous_frame(entry, stack, state, piece);
                interrupted(registers, stack, piece)
            }
            _ => {
                let address = piece.word(stack.wrapping_sub(WORD_BYTES))?;
                let mut registers = [None; 16];
                registers[register::RSP] = Some(stack);
                registers[register::RBP] = self.previous_frame(entry, stack, state, piece);
                Some(Caller::Found(Box::new(State { address, is_exact: false, registers })))
            }
        }
    }

    /// The stack pointer of the caller, or the address of the saved registers.
    fn previous_stack(&self, entry: u64, state: &State, piece: &Piece<'_>) -> Option<u64> {
        let offset = self.form.stack_offset.signed(entry);
        let by = |register: usize| Some(state.registers[register]?.wrapping_add(offset));
        match self.form.stack_base.of(entry) {
            SP => by(register::RSP),
            BP => by(register::RBP),
            R10 => by(register::R10),
            R13 => by(register::R13),
            DI => by(register::RDI),
            DX => by(register::RDX),
            BP_INDIRECT => piece.word(by(register::RBP)?),
            SP_INDIRECT => Some(piece.word(state.stack_pointer()?)?.wrapping_add(offset)),
            _ => None,
        }
    }

    /// The frame pointer of the caller; `None` if it is not known.
    fn previous_frame(&self, entry: u64, stack: u64, state: &State, piece: &Piece<'_>) -> Option<u64> {
        let offset = self.form.frame_offset.signed(entry);
        match self.form.frame_base.of(entry) {
            UNDEFINED => state.registers[register::RBP],
            PREVIOUS_STACK => piece.word(stack.wrapping_add(offset)),
            BP => piece.word(state.registers[register::RBP]?.wrapping_add(offset)),
            _ => None,
        }
    }
}

/// The interrupted code, by the frame that the processor pushed: the instruction, then the code
/// segment. None for an interrupted program.
fn interrupted(registers: [Option<u64>; 16], frame: u64, piece: &Piece<'_>) -> Option<Caller> {
    let code_segment = piece.word(frame.wrapping_add(SAVED_CODE_SEGMENT - SAVED_ADDRESS))?;
    if code_segment & PRIVILEGE != 0 {
        return Some(Caller::None);
    }
    Some(Caller::Found(Box::new(State { address: piece.word(frame)?, is_exact: true, registers })))
}

#[cfg(test)]
mod tests;
