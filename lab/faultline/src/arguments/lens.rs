//! Arguments of `faultline lens`.

use super::measuring::Mode;
use super::{Conduct, FormatArgument, commit, count, jobs, label, seed, size};
use crate::completing;
use clap::{Args, Subcommand};
use faultline_coherence::Caches;
use faultline_experiment::lens::{Module, USUAL_SEED, With};
use faultline_model::lens::budget::{Budget, BudgetError};
use faultline_model::subject::Commit;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// The help of `--limit`: its default differs from that of timed runs.
const LIMIT: &str =
    "Time limit of each execution, including a guest's boot; counts up to then are kept [default: 20 min]";

/// The default of `--cache`, as it is written.
const DEFAULT_CACHE: &str = "32768x16";

#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  faultline lens program -- ./server --selftest                 a program's hot lines, on 8 CPUs
  faultline lens kernel fault_existing:shared --cpus 1,2,8,32   a stock kernel's, on up to 32 CPUs
  faultline lens machine --kernel kernel.elf --ops 1000         any kernel's, between its marks
  faultline lens types 7 mm_struct                              which members of a type move, cache line by cache line
  faultline lens compare 7 8                                    which lines appeared and disappeared")]
pub(crate) enum Lens {
    /// Run a threaded program on an emulated machine and count its transfers
    Program(Box<Program>),
    /// Boot a kernel on emulated machines and count the transfers of Faultline's workloads
    Kernel(Box<Kernel>),
    /// Boot a system of any kind on emulated machines and count the transfers between its marks
    Machine(Box<Machine>),
    /// Show which lines and code appeared, disappeared or changed between two lens runs
    Compare(Compare),
    /// Show a run's transfers by type, and for hot types the layout with the transfers of each member
    Types(Types),
    /// Measure what a transfer between this machine's CPUs costs, for `--costs measured`
    Calibrate(Calibrate),
}

/// The machine that is modelled, but for its number of CPUs.
#[derive(Debug, Args)]
#[command(next_help_heading = "The modelled machine")]
pub(crate) struct Model {
    /// Number of sockets; CPUs are divided evenly among them
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) sockets: u32,

    /// CPUs that share a last-level cache [default: all of a socket]
    #[arg(long, value_name = "N")]
    pub(crate) cpus_per_cache: Option<u32>,

    /// Costs of transfers: the name of a table, or `measured` after `faultline lens calibrate`
    #[arg(long, value_name = "NAME", default_value = faultline_coherence::CostTable::DEFAULT)]
    pub(crate) costs: String,

    /// Predict rates: also model how long a CPU keeps a line, atomic operations, interrupts, waking and calls of the kernel. Counts are then of such a machine
    #[arg(long)]
    pub(crate) predict: bool,

    /// Size of each CPU's own cache, as LINESxWAYS: 16384x16 is 1 MiB, 16-way; or `unbounded`
    #[arg(long, value_name = "LINESxWAYS", value_parser = cache, default_value = DEFAULT_CACHE)]
    pub(crate) cache: Cache,

    /// How far a CPU may run ahead of the slowest after a transfer, in instructions; smaller is finer and slower [default: 5 for a program, 1000 for a kernel]
    #[arg(long, value_name = "N")]
    pub(crate) quantum: Option<u64>,

    /// The same for a thread without a recent transfer; only for programs [default: 200]
    #[arg(long, value_name = "N")]
    pub(crate) private_quantum: Option<u64>,

    /// The lens's plugin for QEMU [default: beside the command]
    #[arg(long, value_name = "FILE", env = "FAULTLINE_LENS_PLUGIN", hide_env_values = true)]
    pub(crate) plugin: Option<PathBuf>,
}

/// Size of each CPU's own cache.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Cache {
    Bounded(Caches),
    Unbounded,
}

impl Cache {
    /// None if it is unbounded.
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
    /// Exit with 1 if a figure exceeds a limit: 'fault_existing:shared<=1.5@8' (transfers per operation, at 8 CPUs or threads), or 'mm_struct<=2@8' (of a type); can be repeated
    #[arg(long = "budget", value_name = "BUDGET", value_parser = budget)]
    pub(crate) budgets: Vec<Budget>,

    /// Exit with 1 if there are more transfers per operation than in this run (number, label or commit)
    #[arg(long, value_name = "RUN", add = completing::run())]
    pub(crate) baseline: Option<String>,
}

/// How much is counted.
#[derive(Debug, Args)]
pub(crate) struct Counting {
    /// Repeats of each case at each number of CPUs
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = count, allow_negative_numbers = true)]
    pub(crate) repeats: u32,

    /// Seed of the first repeat's guests, and of the order; each further repeat uses the next number
    #[arg(long, value_name = "N", default_value_t = USUAL_SEED, value_parser = seed, allow_negative_numbers = true)]
    pub(crate) seed: u64,

    /// Guests that run at the same time, each on one CPU of this host; the counts do not depend on it [default: as many as there are CPUs that may be used, and memory]
    #[arg(long, value_name = "N", value_parser = jobs)]
    pub(crate) jobs: Option<NonZeroUsize>,

    /// Label for the run
    #[arg(long, value_name = "TEXT", value_parser = label)]
    pub(crate) label: Option<String>,

    /// Commit that the program or kernel was built from, at least 7 digits; `compare` finds the run by it
    #[arg(long, value_name = "COMMIT", value_parser = commit)]
    pub(crate) commit: Option<Commit>,
}

/// What programs and kernels under the lens take alike.
#[derive(Debug, Args)]
pub(crate) struct UnderLens {
    #[command(flatten)]
    pub(crate) counting: Counting,

    #[command(flatten)]
    pub(crate) conduct: Conduct,

    #[command(flatten)]
    pub(crate) model: Model,

    #[command(flatten)]
    pub(crate) gates: Gates,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  faultline lens program -- ./server --selftest
  faultline lens program --threads-from 1,2,8 --ops 10000 -- ./counters {threads} 10000
  faultline lens program --whole --sockets 2 --costs epyc-milan -- ./solver input
  faultline lens program --threads-from 8 --budget 'counters<=20@8' -- ./counters {threads} 10000
  faultline lens program --with conf/ --env MODE=fast -- ./run-server-and-clients.sh
The program runs in a guest, an emulated machine that boots the distribution's kernel. The guest has
the program's libraries and interpreters, and what `--with` adds. The program runs in the same
directory, may write everywhere, and has /tmp for scratch files.
All its processes and threads are counted, in user mode; `--kernel-too` also counts the kernel.
The lens counts what runs between the marks of workloads/harness/faultline_mark.h; without marks it counts everything.
The machine has a CPU for each thread, and one for the thread that starts them.
Names come from the program's files. Build them with `-g` to get source lines.")]
#[command(mut_arg("limit", |limit| limit.help(LIMIT)))]
pub(crate) struct Program {
    /// The program and its arguments; {threads} stands for the number of threads
    #[arg(value_name = "PROGRAM", required = true, last = true)]
    pub(crate) argv: Vec<String>,

    /// Numbers of threads [default: 1,2,4,8 if the arguments contain {threads}, otherwise one run with up to 8]
    #[arg(long, value_name = "N,N,…", value_delimiter = ',', value_parser = count, allow_negative_numbers = true)]
    pub(crate) threads_from: Option<Vec<u32>>,

    /// Operations that each thread does; figures are per operation [default: the whole run is one operation]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) ops: Option<u64>,

    /// Count the whole run and ignore region marks
    #[arg(long)]
    pub(crate) whole: bool,

    /// Count the kernel too, not only the program
    #[arg(long)]
    pub(crate) kernel_too: bool,

    #[command(flatten)]
    pub(crate) under: UnderLens,

    #[command(flatten)]
    pub(crate) guest: ProgramGuest,
}

/// The guest in which a program runs.
#[derive(Debug, Args)]
#[command(next_help_heading = "The guest")]
pub(crate) struct ProgramGuest {
    /// Add a file or directory; can be repeated. PATH=GUESTPATH puts it elsewhere in the guest
    #[arg(long, value_name = "PATH[=GUESTPATH]", value_parser = with)]
    pub(crate) with: Vec<With>,

    /// Set an environment variable of the program; can be repeated. It otherwise has PATH, HOME and TMPDIR
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable)]
    pub(crate) env: Vec<(String, String)>,

    /// Look for separate debug files here, then in /usr/lib/debug; can be repeated. They stay on the host
    #[arg(long, value_name = "DIR", value_parser = directory)]
    pub(crate) debug_dir: Vec<PathBuf>,

    /// The kernel's image [default: that of FAULTLINE_KERNEL, otherwise the newest in /boot, otherwise what `make kernel` unpacked]
    #[arg(long, value_name = "IMAGE")]
    pub(crate) kernel: Option<PathBuf>,

    /// Further kernel parameter; can be repeated
    #[arg(long, value_name = "PARAMETER")]
    pub(crate) append: Vec<String>,

    /// Memory of each machine in MiB [default: depends on the number of CPUs and on the files]
    #[arg(long, value_name = "MIB")]
    pub(crate) memory: Option<u64>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  faultline lens kernel zero_fill fault_existing:shared --cpus 1,2,4,8,16,32
  faultline lens kernel path_stat --cpus 16 --sockets 2 --costs xeon-ice-lake
  faultline lens kernel map_churn --kernel arch/x86/boot/bzImage --vmlinux vmlinux
  faultline lens kernel fault_existing:shared --cpus 8 --budget 'fault_existing:shared<=110@8'
  faultline lens kernel fault_existing --cpus 8 --baseline 12
  faultline lens kernel path_stat --cpus 8 --seed 7 --repeats 6    the seeds 7 to 12
Each execution boots a new guest. The default kernel is the distribution's.
A guest's random numbers come from its seed. Without `--seed`, two runs have the same seeds.
`faultline lens compare` compares seed by seed; six seeds or more tell what holds in general.")]
#[command(mut_arg("limit", |limit| limit.help(LIMIT)))]
pub(crate) struct Kernel {
    /// Workloads, as NAME or NAME:VARIANT
    #[arg(value_name = "WORKLOAD", required = true, add = completing::workload())]
    pub(crate) workloads_chosen: Vec<String>,

    /// Numbers of CPUs; each is a machine of its own
    #[arg(long, value_name = "N,N,…", value_delimiter = ',', default_value = "1,2,4,8", value_parser = count, allow_negative_numbers = true)]
    pub(crate) cpus: Vec<u32>,

    /// The kernel's image [default: that of FAULTLINE_KERNEL, otherwise the newest in /boot, otherwise what `make kernel` unpacked]
    #[arg(long, value_name = "IMAGE")]
    pub(crate) kernel: Option<PathBuf>,

    /// The same kernel as an ELF file with debugging information, for source lines and members
    #[arg(long, value_name = "FILE")]
    pub(crate) vmlinux: Option<PathBuf>,

    /// Further kernel parameter; can be repeated
    #[arg(long, value_name = "PARAMETER")]
    pub(crate) append: Vec<String>,

    /// Memory of each machine in MiB [default: depends on the number of CPUs]
    #[arg(long, value_name = "MIB")]
    pub(crate) memory: Option<u64>,

    /// Operations that each task does [default: depends on the workload; about ten to twenty million instructions]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) ops: Option<u64>,

    /// What tasks are, for workloads that can be either
    #[arg(long, value_enum, value_name = "MODE")]
    pub(crate) mode: Option<Mode>,

    /// Size parameter of the workloads (`faultline workloads` shows what it means for each)
    #[arg(long, value_name = "SIZE", value_parser = size, allow_hyphen_values = true)]
    pub(crate) size: Option<u64>,

    #[command(flatten)]
    pub(crate) under: UnderLens,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  faultline lens machine --kernel kernel.elf --symbols kernel.elf --ops 1000
  faultline lens machine --kernel gnumach --module 'task task $(task-create) $(task-resume)' --cpus 1,2 --ops 1000
The emulator starts the kernel itself: a Multiboot kernel (a 32-bit ELF file), one for PVH, or Linux.
The system runs the code that is counted. It marks the region of interest by the two instructions of
workloads/harness/faultline_mark.h, and the machine ends with the region.
Lines are told apart by physical address. Nothing is known of the system, except what `--symbols` names.
The first serial port is the console, of which the last lines are shown if the machine fails.")]
#[command(mut_arg("limit", |limit| limit.help(LIMIT)))]
pub(crate) struct Machine {
    /// The kernel, which the emulator starts, or a disk image, which boots with its own loader
    #[arg(long, value_name = "FILE", required = true)]
    pub(crate) kernel: PathBuf,

    /// A Multiboot module with its arguments, or Linux's initramfs; modules can be repeated
    #[arg(long, value_name = "FILE ARGUMENTS", value_parser = module)]
    pub(crate) module: Vec<Module>,

    /// Word of the kernel's command line; can be repeated
    #[arg(long, value_name = "PARAMETER")]
    pub(crate) append: Vec<String>,

    /// ELF file of the kernel or of a program in it, for names; can be repeated
    #[arg(long, value_name = "FILE")]
    pub(crate) symbols: Vec<PathBuf>,

    /// Numbers of CPUs; each is a machine of its own
    #[arg(long, value_name = "N,N,…", value_delimiter = ',', default_value = "1", value_parser = count, allow_negative_numbers = true)]
    pub(crate) cpus: Vec<u32>,

    /// Memory of each machine in MiB [default: depends on the number of CPUs]
    #[arg(long, value_name = "MIB")]
    pub(crate) memory: Option<u64>,

    /// Operations that the system does for each CPU in the region; figures are per operation
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) ops: u64,

    #[command(flatten)]
    pub(crate) under: UnderLens,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  faultline lens compare 7 8
  faultline lens compare 7 8 --format markdown
Kernels counted with the same seeds are compared seed by seed: each difference is exact for its seed.
Six seeds or more on both sides (`faultline lens kernel … --repeats 6`) tell whether totals differ in general.")]
pub(crate) struct Compare {
    /// The first run, by number, label or commit
    #[arg(value_name = "A", add = completing::run())]
    pub(crate) a: String,

    /// The second run
    #[arg(value_name = "B", add = completing::run())]
    pub(crate) b: String,

    #[command(flatten)]
    pub(crate) format: FormatArgument,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  faultline lens types 7                     all types, and the layouts of the hottest three
  faultline lens types 7 mm_struct zone      the layouts of these types
  faultline lens types 7 --cpus 2 --format json
A layout is that of pahole: members with their offsets, the boundaries of cache lines, holes and padding.
Objects that are members of others are found too: `zone` in `pglist_data`, `rw_semaphore` in `mm_struct`.")]
pub(crate) struct Types {
    /// A lens run, by number, label or commit
    #[arg(value_name = "RUN", add = completing::run())]
    pub(crate) run: String,

    /// Types whose layouts are shown [default: those with the most transfers]
    #[arg(value_name = "TYPE")]
    pub(crate) types: Vec<String>,

    /// The number of CPUs or threads [default: the greatest that has figures]
    #[arg(long, value_name = "N", value_parser = count, allow_negative_numbers = true)]
    pub(crate) cpus: Option<u32>,

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
        _ => Err("there is no such directory".to_owned()),
    }
}

fn module(text: &str) -> Result<Module, String> {
    let (file, arguments) = text.split_once(' ').unwrap_or((text, ""));
    match file {
        "" => Err("write it FILE, or FILE and its arguments with a space between them".to_owned()),
        file => Ok(Module { file: file.into(), arguments: arguments.to_owned() }),
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
    fn the_default_cache_is_the_model_s() {
        let Caches { lines, ways } = Caches::DEFAULT;
        assert_eq!(format!("{lines}x{ways}"), DEFAULT_CACHE);
        assert_eq!(cache(DEFAULT_CACHE).unwrap().bounds(), Some(Caches::DEFAULT));
        assert_eq!(cache("unbounded").unwrap().bounds(), None);
    }
}
