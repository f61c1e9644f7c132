//! The callers of a program's functions by `.eh_frame`, which describes for each instruction how to
//! recover the caller's registers. The library gimli reads and executes the tables; this module
//! supplies the registers and the stack.

use super::{Caller, Piece, State, register};
use crate::dwarf::Slice;
use gimli::{
    BaseAddresses, CfaRule, CieOrFde, EhFrame, Encoding, EvaluationResult, Expression, Location, Register,
    RegisterRule, Section, UnwindContext, UnwindExpression, UnwindSection, Value,
};
use object::{Architecture, Object, ObjectSection};
use std::sync::Arc;

/// The column of the return address, which is also the number of the instruction pointer.
const RETURN_ADDRESS: Register = Register(16);

/// The registers that functions preserve (System V ABI): unless the table states otherwise, the
/// caller has the same value.
const KEPT: [usize; 6] = [3, register::RBP, 12, 13, 14, 15];

/// Maximum number of steps of an expression. Those of compilers and C libraries have about ten.
const MOST_STEPS: usize = 1000;

/// The tables of a file.
pub(crate) struct Tables {
    section: EhFrame<Slice>,
    bases: BaseAddresses,
    /// The beginning and end of each function, and the offset of its table; ascending.
    functions: Vec<(u64, u64, usize)>,
}

/// A value that the tables need is missing, or the tables are damaged.
struct Lacking;

impl From<gimli::Error> for Lacking {
    fn from(_: gimli::Error) -> Self {
        Lacking
    }
}

impl Tables {
    /// The tables of a file; `None` if it has none, or is not for x86-64.
    pub(crate) fn of(file: &object::File<'_>) -> Option<Self> {
        if file.architecture() != Architecture::X86_64 {
            return None;
        }
        let address = |name: &str| file.section_by_name(name).map(|section| section.address());
        let data = file.section_by_name(EhFrame::<Slice>::section_name())?.uncompressed_data().ok()?;
        let mut section = EhFrame::from(Slice::new(Arc::from(data.as_ref()), gimli::RunTimeEndian::Little));
        section.set_address_size(8);
        let bases = BaseAddresses::default()
            .set_eh_frame(address(".eh_frame")?)
            .set_eh_frame_hdr(address(".eh_frame_hdr").unwrap_or(0))
            .set_text(address(".text").unwrap_or(0))
            .set_got(address(".got").unwrap_or(0));
        let mut functions = Vec::new();
        let mut entries = section.entries(&bases);
        // Entries after a damaged one are not known.
        while let Ok(Some(entry)) = entries.next() {
            let CieOrFde::Fde(partial) = entry else { continue };
            if let Ok(function) = partial.parse(EhFrame::cie_from_offset) {
                functions.push((function.initial_address(), function.end_address(), function.offset()));
            }
        }
        functions.sort_unstable();
        Some(Tables { section, bases, functions })
    }

    /// The caller of a function of the file, which is loaded `base` above its addresses.
    pub(crate) fn caller(&self, state: &State, base: u64, piece: &Piece<'_>) -> Caller {
        self.found(state, base, piece).unwrap_or(Caller::Unknown)
    }

    fn found(&self, state: &State, base: u64, piece: &Piece<'_>) -> Result<Caller, Lacking> {
        let place = state.place().wrapping_sub(base);
        let before = self.functions.partition_point(|&(from, ..)| from <= place);
        let &(_, end, offset) = self.functions[..before].last().ok_or(Lacking)?;
        if place >= end {
            return Err(Lacking);
        }
        let function = self.section.fde_from_offset(&self.bases, offset.into(), EhFrame::cie_from_offset)?;
        let mut context = UnwindContext::new();
        let row = function.unwind_info_for_address(&self.section, &self.bases, &mut context, place)?;
        let frame = Frame { tables: self, encoding: function.cie().encoding(), state, piece };
        let cfa = frame.canonical_address(row.cfa())?;
        let address = match row.register(RETURN_ADDRESS) {
            // The outermost function of a thread is marked.
            Some(RegisterRule::Undefined) => return Ok(Caller::None),
            Some(rule) => frame.value(&rule, cfa)?,
            None => return Err(Lacking),
        };
        if address == 0 {
            return Ok(Caller::None);
        }
        let mut registers = [None; 16];
        for (number, value) in registers.iter_mut().enumerate() {
            *value = match row.register(Register(number as u16)) {
                Some(RegisterRule::Undefined) => None,
                Some(rule) => frame.value(&rule, cfa).ok(),
                None if number == register::RSP => Some(cfa),
                None => state.registers[number].filter(|_| KEPT.contains(&number)),
            };
        }
        let is_exact = function.is_signal_trampoline();
        Ok(Caller::Found(Box::new(State { address, is_exact, registers })))
    }
}

/// The frame of a function, from which the caller's is computed.
struct Frame<'a> {
    tables: &'a Tables,
    encoding: Encoding,
    state: &'a State,
    piece: &'a Piece<'a>,
}

impl Frame<'_> {
    fn register(&self, register: Register) -> Result<u64, Lacking> {
        if register == RETURN_ADDRESS {
            return Ok(self.state.address);
        }
        self.state.registers.get(usize::from(register.0)).copied().flatten().ok_or(Lacking)
    }

    fn word(&self, address: u64) -> Result<u64, Lacking> {
        self.piece.word(address).ok_or(Lacking)
    }

    /// The canonical frame address: the stack pointer before the call.
    fn canonical_address(&self, rule: &CfaRule<usize>) -> Result<u64, Lacking> {
        match rule {
            &CfaRule::RegisterAndOffset { register, offset } => {
                Ok(self.register(register)?.wrapping_add_signed(offset))
            }
            CfaRule::Expression(expression) => self.evaluate(expression, None),
        }
    }

    /// The caller's value of a register.
    fn value(&self, rule: &RegisterRule<usize>, cfa: u64) -> Result<u64, Lacking> {
        match rule {
            RegisterRule::Offset(offset) => self.word(cfa.wrapping_add_signed(*offset)),
            RegisterRule::ValOffset(offset) => Ok(cfa.wrapping_add_signed(*offset)),
            RegisterRule::Register(register) => self.register(*register),
            RegisterRule::Expression(expression) => self.word(self.evaluate(expression, Some(cfa))?),
            RegisterRule::ValExpression(expression) => self.evaluate(expression, Some(cfa)),
            RegisterRule::Constant(value) => Ok(*value),
            _ => Err(Lacking),
        }
    }

    /// Evaluates an expression. For registers, it begins with the canonical frame address.
    fn evaluate(&self, expression: &UnwindExpression<usize>, first: Option<u64>) -> Result<u64, Lacking> {
        let expression: Expression<Slice> = expression.get(&self.tables.section)?;
        let mut evaluation = expression.evaluation(self.encoding);
        first.into_iter().for_each(|value| evaluation.set_initial_value(value));
        let mut result = evaluation.evaluate()?;
        for _ in 0..MOST_STEPS {
            result = match result {
                EvaluationResult::Complete => break,
                EvaluationResult::RequiresRegister { register, .. } => {
                    evaluation.resume_with_register(Value::Generic(self.register(register)?))?
                }
                EvaluationResult::RequiresMemory { address, size: 8, .. } => {
                    evaluation.resume_with_memory(Value::Generic(self.word(address)?))?
                }
                _ => return Err(Lacking),
            };
        }
        match &*evaluation.result() {
            [piece] => match &piece.location {
                Location::Address { address } => Ok(*address),
                Location::Value { value } => Ok(value.to_u64(u64::MAX)?),
                _ => Err(Lacking),
            },
            _ => Err(Lacking),
        }
    }
}
