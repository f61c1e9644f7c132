//! The sample of the transfers in the plugin's report: each with the registers and a piece of the stack of its CPU, from which its callers
//! are found.

use super::Space;
use serde::{Deserialize, Serialize};

/// Registers of a CPU, in the order of their numbers in DWARF: `rax`, `rdx`, `rcx`, `rbx`, `rsi`, `rdi`, `rbp`, `rsp`, `r8` to `r15`.
pub type Registers = [u64; 16];

/// The place of the stack pointer in [`Registers`].
const STACK_POINTER: usize = 7;

/// Words of eight bytes of a stack, from the stack pointer upwards. In the report they are hexadecimal numbers with spaces between them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Stack(pub Vec<u64>);

impl TryFrom<String> for Stack {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let word = |word: &str| {
            u64::from_str_radix(word, 16).map_err(|error| format!("'{word}' is no word of a stack: {error}"))
        };
        text.split_ascii_whitespace().map(word).collect::<Result<_, _>>().map(Stack)
    }
}

impl From<Stack> for String {
    fn from(stack: Stack) -> Self {
        stack.0.iter().map(|word| format!("{word:x}")).collect::<Vec<_>>().join(" ")
    }
}

/// A transfer, with the state of its CPU before the instruction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RawSample {
    /// The CPU.
    pub cpu: u32,
    /// The instruction.
    pub site: u64,
    /// The first byte of the line that moved.
    pub line: u64,
    /// Its address space.
    pub space: Space,
    /// The registers.
    pub registers: Registers,
    /// The piece of the stack that was kept.
    pub stack: Stack,
}

impl RawSample {
    /// The stack pointer.
    pub fn stack_pointer(&self) -> u64 {
        self.registers[STACK_POINTER]
    }
}

/// The sample of the transfers, without those of interrupts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RawSamples {
    /// Transfers from which it was taken: all.
    pub transfers: u64,
    /// One in so many belongs to the sample, chosen by a hash of its number.
    pub one_in: u64,
    /// The sample, in the order of the transfers.
    pub kept: Vec<RawSample>,
}

impl RawSamples {
    /// Fails, in words, if it cannot be a sample of that many transfers of a machine with that many CPUs.
    pub(super) fn check(&self, transfers: u64, cpus: u32) -> Result<(), String> {
        if self.transfers != transfers {
            return Err(format!("a sample of {} transfers, of the {transfers} there are", self.transfers));
        }
        if self.one_in == 0 || self.kept.len() as u64 > transfers {
            return Err(format!("{} samples, one in {} of {transfers} transfers", self.kept.len(), self.one_in));
        }
        match self.kept.iter().find(|sample| sample.cpu >= cpus) {
            Some(sample) => Err(format!("a sample of CPU {} of {cpus}", sample.cpu)),
            None => Ok(()),
        }
    }
}
