//! The machines of the sides of a live comparison, with their own programs, kernels and compilers
//! if requested.

use crate::error::Error;
use crate::lab::{Lab, Notice};
use crate::partners::{Partners, check_joined};
use crate::target::ReadyTarget;
use crate::whole_file::unnamed;
use faultline_record::machine::{Joined, Machine};
use faultline_record::recipe::Recipe;
use faultline_record::setup::Setup;
use faultline_record::subject::Subject;
use faultline_runner::SubjectTargets;
use faultline_targets::Target;
use faultline_targets::host::build::{BuildRequest, build_workloads};
use faultline_targets::search_path::program_file;
use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::path::{Component, Path, PathBuf};
use tempfile::TempDir;

/// Both sides, ready to run.
pub(crate) struct Sides {
    first: ReadyTarget,
    second: Option<ReadyTarget>,
    /// Files of this machine's settings that the sides change.
    host_settings: Vec<String>,
    /// Programs built for a side; removed on drop.
    _built: Vec<TempDir>,
}

impl Sides {
    /// Each side's machine; the same one twice if both use it.
    pub(crate) fn targets(&self) -> [&dyn Target; 2] {
        let first = self.first.target.as_ref();
        [first, self.second.as_ref().map_or(first, |second| second.target.as_ref())]
    }

    /// The targets of each side and of its partners.
    pub(crate) fn with_partners<'a>(&'a self, [a, b]: &'a [Partners; 2]) -> [SubjectTargets<'a>; 2] {
        let [first, second] = self.targets();
        [a.beside(first), b.beside(second)]
    }

    /// Files of this machine's settings that the sides change, without duplicates.
    pub(crate) fn host_settings(&self) -> &[String] {
        &self.host_settings
    }
}

/// Prepares the machines of both sides: those of their setups, or the default. Completes the
/// subjects, so that the same machines can be created again. Fails if a machine, program, compiler
/// or setting is not available.
pub(crate) fn prepare(sides: &mut [Subject; 2], lab: &mut Lab<'_>) -> Result<Sides, Error> {
    let mut built = Vec::new();
    // Impossible sides are detected before anything is booted or built.
    for side in &mut *sides {
        checked_machine(side)?;
        keep_directory(&mut side.setup)?;
        check_joined(&side.machine, side.setup.partners.values(), lab)?;
    }
    let alike = places_alike(&sides[0], &sides[1]);
    let host_settings = host_settings(sides);
    let mut prepared = |side: &mut Subject| {
        let ready = ready(side, lab, &mut built)?;
        found(side, &ready.machine);
        Ok::<_, Error>(ready)
    };
    let [a, b] = sides;
    let first = prepared(a)?;
    let second = if alike {
        found(b, &a.machine);
        None
    } else {
        Some(prepared(b)?)
    };
    Ok(Sides { first, second, host_settings, _built: built })
}

/// Saves the machine on which a side runs. After it was found, its kernel has its full path.
fn found(side: &mut Subject, machine: &Machine) {
    let mut setup = std::mem::take(&mut side.setup);
    setup.on = setup.on.map(|_| machine.clone());
    let (commit, build) = (side.commit.take(), side.build.take());
    *side = Subject { commit, build, ..Subject::on(std::mem::take(&mut side.name), machine.clone(), setup) };
}

/// True if both sides can use one machine with the same programs.
fn places_alike(a: &Subject, b: &Subject) -> bool {
    a.machine == b.machine
        && a.setup.programs == b.setup.programs
        && a.setup.compiler == b.setup.compiler
        && a.setup.sources == b.setup.sources
        && a.build.is_some() == b.build.is_some()
}

fn host_settings(sides: &[Subject; 2]) -> Vec<String> {
    let on_host = sides.iter().filter(|side| side.machine.is_host());
    let files = on_host.flat_map(|side| side.setup.system_files()).map(|(path, _)| path);
    files.collect::<BTreeSet<String>>().into_iter().collect()
}

/// Determines a side's machine. Fails if its setup is impossible there.
fn checked_machine(side: &mut Subject) -> Result<(), Error> {
    side.machine = machine(&mut side.setup, &side.machine)?;
    check(&side.setup, &side.machine)
}

/// Completes the directory of a command: the present one by default, also after a resume from
/// another one.
fn keep_directory(setup: &mut Setup) -> Result<(), Error> {
    if !setup.command.is_empty() {
        let directory = Path::new(setup.directory.as_deref().unwrap_or("."));
        let directory = absolute(directory, "the command's directory")?;
        setup.directory = Some(directory.to_string_lossy().into_owned());
    }
    Ok(())
}

fn ready(side: &mut Subject, lab: &mut Lab<'_>, built: &mut Vec<TempDir>) -> Result<ReadyTarget, Error> {
    let is_elsewhere = !side.machine.is_here();
    // Programs of commits are not the user's own.
    let mut places = match side.build {
        Some(_) => lab.places.for_programs_of(&Recipe::default())?,
        None => lab.places.clone(),
    };
    if let Some(programs) = &mut side.setup.programs {
        let directory = absolute(Path::new(programs), "programs")?;
        *programs = directory.to_string_lossy().into_owned();
        if is_elsewhere { places.guest = Some(directory) } else { places.workloads = Some(directory) }
    }
    if let Some(compiler) = side.setup.compiler.clone() {
        let directory = build(&compiler, &mut side.setup, lab)?;
        places.workloads = Some(directory.path().to_owned());
        built.push(directory);
    }
    lab.note_machine(&side.machine, &places);
    lab.machines.ready(&side.machine, &places, lab.stop)
}

/// The machine of a side's setup, with its kernel, or the default one.
fn machine(setup: &mut Setup, usual: &Machine) -> Result<Machine, Error> {
    let machine = setup.on.as_ref().unwrap_or(usual).clone();
    let Some(kernel) = &mut setup.kernel else { return Ok(machine) };
    let path = absolute(Path::new(kernel), "kernel")?;
    *kernel = path.to_string_lossy().into_owned();
    machine.with_kernel(path).ok_or_else(|| {
        Error::usage(
            "a kernel image runs in a guest, and this side has a system of its own",
            "add `on=qemu`, or `--on qemu` for both sides",
        )
    })
}

/// Refuses variables that no environment can hold.
fn check_environment(setup: &Setup) -> Result<(), Error> {
    match setup.environment.iter().find(|(name, _)| name.is_empty() || name.contains(['=', '\0'])) {
        Some((name, _)) => Err(Error::usage(
            format!("'{name}' is not a valid name of an environment variable"),
            "for example `env.MALLOC_ARENA_MAX=1`",
        )),
        None => Ok(()),
    }
}

/// Refuses combinations that are impossible.
pub(crate) fn check(setup: &Setup, machine: &Machine) -> Result<(), Error> {
    let is_elsewhere = !machine.is_here();
    if setup.compiler.is_some() && setup.programs.is_some() {
        return Err(Error::usage("a side has both `programs` and `compiler`", "give it one of the two"));
    }
    if is_elsewhere && setup.compiler.is_some() {
        return Err(Error::usage(
            "programs for another machine are not built here",
            "build them (`make -C workloads guest`) and name them: `programs=DIR`",
        ));
    }
    check_environment(setup)?;
    if machine.joined() == Some(Joined::Namespaces) {
        check_namespace_settings(setup)?;
    }
    if !is_elsewhere {
        check_settings(setup)?;
        // A set-up command may build the program.
        if setup.set_up.is_empty() {
            check_program(setup)?;
        }
    }
    if setup.workload.is_some() && !setup.command.is_empty() {
        return Err(Error::usage("a side has both a workload and a command", "give it one of the two"));
    }
    let around =
        [("prepare", !setup.prepare.is_empty()), ("setup", !setup.set_up.is_empty()), ("warmup", setup.warmup > 0)];
    if let Some((what, _)) = around.iter().find(|(_, is_given)| *is_given && setup.command.is_empty()) {
        return Err(Error::usage(
            format!("a side has `{what}` and no command"),
            "it belongs to a command; workloads set up and warm up by themselves",
        ));
    }
    if setup.directory.is_some() && setup.command.is_empty() {
        return Err(Error::usage(
            "a side has a directory and no command",
            "a workload runs in a scratch directory of its own",
        ));
    }
    if is_elsewhere && !setup.command.is_empty() {
        return Err(Error::usage(
            "a command of this host cannot run on another machine",
            "run commands on this host, without `on`",
        ));
    }
    Ok(())
}

/// Refuses settings that are not the namespace's own: others would change the whole host.
fn check_namespace_settings(setup: &Setup) -> Result<(), Error> {
    match setup.system_files().find(|(path, _)| !path.starts_with("/proc/sys/net/")) {
        Some((path, _)) => Err(Error::usage(
            format!("{path} is not a setting of a network namespace"),
            "it has settings of the network, as in `sysctl.net.ipv4.tcp_congestion_control=reno`",
        )),
        None => Ok(()),
    }
}

/// Refuses settings that this host lacks or that are not writable, before the first measurement.
fn check_settings(setup: &Setup) -> Result<(), Error> {
    let is_setting = |path: &str| {
        let path = Path::new(path);
        let is_below = path.starts_with("/proc/sys") || path.starts_with("/sys");
        is_below && path.is_file() && !path.components().any(|part| part == Component::ParentDir)
    };
    for (path, _) in setup.system_files() {
        if !is_setting(&path) {
            return Err(Error::usage(
                format!("this host has no setting {path}"),
                "`sysctl -a` lists the kernel's settings; other settings are files below /sys",
            ));
        }
        if let Err(error) = OpenOptions::new().write(true).open(&path) {
            return Err(Error::usage(
                format!("cannot change the setting {path}: {error}"),
                "run it as root, or compare without this setting",
            ));
        }
    }
    Ok(())
}

/// Refuses a command whose program is missing or not executable in its directory.
pub(crate) fn check_program(setup: &Setup) -> Result<(), Error> {
    let Some(word) = setup.command.first() else { return Ok(()) };
    let path = setup.environment.get("PATH").map(AsRef::as_ref);
    let directory = Path::new(setup.directory.as_deref().unwrap_or("."));
    if !directory.is_dir() {
        return Err(Error::usage(
            format!("there is no directory {}", directory.display()),
            "`directory=DIR` names an existing one",
        ));
    }
    program_file(word, directory, path).map(drop).map_err(Error::target_as_usage)
}

pub(crate) fn absolute(path: &Path, what: &str) -> Result<PathBuf, Error> {
    path.canonicalize().map_err(|error| {
        Error::usage(format!("cannot use {} for {what}: {error}", path.display()), "name an existing path")
    })
}

fn build(compiler: &str, setup: &mut Setup, lab: &mut Lab<'_>) -> Result<TempDir, Error> {
    let sources = match &setup.sources {
        Some(sources) => PathBuf::from(sources),
        None => lab.places.sources()?,
    };
    let sources = absolute(&sources, "sources")?;
    // A resume builds from the same sources.
    setup.sources = Some(sources.to_string_lossy().into_owned());
    let directory = tempfile::Builder::new().prefix("faultline-built-").tempdir().map_err(|error| {
        Error::usage(
            format!("no directory to build in: {}", unnamed(&error)),
            "set TMPDIR to a directory that you can write",
        )
    })?;
    lab.observer.notice(&Notice::BuildingWorkloads { compiler: compiler.to_owned() });
    let (keeper, scratch) = (&lab.places.keeper, lab.places.usable_scratch()?);
    let request = BuildRequest { sources: &sources, compiler, directory: directory.path(), keeper, scratch: &scratch };
    build_workloads(&request, lab.stop)
        .map_err(|error| if lab.stop.is_set() { Error::stopped() } else { Error::target_as_usage(error) })?;
    Ok(directory)
}
