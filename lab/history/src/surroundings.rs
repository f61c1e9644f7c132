//! What a build depends on besides the files of its commit: the command, its environment, and the versions of tools.
//!
//! A build that was made in other surroundings is another build. Its name covers the tools listed here, those that `CC` and similar variables name, variables
//! with options for them, and the file of the recipe's own command. It does not cover libraries and headers of the system, nor a toolchain that a file of
//! the commit names by a channel (`nightly`), because its version is known only within the checkout.

use crate::commands::runner;
use faultline_experiment::{Error, Lab};
use faultline_model::recipe::{BuildTools, Recipe};
use faultline_targets::host::command::{Errors, HostCommand};
use faultline_targets::{Ending, search_path};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

/// Tools that make machine code, with the argument that prints their version.
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

/// Variables that name a tool, perhaps with options.
const TOOL_VARIABLES: [&str; 6] = ["CC", "CXX", "AS", "LD", "RUSTC", "RUSTC_WRAPPER"];

/// Variables with options for tools.
const OPTION_VARIABLES: [&str; 8] =
    ["CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "RUSTFLAGS", "RUSTUP_TOOLCHAIN", "GOFLAGS", "GOTOOLCHAIN"];

/// Longer than any tool takes to print its version on a starved machine: a tool that does not answer counts as changed.
const LIMIT: Duration = Duration::from_secs(60);

/// What builds of a recipe depend on now. `directory`: where tools are asked for their versions; no file there may choose a toolchain. Fails on a stop.
pub(crate) fn tools(recipe: &Recipe, directory: &Path, lab: &Lab<'_>) -> Result<BuildTools, Error> {
    let (mut words, mut versions) = (Words::default(), BTreeMap::new());
    recipe.command.iter().for_each(|text| words.add(text.as_bytes()));
    for (name, value) in &recipe.environment {
        [b"environment", name.as_bytes(), value.as_bytes()].into_iter().for_each(|text| words.add(text));
    }
    // Without a command no tool runs.
    if let Some(program) = recipe.command.first() {
        add_file(&mut words, program);
        add_variables(&mut words);
        for asked in questions(recipe) {
            let Some(printed) = version(&asked, recipe, directory, lab)? else { continue };
            asked.iter().for_each(|word| words.add(word.as_bytes()));
            printed.iter().for_each(|line| words.add(line));
            let first = printed.first().map_or_else(String::new, |line| String::from_utf8_lossy(line).into_owned());
            versions.insert(asked.join(" "), first);
        }
    }
    Ok(BuildTools { digest: words.digest(), versions })
}

/// A digest of words. Other words, or the same divided in another way, have another digest.
#[derive(Default)]
pub(crate) struct Words(Sha256);

impl Words {
    pub(crate) fn add(&mut self, text: &[u8]) {
        self.0.update((text.len() as u64).to_le_bytes());
        self.0.update(text);
    }

    /// In hexadecimal digits.
    pub(crate) fn digest(self) -> String {
        self.0.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// The file of the recipe's command, unless it belongs to the commit: path, size and time of the last change.
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

/// Variables that choose tools or their options.
fn add_variables(words: &mut Words) {
    for name in OPTION_VARIABLES.iter().chain(&TOOL_VARIABLES) {
        if let Some(value) = std::env::var_os(name) {
            words.add(name.as_bytes());
            words.add(value.as_bytes());
        }
    }
}

/// The commands that print versions: of the usual tools, and of those that variables name.
fn questions(recipe: &Recipe) -> Vec<Vec<String>> {
    let usual = TOOLS.iter().map(|&(tool, argument)| vec![tool.to_owned(), argument.to_owned()]);
    let named = TOOL_VARIABLES.iter().filter_map(|&name| {
        let own = recipe.environment.iter().rev().find(|(set, _)| set == name).map(|(_, value)| value.clone());
        let value = own.or_else(|| std::env::var(name).ok())?;
        Some(value.split_whitespace().chain(["--version"]).map(str::to_owned).collect())
    });
    usual.chain(named).collect()
}

/// The lines that a tool prints as its version; `None` if it does not exist or fails. Fails on a stop.
fn version(asked: &[String], recipe: &Recipe, directory: &Path, lab: &Lab<'_>) -> Result<Option<Vec<Vec<u8>>>, Error> {
    let argv: Vec<OsString> = asked.iter().map(OsString::from).collect();
    let environment = &recipe.environment;
    let command = HostCommand { argv: &argv, directory, environment, limit: LIMIT, errors: Errors::Apart, input: None };
    let mut printed = Vec::new();
    let mut sink = |line: &[u8]| {
        printed.push(line.to_owned());
        ControlFlow::Continue(())
    };
    match runner(lab)?.run(&command, &mut sink, lab.stop) {
        Ending::Stopped => Err(Error::stopped()),
        Ending::Exited { status: 0, .. } => Ok(Some(printed)),
        _ => Ok(None),
    }
}
