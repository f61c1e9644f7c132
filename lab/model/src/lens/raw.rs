//! The plugin's report (`faultline-lens 4`, docs/FORMATS.md). The reader is strict: it refuses a report that was cut off or made by another
//! version, so such a report is never shown as figures.

mod samples;

pub use samples::{RawSample, RawSamples, Registers, Stack};

use crate::lens::problem::Problem;
use serde::{Deserialize, Serialize};

/// Name of the format.
pub const FORMAT: &str = "faultline-lens";

/// The version that the plugin writes.
pub const VERSION: u64 = 4;

/// The oldest version that is read. It lacks [`RawReport::accesses`].
pub const OLDEST_VERSION: u64 = 3;

/// A report that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RawReportError {
    /// It ends in the middle.
    #[error("the lens's report is cut off")]
    CutOff,
    /// It is not JSON, or a field is missing or out of range.
    #[error("the lens's report can't be read: {0}")]
    Unreadable(String),
    /// It is JSON of another kind.
    #[error("not a report of the lens: its format is '{0}', not '{FORMAT}'")]
    WrongFormat(String),
    /// Another version wrote it.
    #[error("the lens's report has version {0}; this Faultline reads versions {OLDEST_VERSION} to {VERSION}")]
    WrongVersion(u64),
    /// Its figures contradict each other.
    #[error("the lens's report contradicts itself: {0}")]
    Inconsistent(String),
}

impl RawReportError {
    /// What can be done about it.
    pub fn hint(&self) -> &'static str {
        match self {
            RawReportError::CutOff => "was the disk full? run it again",
            RawReportError::WrongVersion(_) => "build the plugin and Faultline from the same source",
            _ => "check that the plugin is Faultline's and from the same source",
        }
    }
}

/// What was run under the plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LensMode {
    /// A program with its processes.
    Program,
    /// A whole machine with its kernel.
    Kernel,
}

impl LensMode {
    /// As it is written.
    pub fn word(self) -> &'static str {
        match self {
            LensMode::Program => "program",
            LensMode::Kernel => "kernel",
        }
    }
}

/// What was counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// The whole run.
    Whole,
    /// The instructions between begin and end marks.
    Marks,
}

/// The address space of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Space {
    /// A virtual address.
    Virtual,
    /// A physical one: the line was reached through the kernel's direct map or a user mapping.
    Physical,
}

/// The modelled machine. A clock is the time of one instruction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// CPUs.
    pub cpus: u32,
    /// Sockets; all have the same number of CPUs.
    pub sockets: u32,
    /// CPUs that share a cache.
    pub cpus_per_cache: u32,
    /// Bytes of a cache line.
    pub line_bytes: u64,
    /// How far a CPU may run ahead after a transfer, in clocks.
    pub quantum: u64,
    /// How far a CPU may run ahead whose last transfer is long ago, in clocks.
    pub private_quantum: u64,
    /// Cost of an instruction, in picoseconds.
    pub instruction_ps: f64,
    /// Cost of a transfer between CPUs that share a cache.
    pub same_cache_ns: f64,
    /// Cost of a transfer within a socket.
    pub same_socket_ns: f64,
    /// Cost of a transfer between sockets.
    pub other_socket_ns: f64,
    /// Cost of a line from memory.
    pub memory_ns: f64,
    /// Lines that a cache holds; `None` if caches have no bound.
    pub cache_lines: Option<u64>,
    /// Lines that a cache holds per set; `None` if caches have no bound.
    pub cache_ways: Option<u64>,
}

/// Transfers by cause.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ByCause {
    /// By a read of a line that another CPU wrote.
    pub read: u64,
    /// By a write to a line that other CPUs hold.
    pub write: u64,
}

/// Transfers by distance.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
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
    /// By cause.
    pub by_cause: ByCause,
    /// By distance.
    pub by_distance: ByDistance,
    /// By atomic instructions.
    pub atomic: u64,
    /// In user mode.
    pub user: u64,
    /// Of pages' contents.
    pub contents: u64,
    /// Lines fetched again because a cache was full; these are not transfers.
    pub capacity_misses: u64,
}

/// What one CPU did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuTotals {
    /// Its number.
    pub cpu: u32,
    /// Instructions.
    pub instructions: u64,
    /// Accesses to memory.
    pub accesses: u64,
    /// Its clock at the end.
    pub clock: u64,
    /// Transfers to it.
    pub transfers: u64,
    /// Base address of its per-CPU variables, in kernel mode: the base of `gs` in the kernel.
    pub per_cpu_base: Option<u64>,
    /// What it did in interrupts, which the counts above leave out; `None` if interrupts were not told apart.
    #[serde(default)]
    pub interrupt: Option<CpuInterrupts>,
}

/// What one CPU did in interrupts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuInterrupts {
    /// Instructions.
    pub instructions: u64,
    /// Accesses to memory.
    pub accesses: u64,
    /// Transfers to it.
    pub transfers: u64,
}

/// Transfers of a line to one CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct CpuTransfers {
    /// The CPU.
    pub cpu: u32,
    /// Transfers to it.
    pub transfers: u64,
}

/// Transfers by one instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SiteTransfers {
    /// The instruction.
    pub address: u64,
    /// Transfers.
    pub transfers: u64,
}

/// Transfers by the byte of the line at which the access began that caused the transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OffsetTransfers {
    /// The byte, from the line's first.
    pub offset: u64,
    /// Bytes that were accessed.
    pub size: u64,
    /// Transfers.
    pub transfers: u64,
}

/// A line that moved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RawLine {
    /// Its first byte.
    pub address: u64,
    /// The address space.
    pub space: Space,
    /// Its page was reached through a user mapping.
    pub contents: bool,
    /// All transfers of it.
    pub transfers: u64,
    /// True sharing.
    pub true_sharing: u64,
    /// False sharing.
    pub false_sharing: u64,
    /// By CPU.
    pub by_cpu: Vec<CpuTransfers>,
    /// By instruction, the most first.
    pub by_site: Vec<SiteTransfers>,
    /// By byte, the most first; the first few only.
    pub by_offset: Vec<OffsetTransfers>,
}

/// The accesses that made a line move.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineAccesses {
    /// The line's first byte.
    pub address: u64,
    /// The address space.
    pub space: Space,
    /// Its page was reached through a user mapping.
    pub contents: bool,
    /// The accesses.
    pub by_access: Vec<RawAccess>,
}

/// One kind of access to a line: those of one instruction to the same bytes. It is a list of numbers in the report:
/// `offset`, `size`, `site`, 1 for a write, `true_sharing`, `false_sharing`, then pairs of `others`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<u64>", into = "Vec<u64>")]
pub struct RawAccess {
    /// The first byte, from the line's first.
    pub offset: u64,
    /// Bytes that were accessed.
    pub size: u64,
    /// The instruction.
    pub site: u64,
    /// It wrote.
    pub is_write: bool,
    /// Transfers with true sharing.
    pub true_sharing: u64,
    /// Transfers with false sharing.
    pub false_sharing: u64,
    /// Byte of the line, and transfers before which other CPUs had used the [`WORD_BYTES`] bytes from there on.
    pub others: Vec<(u64, u64)>,
}

/// Bytes of a line that are told apart in [`RawAccess::others`].
pub const WORD_BYTES: u64 = 4;

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

/// An instruction that made lines move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Site {
    /// The instruction.
    pub address: u64,
    /// All transfers that it caused.
    pub transfers: u64,
    /// True sharing.
    pub true_sharing: u64,
    /// False sharing.
    pub false_sharing: u64,
}

/// The part of the counts that belongs to interrupts: what ran from the entry of a device's, the timer's or another CPU's
/// interrupt to its return.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RawInterrupts {
    /// Sums.
    pub totals: Totals,
    /// How many lines moved.
    pub lines_moved: u64,
    /// Lines, the most transfers first.
    pub lines: Vec<RawLine>,
    /// How many instructions made lines move.
    pub sites_moving: u64,
    /// Instructions, the most transfers first.
    pub sites: Vec<Site>,
}

/// Code of a file that a process of the program mapped into its memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mapping {
    /// The process.
    pub process: u32,
    /// Where it begins in memory.
    pub address: u64,
    /// Bytes.
    pub length: u64,
    /// Where it begins in the file.
    pub offset: u64,
    /// The file, in the guest.
    pub path: String,
}

/// A function that a process generated, as it says in `/tmp/perf-PID.map`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GeneratedCode {
    /// The process.
    pub process: u32,
    /// Where it begins in memory.
    pub address: u64,
    /// Bytes.
    pub length: u64,
    /// Its name.
    pub name: String,
}

/// A whole report. Its counts are those of the operation, without `interrupt`; if that is `None`, they are of everything.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RawReport {
    /// [`FORMAT`].
    pub format: String,
    /// [`OLDEST_VERSION`] to [`VERSION`].
    pub version: u64,
    /// Instruction set: `x86_64`.
    pub target: String,
    /// Program or kernel.
    pub mode: LensMode,
    /// The modelled machine.
    pub machine: Machine,
    /// Virtual address of physical address 0.
    pub direct_map: Option<u64>,
    /// What was counted.
    pub scope: Scope,
    /// Regions between marks that were counted.
    pub regions: u64,
    /// Processes that the program forked; they are counted too. The plugin does not know it; the guest's agent tells.
    #[serde(default)]
    pub forks: u64,
    /// Reasons why the counts are less than was asked for.
    pub problems: Vec<Problem>,
    /// The greatest clock of a CPU.
    pub predicted_time: u64,
    /// The same in nanoseconds.
    pub predicted_time_ns: f64,
    /// Clocks in which at least one CPU was busy.
    pub busy_time: u64,
    /// Clocks in which at least two were.
    pub overlapping_time: u64,
    /// What the clocks were spent on; `None` in reports of older plugins.
    #[serde(default)]
    pub spent: Option<Spent>,
    /// Sums.
    pub totals: Totals,
    /// By CPU.
    pub cpus: Vec<CpuTotals>,
    /// How many lines moved; `lines` may hold fewer.
    pub lines_moved: u64,
    /// Lines, the most transfers first.
    pub lines: Vec<RawLine>,
    /// Every line that moved, with the accesses that moved it; `None` in version 3.
    #[serde(default)]
    pub accesses: Option<Vec<LineAccesses>>,
    /// How many instructions made lines move; `sites` may hold fewer.
    pub sites_moving: u64,
    /// Instructions, the most transfers first.
    pub sites: Vec<Site>,
    /// The same counts for interrupts; `None` if they were not told apart.
    pub interrupt: Option<RawInterrupts>,
    /// A sample of the transfers with their stacks; `None` if none was wanted, and in reports of older plugins.
    #[serde(default)]
    pub samples: Option<RawSamples>,
    /// Code that processes of a program in a guest mapped. The plugin does not know it; the guest's agent tells.
    #[serde(default)]
    pub mappings: Vec<Mapping>,
    /// Functions that these processes generated, in the order in which each said so. The agent tells these too.
    #[serde(default)]
    pub generated: Vec<GeneratedCode>,
}

/// What the CPUs' clocks were spent on, in clocks of all CPUs together. The rest are instructions, and time in which CPUs waited or were idle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Spent {
    /// Transfers, and lines from memory.
    pub transfers: u64,
    /// Waiting for a line that another CPU still uses.
    pub holds: u64,
    /// Atomic read-modify-writes.
    pub atomics: u64,
    /// Waking up.
    pub wakes: u64,
    /// From an interrupt's cause to its handler.
    pub interrupts: u64,
    /// From user mode to the kernel and back.
    pub entries: u64,
    /// How often a halted CPU was woken.
    pub times_woken: u64,
    /// How often an interrupt began, if interrupts were recognised.
    pub times_interrupted: u64,
    /// The costs of the busiest line's transfers, one after the other. These are elapsed clocks, however many CPUs wait.
    pub busiest_line: u64,
}

/// The part that is read first.
#[derive(Deserialize)]
struct Head {
    format: String,
    version: u64,
}

impl RawReport {
    /// Reads a report. Fails if it is cut off, is not JSON of this format and version, or if its figures contradict each other.
    pub fn parse(text: &[u8]) -> Result<Self, RawReportError> {
        let head: Head = from_json(text)?;
        if head.format != FORMAT {
            return Err(RawReportError::WrongFormat(head.format));
        }
        if !(OLDEST_VERSION..=VERSION).contains(&head.version) {
            return Err(RawReportError::WrongVersion(head.version));
        }
        let report: RawReport = from_json(text)?;
        report.check().map_err(RawReportError::Inconsistent)?;
        Ok(report)
    }

    fn check(&self) -> Result<(), String> {
        if self.machine.cpus == 0 || self.machine.line_bytes == 0 {
            return Err("a machine without CPUs or lines".to_owned());
        }
        if !self.predicted_time_ns.is_finite() || self.predicted_time_ns < 0.0 {
            return Err(format!("a predicted time of {} ns", self.predicted_time_ns));
        }
        at_most("overlapping time", self.overlapping_time, self.busy_time)?;
        self.check_part(&self.totals, (&self.lines, self.lines_moved), (&self.sites, self.sites_moving))?;
        self.check_accesses()?;
        self.samples.iter().try_for_each(|samples| samples.check(self.totals.transfers, self.machine.cpus))?;
        let Some(interrupt) = &self.interrupt else { return Ok(()) };
        let (lines, sites) = ((&*interrupt.lines, interrupt.lines_moved), (&*interrupt.sites, interrupt.sites_moving));
        self.check_part(&interrupt.totals, lines, sites).map_err(|text| format!("of interrupts, {text}"))
    }

    fn check_part(
        &self,
        totals: &Totals,
        (lines, lines_moved): (&[RawLine], u64),
        (sites, sites_moving): (&[Site], u64),
    ) -> Result<(), String> {
        fits("all lines", totals.transfers, totals.true_sharing, totals.false_sharing)?;
        at_most("lines", lines.len() as u64, lines_moved)?;
        at_most("sites", sites.len() as u64, sites_moving)?;
        at_most("transfers of the lines", sum(lines.iter().map(|line| line.transfers)), totals.transfers)?;
        at_most("transfers by the sites", sum(sites.iter().map(|site| site.transfers)), totals.transfers)?;
        sites.iter().try_for_each(|site| fits("a site", site.transfers, site.true_sharing, site.false_sharing))?;
        lines.iter().try_for_each(|line| self.check_line(line))
    }

    /// Accesses are of all lines, so their sums are the totals.
    fn check_accesses(&self) -> Result<(), String> {
        let Some(lines) = &self.accesses else {
            return if self.version < VERSION { Ok(()) } else { Err("it has no accesses".to_owned()) };
        };
        let all = || lines.iter().flat_map(|line| &line.by_access);
        let sums = (sum(all().map(|access| access.true_sharing)), sum(all().map(|access| access.false_sharing)));
        if sums != (self.totals.true_sharing, self.totals.false_sharing) {
            return Err(format!("accesses with {} transfers of true and {} of false sharing", sums.0, sums.1));
        }
        let bytes = all().flat_map(|access| access.others.iter().map(|&(at, _)| at).chain([access.offset]));
        match bytes.max().filter(|&at| at >= self.machine.line_bytes) {
            Some(at) => Err(format!("an access to byte {at} of a line of {}", self.machine.line_bytes)),
            None => Ok(()),
        }
    }

    fn check_line(&self, line: &RawLine) -> Result<(), String> {
        fits("a line", line.transfers, line.true_sharing, line.false_sharing)?;
        if let Some(cpu) = line.by_cpu.iter().map(|part| part.cpu).find(|&cpu| cpu >= self.machine.cpus) {
            return Err(format!("transfers to CPU {cpu} of {}", self.machine.cpus));
        }
        if let Some(offset) = line.by_offset.iter().map(|part| part.offset).find(|&at| at >= self.machine.line_bytes) {
            return Err(format!("byte {offset} of a line of {}", self.machine.line_bytes));
        }
        at_most("transfers of a line by CPU", sum(line.by_cpu.iter().map(|part| part.transfers)), line.transfers)?;
        at_most("transfers of a line by site", sum(line.by_site.iter().map(|part| part.transfers)), line.transfers)?;
        at_most("transfers of a line by byte", sum(line.by_offset.iter().map(|part| part.transfers)), line.transfers)
    }
}

fn from_json<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Result<T, RawReportError> {
    // The parser does not report a cut within a number or word as the end of input. But what remains does not end like an object.
    let open = text.trim_ascii().first() == Some(&b'{') && text.trim_ascii().last() != Some(&b'}');
    serde_json::from_slice(text).map_err(|error| match error.is_eof() || open {
        true => RawReportError::CutOff,
        false => RawReportError::Unreadable(error.to_string()),
    })
}

/// A sum that never wraps: a report that claims more than 2⁶⁴ is refused.
fn sum(parts: impl Iterator<Item = u64>) -> u64 {
    parts.fold(0, u64::saturating_add)
}

fn at_most(what: &str, part: u64, whole: u64) -> Result<(), String> {
    if part <= whole { Ok(()) } else { Err(format!("{what}: {part}, more than the {whole} there are")) }
}

fn fits(what: &str, transfers: u64, true_sharing: u64, false_sharing: u64) -> Result<(), String> {
    if true_sharing.checked_add(false_sharing) == Some(transfers) {
        return Ok(());
    }
    Err(format!("{what}: {transfers} transfers, but {true_sharing} of true and {false_sharing} of false sharing"))
}

#[cfg(test)]
mod tests;
