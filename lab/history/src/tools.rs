//! Commands of the user: how they run, the tools of a build, and failures of the lab.
//!
//! A build with other tools is another build. Its name covers the tools listed here, those named by
//! `CC` and similar variables, variables with their options, and the file of the build command. It
//! does not cover the system's libraries and headers, nor a toolchain that a file of the commit
//! names by channel (`nightly`), because its version is known only within the checkout.

use faultline_experiment::{Error, ErrorKind, Lab, Notice};
use faultline_record::recipe::{BuildTools, Recipe};
use faultline_targets::host::command::{CommandRunner, Errors, HostCommand};
use faultline_targets::{Ending, search_path};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

/// Compilers and linkers, with the argument that prints their version.
const TOOLS: [(&str, &str); 11] = [
    ("cc", "--version"),
    ("c++", "--version"),
    ("gcc", "--version"),
    ("g++", "--version"),
    ("clang", "--version"),
    ("clang++", "--version"),
    ("as", "--version"),
    ("ld", "--version"),
    ("rustc", "--version"),
    ("cargo", "--version"),
    ("go", "version"),
];

/// Variables that name a tool, optionally with options.
const TOOL_VARIABLES: [&str; 6] = ["CC", "CXX", "AS", "LD", "RUSTC", "RUSTC_WRAPPER"];

/// Variables with options for tools.
const OPTION_VARIABLES: [&str; 8] =
    ["CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "RUSTFLAGS", "RUSTUP_TOOLCHAIN", "GOFLAGS", "GOTOOLCHAIN"];

/// The sandbox among the tools. It decides what a build finds: a build outside is another one.
const SANDBOX: &str = "sandbox";
const WITH_NETWORK: &str = "with the network";
const WITHOUT_NETWORK: &str = "without a network";

/// Time limit for printing a version. A tool that does not answer is a failure of the lab: a busy
/// or frozen host is no other compiler.
const LIMIT: Duration = Duration::from_secs(60);

/// The tools of a recipe as of now. `directory`: where tools run to print their versions; it must
/// not contain a file that selects a toolchain. Fails on a stop.
pub(crate) fn tools(recipe: &Recipe, directory: &Path, lab: &mut Lab<'_>) -> Result<BuildTools, Error> {
    let (mut words, mut versions) = (Words::default(), BTreeMap::new());
    recipe.command.iter().for_each(|text| words.add(text.as_bytes()));
    for (name, value) in &recipe.environment {
        [b"environment", name.as_bytes(), value.as_bytes()].into_iter().for_each(|text| words.add(text));
    }
    // Without a command no tool runs.
    if let Some(program) = recipe.command.first() {
        check_program(program, recipe)?;
        if let Some(sandbox) = lab.places.sandbox_of_builds(recipe)? {
            let kind = if sandbox.has_network { WITH_NETWORK } else { WITHOUT_NETWORK };
            [SANDBOX, kind].into_iter().for_each(|text| words.add(text.as_bytes()));
            versions.insert(SANDBOX.to_owned(), kind.to_owned());
        }
        add_file(&mut words, program);
        add_variables(&mut words);
        for asked in questions(recipe) {
            lab.observer.notice(&Notice::AskingTool { command: asked.join(" ") });
            let Some(printed) = version(&asked, recipe, directory, lab)? else { continue };
            asked.iter().for_each(|word| words.add(word.as_bytes()));
            printed.iter().for_each(|line| words.add(line));
            let first = printed.first().map_or_else(String::new, |line| String::from_utf8_lossy(line).into_owned());
            versions.insert(asked.join(" "), first);
        }
        lab.observer.notice(&Notice::ToolsAsked);
    }
    Ok(BuildTools { digest: words.digest(), versions })
}

/// Fails if the build command names no program of this host. A path is the commit's.
fn check_program(program: &str, recipe: &Recipe) -> Result<(), Error> {
    let path = recipe.environment.iter().rev().find(|(name, _)| name == "PATH").map(|(_, value)| OsStr::new(value));
    match search_path::program_file(program, Path::new("/"), path) {
        Err(missing) if !program.contains('/') => Err(Error::usage(
            format!("the build command cannot run: {}", missing.problem),
            "install it, or correct `--build COMMAND` (in faultline.toml: `build`); a program of the commit has a path, such as ./build",
        )),
        _ => Ok(()),
    }
}

/// A digest of a sequence of words.
#[derive(Default)]
pub(crate) struct Words(Sha256);

impl Words {
    pub(crate) fn add(&mut self, text: &[u8]) {
        self.0.update((text.len() as u64).to_le_bytes());
        self.0.update(text);
    }

    /// The digest in hexadecimal digits.
    pub(crate) fn digest(self) -> String {
        self.0.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Adds path, size and modification time of the build command's file, unless it is part of the
/// commit.
fn add_file(words: &mut Words, program: &str) {
    let is_of_the_commit = program.contains('/') && !program.starts_with('/');
    if is_of_the_commit {
        return;
    }
    let found = search_path::program_file(program, Path::new("/"), None).ok();
    let Some(file) = found.and_then(|file| file.canonicalize().ok()) else { return };
    if let Ok(metadata) = file.metadata() {
        words.add(file.as_os_str().as_bytes());
        let numbers = [metadata.size() as i64, metadata.mtime(), metadata.mtime_nsec()];
        numbers.iter().for_each(|number| words.add(&number.to_le_bytes()));
    }
}

/// Adds the variables that select tools or their options.
fn add_variables(words: &mut Words) {
    for name in OPTION_VARIABLES.iter().chain(&TOOL_VARIABLES) {
        if let Some(value) = std::env::var_os(name) {
            words.add(name.as_bytes());
            words.add(value.as_bytes());
        }
    }
}

/// Commands that print versions: of the default tools and of those named by variables.
fn questions(recipe: &Recipe) -> Vec<Vec<String>> {
    let usual = TOOLS.iter().map(|&(tool, argument)| vec![tool.to_owned(), argument.to_owned()]);
    let named = TOOL_VARIABLES.iter().filter_map(|&name| {
        let own = recipe.environment.iter().rev().find(|(set, _)| set == name).map(|(_, value)| value.clone());
        let value = own.or_else(|| std::env::var(name).ok())?;
        Some(value.split_whitespace().chain(["--version"]).map(str::to_owned).collect())
    });
    usual.chain(named).collect()
}

/// The version lines that a tool prints; `None` if it is missing or fails. Fails on a stop.
fn version(asked: &[String], recipe: &Recipe, directory: &Path, lab: &Lab<'_>) -> Result<Option<Vec<Vec<u8>>>, Error> {
    let argv: Vec<OsString> = asked.iter().map(OsString::from).collect();
    let environment = &recipe.environment;
    let command = HostCommand {
        argv: &argv,
        directory,
        environment,
        limit: LIMIT,
        errors: Errors::Apart,
        input: None,
        sandbox: None,
    };
    let mut printed = Vec::new();
    let mut sink = |line: &[u8]| {
        printed.push(line.to_owned());
        ControlFlow::Continue(())
    };
    let ending = runner(lab)?.run(&command, &mut sink, lab.stop);
    answered(asked, ending, printed)
}

/// The version lines of a tool, by the end of its process; `None` if it is missing or fails.
fn answered(asked: &[String], ending: Ending, printed: Vec<Vec<u8>>) -> Result<Option<Vec<Vec<u8>>>, Error> {
    let failed = |why: &str| lab_failed(format!("`{}` could not be asked for its version: {why}", asked.join(" ")));
    match ending {
        Ending::Stopped => Err(Error::stopped()),
        Ending::Exited { status: 0, .. } => Ok(Some(printed)),
        Ending::LabFailed { text } | Ending::AfterLack { text, .. } => Err(failed(&text)),
        Ending::TimedOut => Err(failed(&format!("no answer within {} s", LIMIT.as_secs()))),
        _ => Ok(None),
    }
}

/// The error for a failure of the lab, which says nothing about a commit. `how`: what failed, and
/// the cause.
pub(crate) fn lab_failed(how: impl Into<String>) -> Error {
    Error {
        kind: ErrorKind::Lab,
        ..Error::failed(how, "remove the cause, for example free space, and repeat the command")
    }
}

/// An error within a saved run: a failure of the lab can be resumed.
pub(crate) fn of_saved_run(error: Error) -> Error {
    let resume = || "remove the cause, for example free space; `faultline resume` then continues".to_owned();
    match error.kind {
        ErrorKind::Lab => Error { hint: Some(resume()), ..error },
        _ => error,
    }
}

/// Runs commands on this host. Fails if there is no scratch directory.
pub(crate) fn runner(lab: &Lab<'_>) -> Result<CommandRunner, Error> {
    CommandRunner::new(&lab.places.keeper, &lab.places.usable_scratch()?).map_err(|error| {
        Error::failed(format!("cannot determine the working directory: {error}"), "change to an existing directory")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_that_does_not_answer_is_no_other_tool() {
        let asked = ["rustc".to_owned(), "--version".to_owned()];
        let of = |ending| answered(&asked, ending, vec![b"rustc 1.95.0".to_vec()]);
        assert_eq!(of(Ending::Exited { status: 0, stderr: String::new() }).unwrap().unwrap().len(), 1);
        assert_eq!(of(Ending::NotStarted { text: "no such file".to_owned() }).unwrap(), None);
        let error = of(Ending::TimedOut).unwrap_err();
        assert!(error.problem.contains("no answer within 60 s"), "{error:?}");
    }
}
