// SPDX-License-Identifier: GPL-2.0-or-later
//! Compiles the test programs, runs them under the plugin, and parses the reports. Each run has a time limit, and they
//! run one by one.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, OnceLock, PoisonError};
use tempfile::TempDir;

static ONE_BY_ONE: Mutex<()> = Mutex::new(());

/// The result of a run.
pub struct Outcome {
    pub output: Output,
    /// None if no report was written.
    pub report: Option<Value>,
    /// Files next to the report.
    pub left_behind: usize,
}

impl Outcome {
    pub fn report(&self) -> &Value {
        self.report.as_ref().unwrap_or_else(|| panic!("no report; standard error: {}", self.stderr()))
    }

    pub fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).into_owned()
    }

    /// Decimal numbers that the program printed.
    pub fn printed(&self) -> Vec<u64> {
        let text = String::from_utf8(self.output.stdout.clone()).unwrap();
        text.split_whitespace().map(|word| word.parse().unwrap()).collect()
    }

    /// Kinds of the problems that the report names.
    pub fn problems(&self) -> Vec<&str> {
        self.report()["problems"].as_array().unwrap().iter().map(|problem| problem["kind"].as_str().unwrap()).collect()
    }

    pub fn total(&self, name: &str) -> u64 {
        number(&self.report()["totals"][name])
    }

    pub fn transfers_per(&self, operations: u64) -> f64 {
        self.total("transfers") as f64 / operations as f64
    }

    /// The line at that address, with its rank by transfers.
    pub fn line(&self, address: u64) -> Option<(usize, &Value)> {
        let lines = self.report()["lines"].as_array().unwrap();
        lines.iter().enumerate().find(|(_, line)| number(&line["address"]) == address)
    }
}

pub fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is not a number"))
}

/// Runs a program on a machine with `cpus` CPUs. `more`: further arguments of the plugin.
pub fn run(cpus: u64, more: &[&str], program: &str, arguments: &[&str]) -> Outcome {
    let mut plugin = vec![format!("cpus={cpus}")];
    plugin.extend(more.iter().map(|&argument| argument.to_owned()));
    run_with("qemu-x86_64", &plugin, &compiled(program, &[]), arguments)
}

/// Runs a file under an emulator with those arguments of the plugin, plus the report's path.
pub fn run_with(emulator: &str, plugin: &[String], file: &Path, arguments: &[&str]) -> Outcome {
    let _one = ONE_BY_ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("report.json");
    let output = command(emulator, plugin, &path, file, arguments).output().unwrap();
    let report = std::fs::read(&path).ok().map(|bytes| serde_json::from_slice(&bytes).unwrap());
    let left_behind = std::fs::read_dir(place.path()).unwrap().count() - usize::from(report.is_some());
    Outcome { output, report, left_behind }
}

/// The command of a run, under a time limit.
pub fn command(emulator: &str, plugin: &[String], report: &Path, file: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("timeout");
    let plugin = [vec![library().display().to_string(), format!("output={}", report.display())], plugin.to_vec()];
    command.args(["--signal=KILL", "120", emulator, "-plugin", &plugin.concat().join(",")]).arg(file).args(arguments);
    command
}

/// The plugin that cargo built with these tests.
pub fn library() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let library = tests.with_file_name("libfaultline_lens.so");
    assert!(library.exists(), "{}: not built", library.display());
    library
}

/// A test program, compiled once for each set of flags.
pub fn compiled(program: &str, flags: &[&str]) -> PathBuf {
    static PLACE: OnceLock<TempDir> = OnceLock::new();
    static COMPILING: Mutex<()> = Mutex::new(());
    let place = PLACE.get_or_init(|| tempfile::tempdir().unwrap());
    let _one = COMPILING.lock().unwrap_or_else(PoisonError::into_inner);
    let file = place.path().join([&[program], flags].concat().concat());
    if !file.exists() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let status = Command::new("cc")
            .args(["-O2", "-Wall", "-Wextra", "-Werror", "-pthread"])
            .args(flags)
            .arg("-I")
            .arg(root.join("../../workloads/harness"))
            .arg("-o")
            .arg(&file)
            .arg(root.join("tests/programs").join(program).with_extension("c"))
            .status()
            .unwrap();
        assert!(status.success(), "{program} doesn't compile");
    }
    file
}
