//! The command's arguments. Completions and man pages come from these definitions too.

pub(crate) mod bisect;
pub(crate) mod building;
pub(crate) mod compare;
pub(crate) mod exchange;
pub(crate) mod history;
pub(crate) mod lens;
pub(crate) mod measuring;
pub(crate) mod serve;
pub(crate) mod try_patches;

use crate::completing;
use clap::builder::PossibleValuesParser;
use clap::builder::TypedValueParser;
use clap::{Args, Parser, Subcommand, ValueEnum};
use faultline_model::machine::Machine;
use faultline_model::role::Role;
use faultline_model::subject::Commit;
use faultline_report::Format;
use measuring::Measuring;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

/// Measures how a system scales over CPUs: does it scale, why not, and since which commit?
#[derive(Debug, Parser)]
#[command(
    name = "faultline",
    version,
    max_term_width = 100,
    after_help = "\
Examples:
  faultline run                           the quick suite on this machine, about two minutes
  faultline run zero_fill path_stat:deep  chosen workloads, all variants or one
  faultline list                          the runs so far
  faultline show 3 --format markdown      a run's table
  faultline compare --a '' --b 'sysctl.vm.overcommit_memory=2' fork_exit   does a setting matter?
  faultline lens kernel fault_existing --cpus 1,8   the same loops, counted in cache-line transfers
  faultline report 3 -o run3.html         a run as a page that opens offline
  faultline serve                         histories and runs as pages, at http://127.0.0.1:8710"
)]
pub(crate) struct Arguments {
    /// Database: a file, or a PostgreSQL server's as postgres://USER@HOST/DATABASE [default: faultline/faultline.sqlite in the user's data directory]
    #[arg(
        long,
        global = true,
        display_order = 998,
        value_name = "FILE|URL",
        env = "FAULTLINE_DB",
        hide_env_values = true
    )]
    pub(crate) db: Option<PathBuf>,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure this machine: run a suite or chosen workloads over numbers of CPUs
    Run(Box<Run>),
    /// Resume a run that was stopped or killed
    Resume(Resume),
    /// Count cache-line transfers between CPUs: why does it not scale?
    #[command(subcommand)]
    Lens(lens::Lens),
    /// List the runs
    List(List),
    /// Show a run's figures
    Show(Show),
    /// Compare two sides, live or stored, and say whether they differ
    Compare(Box<compare::Compare>),
    /// Find the commits that changed a program's time, its instructions or its transfers
    Bisect(Box<bisect::Bisect>),
    /// Try patches: does a program become faster or slower by them?
    Try(Box<try_patches::Try>),
    /// Measure a program over the commits of its repository: results, and the steps between them
    #[command(subcommand)]
    History(history::History),
    /// Write an example of faultline.toml, which declares what `history` measures
    Init(history::Init),
    /// Check whether this machine is fit to measure on
    Check(compare::Check),
    /// Find steps in series of results over commits, with a stated false-positive rate
    Changes(exchange::Changes),
    /// Import other tools' results into the database, or list what was imported
    Import(exchange::Import),
    /// Write a run, or imported results, in another tool's format
    Export(exchange::Export),
    /// Write a run as one self-contained page
    Report(Report),
    /// Serve pages of histories and runs, and a JSON API, to a browser
    Serve(serve::Serve),
    /// Write the pages of histories and runs as files, which open without a server
    ExportSite(serve::ExportSite),
    /// Delete runs
    Delete(Delete),
    /// Copy a whole database, from or to a PostgreSQL server too
    #[command(subcommand)]
    Store(StoreCommand),
    /// List the workloads and their variants
    Workloads(Workloads),
    /// Show the facts about this machine or a guest, or those saved with a run
    Facts(Facts),
    /// Show the literature's figures, with improvements recomputed from their raw values
    Published(Published),
    /// Print a shell's completion script
    Completions(Completions),
    /// Write man pages
    Man(Man),
}

/// Format of a table.
#[derive(Debug, Args)]
pub(crate) struct FormatArgument {
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "table", value_parser = format_parser())]
    pub(crate) format: Format,
}

fn format_parser() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(Format::ALL.map(Format::name)).try_map(|name| name.parse::<Format>())
}

/// Where the workloads' programs are.
#[derive(Debug, Args)]
pub(crate) struct WorkloadsPlace {
    /// Directory of the workloads' programs [default: beside the command]
    #[arg(long, value_name = "DIR", env = "FAULTLINE_WORKLOADS", hide_env_values = true)]
    pub(crate) workloads: Option<PathBuf>,

    /// Directory of the guest's parts: the agent and the statically linked workloads [default: beside the command]
    #[arg(long, value_name = "DIR", env = "FAULTLINE_GUEST", hide_env_values = true)]
    pub(crate) guest: Option<PathBuf>,

    /// QEMU's program for guests, qemu-system-x86_64 [default: beside the command, otherwise in PATH]
    #[arg(long, value_name = "FILE", env = "FAULTLINE_QEMU", hide_env_values = true)]
    pub(crate) qemu: Option<PathBuf>,
}

/// On which machine.
#[derive(Debug, Args)]
pub(crate) struct OnMachine {
    /// The machine: host, a guest as qemu:KEY=VALUE,…, another host as ssh:USER@HOST, netns, a network namespace of this host, a disk image as image:FILE, or gvisor [default: host]
    ///
    /// A guest is an emulated machine that boots anew for each execution. Its rates are the emulator's, not those of any hardware. Keys: cpus=N; sockets=N, each a NUMA node; memory=2G; kernel=FILE, by default that of FAULTLINE_KERNEL, otherwise the newest in /boot, otherwise what `make kernel` unpacked; append=PARAMETER for the kernel, may be repeated; boot_limit=90s; accel=kvm to use the host's own CPUs. A comma in a value is written twice.
    ///
    /// Network namespaces are made for each execution, one for each of its ends, and removed after it: with `--partner` a link from each to the next, and forwarding in the middle. They need root.
    ///
    /// Another host is measured over SSH, with OpenSSH's client, keys and known hosts: ssh:[USER@]HOST[:PORT]. Keys: identity=FILE, a private key; config=FILE for the client; scratch=DIR, a directory of the host.
    ///
    /// A disk image boots in QEMU with its own loader, and is reached over SSH; nothing is written to it: image:FILE. Keys: cpus, sockets, memory and accel as of a guest; boot_limit=5m; boot=each to boot for each execution; devices=old for IDE disks and an e1000 card; login=serial to log in at the serial console, with password=FILE if it asks for one; user=root; identity and config, for SSH, and scratch as of a host.
    ///
    /// gVisor, a kernel in a process, starts for each execution: gvisor. Keys: runsc=FILE, its program; platform=NAME.
    #[arg(long, value_name = "MACHINE", value_parser = str::parse::<Machine>)]
    pub(crate) on: Option<Machine>,
}

/// How a run is shown while it is under way, and where it works.
#[derive(Debug, Args)]
pub(crate) struct Conduct {
    #[command(flatten)]
    pub(crate) place: WorkloadsPlace,

    /// Directory for scratch files [default: the system's directory for temporary files]
    #[arg(long, value_name = "DIR")]
    pub(crate) scratch: Option<PathBuf>,

    /// Time limit of each execution [default: three times its planned time plus 30 s; 30 min for builds]
    #[arg(long, value_name = "DURATION", value_parser = positive_duration, allow_hyphen_values = true)]
    pub(crate) limit: Option<Duration>,

    /// Show no progress, only the table
    #[arg(short, long)]
    pub(crate) quiet: bool,

    /// Also write the HTML page to this file
    #[arg(short, long, value_name = "FILE.html")]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) format: FormatArgument,
}

impl Conduct {
    /// The time limit in milliseconds.
    pub(crate) fn limit_ms(&self) -> Option<u64> {
        self.limit.map(|limit| u64::try_from(limit.as_millis()).unwrap_or(u64::MAX))
    }
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  faultline run                                 quick suite, numbers of CPUs by powers of two
  faultline run --suite full --time 1h          every variant, as many repeats as fit in an hour
  faultline run zero_fill --cpus 1,2 --repeats 20
  faultline run fault_existing:shared --mode thread --window 2s
  faultline run tree_build --tree ~/src/app --command 'make -j{jobs}' --copies 2 --cpus 1,2
  faultline run zero_fill --on qemu:cpus=8      in an emulated machine, with this system's kernel
  faultline run path_stat --on qemu:cpus=4,kernel=arch/x86/boot/bzImage --cpus 1,4
  faultline run udp_stream tcp_rr --on netns --partner receiver=netns
  faultline run relay --on netns --partner receiver=netns --partner forwarder=netns   with a router between both
Each sample is saved at once. Ctrl-C ends cleanly; `faultline resume` continues.")]
pub(crate) struct Run {
    /// Workloads, as NAME or NAME:VARIANT [default: the whole suite]
    #[arg(value_name = "WORKLOAD", add = completing::workload())]
    pub(crate) workloads_chosen: Vec<String>,

    #[command(flatten)]
    pub(crate) measuring: Measuring,

    /// Source tree to build, with --command
    #[arg(long, value_name = "DIR", requires = "command")]
    pub(crate) tree: Option<PathBuf>,

    /// Command that builds it; {jobs} stands for the number of tasks. Split into words like a shell does, but run without a shell
    #[arg(long, value_name = "COMMAND", requires = "tree")]
    pub(crate) command: Option<String>,

    /// Copies of the tree built at once
    #[arg(long, value_name = "K", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) copies: u32,

    /// Label for the run
    #[arg(long, value_name = "TEXT", value_parser = label)]
    pub(crate) label: Option<String>,

    /// Commit that the measured system was built from, at least 7 digits; `compare` finds the run by it
    #[arg(long, value_name = "COMMIT", value_parser = commit)]
    pub(crate) commit: Option<Commit>,

    #[command(flatten)]
    pub(crate) machine: OnMachine,

    /// Install this file on the host over SSH that --on names, reboot it, and wait for it, before anything is measured. `[host.NAME]` in faultline.toml says how
    #[arg(long, value_name = "FILE", requires = "on")]
    pub(crate) install: Option<PathBuf>,

    /// Release of the kernel that must boot then (`uname -r`)
    #[arg(long, value_name = "RELEASE", requires = "install")]
    pub(crate) release: Option<String>,

    /// Machine of a partner, written as for --on: receiver=netns. Repeat for each role that a workload needs, or that is to have an end of its own: workloads of the network have a receiver and a forwarder
    #[arg(long = "partner", value_name = "ROLE=MACHINE", value_parser = partner)]
    pub(crate) partners: Vec<(Role, Machine)>,

    #[command(flatten)]
    pub(crate) conduct: Conduct,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  faultline resume        continue the newest unfinished run
  faultline resume 3      continue run 3
The --time of a run starts anew with each session; that of a comparison is the total over all sessions.")]
pub(crate) struct Resume {
    /// The run, by number, label or commit [default: the newest unfinished]
    #[arg(value_name = "RUN", add = completing::run())]
    pub(crate) run: Option<String>,

    /// For a run under the lens: guests that run at the same time [default: as many as there are CPUs that may be used, and memory]
    #[arg(long, value_name = "N", value_parser = jobs)]
    pub(crate) jobs: Option<NonZeroUsize>,

    #[command(flatten)]
    pub(crate) conduct: Conduct,
}

#[derive(Debug, Args)]
pub(crate) struct List {
    #[command(flatten)]
    pub(crate) format: FormatArgument,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  faultline show                     the newest run
  faultline show 3 --format csv      raw numbers of run 3
  faultline show nightly             the newest run with that label
  faultline show 7 --format folded   callers in a lens run, for flame graphs")]
pub(crate) struct Show {
    /// The run, by number, label or commit [default: the newest]
    #[arg(value_name = "RUN", add = completing::run())]
    pub(crate) run: Option<String>,

    /// Output format; folded: the stacks of a lens run, one line each
    #[arg(long, value_name = "FORMAT", default_value = "table", value_parser = shown_parser())]
    pub(crate) format: Shown,
}

/// How a run is shown.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shown {
    Table(Format),
    Folded,
}

/// The word for folded stacks.
const FOLDED: &str = "folded";

fn shown_parser() -> impl TypedValueParser<Value = Shown> {
    let words = Format::ALL.map(Format::name).into_iter().chain([FOLDED]);
    PossibleValuesParser::new(words).try_map(|name| match name.as_str() {
        FOLDED => Ok(Shown::Folded),
        name => name.parse::<Format>().map(Shown::Table),
    })
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  faultline report -o page.html      the newest run
  faultline report 3 -o run3.html    run 3; the page opens offline, with plots and all data")]
pub(crate) struct Report {
    /// The run, by number, label or commit [default: the newest]
    #[arg(value_name = "RUN", add = completing::run())]
    pub(crate) run: Option<String>,

    /// File to write
    #[arg(short, long, value_name = "FILE.html")]
    pub(crate) output: PathBuf,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  faultline delete 3 4           show both runs, then ask
  faultline delete trial --yes   delete the run with that label without asking
Deletes the run with all its samples. Its number is not used again. The file keeps its size; new runs use the space.")]
pub(crate) struct Delete {
    /// Runs, by number, label or commit
    #[arg(value_name = "RUN", required = true, add = completing::run())]
    pub(crate) runs: Vec<String>,

    /// Do not ask
    #[arg(short, long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum StoreCommand {
    /// Copy a database with all runs and imports into an empty one
    Copy(StoreCopy),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  faultline store copy runs.sqlite postgres://ada@db.example/faultline   take a file to the team's server
  faultline store copy postgres://ada@db.example/faultline backup.sqlite
The copy has the same runs with the same numbers. It is complete, or nothing is copied. --db is not used.
A password belongs into PGPASSWORD or ~/.pgpass, because others can read command lines.")]
pub(crate) struct StoreCopy {
    /// Database to copy: a file, or a PostgreSQL server's as postgres://USER@HOST/DATABASE
    #[arg(value_name = "FROM")]
    pub(crate) from: PathBuf,

    /// Database to copy to: a file that does not exist yet, or a server's database without runs and imports
    #[arg(value_name = "TO")]
    pub(crate) to: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Workloads {
    #[command(flatten)]
    pub(crate) machine: OnMachine,

    #[command(flatten)]
    pub(crate) place: WorkloadsPlace,

    #[command(flatten)]
    pub(crate) format: FormatArgument,
}

#[derive(Debug, Args)]
pub(crate) struct Facts {
    /// Show the facts saved with this run (number, label or commit; RUN@b: side B) instead
    #[arg(value_name = "RUN", conflicts_with = "on", add = completing::run())]
    pub(crate) run: Option<String>,

    #[command(flatten)]
    pub(crate) machine: OnMachine,

    #[command(flatten)]
    pub(crate) place: WorkloadsPlace,

    #[command(flatten)]
    pub(crate) format: FormatArgument,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  faultline published                 every table
  faultline published dragonfly       tables whose name contains the word
  faultline published --compare       before against after, with confidence intervals
  faultline published --beside 3      the literature's figures next to those of run 3")]
pub(crate) struct Published {
    /// Part of a table's name
    #[arg(value_name = "NAME", conflicts_with = "beside")]
    pub(crate) name: Option<String>,

    /// Test before against after, with confidence intervals of the improvements
    #[arg(long, conflicts_with = "beside")]
    pub(crate) compare: bool,

    /// Show the figures next to those of this run (number, label or commit)
    #[arg(long, value_name = "RUN", add = completing::run())]
    pub(crate) beside: Option<String>,

    #[command(flatten)]
    pub(crate) format: FormatArgument,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Shell {
    Bash,
    Elvish,
    Fish,
    Powershell,
    Zsh,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  source <(faultline completions bash)                                      in ~/.bashrc
  faultline completions zsh > ~/.zfunc/_faultline                           a directory of fpath
  faultline completions fish > ~/.config/fish/completions/faultline.fish
`make install` installs them for bash, zsh and fish. They also complete workloads, runs and labels; FAULTLINE_DB and
FAULTLINE_WORKLOADS say where to look.")]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

#[derive(Debug, Args)]
pub(crate) struct Man {
    /// Directory to write the pages to
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
}

pub(crate) fn count(text: &str) -> Result<u32, String> {
    text.trim().parse().map_err(|_| "not a number; write it like 4".to_owned())
}

/// A number of guests that run at the same time.
pub(crate) fn jobs(text: &str) -> Result<NonZeroUsize, String> {
    text.trim().parse().map_err(|_| "not a number from 1; write it like 4".to_owned())
}

/// The name of a commit, in full or its first digits.
pub(crate) fn commit(text: &str) -> Result<Commit, String> {
    Commit::named(text).ok_or_else(|| {
        "a commit is named by 7 to 64 hexadecimal digits, as `git rev-parse HEAD` prints them".to_owned()
    })
}

fn partner(text: &str) -> Result<(Role, Machine), String> {
    let (role, machine) = text.split_once('=').ok_or("not ROLE=MACHINE; for example receiver=host")?;
    Ok((role.parse()?, machine.parse()?))
}

/// What people call a point of a history: a commit, or a release.
pub(crate) fn point(text: &str) -> Result<String, String> {
    faultline_model::commit::can_be_name(text).then(|| text.to_owned()).ok_or_else(|| {
        "a commit is named by 7 to 64 hexadecimal digits, a release by letters, digits, '.', '_', '+', '~' and '-'"
            .to_owned()
    })
}

/// A run's label. Digits alone are refused: they would be looked up as a run's number first.
pub(crate) fn label(text: &str) -> Result<String, String> {
    if text.trim().is_empty() || text.trim() != text || text.contains(char::is_control) {
        return Err("a label is text without spaces around it; write it like nightly-6.9".to_owned());
    }
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!("digits alone are a run's number; write it like run-{text}"));
    }
    Ok(text.to_owned())
}

/// Below 2^63, so that every reader of JSON and SQL can hold it.
pub(crate) fn seed(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(seed) if seed <= i64::MAX as u64 => Ok(seed),
        _ => Err("not a number below 2^63".to_owned()),
    }
}

/// Longer than anyone waits, and short enough to calculate with.
const LONGEST: Duration = Duration::from_secs(366 * 24 * 3600);

fn duration(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Ok(length) if length <= LONGEST => Ok(length),
        Ok(_) => Err("longer than 366 days".to_owned()),
        Err(_) => Err("not a duration; write it like 90s, 2m or 300ms".to_owned()),
    }
}

pub(crate) fn positive_duration(text: &str) -> Result<Duration, String> {
    duration(text)
        .and_then(|length| if length.is_zero() { Err("it must be longer than 0".to_owned()) } else { Ok(length) })
}

pub(crate) fn size(text: &str) -> Result<u64, String> {
    let size: bytesize::ByteSize = text.parse().map_err(|_| "not a size; write it like 4MiB or 200".to_owned())?;
    if size.as_u64() == 0 { Err("it must be at least 1".to_owned()) } else { Ok(size.as_u64()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definitions_agree_with_each_other() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn durations_and_sizes_are_read() {
        assert_eq!(duration("1m 30s"), Ok(Duration::from_secs(90)));
        assert!(duration("soon").is_err());
        assert!(positive_duration("0s").is_err());
        assert_eq!(size("4MiB"), Ok(4 << 20));
        assert_eq!(size("200"), Ok(200));
        assert!(size("many").is_err());
    }
}
