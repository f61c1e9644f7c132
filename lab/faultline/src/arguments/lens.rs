//! Arguments of `faultline lens`.

use super::measure::Mode;
use super::values::{
    MOST_OPERATIONS, commit, from_to, jobs, label, positive_duration, repeats, run_candidates, seed, size, task_count,
    workload_candidates,
};
use super::{Conduct, FormatArgument};
use clap::{Args, Subcommand};
use faultline_coherence::{Caches, Topology};
use faultline_experiment::lens::{Module, Symbols, USUAL_SEED, With};
use faultline_record::lens::budget::{Budget, BudgetError};
use faultline_record::lens::settings;
use faultline_record::subject::Commit;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Help of `--limit`, whose default differs from that of timed runs.
const LIMIT: &str = "Time limit of each execution with the guest's boot; counts up to then are kept [default: 20 min]";

/// Default of `--cache` as text.
const DEFAULT_CACHE: &str = "32768x16";

#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  faultline lens program -- ./server --selftest                  a program's hot lines, on 8 CPUs
  faultline lens kernel fault_existing:shared --tasks 1,2,8,32   a stock kernel's, on up to 32 CPUs
  faultline lens machine --kernel kernel.elf --ops 1000          any kernel's, between its marks
  faultline lens types 7 mm_struct                               transfers of each member of a type
  faultline lens compare 7 8                                     lines that appeared and disappeared")]
pub(crate) enum Lens {
    /// Count the transfers of a program with threads or processes
    Program(Box<Program>),
    /// Count the transfers of a kernel under Faultline's workloads
    Kernel(Box<Kernel>),
    /// Count the transfers of any bootable system between its marks
    Machine(Box<Machine>),
    /// Show lines and code that appeared, disappeared or changed between two runs
    Compare(Compare),
    /// Show a run's transfers by type, and by member of hot types
    Types(Types),
    /// Measure the cost of a transfer between this machine's CPUs, for `--costs measured`
    Calibrate(Calibrate),
}

/// Maximum lead of a CPU.
const MOST_QUANTUM: u64 = 1 << 40;

/// Maximum memory of a machine: 4 TiB.
const MOST_MEMORY_MIB: u64 = 1 << 22;

/// The modelled machine, except for its number of CPUs.
#[derive(Debug, Args)]
#[command(next_help_heading = "Modelled machine")]
pub(crate) struct Model {
    /// Number of sockets; CPUs are divided evenly among them
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = from_to(1, Topology::MOST_SOCKETS))]
    pub(crate) sockets: u32,

    /// CPUs that share a last-level cache [default: all of a socket]
    #[arg(long, value_name = "N", hide_short_help = true, value_parser = task_count)]
    pub(crate) cpus_per_cache: Option<u32>,

    /// Cost table of transfers, or `measured` after `faultline lens calibrate`
    #[arg(long, value_name = "NAME", default_value = faultline_coherence::CostTable::DEFAULT)]
    pub(crate) costs: String,

    /// Predict rates. Counts then include the effects of the modelled timing
    ///
    /// Also models how long a CPU keeps a line, atomic operations, interrupts, wake-ups and system
    /// calls.
    #[arg(long)]
    pub(crate) predict: bool,

    /// Size of each CPU's private cache, as LINESxWAYS: 16384x16 is 1 MiB, 16-way; or `unbounded`
    #[arg(long, value_name = "LINESxWAYS", hide_short_help = true, value_parser = cache, default_value = DEFAULT_CACHE)]
    pub(crate) cache: Cache,

    /// Maximum lead of a CPU over the slowest after a transfer, in instructions; smaller is finer
    /// and slower [default: 5 for a program, 1000 for a kernel]
    #[arg(long, value_name = "N", hide_short_help = true, value_parser = from_to(1, MOST_QUANTUM))]
    pub(crate) quantum: Option<u64>,

    /// Maximum lead of a thread without a recent transfer; only for programs [default: 200]
    #[arg(long, value_name = "N", hide_short_help = true, value_parser = from_to(1, MOST_QUANTUM))]
    pub(crate) private_quantum: Option<u64>,

    /// Lens plugin for QEMU [default: beside the command]
    #[arg(long, value_name = "FILE", hide_short_help = true, env = "FAULTLINE_LENS_PLUGIN", hide_env_values = true)]
    pub(crate) plugin: Option<PathBuf>,
}

/// Size of each CPU's private cache.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Cache {
    Bounded(Caches),
    Unbounded,
}

impl Cache {
    /// The size; `None` if it is unbounded.
    pub(crate) fn bounds(self) -> Option<Caches> {
        match self {
            Cache::Bounded(caches) => Some(caches),
            Cache::Unbounded => None,
        }
    }
}

/// Limits that make the command fail.
#[derive(Debug, Args)]
#[command(next_help_heading = "Gates")]
pub(crate) struct Gates {
    /// Limit of transfers per operation: 'fault_existing:shared<=1.5@8' at 8 tasks,
    /// 'mm_struct<=2@8' for a type, 'var:pool<=1@8' for a variable; repeatable. Exit status 1 above
    /// it
    #[arg(long = "budget", value_name = "BUDGET", value_parser = budget)]
    pub(crate) budgets: Vec<Budget>,

    /// Run (number, label or commit) whose transfers per operation are the limit. Exit status 1
    /// above it
    #[arg(long, value_name = "RUN", add = run_candidates())]
    pub(crate) baseline: Option<String>,
}

/// Amount and identity of counts.
#[derive(Debug, Args)]
#[command(next_help_heading = "Measurement")]
pub(crate) struct Counting {
    /// Repeats of each case at each number of tasks
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = repeats)]
    pub(crate) repeats: u32,

    /// Seed of the first repeat's guests, and of the order; further repeats use the next numbers
    #[arg(long, value_name = "N", default_value_t = USUAL_SEED, value_parser = seed)]
    pub(crate) seed: u64,

    /// Guests that run at the same time, each on one CPU of this host; counts do not depend on it
    /// [default: as CPUs and memory allow]
    #[arg(long, value_name = "N", hide_short_help = true, value_parser = jobs)]
    pub(crate) jobs: Option<NonZeroUsize>,

    /// Label for the run
    #[arg(long, value_name = "TEXT", value_parser = label, hide_short_help = true)]
    pub(crate) label: Option<String>,

    /// Commit that the program or kernel was built from, at least 7 digits; `compare` finds the run
    /// by it
    #[arg(long, value_name = "COMMIT", hide_short_help = true, value_parser = commit)]
    pub(crate) commit: Option<Commit>,
}

/// Options shared by programs, kernels and machines.
#[derive(Debug, Args)]
pub(crate) struct UnderLens {
    #[command(flatten)]
    pub(crate) counting: Counting,

    #[command(flatten)]
    pub(crate) model: Model,

    #[command(flatten)]
    pub(crate) gates: Gates,

    #[command(flatten)]
    pub(crate) conduct: Conduct,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  faultline lens program -- ./server --selftest
  faultline lens program --tasks 1,2,8 --ops 10000 -- ./counters {tasks} 10000
  faultline lens program --whole --sockets 2 --costs epyc-milan -- ./solver input
  faultline lens program --tasks 8 --budget 'counters<=20@8' -- ./counters {tasks} 10000
  faultline lens program --with conf/ --process server --after 2s -- ./run-server-and-clients.sh
The program runs in a guest, an emulated machine that boots the distribution's kernel, with a CPU for each task and one
more for the thread that starts them. The guest has the program's libraries and interpreters, the files among its arguments,
and what `--with` adds. The program may write everywhere, and has /tmp for scratch files.
All its processes and threads are counted in user mode; `--kernel-too` also counts the kernel. Counts cover the region
between the marks of workloads/harness/faultline_mark.h; without marks, the whole run. Build with `-g` for source lines.")]
#[command(mut_arg("limit", |limit| limit.help(LIMIT)))]
pub(crate) struct Program {
    /// Program and arguments; {tasks} stands for the number of tasks
    #[arg(value_name = "PROGRAM", required = true, last = true)]
    pub(crate) argv: Vec<String>,

    /// Numbers of tasks (threads or processes of the program) [default: 1,2,4,8 with {tasks} in the
    /// arguments, otherwise up to 8]
    #[arg(long, value_name = "N,N,…", value_delimiter = ',', value_parser = task_count)]
    pub(crate) tasks: Option<Vec<u32>>,

    /// Operations of each task, by which counts are divided; not passed to the program [default:
    /// the whole run is one operation]
    #[arg(long, value_name = "N", value_parser = from_to(1, MOST_OPERATIONS))]
    pub(crate) ops: Option<u64>,

    /// Count the whole run and ignore region marks
    #[arg(long)]
    pub(crate) whole: bool,

    /// Count the kernel too, not only the program
    #[arg(long)]
    pub(crate) kernel_too: bool,

    /// Count only processes that run the program file NAME, not those that start or use them
    #[arg(long, value_name = "NAME")]
    pub(crate) process: Option<String>,

    #[command(flatten)]
    pub(crate) bounds: Bounds,

    #[command(flatten)]
    pub(crate) guest: ProgramGuest,

    #[command(flatten)]
    pub(crate) under: UnderLens,
}

/// Bounds of the counted region of a program.
#[derive(Debug, Args)]
#[command(next_help_heading = "Region")]
pub(crate) struct Bounds {
    /// Count from each call of a function on, and ignore marks: `pthread_create` for the first
    /// thread's creation
    #[arg(long, value_name = "FUNCTION", conflicts_with_all = ["whole", "after"])]
    pub(crate) from: Option<String>,

    /// Count up to the next call of a function
    #[arg(long, value_name = "FUNCTION", conflicts_with = "whole")]
    pub(crate) to: Option<String>,

    /// Count from that time of the guest on, after the program's start: 2s
    #[arg(long, value_name = "TIME", value_parser = positive_duration, conflicts_with = "whole")]
    pub(crate) after: Option<Duration>,
}

impl Bounds {
    /// The bounds as saved.
    pub(crate) fn bounds(&self) -> settings::Bounds {
        let milliseconds = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        settings::Bounds { from: self.from.clone(), to: self.to.clone(), after_ms: self.after.map(milliseconds) }
    }
}

/// The guest in which a program runs.
#[derive(Debug, Args)]
#[command(next_help_heading = "Guest")]
pub(crate) struct ProgramGuest {
    /// File or directory to add; repeatable. PATH=GUESTPATH puts it elsewhere in the guest
    #[arg(long, value_name = "PATH[=GUESTPATH]", value_parser = with)]
    pub(crate) with: Vec<With>,

    /// Environment variable of the program; repeatable. PATH, HOME and TMPDIR are always set
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable)]
    pub(crate) env: Vec<(String, String)>,

    /// Directory of separate debug files, searched before /usr/lib/debug; repeatable. They stay on
    /// the host
    #[arg(long, value_name = "DIR", hide_short_help = true, value_parser = directory)]
    pub(crate) debug_dir: Vec<PathBuf>,

    /// Kernel image [default: FAULTLINE_KERNEL, otherwise the newest in /boot, otherwise from `make
    /// kernel`]
    #[arg(long, value_name = "IMAGE")]
    pub(crate) kernel: Option<PathBuf>,

    /// Further kernel parameter; repeatable
    #[arg(long, value_name = "PARAMETER", hide_short_help = true)]
    pub(crate) append: Vec<String>,

    /// Memory of each machine in MiB [default: by number of CPUs and size of files]
    #[arg(long, value_name = "MIB", hide_short_help = true, value_parser = from_to(1, MOST_MEMORY_MIB))]
    pub(crate) memory: Option<u64>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  faultline lens kernel zero_fill fault_existing:shared --tasks 1,2,4,8,16,32
  faultline lens kernel path_stat --tasks 16 --sockets 2 --costs xeon-ice-lake
  faultline lens kernel map_churn --kernel arch/x86/boot/bzImage --vmlinux vmlinux
  faultline lens kernel fault_existing:shared --tasks 8 --budget 'fault_existing:shared<=110@8'
  faultline lens kernel fault_existing --tasks 8 --baseline 12
  faultline lens kernel path_stat --tasks 8 --seed 7 --repeats 6    seeds 7 to 12
Each execution boots a new guest. The default kernel is the distribution's. A guest's random numbers come from its seed; two
runs without `--seed` have the same seeds. `faultline lens compare` compares seed by seed; six seeds or more show whether a
difference is general.")]
#[command(mut_arg("limit", |limit| limit.help(LIMIT)))]
pub(crate) struct Kernel {
    /// Workloads, as NAME or NAME:VARIANT
    #[arg(value_name = "WORKLOAD", required = true, add = workload_candidates())]
    pub(crate) workloads_chosen: Vec<String>,

    /// Numbers of tasks, each on a machine with a CPU for each task
    #[arg(long, value_name = "N,N,…", value_delimiter = ',', default_value = "1,2,4,8", value_parser = task_count)]
    pub(crate) tasks: Vec<u32>,

    /// Kernel image [default: FAULTLINE_KERNEL, otherwise the newest in /boot, otherwise from `make
    /// kernel`]
    #[arg(long, value_name = "IMAGE")]
    pub(crate) kernel: Option<PathBuf>,

    /// ELF file of the same kernel with debugging information, for source lines and members
    #[arg(long, value_name = "FILE")]
    pub(crate) vmlinux: Option<PathBuf>,

    /// Further kernel parameter; repeatable
    #[arg(long, value_name = "PARAMETER", hide_short_help = true)]
    pub(crate) append: Vec<String>,

    /// Memory of each machine in MiB [default: by number of CPUs]
    #[arg(long, value_name = "MIB", hide_short_help = true, value_parser = from_to(1, MOST_MEMORY_MIB))]
    pub(crate) memory: Option<u64>,

    /// Operations of each task [default: the workload's; about ten to twenty million instructions]
    #[arg(long, value_name = "N", value_parser = from_to(1, MOST_OPERATIONS))]
    pub(crate) ops: Option<u64>,

    /// Kind of task, for workloads that support both
    #[arg(long, value_enum, value_name = "MODE")]
    pub(crate) mode: Option<Mode>,

    /// Size parameter of the workloads (`faultline run --list` shows its meaning)
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) size: Option<u64>,

    #[command(flatten)]
    pub(crate) under: UnderLens,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  faultline lens machine --kernel kernel.elf --symbols kernel.elf --ops 1000
  faultline lens machine --kernel gnumach --module 'task task $(task-create) $(task-resume)'
The emulator starts the kernel itself: a Multiboot kernel (a 32-bit ELF file), one for PVH, or Linux. The system runs the code
to count and marks the region of interest with the two instructions of workloads/harness/faultline_mark.h. The machine ends
with the region. Lines are identified by physical address, and names come from `--symbols` only. The first serial port is the
console; its last lines are shown if the machine fails.")]
#[command(mut_arg("limit", |limit| limit.help(LIMIT)))]
pub(crate) struct Machine {
    /// Kernel that the emulator starts, or a disk image that boots with its own loader
    #[arg(long, value_name = "FILE", required = true)]
    pub(crate) kernel: PathBuf,

    /// Multiboot module with its arguments, or Linux's initramfs; modules are repeatable
    #[arg(long, value_name = "FILE ARGUMENTS", value_parser = module)]
    pub(crate) module: Vec<Module>,

    /// Word of the kernel's command line; repeatable
    #[arg(long, value_name = "PARAMETER")]
    pub(crate) append: Vec<String>,

    /// ELF file of the kernel or of a program in it, for names; OFFSET if relocated; repeatable
    #[arg(long, value_name = "FILE+OFFSET", value_parser = symbols)]
    pub(crate) symbols: Vec<Symbols>,

    /// Numbers of tasks, one on each CPU: each number is a machine with so many CPUs
    #[arg(long, value_name = "N,N,…", value_delimiter = ',', default_value = "1", value_parser = task_count)]
    pub(crate) tasks: Vec<u32>,

    /// Memory of each machine in MiB [default: by number of CPUs]
    #[arg(long, value_name = "MIB", hide_short_help = true, value_parser = from_to(1, MOST_MEMORY_MIB))]
    pub(crate) memory: Option<u64>,

    /// Operations of each CPU in the region; figures are per operation
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = from_to(1, MOST_OPERATIONS))]
    pub(crate) ops: u64,

    #[command(flatten)]
    pub(crate) under: UnderLens,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  faultline lens compare 7 8
  faultline lens compare 7 8 --format markdown
Kernels counted with the same seeds are compared seed by seed: each difference is exact for its seed. Six seeds or more on
both sides (`faultline lens kernel … --repeats 6`) show whether totals differ in general.")]
pub(crate) struct Compare {
    /// First run, by number, label or commit
    #[arg(value_name = "A", add = run_candidates())]
    pub(crate) a: String,

    /// Second run
    #[arg(value_name = "B", add = run_candidates())]
    pub(crate) b: String,

    #[command(flatten)]
    pub(crate) format: FormatArgument,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  faultline lens types 7                     the hottest types, in at most 100 lines
  faultline lens types 7 --all               more types, and the layouts of the hottest three
  faultline lens types 7 mm_struct zone      the layouts of these types
  faultline lens types 7 --tasks 2 --format json
Layouts are those of pahole: members with offsets, boundaries of cache lines, holes and padding. Types within others are found
too: `zone` in `pglist_data`, `rw_semaphore` in `mm_struct`.")]
pub(crate) struct Types {
    /// Lens run, by number, label or commit
    #[arg(value_name = "RUN", add = run_candidates())]
    pub(crate) run: String,

    /// Types whose layouts to show [default: those with the most transfers]
    #[arg(value_name = "TYPE")]
    pub(crate) types: Vec<String>,

    /// Number of tasks [default: the greatest that has figures]
    #[arg(long, value_name = "N", value_parser = task_count)]
    pub(crate) tasks: Option<u32>,

    /// Show all details, however long
    #[arg(long)]
    pub(crate) all: bool,

    #[command(flatten)]
    pub(crate) format: FormatArgument,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  faultline lens calibrate                 measure every pair of CPUs and save the costs
  faultline lens program --costs measured -- ./server --selftest")]
pub(crate) struct Calibrate {
    /// Show the costs without saving them
    #[arg(long)]
    pub(crate) dry_run: bool,

    #[command(flatten)]
    pub(crate) format: FormatArgument,
}

fn budget(text: &str) -> Result<Budget, String> {
    text.parse().map_err(|error: BudgetError| format!("{error}; it is written {}", BudgetError::HINT))
}

pub(super) fn with(text: &str) -> Result<With, String> {
    let (source, place) = match text.split_once('=') {
        Some((source, place)) => (source, Some(PathBuf::from(place))),
        None => (text, None),
    };
    if source.is_empty() || place.as_ref().is_some_and(|place| !place.is_absolute()) {
        return Err("write it PATH, or PATH=GUESTPATH with an absolute path in the guest".to_owned());
    }
    Ok(With { source: source.into(), place })
}

fn directory(text: &str) -> Result<PathBuf, String> {
    match std::path::absolute(text) {
        Ok(path) if path.is_dir() => Ok(path),
        _ => Err("no such directory".to_owned()),
    }
}

fn module(text: &str) -> Result<Module, String> {
    let (file, arguments) = text.split_once(' ').unwrap_or((text, ""));
    match file {
        "" => Err("write it FILE, or FILE and its arguments with a space between them".to_owned()),
        file => Ok(Module { file: file.into(), arguments: arguments.to_owned() }),
    }
}

/// A file, or a file and a hexadecimal offset, unless a file has that whole name.
fn symbols(text: &str) -> Result<Symbols, String> {
    let whole = || Symbols { file: text.into(), offset: 0 };
    match text.rsplit_once('+') {
        Some((file, offset)) if !file.is_empty() && !Path::new(text).exists() => {
            let digits = offset.strip_prefix("0x").unwrap_or(offset);
            let offset = u64::from_str_radix(digits, 16);
            let offset = offset.map_err(|_| "write it FILE, or FILE+OFFSET with a hexadecimal offset".to_owned())?;
            Ok(Symbols { file: file.into(), offset })
        }
        _ => Ok(whole()),
    }
}

pub(super) fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write it NAME=VALUE".to_owned()),
    }
}

fn cache(text: &str) -> Result<Cache, String> {
    let wrong = || "not LINESxWAYS; write it like 16384x16, or `unbounded`".to_owned();
    if text == "unbounded" {
        return Ok(Cache::Unbounded);
    }
    let (lines, ways) = text.split_once('x').ok_or_else(wrong)?;
    let number = |text: &str| text.trim().parse::<u32>().map_err(|_| wrong());
    Ok(Cache::Bounded(Caches { lines: number(lines)?, ways: number(ways)? }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offset_follows_a_files_name() {
        let of = |text: &str| symbols(text).map(|Symbols { file, offset }| (file.to_str().unwrap().to_owned(), offset));
        assert_eq!(of("kernel.elf"), Ok(("kernel.elf".to_owned(), 0)));
        assert_eq!(of("kernel.elf+0x200000"), Ok(("kernel.elf".to_owned(), 0x20_0000)));
        assert_eq!(of("a+b+fff"), Ok(("a+b".to_owned(), 0xfff)));
        assert!(of("kernel.elf+x").unwrap_err().contains("hexadecimal"));
        let directory = tempfile::tempdir().unwrap();
        let existing = directory.path().join("libstdc+10").to_str().unwrap().to_owned();
        std::fs::write(&existing, "").unwrap();
        assert_eq!(of(&existing), Ok((existing.clone(), 0)), "a file has that name");
    }

    #[test]
    fn the_default_cache_is_the_models() {
        let Caches { lines, ways } = Caches::DEFAULT;
        assert_eq!(format!("{lines}x{ways}"), DEFAULT_CACHE);
        assert_eq!(cache(DEFAULT_CACHE).unwrap().bounds(), Some(Caches::DEFAULT));
        assert_eq!(cache("unbounded").unwrap().bounds(), None);
    }
}
