//! Builds a commit, and keeps what it built under a name made from its tree, the recipe and the versions of tools. What is kept is not built again.

use crate::commands::runner;
use crate::identical;
use crate::repository::{Checkout, Repository, Surroundings};
use crate::room;
use crate::surroundings::{self, Words};
use faultline_experiment::{Error, Lab};
use faultline_model::commit::CommitInfo;
use faultline_model::recipe::{BuildTools, Recipe};
use faultline_targets::Ending;
use faultline_targets::host::command::{Errors, HostCommand};
use faultline_targets::host::outer_make;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Number of digits in the name of a kept build. All names have the same length: paths of different lengths would move a program's stack.
const NAME_DIGITS: usize = 16;

/// Number of lines at the end of a build's output that a failure cites.
const CITED_LINES: usize = 5;

/// What came of a build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Build {
    /// It is there.
    Built {
        /// The directory that holds what was kept.
        directory: PathBuf,
        /// It was there already.
        is_old: bool,
    },
    /// The command failed, which is a result.
    Failed {
        /// How, for people.
        how: String,
        /// The end of its output.
        output: String,
    },
}

impl Build {
    /// The same in another directory, if it was built.
    pub(crate) fn moved(self, to: impl FnOnce(&Path) -> PathBuf) -> Self {
        match self {
            Build::Built { directory, is_old } => Build::Built { directory: to(&directory), is_old },
            failed @ Build::Failed { .. } => failed,
        }
    }
}

/// The builds that are kept.
#[derive(Debug)]
pub struct Builds {
    directory: PathBuf,
}

impl Builds {
    /// The builds in `ours`. Fails if it cannot be written.
    pub(crate) fn below(ours: &Path) -> Result<Self, Error> {
        let directory = ours.join("builds");
        fs::create_dir_all(&directory)
            .and_then(|()| directory.canonicalize())
            .map_or_else(|error| Err(unwritable(&directory, &error)), |directory| Ok(Builds { directory }))
    }

    /// The output of the last command that built something.
    pub fn log(&self) -> PathBuf {
        self.directory.join("log")
    }

    /// What builds of a recipe depend on now, besides the files of their commits. Fails on a stop.
    pub(crate) fn tools(&self, recipe: &Recipe, lab: &Lab<'_>) -> Result<BuildTools, Error> {
        surroundings::tools(recipe, &self.directory, lab)
    }

    /// Builds a commit, unless a build of the same tree by the same recipe and tools is kept. `tools`: those of the recipe now. Fails on a stop, on a full disk,
    /// or if files cannot be written; a command that fails is no error.
    pub(crate) fn build(
        &self,
        commit: &CommitInfo,
        (recipe, tools): (&Recipe, &BuildTools),
        repository: &Repository,
        checkout: &Checkout,
        lab: &Lab<'_>,
    ) -> Result<Build, Error> {
        let directory = self.path(commit, recipe, tools, "");
        if directory.is_dir() {
            return Ok(Build::Built { directory, is_old: true });
        }
        if recipe.is_clean {
            checkout.clear()?;
        }
        let surroundings = Surroundings { tools: &tools.digest, layout: "" };
        self.make(commit, recipe, (surroundings, &[]), (repository, checkout), &directory, lab)
    }

    /// Where the build of a commit is kept. `layout`: what its linker was told, nothing without a layout.
    pub(crate) fn path(&self, commit: &CommitInfo, recipe: &Recipe, tools: &BuildTools, layout: &str) -> PathBuf {
        self.directory.join(name(commit, recipe, tools, layout))
    }

    /// A directory of ours beside the builds.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.directory.with_file_name(name)
    }

    /// Builds a commit on what is in the checkout, and keeps it in `directory`. `variables`: of the command, in addition to those of the recipe. Fails like
    /// [`Builds::build`].
    pub(crate) fn make(
        &self,
        commit: &CommitInfo,
        recipe: &Recipe,
        (surroundings, variables): (Surroundings<'_>, &[(String, String)]),
        (repository, checkout): (&Repository, &Checkout),
        directory: &Path,
        lab: &Lab<'_>,
    ) -> Result<Build, Error> {
        checkout.begin_build(surroundings)?;
        checkout.switch(repository, commit, lab)?;
        let failed = run(commit, recipe, variables, checkout, &self.log(), lab)?;
        if !failed.as_ref().is_some_and(|failed| failed.was_cut) {
            checkout.end_build(surroundings)?;
        }
        match failed {
            Some(Failed { how, output, .. }) => Ok(Build::Failed { how, output }),
            None => self.keep(recipe, checkout, directory, lab),
        }
    }

    /// Copies what is kept. The copy gets its name when it is complete.
    fn keep(&self, recipe: &Recipe, checkout: &Checkout, directory: &Path, lab: &Lab<'_>) -> Result<Build, Error> {
        let fresh = self.directory.join("new");
        let _ = fs::remove_dir_all(&fresh);
        fs::create_dir_all(&fresh).map_err(|error| unwritable(&fresh, &error))?;
        let whole = [".".to_owned()];
        let paths = if recipe.kept.is_empty() { &whole[..] } else { &recipe.kept };
        for path in paths {
            let (from, to) = (checkout.directory().join(path), fresh.join(path));
            if !from.exists() {
                return Ok(Build::Failed { how: format!("it leaves no {path}"), output: String::new() });
            }
            let parent = to.parent().unwrap_or(&fresh);
            fs::create_dir_all(parent).map_err(|error| unwritable(parent, &error))?;
            copy(&from, &to, checkout.directory(), lab)?;
        }
        fs::rename(&fresh, directory).map_err(|error| unwritable(directory, &error))?;
        // A whole tree has the files of its commit, so no other is the same.
        if !recipe.kept.is_empty() {
            self.note_identical(directory).map_err(|error| unwritable(directory, &error))?;
        }
        Ok(Build::Built { directory: directory.to_owned(), is_old: false })
    }

    /// The first kept build that does the same as the one in `directory`; that itself if there is no other.
    pub(crate) fn first_like(&self, directory: &Path) -> PathBuf {
        let noted = directory.file_name().and_then(|name| self.identical().join(name).canonicalize().ok());
        noted.filter(|first| first.is_dir()).unwrap_or_else(|| directory.to_owned())
    }

    /// Notes which build does the same. There is a link by what a build does, and one by its name.
    fn note_identical(&self, directory: &Path) -> io::Result<()> {
        let links = self.identical();
        fs::create_dir_all(&links)?;
        let by_digest = links.join(identical::digest(directory)?);
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

/// Makes a symbolic link, also in place of another.
fn link(to: &Path, at: &Path) -> io::Result<()> {
    match fs::remove_file(at) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => symlink(to, at),
    }
}

/// The name of a build: the same for the same files, recipe, tools and layout. The time limit does not belong to it.
fn name(commit: &CommitInfo, recipe: &Recipe, tools: &BuildTools, layout: &str) -> String {
    let mut words = Words::default();
    words.add(commit.tree.as_bytes());
    words.add(tools.digest.as_bytes());
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
    words.digest()[..NAME_DIGITS].to_owned()
}

/// A command that failed.
struct Failed {
    /// How, for people.
    how: String,
    /// The end of its output.
    output: String,
    /// It did not end by itself, so files may be half written.
    was_cut: bool,
}

/// Runs the command, with its output in a file. Returns how it failed, if it did. Fails on a stop, and on a full disk.
fn run(
    commit: &CommitInfo,
    recipe: &Recipe,
    variables: &[(String, String)],
    checkout: &Checkout,
    log: &Path,
    lab: &Lab<'_>,
) -> Result<Option<Failed>, Error> {
    if recipe.command.is_empty() {
        return Ok(None);
    }
    let argv: Vec<OsString> = recipe.command.iter().map(OsString::from).collect();
    let environment = [outer_make::undone(), recipe.environment.clone(), variables.to_vec()].concat();
    let command = HostCommand {
        argv: &argv,
        directory: checkout.directory(),
        environment: &environment,
        limit: Duration::from_secs(recipe.limit_s),
        errors: Errors::Among,
        input: None,
    };
    let mut output = Output::create(log).map_err(|error| unwritable(log, &error))?;
    let ending = runner(lab)?.run(&command, &mut |line| output.line(line), lab.stop);
    let was_cut = !matches!(ending, Ending::Exited { .. });
    let how = match ending {
        Ending::Exited { status: 0, .. } => return Ok(None),
        Ending::Exited { status, .. } => format!("it ends with status {status}"),
        Ending::Signalled { signal, .. } => format!("signal {signal} ends it"),
        Ending::TimedOut => format!("it has not ended after {} s", recipe.limit_s),
        Ending::NotStarted { text } | Ending::LeftChanged { text } => text,
        Ending::Stopped => return Err(Error::stopped()),
        Ending::Refused | Ending::ConnectionLost { .. } | Ending::GuestFailed { .. } => output.failure(),
    };
    match lack_of_room(&how, &output, checkout, lab) {
        Some(why) => Err(room::full(&format!("{} could not be built: {why}", commit.id))),
        None => Ok(Some(Failed { how, output: output.last_lines(), was_cut })),
    }
}

/// How it is known that a build failed because the disk is full; `None` if it failed for another reason.
fn lack_of_room(how: &str, output: &Output, checkout: &Checkout, lab: &Lab<'_>) -> Option<String> {
    if let Some(told) = output.told_full.as_deref().or_else(|| room::is_told(how).then_some(how)) {
        return Some(told.trim().to_owned());
    }
    let directories = [checkout.directory(), &lab.places.scratch, &std::env::temp_dir()];
    let full = directories.into_iter().find(|directory| room::is_full(directory))?;
    Some(format!("there is no room in {}", full.display()))
}

/// The output of a build: all of it in a file, and its last lines.
struct Output {
    file: io::BufWriter<fs::File>,
    last: VecDeque<String>,
    /// The first line that says that a disk is full.
    told_full: Option<String>,
    /// Why the file could not be written.
    broken: Option<io::Error>,
}

impl Output {
    fn create(path: &Path) -> io::Result<Self> {
        let file = io::BufWriter::new(fs::File::create(path)?);
        Ok(Output { file, last: VecDeque::new(), told_full: None, broken: None })
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
        if self.told_full.is_none() && room::is_told(&line) {
            self.told_full = Some(line.clone());
        }
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

/// Copies a file, or a directory with everything in it, with modes and times. Symbolic links stay links.
fn copy(from: &Path, to: &Path, directory: &Path, lab: &Lab<'_>) -> Result<(), Error> {
    let argv = ["cp".into(), "-RPp".into(), "--".into(), from.as_os_str().to_owned(), to.as_os_str().to_owned()];
    let limit = Duration::from_secs(30 * 60);
    let command = HostCommand { argv: &argv, directory, environment: &[], limit, errors: Errors::Apart, input: None };
    match runner(lab)?.run(&command, &mut |_| ControlFlow::Continue(()), lab.stop) {
        Ending::Exited { status: 0, .. } => Ok(()),
        Ending::Stopped => Err(Error::stopped()),
        Ending::Exited { stderr, .. } => {
            let said = stderr.lines().next().unwrap_or("cp fails without a message");
            Err(Error::failed(
                format!("a build can't be kept: {said}"),
                "make room, or name another directory with `--work DIR` (in faultline.toml: `work`)",
            ))
        }
        other => Err(Error::failed(
            format!("a build can't be kept: {other:?}"),
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
