//! The plugin's report, and its strict reader: a report that is cut off, of another version, or
//! inconsistent is refused, so its figures are never shown.

use crate::machine::{CostTimes, ModelledMachine};
use crate::{LINE_BYTES, WORD_BYTES};
use serde::{Deserialize, Serialize};

/// Name of the format.
pub const FORMAT: &str = "faultline-lens";

/// Version of the format.
pub const VERSION: u64 = 1;

/// The code that was counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum LensMode {
    /// A program with its processes.
    Program,
    /// A machine with its kernel.
    Kernel,
}

impl LensMode {
    /// The mode's word in JSON.
    pub fn word(self) -> &'static str {
        match self {
            LensMode::Program => "program",
            LensMode::Kernel => "kernel",
        }
    }
}

/// The part of the run that was counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// The whole run, or all of it from a chosen place on.
    Whole,
    /// The instructions between begin and end marks, or up to a chosen function.
    Marks,
}

/// The address space of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Space {
    /// Virtual addresses.
    Virtual,
    /// Physical addresses: the line was reached through the kernel's direct map or a user mapping.
    Physical,
}

/// Transfers by cause.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ByCause {
    /// By a read of a line that another CPU wrote.
    pub read: u64,
    /// By a write to a line that other CPUs hold.
    pub write: u64,
}

/// Transfers by distance.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ByDistance {
    /// From a CPU that shares a cache.
    pub same_cache: u64,
    /// From the same socket.
    pub same_socket: u64,
    /// From another socket.
    pub other_socket: u64,
    /// From several places at once.
    pub several: u64,
}

/// Sums over all CPUs and lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Totals {
    /// Instructions.
    pub instructions: u64,
    /// Accesses to memory.
    pub accesses: u64,
    /// Transfers of lines between CPUs.
    pub transfers: u64,
    /// Transfers for bytes that the other CPU wrote or read.
    pub true_sharing: u64,
    /// Transfers for other bytes of the line.
    pub false_sharing: u64,
    /// Transfers by cause.
    pub by_cause: ByCause,
    /// Transfers by distance.
    pub by_distance: ByDistance,
    /// Transfers by atomic instructions.
    pub atomic: u64,
    /// Transfers in user mode.
    pub user: u64,
    /// Transfers of pages' contents.
    pub contents: u64,
    /// Lines fetched again because a cache was full; these are not transfers.
    pub capacity_misses: u64,
}

/// Counts of one CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuTotals {
    /// The CPU's number.
    pub cpu: u32,
    /// Instructions.
    pub instructions: u64,
    /// Accesses to memory.
    pub accesses: u64,
    /// Transfers to the CPU.
    pub transfers: u64,
    /// The CPU's clock at the end.
    pub clock: u64,
    /// Counts in interrupts, which the counts above exclude; `None` if interrupts were not
    /// recognised.
    pub interrupt: Option<CpuInterrupts>,
}

/// Counts of one CPU in interrupts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuInterrupts {
    /// Instructions.
    pub instructions: u64,
    /// Accesses to memory.
    pub accesses: u64,
    /// Transfers to the CPU.
    pub transfers: u64,
}

/// Clocks of all CPUs together, by use. The rest are instructions, and time in which CPUs waited or
/// were idle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Spent {
    /// Transfers, and fetches from memory.
    pub transfers: u64,
    /// Waiting for a line that another CPU still uses.
    pub holds: u64,
    /// Waiting in loops with `pause`.
    #[serde(default)]
    pub waits: u64,
    /// Atomic read-modify-writes.
    pub atomics: u64,
    /// Waking up.
    pub wakes: u64,
    /// Delivering interrupts.
    pub interrupts: u64,
    /// Entering the kernel from user mode, and returning.
    pub entries: u64,
    /// Number of times that a halted CPU was woken.
    pub times_woken: u64,
    /// Number of interrupts that began, if interrupts were recognised.
    pub times_interrupted: u64,
    /// Sum of the costs of the busiest line's transfers. These are elapsed clocks, however many
    /// CPUs wait.
    pub busiest_line: u64,
}

/// The accesses of one instruction to the same bytes of a line. In JSON a list of numbers:
/// `offset`, `size`, `site`, 1 for a write, `true_sharing`, `false_sharing`, then pairs of
/// `others`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "Vec<u64>", into = "Vec<u64>")]
pub struct RawAccess {
    /// Offset of the first byte in the line.
    pub offset: u64,
    /// Number of bytes.
    pub size: u64,
    /// Address of the instruction.
    pub site: u64,
    /// The instruction wrote.
    pub is_write: bool,
    /// Transfers with true sharing.
    pub true_sharing: u64,
    /// Transfers with false sharing.
    pub false_sharing: u64,
    /// Words of the line that other CPUs had used since this CPU held the line: the offset of the
    /// word, and the number of transfers before which they had used it.
    pub others: Vec<(u64, u64)>,
}

impl RawAccess {
    /// All transfers.
    pub fn transfers(&self) -> u64 {
        self.true_sharing.saturating_add(self.false_sharing)
    }
}

impl TryFrom<Vec<u64>> for RawAccess {
    type Error = String;

    fn try_from(numbers: Vec<u64>) -> Result<Self, String> {
        let wrong = || format!("an access has {} numbers, or a kind that is neither 0 nor 1", numbers.len());
        let (&[offset, size, site, kind @ (0 | 1), true_sharing, false_sharing], others) =
            numbers.split_first_chunk::<6>().ok_or_else(wrong)?
        else {
            return Err(wrong());
        };
        let (pairs, []) = others.as_chunks::<2>() else { return Err(wrong()) };
        let others = pairs.iter().map(|&[at, transfers]| (at, transfers)).collect();
        Ok(RawAccess { offset, size, site, is_write: kind == 1, true_sharing, false_sharing, others })
    }
}

impl From<RawAccess> for Vec<u64> {
    fn from(access: RawAccess) -> Self {
        let RawAccess { offset, size, site, is_write, true_sharing, false_sharing, others } = access;
        let fixed = [offset, size, site, u64::from(is_write), true_sharing, false_sharing];
        fixed.into_iter().chain(others.into_iter().flat_map(|(at, transfers)| [at, transfers])).collect()
    }
}

/// A line that moved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RawLine {
    /// Address of its first byte.
    pub address: u64,
    /// The address space.
    pub space: Space,
    /// The page was reached through a user mapping.
    pub contents: bool,
    /// Transfers to each CPU: its number and the transfers.
    pub by_cpu: Vec<(u32, u64)>,
    /// The accesses that moved it.
    pub accesses: Vec<RawAccess>,
}

impl RawLine {
    /// A line of the kernel whose first word one instruction writes with true sharing: for tests of
    /// readers.
    pub fn written(address: u64, transfers: u64) -> Self {
        let (is_write, true_sharing, false_sharing, others) = (true, transfers, 0, Vec::new());
        let access = RawAccess { offset: 0, size: 8, site: 0, is_write, true_sharing, false_sharing, others };
        RawLine { address, space: Space::Virtual, contents: false, by_cpu: Vec::new(), accesses: vec![access] }
    }

    /// Transfers with true sharing.
    pub fn true_sharing(&self) -> u64 {
        sum(self.accesses.iter().map(|access| access.true_sharing))
    }

    /// Transfers with false sharing.
    pub fn false_sharing(&self) -> u64 {
        sum(self.accesses.iter().map(|access| access.false_sharing))
    }

    /// All transfers.
    pub fn transfers(&self) -> u64 {
        self.true_sharing().saturating_add(self.false_sharing())
    }
}

/// The counts of operations, or of interrupts: code from the entry of a device's, the timer's or
/// another CPU's interrupt to its return.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RawCounts {
    /// Sums.
    pub totals: Totals,
    /// Every line that moved, by transfers, most first.
    pub lines: Vec<RawLine>,
}

/// Registers of a CPU, in the order of their DWARF numbers: `rax`, `rdx`, `rcx`, `rbx`, `rsi`,
/// `rdi`, `rbp`, `rsp`, `r8` to `r15`.
pub type Registers = [u64; 16];

/// Index of the stack pointer in [`Registers`].
const STACK_POINTER: usize = 7;

/// Words of eight bytes of a stack, from the stack pointer upwards. In JSON a string of hexadecimal
/// numbers separated by spaces.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "String", into = "String")]
pub struct Stack(pub Vec<u64>);

impl TryFrom<String> for Stack {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let word =
            |word: &str| u64::from_str_radix(word, 16).map_err(|error| format!("'{word}': not a stack word: {error}"));
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RawSample {
    /// The CPU.
    pub cpu: u32,
    /// Address of the instruction.
    pub site: u64,
    /// Address of the first byte of the line that moved.
    pub line: u64,
    /// The line's address space.
    pub space: Space,
    /// The registers.
    pub registers: Registers,
    /// The kept piece of the stack.
    pub stack: Stack,
}

impl RawSample {
    /// The stack pointer.
    pub fn stack_pointer(&self) -> u64 {
        self.registers[STACK_POINTER]
    }
}

/// A sample of the transfers of operations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RawSamples {
    /// Number of transfers from which the sample was taken: all.
    pub transfers: u64,
    /// Number of transfers for each that belongs to the sample, chosen by a hash of its number.
    pub one_in: u64,
    /// The sample, in the order of the transfers.
    pub kept: Vec<RawSample>,
}

/// Counts of all processes that ran one program, without interrupts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RawProcesses {
    /// Name of the program's file, without directories; empty if it is not known.
    pub name: String,
    /// Number of processes that ran it.
    pub processes: u64,
    /// The other figures of the report include these processes.
    pub is_counted: bool,
    /// Instructions.
    pub instructions: u64,
    /// Accesses to memory.
    pub accesses: u64,
    /// Transfers with true sharing.
    pub true_sharing: u64,
    /// Transfers with false sharing.
    pub false_sharing: u64,
}

impl RawProcesses {
    /// All transfers.
    pub fn transfers(&self) -> u64 {
        self.true_sharing.saturating_add(self.false_sharing)
    }
}

/// A reason why a machine was ended before its end: it made no progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Stall {
    /// Before the first region it executed no new code, by its own clock.
    Guest {
        /// Seconds of its own time.
        seconds: u64,
    },
    /// Within or after a region it executed no new code and was idle.
    Idle {
        /// Seconds of its own time in which all CPUs were idle.
        seconds: u64,
    },
    /// Before the first region it executed no new code, by the emulator's CPU time.
    Emulator {
        /// Seconds of the emulator's CPU time.
        seconds: u64,
    },
    /// All CPUs were halted, and there was no timer.
    Halted,
}

/// A machine that was ended because it made no progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stalled {
    /// The reason.
    #[serde(flatten)]
    pub stall: Stall,
    /// Address of the code that was new last.
    pub last_new_code: u64,
}

/// A whole report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RawReport {
    /// [`FORMAT`].
    pub format: String,
    /// [`VERSION`].
    pub version: u64,
    /// Instruction set: `x86_64`.
    pub target: String,
    /// The code that was counted.
    pub mode: LensMode,
    /// The part of the run that was counted.
    pub scope: Scope,
    /// Number of regions between marks that were counted; 0 if no begin mark was executed.
    pub regions: u64,
    /// Number of regions that ended with a call of the function named for it; `None` without such
    /// a function.
    pub ended_by_call: Option<u64>,
    /// Set if the machine was ended because it made no progress.
    pub stalled: Option<Stalled>,
    /// The modelled machine.
    pub machine: ModelledMachine,
    /// Virtual address of the kernel's direct map; `None` if places were identified by physical
    /// address.
    pub direct_map: Option<u64>,
    /// Clocks that the counted part takes on the modelled machine.
    pub predicted_time: u64,
    /// Clocks in which at least one CPU was busy.
    pub busy_time: u64,
    /// Clocks in which at least two CPUs were busy.
    pub overlapping_time: u64,
    /// Clocks by use.
    pub spent: Spent,
    /// Counts by CPU.
    pub cpus: Vec<CpuTotals>,
    /// Counts by the program that processes ran, most transfers first; empty for kernels.
    #[serde(default)]
    pub processes: Vec<RawProcesses>,
    /// Counts of operations; of all code if `interrupt` is `None`.
    pub operation: RawCounts,
    /// Counts of interrupts; `None` if they were not recognised.
    pub interrupt: Option<RawCounts>,
    /// A sample of the transfers with their stacks; `None` if none was requested.
    pub samples: Option<RawSamples>,
}

/// Reason why a report is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RawReportError {
    /// The report ends in the middle.
    #[error("the lens's report is cut off")]
    CutOff,
    /// The report is not JSON, or a field is missing or out of range.
    #[error("cannot read the lens's report: {0}")]
    Unreadable(String),
    /// The report is JSON of another kind.
    #[error("not a report of the lens: its format is '{0}', not '{FORMAT}'")]
    WrongFormat(String),
    /// The report has another version.
    #[error("the lens's report has version {0}; this Faultline reads version {VERSION}")]
    WrongVersion(u64),
    /// The figures of the report contradict each other.
    #[error("the lens's report is inconsistent: {0}")]
    Inconsistent(String),
}

impl RawReportError {
    /// A way to resolve the error.
    pub fn hint(&self) -> &'static str {
        match self {
            RawReportError::CutOff => "check that the disk is not full, and run it again",
            RawReportError::WrongVersion(_) => "build the plugin and Faultline from the same source",
            _ => "check that the plugin is Faultline's and from the same source",
        }
    }
}

/// The part of a report that is read first.
#[derive(Deserialize)]
struct Head {
    format: String,
    version: u64,
}

impl RawReport {
    /// Reads a report. Fails if it is cut off, is not JSON of this format and version, or is
    /// inconsistent.
    pub fn parse(text: &[u8]) -> Result<Self, RawReportError> {
        let head: Head = from_json(text)?;
        if head.format != FORMAT {
            return Err(RawReportError::WrongFormat(head.format));
        }
        if head.version != VERSION {
            return Err(RawReportError::WrongVersion(head.version));
        }
        let report: RawReport = from_json(text)?;
        report.check().map_err(RawReportError::Inconsistent)?;
        Ok(report)
    }

    /// A report of a kernel on a machine with that many CPUs, without counts: for tests of readers.
    pub fn empty(cpus: u32) -> Self {
        RawReport {
            format: FORMAT.to_owned(),
            version: VERSION,
            target: "x86_64".to_owned(),
            mode: LensMode::Kernel,
            scope: Scope::Marks,
            regions: 1,
            ended_by_call: None,
            stalled: None,
            machine: ModelledMachine {
                cpus,
                sockets: 1,
                cpus_per_cache: cpus,
                quantum: 1000,
                private_quantum: 1000,
                times: CostTimes {
                    instruction_ps: 500,
                    same_cache_ns: 20,
                    same_socket_ns: 50,
                    other_socket_ns: 150,
                    memory_ns: 80,
                },
                delays: None,
                caches: None,
            },
            direct_map: None,
            predicted_time: 1000,
            busy_time: 1000,
            overlapping_time: 900,
            spent: Spent::default(),
            cpus: Vec::new(),
            processes: Vec::new(),
            operation: RawCounts::default(),
            interrupt: None,
            samples: None,
        }
    }

    /// Duration of the counted part on the modelled machine, in nanoseconds, rounded down.
    pub fn predicted_ns(&self) -> f64 {
        (u128::from(self.predicted_time) * u128::from(self.machine.times.instruction_ps) / 1000) as f64
    }

    fn check(&self) -> Result<(), String> {
        if self.machine.cpus == 0 {
            return Err("a machine without CPUs".to_owned());
        }
        at_most("overlapping time", self.overlapping_time, self.busy_time)?;
        at_most("regions that ended with a call", self.ended_by_call.unwrap_or(0), self.regions)?;
        self.operation.check(self.machine.cpus)?;
        let counted = self.processes.iter().filter(|of| of.is_counted);
        if !self.processes.is_empty() && sum(counted.map(RawProcesses::transfers)) != self.operation.totals.transfers {
            return Err("counts by process that differ from all".to_owned());
        }
        if let Some(samples) = &self.samples {
            samples.check(self.operation.totals.transfers, self.machine.cpus)?;
        }
        let interrupt = self.interrupt.as_ref().map_or(Ok(()), |counts| counts.check(self.machine.cpus));
        interrupt.map_err(|text| format!("in interrupts, {text}"))
    }
}

impl RawCounts {
    /// The counts of these lines, moved by writes within a cache, without other totals: for tests
    /// of readers.
    pub fn of_lines(lines: Vec<RawLine>) -> Self {
        let true_sharing = sum(lines.iter().map(RawLine::true_sharing));
        let false_sharing = sum(lines.iter().map(RawLine::false_sharing));
        let transfers = true_sharing + false_sharing;
        let totals = Totals {
            transfers,
            true_sharing,
            false_sharing,
            by_cause: ByCause { read: 0, write: transfers },
            by_distance: ByDistance { same_cache: transfers, ..ByDistance::default() },
            ..Totals::default()
        };
        RawCounts { totals, lines }
    }

    /// Checks that all lines together have the transfers of the totals, and that places and CPUs
    /// exist.
    fn check(&self, cpus: u32) -> Result<(), String> {
        let Totals { transfers, true_sharing, false_sharing, .. } = self.totals;
        if true_sharing.checked_add(false_sharing) != Some(transfers) {
            return Err(format!(
                "{transfers} transfers, but {true_sharing} of true and {false_sharing} of false sharing"
            ));
        }
        let sums =
            (sum(self.lines.iter().map(RawLine::true_sharing)), sum(self.lines.iter().map(RawLine::false_sharing)));
        if sums != (true_sharing, false_sharing) {
            return Err(format!(
                "accesses with {} transfers of true and {} of false sharing, not {true_sharing} and {false_sharing}",
                sums.0, sums.1
            ));
        }
        self.lines.iter().try_for_each(|line| line.check(cpus))
    }
}

impl RawLine {
    fn check(&self, cpus: u32) -> Result<(), String> {
        if let Some((cpu, _)) = self.by_cpu.iter().find(|&&(cpu, _)| cpu >= cpus) {
            return Err(format!("transfers to CPU {cpu} of {cpus}"));
        }
        at_most("transfers of a line by CPU", sum(self.by_cpu.iter().map(|&(_, count)| count)), self.transfers())?;
        let words = self.accesses.iter().flat_map(|access| access.others.iter().map(|&(at, _)| at));
        let last = words.max().map_or(0, |at| at.saturating_add(WORD_BYTES));
        let accesses = self.accesses.iter().map(|access| access.offset.saturating_add(access.size));
        match accesses.max().unwrap_or(0).max(last) {
            end if end > LINE_BYTES => Err(format!("an access up to byte {end} of a line of {LINE_BYTES}")),
            _ => Ok(()),
        }
    }
}

impl RawSamples {
    /// Checks that this can be a sample of that many transfers of a machine with that many CPUs.
    fn check(&self, transfers: u64, cpus: u32) -> Result<(), String> {
        if self.transfers != transfers {
            return Err(format!("a sample of {} transfers, not of {transfers}", self.transfers));
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

fn from_json<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Result<T, RawReportError> {
    // The parser does not report a cut within a number or word as the end of input. But the rest
    // does not end like an object then.
    let open = text.trim_ascii().first() == Some(&b'{') && text.trim_ascii().last() != Some(&b'}');
    serde_json::from_slice(text).map_err(|error| match error.is_eof() || open {
        true => RawReportError::CutOff,
        false => RawReportError::Unreadable(error.to_string()),
    })
}

/// A saturating sum: a report that claims more than 2⁶⁴ is refused.
fn sum(parts: impl Iterator<Item = u64>) -> u64 {
    parts.fold(0, u64::saturating_add)
}

fn at_most(what: &str, part: u64, whole: u64) -> Result<(), String> {
    if part <= whole { Ok(()) } else { Err(format!("{what}: {part}, more than {whole} in all")) }
}

#[cfg(test)]
mod tests;
