//! Builds of commits, also in other layouts. A build is kept under a name made from its tree,
//! recipe and tool versions, and is not repeated.
//!
//! For another layout the user's build runs again and finds our linker wrapper. Only a program
//! whose code or data moved, compared with the commit's own build, counts as another layout.

use crate::commits::{Build, Relink, Relinked};
use crate::linked_files;
use crate::linked_files::Places;
use crate::linker::LinkerWrapper;
use crate::repository::{BuildEnvironment, Checkout, Repository};
use crate::tools::{self, Words, runner};
use faultline_experiment::{Error, Lab};
use faultline_record::commit::CommitInfo;
use faultline_record::recipe::{BuildTools, Recipe};
use faultline_record::relink::{LinkLayout, RelinkResult};
use faultline_targets::host::build::without_outer_make;
use faultline_targets::host::command::{Errors, HostCommand};
use faultline_targets::sandbox::{Sandbox, lacks_network};
use faultline_targets::{Ending, lack};
use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::Write;
use std::ops::ControlFlow;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

/// Digits in the name of a kept build. All names have the same length, because the length of a path
/// moves a program's stack.
const NAME_DIGITS: usize = 16;

/// Directory of the linker wrapper.
const LINKER: &str = "linker";

/// Number of last output lines that a failure cites.
const CITED_LINES: usize = 5;

/// The kept builds.
#[derive(Debug)]
pub struct Builds {
    directory: PathBuf,
}

impl Builds {
    /// The builds in our directory `ours`. Fails if it cannot be written.
    pub(crate) fn below(ours: &Path) -> Result<Self, Error> {
        let directory = ours.join("builds");
        fs::create_dir_all(&directory)
            .and_then(|()| directory.canonicalize())
            .map_or_else(|error| Err(unwritable(&directory, &error)), |directory| Ok(Builds { directory }))
    }

    /// File with the output of the last build command.
    pub fn log(&self) -> PathBuf {
        self.directory.join("log")
    }

    /// The tools of a recipe as of now. Fails on a stop.
    pub(crate) fn tools(&self, recipe: &Recipe, lab: &mut Lab<'_>) -> Result<BuildTools, Error> {
        tools::tools(recipe, &self.directory, lab)
    }

    /// Builds a commit, or returns the kept build of the same tree, recipe and tools. `tools`: of
    /// the recipe, as of now. A command that fails is a result. Fails on a stop, if the disk is
    /// full, or if files cannot be written.
    pub(crate) fn build(
        &self,
        commit: &CommitInfo,
        (recipe, tools): (&Recipe, &BuildTools),
        repository: &Repository,
        checkout: &Checkout,
        lab: &Lab<'_>,
    ) -> Result<Build, Error> {
        let environment = BuildEnvironment { tools: &tools.digest, layout: "" };
        let directory = self.path(commit, recipe, environment, &[]);
        if directory.is_dir() {
            return Ok(Build::Built { directory, is_old: true });
        }
        if recipe.is_clean {
            checkout.clear()?;
        }
        self.make(commit, recipe, (environment, &[]), (repository, checkout), lab)
    }

    /// Directory of a commit's build. `missing`: the submodules that were not there.
    fn path(
        &self,
        commit: &CommitInfo,
        recipe: &Recipe,
        environment: BuildEnvironment<'_>,
        missing: &[String],
    ) -> PathBuf {
        self.directory.join(name(commit, recipe, environment, missing))
    }

    /// A directory of ours next to the builds.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.directory.with_file_name(name)
    }

    /// Builds a commit on top of the checkout and keeps the build. A kept build without the same
    /// submodules counts, except in a layout. `variables`: environment of the command in addition
    /// to the recipe's. Fails like [`Builds::build`].
    pub(crate) fn make(
        &self,
        commit: &CommitInfo,
        recipe: &Recipe,
        (environment, variables): (BuildEnvironment<'_>, &[(String, String)]),
        (repository, checkout): (&Repository, &Checkout),
        lab: &Lab<'_>,
    ) -> Result<Build, Error> {
        checkout.begin_build(environment)?;
        let missing = match checkout.switch(repository, commit, lab)? {
            Ok(missing) => missing,
            Err(said) => return Ok(not_checked_out(&said)),
        };
        let directory = self.path(commit, recipe, environment, &missing);
        if environment.layout.is_empty() && directory.is_dir() {
            checkout.end_build(environment)?;
            return Ok(Build::Built { directory, is_old: true });
        }
        let run = || run(commit, recipe, variables, checkout, &self.log(), lab);
        let failed = match run()? {
            Ran::Ended(failed) => failed,
            // This host has room. If the build fails like this again, it is the cause.
            Ran::AfterLack(..) => {
                // Of what the build could not write, a part may be there.
                checkout.clear()?;
                if let Err(said) = checkout.switch(repository, commit, lab)? {
                    return Ok(not_checked_out(&said));
                }
                match run()? {
                    Ran::Ended(failed) => failed,
                    Ran::AfterLack(own) => Some(own),
                }
            }
        };
        if !failed.as_ref().is_some_and(|failed| failed.was_cut) {
            checkout.end_build(environment)?;
        }
        match failed {
            Some(Failed { how, output, .. }) => Ok(Build::Failed { how: how + &without(&missing), output }),
            None => self.keep(recipe, checkout, &directory, lab),
        }
    }

    /// Copies the kept files. The copy gets its name when it is complete.
    fn keep(&self, recipe: &Recipe, checkout: &Checkout, directory: &Path, lab: &Lab<'_>) -> Result<Build, Error> {
        let fresh = self.directory.join("new");
        let _ = fs::remove_dir_all(&fresh);
        fs::create_dir_all(&fresh).map_err(|error| unwritable(&fresh, &error))?;
        let whole = [".".to_owned()];
        let paths = if recipe.kept.is_empty() { &whole[..] } else { &recipe.kept };
        for path in paths {
            // Without a slash at its end, after which a link would be followed.
            let within: PathBuf = Path::new(path).components().collect();
            let (from, to) = (checkout.directory().join(&within), fresh.join(&within));
            if !from.exists() {
                return Ok(Build::Failed { how: format!("it leaves no {path}"), output: String::new() });
            }
            if leads_out(&from, checkout.directory()) {
                return Ok(Build::Failed { how: format!("{path} leads out of the build"), output: String::new() });
            }
            let parent = to.parent().unwrap_or(&fresh);
            fs::create_dir_all(parent).map_err(|error| unwritable(parent, &error))?;
            if let Err(said) = copy(&from, &to, checkout.directory(), lab)? {
                return Ok(Build::Failed { how: format!("{path} cannot be copied: {said}"), output: String::new() });
            }
        }
        remove(directory)?;
        fs::rename(&fresh, directory).map_err(|error| unwritable(directory, &error))?;
        // A whole tree contains its commit's files, so no other build is the same.
        if !recipe.kept.is_empty() {
            self.note_identical(directory).map_err(|error| unwritable(directory, &error))?;
        }
        Ok(Build::Built { directory: directory.to_owned(), is_old: false })
    }

    /// The first kept build with the same files as the one in `directory`, or that build itself.
    pub(crate) fn first_like(&self, directory: &Path) -> PathBuf {
        let noted = directory.file_name().and_then(|name| self.identical().join(name).canonicalize().ok());
        noted.filter(|first| first.is_dir()).unwrap_or_else(|| directory.to_owned())
    }

    /// Records builds with the same files by two links: one named by the content, one by the build.
    fn note_identical(&self, directory: &Path) -> io::Result<()> {
        let links = self.identical();
        fs::create_dir_all(&links)?;
        let by_digest = links.join(linked_files::digest(directory)?);
        let first = match by_digest.canonicalize() {
            Ok(first) if first.is_dir() => first,
            _ => {
                link(directory, &by_digest)?;
                directory.to_owned()
            }
        };
        directory.file_name().map_or(Ok(()), |name| link(&first, &links.join(name)))
    }

    fn identical(&self) -> PathBuf {
        self.directory.join("identical")
    }
}

fn not_checked_out(said: &str) -> Build {
    Build::Failed { how: format!("git cannot check it out: {said}"), output: String::new() }
}

/// True if a link in the path, except its last part, leads out of the directory: it could lead to
/// files that the build itself cannot read.
fn leads_out(path: &Path, directory: &Path) -> bool {
    let whole = |path: &Path| path.canonicalize().ok();
    let above = if path == directory { Some(path) } else { path.parent() };
    !above.and_then(whole).zip(whole(directory)).is_some_and(|(above, directory)| above.starts_with(directory))
}

/// Remark on a failed build whose submodules are missing.
fn without(missing: &[String]) -> String {
    match missing {
        [] => String::new(),
        missing => format!(
            ", without the submodule {}; `git submodule update --init --recursive` in the repository brings it",
            missing.join(", ")
        ),
    }
}

/// Creates or replaces a symbolic link.
fn link(to: &Path, at: &Path) -> io::Result<()> {
    match fs::remove_file(at) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => symlink(to, at),
    }
}

/// Name of a build, made from tree, recipe without time limit, tools, layout and absent
/// submodules.
fn name(commit: &CommitInfo, recipe: &Recipe, environment: BuildEnvironment<'_>, missing: &[String]) -> String {
    let BuildEnvironment { tools, layout } = environment;
    let mut words = Words::default();
    words.add(commit.tree.as_bytes());
    words.add(tools.as_bytes());
    for path in &recipe.kept {
        words.add(b"kept");
        words.add(path.as_bytes());
    }
    if recipe.is_clean {
        words.add(b"clean");
    }
    if !layout.is_empty() {
        words.add(b"layout");
        words.add(layout.as_bytes());
    }
    for path in missing {
        words.add(b"missing");
        words.add(path.as_bytes());
    }
    words.digest()[..NAME_DIGITS].to_owned()
}

/// Remark on a failed build that wanted a network.
const CLOSED: &str =
    "; builds have no network in the sandbox: `--build-network` (in faultline.toml: `network = true`) gives them one";

/// A failed build command.
struct Failed {
    /// The failure in words.
    how: String,
    /// The last lines of its output.
    output: String,
    /// True if it was ended, so files may be incomplete.
    was_cut: bool,
}

/// Result of a build command.
enum Ran {
    /// Its failure, if it failed.
    Ended(Option<Failed>),
    /// Its failure after this host lacked something, or after output about a full disk.
    AfterLack(Failed),
}

/// Runs the build command with its output in a file. Fails on a stop, or if the lab failed.
fn run(
    commit: &CommitInfo,
    recipe: &Recipe,
    variables: &[(String, String)],
    checkout: &Checkout,
    log: &Path,
    lab: &Lab<'_>,
) -> Result<Ran, Error> {
    if recipe.command.is_empty() {
        return Ok(Ran::Ended(None));
    }
    let argv: Vec<OsString> = recipe.command.iter().map(OsString::from).collect();
    let environment = [without_outer_make(), recipe.environment.clone(), variables.to_vec()].concat();
    let sandbox = lab.places.sandbox_of_builds(recipe)?.map(|sandbox| {
        let linker = checkout.directory().with_file_name(LINKER);
        let linker = Some(linker).filter(|linker| !variables.is_empty() && linker.is_dir());
        Sandbox { writable: std::iter::once(checkout.directory().to_owned()).chain(linker).collect(), ..sandbox }
    });
    let command = HostCommand {
        argv: &argv,
        directory: checkout.directory(),
        environment: &environment,
        limit: Duration::from_secs(recipe.limit_s),
        errors: Errors::Among,
        input: None,
        sandbox: sandbox.as_ref(),
    };
    let mut output = Output::create(log).map_err(|error| unwritable(log, &error))?;
    let (ending, is_after_lack) = match runner(lab)?.run(&command, &mut |line| output.line(line), lab.stop) {
        Ending::AfterLack { own, .. } => (*own, true),
        ending => (ending, false),
    };
    let was_cut = !matches!(ending, Ending::Exited { .. });
    let not_built = |why: &str| tools::lab_failed(format!("{} could not be built: {why}", commit.id));
    let how = match ending {
        Ending::Exited { status: 0, .. } => return Ok(Ran::Ended(None)),
        Ending::Exited { status, .. } => format!("it exited with status {status}"),
        Ending::Signalled { signal, .. } => format!("signal {signal} ended it"),
        Ending::TimedOut => format!("it did not end within {} s", recipe.limit_s),
        Ending::Stopped => return Err(Error::stopped()),
        Ending::LabFailed { text } | Ending::AfterLack { text, .. } => return Err(not_built(&text)),
        // A path is the commit's, and a name is a program of this host.
        Ending::NotStarted { text } if !recipe.command[0].contains('/') => return Err(not_built(&text)),
        Ending::NotStarted { text } | Ending::LeftChanged { text } => text,
        // Only a failure to write the output refuses a line.
        Ending::Refused | Ending::ConnectionLost { .. } | Ending::GuestFailed { .. } => {
            return Err(not_built(&output.failure()));
        }
    };
    let is_closed = sandbox.is_some_and(|sandbox| !sandbox.has_network);
    let remark = if is_closed && output.lacks_network { CLOSED } else { "" };
    let said_full = output.said_full.take();
    let is_after_lack = is_after_lack || said_full.is_some();
    // Files that could not be written may be incomplete.
    let failed = Failed { how: how + remark, output: output.last_lines(), was_cut: was_cut || is_after_lack };
    match said_full {
        Some(said) if !has_room(checkout, log) => Err(not_built(&said)),
        _ if is_after_lack => Ok(Ran::AfterLack(failed)),
        _ => Ok(Ran::Ended(Some(failed))),
    }
}

/// True if there is room where builds write.
fn has_room(checkout: &Checkout, log: &Path) -> bool {
    let builds = log.parent().unwrap_or(Path::new("/"));
    lack::has_room(&[checkout.directory(), builds, &std::env::temp_dir()])
}

/// Output of a build: a file with all of it, and its last lines.
struct Output {
    file: io::BufWriter<fs::File>,
    last: VecDeque<String>,
    /// The first message about a full disk.
    said_full: Option<String>,
    /// True if a line says that there is no network.
    lacks_network: bool,
    /// Error of writing the file.
    broken: Option<io::Error>,
}

impl Output {
    fn create(path: &Path) -> io::Result<Self> {
        let file = io::BufWriter::new(fs::File::create(path)?);
        Ok(Output { file, last: VecDeque::new(), said_full: None, lacks_network: false, broken: None })
    }

    fn line(&mut self, line: &[u8]) -> ControlFlow<()> {
        if let Err(error) = self.file.write_all(line).and_then(|()| self.file.write_all(b"\n")) {
            self.broken = Some(error);
            return ControlFlow::Break(());
        }
        if self.last.len() == CITED_LINES {
            self.last.pop_front();
        }
        let line = String::from_utf8_lossy(line).into_owned();
        if self.said_full.is_none() {
            self.said_full = lack::said_in(&line);
        }
        self.lacks_network |= lacks_network(&line);
        self.last.push_back(line);
        ControlFlow::Continue(())
    }

    fn failure(&self) -> String {
        self.broken.as_ref().map_or_else(String::new, |error| format!("its output cannot be written: {error}"))
    }

    fn last_lines(self) -> String {
        self.last.into_iter().collect::<Vec<_>>().join("\n")
    }
}

/// Copies a file or directory with modes and times. Symbolic links stay links. Inner error: the
/// reason why it cannot be read.
fn copy(from: &Path, to: &Path, directory: &Path, lab: &Lab<'_>) -> Result<Result<(), String>, Error> {
    let argv = ["cp".into(), "-RPp".into(), "--".into(), from.as_os_str().to_owned(), to.as_os_str().to_owned()];
    let limit = Duration::from_secs(30 * 60);
    let command = HostCommand {
        argv: &argv,
        directory,
        environment: &[],
        limit,
        errors: Errors::Apart,
        input: None,
        sandbox: None,
    };
    match runner(lab)?.run(&command, &mut |_| ControlFlow::Continue(()), lab.stop) {
        Ending::Exited { status: 0, .. } => Ok(Ok(())),
        Ending::Stopped => Err(Error::stopped()),
        Ending::Exited { stderr, .. } => {
            Ok(Err(stderr.lines().next().unwrap_or("cp failed without a message").to_owned()))
        }
        Ending::LabFailed { text } => Err(tools::lab_failed(format!("cannot keep the build: {text}"))),
        other => Err(Error::failed(
            format!("cannot keep the build: {other:?}"),
            "name another directory with `--work DIR` (in faultline.toml: `work`)",
        )),
    }
}

fn unwritable(path: &Path, error: &io::Error) -> Error {
    Error::failed(
        format!("cannot write {}: {error}", path.display()),
        "make room, or name another directory with `--work DIR` (in faultline.toml: `work`)",
    )
}

impl Builds {
    /// Links a commit in another layout, or returns the kept build. Fails on a stop, if the disk is
    /// full, or if files cannot be read or written.
    pub(crate) fn relink(
        &self,
        asked: &Relink<'_>,
        recipe: (&Recipe, &BuildTools),
        place: (&Repository, &Checkout),
        lab: &Lab<'_>,
    ) -> Result<Relinked, Error> {
        let places_of = |directory: &Path| {
            Places::of_build(directory, asked.artefact).map_err(|error| unreadable(directory, &error))
        };
        let own = places_of(asked.own)?;
        let without = |result| Relinked { directory: None, result };
        let directory = match self.linked(asked, &own, recipe, place, lab)? {
            Build::Failed { how, output } => return Ok(without(RelinkResult::Failed { how, output })),
            Build::Built { directory, .. } => directory,
        };
        let places = places_of(&directory)?.of_artefact(asked.artefact);
        Ok(match places.filter(|places| Some(places) != own.of_artefact(asked.artefact).as_ref()) {
            Some(places) => Relinked { directory: Some(directory), result: RelinkResult::Placed { places } },
            None => without(RelinkResult::Unchanged),
        })
    }

    /// The build in a layout. Repeats only the linking first. If that fails, or if a file of the
    /// commit's own build is missing, repeats the whole build.
    fn linked(
        &self,
        asked: &Relink<'_>,
        own: &Places,
        (recipe, tools): (&Recipe, &BuildTools),
        place: (&Repository, &Checkout),
        lab: &Lab<'_>,
    ) -> Result<Build, Error> {
        let words = words(asked.layout);
        let environment = BuildEnvironment { tools: &tools.digest, layout: &words };
        let directory = self.path(asked.commit, recipe, environment, &[]);
        let is_whole =
            |directory: &Path| Places::of_build(directory, asked.artefact).is_ok_and(|places| places.has_all_of(own));
        if is_whole(&directory) {
            return Ok(Build::Built { directory, is_old: true });
        }
        let linker = self.beside(LINKER);
        let wrapper = LinkerWrapper::create(&linker, &lab.places.keeper, asked.layout)
            .map_err(|error| unwritable(&linker, &error))?;
        let variables = wrapper.variables(&recipe.environment);
        let make = || self.make(asked.commit, recipe, (environment, &variables), place, lab);
        if !recipe.is_clean
            && let Build::Built { directory, .. } = make()?
            && is_whole(&directory)
        {
            return Ok(Build::Built { directory, is_old: false });
        }
        let (_, checkout) = place;
        checkout.clear()?;
        make()
    }
}

/// The words that identify a layout.
fn words(layout: LinkLayout) -> String {
    format!("{} {} {}", layout.kind.order.word(), layout.kind.spacing.word(), layout.seed)
}

/// Removes an incomplete build, if there is one.
fn remove(directory: &Path) -> Result<(), Error> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(unwritable(directory, &error)),
        _ => Ok(()),
    }
}

fn unreadable(directory: &Path, error: &io::Error) -> Error {
    Error::failed(
        format!("cannot read the build in {}: {error}", directory.display()),
        "it may have been deleted; start a new search",
    )
}
