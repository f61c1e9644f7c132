//! Paths: our own program, the workloads' programs, guests' parts, the database, scratch space.

use crate::error::Error;
use crate::own_workloads::OwnWorkloads;
use crate::sandbox::Sandboxing;
use crate::settings_file::USUAL_FILE;
use crate::trust::Consent;
use crate::whole_file::unnamed;
use etcetera::BaseStrategy;
use faultline_record::recipe::Recipe;
use faultline_store::directory_beside;
use faultline_targets::StopFlag;
use faultline_targets::host::command::CommandRunner;
use faultline_targets::host::{Host, HostPaths};
use faultline_targets::qemu::{EMULATOR_PROGRAM, GuestPaths};
use faultline_targets::sandbox::Sandbox;
use faultline_targets::ssh::SshPaths;
use std::path::{Path, PathBuf};

/// The paths. A front end replaces the defaults that its user overrides. `None`: not found, an
/// error only where the path is needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// This program, also the keeper of workloads if [`faultline_targets::keeper::ARGUMENT`] is its
    /// first argument.
    pub keeper: PathBuf,
    /// Directory of the workloads' programs.
    pub workloads: Option<PathBuf>,
    /// Directory of the workloads' sources.
    pub sources: Option<PathBuf>,
    /// Directory with the parts of guests.
    pub guest: Option<PathBuf>,
    /// The emulator for guests. `None`: the one in `PATH`.
    pub emulator: Option<PathBuf>,
    /// The kernel for guests on a machine that has none in `/boot`.
    pub kernel: Option<PathBuf>,
    /// The lens's plugin for QEMU.
    pub plugin: Option<PathBuf>,
    /// Directory for scratch files.
    pub scratch: PathBuf,
    /// Directory for data that can be created again.
    pub cache: Option<PathBuf>,
    /// Directory for data measured once on this machine.
    pub data: Option<PathBuf>,
    /// The file that declares hosts and variants, if one is used.
    pub settings: Option<PathBuf>,
    /// The user's consent to that file.
    pub consent: Consent,
    /// The database: the path of a file, or the URL of a PostgreSQL server's database.
    pub database: Option<PathBuf>,
    /// The choice of a sandbox for builds and programs of commits.
    pub sandboxing: Sandboxing,
}

impl Places {
    /// The default paths: next to this program (`../workloads` in a build tree,
    /// `../libexec/faultline/workloads` if installed), in the user's directories, and
    /// `faultline.toml` here. Fails if this program's path is unknown.
    pub fn find() -> Result<Self, Error> {
        let keeper = std::env::current_exe().map_err(|error| {
            Error::failed(format!("cannot find the path of this program: {error}"), "call it by its full path")
        })?;
        let strategy = etcetera::choose_base_strategy().ok();
        let data = strategy.as_ref().map(|strategy| strategy.data_dir().join("faultline"));
        let state = strategy.as_ref().and_then(|strategy| strategy.state_dir());
        Ok(Places {
            workloads: beside(&keeper, "workloads"),
            sources: sources_above(&keeper),
            guest: beside(&keeper, "guest"),
            emulator: emulator_beside(&keeper),
            kernel: kernel_beside(&keeper),
            plugin: beside(&keeper, "lens").map(|directory| directory.join("libfaultline_lens.so")),
            scratch: std::env::temp_dir(),
            cache: strategy.map(|strategy| strategy.cache_dir().join("faultline")),
            database: data.as_ref().map(|data| data.join("faultline.sqlite")),
            data,
            settings: Path::new(USUAL_FILE).is_file().then(|| USUAL_FILE.into()),
            consent: Consent { is_given: false, list: state.map(|state| state.join("faultline/trusted")) },
            sandboxing: Sandboxing::wanted(true),
            keeper,
        })
    }

    /// The sandbox of a build by a recipe. `None` if it is turned off, or if this system gives
    /// none. Fails if it could not be tried.
    pub fn sandbox_of_builds(&self, recipe: &Recipe) -> Result<Option<Sandbox>, Error> {
        let sandbox = self.sandbox_of_programs(recipe)?;
        Ok(sandbox.map(|sandbox| Sandbox { has_network: recipe.network, ..sandbox }))
    }

    /// The sandbox of the programs that a recipe builds. `None`, and fails, like
    /// [`Places::sandbox_of_builds`].
    fn sandbox_of_programs(&self, recipe: &Recipe) -> Result<Option<Sandbox>, Error> {
        let is_on = self.sandboxing.is_wanted_for(recipe) && self.lack_of_sandbox()?.is_none();
        Ok(is_on.then(|| self.usual_sandbox()))
    }

    /// The reason why this system gives no sandbox; `None` if it gives one. Fails if it could not
    /// be tried.
    pub(crate) fn lack_of_sandbox(&self) -> Result<Option<&str>, Error> {
        self.sandboxing.lack(|| {
            let not_tried = |why: String| Error::failed(why, "`--no-sandbox` runs code of commits without a sandbox");
            let runner = CommandRunner::new(&self.keeper, &self.usable_scratch()?)
                .map_err(|error| not_tried(format!("the working directory: {error}")))?;
            runner.probe(&self.usual_sandbox(), &StopFlag::default()).map_err(not_tried)
        })
    }

    /// A sandbox that hides the database: its directory, or where that is not possible, its files.
    fn usual_sandbox(&self) -> Sandbox {
        let file = self.database.as_deref().filter(|file| directory_beside(file).is_some());
        let file = file.and_then(|file| std::path::absolute(file).ok());
        let of_file = |file: PathBuf| {
            let named = |end: &str| {
                let mut name = file.clone().into_os_string();
                name.push(end);
                PathBuf::from(name)
            };
            let files = ["", "-wal", "-shm", "-journal"].map(named);
            file.parent().map(Path::to_owned).into_iter().chain(files).collect()
        };
        Sandbox {
            visible: vec![self.keeper.clone()],
            hidden: file.map_or_else(Vec::new, of_file),
            ..Sandbox::default()
        }
    }

    /// These paths, for running the programs that a recipe builds. Fails like
    /// [`Places::sandbox_of_builds`].
    pub(crate) fn for_programs_of(&self, recipe: &Recipe) -> Result<Self, Error> {
        let sandboxing = self.sandboxing.with_programs_in(self.sandbox_of_programs(recipe)?);
        Ok(Places { sandboxing, ..self.clone() })
    }

    /// The database's path or URL. Fails if there is none.
    pub(crate) fn database(&self) -> Result<&Path, Error> {
        self.database
            .as_deref()
            .ok_or_else(|| Error::failed("there is no home directory for the database", "`--db FILE` names one"))
    }

    /// The database's name for messages, without a password.
    pub fn database_name(&self) -> String {
        self.database.as_deref().map_or_else(String::new, faultline_store::shown)
    }

    /// The workloads' sources: of a source tree, or those that the command's own workloads were
    /// built from. Fails if there are none.
    pub(crate) fn sources(&self) -> Result<PathBuf, Error> {
        self.sources.clone().or_else(|| self.own_workloads()?.sources()).ok_or_else(|| {
            Error::usage(
                "the workloads' sources are not beside the command",
                "`--sources DIR` names the directory `workloads` of Faultline's sources",
            )
        })
    }

    /// The directory for scratch files. Fails if it cannot be written.
    pub fn usable_scratch(&self) -> Result<PathBuf, Error> {
        let scratch = &self.scratch;
        if !scratch.is_dir() {
            return Err(Error::usage(
                format!("there is no directory {} for scratch files", scratch.display()),
                "`--scratch DIR` takes an existing directory with room for copies of programs",
            ));
        }
        // Otherwise every execution would fail, and its failure would be saved. An unnamed file: a
        // kill leaves nothing.
        tempfile::tempfile_in(scratch).map_err(|error| {
            Error::usage(
                format!("cannot make scratch files in {}: {}", scratch.display(), unnamed(&error)),
                "`--scratch DIR` takes a directory that you can write, with room for copies of programs",
            )
        })?;
        Ok(scratch.clone())
    }

    /// This host with its workloads; the command's own ones if there are none beside it, which are
    /// built once. Fails if they cannot be built, if the scratch directory is missing, or on a
    /// stop.
    pub(crate) fn host(&self, stop: &StopFlag) -> Result<Host, Error> {
        let workloads = match &self.workloads {
            Some(workloads) => workloads.clone(),
            None => self.built_workloads(stop)?,
        };
        Ok(Host::new(self.host_paths(workloads)?))
    }

    fn built_workloads(&self, stop: &StopFlag) -> Result<PathBuf, Error> {
        let own = self.own_workloads().ok_or_else(|| {
            Error::usage(
                "no workloads are beside the command, and no home directory to build them in is known",
                "`--workloads DIR` names their directory; or set HOME, or XDG_CACHE_HOME",
            )
        })?;
        match own.programs() {
            Some(programs) => Ok(programs),
            None => own.build(&self.keeper, &self.usable_scratch()?, stop),
        }
    }

    /// True if [`Places::host`] builds the workloads first.
    pub(crate) fn builds_workloads(&self) -> bool {
        self.workloads.is_none() && self.own_workloads().is_some_and(|own| own.programs().is_none())
    }

    /// The command's own workloads. `None` without a cache directory.
    fn own_workloads(&self) -> Option<OwnWorkloads> {
        self.cache.as_deref().map(OwnWorkloads::of)
    }

    /// This host for guests and for programs under the lens: facts, without the need of workloads.
    /// Fails without a scratch directory.
    pub(crate) fn paths_for_facts(&self) -> Result<HostPaths, Error> {
        self.host_paths(self.workloads.clone().unwrap_or_default())
    }

    /// This host, for its facts only.
    pub(crate) fn bare_host(&self) -> Host {
        let keeper = self.keeper.clone();
        Host::new(HostPaths { workloads: PathBuf::new(), scratch: self.scratch.clone(), keeper, sandbox: None })
    }

    /// The paths of a guest's parts on this host. Fails if they are missing.
    pub(crate) fn guest_paths(&self) -> Result<GuestPaths, Error> {
        let guest = self.guest()?;
        Ok(GuestPaths { guest, host: self.paths_for_facts()?, cache: self.cache.clone() })
    }

    /// The paths of files that are copied to a host over SSH. Fails if one is missing.
    pub(crate) fn ssh_paths(&self) -> Result<SshPaths, Error> {
        Ok(SshPaths { guest: self.guest()?, host: self.paths_for_facts()? })
    }

    fn guest(&self) -> Result<PathBuf, Error> {
        let problem = match &self.guest {
            Some(guest) if guest.is_dir() => return Ok(guest.clone()),
            Some(guest) => format!("there is no directory {} with the guest's parts", guest.display()),
            None => "the guest's parts are not beside the command".to_owned(),
        };
        Err(Error::usage(problem, "`make guest` builds them; `--guest DIR` names their directory"))
    }

    fn host_paths(&self, workloads: PathBuf) -> Result<HostPaths, Error> {
        let (scratch, keeper) = (self.usable_scratch()?, self.keeper.clone());
        Ok(HostPaths { workloads, scratch, keeper, sandbox: self.sandboxing.of_programs().cloned() })
    }
}

fn beside(program: &Path, name: &str) -> Option<PathBuf> {
    let above = program.parent()?.parent()?;
    let candidates = [above.join(name), above.join("libexec/faultline").join(name)];
    candidates.into_iter().find(|candidate| candidate.is_dir())
}

/// The emulator from `make emulator`, for machines without a recent one.
fn emulator_beside(program: &Path) -> Option<PathBuf> {
    let emulator = beside(program, "qemu")?.join("usr/bin").join(EMULATOR_PROGRAM);
    emulator.is_file().then_some(emulator)
}

/// The kernel from `make kernel`, for machines without one.
fn kernel_beside(program: &Path) -> Option<PathBuf> {
    let kernel = beside(program, "kernels")?.join("bookworm/vmlinuz");
    kernel.is_file().then_some(kernel)
}

/// The workloads' sources in a source tree: `target/debug/faultline` is next to `workloads`.
fn sources_above(program: &Path) -> Option<PathBuf> {
    let sources =
        program.ancestors().map(|above| above.join("workloads")).find(|there| there.join("Makefile").is_file())?;
    sources.join("harness").is_dir().then_some(sources)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_found_beside_the_program_as_built_and_as_installed() {
        let root = tempfile::tempdir().unwrap();
        let installed = root.path().join("libexec/faultline/guest");
        let built = root.path().join("workloads");
        std::fs::create_dir_all(&installed).unwrap();
        std::fs::create_dir_all(&built).unwrap();
        let program = root.path().join("bin/faultline");
        assert_eq!(beside(&program, "guest"), Some(installed));
        assert_eq!(beside(&program, "workloads"), Some(built));
        assert_eq!(beside(&program, "lens"), None);
        let unpacked = root.path().join("qemu/usr/bin");
        std::fs::create_dir_all(&unpacked).unwrap();
        assert_eq!(emulator_beside(&program), None);
        std::fs::write(unpacked.join(EMULATOR_PROGRAM), "").unwrap();
        assert_eq!(emulator_beside(&program), Some(unpacked.join(EMULATOR_PROGRAM)));
        let unpacked = root.path().join("kernels/bookworm");
        std::fs::create_dir_all(&unpacked).unwrap();
        assert_eq!(kernel_beside(&program), None);
        std::fs::write(unpacked.join("vmlinuz"), "").unwrap();
        assert_eq!(kernel_beside(&program), Some(unpacked.join("vmlinuz")));
    }

    #[test]
    fn the_database_s_directory_is_hidden_and_a_server_has_none() {
        let hidden = |database: &str| {
            let places = Places { database: Some(database.into()), ..Places::find().unwrap() };
            places.usual_sandbox().hidden
        };
        assert_eq!(hidden("/a/b/f.sqlite")[..2], [Path::new("/a/b"), Path::new("/a/b/f.sqlite")]);
        assert_eq!(hidden("/f.sqlite")[..3], ["/", "/f.sqlite", "/f.sqlite-wal"].map(Path::new));
        assert_eq!(hidden("f.sqlite")[0], std::env::current_dir().unwrap());
        assert_eq!(hidden("postgres://a@b/c"), Vec::<PathBuf>::new());
    }

    #[test]
    fn what_is_missing_is_an_error_for_whoever_needs_it_alone() {
        let places = Places {
            keeper: "/faultline".into(),
            workloads: None,
            sources: None,
            guest: None,
            emulator: None,
            kernel: None,
            plugin: None,
            scratch: std::env::temp_dir(),
            cache: None,
            data: None,
            settings: None,
            consent: Consent::default(),
            database: None,
            sandboxing: Sandboxing::wanted(false),
        };
        assert!(places.paths_for_facts().is_ok());
        let refused = places.host(&StopFlag::default()).unwrap_err();
        assert!(refused.problem.contains("no home directory to build them in is known"), "{refused:?}");
        assert!(!places.builds_workloads());
        assert!(places.database().unwrap_err().hint.unwrap().contains("--db"));
    }
}
